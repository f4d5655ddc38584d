//! What people have and want back: lines from a pipe, a workbook, columns under other names, their own table with a label.

use serde_json::Value;

use crate::support::Place;

const RECIPE: &str = "tfidf | svm(calibrate=0)";

fn piped(place: &Place, arguments: &[&str], input: &str) -> (String, String) {
    let output = place.command(arguments).write_stdin(input).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{arguments:?}: {said}");
    (String::from_utf8(output.stdout).unwrap(), said)
}

fn parsed(lines: &str) -> Vec<Value> {
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_line_from_a_pipe_is_a_document() {
    let place = Place::new();
    place.train(RECIPE, "m.model");
    let lines = "my printer is broken\n\nforgot my password, again\n";
    let (rows, _) = piped(&place, &["predict", "m.model", "-"], lines);
    let rows: Vec<&str> = rows.lines().collect();
    assert_eq!(rows.len(), 4, "{rows:?}");
    assert!(rows[3].starts_with("3\t"), "{rows:?}");
    // Without DATA, and not at a terminal, the same.
    assert_eq!(piped(&place, &["predict", "m.model"], lines).0, rows.join("\n") + "\n");
    assert_eq!(piped(&place, &["predict", "m.model", "--input-format", "lines"], "text,label\n").0.lines().count(), 2);
    assert!(place.fails(1, &["train", "m.model", "-o", "n.model"]).contains("not text"));
}

#[test]
fn columns_under_other_names_are_taken_and_said() {
    let place = Place::new();
    let renamed = corpuscle::corpus::DEMO_JSONL.replace("\"text\"", "\"message\"").replace("\"label\"", "\"team\"");
    place.write("tickets.jsonl", renamed);
    let train = ["train", "tickets.jsonl", "--where", "split=train", "--recipe", RECIPE, "-o", "m.model"];
    let output = place.run(&train);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("`message` is taken") && said.contains("`team` is taken"), "{said}");
    let result = place.json(&["evaluate", "m.model", "tickets.jsonl", "--where", "split=test", "--json", "-q"]);
    assert!(result["accuracy"].as_f64().unwrap() > 0.5);
}

#[test]
fn the_table_comes_back_with_the_label_beside_its_columns() {
    let place = Place::new();
    place.train(RECIPE, "m.model");
    place.write("new.csv", "key,text,note\n7,\"printer, broken\",\"a \"\"b\"\"\"\n8,my password,\n");
    let csv = place.ok(&["predict", "m.model", "new.csv", "--keep"]);
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(rows[0], "key,text,note,label");
    assert!(rows[1].starts_with("7,\"printer, broken\",\"a \"\"b\"\"\","), "{csv}");
    place.ok(&["predict", "m.model", "new.csv", "--keep", "-o", "out.jsonl"]);
    let lines = parsed(&String::from_utf8(place.read("out.jsonl")).unwrap());
    assert_eq!((&lines[1]["key"], &lines[1]["note"]), (&Value::from("8"), &Value::from("")));
    assert!(lines[1]["label"].is_string());
    // Parquet and back, types kept.
    place.write("typed.jsonl", "{\"n\":3,\"text\":\"my printer\",\"e\":[1.5,2]}\n{\"n\":4,\"text\":\"password\"}\n");
    place.ok(&["predict", "m.model", "typed.jsonl", "--keep", "-o", "out.parquet"]);
    let back = parsed(&place.ok(&["predict", "m.model", "out.parquet", "--keep", "--format", "jsonl", "-q"]));
    assert_eq!((&back[0]["n"], &back[0]["e"]), (&Value::from(3), &serde_json::json!([1.5, 2.0])));
    assert_eq!(back[0]["label"], back[0]["predicted"]);
}

#[test]
fn a_column_that_is_there_already_is_not_written_over() {
    let place = Place::new();
    place.train(RECIPE, "m.model");
    let (rows, said) = piped(
        &place,
        &["predict", "m.model", "-", "--keep"],
        "{\"label\":\"mine\",\"predicted\":1,\"text\":\"printer\"}\n",
    );
    assert!(said.contains("`label` of their own") && said.contains("`predicted_2`"), "{said}");
    let row = &parsed(&rows)[0];
    assert_eq!((&row["label"], &row["predicted"]), (&Value::from("mine"), &Value::from(1)));
    assert!(row["predicted_2"].is_string());
}

#[test]
fn rows_that_cannot_be_written_say_why_and_leave_nothing() {
    let place = Place::new();
    place.train(RECIPE, "m.model");
    assert!(place.fails(2, &["predict", "m.model", "demo.jsonl", "--format", "parquet"]).contains("-o"));
    let said = place.fails(2, &["predict", "m.model", "demo.jsonl", "--keep", "--format", "fasttext"]);
    assert!(said.contains("no columns"), "{said}");
    let mut late = "{\"text\":\"x\"}\n".repeat(5000);
    late.push_str("{\"text\":\"x\",\"more\":1}\n");
    place.write("late.jsonl", late);
    let said = place.fails(1, &["predict", "m.model", "late.jsonl", "--keep", "-o", "out.csv"]);
    assert!(said.contains("`more`") && said.contains("jsonl"), "{said}");
    assert!(!place.files().contains(&"out.csv".to_string()));
}

#[test]
fn tables_that_are_not_utf_8_are_read_by_the_name_of_their_encoding() {
    let place = Place::new();
    place.train(RECIPE, "m.model");
    let table = "text,note\nmy printer is broken,caf\u{e9}\n";
    place.write("new.csv", table);
    place.write("latin.csv", table.chars().map(|c| c as u8).collect::<Vec<u8>>());
    let utf16 = std::iter::once('\u{feff}').chain(table.chars()).flat_map(|c| (c as u16).to_le_bytes());
    place.write("unicode.csv", utf16.collect::<Vec<u8>>());
    let keep = |name: &str, more: &[&str]| place.ok(&[&["predict", "m.model", name, "--keep", "-q"], more].concat());
    let expected = keep("new.csv", &[]);
    assert!(expected.contains(",caf\u{e9},"), "{expected}");
    assert_eq!(keep("latin.csv", &["--encoding", "windows-1252"]), expected);
    assert_eq!(keep("unicode.csv", &[]), expected);
    let said = place.fails(1, &["predict", "m.model", "latin.csv"]);
    assert!(said.contains("latin.csv:2: not UTF-8: byte 0xe9") && said.contains("--encoding windows-1252"), "{said}");
    let said = place.fails(1, &["predict", "m.model", "latin.csv", "--encoding", "euc-kr"]);
    assert!(said.contains("line 2") && said.contains("euc-kr") && said.contains("--encoding"), "{said}");
    assert!(place.fails(2, &["predict", "m.model", "latin.csv", "--encoding", "klingon"]).contains("windows-1252"));
}

#[test]
fn a_workbook_is_classified_sheet_by_sheet() {
    let place = Place::new();
    place.train(RECIPE, "m.model");
    let book = concat!(env!("CARGO_MANIFEST_DIR"), "/../corpuscle/tests/fixtures/tickets.xlsx");
    let csv = place.ok(&["predict", "m.model", book, "--keep", "--sheet", "tickets", "-q"]);
    assert!(csv.starts_with("text,label,stars,seen,open,predicted\nno sound,audio,4,2023-03-15,true,"), "{csv}");
    assert!(place.fails(1, &["predict", "m.model", book, "--sheet", "none"]).contains("`with faults`"));
    assert!(place.fails(1, &["predict", "m.model", book, "--sheet", "with faults"]).contains(":3"));
}
