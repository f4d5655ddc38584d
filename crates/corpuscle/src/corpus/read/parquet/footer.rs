//! How deep the schema of a Parquet file is nested, before the decoder sees it: that walks the schema by calling itself, and a footer of a megabyte can nest
//! a hundred thousand groups, more than any stack has room for.
//!
//! The footer is a struct in Thrift's compact form whose field 2 is the schema: a list of elements, each followed by as many others, its children, as its
//! field 5 says. Whatever cannot be read here is left to the decoder to complain about.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};

/// The deepest nesting that is decoded.
pub(super) const DEEPEST: usize = 100;
/// The largest footer that is decoded.
const LONGEST: u64 = 256 << 20;
/// Structs in structs that are passed over.
const MOST_STRUCTS: usize = 64;

/// Why the decoder must not have this file, if so.
pub(super) fn fault(file: &mut File) -> Option<String> {
    let mut tail = [0; 8];
    let length = file.seek(SeekFrom::End(-8)).ok()?;
    file.read_exact(&mut tail).ok()?;
    let size = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
    if size > LONGEST.min(length) {
        return (size <= length).then(|| format!("its footer has {size} bytes, more than {LONGEST}"));
    }
    let mut footer = vec![0; size as usize];
    file.seek(SeekFrom::Start(length - size)).ok()?;
    file.read_exact(&mut footer).ok()?;
    file.rewind().ok()?;
    let is_deep = depth(&footer).is_some_and(|depth| depth > DEEPEST);
    is_deep.then(|| format!("its columns are nested more than {DEEPEST} deep"))
}

/// The deepest nesting of the schema of a footer, counted until it is too deep.
fn depth(footer: &[u8]) -> Option<usize> {
    let mut bytes = Bytes(footer);
    let mut field = 0;
    loop {
        let kind = bytes.field(&mut field)?;
        match (field, kind) {
            (_, 0) => return None,
            (2, LIST) => return bytes.schema(),
            _ => bytes.skip(kind, MOST_STRUCTS)?,
        }
    }
}

const LIST: u8 = 9;
const SET: u8 = 10;
const STRUCT: u8 = 12;

/// What is left of a message.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(byte)
    }

    fn pass(&mut self, count: usize) -> Option<()> {
        self.0 = self.0.get(count..)?;
        Some(())
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// The kind of the next field, 0 at the end of a struct; the number of the field goes on from the one before.
    fn field(&mut self, number: &mut i64) -> Option<u8> {
        let head = self.byte()?;
        if head & 0x0f == 0 {
            return Some(0);
        }
        *number = if head >> 4 == 0 { self.signed()? } else { *number + i64::from(head >> 4) };
        Some(head & 0x0f)
    }

    /// The kind and the number of the elements of a list.
    fn list(&mut self) -> Option<(u8, u64)> {
        let head = self.byte()?;
        let count = if head >> 4 == 15 { self.number()? } else { u64::from(head >> 4) };
        Some((head & 0x0f, count))
    }

    fn skip(&mut self, kind: u8, structs: usize) -> Option<()> {
        let structs = structs.checked_sub(1)?;
        match kind {
            1 | 2 => Some(()),
            3 => self.pass(1),
            4..=6 => self.number().map(drop),
            7 => self.pass(8),
            8 => {
                let length = usize::try_from(self.number()?).ok()?;
                self.pass(length)
            }
            LIST | SET => {
                let (kind, count) = self.list()?;
                (0..count).try_for_each(|_| self.element(kind, structs))
            }
            11 => {
                let count = self.number()?;
                let kinds = if count > 0 { self.byte()? } else { 0 };
                (0..count).try_for_each(|_| {
                    self.element(kinds >> 4, structs)?;
                    self.element(kinds & 0x0f, structs)
                })
            }
            STRUCT => {
                let mut field = 0;
                loop {
                    match self.field(&mut field)? {
                        0 => return Some(()),
                        kind => self.skip(kind, structs)?,
                    }
                }
            }
            13 => self.pass(16),
            _ => None,
        }
    }

    /// An element of a list: there a truth has a byte of its own.
    fn element(&mut self, kind: u8, structs: usize) -> Option<()> {
        match kind {
            1 | 2 => self.pass(1),
            kind => self.skip(kind, structs),
        }
    }

    /// How deep the elements of the schema are nested.
    fn schema(&mut self) -> Option<usize> {
        let (kind, count) = self.list()?;
        if kind != STRUCT {
            return None;
        }
        // How many children are still to come, from the outermost in.
        let mut waiting: Vec<u64> = Vec::new();
        let mut deepest = 0;
        for _ in 0..count {
            let (mut field, mut children) = (0, 0);
            loop {
                match self.field(&mut field)? {
                    0 => break,
                    5 if field == 5 => children = u64::try_from(self.signed()?).unwrap_or(0),
                    kind => self.skip(kind, MOST_STRUCTS)?,
                }
            }
            while waiting.last() == Some(&0) {
                waiting.pop();
            }
            if let Some(left) = waiting.last_mut() {
                *left -= 1;
            }
            waiting.push(children);
            deepest = deepest.max(waiting.len());
            if deepest > DEEPEST {
                return Some(deepest);
            }
        }
        Some(deepest)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// The footer of a schema of groups in groups.
    fn nested(depth: usize) -> Vec<u8> {
        // Field 1, a version, and field 2, a list of structs.
        let mut footer = vec![0x15, 0x02, 0x19, 0xfc];
        let mut count = depth as u64 + 1;
        while count >= 0x80 {
            footer.push(count as u8 | 0x80);
            count >>= 7;
        }
        footer.push(count as u8);
        for _ in 0..depth {
            // Repetition, a name, one child.
            footer.extend_from_slice(&[0x35, 0x02, 0x18, 0x01, b'a', 0x15, 0x02, 0x00]);
        }
        footer.extend_from_slice(&[0x15, 0x0c, 0x25, 0x02, 0x18, 0x04, b't', b'e', b'x', b't', 0x00]);
        footer
    }

    #[test]
    fn groups_are_counted_until_they_are_too_many() {
        assert_eq!(depth(&nested(3)), Some(4));
        assert_eq!(depth(&nested(200_000)), Some(DEEPEST + 1));
        assert_eq!(depth(&nested(3)[..20]), None);
        assert_eq!(depth(&[]), None);
        // Structs in structs, where nobody looks for them.
        assert_eq!(depth(&[0x1c; 100_000]), None);
    }

    #[test]
    fn a_file_of_deep_columns_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.parquet");
        let footer = nested(200_000);
        let size = (footer.len() as u32).to_le_bytes();
        let mut file = File::create(&path).unwrap();
        file.write_all(&[b"PAR1", &footer[..], &size, b"PAR1"].concat()).unwrap();
        let error = crate::corpus::read_all(&[&path], &Default::default()).unwrap_err().to_string();
        assert!(error.contains("nested more than 100 deep"), "{error}");
    }
}
