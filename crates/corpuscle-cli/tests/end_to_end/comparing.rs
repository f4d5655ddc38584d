//! `compare` with a given split, what recipes cost, and runs that go on where they stopped.

use crate::support::Place;

const RECIPES: [&str; 4] =
    ["--recipe", "tfidf | svm(calibrate=0)", "--recipe", "words(stop=english) | binary | knn(k=3, calibrate=0)"];

#[test]
fn a_field_can_say_what_is_learnt_from_and_what_is_tested_on() {
    let place = Place::new();
    let call = [&["compare", "demo.jsonl", "--split", "split", "-q"], &RECIPES[..]].concat();
    let result = place.json(&[&call[..], &["--json"]].concat());
    assert_eq!((&result["documents"], &result["splits"]), (&512.into(), &1.into()));
    place.train("tfidf | svm", "m.model");
    let evaluated = place.json(&["evaluate", "m.model", "demo.jsonl", "--where", "split=test", "--json"]);
    assert_eq!(result["recipes"][0]["accuracy"], evaluated["accuracy"]);
    let said = place.ok(&call);
    assert!(said.contains("320") && said.contains("192") && said.contains("`split`"), "{said}");
    let said = place.fails(1, &["compare", "demo.jsonl", "--split", "part", "--recipe", "tfidf | svm"]);
    assert!(said.contains("part"), "{said}");
    place.fails(2, &["compare", "demo.jsonl", "--split", "split", "--folds", "3", "--recipe", "tfidf | svm"]);
    place.fails(2, &["compare", "-", "--split", "split", "--recipe", "tfidf | svm"]);
}

#[test]
fn costs_are_told() {
    let place = Place::new();
    let call = [&["compare", "demo.jsonl", "--folds", "2", "-q"], &RECIPES[..]].concat();
    let result = place.json(&[&call[..], &["--json"]].concat());
    for recipe in result["recipes"].as_array().unwrap() {
        assert!(recipe["model_bytes"].as_f64().unwrap() > 1000.0 && recipe["train_seconds"].as_f64().unwrap() > 0.0);
        assert!(recipe["splits"][0]["predict_seconds"].as_f64().unwrap() > 0.0);
        if cfg!(target_os = "linux") {
            assert!(recipe["peak_bytes"].is_u64(), "{recipe}");
        }
    }
    let said = place.ok(&call);
    assert!(said.contains("memory") && said.contains("model") && said.contains("kB"), "{said}");
}

#[test]
fn an_interrupted_run_goes_on_where_it_stopped() {
    let place = Place::new();
    let call = [&["compare", "demo.jsonl", "--folds", "3", "--json"], &RECIPES[..], &["--results", "r.jsonl"]].concat();
    let quiet = [&call[..], &["-q"]].concat();
    let whole = place.json(&quiet);
    assert_eq!(whole["resumed"], 0);
    let lines = String::from_utf8(place.read("r.jsonl")).unwrap();
    assert_eq!(lines.lines().count(), 7);
    // What a run killed in the middle of a line leaves behind.
    let kept: String = lines.lines().take(4).map(|line| format!("{line}\n")).collect();
    place.write("r.jsonl", format!("{kept}{{\"split\":1,\"rec"));
    let output = place.run(&call);
    assert!(String::from_utf8_lossy(&output.stderr).contains("3 of 6 results"), "{output:?}");
    let again: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(again["resumed"], 3);
    for (a, b) in whole["recipes"].as_array().unwrap().iter().zip(again["recipes"].as_array().unwrap()) {
        assert_eq!((&a["accuracy"], &a["macro_f1"]), (&b["accuracy"], &b["macro_f1"]));
    }
    assert_eq!(String::from_utf8(place.read("r.jsonl")).unwrap().lines().count(), 7);
    // Finished, it only reads.
    assert_eq!(place.json(&quiet)["resumed"], 6);
    let said = place.fails(1, &[&quiet[..], &["--seed", "7"]].concat());
    assert!(said.contains("another run") && said.contains("seed"), "{said}");
    let said = place.fails(1, &[&quiet[..], &["--where", "split=train"]].concat());
    assert!(said.contains("documents are not these"), "{said}");
    let said = place.fails(1, &[&quiet[..], &["--recipe", "tfidf | knn"]].concat());
    assert!(said.contains("its recipes are"), "{said}");
    place.write("mine.txt", "not to be lost");
    let other = [&["compare", "demo.jsonl", "-q", "--results", "mine.txt"], &RECIPES[..]].concat();
    assert!(place.fails(1, &other).contains("no results file"));
    assert_eq!(place.read("mine.txt"), b"not to be lost");
}
