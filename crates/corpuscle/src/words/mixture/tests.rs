use super::*;
use rand::RngExt;

fn cloud(rows: usize) -> Dense {
    let mut rng = Run::new(5, 1).unwrap().rng(0);
    let values = (0..rows).flat_map(|row| {
        let centre = [[0.0, 0.0, 1.0], [2.0, 0.5, 0.0], [0.0, 2.0, 2.0]][row % 3];
        let noise: [f32; 3] = std::array::from_fn(|_| rng.random::<f32>() + rng.random::<f32>() - 1.0);
        [centre[0] + noise[0], centre[1] + noise[0] * 0.5 + noise[1], centre[2] + noise[2]]
    });
    Dense::new(rows, 3, values.collect::<Vec<f32>>()).unwrap()
}

const KINDS: [Covariance; 3] = [Covariance::SharedFull, Covariance::SharedSpherical, Covariance::Diagonal];

#[test]
fn the_likelihood_never_falls() {
    let (x, run) = (cloud(900), Run::new(2, 2).unwrap());
    for covariance in KINDS {
        let params = MixtureParams { clusters: 4, covariance, tolerance: 0.0, steps: 60, ..Default::default() };
        let mixture = params.fit(&x, &run).unwrap();
        let list = mixture.likelihoods();
        assert!(list.windows(2).all(|pair| pair[1] >= pair[0] - 1e-5), "{covariance:?} {list:?}");
        assert!(list[list.len() - 1] > list[0]);
        assert!((mixture.weights().iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
}

#[test]
fn posteriors_add_up_and_threads_change_no_bit() {
    let x = cloud(3000);
    for covariance in KINDS {
        let params = MixtureParams { clusters: 3, covariance, ..Default::default() };
        let fit = |threads| {
            let run = Run::new(2, threads).unwrap();
            let mixture = params.fit(&x, &run).unwrap();
            let posteriors = mixture.posteriors(&x, 0.0, &run).unwrap();
            (mixture, posteriors)
        };
        let one = fit(1);
        assert!(one.0.converged());
        for row in 0..x.rows() {
            assert!((one.1.row(row).1.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        }
        assert_eq!(fit(2), one);
        assert_eq!(fit(8), one);
    }
}

#[test]
fn a_mixture_comes_back_from_its_file_and_a_row_is_the_same_alone() {
    use crate::store::tests::round_trip;
    let (x, run) = (cloud(400), Run::new(2, 2).unwrap());
    for covariance in KINDS {
        let mixture = MixtureParams { clusters: 3, covariance, ..Default::default() }.fit(&x, &run).unwrap();
        let back = round_trip(|out| mixture.save(out).unwrap(), Mixture::load).unwrap();
        assert_eq!(back, mixture);
        let all = back.posteriors(&x, 0.0, &run).unwrap();
        for row in [0, 7, 399] {
            let alone = back.posteriors(&x.select_rows(&[row]), 0.0, &run).unwrap();
            assert_eq!(alone.row(0), all.row(row));
        }
        let other = round_trip(
            |out| {
                mixture.save(out).unwrap();
                out.put_f64("mean", &[2], &[0.0; 2]);
            },
            Mixture::load,
        );
        assert!(other.is_err());
    }
    let few = MixtureParams { clusters: 9, ..Default::default() }.fit(&cloud(3), &run).unwrap_err();
    assert!(few.to_string().contains("the 3 rows"), "{few}");
}

/// What scikit-learn reached from the same clusters.
#[derive(serde::Deserialize)]
struct Fixture {
    rows: usize,
    cols: usize,
    x: Vec<f32>,
    clusters: Vec<u32>,
    cases: Vec<Case>,
}

#[derive(serde::Deserialize)]
struct Case {
    covariance: Covariance,
    likelihood: f64,
    weights: Vec<f64>,
    means: Vec<f64>,
    posteriors: Vec<f64>,
}

#[test]
fn equal_to_scikit_learn_from_the_same_start() {
    let fixture: Fixture = serde_json::from_str(include_str!("../../../tests/fixtures/mixture.json")).unwrap();
    let x = Dense::new(fixture.rows, fixture.cols, fixture.x).unwrap();
    let run = Run::new(0, 2).unwrap();
    for case in fixture.cases {
        let params = MixtureParams {
            clusters: case.weights.len(),
            covariance: case.covariance,
            steps: 20,
            tolerance: 0.0,
            ..Default::default()
        };
        let mixture = params.fit_from(&x, &fixture.clusters, &run).unwrap();
        let close = |ours: f64, theirs: f64| (ours - theirs).abs() < 2e-4 * (1.0 + theirs.abs());
        assert!(close(mixture.likelihoods()[19], case.likelihood), "{:?}", case.covariance);
        assert!(mixture.weights().iter().zip(&case.weights).all(|(&a, &b)| close(a, b)));
        assert!(mixture.means().values().iter().zip(&case.means).all(|(&a, &b)| close(f64::from(a), b)));
        let posteriors = mixture.posteriors(&x, 0.0, &run).unwrap();
        for (&ours, &theirs) in posteriors.values().iter().zip(&case.posteriors) {
            assert!((f64::from(ours) - theirs).abs() < 1e-3, "{ours} {theirs}");
        }
    }
}

#[test]
fn starts_that_do_not_fit_are_refused() {
    let (x, run) = (cloud(9), Run::new(2, 1).unwrap());
    let params = MixtureParams { clusters: 2, ..Default::default() };
    assert!(params.fit_from(&x, &[0; 8], &run).is_err());
    assert!(params.fit_from(&x, &[2; 9], &run).is_err());
    assert!(MixtureParams { clusters: 10, ..params.clone() }.fit(&x, &run).is_err());
    assert!(MixtureParams { floor: 0.0, ..params.clone() }.check().is_err());
    assert!(params.fit(&x, &run).unwrap().posteriors(&Dense::zeros(1, 2), 0.0, &run).is_err());
}
