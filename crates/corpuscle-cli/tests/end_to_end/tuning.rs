//! Ranges searched by `tune`, and the recipe it prints used by `train`.

use crate::support::Place;

const SEARCHED: &str = "tfidf(sublinear={true|false}) | svm(c=0.01..100 log, calibrate=0)";

#[test]
fn the_line_it_prints_is_a_recipe_that_train_takes() {
    let place = Place::new();
    let call = ["tune", "demo.jsonl", "--where", "split=train", "--recipe", SEARCHED, "--trials", "6", "--folds", "3"];
    let output = place.run(&call);
    let said = String::from_utf8(output.stdout).unwrap();
    let table = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.lines().count(), 1, "{said}");
    // A heading and a line for each trial; the first has the defaults.
    assert!(table.contains("svm.c") && table.lines().count() == 7, "{table}");
    place.train(said.trim(), "m.model");
    // The same seed and number of trials find the same, whatever the threads.
    let again = place.ok(&[&call[..], &["--threads", "1", "-q"]].concat());
    assert_eq!(again, said);

    let result = place.json(&[&call[..], &["--json", "-q"]].concat());
    assert_eq!(result["recipe"], said.trim());
    let trials = result["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 6);
    assert_eq!(trials[0]["recipe"], "tfidf | svm(calibrate=0)");
    assert!(trials.iter().all(|trial| trial["folds"].as_array().unwrap().len() == 3));
    let best = trials.iter().map(|trial| trial["mean"].as_f64().unwrap()).fold(0.0, f64::max);
    assert_eq!(result["mean"].as_f64().unwrap(), best);
}

#[test]
fn rows_that_were_not_handed_over_have_no_part() {
    let place = Place::new();
    // The same training rows beside test rows of other texts.
    let blotted: String = corpuscle::corpus::DEMO_JSONL
        .lines()
        .map(|line| match line.contains("\"split\":\"test\"") {
            true => "{\"id\":\"x\",\"split\":\"test\",\"label\":\"login\",\"text\":\"zyzzogeton\"}\n".to_string(),
            false => format!("{line}\n"),
        })
        .collect();
    place.write("blotted.jsonl", blotted);
    let folds = |file: &str| {
        let call = ["tune", file, "--where", "split=train", "--recipe", SEARCHED, "--trials", "3", "--folds", "2"];
        let result = place.json(&[&call[..], &["--json", "-q"]].concat());
        result["trials"].as_array().unwrap().iter().map(|trial| trial["folds"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(folds("demo.jsonl"), folds("blotted.jsonl"));
}

#[test]
fn a_time_ends_the_search_and_a_small_space_too() {
    let place = Place::new();
    let call = ["tune", "demo.jsonl", "--json", "-q", "--folds", "2"];
    let result = place.json(&[&call[..], &["--budget", "0", "--recipe", SEARCHED]].concat());
    assert_eq!(result["trials"].as_array().unwrap().len(), 1);
    let result = place.json(&[&call[..], &["--trials", "50", "--recipe", "tfidf | knn(k={1|3|5})"]].concat());
    assert_eq!((result["trials"].as_array().unwrap().len(), &result["exhausted"]), (3, &true.into()));
}

#[test]
fn ranges_belong_to_tune_alone() {
    let place = Place::new();
    let said = place.fails(2, &["train", "demo.jsonl", "--recipe", "tfidf | varnorm(20..120) | svm", "-o", "m.model"]);
    assert!(said.contains("tune searches ranges, train takes one value"), "{said}");
    let said = place.fails(2, &["compare", "demo.jsonl", "--recipe", "tfidf | svm(c={1|2})"]);
    assert!(said.contains("range"), "{said}");
    for (recipe, reason) in [
        ("tfidf | svm", "no range"),
        ("tfidf | svm(c=5..1)", "lower end"),
        ("tfidf | svm(c=0..1 log)", "above 0"),
        ("tfidf | smv(c=1..2)", "svm"),
        ("tfidf | svm(c=1..2 loud)", "log"),
    ] {
        let said = place.fails(2, &["tune", "demo.jsonl", "--recipe", recipe]);
        assert!(said.contains(reason), "{recipe}: {said}");
    }
    place.fails(2, &["tune", "demo.jsonl", "--recipe", SEARCHED, "--budget", "soon"]);
    place.fails(2, &["tune", "demo.jsonl", "--recipe", SEARCHED, "--folds", "1"]);
    assert_eq!(place.files(), ["demo.jsonl"]);
}
