//! Lines in, lines out, as they come: a stream of any length in little memory.
//!
//! Each line is a text, `"…"`, or `{"text": "…", "id": …}`; each answer stands in the same place, with the id. A line that
//! cannot be read is answered with its error, and the stream goes on. Lines are predicted in batches of what has arrived, and
//! reading waits while answers have not been taken: who sends must read, too.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use http_body_util::BodyExt as _;
use hyper::body::Frame;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::Serving;
use super::models::Named;
use super::predict::{self, Predicted};
use crate::refusal::Refusal;
use crate::request;

/// Lines that are predicted together, and batches of answers that may wait to be taken.
const BATCH: usize = 256;
const WAITING: usize = 4;

/// A line.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Line {
    Text(String),
    Document {
        text: String,
        #[serde(default)]
        id: Value,
    },
}

/// The model and the number of classes asked for in an address, as `model=…&top=…`.
pub(super) fn options(query: Option<&str>) -> Result<(Option<String>, Option<usize>), Refusal> {
    #[derive(Deserialize)]
    struct Options {
        model: Option<String>,
        top: Option<usize>,
    }
    let address = format!("/?{}", query.unwrap_or_default());
    let uri = address.parse().map_err(|_| Refusal::bad("what follows the ? cannot be read"))?;
    let options: axum::extract::Query<Options> =
        axum::extract::Query::try_from_uri(&uri).map_err(|error| Refusal::bad(error.body_text()))?;
    Ok((options.0.model, options.0.top))
}

/// Answers that are still being made.
struct Answers(mpsc::Receiver<Bytes>);

impl HttpBody for Answers {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.0.poll_recv(context).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// The answers to the lines of `body`.
pub(super) fn predict(
    serving: Arc<Serving>,
    model: Option<String>,
    top: Option<usize>,
    body: Body,
) -> Result<Body, Refusal> {
    serving.models.get(model.as_deref())?;
    let (send, receive) = mpsc::channel(WAITING);
    tokio::spawn(async move {
        if let Err(refusal) = stream(&serving, model.as_deref(), top, body, &send).await {
            let line = json!({"error": {"reason": refusal.reason}}).to_string() + "\n";
            let _ = send.send(line.into()).await;
        }
    });
    Ok(Body::new(Answers(receive)))
}

async fn stream(
    serving: &Arc<Serving>,
    model: Option<&str>,
    top: Option<usize>,
    mut body: Body,
    send: &mpsc::Sender<Bytes>,
) -> Result<(), Refusal> {
    let limits = &serving.door.limits;
    let mut rest: Vec<u8> = Vec::new();
    let mut number = 0;
    loop {
        let frame = tokio::time::timeout(limits.time, body.frame()).await.map_err(|_| request::slow(limits))?;
        let ended = match frame {
            None => true,
            Some(Err(_)) => return Err(Refusal::bad("the body broke off")),
            Some(Ok(frame)) => {
                rest.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
                false
            }
        };
        // Whole lines of what is there; at the end, what is left is one.
        let whole =
            if ended { rest.len() } else { rest.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1) };
        let lines: Vec<Vec<u8>> = rest[..whole]
            .split(|&byte| byte == b'\n')
            .filter(|line| !line.trim_ascii().is_empty())
            .map(<[u8]>::to_vec)
            .collect();
        rest.drain(..whole);
        if rest.len() > limits.body {
            let reason = format!("line {} has more than {} bytes", number + lines.len() + 1, limits.body);
            return Err(Refusal::bad(reason));
        }
        for batch in lines.chunks(BATCH) {
            let (inside, batch, first) = (Arc::clone(serving), batch.to_vec(), number);
            number += batch.len();
            // The model of this moment: a long stream changes over when the file is replaced.
            let named: &Named = serving.models.get(model)?;
            let (name, loaded) = (named.name.clone(), named.now());
            let answered = serving.workers.run(move |bench| {
                let read: Vec<Result<Line, _>> = batch.iter().map(|line| serde_json::from_slice(line)).collect();
                let texts: Vec<&str> = read
                    .iter()
                    .flatten()
                    .map(|line| match line {
                        Line::Text(text) | Line::Document { text, .. } => text.as_str(),
                    })
                    .collect();
                let said = predict::predict(&loaded, &texts, top, &inside, bench)?;
                predict::count(&inside, &name, &loaded, &texts, &said);
                Ok(write(&read, said, first))
            });
            if send.send(answered.await?).await.is_err() {
                // Nobody reads any more.
                return Ok(());
            }
        }
        if ended {
            return Ok(());
        }
    }
}

fn write(read: &[Result<Line, serde_json::Error>], said: Vec<Predicted>, first: usize) -> Bytes {
    let mut said = said.into_iter();
    let mut out = String::new();
    for (at, line) in read.iter().enumerate() {
        let answer = match line {
            Err(_) => {
                json!({"error": {"reason": format!("line {} is neither a text nor an object with one", first + at + 1)}})
            }
            Ok(line) => {
                let mut answer = said.next().and_then(|said| serde_json::to_value(said).ok()).unwrap_or_default();
                if let (Line::Document { id, .. }, Some(answer)) = (line, answer.as_object_mut())
                    && !id.is_null()
                {
                    answer.insert("id".into(), id.clone());
                }
                answer
            }
        };
        out += &answer.to_string();
        out.push('\n');
    }
    out.into()
}
