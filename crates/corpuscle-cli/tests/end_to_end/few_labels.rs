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
    let (trained_itself, trained) = accuracy("words(stop=english) | tfidf | dcot(200) | svm(self_training=true)");
    assert!(trained_itself > 0.5, "{trained_itself}");
    assert!(trained["classifier"]["self-training"].as_str().unwrap().contains("5 rounds"), "{trained}");
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
