//! Some documents made ready for training: words with vectors alone, frequent ones thinned out, cut into blocks in random order.

use rand::RngExt;
use rand::seq::SliceRandom;
use rayon::prelude::*;

use super::block::{LENGTH, Span};
use crate::text::{Lexicon, Tokens};
use crate::{Error, Result, Run};

/// The words with vectors and how often they occur.
pub(super) struct Frequent {
    pub(super) words: Lexicon,
    pub(super) counts: Vec<u64>,
    /// The number of each word of the tokens among them, or `u32::MAX`.
    numbers: Vec<u32>,
}

impl Frequent {
    pub(super) fn of(tokens: &Tokens, min_count: u64) -> Result<Self> {
        let mut all = vec![0u64; tokens.n_terms()];
        tokens.ids().iter().for_each(|&id| all[id as usize] += 1);
        let mut frequent = Frequent { words: Lexicon::default(), counts: Vec::new(), numbers: Vec::new() };
        for (word, &count) in tokens.lexicon().iter().zip(&all) {
            let often = count >= min_count;
            frequent.numbers.push(if often { frequent.counts.len() as u32 } else { u32::MAX });
            if often {
                frequent.words.push(word);
                frequent.counts.push(count);
            }
        }
        if frequent.words.is_empty() {
            return Err(Error::data(format!(
                "no word occurs {min_count} times in the {} tokens, so none gets a vector; lower min_count",
                tokens.n_tokens()
            )));
        }
        Ok(frequent)
    }

    /// The numbers of those among words of the tokens that have a vector.
    pub(super) fn known(&self, ids: &[u32]) -> impl Iterator<Item = u32> {
        ids.iter().map(|&id| self.numbers[id as usize]).filter(|&word| word != u32::MAX)
    }
}

/// Some documents as they are trained on.
pub(super) struct Slab {
    pub(super) words: Vec<u32>,
    /// The input row of each word's topic, where there are any.
    pub(super) topics: Vec<u32>,
    /// For each block its document's words and its own: (document start, document end, start, end).
    pub(super) spans: Vec<[usize; 4]>,
    /// The documents with words to train on and where these begin, in order.
    pub(super) documents: Vec<(u32, usize)>,
    pub(super) seed: u64,
    /// The share of all training done before, and the share this slab is.
    pub(super) before: f64,
    pub(super) share: f64,
}

impl Slab {
    pub(super) fn new(
        documents: &[u32],
        tokens: &Tokens,
        topics: Option<&[u32]>,
        frequent: &Frequent,
        chances: &[u32],
        run: &Run,
        seed: u64,
    ) -> Self {
        let kept: Vec<(Vec<u32>, Vec<u32>)> = documents
            .par_iter()
            .enumerate()
            .with_min_len(64)
            .map(|(place, &document)| {
                let mut rng = run.with_seed(seed).rng(place as u64);
                let ids = tokens.document(document as usize);
                let known = ids.iter().map(|&id| frequent.numbers[id as usize]);
                let mut kept = |word: u32| word != u32::MAX && rng.random::<u32>() <= chances[word as usize];
                let Some(topics) = topics else { return (known.filter(|&word| kept(word)).collect(), Vec::new()) };
                let own = &topics[tokens.offsets()[document as usize] as usize..][..ids.len()];
                known.zip(own.iter().copied()).filter(|&(word, topic)| topic != u32::MAX && kept(word)).unzip()
            })
            .collect();
        let mut slab = Slab {
            words: Vec::new(),
            topics: Vec::new(),
            spans: Vec::new(),
            documents: Vec::new(),
            seed,
            before: 0.0,
            share: 0.0,
        };
        for (&number, (document, topics)) in documents.iter().zip(kept) {
            // A word alone has no context.
            if document.len() < 2 {
                continue;
            }
            let first = slab.words.len();
            slab.documents.push((number, first));
            slab.words.extend_from_slice(&document);
            slab.topics.extend_from_slice(&topics);
            let end = slab.words.len();
            for start in (first..end).step_by(LENGTH) {
                slab.spans.push([first, end, start, end.min(start + LENGTH)]);
            }
        }
        // Blocks of one document one after the other would meet the same words before their changes are made.
        slab.spans.shuffle(&mut run.with_seed(seed).rng(u64::MAX));
        slab
    }

    pub(super) fn span(&self, [first, last, start, end]: [usize; 4]) -> Span<'_> {
        Span {
            words: &self.words[first..last],
            start: start - first,
            end: end - first,
            paragraph: None,
            inputs: None,
            // The place of a block in its slab is its own.
            seed: self.seed ^ (start as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15),
        }
    }

    /// The document that the words at `start` are of.
    pub(super) fn document(&self, start: usize) -> Option<u32> {
        let after = self.documents.partition_point(|&(_, first)| first <= start);
        after.checked_sub(1).map(|at| self.documents[at].0)
    }

    pub(super) fn done(&self, blocks: usize) -> f64 {
        self.before + self.share * blocks as f64 / self.spans.len().max(1) as f64
    }
}
