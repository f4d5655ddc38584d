//! HTTP, the label store and the page behind `corpuscle serve` and `corpuscle label`.
//!
//! [`serve`] answers about models that are there; [`label`] makes labels and a model that learns along. Both stand behind
//! the same door ([`Listen`]): the loopback address unless asked otherwise, a token for everything that is data, Host and
//! Origin checked (a page elsewhere must not reach us by a name of its own that leads here), limits on bodies, time,
//! requests at once and waiting work, and an answer in JSON for whatever is refused.
//!
//! ```text
//! connection -> door (who asks? is there room?) -> route -> body, whole, within its time
//!            -> queue of work -> a thread that computes -> answer
//! ```
//! Threads that talk to the network never compute, and threads that compute never wait for the network.
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod assets;
mod clock;
mod connections;
mod door;
mod journal;
pub mod label;
mod metrics;
mod refusal;
mod request;
mod running;
pub mod serve;
mod token;
mod workers;

pub use connections::Stopper;
pub use door::{Limits, Listen};

/// What keeps a server from starting, or stops it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The library refused something: a model, documents, an index.
    #[error(transparent)]
    Library(#[from] corpuscle::Error),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {cause}")]
    Listen {
        /// The address.
        address: String,
        /// What the system says.
        cause: std::io::Error,
    },
    /// The store of labels cannot be read or written.
    #[error("{path}: {reason}")]
    Store {
        /// The file.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A value that was handed over cannot work.
    #[error("{0}")]
    Wrong(String),
    /// The system refused threads, randomness or a file.
    #[error("{what}: {cause}")]
    System {
        /// What was asked of it.
        what: &'static str,
        /// What it says.
        cause: std::io::Error,
    },
}

/// What can fail with [`enum@Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;
