//! Every fault of the data is an error with file, line and reason; none is a panic.
#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::path::Path;

use corpuscle::corpus::{Format, ReadOptions, read, read_all};
use proptest::prelude::*;

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// The message that reading `bytes` as a file called `name` ends with.
fn fault_with(name: &str, bytes: &[u8], options: &ReadOptions) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    let message = read_all(&[&path], options).unwrap_err().to_string();
    message.replace(&path.display().to_string(), name)
}

fn fault(name: &str, bytes: &[u8]) -> String {
    fault_with(name, bytes, &ReadOptions::default())
}

#[track_caller]
fn assert_says(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "`{message}` does not say `{part}`");
    }
}

#[test]
fn rows_of_the_wrong_shape() {
    let ok = "{\"text\":\"x\"}\n";
    for (row, parts) in [
        ("{\"text\":", &["a.jsonl:2: not a JSON object", "one whole JSON object"][..]),
        ("{\"body\":\"x\",\"id\":1}", &["a.jsonl:2: no field `text`; there is `body`, `id`"]),
        ("{}", &["there is no field"]),
        ("{\"text\":{\"a\":1}}", &["a.jsonl:2: field `text` is an object; a string is wanted"]),
        ("{\"text\":[\"a\"]}", &["field `text` is a list"]),
        ("{\"text\":null}", &["field `text` is null"]),
        ("{\"text\":\"x\",\"label\":{\"a\":1}}", &["field `label` is an object"]),
        ("{\"text\":\"x\",\"labels\":[null]}", &["field `labels` is a list with more"]),
        ("{\"text\":\"x\",\"id\":[]}", &["field `id` is a list"]),
        ("{\"text\":\"x\",\"weight\":-1}", &["field `weight` is `-1`", "finite number"]),
        ("{\"text\":\"x\",\"weight\":\"NaN\"}", &["field `weight` is `NaN`"]),
        ("{\"text\":\"x\",\"weight\":1e99}", &["field `weight` is `1e99`"]),
        ("[1,2]", &["a.jsonl:2", "expected an object"]),
    ] {
        assert_says(&fault("a.jsonl", format!("{ok}{row}\n{ok}").as_bytes()), parts);
    }
    assert_says(
        &fault("a.jsonl", b"{\"text\":\"x\"}\n{\"text\":\"\xff\"}"),
        &["a.jsonl:2: not UTF-8", "0xff at column 10"],
    );
    assert_says(&fault("a.json", b"[{\"text\":\"x\"},\n{\"text\":\n1,,\n}]"), &["a.json:3: not a JSON object"]);
    assert_says(
        &fault("a.json", b"[{\"text\":\"x\"},\n\"text\"]"),
        &["a.json:2: not a JSON object", "expected an object"],
    );
    assert_says(&fault("a.json", b"[{\"text\":\"x\"},\n{\"text\":"), &["a.json:2: the item", "cut off"]);
    assert_says(&fault("a.json", b"[{\"text\":\"x\"}\n"), &["a.json:", "never closed"]);
    assert_says(&fault("a.json", b"[]"), &["a.json: is empty"]);
    assert_says(&fault("a.txt", b"__label__a x\n__label__ y"), &["a.txt:2: `__label__` without a name"]);
    assert_says(&fault("a.txt", b"__label__a \xff"), &["a.txt:1: not UTF-8"]);
    assert_says(&fault("a.jsonl", b"\xff\xfe{\x00"), &["a.jsonl:1: not a JSON object"]);
    assert_says(
        &fault("a.jsonl", b"\xff\xfe{\x00\"\x00\x0a\x00\x3d\xd8\x0a\x00"),
        &["a.jsonl: line 2 has bytes", "utf-16le"],
    );
}

#[test]
fn broken_tables() {
    assert_says(&fault("a.csv", b"text,label\r\nx,a\r\ny\r\n"), &["a.csv:3: the row has 1 fields, the header 2"]);
    assert_says(
        &fault("a.csv", b"text,label\nx,a\n\"y\nz,b\nw,c\n"),
        &["a.csv:3: a quote opens here and is never closed"],
    );
    assert_says(&fault("a.csv", b"text,label\n\"y\nz\",\"b\nw,c\n"), &["a.csv:3: a quote opens here"]);
    assert_says(&fault("a.csv", b"text,label\n\"y\nz,\"b\nw,c\n"), &["a.csv:2: the row has 1 fields", "several lines"]);
    assert_says(&fault("a.csv", b"text,label\nx,a\n\"z\ny\xff\",b\n"), &["a.csv:4: not UTF-8: byte 0xff at column 2"]);
    assert_says(&fault("a.csv", b"body,label\nx,a\n"), &["a.csv:1: no field `text`; there is `body`, `label`"]);
    assert_says(&fault("a.csv", b"text,text\nx,a\n"), &["a.csv:1: the column `text` is there twice"]);
    assert_says(&fault("a.csv", b"text,label\n"), &["a.csv: is empty"]);
    let small = ReadOptions { max_line: 50, ..Default::default() };
    let swallowing = format!("text,label\n\"x,a\n{}", "y,b\n".repeat(100));
    assert_says(&fault_with("a.csv", swallowing.as_bytes(), &small), &["a.csv:2: the record is longer", "quote"]);
}

#[test]
fn broken_sgml_and_parquet() {
    assert_says(
        &fault("a.sgm", b"<!DOCTYPE lewis>\n\n<REUTERS NEWID=\"1\">\n<TEXT>"),
        &["a.sgm:3: the element", "truncated"],
    );
    assert_says(
        &fault("a.sgm", b"<REUTERS NEWID=\"1\">\n<REUTERS NEWID=\"2\">\n</REUTERS>"),
        &["a.sgm:2: an element begins"],
    );
    assert_says(&fault("a.sgm", b"hello"), &["a.sgm: is empty"]);
    assert_says(&fault("a.parquet", b"PAR1 and no more"), &["a.parquet", "Parquet"]);
    assert_says(&fault("a.parquet", b"x"), &["a.parquet", "Parquet"]);
    assert_says(&fault("unnamed", &gz(b"PAR1....PAR1")), &["uncompressed file"]);
}

#[test]
fn empty_missing_and_damaged_files() {
    for name in ["a.jsonl", "a.csv", "a.tsv", "a.txt", "a.sgm", "unknown"] {
        assert_says(&fault(name, b""), &[name, "is empty: it holds no documents"]);
    }
    assert_says(&fault("a.jsonl", b"\n \r\n"), &["is empty"]);
    let rows = "{\"text\":\"some words\"}\n".repeat(100_000);
    for bytes in [gz(rows.as_bytes()), zstd::encode_all(rows.as_bytes(), 1).unwrap()] {
        assert_says(&fault("a.jsonl", &bytes[..bytes.len() - 3]), &["a.jsonl", "truncated"]);
        let skipping = ReadOptions { skip_bad: true, ..Default::default() };
        assert_says(&fault_with("a.jsonl", &bytes[..bytes.len() / 2], &skipping), &["truncated"]);
    }
    assert_says(&fault("a.txt", b"PK\x03\x04..."), &["zip archive"]);

    let folder = tempfile::tempdir().unwrap();
    let refused = |path: &str| read(&[folder.path().join(path)], &ReadOptions::default()).unwrap_err().to_string();
    assert_says(&refused("nothing.jsonl"), &["nothing.jsonl", "No such file"]);
    assert_says(&refused("*.jsonl"), &["*.jsonl: no file matches"]);
    assert_says(&refused("[.jsonl"), &["not a pattern"]);
    assert_says(&refused(""), &["empty folder"]);
    assert!(read(&[] as &[&Path], &ReadOptions::default()).is_err());
    assert!(read(&["-", "-"], &ReadOptions::default()).unwrap_err().to_string().contains("only once"));
}

#[test]
fn folders_that_are_not_clear() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("train/sport");
    std::fs::create_dir_all(&inner).unwrap();
    std::fs::write(inner.join("1"), "x").unwrap();
    let refused = |options: &ReadOptions| read_all(&[folder.path()], options).unwrap_err().to_string();
    assert_says(&refused(&ReadOptions::default()), &["its folders hold no files", "train"]);
    let forced = ReadOptions { format: Some(Format::Folders), ..Default::default() };
    assert_says(&refused(&forced), &["a folder inside a class folder"]);
    std::fs::write(folder.path().join("train/2"), "x").unwrap();
    std::fs::write(folder.path().join("a.jsonl"), "{}").unwrap();
    assert_says(&refused(&ReadOptions::default()), &["both data files (`a.jsonl`) and folders"]);
}

#[test]
fn fields_that_no_row_has() {
    let rows = b"{\"text\":\"x\",\"split\":\"train\"}\n{\"text\":\"y\"}\n";
    let filtered = |filter: &str| ReadOptions { filters: vec![filter.parse().unwrap()], ..Default::default() };
    let message = fault_with("a.jsonl", rows, &filtered("part=train"));
    assert_says(&message, &["none of the 2 rows", "no field `part`; there is `split`, `text`"]);
    assert_says(&fault_with("a.jsonl", rows, &filtered("split=trian")), &["none of the 2 rows passes split=trian"]);
    let named = ReadOptions { label: Some("topic".into()), ..Default::default() };
    assert_says(&fault_with("a.jsonl", rows, &named), &["no field `topic`", "`split`"]);
    let named = ReadOptions { id: Some("key".into()), ..Default::default() };
    assert_says(&fault_with("a.jsonl", rows, &named), &["a.jsonl:1: no field `key`"]);
}

#[test]
fn bad_rows_can_be_skipped_and_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let long = format!("{{\"text\":\"{}\"}}\n", "x".repeat(200));
    let rows = format!("{{\"text\":\"a\"}}\nnonsense\n{long}{{\"body\":1}}\n{{\"text\":\"b\"}}\n");
    std::fs::write(folder.path().join("a.jsonl"), [rows.as_bytes(), b"\xff\n"].concat()).unwrap();
    std::fs::write(folder.path().join("b.csv"), "text,label\none,two,three\nc,x\n").unwrap();
    std::fs::write(folder.path().join("c.csv"), "").unwrap();
    let options = ReadOptions { skip_bad: true, max_line: 100, ..Default::default() };
    let mut documents = read(&[folder.path()], &options).unwrap();
    let found: Vec<String> = documents.by_ref().map(|d| d.map(|d| format!("{}:{}", d.id, d.text)).unwrap()).collect();
    assert_eq!(found, ["1:a", "5:b", "8:c"]);
    let skipped = documents.skipped();
    assert_eq!((skipped.count, skipped.reasons.len()), (6, 5));
    assert_says(&skipped.reasons[1], &["a.jsonl:3: the line is longer than the limit of 100 bytes"]);
    let all_bad = fault_with("a.jsonl", b"x\ny\n", &options);
    assert_says(&all_bad, &["all 2 rows were bad", "a.jsonl:1"]);
}

#[test]
fn a_line_of_200_megabytes_is_refused_at_the_limit() {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.write_all(b"{\"text\":\"ok\"}\n{\"text\":\"").unwrap();
    let block = vec![b'x'; 1 << 20];
    for _ in 0..200 {
        encoder.write_all(&block).unwrap();
    }
    encoder.write_all(b"\"}\n{\"text\":\"last\"}\n").unwrap();
    let bytes = encoder.finish().unwrap();
    assert_says(&fault("a.jsonl", &bytes), &["a.jsonl:2: the line is longer than the limit of 64 MiB"]);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.jsonl"), &bytes).unwrap();
    let options = ReadOptions { skip_bad: true, ..Default::default() };
    let documents = read_all(&[folder.path()], &options).unwrap();
    assert_eq!(documents.iter().map(|d| d.text.as_str()).collect::<Vec<_>>(), ["ok", "last"]);
}

#[test]
fn documents_before_an_error_are_handed_over() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.jsonl"), "{\"text\":\"a\"}\n{\"text\":\"b\"}\nbad\n{\"text\":\"c\"}").unwrap();
    let mut documents = read(&[folder.path()], &ReadOptions::default()).unwrap();
    assert_eq!(documents.next_batch(10, usize::MAX).unwrap().len(), 2);
    assert!(documents.next_batch(10, usize::MAX).is_err());
    assert!(documents.next_batch(10, usize::MAX).unwrap().is_empty());
    assert!(documents.next().is_none());
}

/// Pieces that readers stumble over, and any bytes at all.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let pieces: Vec<&'static [u8]> = vec![
        b"{\"text\":\"x\"",
        b"\"label\":",
        b"\"weight\":1e5",
        b"[",
        b"]",
        b"}",
        b"{",
        b",",
        b"\"",
        b"\n",
        b"\r\n",
        b"\t",
        b"text,label\n",
        b"text\tlabel\n",
        b"__label__",
        b"<!DOCTYPE lewis",
        b"<REUTERS NEWID=\"1\">",
        b"</REUTERS>",
        b"<TEXT>",
        b"<TITLE>",
        b"</TITLE>",
        b"<BODY>",
        b"<TOPICS><D>",
        b"&#3;",
        b"&#x110000;",
        b"&lt",
        b"PAR1",
        b"\x1f\x8b\x08",
        b"\x28\xb5\x2f\xfd",
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"\xc3",
    ];
    let piece = prop_oneof![
        3 => proptest::sample::select(pieces).prop_map(<[u8]>::to_vec),
        1 => proptest::collection::vec(any::<u8>(), 0..8),
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in bytes(), skip_bad: bool, max_line in 1usize..64) {
        let folder = tempfile::tempdir().unwrap();
        let class = folder.path().join("class");
        std::fs::create_dir(&class).unwrap();
        let path = class.join("data");
        std::fs::write(&path, &bytes).unwrap();
        for format in Format::ALL.map(Some).into_iter().chain([None]) {
            let options = ReadOptions { format, skip_bad, max_line, ..Default::default() };
            let path = if format == Some(Format::Folders) { folder.path() } else { &path };
            // A panic of the reading thread would show as this error.
            if let Err(error) = read_all(&[path], &options) {
                prop_assert!(!error.to_string().contains("broke down"), "{format:?}: {error}");
            }
        }
    }
}
