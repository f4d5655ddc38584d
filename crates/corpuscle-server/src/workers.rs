//! Threads that compute, with a queue of bounded length before them.
//!
//! Each thread keeps predictors with their buffers between calls ([`Bench`]), so that one text costs microseconds.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use axum::http::StatusCode;
use corpuscle::recipe::Predictor;
use tokio::sync::oneshot;

use crate::refusal::Refusal;
use crate::{Error, Result};

/// What a thread keeps between two pieces of work.
#[derive(Debug, Default)]
pub(crate) struct Bench {
    /// Predictors by the number of the model that was loaded, the one used last at the end.
    pub(crate) predictors: Vec<(u64, Predictor)>,
}

type Work = Box<dyn FnOnce(&mut Bench) + Send>;

#[derive(Default)]
struct Queue {
    waiting: Mutex<VecDeque<Work>>,
    more: Condvar,
    closed: AtomicBool,
}

/// The threads and their queue.
pub(crate) struct Workers {
    queue: Arc<Queue>,
    longest: usize,
    patience: Duration,
    threads: Vec<JoinHandle<()>>,
}

impl std::fmt::Debug for Workers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workers").field("threads", &self.threads.len()).finish_non_exhaustive()
    }
}

impl Workers {
    /// Starts `threads` of them; at most `longest` pieces of work wait, none is waited for longer than `patience`.
    pub(crate) fn start(threads: usize, longest: usize, patience: Duration) -> Result<Self> {
        let queue = Arc::new(Queue::default());
        let start = |number: usize| {
            let queue = Arc::clone(&queue);
            std::thread::Builder::new().name(format!("work-{number}")).spawn(move || work(&queue))
        };
        let threads = (0..threads.max(1)).map(start).collect::<Result<Vec<_>, _>>();
        let threads = threads.map_err(|cause| Error::System { what: "no thread to compute on", cause })?;
        Ok(Workers { queue, longest, patience, threads })
    }

    /// How many pieces of work are waiting.
    pub(crate) fn waiting(&self) -> usize {
        self.queue.waiting.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Has a thread do it, and waits for what comes of it.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Bench) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let (answer, coming) = oneshot::channel();
        let work: Work = Box::new(move |bench| {
            // Who has gone away needs no answer.
            if !answer.is_closed() {
                let _ = answer.send(work(bench));
            }
        });
        {
            let mut waiting = self.queue.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            if waiting.len() >= self.longest {
                return Err(Refusal::busy(format!("{} requests are waiting already; try again soon", self.longest)));
            }
            waiting.push_back(work);
        }
        self.queue.more.notify_one();
        match tokio::time::timeout(self.patience, coming).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(Refusal::ours("the work ended without an answer")),
            Err(_) => Err(Refusal::new(
                StatusCode::REQUEST_TIMEOUT,
                format!("no answer within {} s; send fewer texts at once", self.patience.as_secs()),
            )),
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        {
            // Under the lock, or a thread that is about to wait would miss the call.
            let _waiting = self.queue.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            self.queue.closed.store(true, Ordering::Release);
        }
        self.queue.more.notify_all();
        let own = std::thread::current().id();
        for thread in self.threads.drain(..) {
            // The last piece of work may be what lets go of us: a thread cannot wait for itself. One that has ended is as good.
            if thread.thread().id() != own {
                let _ = thread.join();
            }
        }
    }
}

fn work(queue: &Queue) {
    let mut bench = Bench::default();
    loop {
        let next = {
            let mut waiting = queue.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            loop {
                if let Some(next) = waiting.pop_front() {
                    break next;
                }
                if queue.closed.load(Ordering::Acquire) {
                    return;
                }
                waiting = queue.more.wait(waiting).unwrap_or_else(PoisonError::into_inner);
            }
        };
        // A fault in one answer must not take the others down; what it left behind is thrown away.
        if catch_unwind(AssertUnwindSafe(|| next(&mut bench))).is_err() {
            bench = Bench::default();
        }
    }
}
