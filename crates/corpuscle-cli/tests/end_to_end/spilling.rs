//! Words on disk while training, for more documents than fit memory.

use crate::support::Place;

#[test]
fn words_on_disk_make_the_same_file() {
    let place = Place::new();
    std::fs::create_dir(place.path("elsewhere")).unwrap();
    for recipe in ["words(stem=english) | tfidf(ngrams=2) | svm", "(counts + binary) | lsi(20) | logistic"] {
        let train = |model: &str, more: &[&str]| {
            let mut call =
                vec!["train", "demo.jsonl", "--unlabelled", "demo.jsonl", "--recipe", recipe, "-o", model, "-q"];
            call.extend(more);
            place.ok(&call);
            place.read(model)
        };
        let whole = train("whole.model", &[]);
        assert_eq!(train("spilled.model", &["--spill"]), whole);
        assert_eq!(train("spilled.model", &["--spill=elsewhere", "--threads", "1"]), whole);
    }
    assert!(place.files().iter().all(|name| !name.contains("spill") || name == "spilled.model"), "{:?}", place.files());
}

#[test]
fn what_cannot_be_spilled_is_refused() {
    let place = Place::new();
    let said = place.fails(1, &["train", "demo.jsonl", "--recipe", "scdv | svm", "-o", "m.model", "--spill", "-q"]);
    assert!(said.contains("`scdv` needs the words of all documents in memory"), "{said}");
    place.fails(2, &["train", "demo.jsonl", "-o", "m.model", "--spill"]);
    place.fails(2, &["train", "demo.jsonl", "--recipe", "tfidf | svm", "--updatable", "--spill", "-o", "m.model"]);
    let said = place.fails(1, &["train", "demo.jsonl", "--recipe", "tfidf | svm", "-o", "m.model", "--spill=gone"]);
    assert!(said.contains("gone"), "{said}");
    assert!(!place.files().contains(&"m.model".to_string()));
}
