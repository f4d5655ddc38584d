//! Servers as the network sees them: bytes in, bytes out.

mod door;
mod fuzzed;
mod labelling;
mod limits;
mod serving;
mod support;
