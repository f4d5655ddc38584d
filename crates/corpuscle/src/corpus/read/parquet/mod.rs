//! Parquet: the wanted columns, a few hundred rows at a time, over the decoder's own columns ([`mod@column`]). The decoder unpacks a page
//! of each column at a time, and no page has more than 2 GB.
//!
//! Not over Arrow: its crates would take a tenth of the time it takes to build the whole program.

mod column;
mod footer;

use std::fs::File;
use std::path::Path;

use parquet::file::reader::{FileReader as _, SerializedFileReader};
use serde_json::Value as Json;

use self::column::{Batch, Column, Rows};
use super::guess::SAMPLE;
use super::row::{Value, Whole, text_too_long};
use super::sink::{Flow, Sink, missing};
use crate::Error;

/// Rows decoded at a time; texts are long.
const BATCH: usize = 256;

pub(super) fn read(path: &Path, sink: &mut Sink) -> Flow {
    let mut file = File::open(path).map_err(|error| Error::io(path, error))?;
    let damaged = |what: String| format!("cannot be read as Parquet: {what}");
    sink.allow(file.metadata().map_or(0, |about| about.len()));
    if let Some(reason) = footer::fault(&mut file) {
        return Err(sink.error(None, damaged(reason)).into());
    }
    let reader = SerializedFileReader::new(file).map_err(|error| sink.error(None, damaged(error.to_string())))?;
    let columns = Column::all(reader.metadata().file_metadata().schema_descr());
    if !sink.is_settled() {
        sink.settle(&first_rows(&reader, &columns).map_err(|error| sink.error(None, damaged(error)))?);
    }
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let wanted = |at: &usize| sink.fields.slot(names[*at]).is_some();
    if let Some(twice) = (0..names.len()).filter(wanted).find(|&at| names[..at].contains(&names[at])) {
        return Err(sink.error(None, format!("the column `{}` is there twice", names[twice])).into());
    }
    for slot in sink.fields.required() {
        if !names.contains(&sink.fields.name(slot)) {
            let reason = missing(sink.fields.name(slot), names.iter().copied());
            return Err(sink.error(None, reason).into());
        }
    }
    let keep = sink.options.keep;
    if let Some(column) = columns.iter().find(|column| keep && !column.is_known()) {
        let reason = format!("the column `{}` is {}, which cannot be given back", column.name, column.title);
        return Err(sink.error(None, reason).into());
    }
    let slots: Vec<Option<usize>> = names.iter().map(|name| sink.fields.slot(name)).collect();
    let wanted: Vec<usize> = (0..columns.len()).filter(|&at| keep || slots[at].is_some()).collect();
    let mut rows = Rows::new(&reader, wanted.iter().map(|&at| &columns[at]).collect());
    let mut number = 0;
    loop {
        let count = rows.next(BATCH).map_err(|error| sink.error(Some(number + 1), damaged(error)))?;
        if count == 0 {
            return Ok(());
        }
        for index in 0..count {
            number += 1;
            let mut row = vec![Value::Absent; sink.fields.len()];
            for (&at, batch) in wanted.iter().zip(rows.batches()) {
                if let Some(slot) = slots[at] {
                    row[slot] = batch.value(index);
                }
            }
            if let Some(reason) = text_too_long(&row, sink.options.max_line) {
                sink.bad_row(Some(number), reason)?;
                continue;
            }
            sink.row(number, row, || match keep {
                true => whole(rows.batches(), index),
                false => names.iter().map(|name| (name.to_string(), Json::Null)).collect(),
            })?;
        }
    }
}

fn first_rows(reader: &SerializedFileReader<File>, columns: &[Column]) -> Result<Vec<Whole>, String> {
    let mut rows = Rows::new(reader, columns.iter().collect());
    let mut first = Vec::new();
    while first.len() < SAMPLE {
        let count = rows.next(SAMPLE - first.len())?;
        if count == 0 {
            break;
        }
        first.extend((0..count).map(|index| whole(rows.batches(), index)));
    }
    Ok(first)
}

/// All fields of a row, of types as near to those of the file as JSON has them.
fn whole(batches: &[Batch<'_>], row: usize) -> Whole {
    batches.iter().map(|batch| (batch.column.name.clone(), batch.json(row))).collect()
}
