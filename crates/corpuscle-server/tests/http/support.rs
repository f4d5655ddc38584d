//! Servers on free ports, and requests as bytes.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

use corpuscle::Run;
use corpuscle::corpus::{Document, demo};
use corpuscle::recipe::{Corpus, Recipe};
use corpuscle_server::{Limits, Listen, Stopper, label, serve};
use serde_json::Value;

pub(crate) const TOKEN: &str = "the-token-of-these-tests";

/// A server that ends with the test.
pub(crate) struct Place {
    pub(crate) address: SocketAddr,
    pub(crate) folder: tempfile::TempDir,
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.stopper.stop();
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            if !std::thread::panicking() {
                ended.unwrap();
            }
        }
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.text()))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The reason of a refusal.
    pub(crate) fn reason(&self) -> String {
        self.json()["error"]["reason"].as_str().unwrap_or_else(|| panic!("no reason: {}", self.text())).to_string()
    }
}

pub(crate) fn train(path: &Path, recipe: &str, documents: &[Document]) {
    let run = Run::new(42, 1).unwrap();
    let recipe = Recipe::parse(recipe).unwrap();
    let corpus = Corpus::read(documents.iter().cloned().map(Ok), recipe.words(), &run).unwrap();
    recipe.fit(&corpus, &run).unwrap().save(path).unwrap();
}

fn listen(limits: Limits) -> Listen {
    Listen { token: Some(TOKEN.into()), limits, ..Listen::default() }
}

impl Place {
    /// A server with a model of the demo corpus.
    pub(crate) fn serving(limits: Limits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        train(&folder.path().join("demo.model"), "tfidf | svm", &demo().unwrap().train);
        Self::serving_models(folder, |folder| vec![folder.join("demo.model").display().to_string()], None, limits)
    }

    pub(crate) fn serving_models(
        folder: tempfile::TempDir,
        models: impl Fn(&Path) -> Vec<String>,
        index: Option<PathBuf>,
        limits: Limits,
    ) -> Self {
        let options = serve::Options { models: models(folder.path()), index, listen: listen(limits) };
        let server = serve::Server::open(&options, &Run::new(42, 2).unwrap()).unwrap();
        assert!(server.address().ends_with(&format!("/?token={TOKEN}")));
        let (address, stopper) = (server.socket(), server.stopper());
        let thread = std::thread::spawn(move || server.run().unwrap());
        Place { address, folder, stopper, thread: Some(thread) }
    }

    /// A server to label the demo corpus on.
    pub(crate) fn labelling() -> Self {
        Self::labelling_in(tempfile::tempdir().unwrap())
    }

    pub(crate) fn labelling_in(folder: tempfile::TempDir) -> Self {
        let options = label::Options {
            store: folder.path().join("labels.db"),
            author: "Ada".into(),
            classes: vec![("billing".into(), "invoice payment charge refund".into()), ("login".into(), String::new())],
            listen: listen(Limits::default()),
        };
        let documents = demo().unwrap().train.into_iter().map(Ok);
        let (server, _) = label::Server::open(&options, documents, &Run::new(42, 2).unwrap()).unwrap();
        let (address, stopper) = (server.socket(), server.stopper());
        let thread = std::thread::spawn(move || server.run().unwrap());
        Place { address, folder, stopper, thread: Some(thread) }
    }

    /// Ends the server and gives its folder.
    pub(crate) fn end(mut self) -> tempfile::TempDir {
        self.stopper.stop();
        self.thread.take().unwrap().join().unwrap();
        std::mem::replace(&mut self.folder, tempfile::tempdir().unwrap())
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// Sends bytes as they are and reads one answer.
    pub(crate) fn raw(&self, bytes: &[u8]) -> Answer {
        let mut stream = self.connect();
        // A server that has refused may not read on.
        let _ = stream.write_all(bytes);
        read(&mut stream)
    }

    /// A request with extra lines in its head.
    pub(crate) fn request(&self, method: &str, path: &str, head: &str, body: &str) -> Answer {
        let address = self.address;
        let length = body.len();
        self.raw(
            format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nContent-Length: {length}\r\nConnection: close\r\n{head}\r\n{body}")
                .as_bytes(),
        )
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.request("POST", path, &format!("Authorization: Bearer {TOKEN}\r\n"), &body.to_string())
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.request("GET", path, &format!("Authorization: Bearer {TOKEN}\r\n"), "")
    }
}

/// Reads an answer to its end, by length, by pieces, or until the connection closes.
pub(crate) fn read(stream: &mut TcpStream) -> Answer {
    let mut bytes = Vec::new();
    let mut buffer = [0u8; 16384];
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => panic!("the connection ended before an answer: {:?}", String::from_utf8_lossy(&bytes)),
            Ok(read) => bytes.extend_from_slice(&buffer[..read]),
        }
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).to_ascii_lowercase();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let mut body = bytes[head_end..].to_vec();
    let length =
        head.lines().find_map(|line| line.strip_prefix("content-length: ")).map(|n| n.parse::<usize>().unwrap());
    let pieces = head.contains("transfer-encoding: chunked");
    loop {
        let done = match length {
            Some(length) => body.len() >= length,
            None => pieces && body.ends_with(b"0\r\n\r\n"),
        };
        if done {
            break;
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(read) => body.extend_from_slice(&buffer[..read]),
        }
    }
    let body = if pieces { joined(&body) } else { body };
    Answer { status, head, body }
}

/// A body that came in pieces.
fn joined(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        if size == 0 {
            break;
        }
        body.extend_from_slice(&rest[end + 2..end + 2 + size]);
        rest = &rest[end + 4 + size..];
    }
    body
}
