//! The fitted model: an orthonormal basis of the unsprinkled training rows.

use super::super::{ProjectorModel, Weights};
use super::TermShift;
use crate::matrix::small::{multiply_in_place, tall_product, transposed_product};
use crate::matrix::svd::TruncatedSvd;
use crate::matrix::{Dense, Matrix};
use crate::store::{StoreReader, StoreWriter};
use crate::{Error, Result, Run};

/// Directions of the basis whose share of real columns is below this are rounding errors of `f32` vectors.
const NOISE: f64 = 1e-8;

/// A basis of the space of the unsprinkled training rows.
#[derive(Debug, Clone, PartialEq)]
pub struct SprinkleModel {
    /// Q: one row per column of the input, one column per dimension.
    basis: Dense,
    /// Λ: for each direction, the share of its squared length that lies in real columns.
    shares: Vec<f64>,
    singular_values: Vec<f64>,
    sprinkled: Vec<u64>,
    fold_in: bool,
    shift: Option<TermShift>,
}

impl ProjectorModel for SprinkleModel {
    /// New documents beside the training rows: as they are, or folded in when the parameters said so.
    fn transform(&self, x: &Matrix, run: &Run) -> Result<Matrix> {
        run.check()?;
        if !self.fold_in {
            return self.as_they_are(x, run);
        }
        let mut folded = run.install(|| x.multiply(&self.basis, &vec![0.0; self.rank()]))?;
        for row in 0..folded.rows() {
            let values = folded.row_mut(row).iter_mut();
            values.zip(&self.shares).for_each(|(value, &share)| *value *= share as f32);
        }
        Ok(Matrix::from(folded))
    }

    fn n_inputs(&self) -> usize {
        self.basis.rows()
    }

    /// The basis, and one for what lies outside it when documents are compared as they are.
    fn n_columns(&self) -> usize {
        self.basis.cols() + usize::from(!self.fold_in)
    }

    fn save(&self, out: &mut StoreWriter) -> Result<()> {
        self.basis.save("basis", out);
        out.put_f64("shares", &[self.shares.len()], &self.shares);
        out.put_f64("singular_values", &[self.singular_values.len()], &self.singular_values);
        out.put_u64("sprinkled", &self.sprinkled);
        if let Some(shift) = &self.shift {
            out.scope("shift", |out| shift.save(out));
        }
        out.put_json("fold_in", &self.fold_in)
    }

    /// Dimensions stand for no term.
    fn feature_names(&self, _before: Vec<String>) -> Vec<String> {
        Vec::new()
    }

    /// Through the basis as a product; what lies outside it, r = √(‖x‖² − ‖Qᵀx‖²), has the derivative (x − Q Qᵀx)/r.
    fn gradient(&self, x: &Matrix, weights: &Weights<'_>, run: &Run) -> Result<Option<Dense>> {
        let rank = self.rank();
        let inside = run.install(|| x.multiply(&self.basis, &vec![0.0; rank]))?;
        let inside = inside.row(0);
        let mut through: Vec<f64> = (0..rank)
            .map(|at| {
                let share = if self.fold_in { self.shares[at] } else { 1.0 };
                f64::from(weights.at(at)) * share
            })
            .collect();
        let mut outside = 0.0;
        if !self.fold_in {
            let held: f64 = inside.iter().map(|&value| f64::from(value) * f64::from(value)).sum();
            let length = (x.row(0).norm_squared() - held).max(0.0).sqrt();
            outside = if length > 0.0 { f64::from(weights.at(rank)) / length } else { 0.0 };
            through.iter_mut().zip(inside).for_each(|(to, &value)| *to -= outside * f64::from(value));
        }
        let mut gradient = Dense::zeros(self.n_inputs(), 1);
        let negative_start = x.cols() - x.negative();
        x.row(0).for_each(|column, value| {
            let own: f64 = self.basis.row(column).iter().zip(&through).map(|(&q, t)| f64::from(q) * t).sum();
            let sign = if column < negative_start { 1.0 } else { -1.0 };
            gradient.row_mut(column)[0] = (own + outside * sign * f64::from(value)) as f32;
        });
        Ok(Some(gradient))
    }

    fn term_shift(&self) -> Option<&TermShift> {
        self.shift()
    }

    fn notes(&self) -> Vec<(&'static str, String)> {
        vec![("sprinkled terms", self.sprinkled.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))]
    }
}

impl SprinkleModel {
    /// Unsprinkles a decomposition of the widened `x`: gives the model and the coordinates of the training rows.
    pub(super) fn new(x: &Matrix, svd: TruncatedSvd, sprinkled: &[usize], fold_in: bool) -> Result<(Self, Matrix)> {
        let rank = svd.vectors.cols();
        let mut values = svd.vectors.into_values();
        let first = x.sparse().cols() * rank;
        values.drain(first..first + sprinkled.len() * rank);
        let real = Dense::new(x.cols(), rank, values)?;
        let (shares, directions) = transposed_product(&real, &real, x.negative()).symmetric_eigen()?;
        let floor = NOISE * shares.first().map_or(0.0, |largest| largest.max(0.0));
        let kept = shares.iter().take_while(|&&share| share > floor).count();
        if kept == 0 {
            return Err(Error::data("sprinkle: the matrix holds only zeros, so there is nothing to project on"));
        }
        let scales = |power: f64| shares[..kept].iter().map(|share| share.powf(power)).collect::<Vec<f64>>();
        let basis = multiply_in_place(real, &directions.scaled_columns(&scales(-0.5)).to_dense(kept)?)?;
        let coordinates = tall_product(&svd.rows, &directions.scaled_columns(&scales(0.5)).to_dense(kept)?);
        let rows = if fold_in { coordinates } else { with_column(&coordinates, |_, _| 0.0)? };
        let model = SprinkleModel {
            basis,
            shares: shares[..kept].to_vec(),
            singular_values: svd.singular_values,
            sprinkled: sprinkled.iter().map(|&count| count as u64).collect(),
            fold_in,
            shift: None,
        };
        Ok((model, Matrix::from(rows)))
    }

    /// Also finds out which terms were drawn together and apart, and keeps that; `x` and `rows` as in
    /// [`mean_square_distortion`](Self::mean_square_distortion).
    pub fn look_at_terms(&mut self, x: &Matrix, rows: &Matrix, run: &Run) -> Result<()> {
        self.shift = TermShift::of(x, self, rows, run)?;
        Ok(())
    }

    /// Which terms were drawn together and apart, when that was looked at.
    pub fn shift(&self) -> Option<&TermShift> {
        self.shift.as_ref()
    }

    /// Whether new documents are taken through the decomposition too.
    pub fn fold_in(&self) -> bool {
        self.fold_in
    }

    /// The coordinates of documents in the basis, and the length of what lies outside it.
    fn as_they_are(&self, x: &Matrix, run: &Run) -> Result<Matrix> {
        let inside = run.install(|| x.multiply(&self.basis, &vec![0.0; self.rank()]))?;
        let outside = |row: usize, inside: &[f32]| {
            let held: f64 = inside.iter().map(|&value| f64::from(value) * f64::from(value)).sum();
            (x.row(row).norm_squared() - held).max(0.0).sqrt() as f32
        };
        Ok(Matrix::from(with_column(&inside, outside)?))
    }

    /// The mean over all documents and real columns of the squared difference between the matrix and its sprinkled
    /// approximation, `rows` being the training rows that came with this model and `x` what it was fitted on. In k
    /// dimensions: O(stored · k).
    pub fn mean_square_distortion(&self, x: &Matrix, rows: &Matrix, run: &Run) -> Result<f64> {
        if x.rows() != rows.rows() {
            return Err(Error::Shape { what: "training rows", expected: x.rows(), found: rows.rows() });
        }
        if rows.dense().cols() < self.rank() {
            let (expected, found) = (self.rank(), rows.dense().cols());
            return Err(Error::Shape { what: "columns of the training rows", expected, found });
        }
        let original = self.as_they_are(x, run)?;
        let mut sum = 0.0;
        for row in 0..x.rows() {
            let (inside, outside) = original.row(row).dense.split_at(self.rank());
            let squares = inside.iter().zip(rows.row(row).dense).map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2));
            sum += squares.sum::<f64>() + f64::from(outside[0]).powi(2);
        }
        let cells = x.rows() as f64 * (x.cols() - x.negative()) as f64;
        Ok(if cells > 0.0 { sum / cells } else { 0.0 })
    }

    /// Dimensions of the space of the training rows; output is one wider unless new documents are folded in.
    pub fn rank(&self) -> usize {
        self.basis.cols()
    }

    /// The orthonormal basis Q: one row per input column. A training row's written-out entries are Q times the first
    /// [`rank`](Self::rank) entries of its output.
    pub fn basis(&self) -> &Dense {
        &self.basis
    }

    /// Singular values of the sprinkled matrix, largest first.
    pub fn singular_values(&self) -> &[f64] {
        &self.singular_values
    }

    /// Artificial terms each class got.
    pub fn sprinkled(&self) -> &[u64] {
        &self.sprinkled
    }

    /// Takes a model out of a store, checking it whole.
    pub fn load(store: &StoreReader<'_>) -> Result<Self> {
        let basis = Dense::load(store, "basis", None, None)?;
        let (shares, _) = store.f64s("shares", &[Some(basis.cols())])?;
        let (singular_values, _) = store.f64s("singular_values", &[None])?;
        let (sprinkled, fold_in) = (store.u64s("sprinkled", None)?, store.json("fold_in")?);
        let shift = TermShift::load(&store.scope("shift"), basis.rows())?;
        Ok(SprinkleModel { basis, shares, singular_values, sprinkled, fold_in, shift })
    }
}

/// The matrix with one more column, `last(row, values)`.
fn with_column(matrix: &Dense, last: impl Fn(usize, &[f32]) -> f32) -> Result<Dense> {
    let mut values = Vec::with_capacity(matrix.values().len() + matrix.rows());
    for row in 0..matrix.rows() {
        values.extend_from_slice(matrix.row(row));
        values.push(last(row, matrix.row(row)));
    }
    Dense::new(matrix.rows(), matrix.cols() + 1, values)
}
