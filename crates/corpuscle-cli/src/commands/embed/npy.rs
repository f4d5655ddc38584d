//! NumPy's .npy: one dense row per document, written as they come; only one row is ever held dense.

use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};

use corpuscle::matrix::Matrix;

use super::VectorWriter;

/// The whole header; NumPy asks for a multiple of 64. The row count, known only at the end, is written over it then.
const HEADER: usize = 128;

#[derive(Debug)]
pub(super) struct NpyWriter {
    file: BufWriter<File>,
    rows: usize,
    columns: usize,
    row: Vec<f32>,
}

impl NpyWriter {
    pub(super) fn new(file: File) -> anyhow::Result<Self> {
        let mut file = BufWriter::with_capacity(1 << 20, file);
        file.write_all(&[0; HEADER])?;
        Ok(NpyWriter { file, rows: 0, columns: 0, row: Vec::new() })
    }
}

impl VectorWriter for NpyWriter {
    fn write(&mut self, _ids: &[String], vectors: &Matrix) -> anyhow::Result<()> {
        self.columns = vectors.cols();
        self.rows += vectors.rows();
        self.row.resize(self.columns, 0.0);
        for row in 0..vectors.rows() {
            self.row.fill(0.0);
            vectors.row(row).for_each(|column, value| self.row[column] = value);
            for value in &self.row {
                self.file.write_all(&value.to_le_bytes())?;
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> anyhow::Result<()> {
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&header(self.rows, self.columns))?;
        self.file.flush()?;
        Ok(())
    }
}

fn header(rows: usize, columns: usize) -> Vec<u8> {
    let text = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend_from_slice(&((HEADER - 10) as u16).to_le_bytes());
    header.extend_from_slice(text.as_bytes());
    header.resize(HEADER - 1, b' ');
    header.push(b'\n');
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_has_its_size_whatever_the_shape() {
        for (rows, columns) in [(0, 0), (usize::MAX, u32::MAX as usize * 2)] {
            let header = header(rows, columns);
            assert_eq!(header.len(), HEADER);
            assert!(header.ends_with(b" \n"));
        }
    }
}
