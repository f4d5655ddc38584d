//! Who gets in: tokens, Host and Origin, limits, and requests that make no sense.

use std::io::Write as _;
use std::time::{Duration, Instant};

use corpuscle_server::Limits;
use serde_json::json;

use crate::support::{Place, TOKEN, read};

#[test]
fn data_asks_for_the_token_and_pages_do_not() {
    let place = Place::serving(Limits::default());
    let body = json!({"texts": ["my invoice"]}).to_string();
    for head in ["", "Authorization: Bearer wrong\r\n", "Authorization: Basic eA==\r\n", "Authorization: Bearer\r\n"] {
        let answer = place.request("POST", "/v1/predict", head, &body);
        assert_eq!(answer.status, 401, "{head}");
        assert!(answer.reason().contains("token") && answer.head.contains("www-authenticate: bearer"));
    }
    assert_eq!(place.request("GET", "/metrics", "", "").status, 401);
    assert_eq!(place.request("POST", &format!("/v1/predict?token={TOKEN}"), "", &body).status, 401);
    assert_eq!(place.request("POST", "/v1/predict", &format!("authorization: bearer {TOKEN}\r\n"), &body).status, 200);
    for open in ["/", "/style.css", "/serve.js", "/common.js", "/icon.svg", "/healthz", "/readyz", "/openapi.json"] {
        let answer = place.request("GET", open, "", "");
        assert_eq!(answer.status, 200, "{open}");
        assert!(answer.head.contains("content-security-policy: default-src 'self'"), "{}", answer.head);
        assert!(answer.head.contains("x-content-type-options: nosniff"), "{}", answer.head);
    }
}

#[test]
fn a_page_elsewhere_that_leads_its_name_here_gets_nothing() {
    let place = Place::serving(Limits::default());
    let port = place.address.port();
    let body = json!({"texts": ["my invoice"]}).to_string();
    let ask = |host: &str, origin: &str| {
        let origin = if origin.is_empty() { String::new() } else { format!("Origin: {origin}\r\n") };
        let length = body.len();
        place
            .raw(
                format!(
                    "POST /v1/predict HTTP/1.1\r\nHost: {host}\r\n{origin}Authorization: Bearer {TOKEN}\r\n\
                     Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
                )
                .as_bytes(),
            )
            .status
    };
    let ours = format!("127.0.0.1:{port}");
    // DNS rebinding: the browser believes evil.example is here, and sends that name.
    assert_eq!(ask(&format!("evil.example:{port}"), &format!("http://evil.example:{port}")), 403);
    assert_eq!(ask(&format!("evil.example:{port}"), ""), 403);
    assert_eq!(ask("evil.example", ""), 403);
    assert_eq!(ask(&ours, "http://evil.example"), 403);
    assert_eq!(ask(&ours, "null"), 403);
    assert_eq!(ask(&ours, &format!("http://127.0.0.1:{}", port.wrapping_add(1))), 403);
    assert_eq!(ask(&ours, &format!("http://{ours}.evil.example")), 403);
    assert_eq!(ask(&ours, &format!("http://{ours}")), 200);
    assert_eq!(ask(&format!("localhost:{port}"), &format!("http://localhost:{port}")), 200);
    // Even what is open to all: a page elsewhere could read it.
    let page =
        place.raw(format!("GET / HTTP/1.1\r\nHost: evil.example:{port}\r\nConnection: close\r\n\r\n").as_bytes());
    assert_eq!(page.status, 403);
    let twice = format!("GET / HTTP/1.1\r\nHost: {ours}\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
    assert!(matches!(place.raw(twice.as_bytes()).status, 400 | 403));
    assert_eq!(place.raw(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n").status, 400);
}

#[test]
fn bodies_have_a_size_and_a_time() {
    let limits = Limits { body: 2000, time: Duration::from_millis(400), ..Limits::default() };
    let place = Place::serving(limits);
    let large = json!({"texts": ["x".repeat(3000)]});
    let answer = place.post("/v1/predict", &large);
    assert_eq!((answer.status, answer.reason().contains("2000 bytes")), (413, true));
    // The same without a length told beforehand.
    let head = format!("POST /v1/predict HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {TOKEN}\r\n", place.address);
    let mut pieces = format!("{head}Transfer-Encoding: chunked\r\n\r\n").into_bytes();
    for _ in 0..30 {
        pieces.extend_from_slice(format!("64\r\n{}\r\n", "y".repeat(100)).as_bytes());
    }
    pieces.extend_from_slice(b"0\r\n\r\n");
    assert_eq!(place.raw(&pieces).status, 413);
    // Half of a body, and then nothing.
    let mut slow = place.connect();
    slow.write_all(format!("{head}Content-Length: 1000\r\n\r\n{{\"texts\"").as_bytes()).unwrap();
    let answer = read(&mut slow);
    assert_eq!((answer.status, answer.reason().contains("did not arrive")), (408, true));
    // Nobody else was held up.
    assert_eq!(place.post("/v1/predict", &json!({"texts": ["my invoice"]})).status, 200);
}

#[test]
fn beyond_its_room_the_server_says_so_at_once() {
    let limits = Limits { requests: 2, time: Duration::from_secs(20), ..Limits::default() };
    let place = Place::serving(limits);
    let head = format!("POST /v1/predict HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {TOKEN}\r\n", place.address);
    // Requests whose bodies do not come take all the room there is. One more each time: a request of the loop that is still under way
    // when one of them comes takes its place, and it is refused.
    let mut slow = Vec::new();
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        let mut stream = place.connect();
        stream.write_all(format!("{head}Content-Length: 100\r\n\r\n").as_bytes()).unwrap();
        slow.push(stream);
        let answer = place.post("/v1/predict", &json!({"texts": ["my invoice"]}));
        if answer.status == 429 {
            assert!(answer.reason().contains("under way") && answer.head.contains("retry-after"));
            break;
        }
        assert!(Instant::now() < until, "never refused");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(place.request("GET", "/healthz", "", "").status, 200);
    drop(slow);
}

#[test]
fn many_idle_connections_change_nothing() {
    let place = Place::serving(Limits { connections: 20, ..Limits::default() });
    let idle: Vec<_> = (0..100).map(|_| place.connect()).collect();
    for _ in 0..20 {
        assert_eq!(place.post("/v1/predict", &json!({"texts": ["my invoice"]})).status, 200);
    }
    drop(idle);
}

#[test]
fn requests_that_make_no_sense_are_refused_with_a_reason() {
    let place = Place::serving(Limits::default());
    let token = format!("Authorization: Bearer {TOKEN}\r\n");
    for body in [
        "",
        "{",
        "null",
        "[]",
        "\"x\"",
        "1e999",
        "{\"texts\": 3}",
        "{\"texts\": [1]}",
        "{\"texts\": [null]}",
        "{\"text\": []}",
        "{\"texts\": [], \"text\": \"both\"}",
        "{\"texts\": [\"\\ud800\"]}",
        "{\"texts\": [\"a\"], \"top\": -1}",
        "{\"texts\": [\"a\"], \"top\": 1.5}",
        "{\"texts\": [\"a\"], \"model\": 7}",
        "\u{0}\u{1}",
    ] {
        for path in ["/v1/predict", "/v1/explain", "/v1/embed", "/v1/search"] {
            let answer = place.request("POST", path, &token, body);
            assert!(matches!(answer.status, 400 | 404), "{path} {body}: {}", answer.status);
            assert!(!answer.reason().is_empty());
        }
    }
    let deep = "[".repeat(100_000);
    assert_eq!(place.request("POST", "/v1/predict", &token, &deep).status, 400);
    assert_eq!(place.get("/v1/predict").status, 405);
    assert_eq!(place.get("/v1/nothing").status, 404);
    assert_eq!(place.request("DELETE", "/", "", "").status, 405);
    assert_eq!(place.post("/v1/predict", &json!({"texts": ["a"], "model": "nobody"})).status, 404);
    assert_eq!(place.post("/v1/search", &json!({"query": "a"})).status, 404);
    for bytes in [
        &b"\x16\x03\x01\x02\x00"[..],
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n",
    ] {
        let mut stream = place.connect();
        stream.write_all(bytes).unwrap();
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut rest = Vec::new();
        let _ = std::io::Read::read_to_end(&mut stream, &mut rest);
        assert!(rest.is_empty() || !rest.starts_with(b"HTTP/1.1 5"), "{rest:?}");
    }
    assert_eq!(place.post("/v1/predict", &json!({"texts": ["my invoice"]})).status, 200);
}
