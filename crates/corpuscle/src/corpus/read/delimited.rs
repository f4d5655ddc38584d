//! CSV and TSV: columns under a header line, quoted as in RFC 4180, in one pass and with every fault tied to a line.
//!
//! A field that begins with `"` runs to its closing quote, over line ends if need be; `""` in it is one quote. What
//! follows a closing quote up to the delimiter belongs to the field, and a quote inside an unquoted field is a plain
//! character. The `csv` crate reads the same fields (a property test holds both side by side), but takes an unclosed
//! quote for the end of the file, lets a record grow without bound and miscounts lines after CRLF.

use std::borrow::Cow;

use memchr::memchr;

use super::guess::SAMPLE;
use super::input::{HEAD, Input};
use super::lines::{Lines, is_blank, not_utf8, too_long, without_return};
use super::options::Format;
use super::row::{Value, Whole, text_too_long, whole};
use super::sink::{Flow, Sink, missing};

const QUOTE: u8 = b'"';
/// The most columns: a header of commas alone would otherwise take sixty times its size.
const MOST_COLUMNS: usize = 1 << 20;

pub(super) fn read(input: Input, name: &str, format: Format, sink: &mut Sink) -> Flow {
    let dialect = Dialect { delimiter: delimiter(input.head(), format), quoting: sink.options.quoting };
    if !sink.is_settled() {
        sink.settle(&dialect.first_rows(input.head()));
    }
    let limit = sink.options.max_line;
    let mut lines = Lines::new(input, name, limit);
    let mut columns = None;
    // A record that goes over several lines is put together here.
    let mut pending: Vec<u8> = Vec::new();
    let mut first_line = 0;
    // The line in which the quote opened that is still open.
    let mut open: Option<u64> = None;
    while let Some((number, line)) = lines.next_bytes()? {
        let Some(line) = line.filter(|line| pending.len() + line.len() <= limit) else {
            if let Some(opened) = open {
                let reason = format!("{}: is the quote that opens here ever closed?", too_long("record", limit));
                return Err(sink.error(Some(opened), reason).into());
            }
            sink.bad_row(Some(number), too_long("line", limit))?;
            continue;
        };
        if open.is_none() {
            if is_blank(line) {
                continue;
            }
            first_line = number;
        }
        let continues = open.is_some();
        dialect.follow(line, number, &mut open);
        if continues || open.is_some() {
            pending.extend_from_slice(line);
        }
        if open.is_some() {
            pending.push(b'\n');
            continue;
        }
        let record = without_return(if continues { &pending } else { line });
        take(record, first_line, dialect, &mut columns, sink)?;
        pending.clear();
    }
    if let Some(opened) = open {
        let reason =
            "a quote opens here and is never closed (read with quoting off if quotes mean nothing in this file)";
        return Err(sink.error(Some(opened), reason.to_string()).into());
    }
    Ok(())
}

/// Takes a record: the first is the header.
fn take(record: &[u8], line: u64, dialect: Dialect, columns: &mut Option<Columns>, sink: &mut Sink) -> Flow {
    let text = match std::str::from_utf8(record) {
        Ok(text) => text,
        Err(error) => {
            let before = &record[..error.valid_up_to()];
            let line_start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
            let line = line + memchr::memchr_iter(b'\n', before).count() as u64;
            let reason = not_utf8(&record[line_start..], before.len() - line_start);
            return match columns {
                Some(_) => sink.bad_row(Some(line), reason),
                None => Err(sink.error(Some(line), reason).into()),
            };
        }
    };
    let most = columns.as_ref().map_or(MOST_COLUMNS, |columns| columns.names.len());
    let (fields, count) = dialect.fields(text, most);
    match columns {
        None if count > MOST_COLUMNS => {
            let reason =
                format!("the header has {count} columns, more than {MOST_COLUMNS}; keep those that are needed");
            return Err(sink.error(Some(line), reason).into());
        }
        None => *columns = Some(Columns::new(&fields, line, sink)?),
        Some(columns) if count != columns.names.len() => {
            let over_lines = record.contains(&b'\n');
            let hint = if over_lines { "; it goes over several lines: is a quote left open or unpaired?" } else { "" };
            let reason = format!("the row has {count} fields, the header {}{hint}", columns.names.len());
            return sink.bad_row(Some(line), reason);
        }
        Some(columns) => columns.take(&fields, line, sink)?,
    }
    Ok(())
}

/// The columns of a file and the slots they fill.
pub(super) struct Columns {
    names: Vec<String>,
    slots: Vec<Option<usize>>,
}

impl Columns {
    pub(super) fn new(header: &[Cow<'_, str>], line: u64, sink: &Sink) -> Flow<Self> {
        let Columns { names, .. } = Self::named(header);
        let slots: Vec<Option<usize>> = names.iter().map(|name| sink.fields.slot(name)).collect();
        for slot in sink.fields.required() {
            if !slots.contains(&Some(slot)) {
                let reason = missing(sink.fields.name(slot), names.iter().map(String::as_str));
                return Err(sink.error(Some(line), reason).into());
            }
        }
        if let Some(twice) = (0..slots.len()).find(|&i| slots[i].is_some() && slots[..i].contains(&slots[i])) {
            return Err(sink.error(Some(line), format!("the column `{}` is there twice", names[twice])).into());
        }
        Ok(Columns { names, slots })
    }

    /// Columns that fill no slots.
    pub(super) fn named(header: &[Cow<'_, str>]) -> Self {
        let names = header.iter().map(|name| name.trim().to_string()).collect();
        Columns { names, slots: Vec::new() }
    }

    /// Takes a row of as many fields as there are columns.
    pub(super) fn take(&self, fields: &[Cow<'_, str>], line: u64, sink: &mut Sink) -> Flow {
        let mut row = vec![Value::Absent; sink.fields.len()];
        for (field, slot) in fields.iter().zip(&self.slots) {
            if let Some(slot) = slot {
                row[*slot] = Value::from(field.as_ref());
            }
        }
        if let Some(reason) = text_too_long(&row, sink.options.max_line) {
            return sink.bad_row(Some(line), reason);
        }
        sink.row(line, row, || self.whole(fields))
    }

    pub(super) fn whole(&self, fields: &[Cow<'_, str>]) -> Whole {
        whole(self.names.iter().map(String::as_str).zip(fields.iter().map(|field| Value::from(field.as_ref()))))
    }
}

#[derive(Clone, Copy)]
struct Dialect {
    delimiter: u8,
    quoting: bool,
}

impl Dialect {
    /// The first rows, as far as the first bytes have them whole.
    fn first_rows(self, head: &[u8]) -> Vec<Whole> {
        let whole_head = if head.len() < HEAD { head } else { &head[..memchr::memrchr(b'\n', head).unwrap_or(0)] };
        let (mut header, mut rows) = (None, Vec::new());
        let (mut record, mut open) = (Vec::new(), None);
        let text = whole_head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(whole_head);
        for line in text.split(|&byte| byte == b'\n') {
            self.follow(line, 1, &mut open);
            record.extend_from_slice(line);
            if open.is_some() {
                record.push(b'\n');
                continue;
            }
            let line = std::mem::take(&mut record);
            let Some(text) = std::str::from_utf8(without_return(&line)).ok().filter(|_| !is_blank(&line)) else {
                continue;
            };
            let (fields, count) = self.fields(text, MOST_COLUMNS);
            match &header {
                None => header = Some(Columns::named(&fields)),
                Some(columns) if columns.names.len() == count => rows.push(columns.whole(&fields)),
                Some(_) => {}
            }
            if rows.len() == SAMPLE {
                break;
            }
        }
        rows
    }

    /// Keeps track of the open quote over one line.
    fn follow(self, line: &[u8], number: u64, open: &mut Option<u64>) {
        if !self.quoting || (open.is_none() && memchr(QUOTE, line).is_none()) {
            return;
        }
        let mut at = 0;
        if open.is_none() && line.first() == Some(&QUOTE) {
            (*open, at) = (Some(number), 1);
        }
        loop {
            if open.is_some() {
                let Some(quote) = memchr(QUOTE, &line[at..]) else { return };
                at += quote + 1;
                match line.get(at) {
                    Some(&QUOTE) => at += 1,
                    _ => *open = None,
                }
            } else {
                let Some(delimiter) = memchr(self.delimiter, &line[at..]) else { return };
                at += delimiter + 1;
                if line.get(at) == Some(&QUOTE) {
                    (*open, at) = (Some(number), at + 1);
                }
            }
        }
    }

    /// The fields of a record whose quotes are closed, no more than `most` of them, and how many there are.
    fn fields(self, record: &str, most: usize) -> (Vec<Cow<'_, str>>, usize) {
        let bytes = record.as_bytes();
        let mut fields = Vec::new();
        let (mut at, mut count) = (0, 0);
        loop {
            let mut quoted = None;
            if self.quoting && bytes.get(at) == Some(&QUOTE) {
                at += 1;
                let mut whole = Cow::Borrowed("");
                while let Some(quote) = memchr(QUOTE, &bytes[at..]) {
                    append(&mut whole, &record[at..at + quote]);
                    at += quote + 1;
                    if bytes.get(at) != Some(&QUOTE) {
                        break;
                    }
                    append(&mut whole, "\"");
                    at += 1;
                }
                quoted = Some(whole);
            }
            let end = memchr(self.delimiter, &bytes[at..]).map(|delimiter| at + delimiter);
            let rest = &record[at..end.unwrap_or(bytes.len())];
            let mut field = quoted.unwrap_or_default();
            append(&mut field, rest);
            count += 1;
            if count <= most {
                fields.push(field);
            }
            match end {
                Some(end) => at = end + 1,
                None => return (fields, count),
            }
        }
    }
}

/// Appends without a copy while there was nothing before.
fn append<'a>(whole: &mut Cow<'a, str>, part: &'a str) {
    if whole.is_empty() {
        *whole = Cow::Borrowed(part);
    } else if !part.is_empty() {
        whole.to_mut().push_str(part);
    }
}

/// Tabs for TSV; for CSV the comma, unless the header has none but has semicolons, tabs or upright bars.
fn delimiter(head: &[u8], format: Format) -> u8 {
    let header = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
    match format {
        Format::Tsv => b'\t',
        _ => [b',', b';', b'\t', b'|'].into_iter().find(|delimiter| header.contains(delimiter)).unwrap_or(b','),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CSV: Dialect = Dialect { delimiter: b',', quoting: true };

    #[test]
    fn quotes_enclose_and_double() {
        assert_eq!(CSV.fields(r#"a,"b,c","d""e",f"g,"h" i,,"""""#, 9).0, ["a", "b,c", "d\"e", "f\"g", "h i", "", "\""]);
        assert_eq!(Dialect { quoting: false, ..CSV }.fields(r#""a,b""#, 9).0, ["\"a", "b\""]);
        assert_eq!(CSV.fields("", 9).0, [""]);
        let (kept, count) = CSV.fields("a,b,\"c\",d", 2);
        assert_eq!((kept, count), (vec!["a".into(), "b".into()], 4));
    }

    #[test]
    fn an_open_quote_is_followed_over_lines() {
        let mut open = None;
        for (line, after) in [("a,\"b", Some(1)), ("c \"\" d", Some(1)), ("e\",\"f", Some(3)), ("g\",h", None)] {
            let number = ["a", "c", "e", "g"].iter().position(|start| line.starts_with(start)).unwrap() as u64 + 1;
            CSV.follow(line.as_bytes(), number, &mut open);
            assert_eq!(open, after, "{line}");
        }
    }

    #[test]
    fn the_delimiter_is_in_the_header() {
        assert_eq!(delimiter(b"a,b;c\n", Format::Csv), b',');
        assert_eq!(delimiter(b"a;b\n1,2", Format::Csv), b';');
        assert_eq!(delimiter(b"a|b\n1,2", Format::Csv), b'|');
        assert_eq!(delimiter(b"text", Format::Csv), b',');
        assert_eq!(delimiter(b"a,b", Format::Tsv), b'\t');
    }

    proptest! {
        #[test]
        fn records_are_those_of_the_csv_crate(text in "[a,\"\n\u{e9}]{0,40}") {
            let (mut ours, mut record, mut open) = (Vec::new(), String::new(), None);
            for (line, number) in text.split('\n').zip(1..) {
                record.push_str(line);
                CSV.follow(line.as_bytes(), number, &mut open);
                if open.is_some() {
                    record.push('\n');
                } else if !record.is_empty() {
                    ours.push(std::mem::take(&mut record));
                }
            }
            let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
            let theirs: Vec<_> = reader.records().map(Result::unwrap).collect();
            // A record with an open quote ends their list; it is an error here.
            prop_assert_eq!(ours.len() + usize::from(open.is_some()), theirs.len());
            for (ours, theirs) in ours.iter().zip(&theirs) {
                prop_assert_eq!(CSV.fields(ours, usize::MAX).0, theirs.iter().collect::<Vec<_>>());
            }
        }
    }
}
