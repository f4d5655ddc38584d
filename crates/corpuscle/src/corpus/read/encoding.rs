//! Texts that are not UTF-8: turned into it on the way in, so that no format knows of it.
//!
//! A file is UTF-16 where its first two bytes are the mark of that, and what the caller names else; without either it is UTF-8. Encodings
//! go by the names that web pages have for them (the Encoding Standard's labels: `windows-1252`, `latin1`, `shift_jis`, `utf-16le` …).
//! Bytes that an encoding does not have are an error with their line and never replaced: a wrong name would go unnoticed. (One-byte
//! encodings such as windows-1252 have a letter for every byte, so there it does.) O(bytes), one block of them at a time.

use std::fmt;
use std::io::{self, Read};
use std::str::FromStr;

use encoding_rs::{Decoder, DecoderResult};
use serde::{Deserialize, Serialize};

use super::input::BLOCK;
use crate::Error;

/// How the characters of texts are written as bytes.
///
/// ```
/// use corpuscle::corpus::Encoding;
/// assert_eq!("latin1".parse::<Encoding>()?.to_string(), "windows-1252");
/// assert!("klingon".parse::<Encoding>().is_err());
/// # Ok::<(), corpuscle::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Encoding(&'static encoding_rs::Encoding);

impl FromStr for Encoding {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        encoding_rs::Encoding::for_label_no_replacement(name.as_bytes()).map(Encoding).ok_or_else(|| {
            let reason = "is no encoding; windows-1252, windows-1251, shift_jis, gb18030 and utf-16le are some";
            Error::parameter("read", "encoding", name, reason)
        })
    }
}

impl TryFrom<String> for Encoding {
    type Error = Error;

    fn try_from(name: String) -> Result<Self, Error> {
        name.parse()
    }
}

impl From<Encoding> for String {
    fn from(encoding: Encoding) -> Self {
        encoding.to_string()
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.name().to_ascii_lowercase())
    }
}

/// What turns data that begin with `head` into UTF-8; `None` where they are that already, or no text.
pub(super) fn decoder(head: &[u8], asked: Option<Encoding>) -> Option<Decoder> {
    match head {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
            encoding_rs::Encoding::for_bom(head).map(|(found, _)| found.new_decoder())
        }
        // The mark of UTF-8 is surer than a name, and Parquet has the encoding of its own.
        [0xef, 0xbb, 0xbf, ..] | [b'P', b'A', b'R', b'1', ..] => None,
        _ => asked.filter(|asked| asked.0 != encoding_rs::UTF_8).map(|asked| asked.0.new_decoder()),
    }
}

/// A source in another encoding, read as UTF-8.
pub(super) struct Decoded<R> {
    source: R,
    decoder: Decoder,
    /// Bytes as they are; those of `begin..end` are still to be decoded.
    raw: Vec<u8>,
    begin: usize,
    end: usize,
    /// UTF-8; that of `taken..filled` is still to be handed out.
    text: Vec<u8>,
    taken: usize,
    filled: usize,
    /// Line ends decoded so far.
    lines: u64,
    state: State,
}

enum State {
    Reading,
    /// The source has no more bytes; the decoder may have characters.
    Ending,
    Ended,
    /// Behind what is still to be handed out stands a byte that is none of the encoding's.
    Broken,
}

impl<R: Read> Decoded<R> {
    pub(super) fn new(source: R, decoder: Decoder) -> Self {
        let (raw, text) = (vec![0; BLOCK], vec![0; BLOCK]);
        let state = State::Reading;
        Decoded { source, decoder, raw, begin: 0, end: 0, text, taken: 0, filled: 0, lines: 0, state }
    }

    /// Decodes until there is something to hand out, or nothing more.
    fn fill(&mut self) -> io::Result<()> {
        while self.taken == self.filled {
            match self.state {
                State::Ended => return Ok(()),
                State::Broken => {
                    let (line, name) = (self.lines + 1, self.decoder.encoding().name().to_ascii_lowercase());
                    let reason =
                        format!("line {line} has bytes that are not of the encoding {name}; name the right one");
                    return Err(io::Error::new(io::ErrorKind::Unsupported, reason));
                }
                State::Reading if self.begin == self.end => {
                    (self.begin, self.end) = (0, self.source.read(&mut self.raw)?);
                    if self.end == 0 {
                        self.state = State::Ending;
                    }
                }
                State::Reading | State::Ending => {}
            }
            let (raw, last) = (&self.raw[self.begin..self.end], matches!(self.state, State::Ending));
            let (result, read, written) = self.decoder.decode_to_utf8_without_replacement(raw, &mut self.text, last);
            (self.begin, self.taken, self.filled) = (self.begin + read, 0, written);
            self.lines += self.text[..written].iter().filter(|&&byte| byte == b'\n').count() as u64;
            self.state = match (result, last) {
                (DecoderResult::Malformed(..), _) => State::Broken,
                (DecoderResult::InputEmpty, true) => State::Ended,
                (_, true) => State::Ending,
                (_, false) => State::Reading,
            };
        }
        Ok(())
    }
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.fill()?;
        let n = (&self.text[self.taken..self.filled]).read(buffer)?;
        self.taken += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(bytes: &[u8], name: Option<&str>, piece: usize) -> io::Result<String> {
        // A source that gives a few bytes at a time, so that characters are cut apart.
        struct Slowly<'a>(&'a [u8], usize);
        impl Read for Slowly<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let n = buffer.len().min(self.1);
                self.0.read(&mut buffer[..n])
            }
        }
        let mut text = String::new();
        match decoder(bytes, name.map(|name| name.parse().unwrap())) {
            Some(decoder) => Decoded::new(Slowly(bytes, piece), decoder).read_to_string(&mut text)?,
            None => Slowly(bytes, piece).read_to_string(&mut text)?,
        };
        Ok(text)
    }

    fn utf16(text: &str, little: bool) -> Vec<u8> {
        let bytes = |unit: u16| if little { unit.to_le_bytes() } else { unit.to_be_bytes() };
        text.encode_utf16().flat_map(bytes).collect()
    }

    #[test]
    fn names_and_marks_say_the_encoding() {
        assert_eq!(of(b"caf\xe9 \x80", Some("windows-1252"), 1).unwrap(), "café €");
        assert_eq!(of(b"\x83e\x83X\x83g", Some("shift_jis"), 1).unwrap(), "テスト");
        let marked = [b"\xff\xfe".to_vec(), utf16("né\n😀", true)].concat();
        assert_eq!(of(&marked, None, 3).unwrap(), "né\n😀");
        let marked = [b"\xfe\xff".to_vec(), utf16("né\n😀", false)].concat();
        assert_eq!(of(&marked, Some("windows-1252"), 1).unwrap(), "né\n😀");
        assert_eq!(of(&utf16("né", true), Some("utf-16le"), 1).unwrap(), "né");
        // Already UTF-8, whatever was said, and without a word.
        assert_eq!(of("\u{feff}né".as_bytes(), Some("windows-1252"), 1).unwrap(), "\u{feff}né");
        assert!(decoder(b"plain", None).is_none() && decoder(b"plain", "utf8".parse().ok()).is_none());
        assert!(decoder(b"PAR1", "latin1".parse().ok()).is_none());
    }

    #[test]
    fn bytes_of_no_character_are_an_error_with_the_line_behind_what_is_good() {
        let broken = of(b"a\nb\n\x83", Some("shift_jis"), 1).unwrap_err().to_string();
        assert!(broken.contains("line 3") && broken.contains("shift_jis"), "{broken}");
        let half = [b"\xff\xfe".to_vec(), utf16("a", true), vec![0x3d]].concat();
        assert!(of(&half, None, 2).unwrap_err().to_string().contains("utf-16le"));
        let mut decoded = Decoded::new(&b"good\x81\x20"[..], decoder(b"good", "shift_jis".parse().ok()).unwrap());
        let mut start = [0; 4];
        decoded.read_exact(&mut start).unwrap();
        assert_eq!(&start, b"good");
        assert!(decoded.read(&mut start).is_err() && decoded.read(&mut start).is_err());
    }

    #[test]
    fn names_are_written_as_they_are_read() {
        let encoding: Encoding = "ISO-8859-2".parse().unwrap();
        let json = serde_json::to_string(&encoding).unwrap();
        assert_eq!((json.as_str(), serde_json::from_str::<Encoding>(&json).unwrap()), ("\"iso-8859-2\"", encoding));
        assert!("utf-7".parse::<Encoding>().unwrap_err().is_usage());
        assert!(serde_json::from_str::<Encoding>("\"klingon\"").is_err());
    }

    proptest! {
        #[test]
        fn any_text_comes_back_from_utf_16(text in ".{0,200}", little: bool, piece in 1usize..9) {
            let name = if little { "utf-16le" } else { "utf-16be" };
            // A mark in front of the text itself would be taken for one of the file.
            prop_assume!(!text.starts_with(['\u{feff}', '\u{fffe}', '\u{bbef}', '\u{efbb}', '\u{4150}', '\u{5041}']));
            prop_assert_eq!(of(&utf16(&text, little), Some(name), piece).unwrap(), text);
        }

        #[test]
        fn any_bytes_are_text_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..400), piece in 1usize..9) {
            for name in ["windows-1252", "shift_jis", "gb18030", "utf-16be", "iso-2022-jp", "euc-kr", "big5"] {
                let (slow, whole) = (of(&bytes, Some(name), piece).ok(), of(&bytes, Some(name), 400).ok());
                prop_assert_eq!(slow, whole);
            }
        }
    }
}
