//! One layer, z = tanh(W x + b), with W written out or as the product of two narrow matrices.

use crate::matrix::rowwise::{multiply_into, multiply_transposed_into};
use crate::matrix::{Codes, Csr, Dense, Table};
use crate::store::{StoreReader, StoreWriter};
use crate::wide::wide;
use crate::{Error, Result};

/// W of a layer, transposed: one row per input, one column per prototype.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Weights {
    /// Every weight with every bit.
    Whole(Dense),
    /// From terms: inputs × directions in eight bits, and prototypes × directions.
    Terms { down: Codes, up: Table },
    /// From the layer before: inputs × directions, and prototypes × directions.
    Layer { down: Table, up: Table },
}

/// One layer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Layer {
    pub(super) weights: Weights,
    pub(super) bias: Vec<f32>,
}

impl Weights {
    pub(super) fn inputs(&self) -> usize {
        match self {
            Weights::Whole(weights) => weights.rows(),
            Weights::Terms { down, .. } => down.rows(),
            Weights::Layer { down, .. } => down.wide().rows(),
        }
    }

    pub(super) fn outputs(&self) -> usize {
        match self {
            Weights::Whole(weights) => weights.cols(),
            Weights::Terms { up, .. } | Weights::Layer { up, .. } => up.wide().rows(),
        }
    }

    /// Everything written out: O(inputs · directions · prototypes).
    pub(super) fn written_out(&self) -> Result<Dense> {
        match self {
            Weights::Whole(weights) => Ok(weights.clone()),
            Weights::Terms { down, up } => down.widened().matmul_transposed(up.wide()),
            Weights::Layer { down, up } => down.wide().matmul_transposed(up.wide()),
        }
    }

    /// W m for one vector of inputs.
    pub(super) fn of_means(&self, means: &[f64]) -> Vec<f64> {
        let times = |matrix: &Dense, vector: &[f64]| {
            let mut sums = vec![0f64; matrix.cols()];
            for (row, &value) in vector.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                sums.iter_mut().zip(matrix.row(row)).for_each(|(sum, &weight)| *sum += value * f64::from(weight));
            }
            sums
        };
        let through = |up: &Dense, sums: &[f64]| {
            let dot = |row: usize| up.row(row).iter().zip(sums).map(|(&part, sum)| f64::from(part) * sum).sum();
            (0..up.rows()).map(dot).collect()
        };
        match self {
            Weights::Whole(weights) => times(weights, means),
            Weights::Layer { down, up } => through(up.wide(), &times(down.wide(), means)),
            Weights::Terms { down, up } => {
                let mut sums = vec![0f64; down.cols()];
                for (row, &value) in means.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                    let (scale, codes) = down.row(row);
                    let value = value * f64::from(scale);
                    sums.iter_mut().zip(codes).for_each(|(sum, &code)| *sum += value * f64::from(code));
                }
                through(up.wide(), &sums)
            }
        }
    }

    /// The part of a gradient by the outputs that all inputs share; what it makes of each is [`Weights::slope`].
    pub(super) fn pulled(&self, by_output: Vec<f32>) -> Vec<f32> {
        match self {
            Weights::Whole(_) => by_output,
            Weights::Terms { up, .. } | Weights::Layer { up, .. } => {
                let up = up.wide();
                let mut sums = vec![0f32; up.cols()];
                for (row, slope) in by_output.iter().enumerate() {
                    sums.iter_mut().zip(up.row(row)).for_each(|(sum, part)| *sum += slope * part);
                }
                sums
            }
        }
    }

    /// The derivative by one input.
    pub(super) fn slope(&self, input: usize, pulled: &[f32]) -> f32 {
        match self {
            Weights::Whole(weights) => dot(weights.row(input), pulled),
            Weights::Terms { down, .. } => down.dot(input, pulled),
            Weights::Layer { down, .. } => dot(down.wide().row(input), pulled),
        }
    }

    fn save(&self, out: &mut StoreWriter) {
        match self {
            Weights::Whole(weights) => weights.save("weights", out),
            Weights::Terms { down, up } => {
                down.save("down", out);
                up.save("up", out);
            }
            Weights::Layer { down, up } => {
                down.save("down", out);
                up.save("up", out);
            }
        }
    }

    fn load(store: &StoreReader<'_>, inputs: Option<usize>, outputs: usize) -> Result<Self> {
        if store.has("weights") {
            return Ok(Weights::Whole(Dense::load(store, "weights", inputs, Some(outputs))?));
        }
        let up = Table::load(store, "up", Some(outputs), None)?;
        let directions = Some(up.wide().cols());
        Ok(match inputs {
            None => Weights::Terms { down: Codes::load(store, "down", inputs, directions)?, up },
            Some(_) => Weights::Layer { down: Table::load(store, "down", inputs, directions)?, up },
        })
    }
}

/// `out += Σ value · row(column)` over the stored entries of a sparse row.
fn add_rows(matrix: &Dense, (columns, values): (&[u32], &[f32]), out: &mut [f32]) {
    for (&column, &value) in columns.iter().zip(values) {
        out.iter_mut().zip(matrix.row(column as usize)).for_each(|(to, weight)| *to += value * weight);
    }
}

/// `z = before · down · upᵀ`.
fn in_two_steps(before: &Dense, down: &Dense, up: &Dense, z: &mut Dense) {
    let mut narrow = Dense::zeros(before.rows(), down.cols());
    multiply_into(before, down, &mut narrow);
    multiply_transposed_into(&narrow, up, z);
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

impl Layer {
    /// A layer whose weights and bias are all finite.
    pub(super) fn new(weights: Weights, bias: Vec<f32>) -> Result<Self> {
        let finite = |values: &[f32]| values.iter().all(|value| value.is_finite());
        let all = match &weights {
            Weights::Whole(weights) => finite(weights.values()),
            Weights::Terms { down, up } => {
                (0..down.rows()).all(|row| down.row(row).0.is_finite()) && finite(up.wide().values())
            }
            Weights::Layer { down, up } => finite(down.wide().values()) && finite(up.wide().values()),
        };
        match all && finite(&bias) {
            true => Ok(Layer { weights, bias }),
            false => {
                Err(Error::data("dcot: the weights overflowed; bring the documents to length 1 or raise the noise"))
            }
        }
    }

    /// The outputs for some rows of `x`, in `z` (one row for each).
    pub(super) fn of_terms(&self, x: &Csr, rows: std::ops::Range<usize>, z: &mut Dense) {
        match &self.weights {
            Weights::Whole(weights) => {
                for (at, row) in rows.enumerate() {
                    let out = z.row_mut(at);
                    // First the bias, as in the first release, whose models must give the same bits.
                    out.copy_from_slice(&self.bias);
                    add_rows(weights, x.row(row), out);
                }
                return squash(z, &vec![0.0; self.bias.len()]);
            }
            Weights::Terms { down, up } => {
                let mut narrow = Dense::zeros(z.rows(), down.cols());
                for (at, row) in rows.enumerate() {
                    let (columns, values) = x.row(row);
                    down.add_rows(columns, values, narrow.row_mut(at));
                }
                multiply_transposed_into(&narrow, up.wide(), z);
            }
            Weights::Layer { down, up } => {
                let mut narrow = Dense::zeros(z.rows(), down.wide().cols());
                for (at, row) in rows.enumerate() {
                    add_rows(down.wide(), x.row(row), narrow.row_mut(at));
                }
                multiply_transposed_into(&narrow, up.wide(), z);
            }
        }
        self.squash(z);
    }

    /// The outputs for those of the layer before.
    pub(super) fn of_layer(&self, before: &Dense, z: &mut Dense) {
        match &self.weights {
            Weights::Whole(weights) => multiply_into(before, weights, z),
            Weights::Layer { down, up } => in_two_steps(before, down.wide(), up.wide(), z),
            Weights::Terms { down, up } => in_two_steps(before, &down.widened(), up.wide(), z),
        }
        self.squash(z);
    }

    /// Adds the bias and applies tanh.
    pub(super) fn squash(&self, z: &mut Dense) {
        squash(z, &self.bias);
    }

    pub(super) fn save(&self, out: &mut StoreWriter) {
        self.weights.save(out);
        out.put_f32("bias", &[self.bias.len()], &self.bias);
    }

    /// Takes a layer out of a store; `inputs` is known of all but the first.
    pub(super) fn load(store: &StoreReader<'_>, inputs: Option<usize>, outputs: usize) -> Result<Self> {
        let weights = Weights::load(store, inputs, outputs)?;
        Ok(Layer { weights, bias: store.f32s("bias", &[Some(outputs)])?.0 })
    }
}

fn squash(z: &mut Dense, bias: &[f32]) {
    wide(
        #[inline(always)]
        || {
            for row in z.values_mut().chunks_exact_mut(bias.len().max(1)) {
                row.iter_mut().zip(bias).for_each(|(to, bias)| *to = tanh(*to + bias));
            }
        },
    );
}

/// tanh to a few units in the last place, by the rational approximation that Eigen uses: plain multiplications, so that
/// it vectorises and its bits are the same on every machine, unlike those of a system's library.
#[inline(always)]
fn tanh(x: f32) -> f32 {
    let x = x.clamp(-7.905_311, 7.905_311);
    let s = x * x;
    let mut p = s * -2.760_768_5e-16 + 2.000_188e-13;
    p = s * p - 8.604_672e-11;
    p = s * p + 5.122_297e-8;
    p = s * p + 1.485_722_4e-5;
    p = s * p + 6.372_619_3e-4;
    p = s * p + 4.893_524_6e-3;
    let mut q = s * 1.198_258_4e-6 + 1.185_347_1e-4;
    q = s * q + 2.268_434_6e-3;
    q = s * q + 4.893_525e-3;
    x * p / q
}

#[cfg(test)]
mod unit {
    use super::tanh;

    #[test]
    fn the_approximation_is_close_everywhere() {
        for step in -40_000..=40_000 {
            let x = step as f32 * 0.0005;
            let exact = f64::from(x).tanh();
            assert!((f64::from(tanh(x)) - exact).abs() <= 4e-7 * exact.abs().max(1e-6), "{x}");
        }
        assert_eq!(tanh(0.0), 0.0);
        assert!(tanh(f32::INFINITY) <= 1.0 && tanh(-1e30) >= -1.0);
    }
}
