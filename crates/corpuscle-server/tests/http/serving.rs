//! What `serve` answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use corpuscle::Run;
use corpuscle::corpus::demo;
use corpuscle::recipe::Model;
use corpuscle::retrieve::Index;
use corpuscle::text::WordsParams;
use corpuscle_server::Limits;
use serde_json::{Value, json};

use crate::support::{Place, TOKEN, train};

#[test]
fn predictions_are_those_of_the_library_in_order() {
    let place = Place::serving(Limits::default());
    let run = Run::new(42, 1).unwrap();
    let model = Model::load(place.folder.path().join("demo.model"), &run).unwrap();
    let texts: Vec<String> = demo().unwrap().test.iter().map(|document| document.text.clone()).collect();
    let expected = model.predict(&texts, &run).unwrap();
    // One by one, a few, and many at once take different ways to the same answer.
    for (from, to) in [(0, 1), (1, 9), (9, texts.len())] {
        let answer = place.post("/v1/predict", &json!({"texts": texts[from..to], "top": 2}));
        assert_eq!(answer.status, 200, "{}", answer.text());
        let said = answer.json();
        assert_eq!((said["model"].as_str(), said["version"].as_str().map(str::len)), (Some("demo"), Some(12)));
        let predictions = said["predictions"].as_array().unwrap();
        assert_eq!(predictions.len(), to - from);
        for (prediction, row) in predictions.iter().zip(from..to) {
            let class = expected.labels[row][0] as usize;
            assert_eq!(prediction["label"], model.classes()[class].as_str());
            let probability = expected.probabilities.as_ref().unwrap().row(row)[class];
            assert!((prediction["probability"].as_f64().unwrap() - f64::from(probability)).abs() < 1e-6);
            assert_eq!(prediction["top"].as_array().unwrap().len(), 2);
            assert!(prediction["novelty"].as_f64().is_some_and(|p| p > 0.0 && p <= 1.0));
        }
    }
    assert_eq!(place.post("/v1/predict", &json!({"texts": []})).json()["predictions"], json!([]));
}

#[test]
fn words_the_model_does_not_know_are_counted() {
    let place = Place::serving(Limits::default());
    place.post("/v1/predict", &json!({"texts": ["the goalie saved my invoice"]}));
    let metrics = place.get("/metrics").text();
    for line in ["corpuscle_unknown_words_total{model=\"demo\"} 1", "corpuscle_sampled_words_total{model=\"demo\"} 5"] {
        assert!(metrics.lines().any(|found| found == line), "{line}\n{metrics}");
    }
}

/// What newsgroups talk about, and no help desk.
const FOREIGN: [&str; 5] = [
    "The goalie stopped thirty shots and the Rangers won in overtime on a slap shot from the blue line",
    "Hubble was lifted into orbit by the shuttle so that astronauts could mend its mirror in space",
    "My carburetor floods whenever the engine idles, so the mechanic rebuilt the manifold and clutch",
    "Armenian villages were burned by soldiers while the parliament in Ankara denied the massacre",
    "A diet rich in yeast may trigger migraine, though physicians dispute the clinical evidence",
];

#[test]
fn texts_unlike_those_trained_on_are_told_of_until_they_are_like_them_again() {
    let place = Place::serving(Limits::default());
    let said = || place.get("/v1/drift").json()["models"][0].clone();
    let ask = |texts: &[String]| assert_eq!(place.post("/v1/predict", &json!({"texts": texts})).status, 200);
    let gauge = |line: &str| place.get("/metrics").text().lines().any(|found| found == line);
    let own: Vec<String> = demo().unwrap().test.iter().map(|document| document.text.clone()).collect();
    let foreign: Vec<String> = (0..60).map(|number| FOREIGN[number % FOREIGN.len()].to_string()).collect();
    // Too few to tell, then none that is strange; one by one and many at once.
    let none = said();
    assert_eq!((&none["documents"], &none["drifted"], &none["name"]), (&json!(0), &Value::Null, &json!("demo")));
    own[..10].chunks(1).for_each(ask);
    let few = said();
    assert!(few["drifted"].is_null() && few["verdict"].as_str().unwrap().contains("10 so far"), "{few}");
    ask(&own[10..]);
    let same = said();
    assert_eq!((&same["documents"], &same["drifted"]), (&json!(own.len()), &json!(false)), "{same}");
    assert!(same["since"].is_null() && same["verdict"].as_str().unwrap().starts_with("no sign"), "{same}");
    let counted =
        |name: &str| same[name]["histogram"].as_array().unwrap().iter().filter_map(Value::as_u64).sum::<u64>();
    assert_eq!((counted("novelty"), counted("unknown_words") >= 64), (own.len() as u64, true), "{same}");
    let shares: f64 = same["classes"].as_array().unwrap().iter().filter_map(|class| class["share"].as_f64()).sum();
    assert!((shares - 1.0).abs() < 1e-9, "{same}");
    assert!(gauge("corpuscle_drifted{model=\"demo\"} 0"));
    assert!(gauge(&format!("corpuscle_recent_texts{{model=\"demo\"}} {}", own.len())));
    // What `corpuscle drift` says of these documents alone is what the window of another server says.
    let other = Place::serving(Limits::default());
    other.post("/v1/predict", &json!({"texts": foreign}));
    let alone = other.get("/v1/drift").json()["models"][0].clone();
    assert_eq!((&alone["drifted"], &alone["unknown_words"]["many"]), (&json!(true), &json!(true)), "{alone}");
    // Among the others, once there are enough of them.
    ask(&foreign.iter().cycle().take(1900).cloned().collect::<Vec<_>>());
    let changed = said();
    assert_eq!(changed["drifted"], true, "{changed}");
    assert!(changed["since"].is_string() && changed["verdict"].as_str().unwrap().contains("unlike"), "{changed}");
    assert!(gauge("corpuscle_drifted{model=\"demo\"} 1"));
    assert!(!changed.to_string().contains("goalie"), "no word is kept: {changed}");
    // The window forgets, and one request may fill it several times.
    let many: Vec<String> = own.iter().cycle().take(4500).cloned().collect();
    ask(&many);
    let over = said();
    assert_eq!(
        (&over["documents"], &over["drifted"], &over["since"]),
        (&over["window"], &json!(false), &Value::Null),
        "{over}"
    );
}

#[test]
fn a_model_that_cannot_tell_says_so() {
    let folder = tempfile::tempdir().unwrap();
    train(&folder.path().join("blind.model"), "tfidf | lsi(10) | svm(calibrate=0)", &demo().unwrap().train);
    let names = |folder: &std::path::Path| vec![folder.join("blind.model").display().to_string()];
    let place = Place::serving_models(folder, names, None, Limits::default());
    place.post("/v1/predict", &json!({"texts": vec![FOREIGN[0]; 60]}));
    let said = place.get("/v1/drift").json()["models"][0].clone();
    assert!(said["drifted"].is_null() && said["novelty"].is_null() && said["unknown_words"].is_null(), "{said}");
    assert!(said["verdict"].as_str().unwrap().starts_with("nothing tells"), "{said}");
    assert!(!place.get("/metrics").text().contains("corpuscle_drifted{"));
}

#[test]
fn lines_are_answered_line_by_line() {
    let place = Place::serving(Limits::default());
    let mut body = String::new();
    for number in 0..600 {
        body += &json!({"id": number, "text": "my invoice is wrong"}).to_string();
        body.push('\n');
    }
    body += "\"just a text\"\n\nno json\n{\"id\": \"last\", \"text\": \"cannot log in\"}";
    let head = format!("Authorization: Bearer {TOKEN}\r\nContent-Type: application/x-ndjson\r\n");
    let answer = place.request("POST", "/v1/predict?top=1", &head, &body);
    assert_eq!(answer.status, 200);
    let lines: Vec<Value> = answer.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 603);
    assert!(lines[..600].iter().enumerate().all(|(at, line)| line["id"] == at && line["label"].is_string()));
    assert!(lines[600]["label"].is_string() && lines[601]["error"]["reason"].as_str().unwrap().contains("line 602"));
    assert_eq!(lines[602]["id"], "last");
    assert_eq!(place.request("POST", "/v1/predict?model=nobody", &head, &body).status, 404);
}

#[test]
fn explanations_vectors_and_search_come_with_reasons() {
    let folder = tempfile::tempdir().unwrap();
    let demo = demo().unwrap();
    train(&folder.path().join("sparse.model"), "tfidf | svm", &demo.train);
    train(&folder.path().join("dense.model"), "tfidf | lsi(10) | knn(k=5)", &demo.train);
    let run = Run::new(42, 1).unwrap();
    let index = Index::create(folder.path().join("index"), &WordsParams::default()).unwrap();
    let mut writer = index.writer(&run).unwrap();
    demo.train.iter().cloned().for_each(|document| writer.add(document).unwrap());
    writer.commit().unwrap();
    drop(index);
    let names = |folder: &std::path::Path| {
        vec![
            format!("sparse={}", folder.join("sparse.model").display()),
            folder.join("dense.model").display().to_string(),
        ]
    };
    let path = folder.path().join("index");
    let place = Place::serving_models(folder, names, Some(path), Limits::default());
    let models = place.get("/v1/models").json();
    assert_eq!((&models["models"][0]["name"], &models["models"][1]["name"]), (&json!("sparse"), &json!("dense")));
    let text = &demo.train[0].text;
    for model in ["sparse", "dense"] {
        let said = place.post("/v1/explain", &json!({"text": text, "model": model, "top": 3})).json();
        let one = &said["explanations"][0];
        assert!(one["label"].is_string() && !one["terms"].as_array().unwrap().is_empty(), "{said}");
        assert_eq!(one["neighbours"][0]["id"], demo.train[0].id.as_str(), "{said}");
    }
    let vectors = place.post("/v1/embed", &json!({"texts": [text], "model": "dense"})).json();
    assert_eq!((&vectors["columns"], vectors["vectors"][0].as_array().unwrap().len()), (&json!(10), 10));
    let vectors = place.post("/v1/embed", &json!({"texts": [text]})).json();
    assert!(!vectors["vectors"][0]["indices"].as_array().unwrap().is_empty());
    let hits = place.post("/v1/search", &json!({"query": text, "top": 3})).json();
    assert_eq!(hits["hits"][0]["id"], demo.train[0].id.as_str());
    assert_eq!(place.post("/v1/search", &json!({"query": "zzzzz"})).json()["hits"], json!([]));
}

#[test]
fn a_replaced_model_answers_without_a_dropped_request() {
    let place = Arc::new(Place::serving(Limits::default()));
    let path = place.folder.path().join("demo.model");
    let before = place.get("/v1/models").json()["models"][0]["version"].clone();
    let stop = Arc::new(AtomicBool::new(false));
    let asking: Vec<_> = (0..2)
        .map(|_| {
            let (place, stop) = (Arc::clone(&place), Arc::clone(&stop));
            std::thread::spawn(move || {
                let mut count = 0;
                while !stop.load(Ordering::Relaxed) {
                    let answer = place.post("/v1/predict", &json!({"texts": ["my invoice is wrong"]}));
                    assert_eq!(answer.status, 200, "{}", answer.text());
                    count += 1;
                }
                count
            })
        })
        .collect();
    let mut documents = demo().unwrap().train;
    documents.truncate(documents.len() / 2);
    train(&path, "tfidf | svm", &documents);
    let until = Instant::now() + Duration::from_secs(30);
    while place.get("/v1/models").json()["models"][0]["version"] == before {
        assert!(Instant::now() < until, "never loaded again");
        std::thread::sleep(Duration::from_millis(50));
    }
    // A file that is no model leaves the one that is there.
    std::fs::write(&path, b"not a model").unwrap();
    while !place.get("/metrics").text().contains("corpuscle_reloads_total{model=\"demo\",loaded=\"false\"}") {
        assert!(Instant::now() < until, "never tried");
        std::thread::sleep(Duration::from_millis(50));
    }
    stop.store(true, Ordering::Relaxed);
    assert!(asking.into_iter().map(|thread| thread.join().unwrap()).sum::<usize>() > 0);
    assert_eq!(place.post("/v1/predict", &json!({"texts": ["x"]})).status, 200);
}

#[test]
fn what_happened_can_be_counted_and_every_answer_is_in_the_document() {
    let place = Place::serving(Limits::default());
    place.post("/v1/predict", &json!({"texts": ["my invoice is wrong", "cannot log in"]}));
    let text = place.get("/metrics").text();
    assert!(text.contains("corpuscle_requests_total{route=\"/v1/predict\",status=\"200\"} 1"), "{text}");
    assert!(
        text.contains("corpuscle_predictions_total{model=\"demo\"")
            && text.contains("corpuscle_compared_documents_total")
    );
    let document = place.get("/openapi.json").json();
    for path in [
        "/v1/predict",
        "/v1/explain",
        "/v1/embed",
        "/v1/search",
        "/v1/drift",
        "/v1/models",
        "/metrics",
        "/healthz",
        "/readyz",
    ] {
        assert!(document["paths"][path].is_object(), "{path}");
    }
    // Every reference leads somewhere.
    let text = document.to_string();
    for name in text.split("#/components/schemas/").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        assert!(document["components"]["schemas"][name].is_object(), "{name}");
    }
    assert!(place.get("/").text().contains("<!doctype html>"));
}
