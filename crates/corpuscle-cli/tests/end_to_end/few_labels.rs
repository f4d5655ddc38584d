//! Few labels and many documents: dcot, self-training and the label curve.

use crate::support::Place;

/// The demo's training part in two files: 80 documents with labels, 240 without.
fn few_labels() -> Place {
    let place = Place::new();
    let mut parts = [String::new(), String::new()];
    let train = corpuscle::corpus::DEMO_JSONL.lines().filter(|line| line.contains("\"split\":\"train\""));
    for (number, line) in train.enumerate() {
        let part = &mut parts[usize::from(number % 4 > 0)];
        part.push_str(line);
        part.push('\n');
    }
    place.write("labelled.jsonl", &parts[0]);
    place.write("more.jsonl", &parts[1]);
    place
}

#[test]
fn unlabelled_documents_are_learnt_from() {
    let place = few_labels();
    let accuracy = |recipe: &str| {
        let train =
            ["train", "labelled.jsonl", "--unlabelled", "more.jsonl", "--recipe", recipe, "-o", "m.model", "--json"];
        let trained = place.json(&train);
        assert_eq!((&trained["documents"], &trained["labelled"]), (&320.into(), &80.into()));
        let result = place.json(&["evaluate", "m.model", "demo.jsonl", "--where", "split=test", "--json"]);
        (result["accuracy"].as_f64().unwrap(), trained)
    };
    // 320 messages are too few for reconstructions to beat the words themselves; that they do no harm is what is tested.
    let (dcot, _) = accuracy("words(stop=english) | tfidf | dcot(200) | svm");
    assert!(dcot > 0.55, "{dcot}");
    let (trained_itself, trained) =
        accuracy("words(stop=english) | tfidf | dcot(200) | svm(self_training=true, calibrate=0)");
    assert!(trained_itself > 0.5, "{trained_itself}");
    assert!(trained["classifier"]["self-training"].as_str().unwrap().contains("rounds"), "{trained}");
    accuracy("tfidf | dcot(prototypes=50, noise=auto, layers=auto, weight=auto) | logistic(self_training=true)");
    accuracy("tfidf | dcot(prototypes=50, select=information_gain) | svm");
    place.write("terms.txt", "printer\npassword\ninvoice\n");
    accuracy("tfidf | dcot(terms=\"printer,password,invoice\") | svm");
    accuracy("tfidf | dcot(terms=\"@terms.txt\", layers=1) | svm");
    let said = place.fails(2, &["train", "demo.jsonl", "--recipe", "tfidf | lsi(5) | dcot | svm", "-o", "m.model"]);
    assert!(said.contains("put `dcot` before `lsi`") && said.contains("^"), "{said}");
    let said = place.fails(2, &["train", "demo.jsonl", "--recipe", "tfidf | dcot(noise=2) | svm", "-o", "m.model"]);
    assert!(said.contains("noise"), "{said}");
}

#[test]
fn curves_show_what_labels_are_worth() {
    let place = Place::new();
    let recipes = ["--recipe", "tfidf | svm(calibrate=0)", "--recipe", "tfidf | dcot(100) | svm(calibrate=0)"];
    let call = ["compare", "demo.jsonl", "--labels", "16,80,all", "--runs", "3", "-q", "--report", "curve.html"];
    let result = place.json(&[&call[..], &["--json"], &recipes].concat());
    assert_eq!((&result["train"], &result["test"]), (&320.into(), &192.into()));
    for recipe in result["recipes"].as_array().unwrap() {
        let points = recipe["points"].as_array().unwrap();
        let labels: Vec<u64> = points.iter().map(|point| point["labels"].as_u64().unwrap()).collect();
        assert_eq!(labels, [16, 80, 320]);
        let draws: Vec<usize> = points.iter().map(|point| point["draws"].as_array().unwrap().len()).collect();
        assert_eq!(draws, [3, 3, 1]);
        let accuracy: Vec<f64> = points.iter().map(|point| point["accuracy"].as_f64().unwrap()).collect();
        assert!(accuracy[0] < accuracy[2], "{accuracy:?}");
    }
    let page = String::from_utf8(place.read("curve.html")).unwrap();
    assert!(page.contains("<polyline") && page.contains("number of labels"));
    let said = place.ok(&[&call[..], &recipes].concat());
    assert!(said.contains("by the field `split`") && said.contains('±'), "{said}");
    // Without a field `split`, and with a test part of its own.
    let said =
        place.ok(&[&["compare", "demo.jsonl", "--test", "demo.jsonl", "--labels", "50", "-q"], &recipes[..2]].concat());
    assert!(said.contains("--test"), "{said}");
    place.fails(2, &["compare", "demo.jsonl", "--labels", "none", "--recipe", "tfidf | svm"]);
}

/// What the demo's classes are about, in the words of somebody who has read none of the messages.
fn names(place: &Place) {
    let labels: std::collections::BTreeSet<String> = corpuscle::corpus::DEMO_JSONL
        .lines()
        .filter_map(|line| Some(line.split("\"label\":\"").nth(1)?.split('"').next()?.to_string()))
        .collect();
    place.write("names.tsv", labels.iter().map(|label| format!("{label}\t{label}\n")).collect::<String>());
}

#[test]
fn names_of_classes_stand_for_labels() {
    let place = few_labels();
    names(&place);
    // No label at all: a chance of one in eight would be 0.125.
    let pile = String::from_utf8(place.read("more.jsonl")).unwrap().replace("\"label\":", "\"team\":");
    place.write("pile.jsonl", &pile);
    let call = ["train", "pile.jsonl", "--describe", "names.tsv", "-o", "m.model", "--json", "-q"];
    let trained = place.json(&call);
    assert_eq!(trained["labelled"], 0, "{trained}");
    let result = place.json(&["evaluate", "m.model", "demo.jsonl", "--where", "split=test", "--json"]);
    assert!(result["accuracy"].as_f64().unwrap() > 0.25, "{}", result["accuracy"]);
    // Shown to be struck out, and alone.
    let said = place.ok(&["expand", "names.tsv", "more.jsonl"]);
    assert!(said.contains("brings to mind"), "{said}");
    let found = place.json(&["expand", "names.tsv", "more.jsonl", "--top", "3", "--json"]);
    let classes = found["classes"].as_array().unwrap();
    assert!(classes.len() > 1 && classes.iter().all(|class| class["terms"].as_array().unwrap().len() <= 3), "{found}");
    // Few labels and names, by `recommend`.
    let call =
        ["recommend", "labelled.jsonl", "--unlabelled", "more.jsonl", "--describe", "names.tsv", "--budget", "5"];
    let result = place.json(&[&call[..], &["-o", "r.model", "--json", "-q"]].concat());
    assert_eq!(result["labelled"], 80);
    place.write("bad.tsv", "one\n");
    let said = place.fails(1, &["train", "more.jsonl", "--describe", "bad.tsv", "-o", "x.model"]);
    assert!(said.contains("bad.tsv:1: a line is a class, a tab"), "{said}");
    assert!(!place.path("x.model").exists());
}

#[test]
fn documents_to_label_are_suggested_with_their_reasons() {
    let place = few_labels();
    // Nothing has a label: every reason is a group, and the same seed gives the same documents.
    let call = ["suggest", "more.jsonl", "--label", "nothing", "-n", "12", "--json", "-q"];
    place.fails(1, &call);
    let call = ["suggest", "labelled.jsonl", "more.jsonl", "-n", "12", "--json", "-q"];
    let found = place.json(&call);
    assert_eq!(found["documents"], 320);
    // The demo's rows all have labels, so there is nothing left to ask.
    assert_eq!((&found["labelled"], found["suggestions"].as_array().unwrap().len()), (&320.into(), 0));
    let texts: String = corpuscle::corpus::demo()
        .unwrap()
        .train
        .iter()
        .map(|document| document.text.replace('\n', " ") + "\n")
        .collect();
    place.write("pile.txt", texts);
    let call = ["suggest", "pile.txt", "-n", "12", "--json", "-q"];
    let found = place.json(&call);
    let list = found["suggestions"].as_array().unwrap();
    assert_eq!((&found["labelled"], list.len()), (&0.into(), 12));
    assert!(list.iter().all(|one| one["reason"]["group"]["documents"].as_u64().unwrap() > 0), "{found}");
    assert_eq!(place.json(&call)["suggestions"], found["suggestions"]);
    // A model that has seen enough labels is asked too.
    place.json(&["train", "labelled.jsonl", "--recipe", "tfidf | svm", "-o", "m.model", "--json", "-q"]);
    let said = place.ok(&["suggest", "pile.txt", "-n", "12", "--model", "m.model", "-q"]);
    assert_eq!(said.matches("the model wavers between").count(), 6, "{said}");
    assert!(said.contains("stands for a group of"), "{said}");
}

#[test]
fn curves_show_what_suggested_labels_are_worth() {
    let place = Place::new();
    let call =
        ["compare", "demo.jsonl", "--labels", "16,100,all", "--runs", "2", "--active", "-q", "--report", "curve.html"];
    let recipe = ["--recipe", "tfidf | svm(calibrate=0)"];
    let result = place.json(&[&call[..], &["--json"], &recipe].concat());
    let names: Vec<&str> =
        result["recipes"].as_array().unwrap().iter().map(|recipe| recipe["recipe"].as_str().unwrap()).collect();
    assert_eq!(names, ["tfidf | svm(calibrate=0) (random)", "tfidf | svm(calibrate=0) (suggested)"]);
    for recipe in result["recipes"].as_array().unwrap() {
        let labels: Vec<u64> =
            recipe["points"].as_array().unwrap().iter().map(|point| point["labels"].as_u64().unwrap()).collect();
        assert_eq!(labels, [16, 100, 320]);
    }
    // With every label there is nothing to choose.
    let last = |curve: usize| result["recipes"][curve]["points"][2]["accuracy"].as_f64().unwrap();
    assert_eq!(last(0), last(1));
    assert!(String::from_utf8(place.read("curve.html")).unwrap().contains("(suggested)"));
    place.fails(2, &["compare", "demo.jsonl", "--active", "--recipe", "tfidf | svm"]);
}
