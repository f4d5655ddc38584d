//! Servers as the network sees them: bytes in, bytes out.

mod door;
mod labelling;
mod limits;
mod serving;
mod support;
