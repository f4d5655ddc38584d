//! Parquet: columns `id` and `vector` (list of float) for dense vectors, `id`, `indices` and `values` when there is a
//! sparse part.

use std::fs::File;

use corpuscle::matrix::Matrix;
use parquet::data_type::ByteArray;

use super::VectorWriter;
use crate::parquet_file::{Column, ParquetFile, Values};

/// Numbers in a group of rows: 64 MB of them.
const GROUP: usize = 1 << 24;

/// Rows wait until there are enough for a group; the file is opened with the first, whose columns decide the schema.
pub(super) struct ParquetWriter {
    to: Option<File>,
    file: Option<ParquetFile<File>>,
    ids: Vec<ByteArray>,
    lengths: Vec<usize>,
    /// Columns of the numbers, where not every number is written.
    indices: Option<Vec<u32>>,
    values: Vec<f32>,
}

impl ParquetWriter {
    pub(super) fn new(file: File) -> Self {
        let (ids, lengths, values) = Default::default();
        ParquetWriter { to: Some(file), file: None, ids, lengths, indices: None, values }
    }

    fn write_group(&mut self) -> anyhow::Result<()> {
        let ids = std::mem::take(&mut self.ids);
        let lengths = std::mem::take(&mut self.lengths);
        let values = Values::Floats(std::mem::take(&mut self.values));
        let lists = |name, values| Column::of_lists(name, lengths.iter().map(|&length| Some(length)), values);
        let mut columns = vec![Column::new("id", ids.iter().map(|_| true), Values::Texts(ids.clone()))];
        match &mut self.indices {
            None => columns.push(lists("vector", values)),
            Some(indices) => {
                columns.push(lists("indices", Values::Indices(std::mem::take(indices))));
                columns.push(lists("values", values));
            }
        }
        if let Some(to) = self.to.take() {
            self.file = Some(ParquetFile::new(to, &columns)?);
        }
        match &mut self.file {
            Some(file) => file.write(&columns),
            None => Ok(()),
        }
    }
}

impl VectorWriter for ParquetWriter {
    fn write(&mut self, ids: &[String], vectors: &Matrix) -> anyhow::Result<()> {
        if vectors.sparse().cols() > 0 {
            self.indices.get_or_insert_default();
        }
        for (row, id) in ids.iter().enumerate() {
            self.ids.push(ByteArray::from(id.as_str()));
            let before = self.values.len();
            match &mut self.indices {
                None => self.values.extend_from_slice(vectors.row(row).dense),
                Some(indices) => vectors.row(row).for_each(|column, value| {
                    indices.push(column as u32);
                    self.values.push(value);
                }),
            }
            self.lengths.push(self.values.len() - before);
            if self.values.len() >= GROUP {
                self.write_group()?;
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> anyhow::Result<()> {
        self.write_group()?;
        self.file.map_or(Ok(()), ParquetFile::finish)
    }
}
