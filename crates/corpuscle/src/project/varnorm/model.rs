//! A fitted `varnorm`: the directions to remove.

use super::super::{ProjectorModel, Weights};
use crate::matrix::{Dense, Matrix, rowwise};
use crate::store::{StoreReader, StoreWriter};
use crate::{Error, Result, Run};

/// The directions in which documents of one topic differ most.
#[derive(Debug, Clone, PartialEq)]
pub struct VarNormModel {
    /// V as weights: one row per column of the input, one column per direction; a = Vᵀx is a plain product.
    vectors: Dense,
    eigenvalues: Vec<f64>,
    make: Make,
}

/// What kind of matrix it was fitted on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Make {
    sparse: usize,
    dense: usize,
    negative: usize,
}

impl Make {
    fn of(x: &Matrix) -> Self {
        Make { sparse: x.sparse().cols(), dense: x.dense().cols(), negative: x.negative() }
    }
}

impl VarNormModel {
    pub(super) fn new(x: &Matrix, vectors: Dense, eigenvalues: Vec<f64>) -> Self {
        VarNormModel { vectors, eigenvalues, make: Make::of(x) }
    }

    /// A model whose directions were found elsewhere, for rows of so many sparse and dense columns, `negative` of which count
    /// negatively. `vectors` has a row for each column, as weights: what is removed of a document is its plain product with them.
    pub fn from_parts(
        vectors: Dense,
        eigenvalues: Vec<f64>,
        sparse: usize,
        dense: usize,
        negative: usize,
    ) -> Result<Self> {
        for (what, expected, found) in [
            ("rows of the directions", sparse + dense, vectors.rows()),
            ("eigenvalues of the directions", vectors.cols(), eigenvalues.len()),
            ("negative columns for varnorm", negative.min(dense), negative),
        ] {
            if expected != found {
                return Err(Error::Shape { what, expected, found });
            }
        }
        Ok(VarNormModel { vectors, eigenvalues, make: Make { sparse, dense, negative } })
    }

    /// Whether projected rows are written out: dense ones without columns that count negatively are.
    fn is_explicit(&self) -> bool {
        self.make.sparse == 0 && self.make.negative == 0
    }

    /// Directions removed.
    pub fn components(&self) -> usize {
        self.vectors.cols()
    }

    /// V: one row per input column, one column per direction, most variable first.
    pub fn vectors(&self) -> &Dense {
        &self.vectors
    }

    /// The class-size-weighted variance along each direction, largest first.
    pub fn eigenvalues(&self) -> &[f64] {
        &self.eigenvalues
    }

    /// Takes a model out of a store, checking it whole.
    pub fn load(store: &StoreReader<'_>) -> Result<Self> {
        let vectors = Dense::load(store, "vectors", None, None)?;
        let (eigenvalues, _) = store.f64s("eigenvalues", &[Some(vectors.cols())])?;
        let sizes = store.u64s("make", Some(3))?;
        let fits = sizes[0].checked_add(sizes[1]) == Some(vectors.rows() as u64) && sizes[2] <= sizes[1];
        if !fits {
            return Err(Error::model("varnorm: the parts of the matrix do not add up to the columns"));
        }
        let make = Make { sparse: sizes[0] as usize, dense: sizes[1] as usize, negative: sizes[2] as usize };
        Ok(VarNormModel { vectors, eigenvalues, make })
    }
}

impl ProjectorModel for VarNormModel {
    /// The documents without those directions; see the [module](crate::project) for what comes out.
    fn transform(&self, x: &Matrix, run: &Run) -> Result<Matrix> {
        run.check()?;
        let make = Make::of(x);
        for (what, expected, found) in [
            ("sparse columns for varnorm", self.make.sparse, make.sparse),
            ("dense columns for varnorm", self.make.dense, make.dense),
            ("negative columns for varnorm", self.make.negative, make.negative),
        ] {
            if expected != found {
                return Err(Error::Shape { what, expected, found });
            }
        }
        let removed = run.install(|| x.multiply(&self.vectors, &vec![0.0; self.components()]))?;
        let (sparse, mut dense, negative) = x.clone().into_parts();
        if self.is_explicit() {
            let within = run.install(|| rowwise::multiply_transposed(&removed, &self.vectors))?;
            dense.values_mut().iter_mut().zip(within.values()).for_each(|(value, within)| *value -= within);
            return Matrix::new(sparse, dense, 0);
        }
        Matrix::new(sparse, dense.beside(&removed)?, negative + self.components())
    }

    fn n_inputs(&self) -> usize {
        self.vectors.rows()
    }

    fn n_columns(&self) -> usize {
        self.n_inputs() + if self.is_explicit() { 0 } else { self.components() }
    }

    fn save(&self, out: &mut StoreWriter) -> Result<()> {
        self.vectors.save("vectors", out);
        out.put_f64("eigenvalues", &[self.components()], &self.eigenvalues);
        out.put_u64("make", &[self.make.sparse as u64, self.make.dense as u64, self.make.negative as u64]);
        Ok(())
    }

    fn is_linear(&self) -> bool {
        true
    }

    /// What a term adds to a score, directly and through the directions.
    fn gradient(&self, x: &Matrix, weights: &Weights<'_>, _run: &Run) -> Result<Option<Dense>> {
        let inputs = self.n_inputs();
        let (through, sign): (Vec<f32>, f32) = match self.is_explicit() {
            // Rows are written out: w·(x − V Vᵀx) = (w − V Vᵀw)·x.
            true => {
                let own = Dense::new(inputs, 1, weights.range(0..inputs))?;
                (self.vectors.transposed_matmul(&own)?.values().to_vec(), -1.0)
            }
            false => (weights.range(inputs..self.n_columns()), 1.0),
        };
        let mut gradient = Dense::zeros(inputs, 1);
        x.row(0).for_each(|column, _| {
            let product: f32 = self.vectors.row(column).iter().zip(&through).map(|(a, b)| a * b).sum();
            gradient.row_mut(column)[0] = weights.at(column) + sign * product;
        });
        Ok(Some(gradient))
    }

    fn evens_out_topics(&self) -> bool {
        true
    }
}
