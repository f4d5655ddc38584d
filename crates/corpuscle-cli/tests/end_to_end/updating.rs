//! Documents added to a model without the old texts.

use serde_json::Value;

use crate::support::Place;

/// The demo corpus in two halves; the second has a class the first has not.
fn halves(place: &Place) {
    let (mut old, mut new) = (String::new(), String::new());
    let first: Value = serde_json::from_str(corpuscle::corpus::DEMO_JSONL.lines().next().unwrap()).unwrap();
    for (number, line) in corpuscle::corpus::DEMO_JSONL.lines().enumerate() {
        let row: Value = serde_json::from_str(line).unwrap();
        let half = if row["label"] == first["label"] || number % 2 == 1 { &mut new } else { &mut old };
        half.push_str(line);
        half.push('\n');
    }
    place.write("old.jsonl", &old);
    place.write("new.jsonl", &new);
}

fn scores(place: &Place, model: &str) -> Vec<Vec<f64>> {
    let classes = place.json(&["inspect", model, "--json"])["classes"].as_array().unwrap().len().to_string();
    let rows = place.ok(&["predict", model, "demo.jsonl", "--format", "jsonl", "--top", &classes]);
    rows.lines()
        .map(|line| {
            let row: Value = serde_json::from_str(line).unwrap();
            let mut top: Vec<(String, f64)> = row["top"]
                .as_array()
                .unwrap()
                .iter()
                .map(|one| (one["label"].as_str().unwrap().to_string(), one["score"].as_f64().unwrap()))
                .collect();
            top.sort_by(|a, b| a.0.cmp(&b.0));
            top.into_iter().map(|(_, score)| score).collect()
        })
        .collect()
}

#[test]
fn an_updated_model_is_the_one_fitted_on_everything_at_once() {
    let place = Place::new();
    halves(&place);
    for recipe in [
        "tfidf(sublinear=true) | varnorm(10) | discriminant(shrinkage=1) | knn(k=5)",
        "words(stem=porter) | tfidf | varnorm(5) | svm",
        "(binary + tfidf * 0.5) | logistic",
    ] {
        place.ok(&["train", "old.jsonl", "--recipe", recipe, "-o", "old.model", "--updatable", "-q"]);
        let before = place.json(&["inspect", "old.model", "--json"]);
        assert_eq!(before["updatable"], true);
        place.ok(&["update", "old.model", "new.jsonl", "-o", "updated.model", "-q"]);
        let after = place.json(&["inspect", "updated.model", "--json"]);
        assert_eq!(after["provenance"]["documents"], 512);
        assert_eq!(after["classes"].as_array().unwrap().len(), before["classes"].as_array().unwrap().len() + 1);

        // In two steps it is the same, bit for bit.
        let text = String::from_utf8(place.read("new.jsonl")).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        place.write("new1.jsonl", lines[..100].join("\n"));
        place.write("new2.jsonl", lines[100..].join("\n"));
        place.ok(&["update", "old.model", "new1.jsonl", "-o", "step.model", "-q"]);
        place.ok(&["update", "step.model", "new2.jsonl", "-o", "steps.model", "-q"]);
        assert_eq!(scores(&place, "steps.model"), scores(&place, "updated.model"), "{recipe}");

        // The texts are not in the file.
        let bytes = place.read("updated.model");
        let whole: Value = serde_json::from_str(lines[0]).unwrap();
        let text = whole["text"].as_str().unwrap().as_bytes();
        assert!(!bytes.windows(text.len()).any(|window| window == text));
    }
}

#[test]
fn with_a_vocabulary_that_all_documents_share_updating_equals_training() {
    // The old half begins with one document that has every word, so that both trainings have the same vocabulary.
    let place = Place::new();
    halves(&place);
    let all: String = corpuscle::corpus::DEMO_JSONL
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["text"].as_str().unwrap().to_string() + " ")
        .collect();
    let every = serde_json::json!({"id": "every", "label": "other", "text": all}).to_string() + "\n";
    let old = every + &String::from_utf8(place.read("old.jsonl")).unwrap();
    place.write("old.jsonl", &old);
    place.write("both.jsonl", old + &String::from_utf8(place.read("new.jsonl")).unwrap());
    for recipe in [
        "tfidf(sublinear=true) | varnorm(10) | discriminant(shrinkage=1) | knn(k=5)",
        "tfidf | varnorm(5) | svm",
        "binary | ig(200) | lsi(10) | svm",
        "tfidf | varnorm(10) | discriminant | knn(k=5)",
    ] {
        place.ok(&["train", "old.jsonl", "--recipe", recipe, "-o", "old.model", "--updatable", "-q"]);
        place.ok(&["update", "old.model", "new.jsonl", "-o", "updated.model", "-q"]);
        place.ok(&["train", "both.jsonl", "--recipe", recipe, "-o", "whole.model", "-q"]);
        for (updated, whole) in scores(&place, "updated.model").iter().zip(scores(&place, "whole.model")) {
            for (a, b) in updated.iter().zip(&whole) {
                assert!((a - b).abs() < 1e-4, "{recipe}: {a} {b}");
            }
        }
    }
}

#[test]
fn what_cannot_be_updated_says_what_to_do() {
    let place = Place::new();
    place.train("tfidf | knn", "plain.model");
    let said = place.fails(1, &["update", "plain.model", "demo.jsonl", "-o", "x.model"]);
    assert!(said.contains("--updatable") && said.contains("train"), "{said}");
    place.fails(1, &["update", "nothing.model", "demo.jsonl", "-o", "x.model"]);
    assert!(!place.files().contains(&"x.model".to_string()));
}
