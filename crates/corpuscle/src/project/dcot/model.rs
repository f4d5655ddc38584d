//! The fitted layers: documents to reconstructions, and the file.

use std::ops::Range;

use rayon::prelude::*;

use super::fit::ROWS;
use super::weights::Layer;
use super::{MOST_LAYERS, Solver, Weight, check_sparse, gradient};
use crate::matrix::rowwise::multiply_into;
use crate::matrix::{Csr, Dense, Matrix, Table};
use crate::project::projector::ColumnWeights;
use crate::project::{ProjectorModel, Weights};
use crate::store::{Entry, StoreReader, StoreWriter};
use crate::{Error, Result, Run};

/// What stands in a file for outputs that are left as they come.
const NO_LENGTH: f32 = 0.0;

/// Layers that reconstruct prototype terms.
#[derive(Debug, Clone, PartialEq)]
pub struct DcotModel {
    pub(super) layers: Vec<Layer>,
    /// For each layer what is taken from its output before it is put beside x.
    pub(super) centres: Vec<Vec<f32>>,
    /// For each layer the directions (prototypes × directions) in which its output is put beside x; none for all of it.
    pub(super) directions: Vec<Option<Table>>,
    /// The length that each layer's output is then brought to; `None` leaves it as it is.
    pub(super) length: Option<f32>,
    pub(super) prototypes: Vec<u32>,
    pub(super) noise: f64,
    /// What only the one who fitted it knows: the squared length asked for, and how the first layer was solved.
    pub(super) fitted: Option<(Weight, Solver)>,
}

impl DcotModel {
    /// The columns that a layer's output takes among all layers' outputs.
    pub(super) fn columns_of(&self, number: usize) -> Range<usize> {
        let first = self.n_outputs(number);
        first..first + self.width(number)
    }

    fn width(&self, number: usize) -> usize {
        let all = self.prototypes.len();
        self.directions.get(number).and_then(Option::as_ref).map_or(all, |directions| directions.wide().cols())
    }

    /// Columns that the first `layers` put beside x.
    pub(super) fn n_outputs(&self, layers: usize) -> usize {
        (0..layers.min(self.layers.len())).map(|number| self.width(number)).sum()
    }

    /// Centres blocks of all layers' whole outputs and brings them to length.
    pub(super) fn centre_and_scale(&self, z: &mut Dense) {
        let (width, all) = (self.prototypes.len(), z.cols());
        z.values_mut().par_chunks_mut(all * ROWS).for_each(|rows| {
            for row in rows.chunks_mut(all) {
                for (block, centre) in row.chunks_mut(width).zip(&self.centres) {
                    block.iter_mut().zip(centre).for_each(|(to, centre)| *to -= centre);
                    self.bring_to_length(block);
                }
            }
        });
    }

    fn bring_to_length(&self, block: &mut [f32]) {
        let Some(length) = self.length else { return };
        let square: f64 = block.iter().map(|&value| f64::from(value) * f64::from(value)).sum();
        // A document just like the mean has no direction to go in.
        let scale = if square > 0.0 { f64::from(length) / square.sqrt() } else { 0.0 };
        block.iter_mut().for_each(|value| *value = (f64::from(*value) * scale) as f32);
    }

    /// What is put beside each row of `x`.
    pub(super) fn outputs(&self, x: &Csr, run: &Run) -> Result<Dense> {
        self.check_columns(x)?;
        let width = self.n_outputs(self.layers.len());
        let mut outputs = Dense::zeros(x.rows(), width);
        outputs.values_mut().par_chunks_mut(ROWS * width.max(1)).enumerate().try_for_each(|(number, out)| {
            run.check()?;
            let count = out.len() / width;
            self.visit(x, number * ROWS..number * ROWS + count, |layer, z| {
                let columns = self.columns_of(layer);
                for row in 0..count {
                    z.row_mut(row).iter_mut().zip(&self.centres[layer]).for_each(|(to, centre)| *to -= centre);
                }
                let projected = self.directions[layer].as_ref().map(|directions| {
                    let mut part = Dense::zeros(count, columns.len());
                    multiply_into(z, directions.wide(), &mut part);
                    part
                });
                let block = projected.as_ref().unwrap_or(z);
                for (row, out) in out.chunks_exact_mut(width).enumerate() {
                    let out = &mut out[columns.clone()];
                    out.copy_from_slice(block.row(row));
                    self.bring_to_length(out);
                }
            });
            Ok(())
        })?;
        Ok(outputs)
    }

    /// Hands the outputs of one layer after the other for some rows to `see`, which may change them.
    fn visit(&self, x: &Csr, rows: Range<usize>, mut see: impl FnMut(usize, &mut Dense)) {
        let (count, width) = (rows.len(), self.prototypes.len());
        let (mut z, mut seen) = (Dense::zeros(count, width), Dense::zeros(count, width));
        for (number, layer) in self.layers.iter().enumerate() {
            if number == 0 {
                layer.of_terms(x, rows.clone(), &mut z);
            } else {
                layer.of_layer(&z, &mut seen);
                std::mem::swap(&mut z, &mut seen);
            }
            seen.values_mut().copy_from_slice(z.values());
            see(number, &mut seen);
        }
    }

    fn check_columns(&self, x: &Csr) -> Result<()> {
        let expected = self.layers[0].weights.inputs();
        match x.cols() == expected {
            true => Ok(()),
            false => Err(Error::Shape { what: "columns for dcot", expected, found: x.cols() }),
        }
    }

    /// The outputs of all layers as they are.
    pub(super) fn raw(&self, x: &Csr, run: &Run) -> Result<Dense> {
        self.check_columns(x)?;
        let (width, all) = (self.prototypes.len(), self.layers.len() * self.prototypes.len());
        let mut raw = Dense::zeros(x.rows(), all);
        raw.values_mut().par_chunks_mut(ROWS * all).enumerate().try_for_each(|(number, out)| {
            run.check()?;
            let count = out.len() / all;
            self.visit(x, number * ROWS..number * ROWS + count, |layer, z| {
                for (row, out) in out.chunks_exact_mut(all).enumerate() {
                    out[layer * width..(layer + 1) * width].copy_from_slice(z.row(row));
                }
            });
            Ok(())
        })?;
        Ok(raw)
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
    pub fn weight(&self) -> Option<Weight> {
        self.fitted.map(|(weight, _)| weight)
    }

    /// W of a layer, transposed: one row per input, one column per prototype; written out where it is kept in few directions.
    pub fn weights(&self, layer: usize) -> Result<Option<Dense>> {
        self.layers.get(layer).map(|layer| layer.weights.written_out()).transpose()
    }

    /// Bytes of its arrays.
    pub(super) fn size(&self) -> usize {
        let mut out = StoreWriter::measuring();
        // Arrays are only measured, and measuring them cannot fail.
        self.save(&mut out).map_or(0, |()| out.into_entries().values().map(Entry::size).sum())
    }

    /// Directions that are kept of each layer's output, or `None` where all of it is.
    pub fn rank(&self) -> Option<usize> {
        self.directions.first().and_then(Option::as_ref).map(|directions| directions.wide().cols())
    }

    /// The same layers without those after the first `layers`.
    #[must_use]
    pub fn truncated(mut self, layers: usize) -> Self {
        let layers = layers.max(1);
        self.layers.truncate(layers);
        self.centres.truncate(layers);
        self.directions.truncate(layers);
        self
    }

    /// The same layers with every output's squared length times `factor`; those that have no length stay as they are.
    #[must_use]
    pub fn reweighted(mut self, factor: f64) -> Self {
        self.length = self.length.map(|length| (f64::from(length) * factor.sqrt()) as f32);
        let times = |weight: Weight| match weight {
            Weight::None => Weight::None,
            Weight::Times(times) => Weight::Times(times * factor),
        };
        self.fitted = self.fitted.map(|(weight, solver)| (times(weight), solver));
        self
    }

    /// Takes a model out of a store, checking it whole.
    pub fn load(store: &StoreReader<'_>) -> Result<Self> {
        let prototypes = store.u32s("prototypes", None)?;
        let noise = store.f64s("noise", &[Some(1)])?.0[0];
        let count = store.u32s("layers", Some(1))?[0] as usize;
        let length = match store.f32s("length", &[Some(1)])?.0[0] {
            NO_LENGTH => None,
            length => Some(length),
        };
        if !(1..=MOST_LAYERS).contains(&count) || prototypes.is_empty() {
            return Err(Error::model("dcot: the number of layers or prototypes is out of range"));
        }
        let width = prototypes.len();
        let (mut layers, mut centres, mut directions) = (Vec::new(), Vec::new(), Vec::new());
        for number in 0..count {
            let store = store.scope(&number.to_string());
            layers.push(Layer::load(&store, (number > 0).then_some(width), width)?);
            centres.push(store.f32s("centre", &[Some(width)])?.0);
            directions.push(match store.has("directions") {
                true => Some(Table::load(&store, "directions", Some(width), None)?),
                false => None,
            });
        }
        let ascending = prototypes.windows(2).all(|pair| pair[0] < pair[1]);
        if !ascending || prototypes.last().is_some_and(|&last| last as usize >= layers[0].weights.inputs()) {
            return Err(Error::model("dcot: the prototypes do not ascend or are out of range"));
        }
        Ok(DcotModel { layers, centres, directions, length, prototypes, noise, fitted: None })
    }
}

impl ProjectorModel for DcotModel {
    /// Documents beside their reconstructions: (x, z¹, …, z^L).
    fn transform(&self, x: &Matrix, run: &Run) -> Result<Matrix> {
        check_sparse(x)?;
        let z = run.install(|| self.outputs(x.sparse(), run))?;
        Matrix::new(x.sparse().clone(), z, 0)
    }

    fn n_inputs(&self) -> usize {
        self.layers[0].weights.inputs()
    }

    fn n_columns(&self) -> usize {
        self.n_inputs() + self.n_outputs(self.layers.len())
    }

    fn save(&self, out: &mut StoreWriter) -> Result<()> {
        out.put_u32("prototypes", &self.prototypes);
        out.put_f64("noise", &[1], &[self.noise]);
        out.put_u32("layers", &[self.layers.len() as u32]);
        out.put_f32("length", &[1], &[self.length.unwrap_or(NO_LENGTH)]);
        for (number, (layer, centre)) in self.layers.iter().zip(&self.centres).enumerate() {
            out.scope(&number.to_string(), |out| {
                layer.save(out);
                out.put_f32("centre", &[centre.len()], centre);
                if let Some(Some(directions)) = self.directions.get(number) {
                    directions.save("directions", out);
                }
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
