//! The parameters under training, for the two ways of sharing them between threads.

use std::sync::atomic::{AtomicU32, Ordering};

use rand::RngExt;

use super::block::{Block, Table};
use super::by_row::ByRow;
use super::kernels::AddMultiples;
use crate::matrix::Dense;
use crate::wide::registers::{self, Lane, WIDTH, on_registers};
use crate::{Result, Rng};

/// Both tables, changed between batches only.
#[derive(Debug)]
pub(super) struct Tables {
    lanes: usize,
    inputs: Vec<Lane>,
    outputs: Vec<Lane>,
    /// Scratch: the changes of the batch under way, each by its block and its place there.
    input_changes: ByRow<(u32, u32)>,
    output_changes: ByRow<(u32, u32)>,
}

/// The pairs whose changes a row takes in full in one batch; when there are more, their changes are scaled down to
/// this many. The pairs of a batch do not see each other's changes, so a word that nearly all of them share would be
/// pushed as many times as far as one push would have been enough. Rare words never come near the limit.
const MOST_PAIRS: f32 = 256.0;

impl Tables {
    /// Small random inputs and outputs of zero.
    pub(super) fn new(inputs: usize, outputs: usize, dim: usize, rng: &mut Rng) -> Self {
        let lanes = registers::lanes(dim);
        Tables {
            lanes,
            inputs: small_rows(inputs, dim, rng),
            outputs: vec![[0f32; WIDTH]; outputs * lanes],
            input_changes: ByRow::new(inputs),
            output_changes: ByRow::new(outputs),
        }
    }

    /// A row of each table.
    pub(super) fn row(&self, table: Table, row: usize) -> &[Lane] {
        let of = match table {
            Table::Inputs => &self.inputs,
            Table::Outputs => &self.outputs,
        };
        &of[row * self.lanes..(row + 1) * self.lanes]
    }

    /// The output table.
    pub(super) fn outputs_mut(&mut self) -> &mut [Lane] {
        &mut self.outputs
    }

    /// The first `rows` input vectors, and the output vectors, without their padding.
    pub(super) fn into_both(self, rows: usize, dim: usize) -> Result<(Dense, Dense)> {
        let inputs = unpadded(&self.inputs[..rows * self.lanes], self.lanes, dim)?;
        Ok((inputs, unpadded(&self.outputs, self.lanes, dim)?))
    }

    #[inline(always)]
    pub(super) fn read(&self, table: Table, row: u32, to: &mut [Lane]) {
        let table = match table {
            Table::Inputs => &self.inputs,
            Table::Outputs => &self.outputs,
        };
        to.copy_from_slice(&table[row as usize * self.lanes..(row as usize + 1) * self.lanes]);
    }

    /// Adds the changes of all blocks, to every row in their order.
    pub(super) fn apply(&mut self, blocks: &[Block]) {
        let lanes = self.lanes;
        let Tables { inputs, outputs, input_changes, output_changes, .. } = self;
        rayon::join(
            || add_changes(Table::Inputs, inputs, input_changes, blocks, lanes),
            || add_changes(Table::Outputs, outputs, output_changes, blocks, lanes),
        );
    }

    /// The input vectors without their padding.
    pub(super) fn into_vectors(self, dim: usize) -> Result<Dense> {
        unpadded(&self.inputs, self.lanes, dim)
    }
}

fn add_changes(table: Table, rows: &mut [Lane], changes: &mut ByRow<(u32, u32)>, blocks: &[Block], lanes: usize) {
    for (block, number) in blocks.iter().zip(0..) {
        for (&row, place) in block.rows(table).iter().zip(0..) {
            changes.push(row, (number, place));
        }
    }
    changes.sort();
    let of = |&(block, place): &(u32, u32)| blocks[block as usize].change(table, place as usize);
    changes.add_to(rows, lanes, |to, changes| {
        let total: f32 = changes.iter().map(|change| of(change).0).sum();
        let scale = if total > MOST_PAIRS { MOST_PAIRS / total } else { 1.0 };
        let multiples = changes.iter().map(|change| (scale, of(change).1));
        on_registers(AddMultiples { to, multiples });
    });
}

/// So many rows of small random numbers, uniform on ±½/dim.
pub(super) fn small_rows(rows: usize, dim: usize, rng: &mut Rng) -> Vec<Lane> {
    let lanes = registers::lanes(dim);
    let mut table = vec![[0f32; WIDTH]; rows * lanes];
    for row in table.chunks_exact_mut(lanes) {
        for value in row.as_flattened_mut()[..dim].iter_mut() {
            *value = (rng.random::<f32>() - 0.5) / dim as f32;
        }
    }
    table
}

fn unpadded(table: &[Lane], lanes: usize, dim: usize) -> Result<Dense> {
    let values: Vec<f32> =
        table.chunks_exact(lanes).flat_map(|row| row.as_flattened()[..dim].iter().copied()).collect();
    Dense::new(table.len() / lanes, dim, values)
}

/// Rows in whole lanes, padded with zeros.
pub(super) fn padded(rows: &Dense) -> Vec<Lane> {
    let lanes = registers::lanes(rows.cols());
    let mut table = vec![[0f32; WIDTH]; rows.rows() * lanes];
    for (row, to) in table.chunks_exact_mut(lanes).enumerate() {
        to.as_flattened_mut()[..rows.cols()].copy_from_slice(rows.row(row));
    }
    table
}

/// Both tables, changed by all threads at any time. An update that meets another on the same number may be lost; words
/// meet so seldom that training does not suffer (B. Recht and others, "Hogwild!", 2011), but no two runs are equal.
#[derive(Debug)]
pub(super) struct SharedTables {
    lanes: usize,
    inputs: Vec<AtomicU32>,
    outputs: Vec<AtomicU32>,
}

impl From<Tables> for SharedTables {
    fn from(tables: Tables) -> Self {
        let share = |table: &[Lane]| table.as_flattened().iter().map(|value| AtomicU32::new(value.to_bits())).collect();
        SharedTables { lanes: tables.lanes, inputs: share(&tables.inputs), outputs: share(&tables.outputs) }
    }
}

impl SharedTables {
    fn row(&self, table: Table, row: u32) -> &[AtomicU32] {
        let table = match table {
            Table::Inputs => &self.inputs,
            Table::Outputs => &self.outputs,
        };
        let width = self.lanes * WIDTH;
        &table[row as usize * width..(row as usize + 1) * width]
    }

    #[inline(always)]
    pub(super) fn read(&self, table: Table, row: u32, to: &mut [Lane]) {
        for (to, from) in to.as_flattened_mut().iter_mut().zip(self.row(table, row)) {
            *to = f32::from_bits(from.load(Ordering::Relaxed));
        }
    }

    /// Adds the changes of a block.
    pub(super) fn apply(&self, block: &Block) {
        for table in [Table::Inputs, Table::Outputs] {
            for (place, &row) in block.rows(table).iter().enumerate() {
                let change = block.change(table, place).1;
                for (to, change) in self.row(table, row).iter().zip(change.as_flattened()) {
                    let value = f32::from_bits(to.load(Ordering::Relaxed)) + change;
                    to.store(value.to_bits(), Ordering::Relaxed);
                }
            }
        }
    }

    /// The input vectors without their padding.
    pub(super) fn into_vectors(self, dim: usize) -> Result<Dense> {
        let width = self.lanes * WIDTH;
        let values: Vec<f32> = self
            .inputs
            .chunks_exact(width)
            .flat_map(|row| row[..dim].iter().map(|value| f32::from_bits(value.load(Ordering::Relaxed))))
            .collect();
        Dense::new(self.inputs.len() / width, dim, values)
    }
}
