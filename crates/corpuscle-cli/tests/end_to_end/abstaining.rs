//! Probabilities that are measured, answers withheld, documents foreign to the training ones.

use serde_json::Value;

use crate::support::Place;

const TEST: [&str; 2] = ["--where", "split=test"];

fn evaluate(place: &Place, model: &str, more: &[&str]) -> Value {
    let mut call = vec!["evaluate", model, "demo.jsonl", "--json", "-q"];
    call.extend(TEST);
    call.extend(more);
    place.json(&call)
}

#[test]
fn evaluate_says_how_far_probabilities_can_be_believed() {
    let place = Place::new();
    place.train("tfidf | svm", "svm.model");
    let found = evaluate(&place, "svm.model", &["--report", "page.html"]);
    let figure = |name: &str| found[name].as_f64().unwrap();
    assert!((0.0..2.0).contains(&figure("log_loss")) && (0.0..1.0).contains(&figure("brier")), "{found}");
    assert!((0.0..0.5).contains(&figure("calibration_error")), "{found}");
    let counted: u64 = found["reliability"].as_array().unwrap().iter().map(|bin| bin["count"].as_u64().unwrap()).sum();
    assert_eq!(counted, found["documents"].as_u64().unwrap());
    let page = String::from_utf8(place.read("page.html")).unwrap();
    for words in ["How far its probabilities can be believed", "share that is true", "this model", "Brier score"] {
        assert!(page.contains(words), "{words}");
    }
    let said = place.ok(&["evaluate", "svm.model", "demo.jsonl", "--where", "split=test", "-q"]);
    assert!(said.contains("log loss") && said.contains("calibration error"), "{said}");

    // Without probabilities the names are there and say so.
    place.train("tfidf | svm(calibrate=0)", "plain.model");
    let found = evaluate(&place, "plain.model", &[]);
    for name in ["log_loss", "brier", "calibration_error"] {
        assert!(found.get(name).is_some_and(Value::is_null), "{name}: {found}");
    }
}
