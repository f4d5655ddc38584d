//! What classes are about, as a file: a line for each, the class, a tab, and its name, description or seed words.
//!
//! There is no heading. Empty lines are passed over; a class may come on several lines. A word with `-` before it is struck out: it
//! may not come back when names are expanded.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use crate::{Error, Result};

/// The largest file that is read: names are written by people.
const MOST_BYTES: u64 = 16 << 20;

/// Reads (class, description) pairs.
pub fn read_descriptions(path: &Path) -> Result<Vec<(String, String)>> {
    let io = |source: std::io::Error| Error::io(path, source);
    let mut bytes = Vec::new();
    // Read up to the limit, whatever its size is said to be: a pipe or a device has none.
    File::open(path).map_err(io)?.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(io)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(Error::data(format!(
            "{} has more than {MOST_BYTES} bytes, too many for names of classes; shorten the descriptions",
            path.display()
        )));
    }
    let text = std::str::from_utf8(&bytes).map_err(|fault| {
        let line = bytes[..fault.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count() + 1;
        Error::data(format!("{}:{line}: this is no UTF-8 text", path.display()))
    })?;
    parse(text).map_err(|(line, reason)| Error::data(format!("{}:{line}: {reason}", path.display())))
}

fn parse(text: &str) -> Result<Vec<(String, String)>, (usize, String)> {
    let mut pairs = Vec::new();
    for (line, number) in text.trim_start_matches('\u{feff}').lines().zip(1..) {
        if line.trim().is_empty() {
            continue;
        }
        let Some((class, about)) = line.split_once('\t') else {
            return Err((number, "a line is a class, a tab, and what the class is about".to_string()));
        };
        let (class, about) = (class.trim(), about.trim());
        if class.is_empty() || about.is_empty() {
            let which = if class.is_empty() { "class" } else { "description" };
            return Err((number, format!("the {which} is empty")));
        }
        pairs.push((class.to_string(), about.to_string()));
    }
    if pairs.is_empty() {
        return Err((1, "there is no class in this file".to_string()));
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_classes_and_what_they_are_about() {
        let read = parse("\u{feff}a\tcar road\r\n\n b \t sea\tfish -net\na\twheel").unwrap();
        let pairs: Vec<(&str, &str)> = read.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!(pairs, [("a", "car road"), ("b", "sea\tfish -net"), ("a", "wheel")]);
    }

    #[test]
    fn faults_have_file_line_and_reason() {
        assert_eq!(parse("a\tb\nc").unwrap_err(), (2, "a line is a class, a tab, and what the class is about".into()));
        assert_eq!(parse("\tb").unwrap_err(), (1, "the class is empty".into()));
        assert_eq!(parse("a\t").unwrap_err().1, "the description is empty");
        assert_eq!(parse("\n \n").unwrap_err().1, "there is no class in this file");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("names.tsv");
        std::fs::write(&path, b"a\tb\n\xff\tc\n").unwrap();
        let said = read_descriptions(&path).unwrap_err().to_string();
        assert!(said.ends_with("names.tsv:2: this is no UTF-8 text"), "{said}");
        assert!(read_descriptions(&folder.path().join("none.tsv")).is_err());
    }
}
