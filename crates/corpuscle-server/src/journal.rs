//! The log: one JSON object a line, on a thread of its own, so that a reader who is slow never holds an answer up.
//!
//! What is written: when, what was asked for by which method, what was answered, how long it took, how many bytes went in
//! and out. Never a text, a label, a query or a token. Where lines come faster than they can be written they are counted and left out.

use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use serde_json::{Value, json};

use crate::clock;
use crate::{Error, Result};

/// Lines that may wait to be written.
const WAITING: usize = 4096;

/// Where lines are handed in.
#[derive(Debug)]
pub(crate) struct Journal {
    lines: Option<SyncSender<String>>,
    lost: AtomicU64,
}

impl Journal {
    /// Begins to write to stderr; without `loud`, nothing is written.
    pub(crate) fn start(loud: bool) -> Result<(Self, Option<JoinHandle<()>>)> {
        if !loud {
            return Ok((Journal { lines: None, lost: AtomicU64::new(0) }, None));
        }
        let (lines, waiting) = sync_channel(WAITING);
        let thread = std::thread::Builder::new()
            .name("log".into())
            .spawn(move || write(&waiting))
            .map_err(|cause| Error::System { what: "no thread for the log", cause })?;
        Ok((Journal { lines: Some(lines), lost: AtomicU64::new(0) }, Some(thread)))
    }

    /// Writes one line; `fields` are added to the time and the name of the event.
    pub(crate) fn note(&self, event: &str, fields: Value) {
        let Some(lines) = &self.lines else { return };
        let mut line = json!({"time": clock::now(), "event": event});
        if let (Some(line), Value::Object(fields)) = (line.as_object_mut(), fields) {
            line.extend(fields);
        }
        if lines.try_send(line.to_string()).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Lines that had to be left out.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

fn write(waiting: &Receiver<String>) {
    let mut stderr = std::io::stderr();
    for line in waiting {
        // Nobody is left to tell when stderr is gone.
        let _ = writeln!(stderr, "{line}");
    }
}
