//! How much the old formats of workbooks will ask for: `.xls` and `.ods` are decoded whole when they are opened, and the decoder sets aside what they say
//! themselves. So the same records are walked here first, in the same order, and only their places are looked at.

use std::io::{BufReader, Cursor, Read as _};

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// What a compound file begins with.
const COMPOUND: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";
/// The bytes of a place.
const PLACE: u64 = 32;
/// Numbers of sectors from here on have a meaning of their own.
const RESERVED: u32 = 0xffff_fffa;

/// The most places that the sheets of a workbook span together; 0 for what is neither, or too damaged to be decoded.
pub(super) fn places(bytes: &[u8]) -> u64 {
    match bytes.starts_with(COMPOUND) {
        true => binary(bytes).unwrap_or(0),
        false => open_document(bytes).unwrap_or(0),
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Sectors one after the other, as a table of followers says. Each is taken once at most.
struct Sectors<'a> {
    bytes: &'a [u8],
    size: usize,
}

impl Sectors<'_> {
    fn get(&self, id: u32) -> Option<&[u8]> {
        let start = (id as usize).checked_mul(self.size)?;
        self.bytes.get(start..self.bytes.len().min(start.checked_add(self.size)?)).filter(|sector| !sector.is_empty())
    }

    fn chain(&self, mut id: u32, next: &[u32], length: usize) -> Vec<u8> {
        let mut chain = Vec::new();
        for _ in 0..=next.len() {
            if id >= RESERVED || chain.len() >= length {
                break;
            }
            let Some(sector) = self.get(id) else { break };
            chain.extend_from_slice(sector);
            let Some(&follower) = next.get(id as usize) else { break };
            id = follower;
        }
        chain.truncate(length);
        chain
    }
}

fn numbers(bytes: &[u8]) -> impl Iterator<Item = u32> + '_ {
    bytes.chunks_exact(4).filter_map(|four| u32_at(four, 0))
}

/// The stream of records in a compound file.
fn stream(file: &[u8]) -> Option<Vec<u8>> {
    let size = match u16_at(file, 30)? {
        9 => 512,
        12 => 4096,
        _ => return None,
    };
    let sectors = Sectors { bytes: file.get(size..)?, size };
    let mut tables: Vec<u32> = numbers(file.get(76..512)?).collect();
    let mut id = u32_at(file, 68)?;
    for _ in 0..=file.len() / size {
        if id >= RESERVED {
            break;
        }
        tables.extend(numbers(sectors.get(id)?));
        id = tables.pop()?;
    }
    let next: Vec<u32> =
        tables.into_iter().filter(|&id| id < RESERVED).filter_map(|id| sectors.get(id)).flat_map(numbers).collect();
    let entries = sectors.chain(u32_at(file, 48)?, &next, usize::MAX);
    let mut entries = entries.chunks_exact(128).map(|entry| {
        let letters = (0..32).filter_map(|at| u16_at(entry, 2 * at)).take_while(|&letter| letter > 0);
        let name: String = char::decode_utf16(letters).map(|letter| letter.unwrap_or('?')).collect();
        (name, u32_at(entry, 116).unwrap_or(RESERVED), u32_at(entry, 120).unwrap_or(0) as usize)
    });
    let (_, small_start, small_length) = entries.next()?;
    let all: Vec<_> = entries.collect();
    let find = |wanted: &str| all.iter().find(|(name, ..)| name.eq_ignore_ascii_case(wanted));
    let (_, start, length) = find("Workbook").or_else(|| find("Book"))?;
    if *length >= 4096 {
        return Some(sectors.chain(*start, &next, *length));
    }
    let small = sectors.chain(small_start, &next, small_length);
    let follow = sectors.chain(u32_at(file, 60)?, &next, usize::MAX);
    Some(Sectors { bytes: &small, size: 64 }.chain(*start, &numbers(&follow).collect::<Vec<_>>(), *length))
}

/// Kind and content of each record from here on.
fn records(mut stream: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (kind, length) = (u16_at(stream, 0)?, usize::from(u16_at(stream, 2)?));
        let content = stream.get(4..4 + length)?;
        stream = &stream[4 + length..];
        Some((kind, content))
    })
}

fn binary(file: &[u8]) -> Option<u64> {
    let stream = stream(file)?;
    let starts = records(&stream).take_while(|(kind, _)| *kind != 0x000a).filter(|(kind, _)| *kind == 0x0085);
    let mut sum = 0u64;
    for at in starts.filter_map(|(_, content)| u32_at(content, 0)) {
        let (mut low, mut high) = ((u64::MAX, u64::MAX), (0, 0));
        let mut said = 0;
        // Sheets inside a sheet (charts) are passed over by the decoder; to count their cells too makes the figure larger only.
        for (kind, content) in
            records(stream.get(at as usize..).unwrap_or_default()).take_while(|(kind, _)| *kind != 0x000a)
        {
            match kind {
                0x0200 => said = said.max(dimensions(content)),
                0x0203..=0x0205 | 0x027e | 0x00d6 | 0x00fd | 0x0006 | 0x00bd => {
                    let (Some(row), Some(column)) = (u16_at(content, 0), u16_at(content, 2)) else { continue };
                    let (row, column) = (u64::from(row), u64::from(column));
                    // A run of numbers ends with its last column.
                    let last = if kind == 0x00bd {
                        content.len().checked_sub(2).and_then(|at| u16_at(content, at))
                    } else {
                        None
                    };
                    low = (low.0.min(row), low.1.min(column));
                    high = (high.0.max(row), high.1.max(column).max(last.map_or(0, u64::from)));
                }
                _ => {}
            }
        }
        let span = if low.0 <= high.0 { (high.0 - low.0 + 1) * (high.1.saturating_sub(low.1) + 1) } else { 0 };
        sum = sum.saturating_add(span.max(said));
    }
    Some(sum)
}

/// What the record of a sheet's extent says, the old form with short row numbers or the new.
fn dimensions(content: &[u8]) -> u64 {
    let short = |at| u16_at(content, at).map_or(0, u64::from);
    let long = |at| u32_at(content, at).map_or(0, u64::from);
    let (rows, columns) = match content.len() {
        10 => ((short(0), short(2)), (short(4), short(6))),
        _ => ((long(0), long(4)), (short(8), short(10))),
    };
    if rows.1 == 0 || columns.1 == 0 {
        return 0;
    }
    // A first column that cannot be is taken for 0; what ends before it begins comes out as very much.
    let first = if columns.0 > 0xff || columns.1 < columns.0 { 0 } else { columns.0 };
    let rows = if rows.1 < rows.0 { u64::from(u32::MAX) } else { rows.1 - rows.0 };
    rows.saturating_mul(columns.1 - first)
}

fn open_document(bytes: &[u8]) -> Option<u64> {
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).ok()?;
    let content = archive.by_name("content.xml").ok()?;
    let mut reader = Reader::from_reader(BufReader::new(content.take(super::excel::most_unpacked(bytes.len()))));
    reader.config_mut().check_end_names = false;
    let (mut buffer, mut sum) = (Vec::new(), 0u64);
    let mut sheet = Sheet::default();
    loop {
        buffer.clear();
        match reader.read_event_into(&mut buffer).ok()? {
            Event::Start(tag) => sheet.tag(&tag, false),
            Event::Empty(tag) => sheet.tag(&tag, true),
            Event::Text(text) => sheet.text += sheet.times.saturating_mul(text.len() as u64),
            Event::End(tag) if tag.name().0 == "table:table-row" => sheet.end_row(),
            Event::End(tag) if tag.name().0 == "table:table" => {
                sum = sum.saturating_add(std::mem::take(&mut sheet).places());
            }
            Event::Eof => return Some(sum.saturating_add(sheet.places())),
            _ => {}
        }
    }
}

/// Counts of a sheet of an open document.
#[derive(Default)]
struct Sheet {
    /// Cells written one by one, as the decoder keeps them before rows are repeated.
    kept: u64,
    widest: u64,
    /// Rows so far, and up to the last that is not empty.
    rows: u64,
    height: u64,
    /// Of the row at hand: how often it is repeated, its cells, and its cells up to the last that is not empty.
    repeats: u64,
    cells: u64,
    width: u64,
    /// How often the cell at hand is repeated, the bytes of texts in the row with their repeats, and those of the sheet.
    times: u64,
    text: u64,
    texts: u64,
}

impl Sheet {
    fn tag(&mut self, tag: &BytesStart<'_>, is_empty: bool) {
        let number = |wanted: &str| {
            let found = tag.attributes().flatten().find(|attribute| attribute.key.0 == wanted)?;
            found.value.parse::<u64>().ok()
        };
        match tag.name().0 {
            "table:table-row" => {
                self.repeats = number("table:number-rows-repeated").unwrap_or(1);
                (self.cells, self.width, self.text) = (0, 0, 0);
                if is_empty {
                    self.end_row();
                }
            }
            "table:table-cell" | "table:covered-table-cell" => {
                self.times = number("table:number-columns-repeated").unwrap_or(1).min(1 << 20);
                self.cells = self.cells.saturating_add(self.times).min(1 << 20);
                let said = tag.attributes().flatten().map(|attribute| attribute.value.len() as u64).sum::<u64>();
                self.text = self.text.saturating_add(self.times.saturating_mul(said));
                let says = |attribute: &str| attribute.starts_with("office:") || attribute == "table:formula";
                if !is_empty || tag.attributes().flatten().any(|attribute| says(attribute.key.0)) {
                    self.width = self.cells;
                }
            }
            _ => {}
        }
    }

    fn end_row(&mut self) {
        self.rows = self.rows.saturating_add(self.repeats);
        if self.width > 0 {
            (self.widest, self.height) = (self.widest.max(self.width), self.rows);
        }
        self.kept = self.kept.saturating_add(self.width);
        if self.width > 0 {
            self.texts = self.texts.saturating_add(self.text.saturating_mul(self.repeats.min(1 << 20)));
        }
    }

    /// Places, or as many as would take the room of its texts.
    fn places(self) -> u64 {
        self.kept.max(self.height.saturating_mul(self.widest)).max(self.texts / PLACE)
    }
}
