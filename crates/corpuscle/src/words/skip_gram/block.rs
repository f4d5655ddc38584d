//! One block of training: up to [`LENGTH`] consecutive words, their contexts, and negatives shared by all of them.
//!
//! Sharing is where the speed comes from: the rows of a block are fetched once and meet each other in small dense
//! products, where word by word each pair would fetch both of its rows. The loss keeps its expected value: of n shared
//! negatives each counts k·c/n times for a word with c context words, instead of k drawn for every pair.

use rand::{RngExt, SeedableRng};

use super::kernels::{add_all, add_weighted, all_dots, dot, dots, sigmoid};
use super::sample::Negatives;
use super::{Architecture, SkipGramParams};
use crate::Rng;
use crate::wide::registers::{Lane, Registers, WIDTH, Work};

/// Words of a block.
pub(super) const LENGTH: usize = 32;
/// Negatives a block shares. More of them vary less from block to block and cost more: on held-out newsgroup posts the
/// tf-idf average is 0.8 points better with 32 than with 16, and SCDV the same.
pub(super) const SHARED: usize = 32;

/// The two tables of parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Table {
    /// Vectors of words as words: the result.
    Inputs,
    /// Vectors of words as contexts and negatives.
    Outputs,
}

/// A block: `words[start..end]` of a document.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span<'a> {
    pub(super) words: &'a [u32],
    pub(super) start: usize,
    pub(super) end: usize,
    /// The row of the input table that stands for the whole document and joins every window of CBOW, where there is one.
    pub(super) paragraph: Option<u32>,
    /// Rows of the input table that stand for the words of the block, for skip-gram, where it is not the words themselves that predict.
    pub(super) inputs: Option<&'a [u32]>,
    pub(super) seed: u64,
}

/// The work on one block, to be run with the widest registers of the processor.
pub(super) struct Learn<'a, R> {
    pub(super) block: &'a mut Block,
    pub(super) span: Span<'a>,
    pub(super) params: &'a SkipGramParams,
    pub(super) negatives: &'a Negatives,
    pub(super) rate: f32,
    /// Copies a row of a table.
    pub(super) read: R,
}

impl<R: Fn(Table, u32, &mut [Lane])> Work for Learn<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run<V: Registers>(self, registers: V) {
        let Learn { block, span, params, negatives, rate, read } = self;
        block.learn(registers, span, params, negatives, rate, read);
    }
}

/// Scratch of one block, and the changes it wants.
#[derive(Debug)]
pub(super) struct Block {
    lanes: usize,
    /// Rows of the input table, then of the output table: contexts, then negatives.
    input_rows: Vec<u32>,
    output_rows: Vec<u32>,
    inputs: Vec<Lane>,
    outputs: Vec<Lane>,
    input_changes: Vec<Lane>,
    output_changes: Vec<Lane>,
    /// How many pairs each change is the sum of.
    input_pairs: Vec<f32>,
    output_pairs: Vec<f32>,
    /// The windows of the words: first and last position among the contexts.
    windows: Vec<(usize, usize)>,
    /// Words × (contexts + negatives): scores, then what each pair adds.
    pairs: Vec<f32>,
    /// The negatives that are contexts too.
    clashes: Vec<usize>,
    /// For CBOW, the means of the contexts and their changes.
    means: Vec<Lane>,
    mean_changes: Vec<Lane>,
}

impl Block {
    pub(super) fn new(lanes: usize) -> Self {
        Block {
            lanes,
            input_rows: Vec::new(),
            output_rows: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            input_changes: Vec::new(),
            output_changes: Vec::new(),
            input_pairs: Vec::new(),
            output_pairs: Vec::new(),
            windows: Vec::new(),
            pairs: Vec::new(),
            clashes: Vec::new(),
            means: Vec::new(),
            mean_changes: Vec::new(),
        }
    }

    /// Forgets the last block.
    pub(super) fn clear(&mut self) {
        self.input_rows.clear();
        self.output_rows.clear();
    }

    /// The rows of a table to change, in order.
    pub(super) fn rows(&self, table: Table) -> &[u32] {
        match table {
            Table::Inputs => &self.input_rows,
            Table::Outputs => &self.output_rows,
        }
    }

    /// The change at a place of [`Block::rows`], and how many pairs it is the sum of.
    #[inline(always)]
    pub(super) fn change(&self, table: Table, place: usize) -> (f32, &[Lane]) {
        let (pairs, changes) = match table {
            Table::Inputs => (&self.input_pairs, &self.input_changes),
            Table::Outputs => (&self.output_pairs, &self.output_changes),
        };
        (pairs[place], &changes[place * self.lanes..(place + 1) * self.lanes])
    }

    /// Computes the changes for a block: `read` copies a row of a table.
    #[inline(always)]
    fn learn<V: Registers>(
        &mut self,
        v: V,
        span: Span<'_>,
        params: &SkipGramParams,
        negatives: &Negatives,
        rate: f32,
        read: impl Fn(Table, u32, &mut [Lane]),
    ) {
        let mut rng = Rng::seed_from_u64(span.seed);
        let first = span.start.saturating_sub(params.window);
        let last = span.words.len().min(span.end + params.window);
        let around = &span.words[first..last];
        self.windows.clear();
        for at in span.start..span.end {
            let reach = rng.random_range(1..=params.window);
            self.windows.push((at.saturating_sub(reach).max(first) - first, last.min(at + reach + 1) - first));
        }
        self.input_rows.clear();
        self.output_rows.clear();
        let own = &span.words[span.start..span.end];
        let is_cbow = params.architecture == Architecture::Cbow;
        if is_cbow {
            self.input_rows.extend_from_slice(around);
            self.input_rows.extend(span.paragraph);
            self.output_rows.extend_from_slice(own);
        } else {
            self.input_rows.extend_from_slice(span.inputs.unwrap_or(own));
            self.output_rows.extend_from_slice(around);
        }
        for _ in 0..SHARED {
            self.output_rows.push(negatives.draw(&mut rng));
        }
        fetch(&mut self.inputs, &self.input_rows, self.lanes, |row, to| read(Table::Inputs, row, to));
        fetch(&mut self.outputs, &self.output_rows, self.lanes, |row, to| read(Table::Outputs, row, to));
        zero(&mut self.input_changes, self.inputs.len());
        zero(&mut self.output_changes, self.outputs.len());
        let paragraph = span.paragraph.map(|_| around.len());
        self.count_pairs(span.start - first, paragraph, params);
        match is_cbow {
            true => self.cbow(v, span.start - first, paragraph, params, rate),
            false => self.skip_gram(v, span.start - first, params, rate),
        }
        limit(v, &mut self.input_changes, self.lanes);
        limit(v, &mut self.output_changes, self.lanes);
    }

    /// How many pairs change each row: every word of a window is one, with its share of negatives.
    fn count_pairs(&mut self, offset: usize, paragraph: Option<usize>, params: &SkipGramParams) {
        let each = 1.0 + params.negatives as f32;
        let skip_gram = params.architecture != Architecture::Cbow;
        self.input_pairs.clear();
        self.input_pairs.resize(self.input_rows.len(), 0.0);
        self.output_pairs.clear();
        self.output_pairs.resize(self.output_rows.len(), 0.0);
        let mut all = 0;
        for (word, &(from, to)) in self.windows.iter().enumerate() {
            let contexts = to - from - 1;
            if skip_gram {
                all += contexts;
                self.input_pairs[word] = each * contexts as f32;
                self.output_pairs[from..to].iter_mut().for_each(|pairs| *pairs += 1.0);
                self.output_pairs[offset + word] -= 1.0;
            } else {
                all += 1;
                self.input_pairs[from..to].iter_mut().for_each(|pairs| *pairs += each);
                self.input_pairs[offset + word] -= each;
                self.output_pairs[word] = 1.0;
            }
        }
        if let Some(paragraph) = paragraph {
            self.input_pairs[paragraph] = each * self.windows.len() as f32;
        }
        let negatives = self.output_rows.len() - SHARED;
        self.output_pairs[negatives..].fill((params.negatives * all) as f32 / SHARED as f32);
    }

    /// Every word predicts the words of its window.
    #[inline(always)]
    fn skip_gram<V: Registers>(&mut self, v: V, offset: usize, params: &SkipGramParams, rate: f32) {
        let n = self.lanes;
        let (words, contexts) = (self.input_rows.len(), self.output_rows.len() - SHARED);
        let width = contexts + SHARED;
        self.pairs.clear();
        self.pairs.resize(words * width, 0.0);
        all_dots(v, &self.inputs, &self.outputs[contexts * n..], n, &mut self.pairs, width, contexts);
        let (around, negatives) = self.output_rows.split_at(contexts);
        self.clashes.clear();
        self.clashes.extend((0..SHARED).filter(|&negative| around.contains(&negatives[negative])));
        for (word, &(from, to)) in self.windows.iter().enumerate() {
            let pairs = &mut self.pairs[word * width..(word + 1) * width];
            let input = &self.inputs[word * n..(word + 1) * n];
            dots(v, input, &self.outputs[from * n..to * n], &mut pairs[from..to]);
            let own = offset + word;
            for pair in &mut pairs[from..to] {
                *pair = rate * (1.0 - sigmoid(*pair));
            }
            pairs[own] = 0.0;
            let share = params.negatives as f32 / SHARED as f32;
            let all = share * (to - from - 1) as f32;
            for pair in &mut pairs[contexts..] {
                *pair = -rate * all * sigmoid(*pair);
            }
            // A word does not count as a negative of a pair whose context it is.
            let window = &self.output_rows[from..to];
            for &negative in &self.clashes {
                let row = self.output_rows[contexts + negative];
                let same = window.iter().filter(|&&context| context == row).count();
                let same = same - usize::from(self.output_rows[own] == row);
                pairs[contexts + negative] *= 1.0 - same as f32 / ((to - from - 1) as f32).max(1.0);
            }
        }
        for word in 0..words {
            let (from, to) = self.windows[word];
            let pairs = &self.pairs[word * width..(word + 1) * width];
            let change = &mut self.input_changes[word * n..(word + 1) * n];
            add_weighted::<1, V>(v, change, &self.outputs, n, from..to, |_, k| pairs[k]);
        }
        let (pairs, window) = (&self.pairs, params.window);
        let negatives = &self.outputs[contexts * n..];
        let from_negative = |word: usize, k: usize| pairs[word * width + contexts + k];
        add_all(v, &mut self.input_changes, words, negatives, n, |_, _| 0..SHARED, from_negative);
        // The words that can have these contexts in their windows.
        let near = |first: usize, last: usize| {
            let from = first.saturating_sub(window + offset).min(words);
            from..words.min((last + window).saturating_sub(offset)).max(from)
        };
        let (to_contexts, to_negatives) = self.output_changes.split_at_mut(contexts * n);
        add_all(v, to_contexts, contexts, &self.inputs, n, near, |context, k| pairs[k * width + context]);
        let to_negative = |negative: usize, k: usize| pairs[k * width + contexts + negative];
        add_all(v, to_negatives, SHARED, &self.inputs, n, |_, _| 0..words, to_negative);
    }

    /// The mean of a window, and of the paragraph at its place among the inputs, predicts the word in its middle.
    #[inline(always)]
    fn cbow<V: Registers>(
        &mut self,
        v: V,
        offset: usize,
        paragraph: Option<usize>,
        params: &SkipGramParams,
        rate: f32,
    ) {
        let n = self.lanes;
        let words = self.windows.len();
        let more = usize::from(paragraph.is_some());
        zero(&mut self.means, words * n);
        zero(&mut self.mean_changes, words * n);
        for (word, &(from, to)) in self.windows.iter().enumerate() {
            let own = offset + word;
            let one = 1.0 / ((to - from - 1 + more) as f32).max(1.0);
            let mean = &mut self.means[word * n..(word + 1) * n];
            add_weighted::<1, V>(v, mean, &self.inputs, n, from..to, |_, k| if k == own { 0.0 } else { one });
            if let Some(paragraph) = paragraph {
                add_weighted::<1, V>(v, mean, &self.inputs, n, paragraph..paragraph + 1, |_, _| one);
            }
        }
        let width = 1 + SHARED;
        self.pairs.clear();
        self.pairs.resize(words * width, 0.0);
        all_dots(v, &self.means, &self.outputs[words * n..], n, &mut self.pairs, width, 1);
        let share = params.negatives as f32 / SHARED as f32;
        for word in 0..words {
            let pairs = &mut self.pairs[word * width..(word + 1) * width];
            let (from, to) = self.windows[word];
            if to - from + more < 2 {
                pairs.fill(0.0);
                continue;
            }
            let own = word * n..(word + 1) * n;
            pairs[0] = rate * (1.0 - sigmoid(dot(v, &self.means[own.clone()], &self.outputs[own])));
            for (pair, &negative) in pairs[1..].iter_mut().zip(&self.output_rows[words..]) {
                let other = f32::from(u8::from(negative != self.output_rows[word]));
                *pair = -rate * share * other * sigmoid(*pair);
            }
        }
        let pairs = &self.pairs;
        for word in 0..words {
            let own = word * n..(word + 1) * n;
            let change = &mut self.mean_changes[own.clone()];
            add_weighted::<1, V>(v, change, &self.outputs[own.clone()], n, 0..1, |_, _| pairs[word * width]);
            add_weighted::<1, V>(v, change, &self.outputs[words * n..], n, 0..SHARED, |_, k| {
                pairs[word * width + 1 + k]
            });
            add_weighted::<1, V>(v, &mut self.output_changes[own.clone()], &self.means[own], n, 0..1, |_, _| {
                pairs[word * width]
            });
        }
        for negative in 0..SHARED {
            let at = (words + negative) * n;
            add_weighted::<1, V>(v, &mut self.output_changes[at..at + n], &self.means, n, 0..words, |_, k| {
                pairs[k * width + 1 + negative]
            });
        }
        // As in the original program, every word of the window takes the whole change of the mean.
        for (word, &(from, to)) in self.windows.iter().enumerate() {
            let change = &self.mean_changes[word * n..(word + 1) * n];
            for context in (from..to).filter(|&context| context != offset + word).chain(paragraph) {
                add_weighted::<1, V>(
                    v,
                    &mut self.input_changes[context * n..(context + 1) * n],
                    change,
                    n,
                    0..1,
                    |_, _| 1.0,
                );
            }
        }
    }
}

/// The largest change of a row by one block. Ordinary ones are far smaller; without a limit, a handful of words that
/// meet each other all the time could drive each other beyond all bounds.
const LARGEST: f32 = 1.0;

#[inline(always)]
fn limit<V: Registers>(v: V, changes: &mut [Lane], lanes: usize) {
    for change in changes.chunks_exact_mut(lanes) {
        let square = dot(v, change, change);
        if square > LARGEST * LARGEST {
            let scale = LARGEST / square.sqrt();
            change.as_flattened_mut().iter_mut().for_each(|value| *value *= scale);
        }
    }
}

#[inline(always)]
fn fetch(to: &mut Vec<Lane>, rows: &[u32], lanes: usize, read: impl Fn(u32, &mut [Lane])) {
    to.resize(rows.len() * lanes, [0.0; WIDTH]);
    for (&row, to) in rows.iter().zip(to.chunks_exact_mut(lanes)) {
        read(row, to);
    }
}

fn zero(lanes: &mut Vec<Lane>, count: usize) {
    lanes.clear();
    lanes.resize(count, [0.0; WIDTH]);
}
