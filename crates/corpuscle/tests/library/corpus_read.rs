//! Reading whole files: every format, the ways they can be packed, and the fields and filters.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use corpuscle::corpus::{Document, Format, ReadOptions, read, read_all};
use tempfile::TempDir;

/// A folder with the given files in it.
fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    folder
}

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn document(id: &str, text: &str, labels: &[&str]) -> Document {
    let labels = Some(labels.iter().map(ToString::to_string).collect());
    Document { labels, ..Document::new(id, text) }
}

fn options(change: impl FnOnce(&mut ReadOptions)) -> ReadOptions {
    let mut options = ReadOptions::default();
    change(&mut options);
    options
}

const JSONL: &[u8] = b"{\"id\":\"x\",\"text\":\"one\",\"label\":\"a\"}\n\n{\"text\":\"two\",\"labels\":[\"a\",\"b\"],\"weight\":0.5}\r\n";

/// The same as an array over several lines.
const ARRAY: &[u8] = b"[\n  {\"id\":\"x\",\n \"text\":\"one\",\"label\":\"a\"},\n{\"text\":\"two\",\"labels\":[\"a\",\"b\"],\"weight\":0.5}\n]\n";

#[test]
fn the_same_rows_in_every_packing() {
    let wanted = [document("x", "one", &["a"]), Document { weight: 0.5, ..document("2", "two", &["a", "b"]) }];
    let packed = [
        ("a.jsonl", JSONL.to_vec()),
        ("a.ndjson.gz", gz(JSONL)),
        ("no-name", gz(JSONL)),
        ("wrong.jsonl.gz", JSONL.to_vec()),
        ("a.json", zstd::encode_all(JSONL, 1).unwrap()),
        ("mark", [b"\xef\xbb\xbf", JSONL].concat()),
        ("a.json.gz", gz(ARRAY)),
        ("array", ARRAY.to_vec()),
        ("flat.json", ARRAY.split(|&byte| byte == b'\n').collect::<Vec<_>>().concat()),
    ];
    for (name, bytes) in packed {
        let folder = folder(&[(name, &bytes)]);
        assert_eq!(read_all(&[folder.path().join(name)], &ReadOptions::default()).unwrap(), wanted, "{name}");
        assert_eq!(read_all(&[folder.path()], &ReadOptions::default()).unwrap(), wanted, "{name}");
    }
}

#[test]
fn tables_give_the_same_rows() {
    let csv = "id,label,text\r\nx,a,\"one, \"\"two\"\"\nthree\"\r\n\r\ny,,plain\n";
    let tsv = "label\tid\ttext\na\tx\t\"one, \"\"two\"\"\nthree\"\n\ty\tplain";
    let wanted = [document("x", "one, \"two\"\nthree", &["a"]), Document::new("y", "plain")];
    for (name, text) in [("a.csv", csv), ("stdin-like", csv), ("a.tsv", tsv), ("unnamed", tsv)] {
        let folder = folder(&[(name, text.as_bytes())]);
        assert_eq!(read_all(&[folder.path().join(name)], &ReadOptions::default()).unwrap(), wanted, "{name}");
    }
    let several = folder(&[("a.csv", b"text;labels\nx;a|b\ny;\n")]);
    let split = read_all(&[several.path()], &options(|o| o.label_separator = Some('|'))).unwrap();
    assert_eq!(split, [document("1", "x", &["a", "b"]), Document::new("2", "y")]);
    let whole = read_all(&[several.path()], &ReadOptions::default()).unwrap();
    assert_eq!(whole[0], document("1", "x", &["a|b"]));
}

#[test]
fn fasttext_lines() {
    let folder = folder(&[("a.txt", b"__label__a __label__b one two\njust text\n")]);
    let documents = read_all(&[folder.path()], &ReadOptions::default()).unwrap();
    assert_eq!(documents, [document("1", "one two", &["a", "b"]), Document::new("2", "just text")]);
}

#[test]
fn a_folder_per_class_in_latin1() {
    let files: [(&str, &[u8]); 5] = [
        ("sport/2", b"goal"),
        ("sport/1.txt", b"d\xe9fense"),
        ("caf\u{e9}/x", "né".as_bytes()),
        ("sport/.hidden", b"no"),
        ("README.md", b"about"),
    ];
    let folder = folder(&files);
    let documents = read_all(&[folder.path()], &ReadOptions::default()).unwrap();
    let wanted = [
        document("café/x", "né", &["café"]),
        document("sport/1.txt", "défense", &["sport"]),
        document("sport/2", "goal", &["sport"]),
    ];
    assert_eq!(documents, wanted);
    let sport = read_all(&[folder.path()], &options(|o| o.filters = vec!["label=sport".parse().unwrap()])).unwrap();
    assert_eq!(sport.len(), 2);
}

const SGML: &[u8] = b"<!DOCTYPE lewis SYSTEM \"lewis.dtd\">
<REUTERS TOPICS=\"YES\" LEWISSPLIT=\"TRAIN\" CGISPLIT=\"TRAINING-SET\" OLDID=\"5544\" NEWID=\"1\">
<DATE>26-FEB-1987 15:01:01.79</DATE>
<TOPICS><D>cocoa</D><D>coffee</D></TOPICS>
<PLACES><D>el-salvador</D><D>usa</D></PLACES>
<PEOPLE></PEOPLE>
<ORGS></ORGS>
<EXCHANGES></EXCHANGES>
<COMPANIES></COMPANIES>
<UNKNOWN> \n&#5;&#5;&#5;C T\n&#22;&#22;&#1;f0704&#31;reute\nu f BC-BAHIA-COCOA-REVIEW   02-26 0105</UNKNOWN>
<TEXT>&#2;
<TITLE>BAHIA  COCOA &lt;BC&gt;
REVIEW</TITLE>
<DATELINE>    SALVADOR, Feb 26 - </DATELINE><BODY>Showers continued in
the Bahia zone of M\xfcller &amp; Co.
    The dry period.
 Reuter
&#3;</BODY></TEXT>
</REUTERS>
<REUTERS TOPICS=\"NO\" LEWISSPLIT=\"TEST\" CGISPLIT=\"TRAINING-SET\" OLDID=\"5545\" NEWID=\"2\">
<TOPICS></TOPICS>
<TEXT TYPE=\"BRIEF\">&#2;
<TITLE>ONLY A TITLE</TITLE>
</TEXT>
</REUTERS>
<REUTERS TOPICS=\"YES\" LEWISSPLIT=\"TEST\" CGISPLIT=\"TRAINING-SET\" OLDID=\"5546\" NEWID=\"3\">
<TOPICS></TOPICS>
<TEXT TYPE=\"UNPROC\">&#2;
FEDERAL RESERVE\n    Two weeks\n Reuter\n&#3;
</TEXT>
</REUTERS>
";

#[test]
fn reuters_elements() {
    let folder = folder(&[("reut2-000.sgm", SGML)]);
    let documents = read_all(&[folder.path()], &ReadOptions::default()).unwrap();
    let first =
        "BAHIA COCOA <BC> REVIEW\nShowers continued in\nthe Bahia zone of Müller & Co.\n    The dry period.\n Reuter";
    let wanted = [
        document("1", first, &["cocoa", "coffee"]),
        document("2", "ONLY A TITLE", &[]),
        document("3", "FEDERAL RESERVE\n    Two weeks\n Reuter", &[]),
    ];
    assert_eq!(documents, wanted);
    let ids = |filter: &str| {
        let options = options(|o| o.filters = vec![filter.parse().unwrap()]);
        read_all(&[folder.path()], &options).unwrap().into_iter().map(|d| d.id).collect::<Vec<_>>()
    };
    assert_eq!(ids("split=train"), ["1"]);
    assert_eq!(ids("split=test"), ["3"]);
    assert_eq!(ids("split=unused"), ["2"]);
    assert_eq!(ids("lewissplit=TEST"), ["2", "3"]);
    assert_eq!(ids("topics=NO"), ["2"]);
    assert_eq!(ids("places=usa"), ["1"]);
    let tags = read_all(&[folder.path()], &options(|o| o.label = Some("tags".into()))).unwrap();
    assert_eq!(tags[0].labels.iter().flatten().collect::<Vec<_>>(), ["cocoa", "coffee", "el-salvador", "usa"]);
    assert_eq!(tags[1].labels, Some(Vec::new()));
    let body = read_all(&[folder.path()], &options(|o| o.text = "dateline+title".into())).unwrap();
    assert_eq!(body[0].text, "SALVADOR, Feb 26 -\nBAHIA COCOA <BC> REVIEW");
}

#[test]
fn several_paths_keep_their_order_and_count_on() {
    let files: [(&str, &[u8]); 4] = [
        ("b.jsonl", b"{\"text\":\"3\"}"),
        ("a.csv", b"text\n1\n2"),
        ("sub/c.jsonl", b"{\"text\":\"4\"}"),
        ("sub/d.jsonl", b"{\"text\":\"5\"}"),
    ];
    let folder = folder(&files);
    let paths = ["a.csv", "b.jsonl", "sub/*.jsonl"].map(|name| folder.path().join(name));
    let documents = read_all(&paths, &ReadOptions::default()).unwrap();
    assert!(documents.iter().all(|d| d.id == d.text) && documents.len() == 5, "{documents:?}");
    let all: PathBuf = folder.path().join("?.*");
    assert_eq!(read_all(&[all], &ReadOptions::default()).unwrap().len(), 3);
    let filtered = options(|o| o.filters = vec!["text=4".parse().unwrap()]);
    assert_eq!(read_all(&paths, &filtered).unwrap()[0].id, "4");
}

#[test]
fn fields_have_names() {
    let rows = br#"{"key":7,"title":"T","body":"B","stars":5,"good":true,"n":2,"split":"train"}
{"key":8,"title":null,"body":"C","stars":4.5,"good":false,"n":"3","split":"test"}"#;
    let folder = folder(&[("a.jsonl", rows)]);
    let named = options(|o| {
        o.text = "title+body".into();
        o.label = Some("stars".into());
        o.id = Some("key".into());
        o.weight = Some("n".into());
    });
    let documents = read_all(&[folder.path()], &named).unwrap();
    let wanted = [
        Document { weight: 2.0, ..document("7", "T\nB", &["5"]) },
        Document { weight: 3.0, ..document("8", "C", &["4.5"]) },
    ];
    assert_eq!(documents, wanted);
    let both = options(|o| {
        o.text = "body".into();
        o.label = Some("good".into());
        o.filters = vec!["split=test".parse().unwrap(), "stars!=5".parse().unwrap()];
    });
    assert_eq!(read_all(&[folder.path()], &both).unwrap(), [document("2", "C", &["false"])]);
}

#[test]
fn batches_are_bounded_and_nothing_is_lost() {
    let rows: String = (0..1000).map(|i| format!("{{\"text\":\"{}\"}}\n", "x".repeat(i % 50))).collect();
    let folder = folder(&[("a.jsonl", rows.as_bytes())]);
    let mut documents = read(&[folder.path()], &ReadOptions::default()).unwrap();
    let mut ids = Vec::new();
    loop {
        let batch = documents.next_batch(64, 500).unwrap();
        if batch.is_empty() {
            break;
        }
        assert!(batch.len() <= 64 && batch.iter().map(|d| d.text.len()).sum::<usize>() < 550);
        ids.extend(batch.into_iter().map(|d| d.id.parse::<usize>().unwrap()));
    }
    assert_eq!(ids, (1..=1000).collect::<Vec<_>>());
}

#[test]
fn a_stream_may_be_left_early() {
    let rows = "{\"text\":\"some words\"}\n".repeat(200_000);
    let folder = folder(&[("a.jsonl", &gz(rows.as_bytes()))]);
    let first: Vec<_> = read(&[folder.path()], &ReadOptions::default()).unwrap().take(3).collect();
    assert_eq!(first.len(), 3);
}

#[test]
fn a_format_can_be_forced() {
    let folder = folder(&[("a.csv", b"{\"text\":\"x\"}")]);
    let forced = options(|o| o.format = Some(Format::JsonLines));
    assert_eq!(read_all(&[folder.path()], &forced).unwrap(), [Document::new("1", "x")]);
    let error = read_all(&[folder.path().join("a.csv")], &options(|o| o.format = Some(Format::Folders))).unwrap_err();
    assert!(error.to_string().contains("not a folder"), "{error}");
}

/// The real Reuters corpus, written as SGML in the layout of its distribution, comes back as it was.
#[test]
fn reuters_comes_back_from_sgml() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/reuters21578.jsonl.gz");
    if !std::path::Path::new(file).exists() {
        eprintln!("skipped: {file} is not there");
        return;
    }
    let wanted = read_all(&[file], &ReadOptions::default()).unwrap();
    let titles = read_all(&[file], &options(|o| o.text = "title".into())).unwrap();
    let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let mut sgml = "<!DOCTYPE lewis SYSTEM \"lewis.dtd\">\n".to_string();
    for (document, title) in wanted.iter().zip(&titles) {
        let topics: String = document.labels.iter().flatten().map(|label| format!("<D>{label}</D>")).collect();
        let body = document.text.strip_prefix(&title.text).unwrap().trim_start_matches('\n');
        let text = match (title.text.as_str(), body) {
            ("", whole) => format!("<TEXT TYPE=\"UNPROC\">&#2;\n{}\n&#3;\n</TEXT>", escape(whole)),
            (title, "") => format!("<TEXT TYPE=\"BRIEF\">&#2;\n<TITLE>{}</TITLE></TEXT>", escape(title)),
            (title, body) => format!(
                "<TEXT>&#2;\n<TITLE>{}</TITLE>\n<DATELINE>    NEW YORK, March 2 - </DATELINE><BODY>{}\n&#3;</BODY></TEXT>",
                escape(title),
                escape(body)
            ),
        };
        let id = &document.id;
        sgml += &format!(
            "<REUTERS TOPICS=\"YES\" LEWISSPLIT=\"TRAIN\" OLDID=\"0\" NEWID=\"{id}\">\n<TOPICS>{topics}</TOPICS>\n"
        );
        sgml += &format!("<UNKNOWN> \n&#5;C T\n&#22;&#22;&#1;f0704&#31;reute</UNKNOWN>\n{text}\n</REUTERS>\n");
    }
    let folder = folder(&[("reut2-000.sgm", sgml.as_bytes())]);
    assert_eq!(wanted.len(), 21578);
    assert!(read_all(&[folder.path()], &ReadOptions::default()).unwrap() == wanted);
}

#[test]
fn standard_input_is_read_by_a_dash() {
    for bytes in [JSONL.to_vec(), gz(JSONL), b"text,label\none,a\ntwo,b\n".to_vec()] {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "corpus_read::child_that_reads_standard_input"])
            .env("CORPUSCLE_TEST_CHILD", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(&bytes).unwrap();
        assert!(child.wait().unwrap().success());
    }
}

/// Does something only when the test above runs it.
#[test]
fn child_that_reads_standard_input() {
    if std::env::var_os("CORPUSCLE_TEST_CHILD").is_none() {
        return;
    }
    let documents = read_all(&["-"], &ReadOptions::default()).unwrap();
    assert_eq!(documents.iter().map(|d| d.text.as_str()).collect::<Vec<_>>(), ["one", "two"]);
}
