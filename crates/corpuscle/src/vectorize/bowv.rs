//! Bags of word vectors: the words of each cluster summed up, the sums side by side.
//!
//! Words are clustered by k-means. A document has, for each cluster, Σ count(w) · w⃗ over its words there (K·d columns),
//! and Σ count(w) · idf(w) (K columns, "inverse cluster frequency"). V. Gupta, H. Karnick, A. Bansal and P. Jhala,
//! "Product classification in e-commerce using distributional semantics" (2016). That paper leaves open how the two
//! parts are scaled: here each is made of the same length, and the whole of unit length. Small entries are made zero as
//! in SCDV, since nearly full rows of K·d numbers would not fit memory; `sparsity = 0` keeps them.

use serde::{Deserialize, Serialize};

use super::composite::{Composite, Kind};
use super::scdv::{check_clusters, check_words};
use super::space::{SpaceParams, WordSpace};
use crate::matrix::Csr;
use crate::store::{StoreReader, StoreWriter};
use crate::text::Tokens;
use crate::words::KmeansParams;
use crate::{Result, Run};

/// Parameters of bags of word vectors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BowvParams {
    /// Where word vectors come from.
    pub space: SpaceParams,
    /// Clusters of words.
    pub clusters: usize,
    /// Entries below this many hundredths of the mean largest size become zero; 0 keeps all.
    pub sparsity: f64,
}

impl Default for BowvParams {
    fn default() -> Self {
        BowvParams { space: SpaceParams::default(), clusters: 60, sparsity: 4.0 }
    }
}

/// Fitted bags of word vectors.
#[derive(Debug, Clone, PartialEq)]
pub struct BowvModel {
    composite: Composite,
}

impl BowvParams {
    /// Checks every value; the error names the one out of range.
    pub fn check(&self) -> Result<()> {
        self.space.check_as("bowv")?;
        check_clusters("bowv", self.clusters, self.sparsity)
    }

    /// Learns word vectors and clusters; gives the matrix of the fitted documents as well.
    pub fn fit(&self, tokens: &Tokens, run: &Run) -> Result<(BowvModel, Csr)> {
        self.check()?;
        let space = self.space.fit(tokens, run)?;
        check_words("bowv", self.clusters, &space)?;
        let found =
            KmeansParams { clusters: self.clusters, ..KmeansParams::default() }.fit(space.vectors().vectors(), run)?;
        let posteriors = Csr::from_rows(self.clusters, found.clusters.iter().map(|&cluster| vec![(cluster, 1.0)]));
        let composite = Composite::fit(space, posteriors, Kind::Bowv, self.sparsity, tokens, run)?;
        let model = BowvModel { composite };
        let x = model.transform(tokens, run)?;
        Ok((model, x))
    }
}

impl BowvModel {
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

    /// Puts the model into a store.
    pub fn save(&self, out: &mut StoreWriter) -> Result<()> {
        self.composite.save(out);
        Ok(())
    }

    /// Takes a model out of a store, checking it whole.
    pub fn load(store: &StoreReader<'_>) -> Result<Self> {
        Ok(BowvModel { composite: Composite::load(Kind::Bowv, store)? })
    }
}
