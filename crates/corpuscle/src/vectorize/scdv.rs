//! Sparse composite document vectors.
//!
//! 1. Word vectors by skip-gram, of unit length.
//! 2. A Gaussian mixture over them: P(c_k | w) for K clusters.
//! 3. A document is Σ_w count(w) · idf(w) · (P(c_1|w)·w⃗ ⊕ … ⊕ P(c_K|w)·w⃗), of unit length.
//! 4. Entries below p/100 · t become zero, t being the mean size of the least and largest entries of a row.
//!
//! D. Mekala, V. Gupta, B. Paranjape and H. Karnick, "SCDV: Sparse composite document vectors using soft clustering over
//! distributional representations" (2017). The paper says that all components share a spherical covariance; its
//! published program, and so its figures, has one full covariance, which is the default here (`covariance=shared-full`);
//! `covariance=shared-spherical` is what the paper says. t is over the training documents alone, as in the paper: texts
//! without labels give words, vectors and idf, but no threshold, as long as any document is labelled. Windows of skip-gram
//! end with the document; those of the paper's program end with the sentence.
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

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Vectorizer;
use super::composite::{CompositeModel, Kind};
use super::space::{SpaceParams, WordSpace};
use crate::matrix::{Csr, Matrix};
use crate::params::{Checks, Param, Params, Value};
use crate::store::StoreReader;
use crate::text::Tokens;
use crate::words::{Covariance, MixtureParams};
use crate::{Error, Key, Result, Run, param};

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

/// Checks what the methods with clusters of words have in common.
pub(super) fn check_clusters(checks: Checks, clusters: usize) -> Checks {
    checks.that((1..=1 << 16).contains(&clusters), "clusters", &clusters, "must be from 1 to 65536")
}

/// Checks what SCDV and BoWV have in common.
pub(super) fn check_sparsity(checks: Checks, sparsity: f64) -> Checks {
    checks.that((0.0..=100.0).contains(&sparsity), "sparsity", &sparsity, "must be from 0 to 100")
}

/// What the parameters of both are, in a line.
pub(super) mod about {
    pub(in crate::vectorize) const CLUSTERS: &str = "clusters of words";
    pub(in crate::vectorize) const SPARSITY: &str =
        "entries below this many hundredths of the mean largest one become zero";
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

impl Params for ScdvParams {
    const NAME: &'static str = "scdv";
    const ABOUT: &'static str = "word vectors, softly clustered, weighed by rarity, a part for each cluster";

    fn table() -> Vec<Param<Self>> {
        let mut table = vec![
            SpaceParams::first_param(|params: &Self| &params.space, |params| &mut params.space),
            param!("clusters", clusters, about::CLUSTERS),
            param!("covariance", covariance, "shape of the clusters"),
            param!("sparsity", sparsity, about::SPARSITY),
        ];
        table.extend(SpaceParams::other_params(|params: &Self| &params.space, |params| &mut params.space));
        table
    }

    fn check(&self) -> Result<()> {
        check_sparsity(check_clusters(self.space.checks(Self::NAME), self.clusters), self.sparsity).done()
    }
}

impl Vectorizer for ScdvParams {
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
        CompositeModel::load(Kind::Scdv, store)
    }
}

impl ScdvParams {
    /// Learns word vectors and clusters; gives the matrix of the fitted documents as well.
    pub fn fit(&self, tokens: &Tokens, run: &Run) -> Result<(CompositeModel, Csr)> {
        self.fit_cut(tokens, &[], run)
    }

    /// The same from word vectors that are there already.
    pub fn fit_in(&self, space: WordSpace, tokens: &Tokens, run: &Run) -> Result<(CompositeModel, Csr)> {
        let posteriors = self.posteriors(&space, run)?;
        self.compose(space, posteriors, tokens, &[], run)
    }

    fn fit_cut(&self, tokens: &Tokens, labelled: &[usize], run: &Run) -> Result<(CompositeModel, Csr)> {
        self.check()?;
        let space = self.space.fit(tokens, run)?;
        // A search for the sparsity, and splits that differ only in what is labelled, have the clusters in common.
        let key = run.is_sharing().then(|| {
            let key = Key::of("word clusters").text(&format!("{:?}", self.space)).text(&self.covariance.show());
            key.key(&tokens.key()).numbers([self.clusters as u64, run.seed()].into_iter()).finish()
        });
        let posteriors = run.shared(key, |posteriors: &Csr| 8 * posteriors.nnz(), || self.posteriors(&space, run))?;
        self.compose(space, Arc::unwrap_or_clone(posteriors), tokens, labelled, run)
    }

    /// The probability of each cluster given each word.
    fn posteriors(&self, space: &WordSpace, run: &Run) -> Result<Csr> {
        check_words(Self::NAME, self.clusters, space)?;
        let mixture =
            MixtureParams { clusters: self.clusters, covariance: self.covariance, ..MixtureParams::default() };
        let vectors = space.vectors().vectors();
        mixture.fit(vectors, run)?.posteriors(vectors, NEGLIGIBLE, run)
    }

    fn compose(
        &self,
        space: WordSpace,
        posteriors: Csr,
        tokens: &Tokens,
        labelled: &[usize],
        run: &Run,
    ) -> Result<(CompositeModel, Csr)> {
        let model = CompositeModel::fit(space, posteriors, Kind::Scdv, self.sparsity, tokens, labelled, run)?;
        let x = model.transform(tokens, run)?;
        Ok((model, x))
    }
}
