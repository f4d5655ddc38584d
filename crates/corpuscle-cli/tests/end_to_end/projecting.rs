//! Recipes with `varnorm` and `discriminant`, alone, together and beside other projections.

use crate::support::Place;

fn accuracy(place: &Place, recipe: &str) -> f64 {
    place.train(recipe, "m.model");
    let test = ["evaluate", "m.model", "demo.jsonl", "--where", "split=test", "--json", "-q"];
    place.json(&test)["accuracy"].as_f64().unwrap()
}

#[test]
fn every_order_of_projections_works_or_says_why_not() {
    let place = Place::new();
    for recipe in [
        "varnorm",
        "varnorm-discriminant",
        "tfidf | varnorm(10) | svm",
        "tfidf | varnorm(10) | normalize | logistic",
        "tfidf | lsi(60) | varnorm(10) | knn",
        "tfidf | varnorm(10) | lsi(40) | knn",
        "tfidf | varnorm(5) | varnorm(5) | knn",
        "binary | ig(300) | varnorm(10) | sprinkle(20) | knn(k=3)",
        "tfidf | discriminant(shrinkage=1) | svm",
        "tfidf | lsi(60) | discriminant(4, shrinkage=0.1) | knn",
        "(tfidf | varnorm(10)) + (tfidf | discriminant(shrinkage=1)) * 0.1 | knn",
    ] {
        let accuracy = accuracy(&place, recipe);
        assert!(accuracy > 0.5, "{recipe}: {accuracy}");
    }
    let said =
        place.fails(2, &["train", "demo.jsonl", "--recipe", "tfidf | varnorm(10) | ig(5) | svm", "-o", "x.model"]);
    assert!(said.contains("put `ig` before `varnorm`") && said.contains("^"), "{said}");
    let nested = "(tfidf | varnorm(10)) + counts | ig(5) | svm";
    let said = place.fails(2, &["train", "demo.jsonl", "--recipe", nested, "-o", "x.model"]);
    assert!(said.contains("put `ig` before `varnorm`") && said.contains("^"), "{said}");
}

#[test]
fn asking_for_too_much_is_said_and_done_with_less() {
    let place = Place::new();
    let train = |recipe: &str| {
        let output = place.run(&["train", "demo.jsonl", "--where", "split=train", "--recipe", recipe, "-o", "m.model"]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
        said
    };
    assert!(train("tfidf | varnorm(600) | knn").contains("removed and not 600"));
    assert!(train("tfidf | varnorm(60) | discriminant(50, shrinkage=1)").contains("kept and not 50"));
    assert_eq!(place.json(&["inspect", "m.model", "--json"])["stages"][2]["columns"], 7);
    // Nothing is left in which documents of one class differ.
    let nothing = "tfidf | varnorm(600) | discriminant(shrinkage=1) | knn";
    let said = place.fails(1, &["train", "demo.jsonl", "--where", "split=train", "--recipe", nothing, "-o", "x.model"]);
    assert!(said.contains("fewer directions"), "{said}");
    // Without a classifier the nearest class mean judges; with a handful of documents nobody can.
    place.ok(&["train", "demo.jsonl", "--recipe", "tfidf | discriminant", "-o", "m.model", "-q"]);
    let found = place.json(&["inspect", "m.model", "--json"])["classifier"]["discriminant shrinkage"].clone();
    assert!(found.as_str().unwrap().parse::<f64>().unwrap() > 0.0, "{found}");
    place.write("few.jsonl", corpuscle::corpus::DEMO_JSONL.lines().take(4).collect::<Vec<_>>().join("\n"));
    let output = place.run(&["train", "few.jsonl", "--recipe", "tfidf | discriminant", "-o", "m.model"]);
    assert!(String::from_utf8(output.stderr).unwrap().contains("shrinkage is 1"));
    let unlabelled = "{\"text\": \"a b\"}\n{\"text\": \"c d\"}\n";
    place.write("none.jsonl", unlabelled);
    let said = place.fails(1, &["train", "none.jsonl", "--recipe", "tfidf | varnorm | knn", "-o", "x.model"]);
    assert!(said.contains("`varnorm` needs labels"), "{said}");
}

#[test]
fn the_report_shows_variability_before_and_after() {
    let place = Place::new();
    place.train("tfidf | varnorm(20) | knn", "m.model");
    place.ok(&["evaluate", "m.model", "demo.jsonl", "--where", "split=test", "--report", "page.html", "-q"]);
    let page = String::from_utf8(place.read("page.html")).unwrap();
    assert!(page.contains("Intra-topic variability") && page.contains("Misses against false alarms"));
    place.train("tfidf | knn", "m.model");
    place.ok(&["evaluate", "m.model", "demo.jsonl", "--where", "split=test", "--report", "page.html", "-q"]);
    assert!(!String::from_utf8(place.read("page.html")).unwrap().contains("Intra-topic variability"));
}
