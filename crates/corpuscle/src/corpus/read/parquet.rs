//! Parquet: the wanted columns, a few hundred rows at a time.

use std::borrow::Cow;
use std::fs::File;
use std::ops::Range;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::row::Value;
use super::sink::{Flow, Sink, missing};
use crate::Error;

/// Rows decoded at a time; texts are long.
const BATCH: usize = 256;

pub(super) fn read(path: &Path, sink: &mut Sink) -> Flow {
    let file = File::open(path).map_err(|error| Error::io(path, error))?;
    let damaged = |what: String| format!("cannot be read as Parquet: {what}");
    let builder =
        ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| sink.error(None, damaged(error.to_string())))?;
    let names: Vec<String> = builder.schema().fields().iter().map(|field| field.name().clone()).collect();
    for slot in sink.fields.required() {
        if !names.iter().any(|name| name == sink.fields.name(slot)) {
            let reason = missing(sink.fields.name(slot), names.iter().map(String::as_str));
            return Err(sink.error(None, reason).into());
        }
    }
    let wanted = (0..names.len()).filter(|&column| sink.fields.slot(&names[column]).is_some());
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
            sink.row(number, row, || names.clone())?;
        }
    }
    Ok(())
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
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let (from, to) = (list.value_offsets()[row], list.value_offsets()[row + 1]);
            items(list.values().as_ref(), from as usize..to as usize)
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            let (from, to) = (list.value_offsets()[row], list.value_offsets()[row + 1]);
            items(list.values().as_ref(), from as usize..to as usize)
        }
        _ => Value::Other("of a type that is not text, a number, a boolean or a list of them"),
    }
}

fn bytes(bytes: &[u8]) -> Value<'_> {
    std::str::from_utf8(bytes).map_or(Value::Other("bytes that are not UTF-8"), Value::from)
}

fn items(values: &dyn Array, range: Range<usize>) -> Value<'_> {
    let texts = range.map(|index| match value(values, index) {
        Value::Text(text) => Some(text),
        _ => None,
    });
    texts.collect::<Option<_>>().map_or(Value::Other("a list with more than plain values in it"), Value::List)
}
