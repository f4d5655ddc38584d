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
