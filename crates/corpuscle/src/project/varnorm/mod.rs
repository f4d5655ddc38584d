//! VarNorm: removes the directions in which documents of one topic differ most.
//!
//! x̃ = P x with P = I − V Vᵀ, V orthonormal with `components` columns, chosen to leave the least intra-topic variability
//! Q = Σ_ij w_ij ‖P(x_i − x_j)‖², w_ij being the number of topics that documents i and j share. With n_c documents and
//! mean μ_c of topic c,
//!
//! Q = 2 tr(P S), S = Σ_c n_c Σ_{i∈c} (x_i − μ_c)(x_i − μ_c)ᵀ,
//!
//! so V holds the leading eigenvectors of S. The paper solves the same problem through the n × n kernel (its equation
//! 10); here S = BᵀB with one row √n_c (x_i − μ_c) of B for every document and topic, and V are the leading right
//! singular vectors of B by block Lanczos, B being applied as one sparse product and a subtraction of class means.
//! O(nnz · components) time; nothing of size n × n, d × d or n × d is built.
//!
//! # What comes out
//! - A matrix with a sparse part keeps it and gets the columns a = Vᵀx beside it, marked as counting negatively in inner
//!   products: x̃·ỹ = x·y − a·b. Any classifier sees the projected documents and no row is ever written out.
//! - A dense matrix without such columns is projected and stays as wide as it was.
//!
//! Where columns count negatively already (after another `varnorm`), the same holds in their inner product.
//! Unlabelled documents are transformed and play no part in the fit.
//!
//! Reference: Liu, Guo, Ling, Jiang and Hu, Intra-topic variability normalization based on linear projection for topic
//! classification, NAACL 2016, whose figure 1 [`intra_topic_variability`] computes. We differ in the solver, in several
//! topics per document, and in using fewer components when there are not as many directions as asked for.
//!
//! ```
//! use corpuscle::{Run, corpus::Labels, matrix::{Csr, Matrix}, project::VarNormParams};
//! // Both topics vary in the last column only.
//! let x = Matrix::from(Csr::from_rows(3, [vec![(0, 1.0)], vec![(0, 1.0), (2, 2.0)], vec![(1, 1.0)], vec![(1, 1.0), (2, 1.0)]]));
//! let labels = Labels::from_single(["a", "a", "b", "b"].map(Some));
//! let run = Run::new(42, 1)?;
//! let model = VarNormParams { components: 1, ..VarNormParams::default() }.fit(&x, &labels, &run)?;
//! let projected = model.transform(x, &run)?;
//! assert!((projected.row(0).inner(&projected.row(1)) - 1.0).abs() < 1e-5);
//! assert!((projected.row(1).norm_squared() - 1.0).abs() < 1e-5);
//! # Ok::<(), corpuscle::Error>(())
//! ```

mod model;
#[cfg(test)]
mod tests;
mod variability;

pub use model::VarNormModel;
pub use variability::{TopicVariability, intra_topic_variability};

use serde::{Deserialize, Serialize};

use super::members::{About, Centred, Members};
use crate::corpus::Labels;
use crate::matrix::Matrix;
use crate::matrix::panel::Operator;
use crate::matrix::svd::{check_finite, truncated_svd_of};
use crate::{Error, Result, Run};

/// How many directions to remove and how hard to look for them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VarNormParams {
    /// Directions to remove; fewer are removed, with a warning, when documents do not differ in that many.
    pub components: usize,
    /// Steps of the solver, each adding 16 vectors to the space searched; 0 takes components / 8 + 6.
    pub iterations: usize,
}

impl Default for VarNormParams {
    fn default() -> Self {
        VarNormParams { components: 60, iterations: 0 }
    }
}

impl VarNormParams {
    /// Names a value out of range.
    pub fn check(&self) -> Result<()> {
        match self.components {
            0 => return Err(Error::parameter("varnorm", "components", 0, "must be at least 1")),
            1..=20_000 => {}
            more => return Err(Error::parameter("varnorm", "components", more, "must be at most 20000; 60 is usual")),
        }
        match self.iterations {
            0..=10_000 => Ok(()),
            more => Err(Error::parameter("varnorm", "iterations", more, "must be at most 10000 (0: automatic)")),
        }
    }

    /// Learns from the labelled rows of `x` which directions to remove.
    pub fn fit(&self, x: &Matrix, labels: &Labels, run: &Run) -> Result<VarNormModel> {
        self.check()?;
        check_finite(x)?;
        let (members_of, members) = Members::of("varnorm", x, labels)?;
        let svd = run.install(|| {
            let operator = Operator::new(&members_of);
            let centred = Centred::new(&operator, &members, About::ClassMeans);
            truncated_svd_of(&centred, self.components, self.iterations, run)
        })?;
        let found = svd.singular_values.len();
        if found < self.components {
            let asked = self.components;
            run.warn(&format!(
                "varnorm: documents of one topic differ in {found} directions, so {found} are removed and not {asked}"
            ));
        }
        Ok(VarNormModel::new(x, svd.vectors, svd.singular_values.iter().map(|value| value * value).collect()))
    }
}
