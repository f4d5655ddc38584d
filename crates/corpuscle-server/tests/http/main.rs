//! Servers as the network sees them: bytes in, bytes out.

mod door;
mod labelling;
mod serving;
mod support;
