//! Weighted bags of concepts: how many words of a document are in each cluster of words, weighed by rarity.
//!
//! Words are clustered by k-means over their vectors. With c the count of a concept in a document and d of n documents
//! having it, an entry is c · (1 + ln((n + 1) / (d + 1))), and a row is of unit length. H. Kim, H. Kim and S. Cho,
//! "Bag-of-concepts: comprehending document representation through clustering words in distributed representation"
//! (2017), with the idf of this house.

use serde::{Deserialize, Serialize};

use super::scdv::{check_clusters, check_words};
use super::space::{SpaceParams, WordSpace, make_unit};
use crate::matrix::Csr;
use crate::store::{StoreReader, StoreWriter};
use crate::text::Tokens;
use crate::words::KmeansParams;
use crate::{Error, Result, Run};

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

impl ConceptsParams {
    /// Checks every value; the error names the one out of range.
    pub fn check(&self) -> Result<()> {
        self.space.check_as("concepts")?;
        check_clusters("concepts", self.clusters, 0.0)
    }

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

    /// How many columns the matrix has.
    pub fn n_features(&self) -> usize {
        self.weights.len()
    }

    /// The words, their unit vectors and weights.
    pub fn space(&self) -> &WordSpace {
        &self.space
    }

    /// The concept of each word.
    pub fn clusters(&self) -> &[u32] {
        &self.clusters
    }

    /// Puts the model into a store.
    pub fn save(&self, out: &mut StoreWriter) -> Result<()> {
        self.space.save(out);
        out.put_u32("clusters", &self.clusters);
        out.put_f32("weights", &[self.weights.len()], &self.weights);
        Ok(())
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
