//! Merges the workers' words into one lexicon in byte order, leaving out stop words and cutting to stems on the way.

use std::borrow::Cow;

use rayon::prelude::*;

use super::filter::Filter;
use super::intern::RawWords;
use super::lexicon::Lexicon;
use crate::{Error, Result};

/// Stands for a word that is left out.
pub(super) const DROPPED: u32 = u32::MAX;

/// Distinct words are fewer than this: the highest bit of a word's number may say something of one occurrence.
pub(super) const MOST_WORDS: usize = 1 << 31;
pub(super) const TOO_MANY_WORDS: &str = "more than 2 147 483 647 distinct words";

/// The words of one worker after filtering: word `id` of the worker is `text[starts[id]..starts[id + 1]]`, and is left
/// out when that is empty.
struct Words<'a> {
    text: Cow<'a, str>,
    starts: Vec<u64>,
}

impl<'a> Words<'a> {
    fn new(raw: &'a RawWords, filter: &Filter) -> Self {
        let mut starts = Vec::with_capacity(raw.len() + 1);
        starts.push(0);
        if filter.is_idle() {
            starts.extend_from_slice(raw.ends());
            return Words { text: Cow::Borrowed(raw.text()), starts };
        }
        let mut kept = String::with_capacity(raw.text().len());
        for word in raw.iter() {
            if let Some(word) = filter.apply(word) {
                kept.push_str(&word);
            }
            starts.push(kept.len() as u64);
        }
        Words { text: Cow::Owned(kept), starts }
    }

    fn word(&self, id: u32) -> &str {
        &self.text[self.starts[id as usize] as usize..self.starts[id as usize + 1] as usize]
    }
}

/// A word to be put in order. Its first 16 bytes as a big-endian number decide nearly every comparison without going
/// to the text.
struct Entry {
    first: u128,
    worker: u32,
    id: u32,
}

/// The merged lexicon, and for each worker the final number of each of its words.
pub(super) fn merge(raw: &[RawWords], filter: &Filter) -> Result<(Lexicon, Vec<Vec<u32>>)> {
    let workers: Vec<Words<'_>> = raw.par_iter().map(|raw| Words::new(raw, filter)).collect();
    let mut entries: Vec<Entry> = Vec::with_capacity(workers.iter().map(|words| words.starts.len()).sum());
    for (words, worker) in workers.iter().zip(0..) {
        let ids = 0..(words.starts.len() - 1) as u32;
        let kept = ids.filter(|&id| !words.word(id).is_empty());
        entries.extend(kept.map(|id| Entry { first: first_bytes(words.word(id)), worker, id }));
    }
    let word = |entry: &Entry| workers[entry.worker as usize].word(entry.id);
    entries.par_sort_unstable_by(|a, b| a.first.cmp(&b.first).then_with(|| word(a).cmp(word(b))));

    let mut maps: Vec<Vec<u32>> = workers.iter().map(|words| vec![DROPPED; words.starts.len() - 1]).collect();
    let mut lexicon = Lexicon::default();
    let mut before: Option<&str> = None;
    for entry in &entries {
        let current = word(entry);
        if before != Some(current) {
            lexicon.push(current);
            before = Some(current);
        }
        maps[entry.worker as usize][entry.id as usize] = (lexicon.len() - 1) as u32;
    }
    match lexicon.len() < MOST_WORDS {
        true => Ok((lexicon, maps)),
        false => Err(Error::data(TOO_MANY_WORDS)),
    }
}

fn first_bytes(word: &str) -> u128 {
    let mut first = [0; 16];
    let length = word.len().min(16);
    first[..length].copy_from_slice(&word.as_bytes()[..length]);
    u128::from_be_bytes(first)
}
