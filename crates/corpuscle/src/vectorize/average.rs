//! Documents as the average of their word vectors.
//!
//! Σ_w count(w) · idf(w) · w⃗, or Σ_w count(w) · w⃗ when plain, of unit length: d dense columns. P. Singh and A.
//! Mukerjee, "Words are not equal: graded weighting model for building composite document vectors" (2015) for the
//! weights. Unit length instead of division by the number of words, since only the direction matters to classifiers here.

use serde::{Deserialize, Serialize};

use super::space::{SpaceParams, WordSpace, add, make_unit};
use crate::matrix::Dense;
use crate::store::{StoreReader, StoreWriter};
use crate::text::Tokens;
use crate::{Result, Run};

/// How words count in an average.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Weighting {
    /// By how often they occur and how rare they are.
    #[default]
    Tfidf,
    /// By how often they occur.
    Plain,
}

/// Parameters of averages.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AverageParams {
    /// Where word vectors come from.
    pub space: SpaceParams,
    /// How words count.
    pub weighting: Weighting,
}

/// Fitted averages.
#[derive(Debug, Clone, PartialEq)]
pub struct AverageModel {
    space: WordSpace,
    weighting: Weighting,
}

impl AverageParams {
    /// Checks every value; the error names the one out of range.
    pub fn check(&self) -> Result<()> {
        self.space.check_as("average")
    }

    /// Learns word vectors; gives the matrix of the fitted documents as well.
    pub fn fit(&self, tokens: &Tokens, run: &Run) -> Result<(AverageModel, Dense)> {
        self.check()?;
        self.fit_in(self.space.fit(tokens, run)?, tokens, run)
    }

    /// The same from word vectors that are there already.
    pub fn fit_in(&self, space: WordSpace, tokens: &Tokens, run: &Run) -> Result<(AverageModel, Dense)> {
        let model = AverageModel { space, weighting: self.weighting };
        let x = model.transform(tokens, run)?;
        Ok((model, x))
    }
}

impl AverageModel {
    /// The matrix of documents; words without a vector are passed over, and a document of such words is all zeros.
    pub fn transform(&self, tokens: &Tokens, run: &Run) -> Result<Dense> {
        let dim = self.space.dim();
        let pieces = self.space.for_each(
            tokens,
            run,
            || (),
            |(), _, entries| {
                let mut row = vec![0f32; dim];
                for entry in entries {
                    let idf = match self.weighting {
                        Weighting::Tfidf => self.space.idf()[entry.word as usize],
                        Weighting::Plain => 1.0,
                    };
                    add(&mut row, entry.count as f32 * idf, self.space.vector(entry.word));
                }
                make_unit(&mut row);
                row
            },
        )?;
        let mut values = Vec::with_capacity(tokens.n_documents() * dim);
        pieces.into_iter().flatten().for_each(|row| values.extend_from_slice(&row));
        Dense::new(tokens.n_documents(), dim, values)
    }

    /// How many columns the matrix has.
    pub fn n_features(&self) -> usize {
        self.space.dim()
    }

    /// The words, their unit vectors and weights.
    pub fn space(&self) -> &WordSpace {
        &self.space
    }

    /// Puts the model into a store.
    pub fn save(&self, out: &mut StoreWriter) -> Result<()> {
        self.space.save(out);
        out.put_json("weighting", &self.weighting)
    }

    /// Takes a model out of a store, checking it whole.
    pub fn load(store: &StoreReader<'_>) -> Result<Self> {
        Ok(AverageModel { space: WordSpace::load(store)?, weighting: store.json("weighting")? })
    }
}
