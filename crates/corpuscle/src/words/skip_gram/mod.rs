//! Word vectors by prediction: skip-gram and CBOW with negative sampling.
//!
//! Skip-gram maximises, over all pairs of a word w and a word c at most `window` places away,
//!
//! log σ(v_w · u_c) + k · E_{n ~ count^¾} log σ(−v_w · u_n)
//!
//! by stochastic gradient steps whose rate falls linearly; the v are the result. CBOW lets the mean of a window's v
//! predict the word in its middle. Frequent words are passed over at random, and each window is cut to a random reach.
//! Windows end with the document and go on from sentence to sentence within it.
//! T. Mikolov and others, "Distributed representations of words and phrases and their compositionality" (2013); S. Ji
//! and others, "Parallelizing word2vec in shared and distributed memory" (2016) for shared negatives.
//!
//! Where we differ from the original and from gensim: documents come in a new random order each epoch; negatives are
//! shared by a block of 32 words and weighed so that the loss keeps its expected value; and a batch of
//! blocks is computed against the same parameters, its changes being added in a fixed order afterwards, so that the
//! same seed gives the same bits at any number of threads. `deterministic = false` lets every block change the
//! parameters at once, without locks.
//!
//! O(tokens · (window + 32) · dim) per epoch. Vectors may also come from a decomposition, without prediction (`decompose`).
//!
//! ```
//! use corpuscle::{Run, text::WordsParams, words::SkipGramParams};
//! let run = Run::new(1, 1)?;
//! let texts: Vec<String> = (0..200).map(|i| format!("the {} sat", ["cat", "dog"][i % 2])).collect();
//! let tokens = WordsParams::default().tokenize(&texts, &run)?;
//! let params = SkipGramParams { dim: 8, min_count: 1, epochs: 2, ..SkipGramParams::default() };
//! let vectors = params.fit(&tokens, &run)?;
//! assert_eq!((vectors.len(), vectors.dim()), (4, 8));
//! # Ok::<(), corpuscle::Error>(())
//! ```

mod block;
mod by_row;
mod decompose;
mod kernels;
mod paragraphs;
mod pull;
mod sample;
mod slab;
mod tables;
#[cfg(test)]
mod tests;
mod topical;

use rand::RngExt;
use rand::seq::SliceRandom;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

pub(crate) use self::paragraphs::{Paragraphs, Reading};
pub(crate) use self::topical::Topical;

use self::block::{Block, Learn, Span};
use self::decompose::decompose;
use self::sample::{Negatives, keep_chances};
use self::slab::{Frequent, Slab};
use self::tables::{SharedTables, Tables};
use super::WordVectors;
use crate::params::Checks;
use crate::text::Tokens;
use crate::wide::registers::{Lane, lanes, on_registers};
use crate::{Error, Result, Run};

/// What word vectors are learnt from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Architecture {
    /// A word predicts the words around it.
    #[default]
    SkipGram,
    /// The words around a word predict it.
    Cbow,
    /// Nothing is predicted: the words' side of a singular value decomposition of the documents. Of the parameters only `dim` and
    /// `min_count` matter then.
    Lsi,
}

crate::words!(Architecture { SkipGram = "skip-gram", Cbow = "cbow", Lsi = "lsi" });

/// Parameters of word vectors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SkipGramParams {
    /// Length of the vectors.
    pub dim: usize,
    /// Words to either side that can be context.
    pub window: usize,
    /// Negatives per pair.
    pub negatives: usize,
    /// Fewest occurrences of a word with a vector.
    pub min_count: u64,
    /// Words with more than about this share of all tokens are passed over at random; 0 keeps all.
    pub subsample: f64,
    /// Passes over the documents.
    pub epochs: usize,
    /// The rate of the first step.
    pub rate: f32,
    /// The rate of the last step.
    pub last_rate: f32,
    /// What they are learnt from.
    pub architecture: Architecture,
    /// Same seed, same bits; `false` lets threads change the vectors without waiting for each other.
    pub deterministic: bool,
}

impl Default for SkipGramParams {
    fn default() -> Self {
        SkipGramParams {
            dim: 200,
            window: 10,
            negatives: 10,
            min_count: 20,
            subsample: 1e-3,
            epochs: 25,
            rate: 0.025,
            last_rate: 1e-4,
            architecture: Architecture::default(),
            deterministic: true,
        }
    }
}

/// Blocks computed against the same parameters.
const BATCH: usize = 16;
/// Tokens prepared at a time.
const SLAB: usize = 1 << 20;

impl SkipGramParams {
    /// Checks every value; the error names the one out of range.
    pub fn check(&self) -> Result<()> {
        self.checks("words").done()
    }

    /// The same for the stage `stage`.
    pub(crate) fn checks(&self, stage: &'static str) -> Checks {
        let between = |checks: Checks, name: &'static str, value: usize, least: usize, most: usize| {
            checks.that((least..=most).contains(&value), name, &value, format!("must be from {least} to {most}"))
        };
        let checks = between(Checks::of(stage), "dim", self.dim, 1, 4096);
        let checks = between(checks, "window", self.window, 1, 100);
        let checks = between(checks, "negatives", self.negatives, 1, 1000);
        let checks = between(checks, "epochs", self.epochs, 1, 100_000);
        let (rate, last) = (self.rate > 0.0 && self.rate <= 1.0, (0.0..=self.rate).contains(&self.last_rate));
        let share = (0.0..=1.0).contains(&self.subsample);
        checks
            .that(self.min_count > 0, "min_count", &0, "must be at least 1")
            .that(share, "subsample", &self.subsample, "must be from 0 to 1")
            .that(rate, "rate", &self.rate, "must be above 0 and at most 1")
            .that(last, "last_rate", &self.last_rate, "must be from 0 to the first rate")
    }

    /// Trains a vector for every word that occurs often enough.
    pub fn fit(&self, tokens: &Tokens, run: &Run) -> Result<WordVectors> {
        self.check()?;
        let frequent = Frequent::of(tokens, self.min_count)?;
        if self.architecture == Architecture::Lsi {
            let vectors = decompose(tokens, &frequent, self.dim, run)?;
            return WordVectors::new(frequent.words, vectors);
        }
        let words = frequent.words.len();
        let tables = Tables::new(words, words, self.dim, &mut run.rng(0));
        let vectors = match self.deterministic {
            true => run.install(|| self.train_in_order(tables, tokens, &frequent, run))?,
            false => run.install(|| self.train_at_will(tables, tokens, &frequent, run))?,
        };
        self.check_finite(vectors.values())?;
        WordVectors::new(frequent.words, vectors)
    }

    fn check_finite(&self, values: &[f32]) -> Result<()> {
        match values.iter().all(|value| value.is_finite()) {
            true => Ok(()),
            false => Err(Error::parameter("words", "rate", self.rate, "is too high: the vectors grew beyond bounds")),
        }
    }

    fn train_in_order(
        &self,
        mut tables: Tables,
        tokens: &Tokens,
        frequent: &Frequent,
        run: &Run,
    ) -> Result<crate::matrix::Dense> {
        let negatives = Negatives::new(&frequent.counts);
        let mut blocks: Vec<Block> = (0..BATCH).map(|_| Block::new(lanes(self.dim))).collect();
        self.for_each_slab(tokens, frequent, Part::WHOLE, run, |slab| {
            self.learn_slab(&mut tables, &mut blocks, slab, |slab, span| slab.span(span), &negatives, run)
        })?;
        tables.into_vectors(self.dim)
    }

    /// One pass over the blocks of a slab, a batch at a time; `span` says what each block is made of.
    fn learn_slab<'s>(
        &self,
        tables: &mut Tables,
        blocks: &mut [Block],
        slab: &'s Slab,
        span: impl Fn(&'s Slab, [usize; 4]) -> Span<'s> + Sync,
        negatives: &Negatives,
        run: &Run,
    ) -> Result<()> {
        for (number, spans) in slab.spans.chunks(BATCH).enumerate() {
            run.check()?;
            let rate = self.rate_at(slab.done(number * BATCH));
            let (busy, idle) = blocks.split_at_mut(spans.len());
            busy.par_iter_mut().zip(spans).with_max_len(1).for_each(|(block, &place)| {
                let span = span(slab, place);
                let read = |table, row, to: &mut [Lane]| tables.read(table, row, to);
                on_registers(Learn { block, span, params: self, negatives, rate, read });
            });
            idle.iter_mut().for_each(Block::clear);
            tables.apply(blocks);
        }
        Ok(())
    }

    fn train_at_will(
        &self,
        tables: Tables,
        tokens: &Tokens,
        frequent: &Frequent,
        run: &Run,
    ) -> Result<crate::matrix::Dense> {
        let negatives = Negatives::new(&frequent.counts);
        let tables = SharedTables::from(tables);
        self.for_each_slab(tokens, frequent, Part::WHOLE, run, |slab| {
            slab.spans.par_chunks(BATCH).enumerate().try_for_each_init(
                || Block::new(lanes(self.dim)),
                |block, (number, spans)| {
                    run.check()?;
                    let rate = self.rate_at(slab.done(number * BATCH));
                    for &span in spans {
                        let (span, negatives) = (slab.span(span), &negatives);
                        let read = |table, row, to: &mut [Lane]| tables.read(table, row, to);
                        on_registers(Learn { block, span, params: self, negatives, rate, read });
                        tables.apply(block);
                    }
                    Ok(())
                },
            )
        })?;
        tables.into_vectors(self.dim)
    }

    fn rate_at(&self, done: f64) -> f32 {
        (self.rate * (1.0 - done as f32)).max(self.last_rate)
    }

    /// Prepares the documents of every epoch, in random order and without the words passed over, a slab at a time.
    fn for_each_slab(
        &self,
        tokens: &Tokens,
        frequent: &Frequent,
        part: Part<'_>,
        run: &Run,
        mut work: impl FnMut(&Slab) -> Result<()>,
    ) -> Result<()> {
        let chances = keep_chances(&frequent.counts, self.subsample);
        let mut order: Vec<u32> = (0..tokens.n_documents() as u32).collect();
        let total = (tokens.n_tokens() * self.epochs) as f64;
        let mut read = 0;
        let mut seeds = run.rng(1);
        for _ in 0..self.epochs {
            order.shuffle(&mut seeds);
            let mut rest = &order[..];
            while !rest.is_empty() {
                let mut size = 0;
                let count = rest
                    .iter()
                    .take_while(|&&document| {
                        let more = size < SLAB;
                        size += tokens.document(document as usize).len();
                        more
                    })
                    .count();
                let (now, later) = rest.split_at(count);
                let size: usize = now.iter().map(|&document| tokens.document(document as usize).len()).sum();
                let seed = seeds.random();
                let mut slab = Slab::new(now, tokens, part.topics, frequent, &chances, run, seed);
                slab.before = part.from + part.share * (read as f64 / total);
                slab.share = part.share * (size as f64 / total);
                work(&slab)?;
                read += size;
                run.advance(size as u64);
                rest = later;
            }
        }
        Ok(())
    }
}

/// A part of training: where it begins and how much of the whole it is, and the input row of every token's topic where
/// topics are trained beside words; tokens with none (`u32::MAX`) are then left out.
#[derive(Debug, Clone, Copy)]
struct Part<'a> {
    topics: Option<&'a [u32]>,
    from: f64,
    share: f64,
}

impl Part<'_> {
    /// All of it, without topics.
    const WHOLE: Part<'static> = Part { topics: None, from: 0.0, share: 1.0 };
}
