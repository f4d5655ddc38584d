//! What people have: plain lines, workbooks, fields that go by other names, numbers, and rows that are wanted back whole.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use corpuscle::Result;
use corpuscle::corpus::{Document, Format, Numbers, ReadOptions, read, read_all};
use serde_json::json;

fn documents(name: &str, content: &str, options: &ReadOptions) -> Result<Vec<Document>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    read_all(&[path], options)
}

fn texts(documents: &[Document]) -> Vec<&str> {
    documents.iter().map(|document| document.text.as_str()).collect()
}

#[test]
fn text_in_no_known_format_is_a_document_a_line() {
    let options = ReadOptions::default();
    for name in ["a.txt", "notes", "a.log"] {
        let found = documents(name, "my screen is broken\r\n\n  \nno sound, at all", &options).unwrap();
        assert_eq!(texts(&found), ["my screen is broken", "", "  ", "no sound, at all"], "{name}");
        assert_eq!(found[3].id, "4");
    }
    let forced = ReadOptions { format: Some(Format::Lines), ..Default::default() };
    assert_eq!(texts(&documents("a.csv", "text,label\na,b\n", &forced).unwrap()), ["text,label", "a,b"]);
    let said = documents("a", "\0\u{1}\u{2}", &options).unwrap_err().to_string();
    assert!(said.contains("is not text"), "{said}");
}

fn workbook() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tickets.xlsx")
}

#[test]
fn a_workbook_is_read_like_a_table() {
    let options = ReadOptions { keep: true, weight: Some("stars".into()), ..Default::default() };
    let found = read_all(&[workbook()], &options).unwrap();
    assert_eq!(texts(&found), ["no sound", "dark screen & noise", ""]);
    assert_eq!(found.iter().map(|document| document.weight).collect::<Vec<_>>(), [4.0, 2.5, 1.0]);
    assert_eq!(found[1].labels, Some(vec!["video".to_string()]));
    let row = json!({"text": "no sound", "label": "audio", "stars": "4", "seen": "2023-03-15", "open": "true"});
    assert_eq!(json!(found[0].row), row);
}

#[test]
fn faults_of_a_workbook_have_file_row_and_reason() {
    let said = |path: PathBuf, options: &ReadOptions| read_all(&[path], options).unwrap_err().to_string();
    let sheet = |sheet: &str| ReadOptions { sheet: Some(sheet.into()), ..Default::default() };
    let message = said(workbook(), &sheet("with faults"));
    assert!(message.contains("tickets.xlsx:3") && message.contains("#N/A"), "{message}");
    let message = said(workbook(), &sheet("nowhere"));
    assert!(message.contains("no sheet `nowhere`; there is `tickets`, `with faults`"), "{message}");
    let message = said(workbook(), &ReadOptions { text: "body".into(), ..Default::default() });
    assert!(message.contains("tickets.xlsx:2") && message.contains("no field `body`"), "{message}");
    let bytes = std::fs::read(workbook()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for (name, cut) in [("cut.xlsx", bytes.len() / 2), ("few.xlsx", 10), ("empty.xlsx", 0)] {
        let path = folder.path().join(name);
        std::fs::write(&path, &bytes[..cut]).unwrap();
        assert!(said(path, &ReadOptions::default()).contains(name));
    }
    let skipping = ReadOptions { skip_bad: true, ..sheet("with faults") };
    assert_eq!(texts(&read_all(&[workbook()], &skipping).unwrap()), ["fine"]);
}

const TICKETS: &str =
    "key,message,team\n1,no sound,desk\n2,dark screen,field\n3,forgot it,desk\n4,all is broken,field\n";

#[test]
fn fields_that_go_by_other_names_are_found() {
    let find = ReadOptions { find_text: true, find_label: true, ..Default::default() };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    std::fs::write(&path, TICKETS).unwrap();
    let mut stream = read(&[path], &find).unwrap();
    let found = (&mut stream).collect::<Result<Vec<_>>>().unwrap();
    assert_eq!((found[0].text.as_str(), &found[0].labels), ("no sound", &Some(vec!["desk".to_string()])));
    let notes = stream.notes();
    assert!(notes[0].contains("no field `text`; `message` is taken"), "{notes:?}");
    assert!(notes[1].contains("no field `label`; `team` is taken"), "{notes:?}");
    // Nothing is taken unless asked, and nothing where two could be it.
    let said = documents("t.csv", TICKETS, &ReadOptions::default()).unwrap_err().to_string();
    assert!(said.contains("no field `text`; there is `key`, `message`, `team`"), "{said}");
    let said = documents("t.jsonl", "{\"title\":\"a b\",\"body\":\"c d\"}\n", &find).unwrap_err().to_string();
    assert!(said.contains("no field `text`; there is `title`, `body`"), "{said}");
}

#[test]
fn a_label_that_turns_up_late_is_not_passed_over() {
    let find = ReadOptions { find_label: true, ..Default::default() };
    let mut lines = "{\"text\":\"x y\",\"part\":1}\n{\"text\":\"y z\",\"part\":2}\n".repeat(2000);
    assert!(documents("t.jsonl", &lines, &find).unwrap()[0].labels.is_some());
    lines.push_str("{\"text\":\"x\",\"part\":1,\"label\":\"a\"}\n");
    let said = documents("t.jsonl", &lines, &find).unwrap_err().to_string();
    assert!(said.contains("t.jsonl:4001") && said.contains("`part` was taken"), "{said}");
}

#[test]
fn rows_are_kept_whole_in_their_order() {
    let keep = ReadOptions { keep: true, ..Default::default() };
    let line = r#"{"z":{"a":[1,null]},"text":"x","n":1.5}"#;
    let found = documents("t.jsonl", line, &keep).unwrap();
    assert_eq!(serde_json::to_string(&found[0].row).unwrap(), line);
    let found = documents("t.csv", "b,text\n\"1,5\",x\n", &keep).unwrap();
    assert_eq!(serde_json::to_string(&found[0].row).unwrap(), r#"{"b":"1,5","text":"x"}"#);
    assert_eq!(documents("t.txt", "x\n", &ReadOptions::default()).unwrap()[0].row, None);
}

#[test]
fn numbers_come_from_lists_and_cells_and_their_faults_have_a_line() {
    let numbers = vec![Numbers { field: "e".into(), width: None }];
    let options = ReadOptions { numbers, ..Default::default() };
    let found = documents("t.jsonl", "{\"text\":\"x\",\"e\":[1,-2.5e-1]}\n", &options).unwrap();
    assert_eq!(found[0].numbers, [("e".into(), vec![1.0, -0.25])]);
    assert_eq!(documents("t.csv", "text,e\nx,3\n", &options).unwrap()[0].numbers, [("e".into(), vec![3.0])]);
    for (second, reason) in [
        ("{\"text\":\"x\",\"e\":[1]}", "has 1 numbers; 2 are wanted"),
        ("{\"text\":\"x\",\"e\":[1,\"a\"]}", "`a` at place 2"),
        ("{\"text\":\"x\",\"e\":null}", "is null"),
        ("{\"text\":\"x\",\"e\":[1,null]}", "more than plain values"),
        ("{\"text\":\"x\"}", "no field `e`"),
    ] {
        let lines = format!("{{\"text\":\"x\",\"e\":[1,2]}}\n{second}\n");
        let said = documents("t.jsonl", &lines, &options).unwrap_err().to_string();
        assert!(said.contains("t.jsonl:2") && said.contains(reason), "{said}");
    }
}
