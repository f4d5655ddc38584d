//! Workbooks (xlsx, xlsm, xlsb, xls, ods): a sheet whose first row that is not empty is the header. Cells are taken by
//! their text, as in CSV: numbers without a needless `.0`, dates in ISO form. The sheet is held whole: the format cannot
//! be read row by row from its beginning.

use std::borrow::Cow;
use std::fs::File;
use std::io::{Cursor, Read};
use std::path::Path;

use calamine::{Data, Reader, open_workbook_auto_from_rs};

use super::delimited::Columns;
use super::guess::SAMPLE;
use super::row::listed;
use super::sink::{Flow, Sink};
use crate::Error;

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
    let damaged = |what: String| format!("cannot be read as a workbook: {what}");
    let mut book =
        open_workbook_auto_from_rs(Cursor::new(bytes)).map_err(|error| sink.error(None, damaged(error.to_string())))?;
    let sheets = book.sheet_names();
    let Some(sheet) = sink.options.sheet.clone().or_else(|| sheets.first().cloned()) else {
        return Err(sink.error(None, "has no sheets".to_string()).into());
    };
    if !sheets.contains(&sheet) {
        let reason = format!("has no sheet `{sheet}`; there is {}", listed(sheets.iter().map(String::as_str)));
        return Err(sink.error(None, reason).into());
    }
    let cells = book.worksheet_range(&sheet).map_err(|error| sink.error(None, damaged(error.to_string())))?;
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
            Ok(row) => columns.take(&row, line, false, sink)?,
            Err(reason) => sink.bad_row(Some(line), reason)?,
        }
    }
    Ok(())
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
