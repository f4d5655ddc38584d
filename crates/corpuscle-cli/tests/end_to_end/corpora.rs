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

/// The demo corpus under the name of one that protocols read.
fn small_corpus(place: &Place) {
    place.write("switchboard_topics.jsonl.gz", corpuscle::corpus::DEMO_JSONL);
}

#[test]
fn every_protocol_whose_data_are_there_is_on_one_page() {
    let place = Place::empty();
    small_corpus(&place);
    let result = place.json(&["reproduce", "--all", "--data", ".", "--quick", "--report", "all.html", "--json", "-q"]);
    let names: Vec<&str> =
        result["protocols"].as_array().unwrap().iter().map(|one| one["protocol"].as_str().unwrap()).collect();
    assert_eq!(names, ["varnorm-switchboard", "varnorm-directions-switchboard"]);
    assert!(result["skipped"].as_array().unwrap().len() > 10);
    let page = String::from_utf8(place.read("all.html")).unwrap();
    for part in ["Every claim with its verdict", "VarNorm over the number of directions", "Not run", "plain vote"] {
        assert!(page.contains(part), "{part}");
    }
    place.fails(2, &["reproduce", "varnorm-switchboard", "--all", "--data", "."]);
}

#[test]
fn a_protocol_of_ones_own_draws_labels_and_shows_what_only_a_paper_has() {
    let place = Place::empty();
    small_corpus(&place);
    let protocol = r#"{"name": "own", "title": "Own", "paper": "Nobody, Nothing", "file": "switchboard_topics.jsonl.gz",
        "parts": {"share": {"train": 0.6}}, "runs": 2, "labels": 16, "each_class": true, "validation": 0.25,
        "grid": {"rank": [2, 8]},
        "systems": [{"name": "LSI", "recipe": "tfidf | lsi({rank}) | svm(calibrate=0)"},
                    {"name": "theirs", "paper": {"accuracy": 71.5}}],
        "reconstruction": {"recipe": "counts | dcot(weight=none, noise=0.5)", "words": [["printer", ["printer", "ink"]]]},
        "note": "made up"}"#;
    place.write("own.json", protocol);
    let result = place.json(&["reproduce", "own.json", "--data", ".", "--json", "-q"]);
    let systems = &result["points"][0]["systems"];
    assert_eq!(systems[0]["chosen"].as_array().unwrap().len(), 2, "{systems}");
    assert!(systems[1]["figures"]["accuracy"]["mean"].is_null(), "{systems}");
    assert_eq!(systems[1]["figures"]["accuracy"]["paper"], 0.715);
    assert!(result["reconstruction"][0]["terms"].as_array().unwrap().iter().any(|term| term == "printer"));
    let text = place.ok(&["reproduce", "own.json", "--data", ".", "-q"]);
    assert!(text.contains("71.50 %") && text.contains('–') && !text.contains("NaN"), "{text}");
    place.write("own.json", protocol.replace("\"validation\": 0.25,", ""));
    assert!(place.fails(1, &["reproduce", "own.json", "--data", ".", "-q"]).contains("validation"));
}
