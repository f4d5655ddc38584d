//! Several labels per document, from file to metrics.

use std::fmt::Write;

use crate::support::Place;

/// Messages of the demo corpus glued in pairs, with both labels; some with none.
fn pairs() -> String {
    let rows: Vec<serde_json::Value> =
        corpuscle::corpus::DEMO_JSONL.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut text = String::new();
    for (number, pair) in rows.chunks(2).enumerate() {
        let joined = format!("{} {}", pair[0]["text"].as_str().unwrap(), pair[1]["text"].as_str().unwrap());
        let labels = serde_json::json!([pair[0]["label"], pair[1]["label"]]);
        let split = if number % 4 == 0 { "test" } else { "train" };
        writeln!(text, "{}", serde_json::json!({"id": number, "text": joined, "labels": labels, "split": split}))
            .unwrap();
    }
    text.push_str("{\"id\":\"none\",\"text\":\"lunch is at noon\",\"labels\":[],\"split\":\"train\"}\n");
    text
}

#[test]
fn several_labels_are_learnt_and_measured() {
    let place = Place::empty();
    place.write("pairs.jsonl", pairs());
    for recipe in ["tfidf | svm", "tfidf | logistic", "tfidf | knn"] {
        place.ok(&["train", "pairs.jsonl", "--where", "split=train", "--recipe", recipe, "-o", "m.model"]);
        let result = place.json(&["evaluate", "m.model", "pairs.jsonl", "--where", "split=test", "--json"]);
        assert_eq!(result["multi_label"], true);
        for field in ["precision_at", "ndcg_at"] {
            assert!(result[field]["1"].as_f64().unwrap() > 0.3, "{recipe} {field}: {}", result[field]);
        }
        for field in ["coverage_error", "lrap", "hamming_loss", "micro_f1"] {
            assert!(result[field].is_number(), "{field}");
        }
        let rows = place.ok(&["predict", "m.model", "pairs.jsonl", "--where", "split=test", "--format", "jsonl"]);
        assert!(rows.lines().any(|line| {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            row["labels"].as_array().unwrap().len() > 1
        }));
    }
    let refused = place
        .fails(1, &["train", "pairs.jsonl", "--recipe", "tfidf | svm(multiclass=crammer_singer)", "-o", "x.model"]);
    assert!(refused.contains("one_vs_rest") || refused.contains("one-vs-rest"), "{refused}");
}
