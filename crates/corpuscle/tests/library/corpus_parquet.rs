//! Parquet files: column types, row groups and damage.
#![cfg(feature = "parquet")]
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use arrow_array::builder::{Int16Builder, ListBuilder, StringBuilder};
use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Float32Array, Float64Array,
    Int64Array, LargeStringArray, RecordBatch, StringArray, StringViewArray, TimestampMicrosecondArray,
    TimestampNanosecondArray, UInt8Array, UInt64Array,
};
use corpuscle::corpus::{Document, Format, ReadOptions, read_all};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

fn file(columns: &[(&str, ArrayRef)], compression: Compression) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter(columns.iter().map(|(name, column)| (*name, Arc::clone(column)))).unwrap();
    let properties =
        WriterProperties::builder().set_max_row_group_row_count(Some(2)).set_compression(compression).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

fn read(bytes: &[u8], options: &ReadOptions) -> corpuscle::Result<Vec<Document>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    std::fs::write(&path, bytes).unwrap();
    read_all(&[path], options)
}

fn texts() -> ArrayRef {
    Arc::new(StringArray::from(vec!["one", "two", "three"]))
}

#[test]
fn labels_of_every_column_type() {
    let mut list = ListBuilder::new(StringBuilder::new());
    list.append_value([Some("x"), Some("y")]);
    list.append_value([None::<&str>; 0]);
    list.append_null();
    let columns: [(ArrayRef, &str); 9] = [
        (Arc::new(StringArray::from(vec![Some("x"), Some(""), None])), "x - -"),
        (Arc::new(LargeStringArray::from(vec!["x", "y", "z"])), "x y z"),
        (Arc::new(StringViewArray::from(vec!["x", "y", "z"])), "x y z"),
        (Arc::new(BinaryArray::from(vec![&b"x"[..], b"y", b"z"])), "x y z"),
        (Arc::new(DictionaryArray::<Int32Type>::from_iter([Some("x"), None, Some("x")])), "x - x"),
        (Arc::new(DictionaryArray::<Int8Type>::from_iter(["b", "a", "b"])), "b a b"),
        (Arc::new(Int64Array::from(vec![Some(-1), None, Some(3)])), "-1 - 3"),
        (Arc::new(BooleanArray::from(vec![true, false, true])), "true false true"),
        (Arc::new(list.finish()), "x,y  -"),
    ];
    for (column, wanted) in columns {
        let kind = column.data_type().clone();
        let documents =
            read(&file(&[("text", texts()), ("label", column)], Compression::SNAPPY), &ReadOptions::default()).unwrap();
        let labels: Vec<String> =
            documents.iter().map(|d| d.labels.as_ref().map_or("-".into(), |labels| labels.join(","))).collect();
        assert_eq!(labels.join(" "), wanted, "{kind}");
        assert_eq!(documents[2].text, "three");
    }
}

#[test]
fn fields_filters_and_weights() {
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![10, 20, 30]));
    let weights: ArrayRef = Arc::new(Float64Array::from(vec![Some(0.5), None, Some(2.0)]));
    let parts: ArrayRef = Arc::new(StringArray::from(vec!["train", "test", "train"]));
    let bytes =
        file(&[("id", ids), ("body", texts()), ("weight", weights), ("split", parts)], Compression::UNCOMPRESSED);
    let filters = vec!["split=train".parse().unwrap()];
    let documents = read(&bytes, &ReadOptions { text: "body".into(), filters, ..Default::default() }).unwrap();
    let found: Vec<_> = documents.iter().map(|d| (d.id.as_str(), d.text.as_str(), d.weight)).collect();
    assert_eq!(found, [("10", "one", 0.5), ("30", "three", 2.0)]);
    let message = read(&bytes, &ReadOptions::default()).unwrap_err().to_string();
    assert!(message.contains("no field `text`; there is `id`, `body`, `weight`, `split`"), "{message}");
    let heavy: ArrayRef = Arc::new(Float64Array::from(vec![1.0, f64::NAN, 1.0]));
    let bytes = file(&[("text", texts()), ("weight", heavy)], Compression::UNCOMPRESSED);
    let message = read(&bytes, &ReadOptions::default()).unwrap_err().to_string();
    assert!(message.contains("a.parquet:2: field `weight` is `NaN`"), "{message}");
}

#[test]
fn whole_rows_have_the_types_of_the_file() {
    let mut nested = ListBuilder::new(ListBuilder::new(Int16Builder::new()));
    nested.append_value([Some(vec![Some(1), None]), Some(vec![]), None, Some(vec![Some(2)])]);
    nested.append_null();
    nested.append_value([None::<Vec<Option<i16>>>; 0]);
    let columns: [(ArrayRef, serde_json::Value); 9] = [
        (Arc::new(nested.finish()), serde_json::json!([[[1, null], [], null, [2]], null, []])),
        (Arc::new(UInt64Array::from(vec![0, 1, u64::MAX])), serde_json::json!([0, 1, u64::MAX])),
        (Arc::new(UInt8Array::from(vec![Some(255), None, Some(0)])), serde_json::json!([255, null, 0])),
        (Arc::new(Float32Array::from(vec![0.1, f32::NAN, -2.0])), serde_json::json!([0.1, null, -2.0])),
        (Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])), serde_json::json!([true, null, false])),
        (Arc::new(BinaryArray::from(vec![&b"x"[..], b"\xff", b""])), serde_json::json!(["x", null, ""])),
        (
            Arc::new(Date32Array::from(vec![Some(-1), None, Some(19_782)])),
            serde_json::json!(["1969-12-31", null, "2024-02-29"]),
        ),
        (
            Arc::new(TimestampMicrosecondArray::from(vec![-1, 0, 1_600_000_000_000_000])),
            serde_json::json!(["1969-12-31 23:59:59.999999", "1970-01-01 00:00:00", "2020-09-13 12:26:40"]),
        ),
        (
            Arc::new(TimestampNanosecondArray::from(vec![1, 2_000_000, i64::MAX]).with_timezone("UTC")),
            serde_json::json!([
                "1970-01-01 00:00:00.000000001",
                "1970-01-01 00:00:00.002",
                "2262-04-11 23:47:16.854775807"
            ]),
        ),
    ];
    for (column, wanted) in columns {
        let kind = column.data_type().clone();
        let bytes = file(&[("text", texts()), ("it", column)], Compression::UNCOMPRESSED);
        let documents = read(&bytes, &ReadOptions { keep: true, ..Default::default() }).unwrap();
        let rows: Vec<_> = documents.iter().map(|document| document.row.as_ref().unwrap()["it"].clone()).collect();
        assert_eq!(serde_json::Value::from(rows), wanted, "{kind}");
    }
    let price: ArrayRef = Arc::new(Decimal128Array::from(vec![1, 2, 3]));
    let bytes = file(&[("text", texts()), ("price", price)], Compression::UNCOMPRESSED);
    assert_eq!(read(&bytes, &ReadOptions::default()).unwrap().len(), 3);
    let message = read(&bytes, &ReadOptions { keep: true, ..Default::default() }).unwrap_err().to_string();
    assert!(message.contains("the column `price` is Decimal"), "{message}");
}

#[test]
fn damaged_files_are_errors() {
    let bytes = file(&[("text", texts()), ("label", texts())], Compression::SNAPPY);
    for length in 0..bytes.len() {
        assert!(read(&bytes[..length], &ReadOptions { format: Some(Format::Parquet), ..Default::default() }).is_err());
    }
    // A changed byte may go unseen in a text or a statistic; what matters is that errors name the file.
    for place in (0..bytes.len()).step_by(3) {
        let mut changed = bytes.clone();
        changed[place] ^= 0x55;
        if let Err(error) = read(&changed, &ReadOptions { format: Some(Format::Parquet), ..Default::default() }) {
            assert!(error.to_string().contains("a.parquet"), "{error}");
        }
    }
}
