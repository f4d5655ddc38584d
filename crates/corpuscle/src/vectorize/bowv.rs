//! Bags of word vectors: the words of each cluster summed up, the sums side by side.
//!
//! Words are clustered by k-means. A document has, for each cluster, Σ count(w) · w⃗ over its words there (K·d columns),
//! and Σ count(w) · idf(w) (K columns, "inverse cluster frequency"). V. Gupta, H. Karnick, A. Bansal and P. Jhala,
//! "Product classification in e-commerce using distributional semantics" (2016). That paper leaves open how the two
//! parts are scaled: here each is made of the same length, and the whole of unit length. Small entries are made zero as
//! in SCDV, since nearly full rows of K·d numbers would not fit memory; `sparsity = 0` keeps them.

use serde::{Deserialize, Serialize};

use super::Vectorizer;
use super::composite::{CompositeModel, Kind};
use super::scdv::{about, check_clusters, check_sparsity, check_words};
use super::space::SpaceParams;
use crate::matrix::{Csr, Matrix};
use crate::params::{Param, Params};
use crate::store::StoreReader;
use crate::text::Tokens;
use crate::words::KmeansParams;
use crate::{Result, Run, param};

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

impl Params for BowvParams {
    const NAME: &'static str = "bowv";
    const ABOUT: &'static str = "word vectors summed up cluster by cluster, and the weight of each cluster";

    fn table() -> Vec<Param<Self>> {
        let mut table = vec![
            SpaceParams::first_param(|params: &Self| &params.space, |params| &mut params.space),
            param!("clusters", clusters, about::CLUSTERS),
            param!("sparsity", sparsity, about::SPARSITY),
        ];
        table.extend(SpaceParams::other_params(|params: &Self| &params.space, |params| &mut params.space));
        table
    }

    fn check(&self) -> Result<()> {
        check_sparsity(check_clusters(self.space.checks(Self::NAME), self.clusters), self.sparsity).done()
    }
}

impl Vectorizer for BowvParams {
    type Model = CompositeModel;

    fn fit(&self, tokens: &Tokens, run: &Run) -> Result<(CompositeModel, Matrix)> {
        let (model, x) = BowvParams::fit(self, tokens, run)?;
        Ok((model, x.into()))
    }

    fn load(&self, store: &StoreReader<'_>) -> Result<CompositeModel> {
        CompositeModel::load(Kind::Bowv, store)
    }
}

impl BowvParams {
    /// Learns word vectors and clusters; gives the matrix of the fitted documents as well.
    pub fn fit(&self, tokens: &Tokens, run: &Run) -> Result<(CompositeModel, Csr)> {
        self.check()?;
        let space = self.space.fit(tokens, run)?;
        check_words(Self::NAME, self.clusters, &space)?;
        let found =
            KmeansParams { clusters: self.clusters, ..KmeansParams::default() }.fit(space.vectors().vectors(), run)?;
        let posteriors = Csr::from_rows(self.clusters, found.clusters.iter().map(|&cluster| vec![(cluster, 1.0)]));
        let model = CompositeModel::fit(space, posteriors, Kind::Bowv, self.sparsity, tokens, run)?;
        let x = model.transform(tokens, run)?;
        Ok((model, x))
    }
}
