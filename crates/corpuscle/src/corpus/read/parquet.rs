//! Parquet: the wanted columns, a few hundred rows at a time. The decoder unpacks a page of each column at a time, and no page has
//! more than 2 GB.

use std::borrow::Cow;
use std::fs::File;
use std::ops::Range;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value as Json;

use super::footer;
use super::guess::SAMPLE;
use super::row::{MOST_ITEMS, Value, Whole, text_too_long};
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
    let builder =
        ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| sink.error(None, damaged(error.to_string())))?;
    if !sink.is_settled() {
        let file = File::open(path).map_err(|error| Error::io(path, error))?;
        sink.settle(&first_rows(file).map_err(|error| sink.error(None, damaged(error)))?);
    }
    let names: Vec<String> = builder.schema().fields().iter().map(|field| field.name().clone()).collect();
    let wanted = |at: &usize| sink.fields.slot(&names[*at]).is_some();
    if let Some(twice) = (0..names.len()).filter(wanted).find(|&at| names[..at].contains(&names[at])) {
        return Err(sink.error(None, format!("the column `{}` is there twice", names[twice])).into());
    }
    for slot in sink.fields.required() {
        if !names.iter().any(|name| name == sink.fields.name(slot)) {
            let reason = missing(sink.fields.name(slot), names.iter().map(String::as_str));
            return Err(sink.error(None, reason).into());
        }
    }
    let keep = sink.options.keep;
    if let Some(field) = builder.schema().fields().iter().find(|field| keep && !is_kept(field.data_type())) {
        let reason = format!("the column `{}` is {}, which cannot be given back", field.name(), field.data_type());
        return Err(sink.error(None, reason).into());
    }
    let wanted = (0..names.len()).filter(|&column| keep || sink.fields.slot(&names[column]).is_some());
    let mask = ProjectionMask::roots(builder.parquet_schema(), wanted);
    let batches = builder
        .with_projection(mask)
        .with_batch_size(BATCH)
        .build()
        .map_err(|error| sink.error(None, damaged(error.to_string())))?;
    let mut number = 0;
    for batch in batches {
        let batch = batch.map_err(|error| sink.error(Some(number + 1), damaged(error.to_string())))?;
        let schema = batch.schema();
        let columns: Vec<(usize, &ArrayRef)> = schema
            .fields()
            .iter()
            .zip(batch.columns())
            .filter_map(|(field, column)| Some((sink.fields.slot(field.name())?, column)))
            .collect();
        for index in 0..batch.num_rows() {
            number += 1;
            let mut row = vec![Value::Absent; sink.fields.len()];
            for (slot, column) in &columns {
                row[*slot] = value(column.as_ref(), index);
            }
            if let Some(reason) = text_too_long(&row, sink.options.max_line) {
                sink.bad_row(Some(number), reason)?;
                continue;
            }
            sink.row(number, row, || match keep {
                true => whole(&batch, index),
                false => names.iter().map(|name| (name.clone(), Json::Null)).collect(),
            })?;
        }
    }
    Ok(())
}

fn first_rows(file: File) -> Result<Vec<Whole>, String> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| error.to_string())?;
    let batches = builder.with_batch_size(SAMPLE).with_limit(SAMPLE).build().map_err(|error| error.to_string())?;
    let mut rows = Vec::new();
    for batch in batches {
        let batch = batch.map_err(|error| error.to_string())?;
        rows.extend((0..batch.num_rows()).map(|index| whole(&batch, index)));
    }
    Ok(rows)
}

/// All fields of a row, of types as near to those of the file as JSON has them.
fn whole(batch: &RecordBatch, row: usize) -> Whole {
    let schema = batch.schema();
    let columns = schema.fields().iter().zip(batch.columns());
    columns.map(|(field, column)| (field.name().clone(), json(column.as_ref(), row))).collect()
}

/// Whether [`json`] can say a value of this type.
fn is_kept(kind: &DataType) -> bool {
    match kind {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            is_kept(item.data_type())
        }
        DataType::Dictionary(_, values) => is_kept(values),
        DataType::Timestamp(_, _) | DataType::Date32 | DataType::Date64 => true,
        kind => {
            kind.is_numeric()
                && !matches!(
                    kind,
                    DataType::Float16
                        | DataType::Decimal32(..)
                        | DataType::Decimal64(..)
                        | DataType::Decimal128(..)
                        | DataType::Decimal256(..)
                )
                || matches!(
                    kind,
                    DataType::Null | DataType::Boolean | DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
                )
                || matches!(kind, DataType::Binary | DataType::LargeBinary | DataType::BinaryView)
        }
    }
}

fn json(array: &dyn Array, row: usize) -> Json {
    if array.is_null(row) {
        return Json::Null;
    }
    match array.data_type() {
        DataType::Boolean => array.as_boolean().value(row).into(),
        DataType::Float32 | DataType::Float64 => match value(array, row) {
            Value::Text(text) => text.parse::<f64>().map_or(Json::Null, Json::from),
            _ => Json::Null,
        },
        kind if kind.is_integer() => match value(array, row) {
            Value::Text(text) => serde_json::from_str(&text).unwrap_or_default(),
            _ => Json::Null,
        },
        DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(_, _) => {
            let (values, range) = list(array, row);
            range.map(|index| json(values.as_ref(), index)).collect()
        }
        DataType::Date32 => date(array.as_primitive::<Date32Type>().value_as_date(row)),
        DataType::Date64 => date(array.as_primitive::<Date64Type>().value_as_date(row)),
        DataType::Timestamp(unit, _) => date(match unit {
            TimeUnit::Second => array.as_primitive::<TimestampSecondType>().value_as_datetime(row),
            TimeUnit::Millisecond => array.as_primitive::<TimestampMillisecondType>().value_as_datetime(row),
            TimeUnit::Microsecond => array.as_primitive::<TimestampMicrosecondType>().value_as_datetime(row),
            TimeUnit::Nanosecond => array.as_primitive::<TimestampNanosecondType>().value_as_datetime(row),
        }),
        _ => match value(array, row) {
            Value::Text(text) => text.into_owned().into(),
            _ => Json::Null,
        },
    }
}

fn date(date: Option<impl ToString>) -> Json {
    date.map_or(Json::Null, |date| date.to_string().into())
}

/// The values of a list array and which of them are a row's.
fn list(array: &dyn Array, row: usize) -> (&ArrayRef, Range<usize>) {
    match array.data_type() {
        DataType::FixedSizeList(_, _) => {
            let list = array.as_fixed_size_list();
            let from = list.value_offset(row) as usize;
            (list.values(), from..from + list.value_length() as usize)
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            (list.values(), list.value_offsets()[row] as usize..list.value_offsets()[row + 1] as usize)
        }
        _ => {
            let list = array.as_list::<i32>();
            (list.values(), list.value_offsets()[row] as usize..list.value_offsets()[row + 1] as usize)
        }
    }
}

fn value(array: &dyn Array, row: usize) -> Value<'_> {
    if array.is_null(row) {
        return Value::Null;
    }
    let number = |text: String| Value::Text(Cow::Owned(text));
    match array.data_type() {
        DataType::Utf8 => Value::from(array.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => Value::from(array.as_string::<i64>().value(row)),
        DataType::Utf8View => Value::from(array.as_string_view().value(row)),
        DataType::Boolean => Value::from(if array.as_boolean().value(row) { "true" } else { "false" }),
        DataType::Int8 => number(array.as_primitive::<Int8Type>().value(row).to_string()),
        DataType::Int16 => number(array.as_primitive::<Int16Type>().value(row).to_string()),
        DataType::Int32 => number(array.as_primitive::<Int32Type>().value(row).to_string()),
        DataType::Int64 => number(array.as_primitive::<Int64Type>().value(row).to_string()),
        DataType::UInt8 => number(array.as_primitive::<UInt8Type>().value(row).to_string()),
        DataType::UInt16 => number(array.as_primitive::<UInt16Type>().value(row).to_string()),
        DataType::UInt32 => number(array.as_primitive::<UInt32Type>().value(row).to_string()),
        DataType::UInt64 => number(array.as_primitive::<UInt64Type>().value(row).to_string()),
        DataType::Float32 => number(format!("{:?}", array.as_primitive::<Float32Type>().value(row))),
        DataType::Float64 => number(format!("{:?}", array.as_primitive::<Float64Type>().value(row))),
        // Writers that do not mark their texts as such.
        DataType::Binary => bytes(array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => bytes(array.as_binary::<i64>().value(row)),
        DataType::BinaryView => bytes(array.as_binary_view().value(row)),
        DataType::Dictionary(_, _) => {
            let dictionary = array.as_any_dictionary();
            let key = match value(dictionary.keys(), row) {
                Value::Text(key) => key.parse().unwrap_or(usize::MAX),
                _ => usize::MAX,
            };
            match dictionary.values() {
                values if key < values.len() => value(values.as_ref(), key),
                _ => Value::Other("outside of its dictionary"),
            }
        }
        DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(_, _) => {
            let (values, range) = list(array, row);
            items(values.as_ref(), range)
        }
        _ => Value::Other("of a type that is not text, a number, a boolean or a list of them"),
    }
}

fn bytes(bytes: &[u8]) -> Value<'_> {
    std::str::from_utf8(bytes).map_or(Value::Other("bytes that are not UTF-8"), Value::from)
}

fn items(values: &dyn Array, range: Range<usize>) -> Value<'_> {
    if range.len() > MOST_ITEMS {
        return Value::Other("a list of more than a million values");
    }
    let texts = range.map(|index| match value(values, index) {
        Value::Text(text) => Some(text),
        _ => None,
    });
    texts.collect::<Option<_>>().map_or(Value::Other("a list with more than plain values in it"), Value::List)
}
