//! Sparse composite document vectors.
//!
//! 1. Word vectors by skip-gram, of unit length.
//! 2. A Gaussian mixture over them: P(c_k | w) for K clusters.
//! 3. A document is Σ_w count(w) · idf(w) · (P(c_1|w)·w⃗ ⊕ … ⊕ P(c_K|w)·w⃗), of unit length.
//! 4. Entries below p/100 · t become zero, t being the mean size of the least and largest entries of a row.
//!
//! D. Mekala, V. Gupta, B. Paranjape and H. Karnick, "SCDV: Sparse composite document vectors using soft clustering over
//! distributional representations" (2017). The paper says that all components share a spherical covariance; its
//! published program, and so its figures, has one full covariance, which is the default here. t is over all documents
//! the vectorizer is fitted on, labelled or not.
//!
//! ```
//! use corpuscle::{Run, text::WordsParams, vectorize::ScdvParams};
//! let run = Run::new(1, 1)?;
//! let texts: Vec<String> = (0..60).map(|i| ["the cat sat here", "tax law is hard"][i % 2].to_string()).collect();
//! let tokens = WordsParams::default().tokenize(&texts, &run)?;
//! let mut params = ScdvParams { clusters: 2, ..ScdvParams::default() };
//! params.space.training.dim = 4;
//! let (model, x) = params.fit(&tokens, &run)?;
//! assert_eq!((x.rows(), x.cols()), (60, 8));
//! assert_eq!(model.transform(&tokens, &run)?, x);
//! # Ok::<(), corpuscle::Error>(())
//! ```

use serde::{Deserialize, Serialize};

use super::composite::{Composite, Kind};
use super::space::{SpaceParams, WordSpace};
use crate::matrix::Csr;
use crate::store::{StoreReader, StoreWriter};
use crate::text::Tokens;
use crate::words::{Covariance, MixtureParams};
use crate::{Error, Result, Run};

/// Shares of a word in a cluster below this are left out: together they are less than a thousandth of a word.
const NEGLIGIBLE: f32 = 1e-5;

/// Parameters of SCDV.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScdvParams {
    /// Where word vectors come from.
    pub space: SpaceParams,
    /// Clusters of words.
    pub clusters: usize,
    /// The shape of the clusters.
    pub covariance: Covariance,
    /// Entries below this many hundredths of the mean largest size become zero; 0 keeps all.
    pub sparsity: f64,
}

impl Default for ScdvParams {
    fn default() -> Self {
        ScdvParams { space: SpaceParams::default(), clusters: 60, covariance: Covariance::default(), sparsity: 4.0 }
    }
}

/// A fitted SCDV.
#[derive(Debug, Clone, PartialEq)]
pub struct ScdvModel {
    composite: Composite,
}

/// Checks what SCDV and BoWV have in common.
pub(super) fn check_clusters(stage: &'static str, clusters: usize, sparsity: f64) -> Result<()> {
    if clusters == 0 || clusters > 1 << 16 {
        return Err(Error::parameter(stage, "clusters", clusters, "must be from 1 to 65536"));
    }
    if !(0.0..=100.0).contains(&sparsity) {
        return Err(Error::parameter(stage, "sparsity", sparsity, "must be from 0 to 100"));
    }
    Ok(())
}

/// Refuses more clusters than words.
pub(super) fn check_words(stage: &'static str, clusters: usize, space: &WordSpace) -> Result<()> {
    let words = space.vectors().len();
    if clusters <= words {
        return Ok(());
    }
    let reason = format!("is more than the {words} words that have a vector; take fewer, or lower min_count");
    Err(Error::parameter(stage, "clusters", clusters, reason))
}

impl ScdvParams {
    /// Checks every value; the error names the one out of range.
    pub fn check(&self) -> Result<()> {
        self.space.check_as("scdv")?;
        check_clusters("scdv", self.clusters, self.sparsity)
    }

    /// Learns word vectors and clusters; gives the matrix of the fitted documents as well.
    pub fn fit(&self, tokens: &Tokens, run: &Run) -> Result<(ScdvModel, Csr)> {
        self.check()?;
        self.fit_in(self.space.fit(tokens, run)?, tokens, run)
    }

    /// The same from word vectors that are there already.
    pub fn fit_in(&self, space: WordSpace, tokens: &Tokens, run: &Run) -> Result<(ScdvModel, Csr)> {
        check_words("scdv", self.clusters, &space)?;
        let mixture =
            MixtureParams { clusters: self.clusters, covariance: self.covariance, ..MixtureParams::default() };
        let vectors = space.vectors().vectors();
        let posteriors = mixture.fit(vectors, run)?.posteriors(vectors, NEGLIGIBLE, run)?;
        let composite = Composite::fit(space, posteriors, Kind::Scdv, self.sparsity, tokens, run)?;
        let model = ScdvModel { composite };
        let x = model.transform(tokens, run)?;
        Ok((model, x))
    }
}

impl ScdvModel {
    /// The matrix of documents; words without a vector are passed over.
    pub fn transform(&self, tokens: &Tokens, run: &Run) -> Result<Csr> {
        self.composite.transform(tokens, run)
    }

    /// How many columns the matrix has.
    pub fn n_features(&self) -> usize {
        self.composite.n_columns()
    }

    /// The words, their unit vectors and weights.
    pub fn space(&self) -> &WordSpace {
        &self.composite.space
    }

    /// The probability of each cluster given each word.
    pub fn posteriors(&self) -> &Csr {
        &self.composite.posteriors
    }

    /// The size below which entries are zero.
    pub fn cut(&self) -> f32 {
        self.composite.cut()
    }

    /// Puts the model into a store.
    pub fn save(&self, out: &mut StoreWriter) -> Result<()> {
        self.composite.save(out);
        Ok(())
    }

    /// Takes a model out of a store, checking it whole.
    pub fn load(store: &StoreReader<'_>) -> Result<Self> {
        Ok(ScdvModel { composite: Composite::load(Kind::Scdv, store)? })
    }
}
