//! Log loss, Brier score and calibration error against scikit-learn (`fixtures/make_reliability.py`), to 1e-6: probabilities are
//! 32-bit floats.

use corpuscle::corpus::Labels;
use corpuscle::matrix::Dense;
use corpuscle::metrics::Reliability;
use serde::Deserialize;

#[derive(Deserialize)]
struct Case {
    multi: bool,
    truth: Vec<Vec<u32>>,
    probabilities: Vec<Vec<f32>>,
    log_loss: f64,
    brier: f64,
    calibration_error: f64,
}

#[test]
fn figures_are_those_of_scikit_learn() {
    let cases: Vec<Case> = serde_json::from_str(include_str!("../fixtures/reliability.json")).unwrap();
    assert_eq!(cases.len(), 9);
    for (number, case) in cases.iter().enumerate() {
        let names = (0..4).map(|class| class.to_string()).collect();
        let truth = Labels::with_classes(names, case.truth.iter().cloned().map(Some)).unwrap();
        let (rows, columns) = (case.probabilities.len(), case.probabilities[0].len());
        let probabilities = Dense::new(rows, columns, case.probabilities.concat()).unwrap();
        let found = Reliability::of(&truth, &probabilities, case.multi).unwrap();
        for (name, ours, theirs) in [
            ("log loss", found.log_loss, case.log_loss),
            ("Brier score", found.brier, case.brier),
            ("calibration error", found.calibration_error, case.calibration_error),
        ] {
            assert!((ours - theirs).abs() < 1e-6 * theirs.max(1.0), "case {number}: {name} {ours}, theirs {theirs}");
        }
    }
}
