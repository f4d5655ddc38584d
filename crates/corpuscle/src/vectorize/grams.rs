//! Finds the n-grams of documents with their document frequencies and counts, without making a string.
//!
//! An n-gram is its first n − 1 words (a gram of the level before, the *parent*) and one word more, so every level is a
//! list of (parent, word) pairs however long the grams are. Pairs are collected by parent and sorted, which leaves them
//! in the byte order of the joined terms, because parents and words are numbered in that order and the space that joins
//! them sorts below every character of a word.
//!
//! A gram is in no more documents than any gram within it, so pairs whose parent or whose last n − 1 words fall below
//! the least document frequency are never looked at (Agrawal and Srikant, 1994). O(t log t) for t tokens at each
//! level, 8 bytes for each pair under way.
//!
//! Two words with up to k others between them (k-skip-bigrams: Guthrie et al., 2006) are (first, second) pairs as well and counted by
//! the same code: k + 1 for each token. Marks of positions join no gram and no pair.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::text::{Tokens, is_position};
use crate::{Result, Run};

/// Stands for no gram.
pub(super) const NONE: u32 = u32::MAX;

/// Pairs sorted at a time by one worker: 64 MB.
const PAIRS_AT_ONCE: usize = 1 << 23;

/// The grams of one length, in order.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Level {
    /// The gram without its last word, in the level before; empty for single words.
    pub(super) parents: Vec<u32>,
    /// The last word, a number of the lexicon.
    pub(super) words: Vec<u32>,
    /// In how many documents the gram is.
    pub(super) frequencies: Vec<u32>,
    /// How often the gram is there.
    pub(super) counts: Vec<u64>,
}

impl Level {
    pub(super) fn push(&mut self, parent: u32, word: u32, frequency: u32, count: u64) {
        self.parents.push(parent);
        self.words.push(word);
        self.frequencies.push(frequency);
        self.counts.push(count);
    }

    /// Parent and word of a gram of several words.
    pub(super) fn pair(&self, gram: usize) -> (u32, u32) {
        (self.parents[gram], self.words[gram])
    }

    fn append(&mut self, mut other: Level) {
        self.parents.append(&mut other.parents);
        self.words.append(&mut other.words);
        self.frequencies.append(&mut other.frequencies);
        self.counts.append(&mut other.counts);
    }
}

/// The key of a gram in a look-up table.
#[inline]
pub(super) fn key(parent: u32, word: u32) -> u64 {
    u64::from(parent) << 32 | u64::from(word)
}

/// The terms of documents.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Grams {
    /// The grams of one word (by word number), of two, …
    pub(super) levels: Vec<Level>,
    /// Pairs of words with others between them: parent and word are words.
    pub(super) pairs: Level,
}

/// The grams of 1 to `longest` words, and the pairs of words with up to `skip` others between them, that are in at least `least`
/// documents (and in one). Single words are all listed, so that their place is their number in the lexicon; the rare ones
/// have frequency 0.
pub(super) fn find(tokens: &Tokens, longest: usize, skip: usize, least: f64, run: &Run) -> Result<Grams> {
    let mut levels = vec![run.install(|| single_words(tokens, least, run))?];
    // Which words join others.
    let joins: Vec<bool> = match longest > 1 || skip > 0 {
        false => Vec::new(),
        true => tokens.lexicon().iter().map(|term| !is_position(term)).collect(),
    };
    // The gram of the level before that begins at each token.
    let mut at_token = Vec::new();
    for length in 2..=longest {
        run.check()?;
        let Some(shorter) = levels.last() else { break };
        let begins: &[u32] = if length == 2 { tokens.ids() } else { &at_token };
        let usable =
            |gram: u32| gram != NONE && shorter.frequencies[gram as usize] > 0 && (length > 2 || joins[gram as usize]);
        // The grams of a document that can be frequent enough.
        let each = |document: usize, visit: &mut dyn FnMut(u32, u32)| {
            let (from, to) = (tokens.offsets()[document] as usize, tokens.offsets()[document + 1] as usize);
            for at in from..(to + 1).saturating_sub(length) {
                if usable(begins[at]) && usable(begins[at + 1]) {
                    visit(begins[at], tokens.ids()[at + length - 1]);
                }
            }
        };
        let level = run.install(|| collect(tokens.n_documents(), shorter.frequencies.len(), &each, least, run))?;
        if length < longest {
            at_token = run.install(|| mark(tokens, begins, length, &level));
        }
        levels.push(level);
    }
    let mut pairs = Level::default();
    if skip > 0 {
        run.check()?;
        let single = &levels[0];
        let usable = |word: u32| single.frequencies[word as usize] > 0 && joins[word as usize];
        let each = |document: usize, visit: &mut dyn FnMut(u32, u32)| {
            let words = tokens.document(document);
            for (at, &first) in words.iter().enumerate().filter(|&(_, &word)| usable(word)) {
                let others = words[at + 1..].iter().take(skip + 1);
                others.filter(|&&word| usable(word)).for_each(|&second| visit(first, second));
            }
        };
        pairs = run.install(|| collect(tokens.n_documents(), single.frequencies.len(), &each, least, run))?;
    }
    Ok(Grams { levels, pairs })
}

/// Counts things by number: `count(document, bins)` adds a document's to `bins`. Integers, so the order is free.
fn tally<const N: usize>(
    documents: usize,
    bins: usize,
    run: &Run,
    count: impl Fn(usize, &mut [[u32; N]]) + Sync,
) -> Result<Vec<[u32; N]>> {
    let share = documents.div_ceil(rayon::current_num_threads()).max(1024);
    let parts = (0..documents.div_ceil(share)).into_par_iter().map(|part| {
        run.check()?;
        let mut own = vec![[0; N]; bins];
        (part * share..documents.min((part + 1) * share)).for_each(|document| count(document, &mut own));
        Ok(own)
    });
    let parts: Result<Vec<Vec<[u32; N]>>> = parts.collect();
    let mut parts = parts?.into_iter();
    let mut sum = parts.next().unwrap_or_else(|| vec![[0; N]; bins]);
    for part in parts {
        sum.iter_mut().flatten().zip(part.into_iter().flatten()).for_each(|(a, b)| *a = a.saturating_add(b));
    }
    Ok(sum)
}

fn single_words(tokens: &Tokens, least: f64, run: &Run) -> Result<Level> {
    let bins = tally::<3>(tokens.n_documents(), tokens.n_terms(), run, |document, bins| {
        // The third number is the last document a word was seen in, from 1.
        let stamp = document as u32 + 1;
        tokens.for_each(document, |word| {
            let [frequency, count, last] = &mut bins[word as usize];
            *frequency += u32::from(*last != stamp);
            *last = stamp;
            *count = count.saturating_add(1);
        });
    })?;
    let mut level = Level::default();
    for &[frequency, count, _] in &bins {
        let kept = f64::from(frequency) >= least;
        level.frequencies.push(if kept { frequency } else { 0 });
        level.counts.push(u64::from(count));
    }
    Ok(level)
}

/// The (parent, word) pairs that `each(document, visit)` visits, in order.
fn collect(
    documents: usize,
    parents: usize,
    each: &(impl Fn(usize, &mut dyn FnMut(u32, u32)) + Sync),
    least: f64,
    run: &Run,
) -> Result<Level> {
    let sizes = tally::<1>(documents, parents, run, |document, bins| {
        each(document, &mut |parent, _| bins[parent as usize][0] += 1);
    })?;
    let ranges = cut(&sizes, rayon::current_num_threads());
    let levels: Result<Vec<Level>> = ranges
        .into_par_iter()
        .map(|range| {
            run.check()?;
            // Where the pairs of each parent in the range go.
            let mut next: Vec<usize> = Vec::with_capacity(range.len() + 1);
            let mut total = 0;
            for &[size] in &sizes[range.clone()] {
                next.push(total);
                total += size as usize;
            }
            let mut pairs = vec![0u64; total];
            for document in 0..documents {
                each(document, &mut |parent, word| {
                    if range.contains(&(parent as usize)) {
                        let place = &mut next[parent as usize - range.start];
                        pairs[*place] = key(word, document as u32);
                        *place += 1;
                    }
                });
            }
            let mut level = Level::default();
            let mut rest = &mut pairs[..];
            for parent in range {
                let (own, tail) = rest.split_at_mut(sizes[parent][0] as usize);
                own.sort_unstable();
                for same_word in own.chunk_by(|a, b| a >> 32 == b >> 32) {
                    let frequency = 1 + same_word.windows(2).filter(|pair| pair[0] != pair[1]).count();
                    if frequency as f64 >= least {
                        let word = (same_word[0] >> 32) as u32;
                        level.push(parent as u32, word, frequency as u32, same_word.len() as u64);
                    }
                }
                rest = tail;
            }
            Ok(level)
        })
        .collect();
    let mut all = Level::default();
    levels?.into_iter().for_each(|level| all.append(level));
    Ok(all)
}

/// Ranges of parents with about equally many pairs: one for each thread, or more when they would not fit in memory.
fn cut(sizes: &[[u32; 1]], threads: usize) -> Vec<std::ops::Range<usize>> {
    let total: usize = sizes.iter().map(|size| size[0] as usize).sum();
    let share = total.div_ceil(threads).clamp(1, PAIRS_AT_ONCE);
    let mut ranges = Vec::new();
    let (mut start, mut pairs) = (0, 0);
    for (at, size) in sizes.iter().enumerate() {
        pairs += size[0] as usize;
        if pairs >= share {
            ranges.push(start..at + 1);
            (start, pairs) = (at + 1, 0);
        }
    }
    if start < sizes.len() {
        ranges.push(start..sizes.len());
    }
    ranges
}

/// The gram of this level that begins at each token.
fn mark(tokens: &Tokens, begins: &[u32], length: usize, level: &Level) -> Vec<u32> {
    let table: FxHashMap<u64, u32> =
        level.parents.iter().zip(&level.words).map(|(&parent, &word)| key(parent, word)).zip(0..).collect();
    let mut marks = vec![NONE; begins.len()];
    let mut rest = &mut marks[..];
    let mut places = Vec::with_capacity(tokens.n_documents());
    for document in 0..tokens.n_documents() {
        let (place, tail) = rest.split_at_mut(tokens.document(document).len());
        places.push(place);
        rest = tail;
    }
    places.into_par_iter().enumerate().with_min_len(256).for_each(|(document, place)| {
        let words = tokens.document(document);
        let from = tokens.offsets()[document] as usize;
        for at in 0..(words.len() + 1).saturating_sub(length) {
            if let Some(&gram) = table.get(&key(begins[from + at], words[at + length - 1])) {
                place[at] = gram;
            }
        }
    });
    marks
}
