//! Paragraph vectors: a vector for every document, learnt by predicting its words.
//!
//! `dbow`: the paragraph d alone predicts each of its words, log σ(d · u_w) + k · E log σ(−d · u_n), with the order of words
//! left out; skip-gram vectors may be trained beside it on the same outputs u. `dm`: the mean of d and the words of a window predicts the
//! word in their middle. A new document is drawn along by its words while these stand still ([`super::pull`]).
//! Q. Le and T. Mikolov, "Distributed representations of sentences and documents" (2014).
//!
//! Documents of a batch are computed against the same outputs, whose changes are added afterwards in the order of
//! documents; a document is in a batch once, unless it is longer than [`SPAN`], and its own vector moves word by word.
//! O(words · dim) per pass with three products a word, whatever the number of negatives.

use rand::RngExt;
use rand::seq::SliceRandom;
use rayon::prelude::*;

use super::block::{Block, Span};
use super::by_row::ByRow;
use super::kernels::AddMultiples;
use super::pull::{Contexts, Pool, Pull, Pushes, still};
use super::sample::{Negatives, keep_chances};
use super::tables::{Tables, padded, small_rows};
use super::{Architecture, BATCH, Frequent, SkipGramParams, Slab};
use crate::matrix::Dense;
use crate::text::{Lexicon, Tokens};
use crate::wide::registers::{Lane, WIDTH, lanes, on_registers};
use crate::{Error, Result, Run};

/// Words of a document that are worked on in one go.
const SPAN: usize = 512;
/// Words of a batch.
const BATCH_WORDS: usize = 4096;
/// Negatives that the documents of a batch, and all new documents, have in common.
const POOL: usize = 1024;
/// The largest curvature that the changes of a row in one batch may have together: Σ |push| · |paragraph|² bounds it from above.
/// Steps that do not see each other overshoot beyond 2 and drive words and paragraphs out of all bounds. On held-out newsgroup
/// posts ½ was 1.5 points better than 1, but [`POOL`] was changed in the same trial: how much is the limit's own was not measured.
const MOST_CURVATURE: f32 = 0.5;
/// New documents in one piece of work.
const PIECE: usize = 16;

/// What predicts the words of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// The paragraph alone.
    Alone,
    /// The paragraph alone, while skip-gram vectors of the words are trained on the same outputs.
    BesideWords,
    /// The mean of the paragraph and the words around.
    Mean,
}

/// What is needed to find the vectors of documents.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Paragraphs {
    words: Lexicon,
    /// How often each word was there, for subsampling and the draw of negatives.
    counts: Vec<u64>,
    /// Vectors of words as contexts; none where only the paragraph predicts.
    inputs: Vec<Lane>,
    outputs: Vec<Lane>,
    dim: usize,
}

/// A word of a document and what it has added to the paragraph along some direction.
pub(crate) type Part = (u32, f64);

impl SkipGramParams {
    /// Trains what is needed to find the vectors of documents.
    pub(crate) fn fit_paragraphs(&self, reading: Reading, tokens: &Tokens, run: &Run) -> Result<Paragraphs> {
        let architecture = if reading == Reading::Mean { Architecture::Cbow } else { Architecture::SkipGram };
        let params = SkipGramParams { architecture, ..self.clone() };
        let frequent = Frequent::of(tokens, self.min_count)?;
        let (words, documents) = (frequent.words.len(), tokens.n_documents());
        let inputs = match reading {
            Reading::Alone => 0,
            Reading::BesideWords => words,
            Reading::Mean => words + documents,
        };
        let mut tables = Tables::new(inputs, words, self.dim, &mut run.rng(0));
        run.install(|| match reading {
            Reading::Mean => params.train_mean(&mut tables, tokens, &frequent, run),
            _ => params.train_alone(&mut tables, reading == Reading::BesideWords, tokens, &frequent, run),
        })?;
        let kept = if reading == Reading::Mean { words } else { 0 };
        let (inputs, outputs) = tables.into_both(kept, self.dim)?;
        self.check_finite(inputs.values())?;
        self.check_finite(outputs.values())?;
        let (inputs, outputs) = (padded(&inputs), padded(&outputs));
        Ok(Paragraphs { words: frequent.words, counts: frequent.counts, inputs, outputs, dim: self.dim })
    }

    fn train_mean(&self, tables: &mut Tables, tokens: &Tokens, frequent: &Frequent, run: &Run) -> Result<()> {
        let negatives = Negatives::new(&frequent.counts);
        let mut blocks: Vec<Block> = (0..BATCH).map(|_| Block::new(lanes(self.dim))).collect();
        let words = frequent.words.len() as u32;
        self.for_each_slab(tokens, frequent, super::Part::WHOLE, run, |slab| {
            self.learn_slab(
                tables,
                &mut blocks,
                slab,
                |slab, place| {
                    let paragraph = slab.document(place[0]).map(|document| words + document);
                    Span { paragraph, ..slab.span(place) }
                },
                &negatives,
                run,
            )
        })
    }

    fn train_alone(
        &self,
        tables: &mut Tables,
        beside_words: bool,
        tokens: &Tokens,
        frequent: &Frequent,
        run: &Run,
    ) -> Result<()> {
        let n = lanes(self.dim);
        let negatives = Negatives::new(&frequent.counts);
        let mut blocks: Vec<Block> = (0..BATCH).map(|_| Block::new(n)).collect();
        let mut paragraphs = small_rows(tokens.n_documents(), self.dim, &mut run.rng(2));
        let mut owed = ByRow::new(frequent.words.len());
        let mut works: Vec<Work> = Vec::new();
        self.for_each_slab(tokens, frequent, super::Part::WHOLE, run, |slab| {
            if beside_words {
                self.learn_slab(tables, &mut blocks, slab, Slab::span, &negatives, run)?;
            }
            let mut done = 0;
            for (number, spans) in batches(slab, run).into_iter().enumerate() {
                run.check()?;
                let rate = self.rate_at(slab.before + slab.share * done as f64 / slab.words.len().max(1) as f64);
                done += spans.iter().map(|span| span.end - span.start).sum::<usize>();
                let outputs = tables.outputs_mut();
                let seeded = run.with_seed(slab.seed.wrapping_add(number as u64));
                let pool = Pool::draw(POOL, &negatives, outputs, n, &mut seeded.rng(0));
                works.resize_with(works.len().max(spans.len()), Work::default);
                works.par_iter_mut().zip(&spans).enumerate().with_max_len(1).for_each(|(place, (work, span))| {
                    let at = span.document as usize * n;
                    work.paragraph.clear();
                    work.paragraph.extend_from_slice(&paragraphs[at..at + n]);
                    let words = &slab.words[span.start..span.end];
                    let pull = Pull {
                        paragraph: &mut work.paragraph,
                        words,
                        outputs,
                        contexts: None,
                        pool: &pool,
                        negatives: self.negatives,
                        rate,
                        seed: seeded.rng(place as u64 + 1).random(),
                        pushes: &mut work.pushes,
                    };
                    on_registers(pull);
                });
                apply(outputs, &mut owed, slab, &spans, &works, &pool);
                move_paragraphs(&mut paragraphs, &spans, &works, n);
            }
            Ok(())
        })
    }
}

/// Adds to each output row what the paragraphs of a batch owe it, in their order.
fn apply(outputs: &mut [Lane], owed: &mut ByRow<Owed>, slab: &Slab, spans: &[Piece], works: &[Work], pool: &Pool) {
    for ((span, work), number) in spans.iter().zip(works).zip(0..) {
        let mut owe = |rows: &[u32], pushes: &[f32]| {
            for (&row, &push) in rows.iter().zip(pushes) {
                owed.push(row, Owed { push, work: number });
            }
        };
        owe(&slab.words[span.start..span.end], &work.pushes.words);
        work.pushes.steps.iter().for_each(|step| owe(&pool.rows[step.first..], &step.weights));
    }
    owed.sort();
    let n = works.first().map_or(0, |work| work.paragraph.len());
    owed.add_to(outputs, n, |row, owed| {
        let of = |owed: &Owed| &works[owed.work as usize];
        let total: f32 = owed.iter().map(|owed| owed.push.abs() * of(owed).pushes.square).sum();
        let scale = if total > MOST_CURVATURE { MOST_CURVATURE / total } else { 1.0 };
        let multiples = owed.iter().map(|owed| (owed.push * scale, &of(owed).paragraph[..]));
        on_registers(AddMultiples { to: row, multiples });
    });
}

/// What a paragraph owes to a word: so many times itself.
#[derive(Debug, Clone, Copy, Default)]
struct Owed {
    push: f32,
    work: u32,
}

/// Some neighbouring words of a document.
struct Piece {
    document: u32,
    start: usize,
    end: usize,
}

/// A paragraph as it has become, and what its words are owed.
#[derive(Debug, Default)]
struct Work {
    paragraph: Vec<Lane>,
    pushes: Pushes,
}

/// The documents of a slab in batches of about [`BATCH_WORDS`] words.
fn batches(slab: &Slab, run: &Run) -> Vec<Vec<Piece>> {
    let mut pieces = Vec::new();
    let ends = slab.documents.iter().skip(1).map(|&(_, start)| start).chain([slab.words.len()]);
    for (&(document, first), last) in slab.documents.iter().zip(ends) {
        let cut = (first..last).step_by(SPAN);
        pieces.extend(cut.map(|start| Piece { document, start, end: last.min(start + SPAN) }));
    }
    // Pieces of one long document should not meet in a batch.
    pieces.shuffle(&mut run.with_seed(slab.seed).rng(u64::MAX - 1));
    let mut batches = Vec::new();
    let (mut batch, mut words) = (Vec::new(), 0);
    for piece in pieces {
        words += piece.end - piece.start;
        batch.push(piece);
        if words >= BATCH_WORDS {
            batches.push(std::mem::take(&mut batch));
            words = 0;
        }
    }
    batches.extend((!batch.is_empty()).then_some(batch));
    batches
}

/// Puts paragraphs where they have come to; one that set out several times goes to the middle.
fn move_paragraphs(paragraphs: &mut [Lane], spans: &[Piece], works: &[Work], n: usize) {
    let mut order: Vec<usize> = (0..spans.len()).collect();
    order.sort_by_key(|&at| spans[at].document);
    for same in order.chunk_by(|&a, &b| spans[a].document == spans[b].document) {
        let at = spans[same[0]].document as usize * n;
        let to = &mut paragraphs[at..at + n];
        to.fill([0.0; WIDTH]);
        let share = 1.0 / same.len() as f32;
        for &one in same {
            for (to, from) in to.iter_mut().zip(&works[one].paragraph) {
                for i in 0..WIDTH {
                    to[i] += share * from[i];
                }
            }
        }
    }
}

impl Paragraphs {
    /// The words that are known.
    pub(crate) fn words(&self) -> &Lexicon {
        &self.words
    }

    /// How often each was there.
    pub(crate) fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// The length of a vector.
    pub(crate) fn dim(&self) -> usize {
        self.dim
    }

    /// Vectors of words as contexts, of which there may be none, and as what is predicted.
    pub(crate) fn tables(&self) -> Result<(Dense, Dense)> {
        let take = |table: &[Lane]| {
            let rows = table.chunks_exact(lanes(self.dim));
            let values: Vec<f32> = rows.flat_map(|row| row.as_flattened()[..self.dim].iter().copied()).collect();
            Dense::new(values.len() / self.dim, self.dim, values)
        };
        Ok((take(&self.inputs)?, take(&self.outputs)?))
    }

    /// From the parts that [`Paragraphs::tables`], words and counts are; shapes that do not fit are refused.
    pub(crate) fn new(words: Lexicon, counts: Vec<u64>, inputs: &Dense, outputs: &Dense) -> Result<Self> {
        let fits = counts.len() == words.len() && outputs.rows() == words.len() && !words.is_empty();
        let fits = fits && (inputs.rows() == 0 || inputs.rows() == words.len() && inputs.cols() == outputs.cols());
        if !fits || outputs.cols() == 0 || counts.contains(&0) {
            return Err(Error::model("words, counts and vectors do not go together"));
        }
        Ok(Paragraphs { words, counts, inputs: padded(inputs), outputs: padded(outputs), dim: outputs.cols() })
    }

    /// The vectors of documents, `dim` numbers each; zeros for one without known words. Each depends on its own words alone.
    pub(crate) fn infer(&self, params: &SkipGramParams, tokens: &Tokens, run: &Run) -> Result<Dense> {
        let rows = self.walk(params, tokens, run, None)?;
        let values = rows.into_iter().flat_map(|(row, _)| row).collect::<Vec<f32>>();
        Dense::new(tokens.n_documents(), self.dim, values)
    }

    /// The vector of the first document, and what each of its words added along `direction`: all parts together are the
    /// inner product of both.
    pub(crate) fn parts(
        &self,
        params: &SkipGramParams,
        tokens: &Tokens,
        direction: &[f32],
        run: &Run,
    ) -> Result<(Vec<f32>, Vec<Part>)> {
        let direction = padded(&Dense::new(1, self.dim, direction.to_vec())?);
        Ok(self.walk(params, tokens, run, Some(&direction))?.into_iter().next().unwrap_or_default())
    }

    fn walk(
        &self,
        params: &SkipGramParams,
        tokens: &Tokens,
        run: &Run,
        direction: Option<&[Lane]>,
    ) -> Result<Vec<(Vec<f32>, Vec<Part>)>> {
        let n = lanes(self.dim);
        let negatives = Negatives::new(&self.counts);
        let chances = keep_chances(&self.counts, params.subsample);
        // Draws belong to the method and not to the run, so that a document has one vector whoever asks.
        let fixed = run.with_seed(0x7061_7261);
        let pool = Pool::draw(POOL, &negatives, &self.outputs, n, &mut fixed.rng(0));
        let numbers = tokens.lexicon().map_to(&self.words);
        let contexts = (!self.inputs.is_empty()).then_some(Contexts { inputs: &self.inputs, window: params.window });
        let one = |document: usize, pushes: &mut Pushes, kept: &mut Vec<u32>| {
            let mut paragraph = still(n);
            let mut parts: Vec<Part> = Vec::new();
            let mut rng = fixed.rng(1);
            for pass in 0..params.epochs {
                kept.clear();
                let known = tokens.document(document).iter().map(|&id| numbers[id as usize]);
                kept.extend(known.filter(|&word| word != u32::MAX && rng.random::<u32>() <= chances[word as usize]));
                on_registers(Pull {
                    paragraph: &mut paragraph,
                    words: kept,
                    outputs: &self.outputs,
                    contexts,
                    pool: &pool,
                    negatives: params.negatives,
                    rate: params.rate_at(pass as f64 / params.epochs as f64),
                    seed: pass as u64,
                    pushes,
                });
                if let Some(direction) = direction {
                    self.add_parts(kept, pushes, &pool, direction, &mut parts);
                }
            }
            parts.sort_by_key(|&(word, _)| word);
            parts.dedup_by(|later, first| {
                later.0 == first.0 && {
                    first.1 += later.1;
                    true
                }
            });
            (paragraph.as_flattened()[..self.dim].to_vec(), parts)
        };
        run.install(|| {
            let documents = tokens.n_documents();
            let pieces: Result<Vec<Vec<_>>> = (0..documents.div_ceil(PIECE))
                .into_par_iter()
                .map_init(
                    || (Pushes::default(), Vec::new()),
                    |(pushes, kept), piece| {
                        run.check()?;
                        let range = piece * PIECE..documents.min((piece + 1) * PIECE);
                        Ok(range.map(|document| one(document, pushes, kept)).collect())
                    },
                )
                .collect();
            Ok(pieces?.into_iter().flatten().collect())
        })
    }

    /// What each word of one walk added along a direction; the negatives of a step count for its words in equal shares.
    fn add_parts(&self, words: &[u32], pushes: &Pushes, pool: &Pool, direction: &[Lane], parts: &mut Vec<Part>) {
        let n = lanes(self.dim);
        let along = |table: &[Lane], row: usize| -> f64 {
            let vector = table[row * n..(row + 1) * n].as_flattened();
            vector.iter().zip(direction.as_flattened()).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
        };
        let mut at = 0;
        for step in &pushes.steps {
            let weights = step.weights.iter().enumerate().filter(|&(_, &weight)| weight != 0.0);
            let against: f64 =
                weights.map(|(k, &weight)| f64::from(weight) * along(&pool.vectors, step.first + k)).sum();
            for (&word, &push) in words[at..].iter().zip(&pushes.words[at..]).take(step.words) {
                let own = f64::from(push) * along(&self.outputs, word as usize);
                parts.push((word, own + against / step.words as f64));
            }
            at += step.words;
        }
    }
}
