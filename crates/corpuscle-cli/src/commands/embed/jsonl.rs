//! JSON Lines: `{"id", "vector"}` for dense vectors, `{"id", "size", "indices", "values"}` when there is a sparse part.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use corpuscle::matrix::Matrix;
use serde_json::json;

use super::VectorWriter;

#[derive(Debug)]
pub(super) struct JsonlWriter {
    file: BufWriter<File>,
}

impl JsonlWriter {
    pub(super) fn new(file: File) -> Self {
        JsonlWriter { file: BufWriter::with_capacity(1 << 20, file) }
    }
}

impl VectorWriter for JsonlWriter {
    fn write(&mut self, ids: &[String], vectors: &Matrix) -> anyhow::Result<()> {
        for (row, id) in ids.iter().enumerate() {
            let entries = vectors.row(row);
            let value = if vectors.sparse().cols() == 0 {
                json!({"id": id, "vector": entries.dense})
            } else {
                let (mut indices, mut values) = (Vec::new(), Vec::new());
                entries.for_each(|column, value| {
                    indices.push(column);
                    values.push(value);
                });
                json!({"id": id, "size": vectors.cols(), "indices": indices, "values": values})
            };
            serde_json::to_writer(&mut self.file, &value).map_err(io::Error::from)?;
            self.file.write_all(b"\n")?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> anyhow::Result<()> {
        Ok(self.file.flush()?)
    }
}
