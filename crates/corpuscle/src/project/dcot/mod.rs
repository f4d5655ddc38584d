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
//! Each z^l is centred on its training mean, turned onto `rank` directions, and each document's brought to a squared length of
//! `weight` times the mean of x's; `weight=none` leaves it as it comes. As they come, tanh outputs of short and long documents
//! differ in size by a factor of ten, later layers' are larger still, and a linear classifier with its one cost parameter then
//! hears the loudest: a second layer helps short texts and hurts long ones. Brought to one length it helps both. The fewer the
//! labels of each class, the more reconstructions are worth beside x: about 8 is a good `weight` for five labels of a class, 2
//! for twenty-five, 0.5 for a hundred. `auto` starts from that and moves only where held-out documents clearly ask for it.
//!
//! # How much of it
//! The outputs of all documents scatter in few directions: 100 to 300 principal ones, found without labels, are worth as much
//! as all 2000 columns, and with few labels more, since a classifier has fewer weights to learn. So `rank` of them are
//! kept, and the layer itself is kept as the product of two narrow matrices in eight bits (see `factor`): a model of 20
//! Newsgroups takes 26 MB instead of 479. Chosen on held-out training rows (neighbouring rows together) of search snippets
//! and 20 Newsgroups: with up to 300 labels two layers of 100 directions each (snippets at 50 labels 71.7 %, one layer
//! 69.5 %), with more one layer of 15 directions for each class, 100 at least and 300 at most: at 500 labels the 8 classes of
//! snippets have 82.1 % with 100 and 81.6 % with 200 (two whole layers 81.7 %), at 2000 the 20 newsgroups 83.7, 84.0 and 84.4 %
//! with 100, 200 and 300 (84.1 %).
//! `rank=full` keeps every column, and [`crate::Precision::Full`] every bit.
//!
//! # How many prototypes
//! 2000: chosen on held-out training rows, where 20 Newsgroups gains one to three points over 1000 with up to 1000 labels, and
//! search snippets and Reuters less than a point. Time doubles, so more than 100 000 documents have 1000.
//!
//! Reference: Xu, Chen, Weinberger and Sha, From sBoW to dCoT: marginalized encoders for text representation, CIKM
//! 2012. We differ in the centring, the directions and the common length, in counting a term's documents and not its
//! occurrences for the most frequent terms (tf-idf knows no occurrences), and in the solvers. The published method, whose
//! layers stand beside x as they come, is `counts | dcot(weight=none)`; it leaves the number of prototypes open, and its
//! noise and layers to a validation part.
//!
//! ```
//! use corpuscle::{Run, corpus::Labels, matrix::{Csr, Matrix}, project::{DcotParams, Projector, Rank, Target}};
//! // Terms 0 and 1 occur together, and so do 2 and 3.
//! let rows = [vec![(0, 1.0), (1, 1.0)], vec![(0, 1.0), (1, 1.0)], vec![(2, 1.0), (3, 1.0)], vec![(2, 1.0), (3, 1.0)]];
//! let x = Matrix::from(Csr::from_rows(4, rows));
//! let run = Run::new(42, 1)?;
//! let params = DcotParams { prototypes: 4.into(), noise: 0.5.into(), rank: Rank::Full.into(), ..DcotParams::default() };
//! let (model, z) = params.fit(&x, &Target::new(&Labels::none(4)), &run)?;
//! assert_eq!(z.cols(), 4 + 4 * model.n_layers());
//! let only_term_0 = Matrix::from(Csr::from_rows(4, [vec![(0, 1.0)]]));
//! let back = model.reconstructed(&only_term_0, &run)?;
//! assert!(back[0][..2].iter().all(|&(term, weight)| term < 2 && weight > 0.0));
//! # Ok::<(), corpuscle::Error>(())
//! ```

mod choose;
mod elsewhere;
mod factor;
mod fit;
mod gradient;
mod layer;
mod model;
mod prototypes;
mod scatter;
#[cfg(test)]
mod tests;
mod weights;

pub use elsewhere::FoundLayer;
pub use model::DcotModel;

use serde::{Deserialize, Serialize};

use super::{Columns, Projector, Target};
use crate::corpus::Labels;
use crate::matrix::Matrix;
use crate::params::{Auto, Checks, Form, Kind, Param, Params, Value};
use crate::store::StoreReader;
use crate::{Error, Result, Run, param};

/// Prototypes of up to [`LARGE`] documents.
const MANY: usize = 2000;
/// Prototypes of more: with `rank=full` two layers of outputs take 0.8 GB for each 100 000 documents.
const FEWER: usize = 1000;
/// Documents up to which there are many prototypes.
const LARGE: usize = 100_000;

/// Labels up to which there are two layers with [`FEWEST_DIRECTIONS`] kept of each; with more labels there is one.
const FEW_LABELS: usize = 300;
/// Directions kept for each class of a corpus with more labels than that, and how many at least and at most.
const DIRECTIONS_FOR_A_CLASS: f64 = 15.0;
const FEWEST_DIRECTIONS: usize = 100;
const MOST_DIRECTIONS: usize = 300;

/// How much is put beside a document where that is left to the labels.
#[derive(Debug, Clone, Copy)]
struct Extent {
    layers: usize,
    rank: usize,
}

impl Extent {
    fn with(labels: &Labels) -> Self {
        if labels.labelled_rows().len() <= FEW_LABELS {
            return Extent { layers: 2, rank: FEWEST_DIRECTIONS };
        }
        let wanted = (DIRECTIONS_FOR_A_CLASS * effective_classes(labels)).round() as usize;
        Extent { layers: 1, rank: wanted.clamp(FEWEST_DIRECTIONS, MOST_DIRECTIONS) }
    }
}

/// As many classes as equally large ones would be with the same entropy: rare classes count for what they hold.
fn effective_classes(labels: &Labels) -> f64 {
    let counts = labels.class_counts();
    let total: f64 = counts.iter().map(|&count| count as f64).sum();
    let shares = counts.iter().filter(|&&count| count > 0).map(|&count| count as f64 / total);
    (-shares.map(|share| share * share.ln()).sum::<f64>()).exp()
}

/// Which terms are reconstructed when none are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Select {
    /// Those of most documents.
    Frequent,
    /// Those that say most about the class, as `ig` picks them.
    InformationGain,
}
crate::words!(Select { Frequent = "frequent", InformationGain = "information_gain" });

/// Terms by name; none leaves the choice to [`Select`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Terms(pub Vec<String>);

/// The word for no terms, and for outputs as they come.
const NONE: &str = "none";

impl Value for Terms {
    fn read(text: &str) -> Option<Self> {
        let terms = text.split(',').map(str::trim).filter(|term| !term.is_empty()).map(String::from);
        let terms: Vec<String> = if text == NONE { Vec::new() } else { terms.collect() };
        (text == NONE || !terms.is_empty()).then_some(Terms(terms))
    }

    fn show(&self) -> String {
        if self.0.is_empty() { NONE.to_string() } else { self.0.join(",") }
    }

    fn form() -> Form {
        Form::of(Kind::Text).or(NONE)
    }
}

/// What is put beside a document of each layer's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rank {
    /// All of it.
    Full,
    /// Its part along the directions in which the training documents' outputs differ most, so many of them.
    #[serde(untagged)]
    Directions(usize),
}

/// The word for all of it.
const FULL: &str = "full";

impl std::fmt::Display for Rank {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.show())
    }
}

impl Value for Rank {
    fn read(text: &str) -> Option<Self> {
        if text == FULL { Some(Rank::Full) } else { text.parse().ok().map(Rank::Directions) }
    }

    fn show(&self) -> String {
        match self {
            Rank::Directions(count) => count.to_string(),
            Rank::Full => FULL.to_string(),
        }
    }

    fn form() -> Form {
        Form::of(Kind::Whole).or(FULL)
    }
}

/// How long a layer's output is beside a document.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Weight {
    /// As it comes out of tanh, neither centred nor brought to a length: the published method.
    None,
    /// Centred, with a squared length of so many times the mean of x's.
    #[serde(untagged)]
    Times(f64),
}

impl std::fmt::Display for Weight {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.show())
    }
}

impl Value for Weight {
    fn read(text: &str) -> Option<Self> {
        if text == NONE { Some(Weight::None) } else { f64::read(text).map(Weight::Times) }
    }

    fn show(&self) -> String {
        match self {
            Weight::Times(times) => times.show(),
            Weight::None => NONE.to_string(),
        }
    }

    fn form() -> Form {
        f64::form().or(NONE)
    }
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
crate::words!(Solver { Auto = "auto", Woodbury = "woodbury", Cholesky = "cholesky", Gradients = "gradients" });

/// What to reconstruct, from how little, and how often.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DcotParams {
    /// How many terms are reconstructed; all columns when there are fewer. `auto` is 2000, beyond 100 000 documents 1000
    /// for the sake of time, and with `rank=full` of memory.
    pub prototypes: Auto<usize>,
    /// The share of words removed.
    pub noise: Auto<f64>,
    /// How often the method is applied to its own output. `auto` is twice with up to 300 labels, and once with more.
    pub layers: Auto<usize>,
    /// Which terms are reconstructed.
    pub select: Select,
    /// The terms to reconstruct, by name; `@FILE` alone names a file that holds them, one a line.
    pub terms: Terms,
    /// The squared length of each layer's output, as a multiple of the mean of x's; `none` leaves outputs as they come.
    pub weight: Auto<Weight>,
    /// How much of each layer's output is put beside a document. `auto` takes 100 directions with few labels, and with many 15
    /// for each class, at most 300; all of it where outputs are left as they come.
    pub rank: Auto<Rank>,
    /// What is added to the diagonal, as a share of its mean.
    pub ridge: f64,
    /// How the equations of the first layer are solved.
    pub solver: Solver,
}

impl Default for DcotParams {
    fn default() -> Self {
        DcotParams {
            prototypes: Auto::Auto,
            noise: Auto::Value(0.97),
            layers: Auto::Auto,
            select: Select::Frequent,
            terms: Terms::default(),
            weight: Auto::Value(Weight::Times(2.0)),
            rank: Auto::Auto,
            ridge: 1e-5,
            solver: Solver::Auto,
        }
    }
}

/// Most layers that are stacked.
const MOST_LAYERS: usize = 20;
/// Most prototype terms: later layers solve dense systems of this size.
const MOST_PROTOTYPES: usize = 20_000;

impl Params for DcotParams {
    const NAME: &'static str = "dcot";
    const ABOUT: &'static str =
        "puts beside each document its frequent terms, reconstructed from all its words; needs no labels";

    const BEFORE: &'static [(&'static str, &'static str)] = &[("layers", "2"), ("rank", FULL)];

    fn table() -> Vec<Param<Self>> {
        vec![
            param!("prototypes", prototypes, "terms to reconstruct; auto: 2000, above 100 000 documents 1000"),
            param!("noise", noise, "share of words removed while learning"),
            param!("layers", layers, "how often it is applied to its own output; auto: 2, above 300 labels 1"),
            param!("select", select, "which terms are reconstructed"),
            param!("terms", terms, "the terms to reconstruct, as \"tasty,food\", or \"@FILE\" with one a line"),
            param!(
                "weight",
                weight,
                "squared length of each layer's output beside that of the document; none: as it comes, as published"
            ),
            param!(
                "rank",
                rank,
                "directions kept of each layer's output; auto: 100 up to 300 labels, then 100 to 300 by the classes"
            ),
            param!("ridge", ridge, "added to the diagonal of the equations, as a share of its mean"),
            param!("solver", solver, "how the equations of the first layer are solved"),
        ]
    }

    fn check(&self) -> Result<()> {
        let prototypes = |count: usize| (1..=MOST_PROTOTYPES).contains(&count);
        let noise = |noise: f64| (0.01..=0.999).contains(&noise);
        let layers = |layers: usize| (1..=MOST_LAYERS).contains(&layers);
        let weight = |weight: Weight| match weight {
            Weight::None => true,
            Weight::Times(times) => times > 0.0 && times <= 1e6,
        };
        let rank = |rank: Rank| rank == Rank::Full || matches!(rank, Rank::Directions(1..=MOST_PROTOTYPES));
        Checks::of(Self::NAME)
            .auto(prototypes, "prototypes", self.prototypes, "must be between 1 and 20000, or auto")
            .auto(noise, "noise", self.noise, "must be between 0.01 and 0.999, or auto")
            .auto(layers, "layers", self.layers, "must be between 1 and 20, or auto")
            .auto(weight, "weight", self.weight, "must be above 0 and at most 1000000, none or auto")
            .auto(rank, "rank", self.rank, "must be between 1 and 20000, full or auto")
            .that((1e-9..=1e3).contains(&self.ridge), "ridge", &self.ridge, "must be between 1e-9 and 1000")
            .done()
    }
}

impl Projector for DcotParams {
    type Model = DcotModel;
    const MAKES: Columns = Columns::Beside;
    const NEEDS_TERMS: bool = true;

    /// Learns from all rows of `x`, labelled or not, and gives those rows with the reconstructions beside them. Labels have a
    /// say only where a value is left to be found or terms are chosen by them.
    fn fit(&self, x: &Matrix, target: &Target<'_>, run: &Run) -> Result<(DcotModel, Matrix)> {
        self.check()?;
        check_sparse(x)?;
        let params = self.with_terms_of_file()?;
        let prototypes = params.prototype_columns(x, target, run)?;
        match params.given(target.labels()) {
            Some(values) => params.fit_on(x, prototypes, values, run),
            None => params.fit_best(x, prototypes, target, run),
        }
    }

    fn load(&self, store: &StoreReader<'_>) -> Result<DcotModel> {
        DcotModel::load(store)
    }

    fn needs_labels(&self) -> bool {
        self.asks_judge() || self.learns_from_labels()
    }

    fn learns_from_labels(&self) -> bool {
        self.select == Select::InformationGain && self.terms.0.is_empty()
    }

    fn asks_judge(&self) -> bool {
        self.noise.is_auto() || self.weight.is_auto()
    }

    fn resolved(&self, model: &DcotModel) -> Self {
        DcotParams {
            // A fold has fewer documents, which must not change how many terms are reconstructed.
            prototypes: Auto::Value(model.prototypes().len()),
            noise: Auto::Value(model.noise()),
            layers: Auto::Value(model.n_layers()),
            weight: Auto::Value(model.weight().unwrap_or(Weight::Times(1.0))),
            rank: Auto::Value(model.rank().map_or(Rank::Full, Rank::Directions)),
            ..self.clone()
        }
    }
}

/// Values that a fit needs.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Given {
    noise: f64,
    layers: usize,
    weight: Weight,
    /// Directions kept, or all.
    rank: Option<usize>,
}

impl DcotParams {
    /// The values, when none is left to be found.
    fn given(&self, labels: &Labels) -> Option<Given> {
        let (noise, weight) = (self.noise.value()?, self.weight.value()?);
        Some(Given { noise, layers: self.layers_for(labels), weight, rank: self.rank_for(labels) })
    }

    /// Directions kept of each layer's output with these labels; `None` for all of it.
    fn rank_for(&self, labels: &Labels) -> Option<usize> {
        match self.rank {
            Auto::Value(Rank::Full) => None,
            Auto::Value(Rank::Directions(count)) => Some(count),
            Auto::Auto if self.weight == Auto::Value(Weight::None) => None,
            Auto::Auto => Some(Extent::with(labels).rank),
        }
    }

    /// Layers with these labels.
    fn layers_for(&self, labels: &Labels) -> usize {
        self.layers.value().unwrap_or_else(|| Extent::with(labels).layers)
    }

    /// How many terms are reconstructed of so many documents.
    fn count(&self, documents: usize) -> usize {
        match self.prototypes {
            Auto::Value(count) => count,
            Auto::Auto if documents > LARGE => FEWER,
            Auto::Auto => MANY,
        }
    }

    /// Learns from all rows of `x` to reconstruct the columns `prototypes`, in their order.
    fn fit_on(&self, x: &Matrix, prototypes: Vec<u32>, values: Given, run: &Run) -> Result<(DcotModel, Matrix)> {
        if x.rows() < 2 || x.sparse().nnz() == 0 {
            return Err(Error::data("dcot: there must be at least two documents, with terms in them, to learn from"));
        }
        run.install(|| fit::fit(self, values, x, prototypes, run))
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
