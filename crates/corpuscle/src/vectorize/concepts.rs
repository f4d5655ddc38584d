//! Weighted bags of concepts: how many words of a document are in each cluster of words, weighed by rarity.
//!
//! Words are clustered by k-means over their vectors. With c the count of a concept in a document and d of n documents
//! having it, an entry is c · (1 + ln((n + 1) / (d + 1))), and a row is of unit length. H. Kim, H. Kim and S. Cho,
//! "Bag-of-concepts: comprehending document representation through clustering words in distributed representation"
//! (2017), with the idf of this house.

use serde::{Deserialize, Serialize};

use super::scdv::{about, check_clusters, check_words};
use super::space::{Entry, SpaceParams, WordSpace, length, make_unit};
use super::{Vectorizer, VectorizerModel, WordParts};
use crate::matrix::{Csr, Matrix};
use crate::params::{Param, Params};
use crate::store::{StoreReader, StoreWriter};
use crate::text::Tokens;
use crate::words::KmeansParams;
use crate::{Error, Result, Run, param};

/// Parameters of weighted bags of concepts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConceptsParams {
    /// Where word vectors come from.
    pub space: SpaceParams,
    /// Clusters of words.
    pub clusters: usize,
}

impl Default for ConceptsParams {
    fn default() -> Self {
        ConceptsParams { space: SpaceParams::default(), clusters: 60 }
    }
}

/// Fitted bags of concepts.
#[derive(Debug, Clone, PartialEq)]
pub struct ConceptsModel {
    space: WordSpace,
    /// The concept of each word.
    clusters: Vec<u32>,
    weights: Vec<f32>,
}

impl Params for ConceptsParams {
    const NAME: &'static str = "concepts";
    const ABOUT: &'static str = "how many words of each cluster of words there are, weighed by rarity";

    fn table() -> Vec<Param<Self>> {
        let mut table = vec![
            SpaceParams::first_param(|params: &Self| &params.space, |params| &mut params.space),
            param!("clusters", clusters, about::CLUSTERS),
        ];
        table.extend(SpaceParams::other_params(|params: &Self| &params.space, |params| &mut params.space));
        table
    }

    fn check(&self) -> Result<()> {
        check_clusters(self.space.checks(Self::NAME), self.clusters).done()
    }
}

impl Vectorizer for ConceptsParams {
    type Model = ConceptsModel;

    fn fit(&self, tokens: &Tokens, run: &Run) -> Result<(ConceptsModel, Matrix)> {
        let (model, x) = ConceptsParams::fit(self, tokens, run)?;
        Ok((model, x.into()))
    }

    fn load(&self, store: &StoreReader<'_>) -> Result<ConceptsModel> {
        ConceptsModel::load(store)
    }
}

impl ConceptsParams {
    /// Learns word vectors and concepts; gives the matrix of the fitted documents as well.
    pub fn fit(&self, tokens: &Tokens, run: &Run) -> Result<(ConceptsModel, Csr)> {
        self.check()?;
        let space = self.space.fit(tokens, run)?;
        check_words("concepts", self.clusters, &space)?;
        let kmeans = KmeansParams { clusters: self.clusters, ..KmeansParams::default() };
        let clusters = kmeans.fit(space.vectors().vectors(), run)?.clusters;
        let mut model = ConceptsModel { space, clusters, weights: vec![1.0; self.clusters] };
        let counts = model.transform(tokens, run)?;
        let mut frequencies = vec![0u32; self.clusters];
        counts.indices().iter().for_each(|&concept| frequencies[concept as usize] += 1);
        let documents = tokens.n_documents() as f64 + 1.0;
        model.weights = frequencies.iter().map(|&d| ((documents / (f64::from(d) + 1.0)).ln() + 1.0) as f32).collect();
        let x = model.transform(tokens, run)?;
        Ok((model, x))
    }
}

impl ConceptsModel {
    /// The matrix of documents; words without a vector are passed over.
    pub fn transform(&self, tokens: &Tokens, run: &Run) -> Result<Csr> {
        let k = self.weights.len();
        self.space.fill(
            tokens,
            k,
            run,
            || vec![0f32; k],
            |counts, entries, row| {
                for entry in entries {
                    counts[self.clusters[entry.word as usize] as usize] += entry.count as f32;
                }
                for ((concept, &count), &weight) in (0u32..).zip(counts.iter()).zip(&self.weights) {
                    if count > 0.0 {
                        row.columns.push(concept);
                        row.values.push(count * weight);
                    }
                }
                make_unit(&mut row.values);
                counts.fill(0.0);
            },
        )
    }

    /// The words, their unit vectors and weights.
    pub fn space(&self) -> &WordSpace {
        &self.space
    }

    /// The concept of each word.
    pub fn clusters(&self) -> &[u32] {
        &self.clusters
    }

    /// Takes a model out of a store, checking it whole.
    pub fn load(store: &StoreReader<'_>) -> Result<Self> {
        let space = WordSpace::load(store)?;
        let clusters = store.u32s("clusters", Some(space.vectors().len()))?;
        let (weights, _) = store.f32s("weights", &[None])?;
        if clusters.iter().any(|&cluster| cluster as usize >= weights.len()) {
            return Err(Error::model("a word is in a concept that is not there"));
        }
        Ok(ConceptsModel { space, clusters, weights })
    }
}

impl VectorizerModel for ConceptsModel {
    fn transform(&self, tokens: &Tokens, run: &Run) -> Result<Matrix> {
        Ok(ConceptsModel::transform(self, tokens, run)?.into())
    }

    fn n_columns(&self) -> usize {
        self.weights.len()
    }

    fn save(&self, out: &mut StoreWriter) -> Result<()> {
        self.space.save(out);
        out.put_u32("clusters", &self.clusters);
        out.put_f32("weights", &[self.weights.len()], &self.weights);
        Ok(())
    }

    fn feature_names(&self) -> Vec<String> {
        (0..self.weights.len()).map(|concept| format!("concept {concept}")).collect()
    }

    fn word_space(&self) -> Option<&WordSpace> {
        Some(&self.space)
    }

    /// A word's part is its share of its concept's entry.
    fn word_parts(&self, tokens: &Tokens, weights: &[f32], run: &Run) -> Result<Option<WordParts>> {
        let parts = self.space.for_each(
            tokens,
            run,
            || vec![0f32; self.weights.len()],
            |counts, _, entries| {
                for entry in entries {
                    counts[self.clusters[entry.word as usize] as usize] += entry.count as f32;
                }
                counts.iter_mut().zip(&self.weights).for_each(|(count, weight)| *count *= weight);
                let length = length(counts).max(f64::MIN_POSITIVE);
                counts.fill(0.0);
                let part = |entry: &Entry| {
                    let concept = self.clusters[entry.word as usize] as usize;
                    let amount = entry.count as f32 * self.weights[concept] * weights[concept];
                    (self.space.vectors().words().term(entry.word).to_string(), f64::from(amount) / length)
                };
                entries.iter().map(part).collect::<WordParts>()
            },
        )?;
        Ok(parts.into_iter().flatten().next())
    }
}
