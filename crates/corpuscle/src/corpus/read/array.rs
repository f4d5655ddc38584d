//! A JSON array, as programs export it, cut into its items in one pass: over lines or all on one, each item bounded in
//! length as lines are, so that an array of any size is read in little memory.
//!
//! Only strings and brackets are followed here; whether an item is good JSON is for its parser to say. Commas too many
//! between items or at the end are passed over.

use std::io::{BufRead, BufReader, Read};

use memchr::{memchr_iter, memchr2};

use super::input::{BLOCK, read_error};
use super::lines::{Line, Numbered, decoded, too_long};
use crate::{Error, Result};

const NEVER_CLOSED: &str = "the array is never closed: is the file cut off?";

const MARK: &[u8] = b"\xef\xbb\xbf";

/// Whether data begin as an array.
pub(super) fn is_array(head: &[u8]) -> bool {
    head.strip_prefix(MARK).unwrap_or(head).trim_ascii_start().first() == Some(&b'[')
}

/// The items of an array, one after the other.
pub(super) struct Items<R> {
    source: BufReader<R>,
    name: String,
    limit: usize,
    /// The line that is being read, from 1.
    line: u64,
    /// The item at hand, no longer than the limit.
    item: Vec<u8>,
    place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    /// Before the bracket that opens the array.
    Before,
    Between,
    After,
}

/// Where in an item the reading is.
#[derive(Default)]
struct Inside {
    /// Brackets and braces that are open.
    depth: usize,
    in_string: bool,
    /// After a backslash in a string.
    escaped: bool,
    too_long: bool,
}

impl<R: Read> Items<R> {
    pub(super) fn new(source: R, name: &str, limit: usize) -> Self {
        let source = BufReader::with_capacity(BLOCK, source);
        Items { source, name: name.to_string(), limit, line: 1, item: Vec::new(), place: Place::Before }
    }

    /// The next item with the line it begins in; `None` after the last.
    pub(super) fn next(&mut self) -> Result<Numbered<Line<'_>>> {
        loop {
            match (self.place, self.skip_blank()?) {
                (Place::Before, Some(b'[')) => self.place = Place::Between,
                (Place::Between, Some(b',')) => {}
                (Place::Between, Some(b']')) => self.place = Place::After,
                (Place::Between, Some(_)) => break,
                (Place::Between, None) => return Err(self.error(NEVER_CLOSED)),
                (Place::After, None) => return Ok(None),
                (Place::Before | Place::After, _) => {
                    return Err(
                        self.error("something stands beside the JSON array; one array is wanted, or an object a line")
                    );
                }
            }
            self.source.consume(1);
        }
        let line = self.line;
        let mut inside = Inside::default();
        self.item.clear();
        loop {
            let block = self.source.fill_buf().map_err(|error| read_error(&self.name, &error))?;
            if block.is_empty() {
                if inside.is_whole() {
                    return Err(self.error(NEVER_CLOSED));
                }
                let reason = "the item that begins here never ends: is the file cut off?";
                return Err(Error::input(&self.name, Some(line), reason));
            }
            let end = inside.follow(block);
            let part = &block[..end.unwrap_or(block.len())];
            self.line += memchr_iter(b'\n', part).count() as u64;
            inside.too_long |= self.item.len() + part.len() > self.limit;
            if !inside.too_long {
                self.item.extend_from_slice(part);
            }
            let taken = part.len();
            self.source.consume(taken);
            if end.is_some() {
                break;
            }
        }
        let item = if inside.too_long { Line::Bad(too_long("item", self.limit)) } else { decoded(&self.item) };
        Ok(Some((line, item)))
    }

    /// Passes over white space; the byte after it, which is not taken.
    fn skip_blank(&mut self) -> Result<Option<u8>> {
        loop {
            let block = self.source.fill_buf().map_err(|error| read_error(&self.name, &error))?;
            let marked = self.place == Place::Before && block.starts_with(MARK);
            let blank = |byte: &u8| byte.is_ascii_whitespace();
            let skipped = if marked { MARK.len() } else { block.iter().take_while(|byte| blank(byte)).count() };
            self.line += memchr_iter(b'\n', &block[..skipped]).count() as u64;
            let (next, at_end) = (block.get(skipped).copied(), block.is_empty());
            self.source.consume(skipped);
            if !marked && (next.is_some() || at_end) {
                return Ok(next);
            }
        }
    }

    fn error(&self, reason: &str) -> Error {
        Error::input(&self.name, Some(self.line), reason)
    }
}

impl Inside {
    /// Whether the item may end here: all that was opened is closed.
    fn is_whole(&self) -> bool {
        self.depth == 0 && !self.in_string
    }

    /// Follows the item over a block: where in it the item ends, if it does.
    fn follow(&mut self, block: &[u8]) -> Option<usize> {
        let mut at = 0;
        while let Some(&byte) = block.get(at) {
            if self.escaped {
                self.escaped = false;
            } else if self.in_string {
                at += memchr2(b'"', b'\\', &block[at..])?;
                self.in_string = block[at] != b'"';
                self.escaped = self.in_string;
            } else {
                match byte {
                    b'"' => self.in_string = true,
                    b'[' | b'{' => self.depth += 1,
                    b',' | b']' if self.depth == 0 => return Some(at),
                    // A brace that was never opened belongs to the item, whose parser complains of it.
                    b']' | b'}' => self.depth = self.depth.saturating_sub(1),
                    _ => {}
                }
            }
            at += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn items(bytes: &[u8], limit: usize) -> Result<Vec<(u64, std::result::Result<String, String>)>> {
        // Three bytes at a time besides: no state may hang on where a block ends.
        let mut both = Vec::new();
        for slow in [false, true] {
            let mut items = Items::new(bytes, "x", limit);
            if slow {
                items.source = BufReader::with_capacity(3, bytes);
            }
            let mut out = Vec::new();
            while let Some((line, item)) = items.next()? {
                out.push(match item {
                    Line::Text(text) => (line, Ok(text.to_string())),
                    Line::Bad(reason) => (line, Err(reason)),
                });
            }
            both.push(out);
        }
        assert_eq!(both[0], both[1]);
        Ok(both.remove(0))
    }

    #[test]
    fn items_are_cut_out_with_the_line_they_begin_in() {
        let found = items(b"\xef\xbb\xbf\n[ {\"a\":\n\"],\\\"{\"},\n3\n, [1,2] ,{} ]\n", 100).unwrap();
        let wanted = [(2, "{\"a\":\n\"],\\\"{\"}"), (4, "3\n"), (5, "[1,2] "), (5, "{} ")];
        assert_eq!(found, wanted.map(|(line, item)| (line, Ok(item.to_string()))));
        assert_eq!(items(b"[]", 10).unwrap(), []);
        assert_eq!(items(b"[{},]", 10).unwrap().len(), 1);
        assert!(is_array(b"\xef\xbb\xbf \n[") && !is_array(b"{"));
    }

    #[test]
    fn an_item_past_the_limit_is_bad_and_the_next_is_good() {
        let text = format!("[{{\"a\":\"{}\"}},{{}}]", "x".repeat(3 * BLOCK));
        let found = items(text.as_bytes(), 10).unwrap();
        assert!(found[0].1.as_ref().unwrap_err().contains("limit of 10 bytes"));
        assert_eq!(found[1].1.as_deref(), Ok("{}"));
    }

    #[test]
    fn what_is_cut_off_or_stands_beside_is_told() {
        for (text, said) in [
            ("[{}\n", "x:2: the array is never closed"),
            ("[\n{\"a\":[1", "x:2: the item that begins here never ends"),
            ("[{},\n", "x:2: the array is never closed"),
            ("[{}]\n{}", "x:2: something stands beside"),
            ("[{\"a", "never ends"),
            ("{}", "something stands beside"),
        ] {
            let message = items(text.as_bytes(), 100).unwrap_err().to_string();
            assert!(message.contains(said), "{text}: {message}");
        }
    }

    proptest! {
        #[test]
        fn items_are_those_of_the_json_parser(texts in proptest::collection::vec("[a\\\\\"\\[\\]{},\n\u{e9}]{0,6}", 0..8), pretty: bool) {
            let values: Vec<serde_json::Value> = texts.iter().map(|text| serde_json::json!({text.as_str(): [text, 1, {}]})).collect();
            let text = if pretty { serde_json::to_string_pretty(&values) } else { serde_json::to_string(&values) }.unwrap();
            let ours = items(text.as_bytes(), 1000).unwrap();
            let ours: Vec<serde_json::Value> = ours.iter().map(|(_, item)| serde_json::from_str(item.as_ref().unwrap()).unwrap()).collect();
            prop_assert_eq!(ours, values);
        }
    }
}
