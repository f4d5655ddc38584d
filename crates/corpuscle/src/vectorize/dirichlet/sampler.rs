//! Draws a topic for every token, again and again.
//!
//! Documents are cut into batches and batches into chunks, by their tokens alone. While a batch is sampled the counts of
//! words in topics stand still, and every document sees its own counts as they change; afterwards the changes of all chunks
//! are added up. These are whole numbers, so the order does not matter and the result is the same on any number of threads.
//! A batch is a small share of all tokens, so the counts are never far behind.
//!
//! The first sweep starts from no counts at all and draws each batch given the ones before it, which is as good as tens of
//! sweeps after a start at random.

use std::ops::Range;

use rand::Rng as _;
use rayon::prelude::*;

use super::kernel::draw;
use super::prior::Priors;
use crate::wide::registers::{Lane, Registers, WIDTH, Work, lanes, on_registers};
use crate::{Result, Run};

/// No topic yet.
const NONE: u16 = u16::MAX;
/// Batches of a sweep, and the fewest tokens of one.
const BATCHES: usize = 32;
const SMALLEST: usize = 1 << 12;
/// The most tokens of a batch; fewer than this share of a large corpus is as good.
const LARGEST: usize = 1 << 19;
/// Chunks of a batch: as many threads can work at once.
const CHUNKS: usize = 16;
/// Parts that the counts are changed in.
const PARTS: usize = 8;

/// Documents as numbers of words, one after the other; document `i` is `words[offsets[i]..offsets[i + 1]]`.
pub(super) struct Texts {
    pub(super) words: Vec<u32>,
    pub(super) offsets: Vec<u64>,
    pub(super) n_words: usize,
}

impl Texts {
    fn document(&self, document: usize) -> Range<usize> {
        self.offsets[document] as usize..self.offsets[document + 1] as usize
    }

    /// How many documents there are.
    pub(super) fn n_documents(&self) -> usize {
        self.offsets.len() - 1
    }
}

/// A token that changed its topic.
struct Change {
    word: u32,
    from: u16,
    to: u16,
}

/// The topics of all tokens, and how often each word is in each topic.
pub(super) struct Sampler<'a> {
    texts: &'a Texts,
    topics: usize,
    /// The topic of each token.
    pub(super) assigned: Vec<u16>,
    /// Words × topics, in whole lanes.
    pub(super) counts: Vec<[i32; WIDTH]>,
    /// Tokens of each topic.
    pub(super) totals: Vec<u64>,
    /// The documents of each chunk, batch by batch.
    batches: Vec<Vec<Range<usize>>>,
}

impl<'a> Sampler<'a> {
    pub(super) fn new(texts: &'a Texts, topics: usize) -> Self {
        Sampler {
            texts,
            topics,
            assigned: vec![NONE; texts.words.len()],
            counts: vec![[0; WIDTH]; texts.n_words * lanes(topics)],
            totals: vec![0; topics],
            batches: cut(texts),
        }
    }

    /// Draws every token's topic once; `sweep` counts from 0.
    pub(super) fn sweep(&mut self, sweep: u64, priors: &Priors, run: &Run) -> Result<()> {
        let batches = std::mem::take(&mut self.batches);
        let mut stream = sweep * batches.iter().map(|chunks| chunks.len() as u64).sum::<u64>();
        let mut done = Ok(());
        for chunks in &batches {
            done = run.check();
            if done.is_err() {
                break;
            }
            self.batch(chunks, stream, priors, run);
            stream += chunks.len() as u64;
        }
        self.batches = batches;
        done
    }

    fn batch(&mut self, chunks: &[Range<usize>], stream: u64, priors: &Priors, run: &Run) {
        let first = self.texts.document(chunks[0].start).start;
        let mut rest = &mut self.assigned[first..];
        let mut work = Vec::with_capacity(chunks.len());
        for (documents, stream) in chunks.iter().zip(stream..) {
            let tokens = self.texts.offsets[documents.end] - self.texts.offsets[documents.start];
            let (own, others) = rest.split_at_mut(tokens as usize);
            work.push((documents.clone(), own, stream));
            rest = others;
        }
        let scales = Scales::new(priors, &self.totals, self.texts.n_words);
        let (texts, counts, topics) = (self.texts, &self.counts, self.topics);
        let changes: Vec<Vec<Change>> = work
            .into_par_iter()
            .map(|(documents, assigned, stream)| {
                on_registers(Chunk {
                    texts,
                    counts,
                    scales: &scales,
                    topics,
                    documents,
                    assigned,
                    rng: run.rng(stream),
                })
            })
            .collect();
        self.apply(&changes);
    }

    /// Adds up the changes: every part of the words looks for its own.
    fn apply(&mut self, changes: &[Vec<Change>]) {
        let lanes = lanes(self.topics);
        let part = self.texts.n_words.div_ceil(PARTS).max(1);
        self.counts.par_chunks_mut(part * lanes).enumerate().for_each(|(number, counts)| {
            let first = (number * part) as u32;
            let words = first..first + (counts.len() / lanes) as u32;
            for changes in changes {
                for change in changes {
                    if !words.contains(&change.word) {
                        continue;
                    }
                    let row = &mut counts[(change.word - first) as usize * lanes..][..lanes];
                    row[change.to as usize / WIDTH][change.to as usize % WIDTH] += 1;
                    if change.from != NONE {
                        row[change.from as usize / WIDTH][change.from as usize % WIDTH] -= 1;
                    }
                }
            }
        });
        for change in changes.iter().flatten() {
            self.totals[change.to as usize] += 1;
            if change.from != NONE {
                self.totals[change.from as usize] -= 1;
            }
        }
    }

    /// Adds the counts to those of other sweeps.
    pub(super) fn add_to(&self, sums: &mut [[i32; WIDTH]]) {
        sums.par_iter_mut().zip(&self.counts).with_min_len(1 << 12).for_each(|(sums, counts)| {
            sums.iter_mut().zip(counts).for_each(|(sum, &count)| *sum += count);
        });
    }

    /// How often each number of tokens of a topic in a document occurs, topic by topic, and the lengths of documents.
    pub(super) fn histograms(&self) -> (Vec<Vec<u32>>, Vec<u32>) {
        let pieces: Vec<(Vec<Vec<u32>>, Vec<u32>)> = self
            .batches
            .par_iter()
            .map(|chunks| {
                let mut found = (vec![Vec::new(); self.topics], Vec::new());
                let mut own = vec![0usize; self.topics];
                for document in chunks.iter().cloned().flatten() {
                    let tokens = self.texts.document(document);
                    count(&mut found.1, tokens.len(), 1);
                    for &topic in &self.assigned[tokens.clone()] {
                        own[topic as usize] += 1;
                    }
                    for &topic in &self.assigned[tokens] {
                        let tokens = std::mem::take(&mut own[topic as usize]);
                        if tokens > 0 {
                            count(&mut found.0[topic as usize], tokens, 1);
                        }
                    }
                }
                found
            })
            .collect();
        let mut all = (vec![Vec::new(); self.topics], Vec::new());
        for (topics, lengths) in pieces {
            for (to, from) in all.0.iter_mut().zip(topics) {
                from.into_iter().enumerate().for_each(|(tokens, documents)| count(to, tokens, documents));
            }
            lengths.into_iter().enumerate().for_each(|(tokens, documents)| count(&mut all.1, tokens, documents));
        }
        all
    }
}

fn count(histogram: &mut Vec<u32>, at: usize, times: u32) {
    if times == 0 {
        return;
    }
    if histogram.len() <= at {
        histogram.resize(at + 1, 0);
    }
    histogram[at] += times;
}

/// Batches of chunks of documents, by numbers of tokens.
fn cut(texts: &Texts) -> Vec<Vec<Range<usize>>> {
    let batch = (texts.words.len() / BATCHES).clamp(SMALLEST, LARGEST) as u64;
    let chunk = (batch / CHUNKS as u64).max(1);
    let (mut batches, mut chunks, mut first) = (Vec::new(), Vec::new(), 0);
    let (mut of_chunk, mut of_batch) = (0, 0);
    for document in 0..texts.n_documents() {
        let tokens = texts.offsets[document + 1] - texts.offsets[document];
        of_chunk += tokens;
        of_batch += tokens;
        if of_chunk >= chunk || document + 1 == texts.n_documents() {
            chunks.push(first..document + 1);
            (first, of_chunk) = (document + 1, 0);
        }
        if (of_batch >= batch && of_chunk == 0) || document + 1 == texts.n_documents() {
            batches.push(std::mem::take(&mut chunks));
            of_batch = 0;
        }
    }
    batches
}

/// What is the same for all tokens of a batch.
struct Scales {
    /// β.
    beta: f32,
    /// α of each topic, and 1 / (tokens of the topic + β · words); zeros beyond the last topic.
    alpha: Vec<Lane>,
    inverse: Vec<Lane>,
}

impl Scales {
    fn new(priors: &Priors, totals: &[u64], n_words: usize) -> Self {
        let width = lanes(totals.len());
        let (mut alpha, mut inverse) = (vec![[0f32; WIDTH]; width], vec![[0f32; WIDTH]; width]);
        for (topic, (&total, &own)) in totals.iter().zip(&priors.alpha).enumerate() {
            alpha[topic / WIDTH][topic % WIDTH] = own as f32;
            inverse[topic / WIDTH][topic % WIDTH] = (1.0 / (total as f64 + priors.beta * n_words as f64)) as f32;
        }
        Scales { beta: priors.beta as f32, alpha, inverse }
    }
}

/// One worker's documents; gives what has changed.
struct Chunk<'a> {
    texts: &'a Texts,
    counts: &'a [[i32; WIDTH]],
    scales: &'a Scales,
    topics: usize,
    documents: Range<usize>,
    assigned: &'a mut [u16],
    rng: crate::Rng,
}

impl Work for Chunk<'_> {
    type Output = Vec<Change>;

    #[inline(always)]
    fn run<V: Registers>(self, v: V) -> Vec<Change> {
        let Chunk { texts, counts, scales, topics: n_topics, documents, assigned, mut rng } = self;
        let Scales { beta, alpha, inverse } = scales;
        let width = alpha.len();
        let mut changes = Vec::new();
        // Of the document under way: tokens of each topic, and (tokens + α) / (tokens of the topic everywhere + β · words).
        let (mut own, mut weights) = (vec![[0f32; WIDTH]; width], vec![[0f32; WIDTH]; width]);
        let mut parts = vec![[0f32; WIDTH]; width];
        let mut rest = assigned;
        for document in documents {
            let words = &texts.words[texts.document(document)];
            let (topics, others) = rest.split_at_mut(words.len());
            rest = others;
            own.fill([0.0; WIDTH]);
            for &topic in topics.iter().filter(|&&topic| topic != NONE) {
                own[usize::from(topic) / WIDTH][usize::from(topic) % WIDTH] += 1.0;
            }
            for lane in 0..width {
                let tokens = v.add(v.load(&own[lane]), v.load(&alpha[lane]));
                v.store(v.multiply(tokens, v.load(&inverse[lane])), &mut weights[lane]);
            }
            for (&word, topic) in words.iter().zip(topics) {
                let row = &counts[word as usize * width..][..width];
                let before = *topic;
                // Tables are written only when a topic changes: reading a lane just after a part of it was written is slow.
                let without = match before {
                    NONE => 0.0,
                    _ => {
                        let (lane, place) = (usize::from(before) / WIDTH, usize::from(before) % WIDTH);
                        (own[lane][place] - 1.0 + alpha[lane][place]) * inverse[lane][place]
                    }
                };
                let uniform = (rng.next_u64() >> 40) as f32 * (1.0 / (1u32 << 24) as f32);
                let drawn = draw(v, row, &weights, *beta, usize::from(before), without, uniform, &mut parts);
                // Rounding may carry a draw past the last topic.
                let drawn = drawn.min(n_topics - 1);
                if drawn == usize::from(before) {
                    continue;
                }
                let mut add = |topic: usize, tokens: f32| {
                    let (lane, place) = (topic / WIDTH, topic % WIDTH);
                    own[lane][place] += tokens;
                    weights[lane][place] = (own[lane][place] + alpha[lane][place]) * inverse[lane][place];
                };
                add(drawn, 1.0);
                if before != NONE {
                    add(usize::from(before), -1.0);
                }
                *topic = drawn as u16;
                changes.push(Change { word, from: before, to: drawn as u16 });
            }
        }
        changes
    }
}
