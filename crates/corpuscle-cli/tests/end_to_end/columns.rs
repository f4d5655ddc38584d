//! Numbers beside the text: `column(FIELD)` from the file to the explanation.

use crate::support::Place;

const RECIPE: &str = "(tfidf + column(embedding) | normalize) | svm";

/// Tickets whose words say nothing and whose numbers say all.
fn rows() -> String {
    let row = |i: usize| {
        let (side, label) = if i.is_multiple_of(2) { (1.0, "left") } else { (-1.0, "right") };
        let word = i / 2 % 5;
        format!("{{\"text\":\"ticket number {word}\",\"label\":\"{label}\",\"embedding\":[{side},0.25,{}]}}\n", i % 3)
    };
    (0..60).map(row).collect()
}

#[test]
fn numbers_are_trained_on_predicted_from_compared_and_explained() {
    let place = Place::empty();
    place.write("t.jsonl", rows());
    place.ok(&["train", "t.jsonl", "--recipe", RECIPE, "-o", "m.model", "-q"]);
    let result = place.json(&["evaluate", "m.model", "t.jsonl", "--report", "page.html", "--json", "-q"]);
    assert_eq!(result["accuracy"], 1.0);
    place.write("one.jsonl", "{\"text\":\"ticket\",\"embedding\":[-1,0.25,1],\"more\":[1,2]}\n");
    let kept = place.ok(&["predict", "m.model", "one.jsonl", "--keep"]);
    assert!(kept.contains("\"more\":[1,2],\"label\":\"right\""), "{kept}");
    let why = place.json(&["explain", "m.model", "one.jsonl", "--json", "-q"]);
    assert!(why.to_string().contains("embedding[0]"), "{why}");
    place.ok(&["embed", "m.model", "t.jsonl", "-o", "v.npy", "-q"]);
    let words = "tfidf | svm(calibrate=0)";
    let compared = place.json(&[
        "compare",
        "t.jsonl",
        "--folds",
        "3",
        "--recipe",
        words,
        "--recipe",
        "column(embedding) | svm(calibrate=0)",
        "--json",
        "-q",
    ]);
    assert_eq!(compared["best"], "column | svm(calibrate=0)");
    // The same numbers out of Parquet.
    place.ok(&["predict", "m.model", "t.jsonl", "--keep", "-o", "t.parquet", "-q"]);
    assert_eq!(place.json(&["evaluate", "m.model", "t.parquet", "--json", "-q"])["accuracy"], 1.0);
    // A number in a cell is a list of one.
    place.write("p.csv", "text,label,price\na b,x,1\nb c,y,-1\n".to_string() + &"a,x,1.5\nc,y,-2\n".repeat(10));
    place.ok(&["train", "p.csv", "--recipe", "(tfidf + column(price)) | svm(calibrate=0)", "-o", "p.model", "-q"]);
    let why = place.ok(&["explain", "p.model", "p.csv", "-q"]);
    assert!(why.contains("price"), "{why}");
}

#[test]
fn numbers_that_are_no_good_have_file_line_and_reason() {
    let place = Place::empty();
    place.write("t.jsonl", rows());
    place.ok(&["train", "t.jsonl", "--recipe", RECIPE, "-o", "m.model", "-q"]);
    for (row, reason) in [
        ("{\"text\":\"x\",\"label\":\"left\"}", "no field `embedding`"),
        ("{\"text\":\"x\",\"label\":\"left\",\"embedding\":null}", "is null"),
        ("{\"text\":\"x\",\"label\":\"left\",\"embedding\":[1,2]}", "has 2 numbers; 3 are wanted"),
        ("{\"text\":\"x\",\"label\":\"left\",\"embedding\":[1,2,\"inf\"]}", "`inf` at place 3"),
        ("{\"text\":\"x\",\"label\":\"left\",\"embedding\":[1,2,1e99]}", "1e99"),
        ("{\"text\":\"x\",\"label\":\"left\",\"embedding\":{}}", "an object"),
    ] {
        place.write("bad.jsonl", rows() + row + "\n");
        let calls: [&[&str]; 3] = [
            &["train", "bad.jsonl", "--recipe", RECIPE, "-o", "n.model"],
            &["predict", "m.model", "bad.jsonl"],
            &["compare", "bad.jsonl", "--recipe", RECIPE],
        ];
        for call in calls {
            let said = place.fails(1, call);
            assert!(said.contains("bad.jsonl:61") && said.contains(reason), "{call:?}: {said}");
        }
    }
    place.write("short.jsonl", "{\"text\":\"x\",\"embedding\":[1]}\n");
    assert!(place.fails(1, &["predict", "m.model", "short.jsonl"]).contains("short.jsonl:1"));
    let output = place.command(&["predict", "m.model", "-"]).write_stdin("a line\n").output().unwrap();
    assert!(String::from_utf8(output.stderr).unwrap().contains("no field `embedding`"));
    let said = place.fails(1, &["train", "t.jsonl", "--recipe", RECIPE, "-o", "n.model", "--updatable"]);
    assert!(said.contains("`column` cannot be updated"), "{said}");
    assert!(!place.files().contains(&"n.model".to_string()));
}
