//! Real corpora, when they are there.

use crate::support::{Place, shared_data};

#[test]
fn twenty_newsgroups_reaches_the_known_accuracy() {
    let Some(data) = shared_data() else { return };
    let file = data.join("20newsgroups.jsonl.gz");
    let file = file.to_str().unwrap();
    let place = Place::empty();
    let recipe = "words(tokenizer=sklearn) | tfidf(sublinear=true, min_df=2) | svm(calibrate=0)";
    place.ok(&["train", file, "--where", "split=train", "--recipe", recipe, "-o", "m.model", "-q"]);
    let result = place.json(&["evaluate", "m.model", file, "--where", "split=test", "--json", "-q"]);
    assert_eq!(result["documents"], 7532);
    let accuracy = result["accuracy"].as_f64().unwrap();
    assert!((0.857..=0.863).contains(&accuracy), "{accuracy}");
}

#[test]
fn reuters_with_several_labels_is_learnt() {
    let Some(data) = shared_data() else { return };
    let file = data.join("reuters21578.jsonl.gz");
    let file = file.to_str().unwrap();
    let place = Place::empty();
    place.ok(&[
        "train",
        file,
        "--where",
        "split=train",
        "--recipe",
        "tfidf(sublinear=true) | svm",
        "-o",
        "m.model",
        "-q",
    ]);
    let result = place.json(&["evaluate", "m.model", file, "--where", "split=test", "--json", "-q"]);
    assert_eq!(result["documents"], 3299);
    let micro = result["micro_f1"].as_f64().unwrap();
    assert!(micro > 0.85, "{micro}");
}

#[test]
fn a_paper_is_reproduced_quickly() {
    let place = Place::empty();
    assert!(place.ok(&["reproduce", "--list"]).contains("sprinkling-orthogonal"));
    place.fails(2, &["reproduce", "nothing", "--data", "."]);
    let Some(data) = shared_data() else { return };
    let data = data.to_str().unwrap();
    let result = place.json(&["reproduce", "sprinkling-orthogonal", "--data", data, "--quick", "--json", "-q"]);
    // Only 408 documents have the topic crude and no other.
    assert_eq!(result["documents"], 1408);
    let point = &result["points"][0];
    for system in point["systems"].as_array().unwrap() {
        assert!(system["figures"]["accuracy"]["mean"].as_f64().unwrap() > 0.7, "{system}");
    }
    assert!(point["claims"].as_array().unwrap().iter().all(|claim| claim["test"]["p"].is_number()));
    let curve = result["sprinkling"].as_array().unwrap();
    let ratio = |at: usize| curve[at]["within_over_between"].as_f64().unwrap();
    assert!(ratio(0) > ratio(curve.len() - 1), "sprinkling draws classes together");
}
