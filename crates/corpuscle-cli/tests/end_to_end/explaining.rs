//! `explain`: terms, runner-up, nearest documents; as text, JSON and a page. And the page of `compare`.

use crate::support::Place;

#[test]
fn a_decision_comes_with_its_neighbours_and_a_highlighted_page() {
    let place = Place::new();
    place.train("tfidf | svm", "m.model");
    place.write(
        "one.jsonl",
        "{\"id\":\"q\",\"text\":\"the invoice <b>total</b> is wrong, refund me\",\"label\":\"billing\"}\n",
    );
    let near = ["--neighbours", "demo.jsonl", "--neighbours-where", "split=train", "--near", "3"];
    let call = |more: &[&'static str]| [&["explain", "m.model", "one.jsonl"][..], &near, more].concat();
    let result = place.json(&call(&["--json", "--html", "why.html", "-q"]));
    let one = &result["documents"][0];
    assert_eq!(one["predicted"], "billing");
    assert!(one["runner_up"].is_string() && one["margin"].as_f64().unwrap() > 0.0);
    assert_eq!((&one["weighing"], &one["adds_up"]), (&"adds".into(), &true.into()));
    let neighbours = one["neighbours"].as_array().unwrap();
    assert_eq!(neighbours.len(), 3);
    let cosines: Vec<f64> = neighbours.iter().map(|near| near["cosine"].as_f64().unwrap()).collect();
    assert!(cosines.windows(2).all(|pair| pair[0] >= pair[1]) && cosines[0] <= 1.0 && cosines[2] > 0.0, "{cosines:?}");
    assert!(neighbours[0]["id"].is_string() && neighbours[0]["labels"][0].is_string());
    let page = String::from_utf8(place.read("why.html")).unwrap();
    assert!(page.contains(">invoice</mark>") && page.contains("Runner-up") && page.contains("cosine 0."));
    assert!(!page.contains("<b>total</b>") && !page.contains("<script"));
    let said = place.ok(&call(&["-q"]));
    assert!(
        said.contains("before ") && said.contains("nearest documents") && said.contains("adds to the score"),
        "{said}"
    );
    // Without documents to be near to, there are none.
    assert!(place.json(&["explain", "m.model", "one.jsonl", "--json"])["documents"][0]["neighbours"].is_null());
    place.fails(2, &["explain", "m.model", "one.jsonl", "--neighbours-where", "split=train"]);
    place
        .fails(1, &["explain", "m.model", "one.jsonl", "--neighbours", "demo.jsonl", "--neighbours-where", "split=no"]);
}

#[test]
fn neighbours_of_a_knn_model_are_its_own() {
    let place = Place::new();
    place.train("tfidf | knn(k=5)", "m.model");
    let result =
        place.json(&["explain", "m.model", "demo.jsonl", "--where", "split=test", "--top", "4", "--json", "-q"]);
    let documents = result["documents"].as_array().unwrap();
    assert_eq!(documents.len(), 192);
    for one in documents {
        assert_eq!(one["weighing"], "nearness");
        assert_eq!(one["neighbours"].as_array().unwrap().len(), 5);
        assert!(one["neighbours"][0]["row"].as_u64().unwrap() >= 1 && one["neighbours"][0]["id"].is_null());
    }
    // A vote does not change when one word goes, but nearness does.
    let useful = documents.iter().filter(|one| one["terms"][0]["amount"].as_f64().is_some_and(|a| a.abs() > 1e-6));
    assert!(useful.count() > 180);
    let said = place.ok(&["explain", "m.model", "demo.jsonl", "--where", "split=test", "-q"]);
    assert!(said.contains("training document ") && said.contains("nearness to the class"));
}

#[test]
fn a_comparison_can_be_a_page() {
    let place = Place::new();
    let recipes = ["--recipe", "tfidf | svm", "--recipe", "binary | knn(k=1, metric=euclidean)"];
    for (splits, told) in
        [(["--folds", "3"], "the 3 folds of the comparison"), (["--runs", "2"], "5 folds of their own")]
    {
        place.ok(&[&["compare", "demo.jsonl", "--report", "page.html", "-q"][..], &splits, &recipes].concat());
        let page = String::from_utf8(place.read("page.html")).unwrap();
        for part in
            ["Recipes compared", told, "Map of the documents", "Labels that may be wrong", "Click a cell", "512"]
        {
            assert!(page.contains(part), "{part}");
        }
    }
    place.fails(1, &["compare", "demo.jsonl", "--report", "no/such/folder/page.html", "--recipe", "tfidf | svm"]);
}
