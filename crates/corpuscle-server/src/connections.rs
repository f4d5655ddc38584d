//! From the listening socket to the router: connections are taken, kept within their number, and let finish at the end.
//!
//! A connection that waits for its next request costs a file and some memory. Beyond their number the one that has been idle
//! for longest is closed, so that many idle ones never keep a new one out; a request under way is never cut off.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};

use crate::{Error, Result};

/// How long requests under way may take once the end has come.
const FAREWELL: Duration = Duration::from_secs(10);
/// How long the head of a request may take, and a connection may be idle.
const HEAD: Duration = Duration::from_secs(60);

/// Ends a server from outside: what a signal does, for tests and callers of their own.
#[derive(Debug, Clone)]
pub struct Stopper(Arc<watch::Sender<bool>>);

impl Stopper {
    pub(crate) fn new() -> Self {
        Stopper(Arc::new(watch::channel(false).0))
    }

    /// Ends it: requests under way are answered, no new ones are taken.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }

    async fn stopped(&self) {
        // The sender lives as long as this.
        let _ = self.0.subscribe().wait_for(|stopped| *stopped).await;
    }
}

/// One connection, as the others see it.
#[derive(Debug)]
struct Guest {
    /// Requests under way, and when the last one ended.
    busy: AtomicUsize,
    since: Mutex<Instant>,
    /// Whether there ever was one.
    spoke: AtomicBool,
    leave: Notify,
}

#[derive(Debug, Default)]
struct Guests(Mutex<HashMap<u64, Arc<Guest>>>);

impl Guests {
    fn with<T>(&self, act: impl FnOnce(&mut HashMap<u64, Arc<Guest>>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Asks the one idle for longest to leave, when there are more than `most`.
    fn make_room(&self, most: usize) {
        self.with(|guests| {
            if guests.len() <= most {
                return;
            }
            let since = |guest: &Guest| *guest.since.lock().unwrap_or_else(PoisonError::into_inner);
            let idle = guests.iter().filter(|(_, guest)| guest.busy.load(Ordering::Acquire) == 0);
            if let Some(number) = idle.min_by_key(|(_, guest)| since(guest)).map(|(number, _)| *number)
                && let Some(guest) = guests.remove(&number)
            {
                guest.leave.notify_one();
            }
        });
    }
}

/// Listens.
pub(crate) async fn listen(address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|cause| Error::Listen { address: address.to_string(), cause })
}

/// Serves until told to stop, by a signal or the stopper.
pub(crate) async fn serve(listener: TcpListener, router: Router, most: usize, stopper: &Stopper) {
    let guests = Arc::new(Guests::default());
    let alive = watch::channel(()).0;
    let mut number = 0;
    let mut end = std::pin::pin!(end(stopper));
    loop {
        let stream = {
            let mut accept = std::pin::pin!(listener.accept());
            // Whichever comes first.
            let first = std::future::poll_fn(|context| {
                if end.as_mut().poll(context).is_ready() {
                    return std::task::Poll::Ready(None);
                }
                accept.as_mut().poll(context).map(Some)
            });
            match first.await {
                None => break,
                Some(Ok((stream, _))) => stream,
                Some(Err(_)) => {
                    // Mostly no more files just now: an idle connection gives its own back.
                    guests.make_room(0);
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    continue;
                }
            }
        };
        number += 1;
        let guest = Arc::new(Guest {
            busy: AtomicUsize::new(0),
            since: Mutex::new(Instant::now()),
            spoke: AtomicBool::new(false),
            leave: Notify::new(),
        });
        guests.with(|guests| guests.insert(number, Arc::clone(&guest)));
        guests.make_room(most);
        let (router, guests, stopper, alive) =
            (router.clone(), Arc::clone(&guests), stopper.clone(), alive.subscribe());
        tokio::spawn(async move {
            host(stream, router, &guest, &stopper).await;
            guests.with(|guests| guests.remove(&number));
            drop(alive);
        });
    }
    stopper.stop();
    drop(listener);
    let _ = tokio::time::timeout(FAREWELL, alive.closed()).await;
}

/// One connection, from its first request to its last.
async fn host(stream: TcpStream, router: Router, guest: &Arc<Guest>, stopper: &Stopper) {
    // Answers are small and awaited: they should not wait for more to send.
    let _ = stream.set_nodelay(true);
    let counted = {
        let guest = Arc::clone(guest);
        hyper::service::service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
            let service = TowerToHyperService::new(router.clone());
            let guest = Arc::clone(&guest);
            guest.busy.fetch_add(1, Ordering::AcqRel);
            guest.spoke.store(true, Ordering::Release);
            async move {
                let answer = hyper::service::Service::call(&service, request).await;
                *guest.since.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
                guest.busy.fetch_sub(1, Ordering::AcqRel);
                answer
            }
        })
    };
    let mut connection = std::pin::pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD)
            .max_buf_size(64 << 10)
            .serve_connection(TokioIo::new(stream), counted)
    );
    let mut leave = std::pin::pin!(guest.leave.notified());
    let mut stopped = std::pin::pin!(stopper.stopped());
    let mut leaving = false;
    std::future::poll_fn(|context| {
        if !leaving && (leave.as_mut().poll(context).is_ready() || stopped.as_mut().poll(context).is_ready()) {
            leaving = true;
            connection.as_mut().graceful_shutdown();
        }
        // One that has never asked for anything would be waited for until it does.
        if leaving && !guest.spoke.load(Ordering::Acquire) {
            return std::task::Poll::Ready(());
        }
        // A connection that breaks is the other side's affair.
        connection.as_mut().poll(context).map(|_| ())
    })
    .await;
}

/// When a person or the system wants us to end.
async fn end(stopper: &Stopper) {
    let mut stopped = std::pin::pin!(stopper.stopped());
    let mut signal = std::pin::pin!(signal());
    std::future::poll_fn(|context| {
        match stopped.as_mut().poll(context).is_ready() || signal.as_mut().poll(context).is_ready() {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
    .await;
}

#[cfg(unix)]
async fn signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let mut kinds: Vec<_> =
        [SignalKind::interrupt(), SignalKind::terminate()].into_iter().filter_map(|kind| signal(kind).ok()).collect();
    if kinds.is_empty() {
        std::future::pending::<()>().await;
    }
    std::future::poll_fn(|context| match kinds.iter_mut().any(|kind| kind.poll_recv(context).is_ready()) {
        true => std::task::Poll::Ready(()),
        false => std::task::Poll::Pending,
    })
    .await;
}

#[cfg(not(unix))]
async fn signal() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
