//! Word vectors in the files of other programs.
//!
//! | format | first line | then |
//! |---|---|---|
//! | word2vec text, fastText `.vec` | words, numbers of a vector | a line for each word: the word, its numbers |
//! | GloVe | | the same lines |
//! | word2vec binary | words, numbers of a vector | word, space, numbers as 32-bit little-endian floats, end of line or not |
//!
//! Files are plain or compressed with gzip or zstd, and are not trusted: a line too long, a number that is not one or
//! not finite, a vector too short or too long, a word twice and a file that ends too early are told with their place.
//! No more memory is taken than what was read calls for.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;

use super::WordVectors;
use crate::corpus::read::input::{Input, read_error};
use crate::text::Lexicon;
use crate::{Error, Result};

/// A file format of word vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorFormat {
    /// Text with a first line of sizes, as word2vec and fastText (`.vec`) write it.
    Text,
    /// Binary, as word2vec writes it.
    Binary,
    /// Text without a first line, as GloVe writes it.
    Glove,
}

/// The longest line or word that is read.
const LONGEST: u64 = 1 << 24;
/// The most numbers of a vector.
const WIDEST: usize = 1 << 16;

impl VectorFormat {
    /// The format of a name such as `vectors.bin` or `glove.txt`: binary for `.bin`, GloVe when `glove` is in it, else
    /// text.
    pub fn of_name(path: &Path) -> Self {
        let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        match () {
            () if name.ends_with(".bin") => VectorFormat::Binary,
            () if name.contains("glove") => VectorFormat::Glove,
            () => VectorFormat::Text,
        }
    }
}

impl WordVectors {
    /// Reads a file of any of the formats.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        read_file(path.as_ref(), None)
    }

    /// Reads the vectors of these words only; the rest of the file is checked and passed over.
    pub fn read_only(path: impl AsRef<Path>, words: &Lexicon) -> Result<Self> {
        read_file(path.as_ref(), Some(words))
    }

    /// Writes the vectors. Numbers in text are as short as gives back the same bits.
    pub fn write(&self, to: impl Write, format: VectorFormat) -> std::io::Result<()> {
        let mut to = std::io::BufWriter::with_capacity(1 << 16, to);
        if format != VectorFormat::Glove {
            writeln!(to, "{} {}", self.len(), self.dim())?;
        }
        for (word, row) in self.words().iter().zip(0..) {
            write!(to, "{word}")?;
            let vector = self.vectors().row(row);
            if format == VectorFormat::Binary {
                write!(to, " ")?;
                for value in vector {
                    to.write_all(&value.to_le_bytes())?;
                }
            } else {
                for value in vector {
                    write!(to, " {value}")?;
                }
            }
            writeln!(to)?;
        }
        to.flush()
    }
}

fn read_file(path: &Path, only: Option<&Lexicon>) -> Result<WordVectors> {
    let input = Input::open(path, true)?;
    let name = path.display().to_string();
    let head = input.head().to_vec();
    let mut reader = BufReader::with_capacity(1 << 18, input);
    read_from(&mut reader, &head, name, only)
}

fn read_from(reader: &mut impl BufRead, head: &[u8], name: String, only: Option<&Lexicon>) -> Result<WordVectors> {
    let first = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let sizes = read_sizes(first);
    let mut table = Collected { name, only, words: Vec::new(), values: Vec::new(), seen: HashSet::new(), dim: 0 };
    let rest = head.get(first.len() + 1..).unwrap_or_default();
    match sizes {
        Some((words, dim)) => {
            if dim == 0 || dim > WIDEST {
                let reason = format!("vectors of {dim} numbers; from 1 to {WIDEST} are read");
                return Err(Error::input(table.name, Some(1), reason));
            }
            table.dim = dim;
            let mut line = Vec::new();
            read_line(reader, &mut line, &table.name, 1)?;
            if is_binary(rest) {
                read_binary(reader, line.len() as u64, words, &mut table)?
            } else {
                read_text(reader, 2, Some(words), &mut table)?
            }
        }
        None => read_text(reader, 1, None, &mut table)?,
    }
    table.finish()
}

/// The number of words and of numbers, when the first line says so.
fn read_sizes(line: &[u8]) -> Option<(usize, usize)> {
    let text = std::str::from_utf8(line).ok()?;
    let mut fields = text.split_whitespace();
    let sizes = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    fields.next().is_none().then_some(sizes)
}

/// Whether these bytes are not text.
fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().any(|&byte| byte < 9) || std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_some())
}

/// Reads a line without its end; `false` when there is none.
fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>, name: &str, number: u64) -> Result<bool> {
    line.clear();
    let length = reader.take(LONGEST).read_until(b'\n', line).map_err(|error| read_error(name, &error))?;
    if length as u64 == LONGEST {
        return Err(Error::input(name, Some(number), format!("is longer than {LONGEST} bytes: not word vectors?")));
    }
    Ok(length > 0)
}

fn read_text(reader: &mut impl BufRead, first: u64, words: Option<usize>, table: &mut Collected<'_>) -> Result<()> {
    let mut line = Vec::new();
    let mut vector = Vec::new();
    let (mut number, mut count) = (first, 0usize);
    while read_line(reader, &mut line, &table.name, number)? {
        let fault = |name: &str, reason: String| Error::input(name, Some(number), reason);
        let text = std::str::from_utf8(&line).map_err(|_| fault(&table.name, "is not UTF-8".to_string()))?;
        let text = text.trim_end_matches(['\n', '\r', ' ', '\t']);
        if !text.is_empty() {
            if table.dim == 0 {
                table.dim = text.split([' ', '\t']).skip(1).count();
                if table.dim == 0 || table.dim > WIDEST {
                    let reason = format!("has {} numbers after the word; from 1 to {WIDEST} are read", table.dim);
                    return Err(fault(&table.name, reason));
                }
            }
            // From the right, because the words of some published files have spaces in them.
            vector.clear();
            let mut rest = text;
            for _ in 0..table.dim {
                let Some((before, last)) = rest.rsplit_once([' ', '\t']) else {
                    let reason = format!("has {} numbers after the word, not {}", vector.len(), table.dim);
                    return Err(fault(&table.name, reason));
                };
                let value: f32 = last.parse().map_err(|_| {
                    fault(
                        &table.name,
                        format!("`{}` is not a number; {} must follow the word", shorten(last), table.dim),
                    )
                })?;
                vector.push(value);
                rest = before;
            }
            vector.reverse();
            // Something that reads as numbers before the wanted ones is a vector too long, not a word with spaces.
            if rest.rsplit_once(' ').is_some_and(|(_, last)| last.parse::<f32>().is_ok()) {
                return Err(fault(&table.name, format!("has more than {} numbers after the word", table.dim)));
            }
            table.add(rest, &vector).map_err(|reason| fault(&table.name, reason))?;
            count += 1;
        }
        number += 1;
    }
    match words {
        Some(words) if words != count => {
            let reason = format!("has {count} words where the first line says {words}: is the file truncated?");
            Err(Error::input(table.name.clone(), Some(number), reason))
        }
        _ => Ok(()),
    }
}

fn read_binary(reader: &mut impl BufRead, mut at: u64, words: usize, table: &mut Collected<'_>) -> Result<()> {
    let (mut word, mut bytes) = (Vec::new(), vec![0u8; table.dim * 4]);
    let mut vector = Vec::with_capacity(table.dim);
    for number in 0..words {
        let fault = |name: &str, at: u64, reason: String| Error::input(name, None, format!("at byte {at}: {reason}"));
        let early = format!("the file ends after {number} of {words} words: it is truncated");
        word.clear();
        let length =
            reader.take(LONGEST).read_until(b' ', &mut word).map_err(|error| read_error(&table.name, &error))?;
        if word.pop() != Some(b' ') {
            let reason = if length as u64 == LONGEST { "no word ends here".to_string() } else { early };
            return Err(fault(&table.name, at, reason));
        }
        // The end of the line before it belongs to no word.
        let ends = word.iter().take_while(|&&byte| byte == b'\n').count();
        let text = std::str::from_utf8(&word[ends..])
            .map_err(|_| fault(&table.name, at, "the word is not UTF-8".to_string()))?;
        reader.read_exact(&mut bytes).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => fault(&table.name, at, early.clone()),
            _ => read_error(&table.name, &error),
        })?;
        vector.clear();
        vector.extend(bytes.as_chunks::<4>().0.iter().map(|&four| f32::from_le_bytes(four)));
        table.add(text, &vector).map_err(|reason| fault(&table.name, at, reason))?;
        at += (length + bytes.len()) as u64;
    }
    let mut rest = Vec::new();
    reader.take(2).read_to_end(&mut rest).map_err(|error| read_error(&table.name, &error))?;
    if rest.iter().any(|&byte| byte != b'\n') {
        let reason = format!("at byte {at}: more follows after the {words} words the first line says");
        return Err(Error::input(table.name.clone(), None, reason));
    }
    Ok(())
}

/// What has been read.
struct Collected<'a> {
    name: String,
    only: Option<&'a Lexicon>,
    words: Vec<String>,
    values: Vec<f32>,
    seen: HashSet<String>,
    dim: usize,
}

impl Collected<'_> {
    fn add(&mut self, word: &str, vector: &[f32]) -> Result<(), String> {
        if word.is_empty() {
            return Err("the word is empty".to_string());
        }
        if let Some(value) = vector.iter().find(|value| !value.is_finite()) {
            return Err(format!("the vector of `{}` has the number {value}; leave the word out", shorten(word)));
        }
        if self.only.is_some_and(|only| only.id(word).is_none()) {
            return Ok(());
        }
        if !self.seen.insert(word.to_string()) {
            return Err(format!("the word `{}` is there twice; leave one out", shorten(word)));
        }
        self.words.push(word.to_string());
        self.values.extend_from_slice(vector);
        Ok(())
    }

    fn finish(self) -> Result<WordVectors> {
        if self.words.is_empty() {
            let reason = match self.only {
                Some(_) => "has none of the words of the documents: another language, or words cut differently?",
                None => "has no word vectors",
            };
            return Err(Error::input(self.name, None, reason));
        }
        let mut order: Vec<usize> = (0..self.words.len()).collect();
        order.sort_unstable_by(|&a, &b| self.words[a].cmp(&self.words[b]));
        let vectors = crate::matrix::Dense::new(self.words.len(), self.dim, self.values)?.select_rows(&order);
        WordVectors::new(Lexicon::from_sorted(order.iter().map(|&at| self.words[at].as_str())), vectors)
    }
}

fn shorten(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(bytes: &[u8]) -> Result<WordVectors> {
        let head = &bytes[..bytes.len().min(8192)];
        read_from(&mut &bytes[..], head, "v".to_string(), None)
    }

    proptest! {
        #[test]
        fn every_format_gives_back_the_same(
            pairs in proptest::collection::btree_map("[a-zé]{1,6}", proptest::collection::vec(-9.0f32..9.0, 3), 1..20)
        ) {
            let vectors = WordVectors::from_pairs(pairs).unwrap();
            for format in [VectorFormat::Text, VectorFormat::Binary, VectorFormat::Glove] {
                let mut bytes = Vec::new();
                vectors.write(&mut bytes, format).unwrap();
                prop_assert_eq!(&parse(&bytes).unwrap(), &vectors);
            }
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
            let _ = parse(&[b"3 2\n", &bytes[..]].concat());
        }
    }

    #[test]
    fn faults_are_told_with_their_place() {
        for (bytes, wanted) in [
            (&b"2 2\na 1 2\nb 1\n"[..], "v:3: has 1 numbers"),
            (b"2 2\na 1 2\nb 1 2 3\n", "v:3: has more than 2"),
            (b"2 2\na 1 2\nb 1 x\n", "v:3: `x` is not a number"),
            (b"2 2\na 1 2\nb 1 nan\n", "v:3: the vector of `b`"),
            (b"2 2\na 1 2\na 1 3\n", "v:3: the word `a` is there twice"),
            (b"3 2\na 1 2\nb 1 3\n", "truncated"),
            (b"1 0\na\n", "v:1: vectors of 0"),
            (b"", "no word vectors"),
            (b"9999999999999 2\na \0\0\0\0\0\0\0\0b \0\0", "ends after 1 of 9999999999999"),
            (b"1 1\na \0\0\0\0\nb", "more follows"),
            (b"1 1\na \0\0\x80\x7f", "the number inf"),
        ] {
            let message = parse(bytes).unwrap_err().to_string();
            assert!(message.contains(wanted), "{message}");
        }
    }

    #[test]
    fn words_with_spaces_and_wanted_words_only() {
        let vectors = parse(b"a 1 2\n. . . 3 4\n").unwrap();
        assert_eq!(vectors.get(". . ."), Some(&[3.0, 4.0][..]));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.vec");
        std::fs::write(&path, zstd::encode_all(&b"3 1\na 1\nb 2\nc 3\n"[..], 1).unwrap()).unwrap();
        let words = Lexicon::from_sorted(["b", "z"]);
        assert_eq!(WordVectors::read_only(&path, &words).unwrap().len(), 1);
        assert_eq!(WordVectors::read(&path).unwrap().len(), 3);
        assert!(WordVectors::read_only(&path, &Lexicon::from_sorted(["z"])).is_err());
    }
}
