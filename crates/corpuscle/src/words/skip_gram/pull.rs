//! One paragraph vector drawn along by the words of its document, the words standing still.
//!
//! The vector is at hand and moves with every word, as in plain stochastic gradient steps; the negatives come from a pool
//! that many paragraphs have in common, so their rows are fetched once. [`STEP`] words share [`AGAINST`] neighbouring
//! negatives of the pool, each of which counts k · words / negatives times, so the loss keeps its expected value. What the words and negatives are
//! owed in return is one number each ([`Pushes`]), since their changes are multiples of the paragraph.

use rand::{RngExt, SeedableRng};

use super::kernels::{add_weighted, dot, dots, sigmoid};
use super::sample::Negatives;
use crate::Rng;
use crate::wide::registers::{Lane, Registers, WIDTH, Work};

/// Words that share negatives.
const STEP: usize = 8;
/// Negatives of such a step.
pub(super) const AGAINST: usize = 16;
/// Negatives of a single word where a window of words helps the paragraph.
const AGAINST_ONE: usize = 4;

/// Negatives that many paragraphs have in common.
#[derive(Debug)]
pub(super) struct Pool {
    /// The words drawn.
    pub(super) rows: Vec<u32>,
    /// Their output vectors.
    pub(super) vectors: Vec<Lane>,
}

impl Pool {
    /// `size` negatives, at least [`AGAINST`], with their rows of the output table.
    pub(super) fn draw(size: usize, negatives: &Negatives, outputs: &[Lane], lanes: usize, rng: &mut Rng) -> Self {
        let rows: Vec<u32> = (0..size.max(AGAINST)).map(|_| negatives.draw(rng)).collect();
        let mut vectors = Vec::with_capacity(rows.len() * lanes);
        for &row in &rows {
            vectors.extend_from_slice(&outputs[row as usize * lanes..(row as usize + 1) * lanes]);
        }
        Pool { rows, vectors }
    }
}

/// Negatives met by the words of one step: where they begin in the pool, how many words, and what each was multiplied by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) first: usize,
    pub(super) words: usize,
    pub(super) weights: [f32; AGAINST],
}

/// By what each word and each negative was multiplied before it was added to the paragraph.
#[derive(Debug, Default)]
pub(super) struct Pushes {
    pub(super) words: Vec<f32>,
    pub(super) steps: Vec<Step>,
    /// The squared length of the paragraph as it has become.
    pub(super) square: f32,
    /// Scratch: the mean of a window, and its change.
    mean: Vec<Lane>,
}

/// The words around a word, where they help the paragraph to predict it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Contexts<'a> {
    /// The input table.
    pub(super) inputs: &'a [Lane],
    /// Words to either side.
    pub(super) window: usize,
}

/// One walk over the words of a document, to be run with the widest registers of the processor.
pub(super) struct Pull<'a> {
    pub(super) paragraph: &'a mut [Lane],
    pub(super) words: &'a [u32],
    pub(super) outputs: &'a [Lane],
    pub(super) contexts: Option<Contexts<'a>>,
    pub(super) pool: &'a Pool,
    /// Negatives for each word.
    pub(super) negatives: usize,
    pub(super) rate: f32,
    pub(super) seed: u64,
    pub(super) pushes: &'a mut Pushes,
}

impl Work for Pull<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Registers>(mut self, registers: V) {
        self.pushes.words.clear();
        self.pushes.steps.clear();
        match self.contexts {
            None => self.alone(registers),
            Some(contexts) => self.beside(registers, contexts),
        }
        self.pushes.square = dot(registers, self.paragraph, self.paragraph);
    }
}

impl Pull<'_> {
    /// The paragraph alone predicts every word.
    #[inline(always)]
    fn alone<V: Registers>(&mut self, v: V) {
        let n = self.paragraph.len();
        let mut rng = Rng::seed_from_u64(self.seed);
        for words in self.words.chunks(STEP) {
            for &word in words {
                let own = &self.outputs[word as usize * n..(word as usize + 1) * n];
                let push = self.rate * (1.0 - sigmoid(dot(v, self.paragraph, own)));
                add_weighted::<1, V>(v, self.paragraph, own, n, 0..1, |_, _| push);
                self.pushes.words.push(push);
            }
            let first = rng.random_range(0..=self.pool.rows.len() - AGAINST);
            let against = &self.pool.vectors[first * n..(first + AGAINST) * n];
            let mut weights = [0f32; AGAINST];
            dots(v, self.paragraph, against, &mut weights);
            let share = self.rate * (self.negatives * words.len()) as f32 / AGAINST as f32;
            for (weight, row) in weights.iter_mut().zip(&self.pool.rows[first..]) {
                // A word does not count as a negative of itself.
                let same = words.iter().filter(|&word| word == row).count() as f32 / words.len() as f32;
                *weight = -share * (1.0 - same) * sigmoid(*weight);
            }
            add_weighted::<1, V>(v, self.paragraph, against, n, 0..AGAINST, |_, k| weights[k]);
            self.pushes.steps.push(Step { first, words: words.len(), weights });
        }
    }

    /// The mean of the paragraph and the words around predicts the word in the middle.
    #[inline(always)]
    fn beside<V: Registers>(&mut self, v: V, contexts: Contexts<'_>) {
        let n = self.paragraph.len();
        let mut rng = Rng::seed_from_u64(self.seed);
        let row = |word: u32| word as usize * n..(word as usize + 1) * n;
        let Pushes { words: pushes, steps, mean, .. } = &mut *self.pushes;
        for (at, &word) in self.words.iter().enumerate() {
            let reach = rng.random_range(1..=contexts.window);
            let (from, to) = (at.saturating_sub(reach), self.words.len().min(at + reach + 1));
            mean.clear();
            mean.extend_from_slice(self.paragraph);
            for near in (from..to).filter(|&near| near != at) {
                let input = &contexts.inputs[row(self.words[near])];
                add_weighted::<1, V>(v, mean, input, n, 0..1, |_, _| 1.0);
            }
            let one = 1.0 / (to - from) as f32;
            mean.as_flattened_mut().iter_mut().for_each(|value| *value *= one);
            let own = &self.outputs[row(word)];
            let push = self.rate * (1.0 - sigmoid(dot(v, mean, own)));
            let first = rng.random_range(0..=self.pool.rows.len() - AGAINST);
            let against = &self.pool.vectors[first * n..(first + AGAINST_ONE) * n];
            let mut weights = [0f32; AGAINST];
            dots(v, mean, against, &mut weights[..AGAINST_ONE]);
            let share = self.rate * self.negatives as f32 / AGAINST_ONE as f32;
            for (weight, &row) in weights[..AGAINST_ONE].iter_mut().zip(&self.pool.rows[first..]) {
                *weight = if row == word { 0.0 } else { -share * sigmoid(*weight) };
            }
            add_weighted::<1, V>(v, self.paragraph, own, n, 0..1, |_, _| push);
            add_weighted::<1, V>(v, self.paragraph, against, n, 0..AGAINST_ONE, |_, k| weights[k]);
            pushes.push(push);
            steps.push(Step { first, words: 1, weights });
        }
    }
}

/// A row of zeros.
pub(super) fn still(lanes: usize) -> Vec<Lane> {
    vec![[0.0; WIDTH]; lanes]
}
