//! What bounds memory and time for bodies: the lines of the table in `SECURITY.md` that belong to the server.

use std::time::Instant;

use corpuscle_server::Limits;
use serde_json::json;

use crate::support::{Place, TOKEN};

fn post(place: &Place, path: &str, body: &str) -> (u16, String) {
    let answer = place.request("POST", path, &format!("Authorization: Bearer {TOKEN}\r\n"), body);
    (answer.status, answer.text())
}

#[test]
fn bodies_of_any_depth_are_refused() {
    let (serving, labelling) = (Place::serving(Limits::default()), Place::labelling());
    let open = "[".repeat(1_000_000);
    let object = "{\"id\":".repeat(500_000);
    for (place, path) in [
        (&serving, "/v1/predict"),
        (&serving, "/v1/explain"),
        (&serving, "/v1/embed"),
        (&labelling, "/v1/import"),
        (&labelling, "/v1/labels"),
        (&labelling, "/v1/classes"),
        (&labelling, "/v1/notes"),
    ] {
        for body in [&open, &object, &format!("{{\"texts\":{open}"), &format!("{{\"id\":\"1\",\"label\":{open}")] {
            let (status, text) = post(place, path, body);
            assert!(matches!(status, 400 | 422), "{path}: {status}");
            assert!(text.len() < 2000, "{path}: an answer of {} bytes", text.len());
        }
    }
    assert_eq!(serving.post("/v1/predict", &json!({"texts": ["my invoice"]})).status, 200);
}

#[test]
fn imports_of_many_labels_are_refused_or_soon_done() {
    let place = Place::labelling();
    let began = Instant::now();
    let many: Vec<String> = (0..1001).map(|number| format!("l{number}")).collect();
    let known = place.get("/v1/documents?show=all&limit=1").json();
    let id = known["documents"][0]["id"].as_str().unwrap_or("1").to_string();
    for body in [
        format!("{}\n", json!({"id": id, "labels": many})),
        json!([{"data": {"id": id}, "annotations": [{"result": [{"value": {"choices": many}}]}]}]).to_string(),
        format!("id,label\n{id},{}\n", many.join("|")),
    ] {
        let (status, text) = post(&place, "/v1/import", &body);
        assert_eq!((status, text.contains("at most 1000 labels")), (400, true), "{text}");
    }
    let commas = format!("id,label\n1{}\n", ",".repeat(5_000_000));
    let (status, text) = post(&place, "/v1/import", &commas);
    assert_eq!((status, text.contains("row 2 has 5000001 fields, the head 2")), (400, true));
    // Documents that are not in the pile are counted, whatever labels they have.
    let strangers: String = (0..100_000).map(|number| format!("x{number},a\n")).collect();
    let (status, text) = post(&place, "/v1/import", &format!("id,label\n{strangers}"));
    assert_eq!((status, text.contains("\"unknown\":100000")), (200, true), "{text}");
    let (status, _) = post(&place, "/v1/import", &format!("id,label\n{}", "x,a\n".repeat(6_000_000)));
    assert_eq!(status, 413);
    assert!(began.elapsed().as_secs() < 60, "{:?}", began.elapsed());
}

#[test]
fn requests_of_many_texts_are_refused() {
    let place = Place::serving(Limits::default());
    for (path, most) in [("/v1/predict", 10_000), ("/v1/embed", 10_000), ("/v1/explain", 100)] {
        let texts = |count: usize| json!({"texts": vec!["my invoice"; count]}).to_string();
        let (status, text) = post(&place, path, &texts(most + 1));
        assert_eq!((status, text.contains(&format!("at most {most} texts"))), (400, true), "{path}: {text}");
        assert_eq!(post(&place, path, &texts(most)).0, 200, "{path}");
    }
}
