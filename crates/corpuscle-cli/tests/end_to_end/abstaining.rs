//! Probabilities that are measured, answers withheld, documents foreign to the training ones.

use serde_json::Value;

use crate::support::Place;

const TEST: [&str; 2] = ["--where", "split=test"];

fn evaluate(place: &Place, model: &str, more: &[&str]) -> Value {
    let mut call = vec!["evaluate", model, "demo.jsonl", "--json", "-q"];
    call.extend(TEST);
    call.extend(more);
    place.json(&call)
}

#[test]
fn evaluate_says_how_far_probabilities_can_be_believed() {
    let place = Place::new();
    place.train("tfidf | svm", "svm.model");
    let found = evaluate(&place, "svm.model", &["--report", "page.html"]);
    let figure = |name: &str| found[name].as_f64().unwrap();
    assert!((0.0..2.0).contains(&figure("log_loss")) && (0.0..1.0).contains(&figure("brier")), "{found}");
    assert!((0.0..0.5).contains(&figure("calibration_error")), "{found}");
    let counted: u64 = found["reliability"].as_array().unwrap().iter().map(|bin| bin["count"].as_u64().unwrap()).sum();
    assert_eq!(counted, found["documents"].as_u64().unwrap());
    let page = String::from_utf8(place.read("page.html")).unwrap();
    for words in ["How far its probabilities can be believed", "share that is true", "this model", "Brier score"] {
        assert!(page.contains(words), "{words}");
    }
    let said = place.ok(&["evaluate", "svm.model", "demo.jsonl", "--where", "split=test", "-q"]);
    assert!(said.contains("log loss") && said.contains("calibration error"), "{said}");

    // Without probabilities the names are there and say so.
    place.train("tfidf | svm(calibrate=0)", "plain.model");
    let found = evaluate(&place, "plain.model", &[]);
    for name in ["log_loss", "brier", "calibration_error"] {
        assert!(found.get(name).is_some_and(Value::is_null), "{name}: {found}");
    }
}

/// What a call says on stderr.
fn said(place: &Place, arguments: &[&str]) -> String {
    let output = place.run(arguments);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    said
}

#[test]
fn predict_answers_only_where_the_rate_is_kept() {
    let place = Place::new();
    place.train("tfidf | svm", "svm.model");
    let call = |rate, more: &[&'static str]| {
        let mut call = vec!["predict", "svm.model", "demo.jsonl", "--where", "split=test", "--abstain", rate];
        call.extend(more);
        call
    };
    let whole = place.json(&["predict", "svm.model", "demo.jsonl", "--where", "split=test", "--json", "-q"]);
    let found = place.json(&call("0.2", &["--json", "-q"]));
    let rows = |value: &Value| value["predictions"].as_array().unwrap().clone();
    assert_eq!(rows(&whole).len(), rows(&found).len());
    let mut answered = 0;
    for (before, row) in rows(&whole).iter().zip(&rows(&found)) {
        assert_eq!(before["id"], row["id"]);
        match row["abstained"].as_bool().unwrap() {
            true => assert!(row.get("label").is_some_and(Value::is_null)),
            false => assert_eq!(before["label"], row["label"]),
        }
        answered += usize::from(row["abstained"] == false);
    }
    assert!(answered > 0 && answered < rows(&found).len(), "{answered}");

    // The other formats: a row for every row, and what share is answered on stderr.
    let output = place.run(&call("0.2", &[]));
    let (rows, said_here) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(rows.starts_with("id\tlabel\tabstained\n") && rows.contains("\t\ttrue\n"), "{rows}");
    assert_eq!(rows.matches("\tfalse\n").count(), answered);
    assert!(said_here.contains(&format!("answered {answered} of ")) && said_here.contains("20.00 %"), "{said_here}");
    let lines = place.ok(&call("0.2", &["--format", "fasttext", "-q"]));
    assert_eq!(lines.lines().filter(|line| !line.is_empty()).count(), answered);

    // What cannot be promised is said, and nothing is answered.
    let said_here = said(&place, &call("0.0001", &[]));
    assert!(said_here.contains("answered none of") && said_here.contains("higher rate"), "{said_here}");
    assert!(!place.ok(&call("0.0001", &["-q"])).contains("\tfalse\n"));
    // The evaluation speaks of the same answers.
    let abstain = &evaluate(&place, "svm.model", &["--abstain", "0.2", "--report", "page.html"])["abstain"];
    assert_eq!(abstain["asked"], 0.2);
    assert!((abstain["answered"].as_f64().unwrap() - answered as f64 / 192.0).abs() < 1e-9, "{abstain}");
    assert!(abstain["error"].as_f64().unwrap() < 0.2, "{abstain}");
    assert_eq!(abstain["curve"].as_array().unwrap().last().unwrap()["coverage"], 1.0);
    let page = String::from_utf8(place.read("page.html")).unwrap();
    assert!(page.contains("Error against coverage") && page.contains("documents answered in %"));
    let text = place.ok(&["evaluate", "svm.model", "demo.jsonl", "--where", "split=test", "--abstain", "0.2", "-q"]);
    assert!(text.contains("Asked for an error of at most 20.00 %"), "{text}");
    let none = &evaluate(&place, "svm.model", &["--abstain", "0.0001"])["abstain"];
    assert!(none["answered"] == 0.0 && none["error"].is_null(), "{none}");
}

#[test]
fn several_labels_are_withheld_as_a_whole() {
    let place = Place::empty();
    let rows: String = corpuscle::corpus::DEMO_JSONL
        .lines()
        .map(|line| {
            let mut row: Value = serde_json::from_str(line).unwrap();
            let long = if row["text"].as_str().unwrap().len() > 60 { "long" } else { "short" };
            row["labels"] = serde_json::json!([row["label"], long]);
            row.as_object_mut().unwrap().remove("label");
            format!("{row}\n")
        })
        .collect();
    place.write("demo.jsonl", rows);
    place.train("tfidf | svm", "several.model");
    let found =
        place.json(&["predict", "several.model", "demo.jsonl", "--abstain", "0.3", "--novelty", "--json", "-q"]);
    let rows = found["predictions"].as_array().unwrap();
    assert!(rows.iter().any(|row| row["abstained"] == true));
    for row in rows {
        assert_eq!(row["abstained"] == true, row["labels"].is_null(), "{row}");
        assert!(row["novelty"].as_f64().is_some_and(|p| p > 0.0 && p <= 1.0), "{row}");
    }
    let found = evaluate(&place, "several.model", &["--abstain", "0.3"]);
    assert!(found["log_loss"].is_f64() && found["abstain"]["answered"].is_f64(), "{found}");
}

#[test]
fn novelty_is_small_for_foreign_documents_with_every_classifier() {
    let place = Place::new();
    let foreign = "quasars emit relativistic jets\nsonata in b flat minor for two violas\nmedieval falconry of burgundy\n\
                   the zygote divides by mitosis\n";
    place.write("foreign.txt", foreign.repeat(5));
    // `lsi` has learnt from the held-out documents too, though not from their labels, so new ones look stranger than those.
    let recipes = [
        ("tfidf | svm", 0.2),
        ("tfidf | logistic", 0.2),
        ("tfidf | knn(k=5)", 0.2),
        ("tfidf | lsi(40) | varnorm(5) | svm", 0.3),
    ];
    for (recipe, most) in recipes {
        place.train(recipe, "some.model");
        let share = |data: &str, more: &[&str]| {
            let mut call = vec!["predict", "some.model", data, "--novelty", "--json", "-q"];
            call.extend(more);
            let found = place.json(&call);
            let p: Vec<f64> =
                found["predictions"].as_array().unwrap().iter().map(|row| row["novelty"].as_f64().unwrap()).collect();
            p.iter().filter(|&&p| p <= 0.1).count() as f64 / p.len() as f64
        };
        let (known, foreign) = (share("demo.jsonl", &TEST), share("foreign.txt", &[]));
        assert!(known < most && foreign > known + 0.1, "{recipe}: {known} of those known, {foreign} of the foreign");
    }
    let rows = place.ok(&["predict", "some.model", "foreign.txt", "--novelty", "--format", "csv", "-q"]);
    assert!(rows.starts_with("id,label,novelty\n"), "{rows}");
}

#[test]
fn what_cannot_be_done_is_said_in_a_line() {
    let place = Place::new();
    place.train("tfidf | svm(calibrate=0)", "plain.model");
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../corpuscle/tests/golden/format-2-svm.model");
    for model in ["plain.model", golden] {
        for call in [
            ["predict", model, "demo.jsonl", "--abstain", "0.05"].as_slice(),
            ["predict", model, "demo.jsonl", "--novelty"].as_slice(),
            ["evaluate", model, "demo.jsonl", "--abstain", "0.05"].as_slice(),
        ] {
            let said = place.fails(1, call);
            assert!(said.contains("no out-of-fold scores") && said.contains("train it again"), "{said}");
            assert_eq!(said.trim().lines().count(), 1, "{said}");
        }
    }
    for rate in ["0", "1", "-1", "five", "nan"] {
        let said = place.fails(2, &["predict", "plain.model", "demo.jsonl", &format!("--abstain={rate}")]);
        assert!(said.contains("between 0 and 1"), "{said}");
    }
    place.train("tfidf | svm", "svm.model");
    let said = place.fails(2, &["predict", "svm.model", "demo.jsonl", "--novelty", "--format", "fasttext"]);
    assert!(said.contains("--format"), "{said}");
}
