//! Documents as the average of their word vectors.
//!
//! Σ_w count(w) · idf(w) · w⃗, or Σ_w count(w) · w⃗ when plain, of unit length: d dense columns. P. Singh and A.
//! Mukerjee, "Words are not equal: graded weighting model for building composite document vectors" (2015) for the
//! weights. Unit length instead of division by the number of words, since only the direction matters to classifiers here.

use serde::{Deserialize, Serialize};

use super::space::{Entry, SpaceParams, WordSpace, add, length, make_unit};
use super::{Columns, Vectorizer, VectorizerModel, WordParts};
use crate::matrix::{Dense, Matrix};
use crate::params::{Param, Params};
use crate::store::{StoreReader, StoreWriter};
use crate::text::Tokens;
use crate::{Result, Run, param};

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

crate::words!(Weighting { Tfidf = "tfidf", Plain = "plain" });

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

impl Params for AverageParams {
    const NAME: &'static str = "average";
    const ABOUT: &'static str = "the average word vector";

    fn table() -> Vec<Param<Self>> {
        let mut table = vec![
            SpaceParams::first_param(|params: &Self| &params.space, |params| &mut params.space),
            param!("weights", weighting, "whether words count by their rarity too, or only by how often they occur"),
        ];
        table.extend(SpaceParams::other_params(|params: &Self| &params.space, |params| &mut params.space));
        table
    }

    fn check(&self) -> Result<()> {
        self.space.checks(Self::NAME).done()
    }
}

impl Vectorizer for AverageParams {
    type Model = AverageModel;
    const MAKES: Columns = Columns::Dimensions;

    fn fit(&self, tokens: &Tokens, run: &Run) -> Result<(AverageModel, Matrix)> {
        let (model, x) = AverageParams::fit(self, tokens, run)?;
        Ok((model, x.into()))
    }

    fn load(&self, store: &StoreReader<'_>) -> Result<AverageModel> {
        AverageModel::load(store)
    }
}

impl AverageParams {
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
                entries.iter().for_each(|entry| add(&mut row, self.weight(entry), self.space.vector(entry.word)));
                make_unit(&mut row);
                row
            },
        )?;
        let mut values = Vec::with_capacity(tokens.n_documents() * dim);
        pieces.into_iter().flatten().for_each(|row| values.extend_from_slice(&row));
        Dense::new(tokens.n_documents(), dim, values)
    }

    /// What a word of a document counts.
    fn weight(&self, entry: &Entry) -> f32 {
        let idf = match self.weighting {
            Weighting::Tfidf => self.space.idf()[entry.word as usize],
            Weighting::Plain => 1.0,
        };
        entry.count as f32 * idf
    }

    /// The words, their unit vectors and weights.
    pub fn space(&self) -> &WordSpace {
        &self.space
    }

    /// Takes a model out of a store, checking it whole.
    pub fn load(store: &StoreReader<'_>) -> Result<Self> {
        Ok(AverageModel { space: WordSpace::load(store)?, weighting: store.json("weighting")? })
    }
}

impl VectorizerModel for AverageModel {
    fn transform(&self, tokens: &Tokens, run: &Run) -> Result<Matrix> {
        Ok(AverageModel::transform(self, tokens, run)?.into())
    }

    fn n_columns(&self) -> usize {
        self.space.dim()
    }

    fn save(&self, out: &mut StoreWriter) -> Result<()> {
        self.space.save(out);
        out.put_json("weighting", &self.weighting)
    }

    /// Dimensions stand for no term.
    fn feature_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn word_space(&self) -> Option<&WordSpace> {
        Some(&self.space)
    }

    /// A word's part is that of its vector in the sum.
    fn word_parts(&self, tokens: &Tokens, weights: &[f32], run: &Run) -> Result<Option<WordParts>> {
        let parts = self.space.for_each(
            tokens,
            run,
            || (),
            |(), _, entries| {
                let mut row = vec![0f32; self.space.dim()];
                entries.iter().for_each(|entry| add(&mut row, self.weight(entry), self.space.vector(entry.word)));
                let length = length(&row).max(f64::MIN_POSITIVE);
                let part = |entry: &Entry| {
                    let along: f32 = self.space.vector(entry.word).iter().zip(weights).map(|(a, b)| a * b).sum();
                    let word = self.space.vectors().words().term(entry.word).to_string();
                    (word, f64::from(self.weight(entry) * along) / length)
                };
                entries.iter().map(part).collect::<WordParts>()
            },
        )?;
        Ok(parts.into_iter().flatten().next())
    }
}
