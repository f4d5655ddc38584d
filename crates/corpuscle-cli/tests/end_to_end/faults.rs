//! Everything that can be wrong with what a person hands over: a clear message, the right exit code, nothing left behind.

use std::io::Write;

use crate::support::Place;

const TWO: &str = "{\"text\":\"red apple pie\",\"label\":\"a\"}\n{\"text\":\"blue bicycle bell\",\"label\":\"b\"}\n";

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn broken_data_is_named_with_file_line_and_reason() {
    let place = Place::empty();
    let whole = gzip(&TWO.repeat(1000));
    place.write("cut.jsonl.gz", &whole[..whole.len() / 2]);
    place.write("latin.jsonl", b"{\"text\":\"fine\",\"label\":\"a\"}\n{\"text\":\"caf\xe9\",\"label\":\"b\"}\n");
    place.write("quotes.csv", "text,label\n\"fine\",a\n\"never closed,b\nmore,a\n");
    place.write("empty.jsonl", "");
    place.write("field.jsonl", "{\"body\":\"x y\",\"title\":\"y z\",\"label\":\"a\"}\n");
    place.write("weight.jsonl", "{\"text\":\"x\",\"label\":\"a\",\"weight\":\"NaN\"}\n");
    place.write("array.json", "[{\"text\":\"x\"},\n{\"text\":");
    for (file, words) in [
        ("cut.jsonl.gz", vec!["cut.jsonl.gz"]),
        ("latin.jsonl", vec!["latin.jsonl:2", "UTF-8"]),
        ("quotes.csv", vec!["quotes.csv:3", "quote"]),
        ("empty.jsonl", vec!["empty"]),
        ("field.jsonl", vec!["field.jsonl:1", "text", "body", "--text"]),
        ("weight.jsonl", vec!["weight.jsonl:1", "weight", "--weight"]),
        ("array.json", vec!["array.json:2", "cut off"]),
        ("missing.jsonl", vec!["missing.jsonl"]),
        ("no*match.jsonl", vec!["no*match"]),
    ] {
        let said = place.fails(1, &["train", file, "-o", "m.model"]);
        for word in words {
            assert!(said.contains(word), "{file}: expected `{word}` in: {said}");
        }
    }
    assert!(!place.files().iter().any(|name| name.contains("model")), "{:?}", place.files());
}

#[test]
fn the_command_names_the_flag_that_helps() {
    let place = Place::empty();
    place.write("none.jsonl", "{\"text\":\"red apple\",\"label\":null}\n{\"text\":\"blue bell\",\"label\":null}\n");
    place.write("two.jsonl", TWO.repeat(5));
    let recipe = "tfidf | svm(calibrate=0)";
    let said = place.fails(1, &["train", "none.jsonl", "--recipe", recipe, "-o", "m.model"]);
    assert!(said.contains("name the field that holds them with --label"), "{said}");
    let output =
        place.run(&["train", "two.jsonl", "--recipe", "tfidf | svm(calibrate=0, self_training=true)", "-o", "m.model"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("warning") && said.contains("--unlabelled"), "{said}");
    let words = ["train", "two.jsonl", "--recipe", "average(dim=2, min_count=1) | svm(calibrate=0)", "-o", "w.model"];
    let said = place.fails(1, &[&words[..], &["--updatable"]].concat());
    assert!(said.contains("no updatable model") && said.contains("leave out --updatable"), "{said}");
}

#[test]
fn bad_rows_can_be_left_out() {
    let place = Place::new();
    let mut text = corpuscle::corpus::DEMO_JSONL.to_string();
    text.push_str("not json\n{\"text\":{}}\n");
    place.write("some.jsonl", &text);
    assert!(place.fails(1, &["train", "some.jsonl", "-o", "m.model"]).contains("some.jsonl:513"));
    let output = place.run(&["train", "some.jsonl", "-o", "m.model", "--skip-bad", "--json"]);
    assert!(output.status.success());
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((result["documents"].as_u64(), result["skipped"].as_u64()), (Some(512), Some(2)));
    assert!(String::from_utf8_lossy(&output.stderr).contains("left out"));
}

#[test]
fn an_endless_line_is_refused_and_not_held() {
    let place = Place::empty();
    let file = std::fs::File::create(place.path("long.jsonl")).unwrap();
    let mut file = std::io::BufWriter::new(file);
    file.write_all(b"{\"label\":\"a\",\"text\":\"").unwrap();
    for _ in 0..200 {
        file.write_all(&[b'x'; 1 << 20]).unwrap();
    }
    file.flush().unwrap();
    let said = place.fails(1, &["train", "long.jsonl", "-o", "m.model"]);
    assert!(said.contains("long.jsonl:1"), "{said}");
}

#[test]
fn data_that_cannot_be_learnt_from_say_why() {
    let place = Place::empty();
    place.write("one.jsonl", "{\"text\":\"x y\",\"label\":\"a\"}\n{\"text\":\"z y\",\"label\":\"a\"}\n");
    assert!(place.fails(1, &["train", "one.jsonl", "-o", "m.model"]).contains("two classes"));
    place.write("none.jsonl", "{\"text\":\"x y\"}\n{\"text\":\"z y\"}\n");
    assert!(place.fails(1, &["train", "none.jsonl", "-o", "m.model"]).contains("needs labels"));
    place.write("blank.jsonl", "{\"text\":\"\",\"label\":\"a\"}\n{\"text\":\" \",\"label\":\"b\"}\n");
    place.fails(1, &["train", "blank.jsonl", "-o", "m.model"]);
    place.write("stops.jsonl", "{\"text\":\"the and\",\"label\":\"a\"}\n{\"text\":\"of it\",\"label\":\"b\"}\n");
    place.fails(1, &["train", "stops.jsonl", "--recipe", "words(stop=english) | tfidf | svm", "-o", "m.model"]);
    assert!(!place.files().iter().any(|name| name.contains("model")));
}

#[test]
fn odd_but_usable_data_is_used() {
    let place = Place::new();
    let mut text = corpuscle::corpus::DEMO_JSONL.to_string();
    text.push_str("{\"text\":\"the only one of its kind\",\"label\":\"lonely\"}\n");
    text.push_str("{\"text\":\"\",\"label\":\"billing\"}\n{\"text\":\"the of and\",\"label\":\"login\"}\n");
    place.write("odd.jsonl", &text);
    let recipe = "words(stop=english) | tfidf | svm";
    place.ok(&["train", "odd.jsonl", "--recipe", recipe, "-o", "m.model"]);
    assert_eq!(place.ok(&["predict", "m.model", "odd.jsonl"]).lines().count(), 516);

    place.write(
        "new.jsonl",
        "{\"text\":\"a bill\",\"label\":\"billing\"}\n{\"text\":\"hm\",\"label\":\"unheard of\"}\n{\"text\":\"x\"}\n",
    );
    let output = place.run(&["evaluate", "m.model", "new.jsonl", "--json"]);
    assert!(output.status.success());
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["documents"], 2);
    assert_eq!(result["unseen_labels"][0], "unheard of");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("unheard of") && said.contains("no label"), "{said}");
}

#[test]
fn damaged_models_are_refused() {
    let place = Place::new();
    place.train("tfidf(max_features=30) | svm", "m.model");
    let bytes = place.read("m.model");
    for cut in [0, 1, 7, 8, 9, 100, bytes.len() / 2, bytes.len() - 1] {
        place.write("cut.model", &bytes[..cut]);
        assert!(place.fails(1, &["predict", "cut.model", "demo.jsonl"]).contains("refused"));
    }
    for at in (0..bytes.len()).step_by(bytes.len() / 40) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        place.write("flip.model", &damaged);
        assert!(place.fails(1, &["inspect", "flip.model"]).contains("refused"));
    }
    place.write("foreign.model", "this is no model at all, just text");
    assert!(place.fails(1, &["evaluate", "foreign.model", "demo.jsonl"]).contains("refused"));
    place.fails(1, &["inspect", "nowhere.model"]);
}

#[test]
fn wrong_calls_exit_with_two() {
    let place = Place::new();
    assert!(
        place
            .fails(2, &["train", "demo.jsonl", "--recipe", "tfidf | smv", "-o", "m.model"])
            .contains("did you mean `svm`")
    );
    place.fails(2, &["train", "demo.jsonl", "--recipe", "tfidf | svm(c=-1)", "-o", "m.model"]);
    place.fails(2, &["train", "demo.jsonl"]);
    place.fails(2, &["frobnicate"]);
    place.fails(2, &["train", "demo.jsonl", "--where", "no equals sign", "-o", "m.model"]);
    place.fails(2, &["predict", "m.model", "demo.jsonl", "--top", "0"]);
    assert_eq!(place.files(), ["demo.jsonl"]);
}

#[test]
fn outputs_that_cannot_be_written_are_said_at_once() {
    let place = Place::new();
    place.fails(1, &["train", "demo.jsonl", "-o", "no/such/folder/m.model"]);
    place.fails(1, &["train", "demo.jsonl", "-o", "demo.jsonl/m.model"]);
    assert!(place.fails(2, &["train", "demo.jsonl", "-o", "."]).contains("folder"));
    assert_eq!(place.files(), ["demo.jsonl"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_and_a_closed_pipe_is_not() {
    let place = Place::new();
    place.train("tfidf | svm", "m.model");
    let program = assert_cmd::cargo::cargo_bin("corpuscle");
    let with_stdout = |stdout: std::process::Stdio| {
        std::process::Command::new(&program)
            .current_dir(place.path("."))
            .args(["predict", "m.model", "demo.jsonl", "--format", "jsonl", "--proba"])
            .stdout(stdout)
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap()
    };
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = with_stdout(full.into()).wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("space"), "{output:?}");

    let mut child = with_stdout(std::process::Stdio::piped());
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
}
