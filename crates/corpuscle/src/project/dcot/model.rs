//! The fitted layers: documents to reconstructions, and the file.

use rayon::prelude::*;

use super::layer::{self, Layer, moments};
use super::{DcotParams, Given, MOST_LAYERS, Solver, check_sparse, gradient};
use crate::matrix::small::multiply_columns;
use crate::matrix::{Csr, Dense, Matrix};
use crate::project::projector::ColumnWeights;
use crate::project::{ProjectorModel, Weights};
use crate::store::{StoreReader, StoreWriter};
use crate::{Error, Result, Run};

/// Rows that a task takes through a layer at once.
const ROWS: usize = 256;

/// Layers that reconstruct prototype terms.
#[derive(Debug, Clone, PartialEq)]
pub struct DcotModel {
    pub(super) layers: Vec<Layer>,
    /// For each layer what is taken from its output before it is put beside x.
    pub(super) centres: Vec<Vec<f32>>,
    /// The length that each layer's output is then brought to.
    pub(super) length: f32,
    pub(super) prototypes: Vec<u32>,
    noise: f64,
    /// What only the one who fitted it knows: the squared length asked for, and how the first layer was solved.
    fitted: Option<(f64, Solver)>,
}

/// Learns layer after layer.
pub(super) fn fit(
    params: &DcotParams,
    Given { noise, layers: count, weight }: Given,
    x: &Matrix,
    prototypes: Vec<u32>,
    run: &Run,
) -> Result<(DcotModel, Matrix)> {
    let x = x.sparse();
    let width = prototypes.len();
    let (first, solver) = layer::first(x, &prototypes, noise, params.ridge, params.solver, run)?;
    let mut model = DcotModel {
        layers: vec![first],
        centres: Vec::new(),
        length: 1.0,
        prototypes,
        noise,
        fitted: Some((weight, solver)),
    };
    let mut z = Dense::zeros(x.rows(), count * width);
    model.apply(x, 0, &mut z);
    while model.layers.len() < count {
        run.check()?;
        run.advance(1);
        let before = (model.layers.len() - 1) * width;
        model.layers.push(layer::next(&z, before, width, noise, params.ridge, run)?);
        model.apply(x, model.layers.len() - 1, &mut z);
    }
    let square = x.values().iter().map(|&value| f64::from(value) * f64::from(value)).sum::<f64>() / x.rows() as f64;
    model.length = (weight * square).sqrt() as f32;
    let all = moments(&z, 0..count * width);
    model.centres = all.chunks(width).map(|part| part.iter().map(|&(mean, _)| mean as f32).collect()).collect();
    model.centre_and_scale(&mut z);
    Ok((model, Matrix::new(x.clone(), z, 0)?))
}

impl DcotModel {
    /// Fills the columns of one layer, not yet centred, from x or from those of the layer before.
    fn apply(&self, x: &Csr, number: usize, z: &mut Dense) {
        let layer = &self.layers[number];
        let (width, all) = (self.prototypes.len(), z.cols());
        let first = number * width;
        if number > 0 {
            multiply_columns(z, first - width..first, first, &layer.weights);
        }
        z.values_mut().par_chunks_mut(all).enumerate().with_min_len(16).for_each(|(row, out)| {
            let out = &mut out[first..first + width];
            out.iter_mut().zip(&layer.bias).for_each(|(to, bias)| *to += bias);
            if number == 0 {
                let (columns, values) = x.row(row);
                for (&column, &value) in columns.iter().zip(values) {
                    let weights = layer.weights.row(column as usize);
                    out.iter_mut().zip(weights).for_each(|(to, weight)| *to += value * weight);
                }
            }
            out.iter_mut().for_each(|to| *to = tanh(*to));
        });
    }

    fn centre_and_scale(&self, z: &mut Dense) {
        let (width, all) = (self.prototypes.len(), z.cols());
        z.values_mut().par_chunks_mut(all * ROWS).for_each(|rows| {
            for row in rows.chunks_mut(all) {
                for (block, centre) in row.chunks_mut(width).zip(&self.centres) {
                    block.iter_mut().zip(centre).for_each(|(to, centre)| *to -= centre);
                    let square: f64 = block.iter().map(|&value| f64::from(value) * f64::from(value)).sum();
                    // A document just like the mean has no direction to go in.
                    let scale = if square > 0.0 { f64::from(self.length) / square.sqrt() } else { 0.0 };
                    block.iter_mut().for_each(|value| *value = (f64::from(*value) * scale) as f32);
                }
            }
        });
    }

    /// The outputs of all layers as they are.
    pub(super) fn raw(&self, x: &Csr, run: &Run) -> Result<Dense> {
        let expected = self.layers[0].weights.rows();
        if x.cols() != expected {
            return Err(Error::Shape { what: "columns for dcot", expected, found: x.cols() });
        }
        let mut z = Dense::zeros(x.rows(), self.layers.len() * self.prototypes.len());
        for number in 0..self.layers.len() {
            run.check()?;
            self.apply(x, number, &mut z);
        }
        Ok(z)
    }

    /// For each document the prototype columns with what the last layer gives beyond its output for an empty document,
    /// largest first. For an empty document, what the last layer gives: the terms to be expected anywhere.
    pub fn reconstructed(&self, x: &Matrix, run: &Run) -> Result<Vec<ColumnWeights>> {
        check_sparse(x)?;
        let (given, nothing) =
            run.install(|| Ok::<_, Error>((self.raw(x.sparse(), run)?, self.raw(&Csr::empty(1, x.cols()), run)?)))?;
        let last = (self.layers.len() - 1) * self.prototypes.len()..;
        let list = |row: usize| {
            let empty = x.row(row).values.iter().all(|&value| value == 0.0);
            let share = if empty { 0.0 } else { 1.0 };
            let values = given.row(row)[last.clone()].iter().zip(&nothing.row(0)[last.clone()]);
            let mut list: Vec<(u32, f32)> =
                self.prototypes.iter().zip(values).map(|(&column, (a, b))| (column, a - share * b)).collect();
            list.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            list
        };
        Ok((0..x.rows()).map(list).collect())
    }

    /// Layers.
    pub fn n_layers(&self) -> usize {
        self.layers.len()
    }

    /// The columns that are reconstructed, ascending; each layer's output is in this order.
    pub fn prototypes(&self) -> &[u32] {
        &self.prototypes
    }

    /// The share of words removed.
    pub fn noise(&self) -> f64 {
        self.noise
    }

    /// How the first layer's equations were solved; not known of a model out of a file.
    pub fn solver(&self) -> Option<Solver> {
        self.fitted.map(|(_, solver)| solver)
    }

    /// The squared length of each layer's output as a multiple of the mean of x's; not known of a model out of a file.
    pub fn weight(&self) -> Option<f64> {
        self.fitted.map(|(weight, _)| weight)
    }

    /// W of a layer, transposed: one row per input, one column per prototype.
    pub fn weights(&self, layer: usize) -> Option<&Dense> {
        self.layers.get(layer).map(|layer| &layer.weights)
    }

    /// The same layers without those after the first `layers`.
    #[must_use]
    pub fn truncated(mut self, layers: usize) -> Self {
        let layers = layers.max(1);
        self.layers.truncate(layers);
        self.centres.truncate(layers);
        self
    }

    /// The same layers with every output's squared length times `factor`.
    #[must_use]
    pub fn reweighted(mut self, factor: f64) -> Self {
        self.length = (f64::from(self.length) * factor.sqrt()) as f32;
        self.fitted = self.fitted.map(|(weight, solver)| (weight * factor, solver));
        self
    }

    /// Takes a model out of a store, checking it whole.
    pub fn load(store: &StoreReader<'_>) -> Result<Self> {
        let prototypes = store.u32s("prototypes", None)?;
        let noise = store.f64s("noise", &[Some(1)])?.0[0];
        let count = store.u32s("layers", Some(1))?[0] as usize;
        let length = store.f32s("length", &[Some(1)])?.0[0];
        if !(1..=MOST_LAYERS).contains(&count) || prototypes.is_empty() {
            return Err(Error::model("dcot: the number of layers or prototypes is out of range"));
        }
        let width = prototypes.len();
        let (mut layers, mut centres) = (Vec::new(), Vec::new());
        for number in 0..count {
            let store = store.scope(&number.to_string());
            let rows = (number > 0).then_some(width);
            let weights = Dense::load(&store, "weights", rows, Some(width))?;
            let (bias, _) = store.f32s("bias", &[Some(width)])?;
            layers.push(Layer { weights, bias });
            centres.push(store.f32s("centre", &[Some(width)])?.0);
        }
        let ascending = prototypes.windows(2).all(|pair| pair[0] < pair[1]);
        if !ascending || prototypes.last().is_some_and(|&last| last as usize >= layers[0].weights.rows()) {
            return Err(Error::model("dcot: the prototypes do not ascend or are out of range"));
        }
        Ok(DcotModel { layers, centres, length, prototypes, noise, fitted: None })
    }
}

impl ProjectorModel for DcotModel {
    /// Documents beside their reconstructions: (x, z¹, …, z^L).
    fn transform(&self, x: &Matrix, run: &Run) -> Result<Matrix> {
        check_sparse(x)?;
        let z = run.install(|| {
            let mut z = self.raw(x.sparse(), run)?;
            self.centre_and_scale(&mut z);
            Ok::<_, Error>(z)
        })?;
        Matrix::new(x.sparse().clone(), z, 0)
    }

    fn n_inputs(&self) -> usize {
        self.layers[0].weights.rows()
    }

    fn n_columns(&self) -> usize {
        self.n_inputs() + self.n_layers() * self.prototypes.len()
    }

    fn save(&self, out: &mut StoreWriter) -> Result<()> {
        out.put_u32("prototypes", &self.prototypes);
        out.put_f64("noise", &[1], &[self.noise]);
        out.put_u32("layers", &[self.layers.len() as u32]);
        out.put_f32("length", &[1], &[self.length]);
        for (number, (layer, centre)) in self.layers.iter().zip(&self.centres).enumerate() {
            out.scope(&number.to_string(), |out| {
                layer.weights.save("weights", out);
                out.put_f32("bias", &[layer.bias.len()], &layer.bias);
                out.put_f32("centre", &[centre.len()], centre);
            });
        }
        Ok(())
    }

    fn gradient(&self, x: &Matrix, weights: &Weights<'_>, run: &Run) -> Result<Option<Dense>> {
        gradient::of(self, x, weights, run).map(Some)
    }

    fn reconstruct(&self, x: &Matrix, run: &Run) -> Result<Option<Vec<ColumnWeights>>> {
        self.reconstructed(x, run).map(Some)
    }

    fn notes(&self) -> Vec<(&'static str, String)> {
        let mut notes = vec![("noise", self.noise.to_string()), ("layers", self.n_layers().to_string())];
        notes.extend(self.weight().map(|weight| ("weight", weight.to_string())));
        notes
    }
}

/// tanh to a few units in the last place, by the rational approximation that Eigen uses: plain multiplications, so that
/// it vectorises and its bits are the same on every machine, unlike those of a system's library.
#[inline]
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
