//! Vectors of topics beside those of words: both predict the words around, each on its own.
//!
//! Every token has a topic. Skip-gram is trained over the blocks of a slab with the words as what predicts, then over the
//! same blocks with their topics in the words' places and the same outputs:
//! Σ log P(c | w) + log P(c | z) for every word w of topic z and every word c around it.

use rayon::prelude::*;

use super::block::{Block, Span, Table};
use super::sample::Negatives;
use super::tables::Tables;
use super::{Architecture, BATCH, Frequent, Part, SkipGramParams};
use crate::matrix::Dense;
use crate::text::{Lexicon, Tokens};
use crate::wide::registers::lanes;
use crate::words::WordVectors;
use crate::words::exponential::exp;
use crate::{Result, Run};

/// Vectors of words and topics under training.
pub(crate) struct Topical {
    params: SkipGramParams,
    frequent: Frequent,
    topics: usize,
    tables: Tables,
    blocks: Vec<Block>,
    negatives: Negatives,
}

impl Topical {
    /// Words that occur often enough and so many topics, not yet trained.
    pub(crate) fn new(params: &SkipGramParams, tokens: &Tokens, topics: usize, run: &Run) -> Result<Self> {
        let params = SkipGramParams { architecture: Architecture::SkipGram, ..params.clone() };
        let frequent = Frequent::of(tokens, params.min_count)?;
        let words = frequent.words.len();
        let tables = Tables::new(words + topics, words, params.dim, &mut run.rng(0));
        let blocks = (0..BATCH).map(|_| Block::new(lanes(params.dim))).collect();
        let negatives = Negatives::new(&frequent.counts);
        Ok(Topical { params, frequent, topics, tables, blocks, negatives })
    }

    /// Trains for `epochs` passes, which are the `share` of all training that begins at `from`.
    pub(crate) fn learn(
        &mut self,
        tokens: &Tokens,
        topics: &[u32],
        epochs: usize,
        (from, share): (f64, f64),
        run: &Run,
    ) -> Result<()> {
        let Topical { params, frequent, tables, blocks, negatives, .. } = self;
        let passes = SkipGramParams { epochs, ..params.clone() };
        let words = frequent.words.len() as u32;
        // The rows of topics follow those of words.
        let row = |&topic: &u32| if topic == u32::MAX { topic } else { words + topic };
        let rows: Vec<u32> = topics.iter().map(row).collect();
        run.install(|| {
            let part = Part { topics: Some(&rows), from, share };
            passes.for_each_slab(tokens, frequent, part, run, |slab| {
                passes.learn_slab(tables, blocks, slab, |slab, place| slab.span(place), negatives, run)?;
                passes.learn_slab(
                    tables,
                    blocks,
                    slab,
                    |slab, place| {
                        let span = slab.span(place);
                        // Other windows and negatives than the words themselves had.
                        Span { inputs: Some(&slab.topics[place[2]..place[3]]), seed: !span.seed, ..span }
                    },
                    negatives,
                    run,
                )
            })
        })
    }

    /// P(w|k) as the vectors see it, words × topics: negative sampling brings v_k · u_w to log P(w|k)/P_n(w) but for a constant, where
    /// P_n is what negatives are drawn by, so P(w|k) ∝ count(w)^¾ · exp(v_k · u_w).
    pub(crate) fn predicted(&self) -> Dense {
        let words = self.frequent.words.len();
        let mut given = Dense::zeros(words, self.topics);
        let width = self.topics;
        given.values_mut().par_chunks_mut(width.max(1)).enumerate().for_each(|(word, row)| {
            let output = self.tables.row(Table::Outputs, word).as_flattened();
            let drawn = (self.frequent.counts[word] as f32).powf(0.75);
            for (topic, value) in row.iter_mut().enumerate() {
                let input = self.tables.row(Table::Inputs, words + topic).as_flattened();
                let inner: f32 = input.iter().zip(output).map(|(a, b)| a * b).sum();
                *value = drawn * exp(inner.clamp(-30.0, 30.0));
            }
        });
        let mut totals = vec![0f64; width];
        for row in given.values().chunks(width.max(1)) {
            totals.iter_mut().zip(row).for_each(|(total, &value)| *total += f64::from(value));
        }
        for row in given.values_mut().chunks_mut(width.max(1)) {
            row.iter_mut().zip(&totals).for_each(|(value, total)| *value = (f64::from(*value) / total) as f32);
        }
        given
    }

    /// The words that have vectors.
    pub(crate) fn words(&self) -> &Lexicon {
        &self.frequent.words
    }

    /// Vectors of words, and of topics.
    pub(crate) fn finish(self) -> Result<(WordVectors, Dense)> {
        let (words, dim) = (self.frequent.words.len(), self.params.dim);
        let (all, _) = self.tables.into_both(words + self.topics, dim)?;
        self.params.check_finite(all.values())?;
        let mut values = all.into_values();
        let topics = Dense::new(self.topics, dim, values.split_off(words * dim))?;
        Ok((WordVectors::new(self.frequent.words, Dense::new(words, dim, values)?)?, topics))
    }
}
