//! What `label` answers, and what is left when it has ended.

use std::time::{Duration, Instant};

use corpuscle::corpus::demo;
use corpuscle_server::label;
use serde_json::{Value, json};

use crate::support::{Place, TOKEN};

fn truth(id: &str) -> String {
    let train = demo().unwrap().train;
    train.iter().find(|document| document.id == id).unwrap().labels.as_ref().unwrap()[0].clone()
}

/// Labels so many documents as the demo corpus has them.
fn work(place: &Place, count: usize, author: &str) -> Vec<String> {
    let mut next = place.get(&format!("/v1/next?author={author}")).json();
    let mut ids = Vec::new();
    for _ in 0..count {
        let id = next["id"].as_str().unwrap().to_string();
        let answer = place.post("/v1/labels", &json!({"id": id, "label": truth(&id), "author": author, "next": true}));
        assert_eq!(answer.status, 200, "{}", answer.text());
        next = answer.json()["next"].clone();
        ids.push(id);
    }
    ids
}

fn until(place: &Place, what: impl Fn(&Value) -> bool) -> Value {
    let end = Instant::now() + Duration::from_secs(120);
    loop {
        let state = place.get("/v1/state").json();
        if what(&state) {
            return state;
        }
        assert!(Instant::now() < end, "{state}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn labels_are_kept_taken_back_and_there_again() {
    let place = Place::labelling();
    let first = place.get("/v1/next").json();
    let id = first["id"].as_str().unwrap();
    assert!(!first["text"].as_str().unwrap().is_empty());
    // Asked again, the same document: a page may be reloaded.
    assert_eq!(place.get("/v1/next").json()["id"], id);
    let answer = place.post("/v1/labels", &json!({"id": id, "label": "billing"})).json();
    assert_eq!(
        (&answer["label"], &answer["author"], &answer["labelled"]),
        (&json!("billing"), &json!("Ada"), &json!(1))
    );
    assert_ne!(place.get("/v1/next").json()["id"], id);
    let all = place.get("/v1/labels").json();
    assert_eq!(
        (&all["total"], &all["labels"][0]["id"], &all["labels"][0]["label"]),
        (&json!(1), &json!(id), &json!("billing"))
    );
    let back = place.post("/v1/undo", &json!({})).json();
    assert_eq!(back["document"]["id"], id);
    assert_eq!(place.get("/v1/labels").json()["total"], 0);
    assert_eq!(place.post("/v1/undo", &json!({})).status, 409);
    place.post("/v1/labels", &json!({"id": id, "labels": ["new one", "billing"], "note": "both?"}));
    let other = place.get("/v1/next").json()["id"].as_str().unwrap().to_string();
    assert_eq!(place.post("/v1/skip", &json!({"id": other})).status, 200);
    let folder = place.end();
    let place = Place::labelling_in(folder);
    let all = place.get("/v1/labels").json();
    assert_eq!(all["labels"][0]["labels"], json!(["billing", "new one"]));
    assert_eq!(all["labels"][0]["note"], "both?");
    let state = place.get("/v1/state").json();
    assert_eq!((&state["labelled"], &state["skipped"], &state["notes"]), (&json!(1), &json!(1), &json!(1)));
    assert!(state["classes"].as_array().unwrap().iter().any(|class| class["name"] == "new one"));
}

#[test]
fn what_makes_no_sense_is_refused_and_writes_nothing() {
    let place = Place::labelling();
    let id = place.get("/v1/next").json()["id"].clone();
    for (body, status) in [
        (json!({}), 400),
        (json!({"id": "nobody", "label": "a"}), 404),
        (json!({"id": id}), 400),
        (json!({"id": id, "label": ""}), 400),
        (json!({"id": id, "label": " a"}), 400),
        (json!({"id": id, "label": "a\nb"}), 400),
        (json!({"id": id, "label": "x".repeat(300)}), 400),
        (json!({"id": id, "labels": ["a", "a"]}), 400),
        (json!({"id": id, "label": "a", "labels": ["a"]}), 400),
        (json!({"id": id, "label": 3}), 400),
        (json!({"id": [id], "label": "a"}), 400),
        (json!({"id": id, "label": "a", "author": ""}), 400),
        (json!({"id": id, "label": "a", "note": 3}), 400),
    ] {
        let answer = place.post("/v1/labels", &body);
        assert_eq!(answer.status, status, "{body}: {}", answer.text());
        assert!(!answer.reason().is_empty());
    }
    for path in [
        "/v1/documents?show=odd",
        "/v1/documents?offset=-1",
        "/v1/documents?limit=x",
        "/v1/export?format=xml",
        "/v1/next?author=%0a",
        "/v1/document",
        "/v1/events?after=x",
    ] {
        assert_eq!(place.get(path).status, 400, "{path}");
    }
    assert_eq!(place.get("/v1/document?id=nobody").status, 404);
    for body in ["", "{", "id,text\n1,2\n", "[1]", "\u{0}"] {
        let answer = place.request("POST", "/v1/import", &format!("Authorization: Bearer {TOKEN}\r\n"), body);
        assert!(matches!(answer.status, 200 | 400), "{body:?}: {}", answer.text());
    }
    assert_eq!(place.get("/v1/labels").json()["total"], 0);
    assert!(place.get("/v1/events").json()["events"].as_array().unwrap().iter().all(|event| event["kind"] == "class"));
    assert_eq!(place.request("POST", "/v1/labels", "", "{}").status, 401);
}

#[test]
fn the_model_learns_along_and_says_how_well() {
    let place = Place::labelling();
    // A description is something to learn from; a second class with one label is enough.
    until(&place, |state| state["learning"] == "waiting for labels");
    let first = place.get("/v1/next?author=Ada").json();
    assert_eq!(first["why"], "spread", "{first}");
    let about = first["about"].as_str().unwrap();
    assert!(about.starts_with("stands for a group of "), "{about}");
    // Its words are written as in the text, not as stems.
    let text = first["text"].as_str().unwrap().to_lowercase();
    let words = about.split_once(": ").map_or("", |(_, words)| words);
    assert!(words.split(", ").all(|word| text.contains(word)), "{about}\n{text}");
    work(&place, 60, "Ada");
    let state = until(&place, |state| state["accuracy"]["labels"] == 60);
    let accuracy = &state["accuracy"];
    assert!(accuracy["value"].as_f64().unwrap() > 0.35, "{state}");
    assert!(
        accuracy["low"].as_f64() < accuracy["value"].as_f64() && accuracy["value"].as_f64() < accuracy["high"].as_f64()
    );
    assert!(!state["curve"].as_array().unwrap().is_empty());
    let next = place.get("/v1/next").json();
    assert!(
        next["predictions"][0]["probability"].as_f64().unwrap() > 0.0 && !next["terms"].as_array().unwrap().is_empty(),
        "{next}"
    );
    let said = place.post("/v1/predict", &json!({"texts": ["my invoice shows the wrong amount"]}));
    assert!(said.json()["predictions"][0]["label"].is_string(), "{}", said.text());
    for show in ["all", "unlabelled", "labelled", "doubt", "check", "disputed", "skipped", "notes"] {
        let answer = place.get(&format!("/v1/documents?show={show}&limit=5"));
        assert_eq!(answer.status, 200, "{show}");
        let page = answer.json();
        assert!(page["documents"].as_array().unwrap().len() <= 5 && page["total"].is_u64());
    }
    assert_eq!(place.get("/v1/documents?show=labelled").json()["total"], 60);
    let found = place.get("/v1/documents?q=invoice").json();
    let texts = found["documents"].as_array().unwrap();
    assert!(
        !texts.is_empty() && texts.iter().all(|one| one["text"].as_str().unwrap().to_lowercase().contains("invoic"))
    );
    let state = until(&place, |state| state["map"] == true);
    assert!(state["recipe"].as_str().unwrap().contains("lsi"));
    let map = place.get("/v1/map").json();
    let ids = map["ids"].as_array().unwrap().len();
    assert!(ids > 0 && ["x", "y", "label", "prediction"].iter().all(|key| map[*key].as_array().unwrap().len() == ids));
    // One in five was drawn at random.
    let events = place.get("/v1/events").json();
    let drawn = events["events"].as_array().unwrap().iter().filter(|event| event["value"]["why"] == "random").count();
    assert!((8..=16).contains(&drawn), "{drawn}");
}

#[test]
fn two_people_get_different_documents_and_their_agreement_is_told() {
    let place = Place::labelling();
    let (one, other) = std::thread::scope(|scope| {
        let one = scope.spawn(|| work(&place, 15, "Ada"));
        let other = scope.spawn(|| work(&place, 15, "Bob"));
        (one.join().unwrap(), other.join().unwrap())
    });
    assert!(one.iter().all(|id| !other.contains(id)));
    for (at, id) in one.iter().take(10).enumerate() {
        let label = if at == 0 { "something else".to_string() } else { truth(id) };
        place.post("/v1/labels", &json!({"id": id, "label": label, "author": "Bob"}));
    }
    let state = place.get("/v1/state").json();
    let pair = &state["agreement"][0];
    assert_eq!((&pair["documents"], &pair["agreement"]), (&json!(10), &json!(0.9)));
    assert!(pair["kappa"].as_f64().unwrap() < 0.9 && state["disputed"] == 1);
    let disputed = place.get("/v1/documents?show=disputed").json();
    assert_eq!(disputed["documents"][0]["id"], one[0].as_str());
}

#[test]
fn labels_go_out_and_come_in_and_are_trained_on() {
    let place = Place::labelling();
    work(&place, 20, "Ada");
    let exports: Vec<String> = ["jsonl", "csv", "labelstudio"]
        .iter()
        .map(|format| place.get(&format!("/v1/export?format={format}")).text())
        .collect();
    let before = place.get("/v1/labels").json();
    let folder = place.end();
    let documents = label::read_documents(folder.path().join("labels.db")).unwrap();
    assert_eq!(documents.iter().filter(|document| document.labels.is_some()).count(), 20);
    for export in exports {
        let fresh = Place::labelling();
        let answer = fresh.request("POST", "/v1/import", &format!("Authorization: Bearer {TOKEN}\r\n"), &export);
        assert_eq!(answer.json(), json!({"labels": 20, "unknown": 0}), "{}", answer.text());
        let after = fresh.get("/v1/labels").json();
        let pairs = |labels: &Value| -> Vec<(Value, Value)> {
            labels["labels"].as_array().unwrap().iter().map(|one| (one["id"].clone(), one["label"].clone())).collect()
        };
        assert_eq!(pairs(&after), pairs(&before));
    }
}
