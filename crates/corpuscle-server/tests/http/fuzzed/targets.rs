//! What is done with an input: the first line is a path, the rest the body, sent to a server that serves a model and an index and to one that labels.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::OnceLock;
use std::time::Duration;

use corpuscle::Run;
use corpuscle::corpus::{Document, demo};
use corpuscle::recipe::{Corpus, Recipe};
use corpuscle::retrieve::Index;
use corpuscle::text::WordsParams;
use corpuscle_server::{Listen, label, serve};

const TOKEN: &str = "the-token-of-the-fuzzer";

struct Servers {
    serving: SocketAddr,
    labelling: SocketAddr,
    // Until the process ends.
    _folder: tempfile::TempDir,
}

fn listen() -> Listen {
    Listen { token: Some(TOKEN.into()), ..Listen::default() }
}

fn servers() -> &'static Servers {
    static SERVERS: OnceLock<Servers> = OnceLock::new();
    SERVERS.get_or_init(|| {
        let run = Run::new(1, 1).expect("a thread");
        let folder = tempfile::tempdir().expect("a folder");
        let documents: Vec<Document> = demo().expect("the demo").train.into_iter().take(40).collect();
        let recipe = Recipe::parse("tfidf | svm").expect("a recipe");
        let corpus = Corpus::read(documents.iter().cloned().map(Ok), recipe.words(), &run).expect("documents");
        let path = folder.path().join("demo.model");
        recipe.fit(&corpus, &run).expect("a model").save(&path).expect("room");
        let index = Index::create(folder.path().join("index"), &WordsParams::default()).expect("an index");
        let mut writer = index.writer(&run).expect("a writer");
        documents.iter().for_each(|document| writer.add(document.clone()).expect("a document"));
        writer.commit().expect("a commit");
        let options = serve::Options {
            models: vec![path.display().to_string()],
            index: Some(folder.path().join("index")),
            listen: listen(),
        };
        let server = serve::Server::open(&options, &run).expect("a server");
        let serving = server.socket();
        std::thread::spawn(move || server.run());
        let options = label::Options {
            store: folder.path().join("labels.db"),
            author: "Ada".into(),
            classes: vec![("billing".into(), "invoice".into()), ("login".into(), String::new())],
            listen: listen(),
        };
        let (server, _) = label::Server::open(&options, documents.into_iter().map(Ok), &run).expect("a server");
        let labelling = server.socket();
        std::thread::spawn(move || server.run());
        Servers { serving, labelling, _folder: folder }
    })
}

fn status(address: SocketAddr, path: &str, body: &[u8]) -> u16 {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a time");
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    // A server that has refused may not read on.
    let _ = stream.write_all(&[head.as_bytes(), body].concat());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer.get(9..12).and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok()).unwrap_or(0)
}

/// Sends a body to a route.
pub(crate) fn http(data: &[u8]) {
    let at = data.iter().position(|&byte| byte == b'\n').unwrap_or(data.len());
    let (path, body) = (&data[..at], data.get(at + 1..).unwrap_or_default());
    let path = std::str::from_utf8(path)
        .ok()
        .filter(|path| path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic()));
    let path = path.unwrap_or("/v1/import");
    let servers = servers();
    for address in [servers.serving, servers.labelling] {
        let status = status(address, path, body);
        assert!((200..500).contains(&status), "{path}: {status}");
    }
}
