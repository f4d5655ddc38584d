//! Bags of word vectors: the words of each cluster summed up, the sums side by side.
//!
//! Words are clustered by k-means. A document has, for each cluster, Σ count(w) · w⃗ over its words there (K·d columns),
//! and that cluster's weight (K columns, "inverse cluster frequency"): the mean of idf(w) over the document's tokens there, 0
//! where there are none. V. Gupta, H. Karnick, A. Bansal and P. Jhala, "Product classification in e-commerce using
//! distributional semantics" (2016).
//!
//! The paper on SCDV says that a cluster's weight averages the idf of its members; the program of both papers' authors adds
//! them up, which is `icf=sum` and was what we did before there was a choice. As in that program the two parts are made of the
//! same length each; then, which scales all documents alike, the whole of unit length.
//!
//! Every value is kept, as in the paper; those of clusters without a word are zero and take no space. `sparsity` makes small
//! ones zero as in SCDV, which the paper does not. Costs as in [`super::CompositeModel`]; 8 bytes for each value that is kept.

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

/// What a cluster of words weighs in a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClusterWeight {
    /// The mean idf of the document's tokens in it.
    #[default]
    Mean,
    /// Their sum.
    Sum,
}

crate::words!(ClusterWeight { Mean = "mean", Sum = "sum" });

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
    /// What each cluster weighs.
    pub icf: ClusterWeight,
}

impl Default for BowvParams {
    fn default() -> Self {
        BowvParams { space: SpaceParams::default(), clusters: 60, sparsity: 0.0, icf: ClusterWeight::default() }
    }
}

impl Params for BowvParams {
    const NAME: &'static str = "bowv";
    const ABOUT: &'static str = "word vectors summed up cluster by cluster, and the weight of each cluster";
    const BEFORE: &'static [(&'static str, &'static str)] = &[("sparsity", "4"), ("icf", "sum")];

    fn table() -> Vec<Param<Self>> {
        let mut table = vec![
            SpaceParams::first_param(|params: &Self| &params.space, |params| &mut params.space),
            param!("clusters", clusters, about::CLUSTERS),
            param!("sparsity", sparsity, about::SPARSITY),
            param!("icf", icf, "weight of a cluster: the mean or the sum of the idf of the document's words in it"),
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
    const ASKS_LABELLED: bool = true;

    fn fit(&self, tokens: &Tokens, run: &Run) -> Result<(CompositeModel, Matrix)> {
        self.fit_labelled(tokens, &[], run)
    }

    fn fit_labelled(&self, tokens: &Tokens, labelled: &[usize], run: &Run) -> Result<(CompositeModel, Matrix)> {
        let (model, x) = self.fit_cut(tokens, labelled, run)?;
        Ok((model, x.into()))
    }

    fn load(&self, store: &StoreReader<'_>) -> Result<CompositeModel> {
        CompositeModel::load(Kind::Bowv(self.icf), store)
    }
}

impl BowvParams {
    /// Learns word vectors and clusters; gives the matrix of the fitted documents as well.
    pub fn fit(&self, tokens: &Tokens, run: &Run) -> Result<(CompositeModel, Csr)> {
        self.fit_cut(tokens, &[], run)
    }

    fn fit_cut(&self, tokens: &Tokens, labelled: &[usize], run: &Run) -> Result<(CompositeModel, Csr)> {
        self.check()?;
        let space = self.space.fit(tokens, run)?;
        check_words(Self::NAME, self.clusters, &space)?;
        let found =
            KmeansParams { clusters: self.clusters, ..KmeansParams::default() }.fit(space.vectors().vectors(), run)?;
        let posteriors = Csr::from_rows(self.clusters, found.clusters.iter().map(|&cluster| vec![(cluster, 1.0)]));
        let model = CompositeModel::fit(space, posteriors, Kind::Bowv(self.icf), self.sparsity, tokens, labelled, run)?;
        let x = model.transform(tokens, run)?;
        Ok((model, x))
    }
}
