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
//! use corpuscle::{Run, corpus::Labels, matrix::{Csr, Matrix}, project::{Projector, Target, VarNormParams}};
//! // Both topics vary in the last column only.
//! let x = Matrix::from(Csr::from_rows(3, [vec![(0, 1.0)], vec![(0, 1.0), (2, 2.0)], vec![(1, 1.0)], vec![(1, 1.0), (2, 1.0)]]));
//! let labels = Labels::from_single(["a", "a", "b", "b"].map(Some));
//! let run = Run::new(42, 1)?;
//! let params = VarNormParams { components: 1, ..VarNormParams::default() };
//! let (_, projected) = params.fit(&x, &Target::new(&labels), &run)?;
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

use super::lsi::check_iterations;
use super::members::{About, Centred, Members};
use super::{Columns, Projector, ProjectorModel, Target};
use crate::matrix::Matrix;
use crate::matrix::panel::Operator;
use crate::matrix::svd::{check_finite, truncated_svd_of};
use crate::param;
use crate::params::{Checks, Param, Params};
use crate::store::StoreReader;
use crate::{Result, Run};

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

impl Params for VarNormParams {
    const NAME: &'static str = "varnorm";
    const ABOUT: &'static str = "removes the directions in which documents of one topic differ most";

    fn table() -> Vec<Param<Self>> {
        vec![
            param!("components", components, "directions to remove"),
            param!("iterations", iterations, "steps of the solver, 16 vectors each; 0 for automatic"),
        ]
    }

    fn check(&self) -> Result<()> {
        let good = (1..=20_000).contains(&self.components);
        let checks =
            Checks::of(Self::NAME).that(good, "components", &self.components, "must be from 1 to 20000; 60 is usual");
        check_iterations(checks, self.iterations).done()
    }
}

impl Projector for VarNormParams {
    type Model = VarNormModel;
    const MAKES: Columns = Columns::Beside;

    /// Learns from the labelled rows of `x` which directions to remove.
    fn fit(&self, x: &Matrix, target: &Target<'_>, run: &Run) -> Result<(VarNormModel, Matrix)> {
        self.check()?;
        check_finite(x)?;
        let (members_of, members) = Members::of(Self::NAME, x, target.labels())?;
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
        let eigenvalues = svd.singular_values.iter().map(|value| value * value).collect();
        let model = VarNormModel::new(x, svd.vectors, eigenvalues);
        let rows = model.transform(x, run)?;
        Ok((model, rows))
    }

    fn load(&self, store: &StoreReader<'_>) -> Result<VarNormModel> {
        VarNormModel::load(store)
    }

    fn needs_labels(&self) -> bool {
        true
    }
}
