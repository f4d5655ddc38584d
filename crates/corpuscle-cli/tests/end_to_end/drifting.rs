//! `drift`: documents like those trained on raise no alarm, foreign ones do, by their words where scores do not tell.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{Place, shared_data};

/// What newsgroups talk about, and no help desk.
const FOREIGN: [&str; 12] = [
    "The goalie stopped thirty shots and the Rangers won in overtime on a slap shot from the blue line",
    "Hubble was lifted into orbit by the shuttle so that astronauts could mend its mirror in space",
    "Does anybody believe that the apostles wrote these gospels within a century of the crucifixion",
    "My carburetor floods whenever the engine idles, so the mechanic rebuilt the manifold and clutch",
    "Ray tracing a sphere needs the polygon normals, a texture and a rendering equation",
    "The pitcher threw a fastball past the batter in the ninth inning and the bullpen held the lead",
    "Armenian villages were burned by soldiers while the parliament in Ankara denied the massacre",
    "A diet rich in yeast may trigger migraine, though physicians dispute the clinical evidence",
    "Clipper chips escrow both halves of a secret cipher so that the government may wiretap citizens",
    "Gun owners argue that the second amendment protects militia rifles, handguns and ammunition",
    "Solder the capacitor across the transistor and measure voltage with an oscilloscope",
    "The motorcycle leaned through the corner until its exhaust scraped sparks from the asphalt",
];

fn drift(place: &Place, model: &str, new: &str, more: &[&str]) -> Value {
    let mut call = vec!["drift", model, new, "--json", "-q"];
    call.extend(more);
    place.json(&call)
}

#[test]
fn foreign_documents_are_told_by_their_words_and_those_of_the_same_kind_are_not() {
    let place = Place::new();
    let lines: Vec<String> = FOREIGN.iter().map(|text| serde_json::json!({"text": text}).to_string()).collect();
    place.write("foreign.jsonl", lines.join("\n"));
    for recipe in ["tfidf-svm", "tfidf(min_df=2) | svm", "bigram-svm"] {
        place.train(recipe, "demo.model");
        for before in [&[][..], &["--before", "demo.jsonl"]] {
            let mut more = before.to_vec();
            more.extend(["--where", "split=test"]);
            let same = drift(&place, "demo.model", "demo.jsonl", &more);
            assert_eq!(
                (&same["drifted"], &same["unknown_words"]["many"]),
                (&false.into(), &false.into()),
                "{recipe}: {same}"
            );
            let other = drift(&place, "demo.model", "foreign.jsonl", before);
            assert_eq!(
                (&other["drifted"], &other["unknown_words"]["many"]),
                (&true.into(), &true.into()),
                "{recipe}: {other}"
            );
            let share = |found: &Value, name: &str| found["unknown_words"][name].as_f64().unwrap();
            assert!(share(&other, "low") > 0.2 + share(&other, "expected"), "{other}");
            assert!(
                share(&same, "low") < share(&same, "share") && share(&same, "share") < share(&same, "high"),
                "{same}"
            );
        }
    }
    let page = place.ok(&["drift", "demo.model", "foreign.jsonl", "--report", "drift.html", "-q"]);
    assert!(page.contains("unlike those trained on") && page.contains("many words are unknown"), "{page}");
    let page = String::from_utf8(place.read("drift.html")).unwrap();
    assert!(page.contains("Documents by their share of unknown words") && page.contains("had they been held out"));
}

#[test]
fn where_a_model_names_no_words_those_of_earlier_documents_are_compared() {
    let place = Place::new();
    let lines: Vec<String> = FOREIGN.iter().map(|text| serde_json::json!({"text": text}).to_string()).collect();
    place.write("foreign.jsonl", lines.join("\n"));
    place.train("tfidf | lsi(20) | svm(calibrate=0)", "lsi.model");
    let blind = drift(&place, "lsi.model", "foreign.jsonl", &[]);
    assert!(blind["drifted"].is_null() && blind["unknown_words"].is_null(), "{blind}");
    assert!(place.ok(&["drift", "lsi.model", "foreign.jsonl", "-q"]).contains("nothing tells"));
    let seeing = drift(&place, "lsi.model", "foreign.jsonl", &["--before", "demo.jsonl"]);
    assert_eq!(seeing["drifted"], true, "{seeing}");
    // A model of chosen words knows few of any document: without documents from before nothing is said about that.
    place.train("binary | ig(50) | svm", "few.model");
    let few = drift(&place, "few.model", "demo.jsonl", &["--where", "split=test"]);
    assert!(few["unknown_words"]["expected"].is_null() && few["unknown_words"]["many"].is_null(), "{few}");
    assert_eq!(few["drifted"], false, "{few}");
    let few = drift(&place, "few.model", "demo.jsonl", &["--where", "split=test", "--before", "demo.jsonl"]);
    assert_eq!(few["unknown_words"]["many"], false, "{few}");
}

#[test]
fn a_server_notes_in_its_log_when_texts_begin_to_differ() {
    let place = Place::new();
    place.train("tfidf-svm", "demo.model");
    let mut server = Command::new(assert_cmd::cargo::cargo_bin("corpuscle"))
        .current_dir(place.path("."))
        .args(["serve", "demo.model"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A server that never says it would be waited for for ever.
    let id = server.id().to_string();
    std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_secs(120));
        Command::new("kill").args(["-9", &id]).status()
    });
    let mut address = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut address).unwrap();
    let (host, token) = address.trim().strip_prefix("http://").unwrap().split_once("/?token=").unwrap();
    let body = serde_json::json!({"texts": FOREIGN.iter().cycle().take(120).collect::<Vec<_>>()}).to_string();
    let mut stream = std::net::TcpStream::connect(host).unwrap();
    write!(
        stream,
        "POST /v1/predict HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    // It looks by itself; nobody has asked.
    let mut lines = BufReader::new(server.stderr.take().unwrap()).lines().map(Result::unwrap);
    let noted: Value = serde_json::from_str(&lines.find(|line| line.contains("\"drift\"")).unwrap()).unwrap();
    Command::new("kill").arg(server.id().to_string()).status().unwrap();
    assert_eq!((&noted["event"], &noted["model"], &noted["documents"]), (&"drift".into(), &"demo".into(), &120.into()));
    assert!(noted["unknown_words"].as_f64().unwrap() > 0.3, "{noted}");
    assert!(!lines.any(|line| line.contains("goalie")), "texts are no part of a log");
    assert!(server.wait().unwrap().success());
}

#[test]
fn newsgroup_messages_are_unlike_a_help_desk() {
    let Some(data) = shared_data() else { return };
    let place = Place::new();
    place.train("tfidf-svm", "demo.model");
    let news = data.join("20newsgroups.jsonl.gz");
    let found = drift(&place, "demo.model", news.to_str().unwrap(), &["--where", "split=test"]);
    assert_eq!(found["drifted"], true, "{found}");
    assert!(found["unknown_words"]["share"].as_f64().unwrap() > 0.3, "{found}");
}
