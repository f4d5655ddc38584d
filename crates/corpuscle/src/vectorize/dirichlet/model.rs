//! Fitted topics: the words of each, and the topics of any document.

use rayon::prelude::*;

use super::infer::{Document, Scratch, infer};
use super::prior::Priors;
use crate::matrix::{Dense, Matrix};
use crate::store::{StoreReader, StoreWriter};
use crate::text::{Lexicon, Tokens};
use crate::vectorize::{TopicTable, VectorizerModel, WordParts};
use crate::wide::registers::{Lane, WIDTH, lanes};
use crate::{Error, Result, Run};

/// Documents in one piece of work.
const PIECE: usize = 128;

/// What one worker needs: room for topics, the known words of a document, and these counted.
type Room = (Scratch, Vec<u32>, Vec<(u32, f32)>);

/// Fitted latent Dirichlet allocation.
#[derive(Debug, Clone, PartialEq)]
pub struct DirichletModel {
    words: Lexicon,
    topics: usize,
    /// P(w|k): words × topics, in whole lanes.
    given_topic: Vec<Lane>,
    /// α of each topic, in whole lanes.
    alpha: Vec<Lane>,
    /// The share of each topic in all tokens of the fitted documents.
    shares: Vec<f32>,
}

impl DirichletModel {
    /// From counts of words in topics summed over `samples` samples.
    pub(super) fn new(words: Lexicon, topics: usize, priors: &Priors, sums: &[[i32; WIDTH]], samples: usize) -> Self {
        let width = lanes(topics);
        let samples = samples.max(1) as f64;
        let mut totals = vec![0i64; width * WIDTH];
        for row in sums.chunks(width) {
            totals.iter_mut().zip(row.iter().flatten()).for_each(|(total, &count)| *total += i64::from(count));
        }
        let smooth = priors.beta * words.len() as f64;
        let all: i64 = totals.iter().sum();
        let shares = totals[..topics].iter().map(|&total| (total as f64 / all.max(1) as f64) as f32).collect();
        let below: Vec<f64> = totals.iter().map(|&total| (total as f64 / samples + smooth).recip()).collect();
        let probability = |at: usize, topic: usize, count: i32| {
            let topic = at % width * WIDTH + topic;
            let value = (f64::from(count) / samples + priors.beta) * below[topic];
            if topic < topics { value as f32 } else { 0.0 }
        };
        let lane = |(at, counts): (usize, &[i32; WIDTH])| std::array::from_fn(|i| probability(at, i, counts[i]));
        let given_topic = sums.iter().enumerate().map(lane).collect();
        let alpha = padded(&priors.alpha.iter().map(|&alpha| alpha as f32).collect::<Vec<_>>(), topics);
        DirichletModel { words, topics, given_topic, alpha, shares }
    }

    /// The words it knows.
    pub fn words(&self) -> &Lexicon {
        &self.words
    }

    /// How many topics there are.
    pub fn n_topics(&self) -> usize {
        self.topics
    }

    /// α of each topic: how much of it documents have before they are read, learnt from the fitted documents.
    pub fn alpha(&self) -> &[f32] {
        &self.alpha.as_flattened()[..self.topics]
    }

    /// The share of each topic in all tokens of the fitted documents.
    pub fn shares(&self) -> &[f32] {
        &self.shares
    }

    /// P(w|k) of a word in every topic.
    pub fn word_given_topics(&self, word: u32) -> &[f32] {
        let width = lanes(self.topics);
        &self.given_topic[word as usize * width..][..width].as_flattened()[..self.topics]
    }

    /// For each word of a lexicon its number here, or `u32::MAX`.
    pub(super) fn numbers(&self, tokens: &Tokens) -> Vec<u32> {
        tokens.lexicon().map_to(&self.words)
    }

    /// The shares of topics in documents.
    pub fn transform(&self, tokens: &Tokens, run: &Run) -> Result<Dense> {
        let numbers = self.numbers(tokens);
        let mut values = vec![0f32; tokens.n_documents() * self.topics];
        // Rows are written where they belong: of a million short documents they are by far the largest thing there is.
        let piece = |(scratch, known, entries): &mut Room, (piece, rows): (usize, &mut [f32])| {
            run.check()?;
            for (row, document) in rows.chunks_mut(self.topics).zip(piece * PIECE..) {
                known.clear();
                known.extend(tokens.document(document).iter().map(|&id| numbers[id as usize]));
                row.copy_from_slice(&self.settle(known, entries, scratch).as_flattened()[..self.topics]);
            }
            Ok(())
        };
        run.install(|| {
            let pieces = values.par_chunks_mut(PIECE * self.topics).enumerate();
            pieces.map_init(|| self.room(), piece).collect::<Result<()>>()
        })?;
        Dense::new(tokens.n_documents(), self.topics, values)
    }

    /// The most probable topic of every token given its document, in the order of [`Tokens::ids`]: the k of largest θ_dk · P(w|k);
    /// `u32::MAX` for words that are not known.
    pub fn token_topics(&self, tokens: &Tokens, run: &Run) -> Result<Vec<u32>> {
        let numbers = self.numbers(tokens);
        let pieces = self.for_each(tokens, run, |document, _, shares| {
            let best = |&id: &u32| match numbers[id as usize] {
                u32::MAX => u32::MAX,
                word => {
                    let parts = self.word_given_topics(word).iter().zip(shares).map(|(word, share)| word * share);
                    let larger = |best: (u32, f32), (topic, part)| if part > best.1 { (topic, part) } else { best };
                    (0u32..).zip(parts).fold((0, f32::NEG_INFINITY), larger).0
                }
            };
            tokens.document(document).iter().map(best).collect::<Vec<u32>>()
        })?;
        Ok(pieces.concat())
    }

    /// Calls `work(document, words and counts, shares of topics)` for every document; results in order.
    pub(super) fn for_each<R: Send>(
        &self,
        tokens: &Tokens,
        run: &Run,
        work: impl Fn(usize, &[(u32, f32)], &[f32]) -> R + Sync,
    ) -> Result<Vec<R>> {
        let numbers = self.numbers(tokens);
        let documents = tokens.n_documents();
        let piece = |(scratch, known, entries): &mut Room, piece: usize| {
            run.check()?;
            let one = |document| {
                known.clear();
                known.extend(tokens.document(document).iter().map(|&id| numbers[id as usize]));
                let shares = self.settle(known, entries, scratch);
                work(document, entries, shares.as_flattened())
            };
            Ok((piece * PIECE..documents.min((piece + 1) * PIECE)).map(one).collect::<Vec<R>>())
        };
        let pieces: Result<Vec<Vec<R>>> =
            run.install(|| (0..documents.div_ceil(PIECE)).into_par_iter().map_init(|| self.room(), piece).collect());
        Ok(pieces?.into_iter().flatten().collect())
    }

    /// The shares of topics given these words, `u32::MAX` for others, which are put in order and counted into `entries`.
    pub(super) fn settle<'s>(
        &self,
        known: &mut Vec<u32>,
        entries: &mut Vec<(u32, f32)>,
        scratch: &'s mut Scratch,
    ) -> &'s [Lane] {
        known.retain(|&word| word != u32::MAX);
        known.sort_unstable();
        entries.clear();
        entries.extend(known.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as f32)));
        infer(&Document { entries, words: &self.given_topic, alpha: &self.alpha }, scratch)
    }

    pub(super) fn scratch(&self) -> Scratch {
        Scratch::new(self.alpha.len())
    }

    /// The same topics with other words in them: P(w|k), words × topics, all above 0.
    pub(in crate::vectorize) fn with_given(mut self, given_topic: &Dense) -> Self {
        let rows = (0..self.words.len()).flat_map(|word| padded(given_topic.row(word), self.topics));
        self.given_topic = rows.collect();
        self
    }

    fn room(&self) -> Room {
        (self.scratch(), Vec::new(), Vec::new())
    }

    /// Takes a model out of a store, checking it whole.
    pub fn load(store: &StoreReader<'_>) -> Result<Self> {
        let words = Lexicon::load("words", store)?;
        let given_topic = Dense::load(store, "given_topic", Some(words.len()), None)?;
        let topics = given_topic.cols();
        let (alpha, _) = store.f32s("alpha", &[Some(topics)])?;
        let (shares, _) = store.f32s("shares", &[Some(topics)])?;
        let positive = |values: &[f32]| values.iter().all(|&value| value > 0.0);
        if words.is_empty() || topics == 0 || !positive(given_topic.values()) || !positive(&alpha) {
            return Err(Error::model("topics need words, and probabilities and priors above 0"));
        }
        if shares.iter().any(|share| !(0.0..=1.0).contains(share)) {
            return Err(Error::model("a topic's share is not from 0 to 1"));
        }
        let rows = (0..words.len()).flat_map(|word| padded(given_topic.row(word), topics));
        Ok(DirichletModel { given_topic: rows.collect(), alpha: padded(&alpha, topics), words, topics, shares })
    }
}

/// A row in whole lanes.
fn padded(row: &[f32], topics: usize) -> Vec<Lane> {
    let mut lanes = vec![[0f32; WIDTH]; lanes(topics)];
    lanes.as_flattened_mut()[..row.len()].copy_from_slice(row);
    lanes
}

impl VectorizerModel for DirichletModel {
    fn transform(&self, tokens: &Tokens, run: &Run) -> Result<Matrix> {
        Ok(DirichletModel::transform(self, tokens, run)?.into())
    }

    fn n_columns(&self) -> usize {
        self.topics
    }

    fn save(&self, out: &mut StoreWriter) -> Result<()> {
        self.words.save("words", out);
        let values: Vec<f32> =
            (0..self.words.len() as u32).flat_map(|word| self.word_given_topics(word)).copied().collect();
        out.put_f32("given_topic", &[self.words.len(), self.topics], &values);
        out.put_f32("alpha", &[self.topics], self.alpha());
        out.put_f32("shares", &[self.topics], &self.shares);
        Ok(())
    }

    /// Topics stand for no term.
    fn feature_names(&self) -> Vec<String> {
        Vec::new()
    }

    /// P(w, k) = P(w|k) · P(k).
    fn topics(&self) -> Option<TopicTable> {
        let words: Vec<String> = self.words.iter().map(str::to_string).collect();
        let mut joint = Dense::zeros(words.len(), self.topics);
        for (row, values) in joint.values_mut().chunks_mut(self.topics).enumerate() {
            let given = self.word_given_topics(row as u32).iter().zip(&self.shares);
            values.iter_mut().zip(given).for_each(|(value, (&given, &share))| *value = given * share);
        }
        Some(TopicTable::new(words, joint, false))
    }

    fn topic_shares(&self, tokens: &Tokens, run: &Run) -> Result<Option<Dense>> {
        DirichletModel::transform(self, tokens, run).map(Some)
    }

    fn has_word_parts(&self) -> bool {
        true
    }

    /// θ_k = (α_k + Σ_w count(w) · γ_wk) / (Σα + tokens) with γ_wk ∝ θ_k · P(w|k): a word's part is what its own tokens bring.
    fn word_parts(&self, tokens: &Tokens, weights: &[f32], run: &Run) -> Result<Option<WordParts>> {
        let prior: f32 = self.alpha().iter().sum();
        let parts = self.for_each(tokens, run, |_, entries, shares| {
            let all = prior + entries.iter().map(|&(_, count)| count).sum::<f32>();
            let part = |&(word, count): &(u32, f32)| {
                let (mut sum, mut weighed) = (0f64, 0f64);
                for ((&given, &share), &weight) in self.word_given_topics(word).iter().zip(shares).zip(weights) {
                    let part = f64::from(given * share);
                    sum += part;
                    weighed += part * f64::from(weight);
                }
                let amount = f64::from(count / all) * weighed / sum.max(f64::MIN_POSITIVE);
                (self.words.term(word).to_string(), amount)
            };
            entries.iter().map(part).collect::<WordParts>()
        })?;
        Ok(parts.into_iter().next())
    }
}
