//! Rows of named values as a Parquet file. A column is of whole numbers, numbers, booleans, texts or lists of numbers or
//! texts when all its values are; else it holds the JSON of each value.

use std::io::Write;
use std::sync::Arc;

use arrow_array::builder::{Float64Builder, ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use serde_json::{Map, Value};

pub(super) fn write(to: Box<dyn Write + Send>, columns: &[String], rows: &[Map<String, Value>]) -> anyhow::Result<()> {
    let arrays = columns.iter().map(|name| {
        let values: Vec<&Value> = rows.iter().map(|row| row.get(name).unwrap_or(&Value::Null)).collect();
        (name, array(&values), true)
    });
    let batch = RecordBatch::try_from_iter_with_nullable(arrays)?;
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
    let mut writer = ArrowWriter::try_new(to, batch.schema(), Some(properties))?;
    writer.write(&batch)?;
    writer.close()?;
    Ok(())
}

fn array(values: &[&Value]) -> ArrayRef {
    let all = |is: fn(&Value) -> bool| values.iter().all(|value| value.is_null() || is(value));
    let lists = |is: fn(&Value) -> bool| {
        values.iter().all(|value| value.is_null() || value.as_array().is_some_and(|list| list.iter().all(is)))
    };
    if all(Value::is_string) {
        Arc::new(values.iter().map(|value| value.as_str()).collect::<StringArray>())
    } else if all(Value::is_i64) {
        Arc::new(values.iter().map(|value| value.as_i64()).collect::<Int64Array>())
    } else if all(Value::is_number) {
        Arc::new(values.iter().map(|value| value.as_f64()).collect::<Float64Array>())
    } else if all(Value::is_boolean) {
        Arc::new(values.iter().map(|value| value.as_bool()).collect::<BooleanArray>())
    } else if lists(Value::is_string) {
        let mut builder = ListBuilder::new(StringBuilder::new());
        for value in values {
            builder.append_option(value.as_array().map(|list| list.iter().map(Value::as_str)));
        }
        Arc::new(builder.finish())
    } else if lists(Value::is_number) {
        let mut builder = ListBuilder::new(Float64Builder::new());
        for value in values {
            builder.append_option(value.as_array().map(|list| list.iter().map(Value::as_f64)));
        }
        Arc::new(builder.finish())
    } else {
        Arc::new(
            values.iter().map(|value| (!value.is_null()).then(|| super::rows::cell(value))).collect::<StringArray>(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_column_has_the_type_of_all_its_values() {
        for (values, kind) in [
            (json!(["a", null]), "Utf8"),
            (json!([1, null]), "Int64"),
            (json!([1, 2.5]), "Float64"),
            (json!([true, false]), "Boolean"),
            (json!([1, "a"]), "Utf8"),
            (json!([{"a": 1}, null]), "Utf8"),
            (json!([null]), "Utf8"),
        ] {
            let values: Vec<&Value> = values.as_array().map(|list| list.iter().collect()).unwrap_or_default();
            assert_eq!(array(&values).data_type().to_string(), kind);
        }
        let lists = json!([[1, 2], null, []]);
        let lists: Vec<&Value> = lists.as_array().map(|list| list.iter().collect()).unwrap_or_default();
        assert!(array(&lists).data_type().to_string().starts_with("List"));
    }
}
