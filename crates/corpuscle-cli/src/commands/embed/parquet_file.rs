//! Parquet: columns `id` and `vector` (list of float) for dense vectors, `id`, `indices` and `values` when there is a
//! sparse part.

use std::fs::File;
use std::sync::Arc;

use arrow_array::builder::{Float32Builder, ListBuilder, UInt32Builder};
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use corpuscle::matrix::Matrix;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::VectorWriter;

/// The file is opened with the first batch, whose columns decide the schema.
pub(super) struct ParquetWriter {
    file: Option<File>,
    writer: Option<ArrowWriter<File>>,
}

impl ParquetWriter {
    pub(super) fn new(file: File) -> Self {
        ParquetWriter { file: Some(file), writer: None }
    }
}

impl VectorWriter for ParquetWriter {
    fn write(&mut self, ids: &[String], vectors: &Matrix) -> anyhow::Result<()> {
        let mut columns: Vec<(&str, ArrayRef)> = vec![("id", Arc::new(StringArray::from_iter_values(ids)))];
        let mut values = ListBuilder::new(Float32Builder::new());
        if vectors.sparse().cols() == 0 {
            for row in 0..vectors.rows() {
                values.values().append_slice(vectors.row(row).dense);
                values.append(true);
            }
            columns.push(("vector", Arc::new(values.finish())));
        } else {
            let mut indices = ListBuilder::new(UInt32Builder::new());
            for row in 0..vectors.rows() {
                let (places, entries) = entries(vectors, row);
                indices.values().append_slice(&places);
                indices.append(true);
                values.values().append_slice(&entries);
                values.append(true);
            }
            columns.push(("indices", Arc::new(indices.finish())));
            columns.push(("values", Arc::new(values.finish())));
        }
        let batch = RecordBatch::try_from_iter(columns)?;
        if let Some(file) = self.file.take() {
            let properties =
                WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
            self.writer = Some(ArrowWriter::try_new(file, batch.schema(), Some(properties))?);
        }
        if let Some(writer) = &mut self.writer {
            writer.write(&batch)?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> anyhow::Result<()> {
        if let Some(writer) = self.writer {
            writer.close()?;
        }
        Ok(())
    }
}

/// The stored entries of a row: columns and values.
pub(super) fn entries(vectors: &Matrix, row: usize) -> (Vec<u32>, Vec<f32>) {
    let mut indices = Vec::new();
    let mut values = Vec::new();
    vectors.row(row).for_each(|column, value| {
        indices.push(column as u32);
        values.push(value);
    });
    (indices, values)
}
