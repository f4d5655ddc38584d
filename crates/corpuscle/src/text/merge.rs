//! Merges the workers' words into one lexicon in byte order, leaving out stop words and cutting to stems on the way.
//!
//! Words are dealt out by their first byte, sorted and numbered bucket by bucket on all threads, and what the buckets found is put
//! together in order. O(w log w) for w words.

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

/// One for each first byte.
const BUCKETS: usize = 256;
/// Buckets with more words are sorted by several threads: the words of some scripts all begin with one byte.
const LARGE: usize = 1 << 15;
/// How many bytes of a word an entry has.
const FIRST: usize = 16;

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

    /// The words that are left, those with one first byte after those with another, and where each byte's begin.
    fn entries(&self) -> (Vec<Entry>, Vec<usize>) {
        let ids = 0..(self.starts.len() - 1) as u32;
        let mut starts = vec![0; BUCKETS + 1];
        let first_byte = |id: u32| self.word(id).as_bytes().first().map(|&byte| byte as usize);
        ids.clone().filter_map(first_byte).for_each(|byte| starts[byte + 1] += 1);
        (0..BUCKETS).for_each(|byte| starts[byte + 1] += starts[byte]);
        let (mut next, mut entries) = (starts.clone(), vec![Entry::default(); starts[BUCKETS]]);
        for id in ids {
            let word = self.word(id);
            if let Some(&byte) = word.as_bytes().first() {
                let place = &mut next[byte as usize];
                entries[*place] =
                    Entry { first: first_bytes(word), id, length: word.len().min(FIRST + 1) as u8, worker: 0 };
                *place += 1;
            }
        }
        (entries, starts)
    }
}

/// A word to be put in order. Its first 16 bytes as a big-endian number decide nearly every comparison without going
/// to the text, and are all of nearly every word.
#[derive(Clone, Copy, Default)]
struct Entry {
    first: u128,
    id: u32,
    worker: u32,
    /// How many bytes the word has, or more than 16.
    length: u8,
}

/// The words with one first byte.
#[derive(Default)]
struct Bucket {
    lexicon: Lexicon,
    /// For each worker its words and their numbers here.
    numbers: Vec<Vec<(u32, u32)>>,
}

/// The merged lexicon, and for each worker the final number of each of its words.
pub(super) fn merge(raw: &[RawWords], filter: &Filter) -> Result<(Lexicon, Vec<Vec<u32>>)> {
    let workers: Vec<Words<'_>> = raw.par_iter().map(|raw| Words::new(raw, filter)).collect();
    let dealt: Vec<(Vec<Entry>, Vec<usize>)> = workers.par_iter().map(Words::entries).collect();
    let buckets: Vec<Bucket> = (0..BUCKETS).into_par_iter().map(|byte| number(byte, &workers, &dealt)).collect();
    drop(dealt);
    let words = buckets.iter().map(|bucket| bucket.lexicon.len()).sum();
    if words >= MOST_WORDS {
        return Err(Error::data(TOO_MANY_WORDS));
    }
    let mut lexicon = Lexicon::with_room(words, buckets.iter().map(|bucket| bucket.lexicon.text_len()).sum());
    let mut before = Vec::with_capacity(BUCKETS);
    for bucket in &buckets {
        before.push(lexicon.len() as u32);
        lexicon.append(&bucket.lexicon);
    }
    let map = |(worker, words): (usize, &Words<'_>)| {
        let mut map = vec![DROPPED; words.starts.len() - 1];
        for (bucket, before) in buckets.iter().zip(&before) {
            let own = bucket.numbers.get(worker).into_iter().flatten();
            own.for_each(|&(id, number)| map[id as usize] = before + number);
        }
        map
    };
    let maps = workers.par_iter().enumerate().map(map).collect();
    Ok((lexicon, maps))
}

/// Puts the words of all workers that begin with `byte` in order and numbers them.
fn number(byte: usize, workers: &[Words<'_>], dealt: &[(Vec<Entry>, Vec<usize>)]) -> Bucket {
    let own = |(_, starts): &(Vec<Entry>, Vec<usize>)| starts[byte]..starts[byte + 1];
    let mut entries: Vec<Entry> = Vec::with_capacity(dealt.iter().map(|part| own(part).len()).sum());
    for (part, worker) in dealt.iter().zip(0..) {
        entries.extend(part.0[own(part)].iter().map(|&entry| Entry { worker, ..entry }));
    }
    if entries.is_empty() {
        return Bucket::default();
    }
    let word = |entry: &Entry| workers[entry.worker as usize].word(entry.id);
    let order = |a: &Entry, b: &Entry| a.first.cmp(&b.first).then_with(|| word(a).cmp(word(b)));
    match entries.len() > LARGE {
        true => entries.par_sort_unstable_by(order),
        false => entries.sort_unstable_by(order),
    }
    let mut lexicon = Lexicon::default();
    let mut numbers = vec![Vec::new(); workers.len()];
    let mut before: Option<&Entry> = None;
    for entry in &entries {
        let is_long = entry.length as usize > FIRST;
        if before.is_none_or(|before| before.first != entry.first || (is_long && word(before) != word(entry))) {
            // Read off the entry where that is the whole word: to go to the text for each, in this order, is a wait for memory.
            let first = entry.first.to_be_bytes();
            let short = first.get(..entry.length as usize).and_then(|bytes| std::str::from_utf8(bytes).ok());
            lexicon.push(short.unwrap_or_else(|| word(entry)));
        }
        before = Some(entry);
        numbers[entry.worker as usize].push((entry.id, (lexicon.len() - 1) as u32));
    }
    Bucket { lexicon, numbers }
}

fn first_bytes(word: &str) -> u128 {
    let mut first = [0; FIRST];
    let length = word.len().min(first.len());
    first[..length].copy_from_slice(&word.as_bytes()[..length]);
    u128::from_be_bytes(first)
}
