//! The one thread that writes.
//!
//! It takes everything that has been handed in while it wrote, adds it in one transaction, and answers all of it after one sync:
//! many people at once cost little more than one.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::JoinHandle;

use rusqlite::{Connection, params};
use tokio::sync::oneshot;

use super::event::{Act, Change, Event};
use super::pile::Pile;
use crate::clock;
use crate::refusal::Refusal;
use crate::{Error, Result};

/// Requests that may wait, and those that are written together.
const WAITING: usize = 1024;
const TOGETHER: usize = 256;

type Answer = Result<Vec<u64>, Refusal>;

#[derive(Debug)]
struct Handed {
    changes: Vec<Change>,
    answer: oneshot::Sender<Answer>,
}

/// Where changes are handed in.
#[derive(Debug)]
pub(super) struct Writer {
    queue: Option<SyncSender<Handed>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(mut connection: Connection, pile: Arc<RwLock<Pile>>) -> Result<Self> {
        let (queue, handed) = sync_channel(WAITING);
        let thread = std::thread::Builder::new()
            .name("store".into())
            .spawn(move || work(&mut connection, &pile, &handed))
            .map_err(|cause| Error::System { what: "no thread to write labels", cause })?;
        Ok(Writer { queue: Some(queue), thread: Some(thread) })
    }

    fn hand_in(&self, changes: Vec<Change>) -> Result<oneshot::Receiver<Answer>, Refusal> {
        for change in &changes {
            change.act.iter().try_for_each(Act::check)?;
        }
        let (answer, coming) = oneshot::channel();
        let queue = self.queue.as_ref().ok_or_else(|| Refusal::ours("the store is closed"))?;
        match queue.try_send(Handed { changes, answer }) {
            Ok(()) => Ok(coming),
            Err(TrySendError::Full(_)) => Err(Refusal::busy("many labels are waiting to be written; try again soon")),
            Err(TrySendError::Disconnected(_)) => Err(Refusal::ours("the store is closed")),
        }
    }

    pub(super) async fn write(&self, changes: Vec<Change>) -> Answer {
        let coming = self.hand_in(changes)?;
        coming.await.unwrap_or_else(|_| Err(Refusal::ours("the store ended without an answer")))
    }

    pub(super) fn write_waiting(&self, changes: Vec<Change>) -> Answer {
        let coming = self.hand_in(changes)?;
        coming.blocking_recv().unwrap_or_else(|_| Err(Refusal::ours("the store ended without an answer")))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // What was handed in is written before the thread ends.
            let _ = thread.join();
        }
    }
}

fn work(connection: &mut Connection, pile: &RwLock<Pile>, handed: &Receiver<Handed>) {
    while let Ok(first) = handed.recv() {
        let batch: Vec<Handed> = std::iter::once(first).chain(handed.try_iter().take(TOGETHER - 1)).collect();
        // Nobody else changes the pile, so what is read here still holds below.
        let written = write(connection, &pile.read().unwrap_or_else(PoisonError::into_inner), &batch);
        match written {
            Ok(written) => {
                let mut pile = pile.write().unwrap_or_else(PoisonError::into_inner);
                for events in written.iter().flatten() {
                    events.iter().cloned().for_each(|event| pile.apply(event));
                }
                drop(pile);
                for (handed, written) in batch.into_iter().zip(written) {
                    let numbers = written.map(|events| events.iter().map(|event| event.number).collect());
                    // Who has gone away has it written all the same.
                    let _ = handed.answer.send(numbers);
                }
            }
            Err(error) => {
                for handed in batch {
                    let _ = handed.answer.send(Err(Refusal::ours(format!("the store cannot be written: {error}"))));
                }
            }
        }
    }
    // Folds the log into the file, so that one file is left behind.
    let _ = connection.pragma_update(None, "wal_checkpoint", "TRUNCATE");
}

/// Adds the events of all requests in one transaction; a request that cannot be carried out is answered so, and adds none.
fn write(
    connection: &mut Connection,
    pile: &Pile,
    batch: &[Handed],
) -> rusqlite::Result<Vec<Result<Vec<Event>, Refusal>>> {
    let time = clock::now();
    let adding = connection.transaction()?;
    let mut all: Vec<Result<Vec<Event>, Refusal>> = Vec::with_capacity(batch.len());
    {
        let mut insert =
            adding.prepare("INSERT INTO events (time, author, kind, row, value) VALUES (?1, ?2, ?3, ?4, ?5)")?;
        for handed in batch {
            let acts: Result<Vec<(Act, Option<u32>)>, Refusal> = handed
                .changes
                .iter()
                .map(|change| match &change.act {
                    Some(act) => Ok((act.clone(), change.row)),
                    None => last(&change.author, &all, pile),
                })
                .collect();
            all.push(match acts {
                Err(refusal) => Err(refusal),
                Ok(acts) => {
                    let mut events = Vec::with_capacity(acts.len());
                    for ((act, row), change) in acts.into_iter().zip(&handed.changes) {
                        let value = act.value(change.why.as_deref()).to_string();
                        let place = row.map(|row| row + 1);
                        let number = insert.insert(params![time, change.author, act.kind(), place, value])? as u64;
                        let (author, why) = (change.author.clone(), change.why.clone());
                        events.push(Event { number, time: time.clone(), author, row, act, why });
                    }
                    Ok(events)
                }
            });
        }
    }
    adding.commit()?;
    Ok(all)
}

/// What taking back an author's last act comes to, with what stands before it in the same batch in mind.
fn last(author: &str, before: &[Result<Vec<Event>, Refusal>], pile: &Pile) -> Result<(Act, Option<u32>), Refusal> {
    let own = |event: &&Event| event.author == author && event.row.is_some();
    // Two acts of one author at the same moment: rare enough to ask again.
    if before.iter().flatten().flatten().any(|event| own(&event)) {
        return Err(Refusal::busy("something else of yours is just being written; try again"));
    }
    let last = pile
        .last_of(author)
        .ok_or_else(|| Refusal::new(axum::http::StatusCode::CONFLICT, "there is nothing to take back"))?;
    Ok((Act::Undo(last.number), last.row))
}
