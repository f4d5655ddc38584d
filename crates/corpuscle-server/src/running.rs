//! A server from its first moment to its last: socket, door, threads of the network, a thread that looks after things.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::connections::{self, Stopper};
use crate::door::{Door, Listen};
use crate::journal::Journal;
use crate::{Error, Result};

/// A server that listens.
#[derive(Debug)]
pub(crate) struct Running {
    runtime: Runtime,
    listener: TcpListener,
    socket: SocketAddr,
    door: Arc<Door>,
    stopper: Stopper,
    log: Option<JoinHandle<()>>,
}

impl Running {
    /// Listens; connections wait until [`Running::run`].
    pub(crate) fn open(listen: &Listen, routes: &'static [&'static str]) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(std::thread::available_parallelism().map_or(2, |cores| cores.get().clamp(2, 4)))
            .thread_name("net")
            .enable_all()
            .build()
            .map_err(|cause| Error::System { what: "no threads for the network", cause })?;
        let listener = runtime.block_on(connections::listen(SocketAddr::new(listen.host, listen.port)))?;
        let socket = listener.local_addr().map_err(|cause| Error::System { what: "no address", cause })?;
        let (journal, log) = Journal::start(listen.log)?;
        let door = Arc::new(Door::new(listen, socket, routes, journal)?);
        Ok(Running { runtime, listener, socket, door, stopper: Stopper::new(), log })
    }

    pub(crate) fn door(&self) -> &Arc<Door> {
        &self.door
    }

    pub(crate) fn socket(&self) -> SocketAddr {
        self.socket
    }

    pub(crate) fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Answers until it is ended; `look` is called again and again meanwhile, on a thread of its own.
    pub(crate) fn run(self, router: Router, every: Duration, look: impl Fn() + Send + 'static) -> Result<()> {
        let Running { runtime, listener, socket, door, stopper, log } = self;
        door.journal.note("start", json!({"address": socket.to_string()}));
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let watcher = std::thread::Builder::new()
            .name("look".into())
            .spawn(move || {
                while ended.recv_timeout(every) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                    look();
                }
            })
            .map_err(|cause| Error::System { what: "no thread to look after things", cause })?;
        let router = door.before(router);
        runtime.block_on(connections::serve(listener, router, door.limits.connections, &stopper));
        drop(end);
        let _ = watcher.join();
        door.journal.note("stop", json!({}));
        runtime.shutdown_timeout(Duration::from_secs(1));
        // The log ends when nobody can write to it any more.
        if let (Ok(_), Some(log)) = (Arc::try_unwrap(door).map(drop), log) {
            let _ = log.join();
        }
        Ok(())
    }
}
