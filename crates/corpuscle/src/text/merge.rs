//! Merges the workers' words into one lexicon in byte order, leaving out stop words and cutting to stems on the way.

use rayon::prelude::*;

use super::filter::Filter;
use super::intern::Interner;
use super::lexicon::Lexicon;
use crate::{Error, Result};

/// Stands for a word that is left out.
pub(super) const DROPPED: u32 = u32::MAX;

/// The words of one worker after filtering: word `id` of the worker is `text[starts[id]..starts[id + 1]]`, and is left
/// out when that is empty.
struct Words {
    text: String,
    starts: Vec<u64>,
}

impl Words {
    fn new(interner: Interner, filter: &Filter) -> Self {
        let (text, ends) = interner.into_words();
        let mut starts = Vec::with_capacity(ends.len() + 1);
        starts.push(0);
        if filter.is_idle() {
            starts.extend(ends);
            return Words { text, starts };
        }
        let mut kept = String::with_capacity(text.len());
        let mut start = 0;
        for end in ends {
            if let Some(word) = filter.apply(&text[start..end as usize]) {
                kept.push_str(&word);
            }
            starts.push(kept.len() as u64);
            start = end as usize;
        }
        Words { text: kept, starts }
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
pub(super) fn merge(interners: Vec<Interner>, filter: &Filter) -> Result<(Lexicon, Vec<Vec<u32>>)> {
    let workers: Vec<Words> = interners.into_par_iter().map(|interner| Words::new(interner, filter)).collect();
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
    match lexicon.len() < u32::MAX as usize {
        true => Ok((lexicon, maps)),
        false => Err(Error::data("more than 4 294 967 294 distinct words")),
    }
}

fn first_bytes(word: &str) -> u128 {
    let mut first = [0; 16];
    let length = word.len().min(16);
    first[..length].copy_from_slice(&word.as_bytes()[..length]);
    u128::from_be_bytes(first)
}
