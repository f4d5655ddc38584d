//! dCoT, the dense cohort of terms: documents beside a reconstruction of their frequent terms, learnt from documents
//! with words removed at random.
//!
//! One layer learns W and b that give back r prototype terms x̄ from a document x̂ of which each word was kept with
//! probability p = 1 − noise, with the least squared error over *all* ways to remove words. The expectations have a
//! closed form (marginalised denoising). With m the column means, X_c = X − 1mᵀ, C = X_cᵀX_c, D = diag(XᵀX) and P the
//! prototype columns,
//!
//! W = C_P (p·C + (1 − p)·D)⁻¹,  b = m̄ − p·W m,  z = tanh(W x + b).
//!
//! The bias is the paper's constant feature that is never removed; taking it out of the equations is what centres X.
//! `ridge` times the mean of D is added to D, so that a column never seen gets weight 0 and no division by 0.
//! Layer l + 1 learns r × r in the same way from z^l, and the output is (x, z¹, …, z^L) with x kept sparse.
//!
//! # Solving
//! With α = p/(1 − p) and K = X_c D⁻¹ X_cᵀ three ways give the same W:
//! - Woodbury, n ≲ d: Wᵀ = D⁻¹ X_cᵀ (I + αK)⁻¹ X̄_c / (1 − p), one n × n Cholesky; n³/3 + 2n²r;
//! - Cholesky, d ≲ n and every layer after the first: one d × d factorisation; d³/3 + 2d²r;
//! - conjugate gradients on I + αK, sixteen prototypes at a time, sparse products only: O(nnz·r) a step and
//!   O(nnz + d·r) memory. High noise makes α small and the system almost the identity: ten to thirty steps.
//!
//! [`Solver::Auto`] solves the first sixteen prototypes by gradients, counts the steps, and goes on with what is then
//! cheapest and fits in memory.
//!
//! # What is put beside x
//! Each z^l is centred on its training mean, and each document's brought to a squared length of `weight` times the mean
//! of x's. As they come, tanh outputs of short and long documents differ in size by a factor of ten, later layers' are
//! larger still, and a linear classifier with its one cost parameter then hears the loudest: a second layer helps short
//! texts and hurts long ones. Brought to one length it helps both. The fewer the labels of each class, the more
//! reconstructions are worth beside x: about 8 is a good `weight` for five labels of a class, 2 for twenty-five, 0.5 for
//! a hundred. `auto` starts from that and moves only where held-out documents clearly ask for it.
//!
//! # How many prototypes
//! 2000 instead of the paper's 1000: chosen on held-out training rows, where 20 Newsgroups gains one to three points
//! with up to 1000 labels, and search snippets and Reuters less than a point. Time, memory and model size double, so
//! more than 100 000 documents have the paper's 1000.
//!
//! Reference: Xu, Chen, Weinberger and Sha, From sBoW to dCoT: marginalized encoders for text representation, CIKM
//! 2012. We differ in the centring and the common length, in counting a term's documents and not its occurrences for the most
//! frequent terms (tf-idf knows no occurrences), and in the solvers.
//!
//! ```
//! use corpuscle::{Run, matrix::{Csr, Matrix}, project::{DcotParams, Noise, Prototypes}};
//! // Terms 0 and 1 occur together, and so do 2 and 3.
//! let rows = [vec![(0, 1.0), (1, 1.0)], vec![(0, 1.0), (1, 1.0)], vec![(2, 1.0), (3, 1.0)], vec![(2, 1.0), (3, 1.0)]];
//! let x = Matrix::from(Csr::from_rows(4, rows));
//! let run = Run::new(42, 1)?;
//! let params = DcotParams { prototypes: Prototypes::Value(4), noise: Noise::Value(0.5), ..DcotParams::default() };
//! let (model, z) = params.fit(x, &run)?;
//! assert_eq!(z.cols(), 4 + 4 * model.layers());
//! let only_term_0 = Matrix::from(Csr::from_rows(4, [vec![(0, 1.0)]]));
//! let back = model.reconstruct(&only_term_0, &run)?;
//! assert!(back[0][..2].iter().all(|&(term, weight)| term < 2 && weight > 0.0));
//! # Ok::<(), corpuscle::Error>(())
//! ```

mod layer;
mod model;
mod prototypes;
#[cfg(test)]
mod tests;

pub use model::DcotModel;

use serde::{Deserialize, Serialize};

use crate::matrix::Matrix;
use crate::{Error, Result, Run};

/// How many terms are reconstructed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Prototypes {
    /// So many; all columns when there are fewer.
    Value(usize),
    /// As many as suit the number of documents: 2000, beyond 100 000 documents 1000 for the sake of memory.
    Auto,
}

/// Prototypes where their outputs are small beside the memory of a desk computer.
const MANY: usize = 2000;
/// Prototypes of more than [`LARGE`] documents, whose two layers of outputs take 0.8 GB for each 100 000.
const FEWER: usize = 1000;
/// Documents up to which there are many prototypes.
const LARGE: usize = 100_000;

impl Prototypes {
    /// The number for so many documents.
    pub fn of(self, documents: usize) -> usize {
        match self {
            Prototypes::Value(count) => count,
            Prototypes::Auto if documents > LARGE => FEWER,
            Prototypes::Auto => MANY,
        }
    }
}

/// The share of words removed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Noise {
    /// This share, between 0 and 1.
    Value(f64),
    /// Picked on held-out labelled documents, by whoever runs the recipe.
    Auto,
}

/// How often the method is applied to its own output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layers {
    /// This many layers.
    Value(usize),
    /// Picked on held-out labelled documents, by whoever runs the recipe.
    Auto,
}

/// The squared length of each layer's output, as a multiple of the mean of x's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Weight {
    /// This multiple.
    Value(f64),
    /// Picked on held-out labelled documents, by whoever runs the recipe.
    Auto,
}

/// Which terms are reconstructed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Select {
    /// Those of most documents.
    Frequent,
    /// Those that say most about the class, as `ig` picks them.
    InformationGain,
    /// These, by name.
    Terms(Vec<String>),
}

/// How the equations of the first layer are solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Solver {
    /// Whatever is cheapest and fits in memory.
    Auto,
    /// A factorisation as large as there are documents.
    Woodbury,
    /// A factorisation as large as there are columns.
    Cholesky,
    /// Conjugate gradients.
    Gradients,
}

/// What to reconstruct, from how little, and how often.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DcotParams {
    /// How many terms are reconstructed.
    pub prototypes: Prototypes,
    /// The share of words removed.
    pub noise: Noise,
    /// How often the method is applied to its own output.
    pub layers: Layers,
    /// Which terms are reconstructed.
    pub select: Select,
    /// The squared length of each layer's output, as a multiple of the mean of x's.
    pub weight: Weight,
    /// What is added to the diagonal, as a share of its mean.
    pub ridge: f64,
    /// How the equations of the first layer are solved.
    pub solver: Solver,
}

impl Default for DcotParams {
    fn default() -> Self {
        DcotParams {
            prototypes: Prototypes::Auto,
            noise: Noise::Value(0.97),
            layers: Layers::Value(2),
            select: Select::Frequent,
            weight: Weight::Value(2.0),
            ridge: 1e-5,
            solver: Solver::Auto,
        }
    }
}

/// Most layers that are stacked.
const MOST_LAYERS: usize = 20;
/// Most prototype terms: later layers solve dense systems of this size.
const MOST_PROTOTYPES: usize = 20_000;

impl DcotParams {
    /// Names a value out of range.
    pub fn check(&self) -> Result<()> {
        let wrong =
            |name, value: &dyn ToString, reason: &str| Err(Error::parameter("dcot", name, value.to_string(), reason));
        if let Prototypes::Value(count) = self.prototypes
            && !(1..=MOST_PROTOTYPES).contains(&count)
        {
            return wrong("prototypes", &count, "must be between 1 and 20000, or auto");
        }
        if let Noise::Value(noise) = self.noise
            && !(0.01..=0.999).contains(&noise)
        {
            return wrong("noise", &noise, "must be between 0.01 and 0.999, or auto");
        }
        if let Layers::Value(layers) = self.layers
            && !(1..=MOST_LAYERS).contains(&layers)
        {
            return wrong("layers", &layers, "must be between 1 and 20, or auto");
        }
        if let Weight::Value(weight) = self.weight
            && !(weight > 0.0 && weight <= 1e6)
        {
            return wrong("weight", &weight, "must be above 0 and at most 1000000, or auto");
        }
        if !(1e-9..=1e3).contains(&self.ridge) {
            return wrong("ridge", &self.ridge, "must be between 1e-9 and 1000");
        }
        if let Select::Terms(terms) = &self.select
            && terms.is_empty()
        {
            return wrong("terms", &"", "must name at least one term");
        }
        Ok(())
    }

    /// Learns from all rows of `x` to reconstruct its most frequent terms, and gives those rows with the
    /// reconstructions beside them.
    pub fn fit(&self, x: Matrix, run: &Run) -> Result<(DcotModel, Matrix)> {
        let prototypes = self.choose(&x, None, &Vec::new, run)?;
        self.fit_on(x, prototypes, run)
    }

    /// Learns from all rows of `x` to reconstruct the columns `prototypes`, in their order, as [`DcotParams::choose`]
    /// gives them.
    pub fn fit_on(&self, x: Matrix, prototypes: Vec<u32>, run: &Run) -> Result<(DcotModel, Matrix)> {
        self.check()?;
        let (Noise::Value(noise), Layers::Value(layers), Weight::Value(weight)) =
            (self.noise, self.layers, self.weight)
        else {
            let reason = "must be numbers here: try several on held-out documents and keep the best";
            return Err(Error::parameter("dcot", "noise, layers and weight", "auto", reason));
        };
        check_sparse(&x)?;
        if x.rows() < 2 || x.sparse().nnz() == 0 {
            return Err(Error::data("dcot: there must be at least two documents, with terms in them, to learn from"));
        }
        if prototypes.is_empty() || prototypes.iter().any(|&column| column as usize >= x.cols()) {
            return Err(Error::Shape { what: "dcot: prototype column", expected: x.cols(), found: prototypes.len() });
        }
        run.install(|| model::fit(self, (noise, layers, weight), x, prototypes, run))
    }
}

/// Terms are sparse columns; what a stage like `lsi` makes of them cannot be removed word by word.
fn check_sparse(x: &Matrix) -> Result<()> {
    match x.dense().cols() {
        0 => Ok(()),
        dense => Err(Error::data(format!(
            "`dcot` reconstructs terms and cannot follow a stage that makes dense columns (here {dense}); put it right \
             after counts, binary, tfidf or ig"
        ))),
    }
}
