//! Local latent semantic indexing: a space of leading singular vectors for each class, beside that of all documents.
//!
//! With V the `rank` leading right singular vectors of all documents and V_c the `local` leading ones of the documents of
//! class c alone, a document x becomes (Vᵀx, V_1ᵀx, …, V_Cᵀx): rank + C · local columns, dense. E. Wiener, J. Pedersen and A. Weigend, "A
//! neural network approach to topic spotting" (1995), as told by S. Chakraborti and others, "Supervised latent semantic
//! indexing using adaptive sprinkling" (2007), who name it as a rival and measure nothing.
//!
//! What is left open, and what was chosen: how local and global spaces are combined: they stand side by side with equal
//! weight, so inner products are the sum of those in each space; which documents are local to a class: those with its label
//! (a document of several classes is in each); documents without a label take part in the global space alone. Vectors are not
//! divided by singular values, as in [`super::LsiParams`]. A class with fewer than `local` dimensions gives what it has.
//!
//! One decomposition per class: O(nnz · (rank + local)) in all and O(Σ_c min(n_c, d) · local²) beside.
//!
//! ```
//! use corpuscle::corpus::Labels;
//! use corpuscle::matrix::{Csr, Matrix};
//! use corpuscle::project::{LocalLsiParams, Projector, Target};
//! use corpuscle::Run;
//! let x = Matrix::from(Csr::from_rows(3, [vec![(0, 2.0), (1, 2.0)], vec![(0, 1.0), (1, 1.0)], vec![(2, 1.0)]]));
//! let labels = Labels::from_single([Some("a"), Some("a"), Some("b")]);
//! let params = LocalLsiParams { rank: 1, local: 1, ..LocalLsiParams::default() };
//! let (_, z) = params.fit(&x, &Target::new(&labels), &Run::new(42, 1)?)?;
//! // The first class is along the first direction of all documents, the second has one of its own.
//! assert!(z.row(2).dense[0].abs() < 1e-5 && z.row(2).dense[1].abs() < 1e-5 && z.row(2).dense[2].abs() > 0.99);
//! # Ok::<(), corpuscle::Error>(())
//! ```

use serde::{Deserialize, Serialize};

use super::class_spaces::{ClassSpacesModel, EVERYBODY};
use super::lsi::check_iterations;
use super::members::Members;
use super::{Columns, Projector, ProjectorModel, Target};
use crate::matrix::Matrix;
use crate::matrix::svd::truncated_svd;
use crate::params::{Checks, Param, Params};
use crate::store::StoreReader;
use crate::{Error, Result, Run, param};

/// Parameters of local latent semantic indexing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LocalLsiParams {
    /// Dimensions of the space of all documents; 0 for none.
    pub rank: usize,
    /// Dimensions of the space of each class.
    pub local: usize,
    /// Steps of the solver, each adding 16 vectors to the space searched; 0 takes as many as usual.
    pub iterations: usize,
}

impl Default for LocalLsiParams {
    fn default() -> Self {
        LocalLsiParams { rank: 50, local: 10, iterations: 0 }
    }
}

impl Params for LocalLsiParams {
    const NAME: &'static str = "local_lsi";
    const ABOUT: &'static str = "latent semantic indexing of each class, beside that of all documents";

    fn table() -> Vec<Param<Self>> {
        vec![
            param!("rank", rank, "dimensions for all documents together; 0 for none"),
            param!("local", local, "dimensions for each class"),
            param!("iterations", iterations, "steps of the solver, 16 vectors each; 0 for automatic"),
        ]
    }

    fn check(&self) -> Result<()> {
        let checks = Checks::of(Self::NAME)
            .that(self.rank <= 20_000, "rank", &self.rank, "must be at most 20000; a few hundred is usual")
            .that((1..=1000).contains(&self.local), "local", &self.local, "must be from 1 to 1000");
        check_iterations(checks, self.iterations).done()
    }
}

impl Projector for LocalLsiParams {
    type Model = ClassSpacesModel;
    const MAKES: Columns = Columns::Dimensions;

    fn fit(&self, x: &Matrix, target: &Target<'_>, run: &Run) -> Result<(ClassSpacesModel, Matrix)> {
        self.check()?;
        let (labelled, members) = Members::of(Self::NAME, x, target.labels())?;
        let (mut directions, mut origins) = (Vec::new(), Vec::new());
        let mut add = |x: &Matrix, rank: usize, origin: u32| -> Result<()> {
            let svd = truncated_svd(x, rank, self.iterations, run)?;
            directions.extend_from_slice(svd.vectors.transpose().values());
            origins.extend(vec![origin; svd.vectors.cols()]);
            run.advance(1);
            Ok(())
        };
        if self.rank > 0 {
            add(x, self.rank, EVERYBODY)?;
        }
        for class in members.present() {
            let own = (0..members.len()).filter(|&member| members.classes[member] as usize == class);
            let rows: Vec<usize> = own.map(|member| members.rows[member] as usize).collect();
            add(&labelled.select_rows(&rows), self.local, class as u32)?;
        }
        if origins.is_empty() {
            return Err(Error::data("local_lsi: the matrix holds only zeros, so there is nothing to project on"));
        }
        let model = ClassSpacesModel::new(x.cols(), &directions, origins)?;
        let z = model.transform(x, run)?;
        Ok((model, z))
    }

    fn load(&self, store: &StoreReader<'_>) -> Result<ClassSpacesModel> {
        ClassSpacesModel::load(store)
    }

    fn needs_labels(&self) -> bool {
        true
    }
}
