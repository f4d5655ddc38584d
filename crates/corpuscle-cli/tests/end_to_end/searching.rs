//! Indexes under bad luck: interrupted, cut off, full disks, two at once, queries that say nothing.
//! Whatever happens, what was committed is found, or a clear message says why not.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::Place;

/// So many documents, each with a word of its own; ids begin with `name`.
fn documents(name: &str, count: usize) -> String {
    (0..count)
        .map(|i| {
            let text = format!("printer {name}{i} does not print since yesterday {}", "paper ".repeat(i % 20));
            format!("{{\"id\":\"{name}{i}\",\"text\":\"{text}\"}}\n")
        })
        .collect()
}

fn found(place: &Place, query: &str) -> usize {
    let answer = place.json(&["search", "i", query, "--json", "-q"]);
    answer["hits"].as_array().unwrap().len()
}

#[test]
fn a_killed_writer_leaves_what_was_committed() {
    let place = Place::empty();
    place.write("first.jsonl", documents("a", 500));
    place.write("more.jsonl", documents("b", 60_000));
    place.ok(&["index", "first.jsonl", "-o", "i", "-q"]);
    // At several moments, so that one of them is in the middle of writing.
    for moment in [30, 120, 400, 900] {
        let mut adding = Command::new(assert_cmd::cargo::cargo_bin("corpuscle"))
            .current_dir(place.path("."))
            .args(["index", "more.jsonl", "-o", "i", "--add", "-q"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(moment));
        // SIGKILL on Unix.
        adding.kill().unwrap();
        adding.wait().unwrap();
        assert_eq!(found(&place, "a17"), 1, "after {moment} ms");
        let answer = place.json(&["search", "i", "printer", "--json", "-q"]);
        let documents = answer["documents"].as_u64().unwrap();
        assert!(
            documents == 500 || documents == 60_500,
            "{documents} documents after {moment} ms: neither before nor after"
        );
    }
    // The lock of the dead does not keep the living out, and adding again doubles nothing.
    let written = place.json(&["index", "more.jsonl", "-o", "i", "--add", "--json", "-q"]);
    assert_eq!(written["documents"].as_u64(), Some(60_500));
    assert_eq!(found(&place, "b59999"), 1);
}

#[test]
fn a_killed_maker_leaves_no_index_that_looks_whole() {
    let place = Place::empty();
    place.write("many.jsonl", documents("a", 60_000));
    let mut making = Command::new(assert_cmd::cargo::cargo_bin("corpuscle"))
        .current_dir(place.path("."))
        .args(["index", "many.jsonl", "-o", "i", "-q"])
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(80));
    making.kill().unwrap();
    let ended = making.wait().unwrap();
    if !ended.success() {
        assert!(!place.path("i").exists());
    }
    let _ = std::fs::remove_dir_all(place.path("i"));
    assert_eq!(place.json(&["index", "many.jsonl", "-o", "i", "--json", "-q"])["documents"].as_u64(), Some(60_000));
}

#[test]
fn a_second_writer_is_told_to_wait() {
    let place = Place::empty();
    place.write("first.jsonl", documents("a", 50));
    place.write("more.jsonl", documents("b", 50));
    place.ok(&["index", "first.jsonl", "-o", "i", "-q"]);
    let index = corpuscle::retrieve::Index::open(place.path("i")).unwrap();
    let run = corpuscle::Run::new(1, 1).unwrap();
    let writer = index.writer(&run).unwrap();
    let said = place.fails(1, &["index", "more.jsonl", "-o", "i", "--add", "-q"]);
    assert!(said.contains("another process is writing"), "{said}");
    // Readers are not kept out.
    assert_eq!(found(&place, "a17"), 1);
    drop(writer);
    place.ok(&["index", "more.jsonl", "-o", "i", "--add", "-q"]);
    assert_eq!(found(&place, "b17"), 1);
}

/// A limit on the size of files, which the system answers as it does a full disk: a write fails half-way.
#[cfg(unix)]
#[test]
fn a_full_disk_is_said_and_nothing_is_lost() {
    let place = Place::empty();
    place.write("first.jsonl", documents("a", 200));
    let mut more = String::new();
    for i in 0..30_000u64 {
        // Words that do not repeat take room.
        let text: String = (0..8).map(|j| format!("w{:x} ", (i * 8 + j).wrapping_mul(0x9E37_79B9_7F4A_7C15))).collect();
        more += &format!("{{\"id\":\"b{i}\",\"text\":\"{text}\"}}\n");
    }
    place.write("more.jsonl", &more);
    place.ok(&["index", "first.jsonl", "-o", "i", "-q"]);
    let binary = assert_cmd::cargo::cargo_bin("corpuscle");
    let limited = |arguments: &str| {
        // 512 blocks of 1 or ½ kB; without the signal a write fails with an error.
        let script = format!("trap '' XFSZ; ulimit -f 512; exec '{}' {arguments}", binary.display());
        Command::new("sh").current_dir(place.path(".")).args(["-c", &script]).output().unwrap()
    };
    for arguments in ["index more.jsonl -o i --add -q", "index more.jsonl -o new -q"] {
        let output = limited(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments}: {said}");
        assert!(!said.contains("panicked") && said.contains("room on the disk"), "{said}");
    }
    assert!(!place.path("new").exists());
    assert_eq!(found(&place, "a17"), 1);
    assert_eq!(place.json(&["search", "i", "printer", "--json", "-q"])["documents"].as_u64(), Some(200));
    place.ok(&["index", "more.jsonl", "-o", "i", "--add", "-q"]);
    assert_eq!(place.json(&["search", "i", "printer", "--json", "-q"])["documents"].as_u64(), Some(30_200));
}

#[test]
fn an_index_cut_off_or_newer_is_refused_with_a_reason() {
    let place = Place::empty();
    place.write("first.jsonl", documents("a", 300));
    place.ok(&["index", "first.jsonl", "-o", "i", "-q"]);
    let files: Vec<std::path::PathBuf> =
        std::fs::read_dir(place.path("i")).unwrap().map(|entry| entry.unwrap().path()).collect();
    let largest = files.iter().max_by_key(|file| std::fs::metadata(file).unwrap().len()).unwrap();
    let whole = std::fs::read(largest).unwrap();
    std::fs::write(largest, &whole[..whole.len() / 3]).unwrap();
    let said = place.fails(1, &["search", "i", "printer", "-q"]);
    assert!(said.contains("make it anew"), "{said}");
    std::fs::write(largest, &whole).unwrap();
    assert_eq!(found(&place, "a17"), 1);
    let meta = String::from_utf8(place.read("i/meta.json")).unwrap();
    place.write("i/meta.json", meta.replace("\\\"format\\\":2,", "\\\"format\\\":7,"));
    let said = place.fails(1, &["search", "i", "printer", "-q"]);
    assert!(said.contains("newer"), "{said}");
}

#[test]
fn queries_that_say_nothing_find_nothing() {
    let place = Place::empty();
    place.write("first.jsonl", documents("a", 50));
    place.ok(&["index", "first.jsonl", "-o", "i", "--words", "words(stop=english)", "-q"]);
    assert_eq!(found(&place, "the and of since"), 0);
    assert!(place.ok(&["search", "i", "the and", "-q"]).contains("nothing found"));
    assert!(found(&place, &("printer ".repeat(9_999) + "a17")) > 0);
    // Bytes that are no UTF-8, at the prompt and in a file of queries.
    let output = place.command(&["search", "i", "-q"]).write_stdin(&b"\xff\xfe printer\n\xc3\n"[..]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1. a") && said.contains("nothing found"), "{said}");
    place.write("q.tsv", b"1\tprinter\n2\t\xff\xfe\n");
    let said = place.fails(1, &["search", "i", "--queries", "q.tsv", "-o", "out.run", "-q"]);
    assert!(said.contains("q.tsv") && !place.path("out.run").exists(), "{said}");
}

#[test]
fn vectors_are_kept_with_the_index_and_made_anew_when_it_changes() {
    let place = Place::new();
    place.train("tfidf | lsi(10) | normalize | svm(calibrate=0)", "m.model");
    place.ok(&["index", "demo.jsonl", "-o", "i", "-q"]);
    let search = ["search", "i", "my parcel never came", "--vectors", "m.model", "--json", "-q"];
    let first = place.json(&search)["hits"].clone();
    let kept = |place: &Place| {
        let names = std::fs::read_dir(place.path("i")).unwrap().map(|entry| entry.unwrap().path());
        names.filter(|name| name.to_string_lossy().contains("vectors-")).collect::<Vec<_>>()
    };
    assert_eq!(kept(&place).len(), 1);
    let file = kept(&place).remove(0);
    let bytes = std::fs::read(&file).unwrap();
    // Read back to the last bit.
    assert_eq!(place.json(&search)["hits"], first);
    // Damaged: made anew.
    std::fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    assert_eq!(place.json(&search)["hits"], first);
    assert_eq!(std::fs::read(&file).unwrap(), bytes);
    // Stale: a new document is found by its vector too.
    place.write("new.jsonl", "{\"id\":\"new\",\"text\":\"my parcel never came, where is my parcel\"}\n");
    place.ok(&["index", "new.jsonl", "-o", "i", "--add", "-q"]);
    let hits = place.json(&search)["hits"].clone();
    assert!(hits.as_array().unwrap().iter().any(|hit| hit["id"] == "new" && hit["cosine"].as_f64().unwrap() > 0.5));
    assert_ne!(std::fs::read(&file).unwrap(), bytes);
}
