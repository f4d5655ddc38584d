//! What models have learnt about words, and why they decide: `terms`, `explain`.

use crate::support::Place;

#[test]
fn sprinkled_terms_have_neighbours_before_and_after() {
    let place = Place::new();
    let recipe = "words(stop=english) | binary | ig(200) | sprinkle(20) | knn(k=3)";
    place.ok(&["train", "demo.jsonl", "--recipe", recipe, "-o", "m.model", "-q"]);
    let pairs = &place.json(&["terms", "m.model", "--top", "5", "--json", "-q"])["pairs"];
    let term = pairs["together"][0]["first"].as_str().unwrap();
    let found = place.json(&["terms", "m.model", term, "--json", "-q"]);
    let word = &found["words"][0];
    assert_eq!((word["term"].as_str(), word["stage"].as_str()), (Some(term), Some("sprinkle")));
    for side in ["before", "after"] {
        let cosines: Vec<f64> =
            word[side].as_array().unwrap().iter().map(|near| near[side].as_f64().unwrap()).collect();
        assert!(!cosines.is_empty() && cosines.is_sorted_by(|a, b| a >= b) && cosines.iter().all(|&c| c <= 1.0001));
    }
    let change = |pair: &serde_json::Value| pair["after"].as_f64().unwrap() - pair["before"].as_f64().unwrap();
    assert!(pairs["together"].as_array().unwrap().iter().all(|pair| change(pair) > 0.0));
    assert!(pairs["apart"].as_array().unwrap().iter().all(|pair| change(pair) < 0.0));
    let text = place.ok(&["terms", "m.model", term, "-q"]);
    assert!(text.contains(&format!("near {term} before")) && text.contains("after sprinkle"), "{text}");
    let first = &pairs["together"][0];
    let names = format!("{term},{}", first["second"].as_str().unwrap());
    let named = &place.json(&["terms", "m.model", "--pair", &names, "--json", "-q"])["pairs"][0];
    for side in ["before", "after"] {
        let difference = named[side].as_f64().unwrap() - first[side].as_f64().unwrap();
        assert!(difference.abs() < 0.005, "{named} {first}");
    }
    assert!(place.ok(&["terms", "m.model", "--pair", &names, "-q"]).contains("cosine before"));
    place.fails(2, &["terms", "m.model", "--pair", term, "-q"]);
    place.fails(1, &["terms", "m.model", "--pair", &format!("{term},zyzzogeton"), "-q"]);
    place.fails(1, &["terms", "m.model", "zyzzogeton", "-q"]);
    place.ok(&["train", "demo.jsonl", "--recipe", "tfidf | svm", "-o", "plain.model", "-q"]);
    place.fails(2, &["terms", "plain.model", "printer", "-q"]);
    place.fails(2, &["terms", "plain.model", "--pair", "printer,paper", "-q"]);
}

#[test]
fn words_bring_others_to_mind_and_decisions_are_explained() {
    let place = Place::new();
    let recipe = "tfidf | dcot(prototypes=100, noise=0.9, layers=1) | svm";
    place.ok(&["train", "demo.jsonl", "--recipe", recipe, "-o", "m.model", "-q"]);
    let found = place.json(&["terms", "m.model", "printer", "--json", "-q"]);
    assert!(!found["reconstructs"][0]["terms"].as_array().unwrap().is_empty());
    place.write("one.jsonl", "{\"id\": \"a\", \"text\": \"the printer is out of toner again\"}\n");
    let found = place.json(&["explain", "m.model", "one.jsonl", "--json", "-q"]);
    let document = &found["documents"][0];
    assert_eq!(document["adds_up"], false);
    assert!(document["terms"].as_array().unwrap().iter().any(|part| part["term"] == "printer"), "{document}");
    assert!(document["margin"].as_f64().unwrap() > 0.0 && document["runner_up"].is_string());
    let text = place.ok(&["explain", "m.model", "one.jsonl", "-q"]);
    assert!(text.contains("printer") && text.contains("counts as"), "{text}");
    place.ok(&["train", "demo.jsonl", "--recipe", "tfidf | svm", "-o", "plain.model", "-q"]);
    assert_eq!(place.json(&["explain", "plain.model", "one.jsonl", "--json", "-q"])["documents"][0]["adds_up"], true);
}
