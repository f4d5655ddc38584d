//! Word vectors: trained, exported, used in recipes, asked for neighbours.

use crate::support::Place;

const SMALL: &str = "scdv(dim=16, clusters=5, min_count=3, epochs=25)";

#[test]
fn a_model_with_word_vectors_predicts_and_names_similar_words() {
    let place = Place::new();
    let decomposed = "scdv(dim=16, clusters=5, min_count=3, training=lsi) | svm";
    for recipe in [decomposed, &format!("{SMALL} | svm"), &format!("(tfidf + {SMALL} * 0.5) | svm")] {
        place.train(recipe, "a.model");
        let result = place.json(&["evaluate", "a.model", "demo.jsonl", "--where", "split=test", "--json"]);
        assert!(result["accuracy"].as_f64().unwrap() > 0.5, "{result}");
        let found = place.json(&["similar", "a.model", "the", "--top", "3", "--json"]);
        assert_eq!(found["similar"]["the"].as_array().unwrap().len(), 3);
    }
    let table = place.ok(&["similar", "a.model", "the", "and", "--top", "2"]);
    assert_eq!(table.lines().count(), 5, "{table}");
    assert!(place.fails(1, &["similar", "a.model", "thee"]).contains("did you mean `the`"));
    place.train("tfidf | svm", "b.model");
    assert!(place.fails(2, &["similar", "b.model", "the"]).contains("no word vectors"));
}

#[test]
fn vectors_are_exported_and_used_again() {
    let place = Place::new();
    let ways = [None, Some("--nondeterministic"), Some("--cbow"), Some("--lsi")];
    for (name, more) in ["v.txt", "v.bin", "glove.txt", "lsi.txt"].into_iter().zip(ways) {
        let mut call =
            vec!["words", "demo.jsonl", "-o", name, "--dim", "8", "--epochs", "2", "--min-count", "5", "--json"];
        call.extend(more);
        let made = place.json(&call);
        let recipe = format!("average(vectors=\"{name}\") | svm");
        place.train(&recipe, "c.model");
        // The model holds the vectors: it works without the file.
        std::fs::remove_file(place.path(name)).unwrap();
        let facts = place.json(&["inspect", "c.model", "--json"]);
        assert_eq!(facts["stages"][0]["columns"], 8, "{made}");
        place.ok(&["predict", "c.model", "demo.jsonl"]);
    }
    assert!(
        place
            .fails(1, &["train", "demo.jsonl", "-r", "average(vectors=none.txt) | svm", "-o", "d"])
            .contains("none.txt")
    );
    assert!(place.fails(2, &["words", "demo.jsonl", "-o", "v.txt", "--dim", "0"]).contains("dim = 0"));
}

#[test]
fn threads_change_no_bit_of_the_vectors() {
    let place = Place::new();
    for threads in ["1", "2", "8"] {
        let name = format!("v{threads}.bin");
        let size = ["--dim", "8", "--epochs", "2", "--min-count", "5", "--threads", threads];
        place.ok(&[&["words", "demo.jsonl", "-o", &name][..], &size].concat());
    }
    assert_eq!(place.read("v1.bin"), place.read("v2.bin"));
    assert_eq!(place.read("v1.bin"), place.read("v8.bin"));
}
