//! What a terminal and its user get: completions, manual pages, a look at the machine, and nothing odd in a pipe.

use crate::support::Place;

#[test]
fn completions_know_commands_and_flags() {
    let place = Place::empty();
    for shell in ["bash", "zsh", "fish"] {
        let script = place.ok(&["completions", shell]);
        assert!(script.contains("predict") && script.contains("input-format"), "{shell}");
    }
    assert!(place.fails(2, &["completions", "cobol"]).contains("bash"));
}

#[test]
fn every_command_has_a_manual_page() {
    let place = Place::empty();
    place.ok(&["man", "-o", "pages/man1"]);
    let page = |name: &str| String::from_utf8(place.read(&format!("pages/man1/{name}.1"))).unwrap();
    assert!(page("corpuscle").contains("corpuscle\\-train") || page("corpuscle").contains("train"));
    let predict = page("corpuscle-predict");
    assert!(predict.starts_with(".ie") || predict.contains(".TH"), "{predict}");
    assert!(predict.contains("keep"));
    assert!(page("corpuscle-doctor").contains("cores"));
    place.write("file", "");
    assert!(place.fails(1, &["man", "-o", "file/pages"]).contains("file/pages"));
}

#[test]
fn the_doctor_says_what_there_is() {
    let place = Place::empty();
    let found = place.json(&["doctor", "--json"]);
    assert!(found["cores"].as_u64().unwrap() >= 1);
    assert_eq!(found["version"], env!("CARGO_PKG_VERSION"));
    assert!(found["instruction_sets"].is_array() && found["terminal_width"].is_null());
    let said = place.ok(&["doctor", "--threads", "3"]);
    assert!(said.contains("3 threads") && said.contains("caches"), "{said}");
}

#[test]
fn a_pipe_gets_no_colours_and_whole_recipes() {
    let place = Place::new();
    let long = "words(stem=english, stop=english) | tfidf(sublinear=true, min_df=2, max_df=0.9) | svm(calibrate=0)";
    let output = place
        .command(&["compare", "demo.jsonl", "--runs", "2", "--recipe", long, "--recipe", "tfidf | svm(calibrate=0)"])
        .env("CLICOLOR_FORCE", "1")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    assert!(text.contains(long) && !text.contains('\x1b') && !text.contains(" | …"), "{text}");
    assert!(!place.fails(1, &["inspect", "nowhere.model"]).contains('\x1b'));
}
