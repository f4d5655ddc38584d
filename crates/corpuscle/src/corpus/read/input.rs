//! Bytes in: a file or standard input, decompressed on a thread of its own, with a look at the first bytes.
//!
//! Compression is told by the first bytes, not the name, so that it works for standard input too.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};

use super::encoding::{self, Decoded, Encoding};
use crate::{Error, Result};

/// Size of the blocks handed from the decompressing thread to the parser: far above the cost of a hand-over, and a few
/// of them fit a core's cache.
pub(super) const BLOCK: usize = 256 << 10;
/// Blocks that may wait for the parser.
const WAITING: usize = 4;
/// How many bytes [`Input::head`] shows at most.
pub(super) const HEAD: usize = 64 << 10;

/// What data may always unpack to, and what they may unpack to by their size: text shrinks to a tenth, logs that repeat themselves to
/// a hundredth.
const UNPACKED: u64 = 1 << 30;
pub(super) const TIMES: u64 = 200;

/// The bytes that so many may unpack to, be they compressed or of a format in which a value is named once and meant often.
pub(super) fn most_unpacked(packed: u64) -> u64 {
    UNPACKED.max(TIMES.saturating_mul(packed))
}

/// A stream of plain bytes that lets its first bytes be seen before they are read.
pub(crate) struct Input {
    head: Vec<u8>,
    /// How much of `head` has been read.
    taken: usize,
    rest: Box<dyn Read + Send>,
    /// Whether the bytes were decompressed on the way.
    pub(super) compressed: bool,
}

impl Input {
    /// Opens a file; large or compressed ones are to be read ahead `in_background`.
    pub(crate) fn open(path: &Path, in_background: bool) -> Result<Self> {
        let file = File::open(path).map_err(|error| Error::io(path, error))?;
        Self::new(Box::new(file), &path.display().to_string(), in_background)
    }

    pub(super) fn stdin() -> Result<Self> {
        Self::new(Box::new(io::stdin()), "-", true)
    }

    pub(super) fn new(mut source: Box<dyn Read + Send>, name: &str, in_background: bool) -> Result<Self> {
        let raw = read_up_to(&mut source, HEAD).map_err(|error| Error::io(name, error))?;
        let found = Compression::of(&raw);
        if let Compression::Unknown(kind) = found {
            let reason = format!("is {kind}; decompress it first (plain, gzip and zstd files can be read)");
            return Err(Error::input(name, None, reason));
        }
        if matches!(found, Compression::None) {
            return Ok(Input { head: raw, taken: 0, rest: source, compressed: false });
        }
        let packed = Arc::new(AtomicU64::new(0));
        let counted = Counted { source: io::Cursor::new(raw).chain(source), bytes: Arc::clone(&packed) };
        let whole = BufReader::with_capacity(BLOCK, counted);
        let plain: Box<dyn Read + Send> = match found {
            Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(whole)),
            _ => Box::new(zstd::stream::read::Decoder::with_buffer(whole).map_err(|error| Error::io(name, error))?),
        };
        let plain: Box<dyn Read + Send> = Box::new(Unpacked { source: plain, packed, bytes: 0 });
        let mut rest = if in_background { in_thread(plain).map_err(|error| Error::io(name, error))? } else { plain };
        let head = read_up_to(&mut rest, HEAD).map_err(|error| read_error(name, &error))?;
        Ok(Input { head, taken: 0, rest, compressed: true })
    }

    /// The same as UTF-8, where it is in another encoding: the one that a mark at its beginning names, or else `asked`.
    pub(super) fn in_utf8(self, asked: Option<Encoding>, name: &str) -> Result<Self> {
        let Some(decoder) = encoding::decoder(&self.head, asked) else { return Ok(self) };
        let compressed = self.compressed;
        let mut rest: Box<dyn Read + Send> = Box::new(Decoded::new(self, decoder));
        let head = read_up_to(&mut rest, HEAD).map_err(|error| read_error(name, &error))?;
        Ok(Input { head, taken: 0, rest, compressed })
    }

    /// The first bytes of the stream: [`HEAD`] of them, fewer when there are fewer. To be asked before reading.
    pub(crate) fn head(&self) -> &[u8] {
        &self.head
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.taken < self.head.len() {
            let n = (&self.head[self.taken..]).read(buffer)?;
            self.taken += n;
            return Ok(n);
        }
        self.rest.read(buffer)
    }
}

/// Counts what is read.
struct Counted<R> {
    source: R,
    bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.source.read(buffer)?;
        self.bytes.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

/// Ends with an error where a little unpacks to far more than text ever does: whatever is behind it would be read for hours.
struct Unpacked {
    source: Box<dyn Read + Send>,
    packed: Arc<AtomicU64>,
    bytes: u64,
}

impl Read for Unpacked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.source.read(buffer)?;
        self.bytes += n as u64;
        if self.bytes > most_unpacked(self.packed.load(Ordering::Relaxed)) {
            let reason = format!(
                "unpacks to more than {} GiB and more than {TIMES} times its size, as no text does; if it is meant to, unpack it first",
                UNPACKED >> 30
            );
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
        }
        Ok(n)
    }
}

/// What a failed read means: a decompressor's complaint says little about files.
pub(crate) fn read_error(name: &str, error: &io::Error) -> Error {
    let reason = match error.kind() {
        io::ErrorKind::UnexpectedEof => format!("the compressed data end too early: the file is truncated ({error})"),
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::Other => {
            format!("the compressed data are damaged ({error})")
        }
        _ => error.to_string(),
    };
    Error::input(name, None, reason)
}

fn read_up_to(source: &mut impl Read, limit: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(limit);
    source.take(limit as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

enum Compression {
    None,
    Gzip,
    Zstd,
    Unknown(&'static str),
}

impl Compression {
    fn of(head: &[u8]) -> Self {
        match head {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
            [0xfd, b'7', b'z', b'X', b'Z', ..] => Compression::Unknown("xz-compressed"),
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, ..] => Compression::Unknown("bzip2-compressed"),
            [b'P', b'K', 3, 4, ..] => Compression::Unknown("a zip archive"),
            _ => Compression::None,
        }
    }
}

/// Reads `source` ahead on a thread of its own. The thread ends when the returned reader is dropped.
fn in_thread(mut source: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
    let (sender, receiver) = sync_channel(WAITING);
    std::thread::Builder::new().name("corpuscle-decompress".to_string()).spawn(move || {
        loop {
            let mut block = Vec::with_capacity(BLOCK);
            let outcome = source.by_ref().take(BLOCK as u64).read_to_end(&mut block);
            let ended = block.is_empty();
            // What was decompressed before an error still counts: the rows up to there are good.
            if !ended && sender.send(Ok(block)).is_err() {
                return;
            }
            if let Err(error) = outcome {
                let _ = sender.send(Err(error));
                return;
            }
            if ended {
                let _ = sender.send(Ok(Vec::new()));
                return;
            }
        }
    })?;
    Ok(Box::new(Blocks { receiver, block: Vec::new(), taken: 0, ended: false }))
}

struct Blocks {
    receiver: Receiver<io::Result<Vec<u8>>>,
    block: Vec<u8>,
    taken: usize,
    ended: bool,
}

impl Read for Blocks {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.block.len() && !self.ended {
            self.block = match self.receiver.recv() {
                Ok(block) => block?,
                // The thread always says when it is done: silence means that it broke down.
                Err(_) => return Err(io::Error::other("the decompressor broke down")),
            };
            self.taken = 0;
            self.ended = self.block.is_empty();
        }
        let n = (&self.block[self.taken..]).read(buffer)?;
        self.taken += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn gz(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn all(bytes: Vec<u8>, in_background: bool) -> Result<Vec<u8>> {
        let mut input = Input::new(Box::new(io::Cursor::new(bytes)), "x", in_background)?;
        let mut out = Vec::new();
        input.read_to_end(&mut out).map_err(|error| read_error("x", &error))?;
        Ok(out)
    }

    #[test]
    fn plain_gzip_and_zstd_give_the_same_bytes() {
        let plain: Vec<u8> = (0..3_000_000u32).flat_map(|i| (i / 7).to_le_bytes()).collect();
        let zst = zstd::encode_all(&plain[..], 1).unwrap();
        let halves = [gz(&plain[..1000]), gz(&plain[1000..])].concat();
        for bytes in [plain.clone(), gz(&plain), zst, halves] {
            assert!(all(bytes.clone(), true).unwrap() == plain);
            assert!(all(bytes, false).unwrap() == plain);
        }
    }

    #[test]
    fn truncated_and_damaged_archives_are_errors() {
        let plain = b"0123456789".repeat(100_000);
        for mut bytes in [gz(&plain), zstd::encode_all(&plain[..], 1).unwrap()] {
            bytes.truncate(bytes.len() - 5);
            let message = all(bytes.clone(), true).unwrap_err().to_string();
            assert!(message.contains("truncated"), "{message}");
            bytes.truncate(6);
            assert!(all(bytes, true).is_err());
        }
        let mut bytes =
            gz(&(0..100_000u32).flat_map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes()).collect::<Vec<_>>());
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0xff;
        assert!(all(bytes, false).unwrap_err().to_string().contains("damaged"));
        assert!(all(b"PK\x03\x04rest".to_vec(), true).unwrap_err().to_string().contains("zip archive"));
    }
}
