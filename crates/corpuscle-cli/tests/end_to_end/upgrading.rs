//! What version 0.1 wrote opens in this one: the store of labels and the index. Model files of every format are the library's (`model_files.rs`).
//!
//! `fixtures/0.1` was made of the first 30 messages of the demo corpus by `corpuscle index pile.jsonl -o index` and `corpuscle label pile.jsonl -o labels.db`,
//! where Ada gave the first twelve their labels and the first a note. It is written once and never again; a new format gets new files beside it.

use crate::support::Place;

/// A place with the files of version 0.1 in it.
fn old() -> Place {
    let place = Place::empty();
    let from = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/0.1");
    std::fs::copy(from.join("labels.db"), place.path("labels.db")).unwrap();
    std::fs::create_dir(place.path("index")).unwrap();
    for file in std::fs::read_dir(from.join("index")).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), place.path("index").join(file.file_name())).unwrap();
    }
    place
}

#[test]
fn labels_of_the_last_release_are_learnt_from() {
    let place = old();
    let trained =
        place.json(&["train", "labels.db", "--recipe", "tfidf | svm(calibrate=0)", "-o", "m.model", "--json", "-q"]);
    assert_eq!((&trained["documents"], &trained["labelled"]), (&30.into(), &12.into()));
    assert_eq!(trained["classes"].as_array().unwrap().len(), 6);
}

#[test]
fn an_index_of_the_last_release_is_searched_and_added_to() {
    let place = old();
    let first = |query: &str| place.json(&["search", "index", query, "--json"])["hits"][0].clone();
    let hit = first("hdmi screen");
    assert_eq!(hit["id"], "d001");
    assert!((hit["score"].as_f64().unwrap() - 6.174_383_555_726_767).abs() < 1e-9, "{hit}");
    place.write("more.jsonl", r#"{"id":"new","text":"An aardvark sleeps on the keyboard"}"#);
    place.ok(&["index", "more.jsonl", "-o", "index", "--add"]);
    assert_eq!(first("aardvark")["id"], "new");
    assert_eq!(first("hdmi screen")["id"], "d001");
}
