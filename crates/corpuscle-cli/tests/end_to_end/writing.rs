//! What the command's files may be read by, and what is left of writing that failed.
#![cfg(unix)]
#![allow(clippy::print_stderr)]

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::support::Place;

fn mode(place: &Place, name: &str) -> u32 {
    std::fs::metadata(place.path(name)).unwrap().permissions().mode() & 0o777
}

/// Runs the command under an umask.
fn under(umask: &str, place: &Place, arguments: &[&str]) {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("umask {umask}; exec \"$0\" \"$@\"")]).arg(assert_cmd::cargo::cargo_bin("corpuscle"));
    let output = shell.args(arguments).current_dir(place.path(".")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn files_have_the_permissions_that_the_umask_leaves() {
    let place = Place::new();
    let before = place.files();
    let train = ["train", "demo.jsonl", "--recipe", "tfidf | svm(calibrate=0)", "-o", "m.model", "-q"];
    under("027", &place, &train);
    assert_eq!(mode(&place, "m.model"), 0o640);
    for file in ["rows.jsonl", "rows.tsv"] {
        under("027", &place, &["predict", "m.model", "demo.jsonl", "-o", file, "-q"]);
        assert_eq!(mode(&place, file), 0o640);
    }
    under("077", &place, &["evaluate", "m.model", "demo.jsonl", "--report", "page.html", "-q"]);
    assert_eq!(mode(&place, "page.html"), 0o600);

    // One that is replaced keeps its own.
    std::fs::set_permissions(place.path("m.model"), std::fs::Permissions::from_mode(0o600)).unwrap();
    under("022", &place, &train);
    assert_eq!(mode(&place, "m.model"), 0o600);
    let mut expected = before;
    expected.extend(["m.model", "page.html", "rows.jsonl", "rows.tsv"].map(String::from));
    expected.sort();
    assert_eq!(place.files(), expected);
}

/// Every command that writes a file, under a limit on the size of files, which the system answers as it does a full disk.
#[test]
fn a_disk_without_room_leaves_the_old_file_and_nothing_else() {
    let place = Place::new();
    place.ok(&["train", "demo.jsonl", "--recipe", "tfidf | svm(calibrate=0)", "--updatable", "-o", "old.model", "-q"]);
    place.ok(&["index", "demo.jsonl", "-o", "index", "-q"]);
    let outputs =
        ["a.model", "b.model", "rows.jsonl", "rows.tsv", "vectors.npy", "vectors.parquet", "page.html", "words.vec"];
    outputs.iter().for_each(|output| place.write(output, "old"));
    let before = place.files();
    let binary = assert_cmd::cargo::cargo_bin("corpuscle");
    let without_room = |blocks: u32, arguments: &[&str]| {
        // Without the signal a write fails with an error.
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
        Command::new("sh")
            .args(["-c", &script])
            .arg(&binary)
            .args(arguments)
            .current_dir(place.path("."))
            .output()
            .unwrap()
    };
    for arguments in [
        &["train", "demo.jsonl", "--recipe", "tfidf | svm(calibrate=0)", "-o", "a.model"][..],
        &["update", "old.model", "demo.jsonl", "-o", "b.model"],
        &["predict", "old.model", "demo.jsonl", "-o", "rows.jsonl"],
        &["predict", "old.model", "demo.jsonl", "-o", "rows.tsv"],
        &["embed", "old.model", "demo.jsonl", "-o", "vectors.npy"],
        &["embed", "old.model", "demo.jsonl", "-o", "vectors.parquet"],
        &["evaluate", "old.model", "demo.jsonl", "--report", "page.html"],
        &["words", "demo.jsonl", "--dim", "20", "--epochs", "1", "-o", "words.vec"],
    ] {
        for blocks in [0, 4] {
            let output = without_room(blocks, &[arguments, &["-q"]].concat());
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
            assert!(said.starts_with("corpuscle: ") && !said.contains("panicked"), "{arguments:?}: {said}");
        }
        assert_eq!(place.files(), before, "{arguments:?}");
    }
    for output in outputs {
        assert_eq!(place.read(output), b"old", "{output}");
    }
}

#[test]
fn a_folder_that_has_lost_its_rights_is_said() {
    let place = Place::new();
    std::fs::create_dir(place.path("shut")).unwrap();
    let train = ["train", "demo.jsonl", "--recipe", "tfidf | svm(calibrate=0)", "-o", "shut/m.model", "-q"];
    place.ok(&train);
    let model = place.read("shut/m.model");
    std::fs::set_permissions(place.path("shut"), std::fs::Permissions::from_mode(0o555)).unwrap();
    let is_kept_out = std::fs::write(place.path("shut/trial"), "").is_err();
    if is_kept_out {
        let said = place.fails(1, &train);
        assert!(said.contains("shut/m.model") && said.contains("ermission"), "{said}");
        assert_eq!(place.read("shut/m.model"), model);
    }
    std::fs::set_permissions(place.path("shut"), std::fs::Permissions::from_mode(0o755)).unwrap();
    if !is_kept_out {
        eprintln!("the rights of a folder are not tried: this user may write everywhere");
    }
}
