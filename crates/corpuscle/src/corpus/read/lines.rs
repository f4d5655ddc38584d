//! Lines of bounded length out of a stream, found with memchr, without a copy.

use std::io::Read;
use std::ops::Range;

use memchr::memchr;

use super::input::{BLOCK, Input, read_error};
use crate::Result;

/// A line, or why it is none.
#[derive(Debug, PartialEq)]
pub(super) enum Line<'a> {
    /// Without its line end.
    Text(&'a str),
    /// Not UTF-8, or longer than the limit.
    Bad(String),
}

/// A thing with the number of its line, from 1; `None` at the end.
pub(super) type Numbered<T> = Option<(u64, T)>;

/// Cuts a stream into lines. Holds one block, or the line at hand when that is longer, up to the limit.
pub(super) struct Lines {
    input: Input,
    name: String,
    buffer: Vec<u8>,
    /// `buffer[start..end]` is read but not handed out.
    start: usize,
    end: usize,
    number: u64,
    limit: usize,
    at_end: bool,
}

enum Found {
    Line(Range<usize>),
    TooLong,
    End,
}

impl Lines {
    pub(super) fn new(input: Input, name: &str, limit: usize) -> Self {
        Lines { input, name: name.to_string(), buffer: Vec::new(), start: 0, end: 0, number: 0, limit, at_end: false }
    }

    /// The next line that is not blank, with its number from 1.
    pub(super) fn next(&mut self) -> Result<Numbered<Line<'_>>> {
        loop {
            let (number, range) = match self.advance()? {
                None => return Ok(None),
                Some((number, None)) => return Ok(Some((number, Line::Bad(too_long("line", self.limit))))),
                Some((number, Some(range))) => (number, range),
            };
            if !is_blank(&self.buffer[range.clone()]) {
                return Ok(Some((number, decoded(without_return(&self.buffer[range])))));
            }
        }
    }

    /// The next line, blank or not, as bytes with everything but the line feed; `None` in place of one that is too long.
    pub(super) fn next_bytes(&mut self) -> Result<Numbered<Option<&[u8]>>> {
        Ok(self.advance()?.map(|(number, range)| (number, range.map(|range| &self.buffer[range]))))
    }

    fn advance(&mut self) -> Result<Numbered<Option<Range<usize>>>> {
        let found = self.find()?;
        self.number += 1;
        Ok(match found {
            Found::End => None,
            Found::TooLong => Some((self.number, None)),
            Found::Line(mut range) => {
                if self.number == 1 && self.buffer[range.clone()].starts_with(b"\xef\xbb\xbf") {
                    range.start += 3;
                }
                Some((self.number, Some(range)))
            }
        })
    }

    /// Where the next line is in the buffer.
    fn find(&mut self) -> Result<Found> {
        let mut searched = 0;
        let mut too_long = false;
        loop {
            if let Some(at) = memchr(b'\n', &self.buffer[self.start + searched..self.end]) {
                let range = self.start..self.start + searched + at;
                self.start = range.end + 1;
                return Ok(if too_long || range.len() > self.limit { Found::TooLong } else { Found::Line(range) });
            }
            if self.at_end {
                let range = self.start..self.end;
                self.start = self.end;
                return Ok(match range.len() {
                    n if too_long || n > self.limit => Found::TooLong,
                    0 => Found::End,
                    _ => Found::Line(range),
                });
            }
            searched = self.end - self.start;
            if too_long || searched > self.limit {
                // The rest of the line is passed over block by block.
                too_long = true;
                self.start = self.end;
                searched = 0;
            }
            self.fill()?;
        }
    }

    fn fill(&mut self) -> Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end == self.buffer.len() {
            // Doubled, but never far past the limit.
            let size = (2 * self.end).min(self.limit.saturating_add(1)).max(self.end + BLOCK.min(self.limit + 1));
            self.buffer.reserve_exact(size - self.end);
            self.buffer.resize(size, 0);
        }
        let n = self.input.read(&mut self.buffer[self.end..]).map_err(|error| read_error(&self.name, &error))?;
        self.end += n;
        self.at_end = n == 0;
        Ok(())
    }
}

/// Whether there is nothing to see.
pub(super) fn is_blank(line: &[u8]) -> bool {
    line.iter().all(u8::is_ascii_whitespace)
}

/// The line without the carriage return of a CRLF.
pub(super) fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

pub(super) fn decoded(bytes: &[u8]) -> Line<'_> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Line::Text(text),
        Err(error) => Line::Bad(not_utf8(bytes, error.valid_up_to())),
    }
}

/// Says which byte is not UTF-8.
pub(super) fn not_utf8(bytes: &[u8], at: usize) -> String {
    let byte = bytes.get(at).copied().unwrap_or_default();
    format!("not UTF-8: byte 0x{byte:02x} at column {}; convert the file to UTF-8", at + 1)
}

/// Says that a line or file is longer than the limit.
pub(super) fn too_long(what: &str, limit: usize) -> String {
    let size = if limit >= 1 << 20 { format!("{} MiB", limit >> 20) } else { format!("{limit} bytes") };
    format!("the {what} is longer than the limit of {size}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Cursor;

    fn lines(bytes: &[u8], limit: usize) -> Vec<(u64, Result<String, String>)> {
        let input = Input::new(Box::new(Cursor::new(bytes.to_vec())), "x", false).unwrap();
        let mut lines = Lines::new(input, "x", limit);
        let mut out = Vec::new();
        while let Some((number, line)) = lines.next().unwrap() {
            out.push(match line {
                Line::Text(text) => (number, Ok(text.to_string())),
                Line::Bad(reason) => (number, Err(reason)),
            });
        }
        assert!(lines.buffer.len() <= limit + 1 + BLOCK, "{}", lines.buffer.len());
        out
    }

    #[test]
    fn marks_line_ends_and_blank_lines_go() {
        let found = lines(b"\xef\xbb\xbfa\r\n\n  \t\r\nb\nc", 100);
        assert_eq!(found, [(1, Ok("a".into())), (4, Ok("b".into())), (5, Ok("c".into()))]);
        assert_eq!(lines(b"", 100), []);
        assert_eq!(lines(b"\n\n", 100), []);
    }

    #[test]
    fn a_line_past_the_limit_is_bad_and_the_next_is_good() {
        for long in [11, 1000, 3 * BLOCK] {
            let text = format!("ok\n{}\nlast", "x".repeat(long));
            let found = lines(text.as_bytes(), 10);
            assert_eq!((found.len(), &found[0].1, &found[2]), (3, &Ok("ok".to_string()), &(3, Ok("last".into()))));
            assert!(found[1].1.as_ref().unwrap_err().contains("limit of 10 bytes"));
        }
        assert_eq!(lines(b"0123456789\n", 10).len(), 1);
        assert!(lines("x".repeat(2 * BLOCK).as_bytes(), BLOCK)[0].1.is_err());
        assert!(lines("x".repeat(2 * BLOCK).as_bytes(), 3 * BLOCK)[0].1.is_ok());
    }

    /// A line of two gigabytes that are made as they are read.
    #[test]
    fn a_line_of_two_gigabytes_takes_no_more_than_the_limit() {
        let (limit, long) = (1 << 20, (2u64 << 30) + 1);
        let source = std::io::repeat(b'x').take(long).chain(Cursor::new(b"\nlast".to_vec()));
        let input = Input::new(Box::new(Cursor::new(b"ok\n".to_vec()).chain(source)), "x", false).unwrap();
        let mut lines = Lines::new(input, "x", limit);
        assert_eq!(lines.next().unwrap(), Some((1, Line::Text("ok"))));
        assert_eq!(
            lines.next().unwrap(),
            Some((2, Line::Bad("the line is longer than the limit of 1 MiB".to_string())))
        );
        assert_eq!(lines.next().unwrap(), Some((3, Line::Text("last"))));
        assert!(lines.buffer.capacity() <= limit + 1 + BLOCK, "{}", lines.buffer.capacity());
    }

    #[test]
    fn bytes_that_are_not_utf8_are_named() {
        let found = lines(b"a\nb\xff\n", 100);
        assert!(found[1].1.as_ref().unwrap_err().contains("0xff at column 2"));
    }

    proptest! {
        #[test]
        fn lines_are_those_of_the_standard_library(text in "[ab\r\n\u{e9}]{0,60}", limit in 20usize..80) {
            let ours: Vec<String> = lines(text.as_bytes(), limit).into_iter().filter_map(|l| l.1.ok()).collect();
            let theirs: Vec<&str> = text
                .split('\n')
                .filter(|line| line.len() <= limit && !line.trim_ascii().is_empty())
                .map(|line| line.strip_suffix('\r').unwrap_or(line))
                .collect();
            prop_assert_eq!(ours, theirs);
        }
    }
}
