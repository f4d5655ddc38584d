//! Workbooks (xlsx, xlsm, xlsb, xls, ods): a sheet whose first row that is not empty is the header. Cells are taken by
//! their text, as in CSV: numbers without a needless `.0`, dates in ISO form. The sheet is held whole: the format cannot
//! be read row by row from its beginning. So the archive may not unpack to much more than it is, and the rectangle that the
//! cells of a sheet span, which the decoder sets aside at once, may not be larger than [`MOST_CELLS`].

use std::borrow::Cow;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::Path;

use calamine::{Cell, Data, DataRef, Range, Reader, Sheets, open_workbook_auto_from_rs};
use memchr::memmem;

use super::delimited::Columns;
use super::guess::SAMPLE;
use super::legacy;
use super::row::listed;
use super::sink::{Flow, Sink, too_much};
use crate::Error;

/// The most cells that the rectangle of a sheet may have, empty ones too: some 2 GB.
const MOST_CELLS: u64 = 1 << 26;
/// What an archive may always unpack to, and what it may unpack to by its size: workbooks shrink to a tenth.
const UNPACKED: u64 = 256 << 20;
const TIMES: u64 = 100;
const ADVICE: &str = "delete what stands far from the table, or save the sheet as CSV";

/// The bytes that an archive of so many may unpack to.
pub(super) fn most_unpacked(bytes: usize) -> u64 {
    UNPACKED.max(TIMES.saturating_mul(bytes as u64))
}

/// Reads a file, or standard input.
pub(super) fn read(path: Option<&Path>, sink: &mut Sink) -> Flow {
    let mut bytes = Vec::new();
    let outcome = match path {
        Some(path) => File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)),
        None => std::io::stdin().read_to_end(&mut bytes),
    };
    outcome.map_err(|error| Error::io(path.unwrap_or(Path::new("-")), error))?;
    if bytes.is_empty() {
        return Ok(());
    }
    let most_texts = sink.allow(bytes.len() as u64);
    check_archive(&bytes).map_err(|reason| sink.error(None, reason))?;
    let places = legacy::places(&bytes);
    if places > MOST_CELLS {
        let reason = format!("its sheets span {places} places, more than {MOST_CELLS}; {ADVICE}");
        return Err(sink.error(None, reason).into());
    }
    let mut book = open_workbook_auto_from_rs(Cursor::new(bytes)).map_err(|error| sink.error(None, damaged(&error)))?;
    let sheets = book.sheet_names();
    let Some(sheet) = sink.options.sheet.clone().or_else(|| sheets.first().cloned()) else {
        return Err(sink.error(None, "has no sheets".to_string()).into());
    };
    if !sheets.contains(&sheet) {
        let reason = format!("has no sheet `{sheet}`; there is {}", listed(sheets.iter().map(String::as_str)));
        return Err(sink.error(None, reason).into());
    }
    let cells = range(&mut book, &sheet, most_texts).map_err(|reason| sink.error(None, reason))?;
    let first = cells.start().map_or(0, |(row, _)| u64::from(row)) + 1;
    let rows = (first..).zip(cells.rows());
    let mut rows = rows.filter(|(_, row)| row.iter().any(|cell| !matches!(cell, Data::Empty)));
    let Some((line, header)) = rows.next() else { return Ok(()) };
    let header = texts(header).map_err(|reason| sink.error(Some(line), reason))?;
    if !sink.is_settled() {
        let columns = Columns::named(&header);
        let sample = rows.clone().take(SAMPLE).filter_map(|(_, row)| texts(row).ok());
        sink.settle(&sample.map(|row| columns.whole(&row)).collect::<Vec<_>>());
    }
    let columns = Columns::new(&header, line, sink)?;
    for (line, row) in rows {
        match texts(row) {
            Ok(row) => columns.take(&row, line, sink)?,
            Err(reason) => sink.bad_row(Some(line), reason)?,
        }
    }
    Ok(())
}

/// Says that the decoder could not go on.
fn damaged(what: &dyn Display) -> String {
    format!("cannot be read as a workbook: {what}")
}

/// Unpacks every part of an archive once and keeps nothing: what its directory says of sizes may be false. What is no archive is
/// left to the decoder.
fn check_archive(bytes: &[u8]) -> Result<(), String> {
    let Ok(mut archive) = zip::ZipArchive::new(Cursor::new(bytes)) else { return Ok(()) };
    let mut left = most_unpacked(bytes.len());
    for part in 0..archive.len() {
        let Ok(part) = archive.by_index(part) else { continue };
        let is_strings = part.name().is_ok_and(|name| name.to_ascii_lowercase().ends_with("sharedstrings.xml"));
        let mut part = part.take(left + 1);
        // A part that breaks off has been unpacked up to there, by the decoder too.
        let mut strings = Vec::new();
        let _ = if is_strings {
            part.read_to_end(&mut strings).map(drop)
        } else {
            io::copy(&mut part, &mut io::sink()).map(drop)
        };
        check_strings(&strings)?;
        match part.limit() {
            0 => {
                let reason = format!(
                    "unpacks to more than {} MiB and more than {TIMES} times its size, as no workbook does; if it is meant to, \
                     save it as CSV",
                    UNPACKED >> 20
                );
                return Err(reason);
            }
            rest => left = rest - 1,
        }
    }
    Ok(())
}

/// The decoder sets aside as many strings as the list of them says that it has.
fn check_strings(list: &[u8]) -> Result<(), String> {
    for at in memmem::find_iter(list, b"uniqueCount") {
        let said = list[at..].iter().skip_while(|byte| !byte.is_ascii_digit()).take_while(|byte| byte.is_ascii_digit());
        let said = said.fold(0u64, |said, digit| said.saturating_mul(10).saturating_add(u64::from(digit - b'0')));
        if said > list.len() as u64 {
            return Err(format!("cannot be read as a workbook: {said} strings are said to be in {} bytes", list.len()));
        }
    }
    Ok(())
}

/// Gathers cells that are not empty. A string that many of them have in common stands in the file once, so their texts are counted before they are copied.
fn gather<'a, E: Display>(
    mut next: impl FnMut() -> Result<Option<Cell<DataRef<'a>>>, E>,
    most_texts: u64,
) -> Result<Vec<Cell<Data>>, String> {
    let (mut cells, mut texts) = (Vec::new(), 0);
    while let Some(cell) = next().map_err(|error| damaged(&error))? {
        texts += match cell.get_value() {
            DataRef::Empty => continue,
            DataRef::String(text) => text.len() as u64,
            DataRef::SharedString(text) => text.len() as u64,
            _ => 0,
        };
        if texts > most_texts {
            return Err(too_much(most_texts));
        }
        cells.push(cell);
    }
    Ok(cells.into_iter().map(|cell| Cell::new(cell.get_position(), Data::from(cell.get_value().clone()))).collect())
}

/// The cells of a sheet, when the rectangle they span is not too large to be set aside.
fn range<RS: Read + io::Seek>(book: &mut Sheets<RS>, sheet: &str, most_texts: u64) -> Result<Range<Data>, String> {
    let cells = match book {
        Sheets::Xlsx(book) => {
            let mut reader = book.worksheet_cells_reader(sheet).map_err(|error| damaged(&error))?;
            gather(|| reader.next_cell(), most_texts)?
        }
        Sheets::Xlsb(book) => {
            let mut reader = book.worksheet_cells_reader(sheet).map_err(|error| damaged(&error))?;
            gather(|| reader.next_cell(), most_texts)?
        }
        // These were decoded whole when they were opened, and looked at before.
        Sheets::Xls(_) | Sheets::Ods(_) => return book.worksheet_range(sheet).map_err(|error| damaged(&error)),
    };
    let span = |place: fn(&Cell<Data>) -> u32| {
        let (low, high) = cells.iter().map(place).fold((u32::MAX, 0), |(low, high), at| (low.min(at), high.max(at)));
        u64::from(high.saturating_sub(low)) + 1
    };
    let (rows, columns) = (span(|cell| cell.get_position().0), span(|cell| cell.get_position().1));
    if rows * columns > MOST_CELLS {
        return Err(format!(
            "the cells of the sheet `{sheet}` span {rows} rows and {columns} columns, more than {MOST_CELLS} places; {ADVICE}"
        ));
    }
    Ok(Range::from_sparse(cells))
}

fn texts(row: &[Data]) -> Result<Vec<Cow<'_, str>>, String> {
    row.iter()
        .enumerate()
        .map(|(column, cell)| text(cell).map_err(|reason| format!("column {}: {reason}", column + 1)))
        .collect()
}

fn text(cell: &Data) -> Result<Cow<'_, str>, String> {
    Ok(match cell {
        Data::Empty => Cow::Borrowed(""),
        Data::String(text) | Data::DateTimeIso(text) | Data::DurationIso(text) => Cow::Borrowed(text),
        Data::Bool(value) => Cow::Borrowed(if *value { "true" } else { "false" }),
        Data::Int(number) => Cow::Owned(number.to_string()),
        Data::Float(number) => Cow::Owned(number.to_string()),
        Data::DateTime(date) if date.is_datetime() => {
            let (year, month, day, hour, minute, second, _) = date.to_ymd_hms_milli();
            Cow::Owned(match (hour, minute, second) {
                (0, 0, 0) => format!("{year:04}-{month:02}-{day:02}"),
                _ => format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"),
            })
        }
        Data::DateTime(duration) => Cow::Owned(duration.as_f64().to_string()),
        Data::Error(error) => return Err(format!("the cell holds the error {error}; mend it in the workbook")),
    })
}
