//! Topics of a pile and of a model, senses of words.

use crate::support::Place;

const SMALL: &str = "words(stop=english) | scdv(dim=16, clusters=6, min_count=3, epochs=10)";

#[test]
fn a_pile_becomes_a_page_in_one_command() {
    let place = Place::new();
    let call =
        ["topics", "demo.jsonl", "-n", "8", "-o", "t.model", "--report", "page.html", "--over", "split", "--json"];
    let found = place.json(&call);
    let topics = found["topics"].as_array().unwrap();
    assert_eq!(topics.len(), 8);
    for topic in topics {
        assert_eq!(topic["words"].as_array().unwrap().len(), 10);
        assert!(topic["weight"].as_f64().unwrap() > 0.0 && topic["coherence"].as_f64().unwrap() < 0.0, "{topic}");
        assert!((-1.0..=1.0).contains(&topic["npmi"].as_f64().unwrap()));
        assert_eq!(topic["documents"].as_array().unwrap().len(), 3);
        assert_eq!(topic["labels"].as_array().unwrap().len(), 3);
    }
    let weight: f64 = topics.iter().map(|topic| topic["weight"].as_f64().unwrap()).sum();
    assert!((weight - 1.0).abs() < 1e-3);
    assert!(found["over"]["groups"].as_array().unwrap().len() > 1);
    let page = String::from_utf8(place.read("page.html")).unwrap();
    assert!(page.contains("8 topics") && page.contains("Over split") && page.contains("Closest documents"));
    // The model alone, with other documents, and the same bits on any number of threads.
    let table = place.ok(&["topics", "t.model"]);
    assert!(table.lines().count() > 8 && !table.contains("NPMI"), "{table}");
    assert!(place.ok(&["topics", "t.model", "demo.jsonl"]).contains("NPMI"));
    place.ok(&["topics", "demo.jsonl", "-n", "8", "-o", "one.model", "--threads", "1"]);
    assert_eq!(place.read("t.model"), place.read("one.model"));
}

#[test]
fn other_seeds_say_which_topics_come_back() {
    let place = Place::new();
    let found = place.json(&["topics", "demo.jsonl", "-n", "4", "--stable", "--json"]);
    for topic in found["topics"].as_array().unwrap() {
        assert!((0.0..=1.0).contains(&topic["comes_back"].as_f64().unwrap()), "{topic}");
    }
    assert!(found["come_back"].as_u64().unwrap() <= 4);
}

#[test]
fn clusters_and_dimensions_are_topics_too() {
    let place = Place::new();
    for (recipe, stage) in [(SMALL, "scdv"), ("words(stop=english) | tfidf | lsi(5)", "lsi")] {
        let found = place.json(&["topics", "demo.jsonl", "--recipe", recipe, "-o", "m.model", "--json"]);
        assert_eq!(found["stage"], stage);
        assert!(found["topics"][0]["coherence"].as_f64().unwrap().is_finite());
    }
    place.train("tfidf | svm", "plain.model");
    assert!(place.fails(2, &["topics", "plain.model"]).contains("has no topics"));
    assert!(place.fails(2, &["topics", "plain.model", "--stable"]).contains("need documents"));
}

#[test]
fn words_have_senses_and_sentences() {
    let place = Place::new();
    place.ok(&["topics", "demo.jsonl", "--recipe", SMALL, "-o", "s.model"]);
    let found = place.json(&["senses", "s.model", "--least", "0.05", "--examples", "demo.jsonl", "--json"]);
    for word in found["words"].as_array().unwrap() {
        assert!(word["senses"].as_array().unwrap().len() > 1, "{word}");
    }
    let one = place.json(&["senses", "s.model", "password", "--least", "0", "--json"]);
    let sum: f64 =
        one["words"][0]["senses"].as_array().unwrap().iter().map(|s| s["probability"].as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-3, "{one}");
    assert!(place.fails(1, &["senses", "s.model", "zzzz"]).contains("does not know the word"));
    place.train("tfidf | svm", "plain.model");
    assert!(place.fails(2, &["senses", "plain.model"]).contains("no clusters of words"));
}

#[test]
fn what_has_no_topics_says_so() {
    let place = Place::empty();
    place.write("empty.csv", "text\n!\n?\n");
    assert!(place.fails(1, &["topics", "empty.csv", "-n", "3"]).contains("has a word"));
    place.write("one.csv", "text\nonly one document here\n");
    assert!(place.fails(1, &["topics", "one.csv", "-n", "3"]).contains("min_df"));
    place.write("few.csv", "text\nred apple pie\ngreen apple pie\napple tree\n");
    let found = place.json(&["topics", "few.csv", "-n", "9", "--json"]);
    assert_eq!(found["topics"].as_array().unwrap().len(), 9);
    // Words that the documents do not have are no perfect topic, and a topic without words is no row.
    place.ok(&["topics", "few.csv", "-n", "9", "-o", "few.model", "-q"]);
    place.write("unseen.csv", "text\nzzz qqq\nxxx yyy\n");
    let unseen = place.json(&["topics", "few.model", "unseen.csv", "--json"]);
    assert!(unseen["coherence"]["umass"].is_null() && unseen["coherence"]["npmi"].is_null());
    let table = place.ok(&["topics", "few.model", "unseen.csv"]);
    assert!(!table.contains("UMass") && table.contains("apple"), "{table}");
    assert!(place.fails(2, &["topics", "few.csv", "-n", "0"]).contains("`topics` is 0"));
    assert!(
        place.fails(2, &["topics", "few.csv", "-n", "2", "--over", "day"]).contains("no document has the field `day`")
    );
}
