//! A recipe found for the documents: `recommend`, and `train` without a recipe.

use serde_json::Value;

use crate::support::{Place, shared_data};

fn accuracy(place: &Place, model: &str) -> f64 {
    place.json(&["evaluate", model, "demo.jsonl", "--where", "split=test", "--json"])["accuracy"].as_f64().unwrap()
}

#[test]
fn a_recipe_is_found_and_its_model_written() {
    let place = Place::new();
    let call = ["recommend", "demo.jsonl", "--where", "split=train", "-o", "m.model", "--budget", "120"];
    let output = place.run(&call);
    let said = String::from_utf8(output.stdout).unwrap();
    let progress = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{progress}");
    assert!(said.contains(" won with ") && said.contains("ms a document") && said.contains("model"), "{said}");
    assert!(progress.contains("fold 1:"), "{progress}");
    assert!(accuracy(&place, "m.model") > 0.6);

    let result = place.json(&[&call[..], &["--json", "-q"]].concat());
    let found = &result["recommendation"];
    assert_eq!(found["winner"], result["recipe"]);
    // So few documents get a second round of folds, twice as many.
    assert_eq!(
        (&found["setting"], &found["folds"], &found["first_round"]),
        (&"many labels".into(), &15.into(), &5.into())
    );
    let candidates = found["candidates"].as_array().unwrap();
    let winner = candidates.iter().find(|candidate| candidate["recipe"] == found["winner"]).unwrap();
    // What is said of the runner-up is what the folds of both say.
    let figures = |candidate: &Value| -> Vec<f64> {
        candidate["folds"].as_array().unwrap().iter().map(|figure| figure.as_f64().unwrap()).collect()
    };
    let mean = |figures: &[f64]| figures.iter().sum::<f64>() / figures.len() as f64;
    assert_eq!(figures(winner).len(), 15);
    assert!((winner["mean"].as_f64().unwrap() - mean(&figures(winner))).abs() < 1e-12);
    if let Some(second) = candidates.iter().find(|candidate| candidate["recipe"] == found["runner_up"]) {
        let test = &second["winner_against"];
        let difference = mean(&figures(winner)[..5]) - mean(&figures(second)[..5]);
        assert!((test["difference"].as_f64().unwrap() - difference).abs() < 1e-12, "{found}");
        assert_eq!(found["significant"], test["p_holm"].as_f64().unwrap() < 0.05);
    }
    assert!(found["predict_seconds_per_document"].as_f64().unwrap() > 0.0);
    assert!(result["bytes"].as_u64().unwrap() > 1000);
}

#[test]
fn few_labels_and_many_documents_bring_self_training() {
    let place = Place::new();
    let train = corpuscle::corpus::DEMO_JSONL.lines().filter(|line| line.contains("\"split\":\"train\""));
    let mut parts = [String::new(), String::new()];
    for (number, line) in train.enumerate() {
        parts[usize::from(number % 4 > 0)] += &format!("{line}\n");
    }
    place.write("labelled.jsonl", &parts[0]);
    place.write("more.jsonl", &parts[1]);
    let call = ["recommend", "labelled.jsonl", "--unlabelled", "more.jsonl", "-o", "m.model", "--json", "-q"];
    let result = place.json(&call);
    assert_eq!((&result["documents"], &result["labelled"]), (&320.into(), &80.into()));
    let found = &result["recommendation"];
    assert_eq!(found["setting"], "few labels");
    let tried = found["candidates"].as_array().unwrap();
    let has = |part: &str| tried.iter().any(|one| one["recipe"].as_str().unwrap().contains(part));
    assert!(has("dcot") && has("dcot | svm(self_training=aligned"), "{found}");
    assert!(tried.iter().all(|one| one["fate"]["failed"].is_null()), "{found}");
    assert!(accuracy(&place, "m.model") > 0.45);
}

#[test]
fn training_without_a_recipe_says_how_it_found_one() {
    let place = Place::new();
    let output = place.run(&["train", "demo.jsonl", "--where", "split=train", "-o", "m.model", "--updatable"]);
    let (said, told) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(told.contains("no --recipe given") && told.contains("20 s"), "{told}");
    assert!(said.contains(" won with "), "{said}");
    assert!(accuracy(&place, "m.model") > 0.6);
    place.ok(&["update", "m.model", "demo.jsonl", "-o", "n.model", "-q"]);
    // A recipe of one's own is taken as it is.
    let trained = place.train("tfidf | svm", "m.model");
    assert!(trained["recommendation"].is_null() && trained["recipe"] == "tfidf | svm");
}

#[test]
fn no_time_still_gives_a_model() {
    let place = Place::new();
    let call = ["recommend", "demo.jsonl", "--budget", "0", "-o", "m.model", "--json", "-q"];
    let result = place.json(&call);
    assert_eq!(result["recipe"], "tfidf(sublinear=true) | svm");
    place.write("some.jsonl", corpuscle::corpus::DEMO_JSONL.lines().take(8).collect::<Vec<_>>().join("\n"));
    let said = place.ok(&["recommend", "some.jsonl", "-o", "m.model", "-q"]);
    assert!(said.contains("without a comparison: 8 labelled documents are too few"), "{said}");
    assert!(!said.contains("skipped"), "{said}");
    place.fails(2, &["recommend", "demo.jsonl", "--budget", "-1", "-o", "m.model"]);
    place.fails(2, &["recommend", "demo.jsonl"]);
}

#[test]
fn several_labels_are_learnt_too() {
    let Some(data) = shared_data() else { return };
    let place = Place::empty();
    let file = data.join("reuters21578.jsonl.gz");
    let call = ["recommend", file.to_str().unwrap(), "--where", "split=train", "-o", "m.model", "--budget", "10"];
    let result = place.json(&[&call[..], &["--json", "-q"]].concat());
    assert_eq!((&result["multi_label"], &result["recommendation"]["objective"]), (&true.into(), &"micro F1".into()));
}
