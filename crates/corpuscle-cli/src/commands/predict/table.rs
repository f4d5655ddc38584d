//! Rows of named values as a Parquet file. A column is of whole numbers, numbers, booleans, texts or lists of numbers or
//! texts when all its values are; else it holds the JSON of each value.

use std::io::Write;

use parquet::data_type::ByteArray;
use serde_json::{Map, Value};

use crate::parquet_file::{Column, ParquetFile, Values};

pub(super) fn write(to: Box<dyn Write + Send>, columns: &[String], rows: &[Map<String, Value>]) -> anyhow::Result<()> {
    let columns: Vec<Column> = columns
        .iter()
        .map(|name| {
            let values: Vec<&Value> = rows.iter().map(|row| row.get(name).unwrap_or(&Value::Null)).collect();
            column(name, &values)
        })
        .collect();
    let mut file = ParquetFile::new(to, &columns)?;
    file.write(&columns)?;
    file.finish()
}

fn column(name: &str, values: &[&Value]) -> Column {
    let all = |is: fn(&Value) -> bool| values.iter().all(|value| value.is_null() || is(value));
    let all_lists = |is: fn(&Value) -> bool| {
        values.iter().all(|value| value.is_null() || value.as_array().is_some_and(|list| list.iter().all(is)))
    };
    let single = |stored| Column::new(name, values.iter().map(|value| !value.is_null()), stored);
    let lists = |stored| Column::of_lists(name, values.iter().map(|value| value.as_array().map(Vec::len)), stored);
    let items = || values.iter().filter_map(|value| value.as_array()).flatten();
    if all(Value::is_string) {
        single(Values::Texts(values.iter().filter_map(|value| value.as_str()).map(ByteArray::from).collect()))
    } else if all(Value::is_i64) {
        single(Values::Whole(values.iter().filter_map(|value| value.as_i64()).collect()))
    } else if all(Value::is_number) {
        single(Values::Numbers(values.iter().filter_map(|value| value.as_f64()).collect()))
    } else if all(Value::is_boolean) {
        single(Values::Flags(values.iter().filter_map(|value| value.as_bool()).collect()))
    } else if all_lists(Value::is_string) {
        lists(Values::Texts(items().filter_map(Value::as_str).map(ByteArray::from).collect()))
    } else if all_lists(Value::is_number) {
        lists(Values::Numbers(items().filter_map(Value::as_f64).collect()))
    } else {
        let cells = values.iter().filter(|value| !value.is_null()).map(|value| super::rows::cell(value));
        single(Values::Texts(cells.map(|cell| ByteArray::from(cell.into_bytes())).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_column_has_the_type_of_all_its_values() {
        let text = |text: &str| ByteArray::from(text);
        for (values, stored, is_list) in [
            (json!(["a", null]), Values::Texts(vec![text("a")]), false),
            (json!([1, null]), Values::Whole(vec![1]), false),
            (json!([1, 2.5]), Values::Numbers(vec![1.0, 2.5]), false),
            (json!([true, false]), Values::Flags(vec![true, false]), false),
            (json!([1, "a"]), Values::Texts(vec![text("1"), text("a")]), false),
            (json!([{"a": 1}, null]), Values::Texts(vec![text(r#"{"a":1}"#)]), false),
            (json!([null]), Values::Texts(vec![]), false),
            (json!([[1, 2], null, []]), Values::Numbers(vec![1.0, 2.0]), true),
            (json!([["a"], ["b", "c"]]), Values::Texts(vec![text("a"), text("b"), text("c")]), true),
        ] {
            let values: Vec<&Value> = values.as_array().map(|list| list.iter().collect()).unwrap_or_default();
            let column = column("x", &values);
            assert_eq!((column.values, column.is_list), (stored, is_list));
        }
    }
}
