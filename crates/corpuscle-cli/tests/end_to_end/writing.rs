//! What the command's files may be read by, and what is left of writing that failed.
#![cfg(unix)]

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
