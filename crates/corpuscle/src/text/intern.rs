//! One worker's words: numbers in order of first sight, without a string for each token.
//!
//! Words of up to 16 bytes (nearly all tokens) are compared as two integers held in the table itself, so that a
//! look-up touches one cache line; longer ones are compared in the text block.

use std::hash::Hasher;

use hashbrown::HashTable;
use rustc_hash::FxHasher;

use super::Lexicon;
use super::scan::PADDING;

/// The first 16 bytes of a word as two little-endian numbers, zeros after its end.
type Key = [u64; 2];

/// Gives each distinct word a number.
#[derive(Default)]
pub(super) struct Interner {
    short: HashTable<(Key, u32)>,
    long: HashTable<u32>,
    text: String,
    ends: Vec<u64>,
}

impl Interner {
    /// The number of the word `padded[start..end]`; `padded` goes on for at least 16 bytes after it.
    #[inline]
    pub(super) fn id(&mut self, padded: &str, start: usize, end: usize) -> u32 {
        let length = end - start;
        if length > PADDING {
            return self.long_id(&padded[start..end]);
        }
        let key = short_key(padded.as_bytes(), start, length);
        let hash = hash_key(key);
        match self.short.find(hash, |&(other, _)| other == key) {
            Some(&(_, id)) => id,
            None => {
                let id = push(&mut self.text, &mut self.ends, &padded[start..end]);
                self.short.insert_unique(hash, (key, id), |&(key, _)| hash_key(key));
                id
            }
        }
    }

    #[cold]
    fn long_id(&mut self, word: &str) -> u32 {
        let Interner { long, text, ends, .. } = self;
        let hash = hash_bytes(word.as_bytes());
        if let Some(&id) = long.find(hash, |&id| term(text, ends, id) == word) {
            return id;
        }
        let id = push(text, ends, word);
        long.insert_unique(hash, id, |&id| hash_bytes(term(text, ends, id).as_bytes()));
        id
    }

    /// How many distinct words there are.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The words without the tables.
    pub(super) fn into_words(self) -> RawWords {
        RawWords { text: self.text, ends: self.ends }
    }
}

/// Distinct words in order of first sight.
#[derive(Default)]
pub(super) struct RawWords {
    text: String,
    ends: Vec<u64>,
}

impl RawWords {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// All words, one after the other.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Where each word ends in [`RawWords::text`].
    pub(super) fn ends(&self) -> &[u64] {
        &self.ends
    }

    /// The words by number.
    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.ends.len() as u32).map(|id| term(&self.text, &self.ends, id))
    }
}

/// The words of a lexicon, to be found by hashing. The lexicon itself stays where it is and is handed in.
#[derive(Debug)]
pub(super) struct Known {
    short: HashTable<(Key, u32)>,
    long: HashTable<u32>,
}

impl Known {
    pub(super) fn new(lexicon: &Lexicon) -> Self {
        let mut known = Known { short: HashTable::with_capacity(lexicon.len()), long: HashTable::new() };
        for (word, id) in lexicon.iter().zip(0u32..) {
            match padded_key(word) {
                // No word of a text holds a NUL; one in a lexicon from a file could be taken for a shorter word.
                _ if word.contains('\0') => {}
                Some(key) => _ = known.short.insert_unique(hash_key(key), (key, id), |&(key, _)| hash_key(key)),
                None => {
                    let again = |&id: &u32| hash_bytes(lexicon.term(id).as_bytes());
                    known.long.insert_unique(hash_bytes(word.as_bytes()), id, again);
                }
            }
        }
        known
    }

    /// The number of the word `padded[start..end]`; `padded` goes on for at least 16 bytes after it.
    #[inline]
    pub(super) fn id(&self, lexicon: &Lexicon, padded: &str, start: usize, end: usize) -> Option<u32> {
        match end - start > PADDING {
            true => self.long_id(lexicon, &padded[start..end]),
            false => self.short_id(short_key(padded.as_bytes(), start, end - start)),
        }
    }

    /// The number of a word.
    pub(super) fn id_of(&self, lexicon: &Lexicon, word: &str) -> Option<u32> {
        match padded_key(word) {
            Some(key) => self.short_id(key),
            None => self.long_id(lexicon, word),
        }
    }

    #[inline]
    fn short_id(&self, key: Key) -> Option<u32> {
        self.short.find(hash_key(key), |&(other, _)| other == key).map(|&(_, id)| id)
    }

    #[cold]
    fn long_id(&self, lexicon: &Lexicon, word: &str) -> Option<u32> {
        self.long.find(hash_bytes(word.as_bytes()), |&id| lexicon.term(id) == word).copied()
    }
}

/// The key of a word that is short enough to have one.
fn padded_key(word: &str) -> Option<Key> {
    let mut padded = [0; PADDING];
    padded.get_mut(..word.len())?.copy_from_slice(word.as_bytes());
    Some(short_key(&padded, 0, word.len()))
}

fn push(text: &mut String, ends: &mut Vec<u64>, word: &str) -> u32 {
    text.push_str(word);
    ends.push(text.len() as u64);
    (ends.len() - 1) as u32
}

fn term<'a>(text: &'a str, ends: &[u64], id: u32) -> &'a str {
    let start = if id == 0 { 0 } else { ends[id as usize - 1] };
    &text[start as usize..ends[id as usize] as usize]
}

/// The bits of a key that belong to a word of each length.
static MASKS: [Key; PADDING + 1] = {
    let mut masks = [[0; 2]; PADDING + 1];
    let mut length = 1;
    while length <= PADDING {
        let all = u128::MAX >> (128 - 8 * length);
        masks[length] = [all as u64, (all >> 64) as u64];
        length += 1;
    }
    masks
};

#[inline]
fn short_key(padded: &[u8], start: usize, length: usize) -> Key {
    // Not by `copy_from_slice`, which is a call where units are not optimised across each other.
    let first = padded[start..].first_chunk::<PADDING>().copied().unwrap_or_default();
    let (bytes, [low, high]) = (u128::from_le_bytes(first), MASKS[length]);
    [bytes as u64 & low, (bytes >> 64) as u64 & high]
}

/// A multiplication to 128 bits folded to 64: every bit of the key reaches the high and the low bits of the hash.
#[inline]
fn hash_key([low, high]: Key) -> u64 {
    let product = u128::from(low ^ 0x9E37_79B9_7F4A_7C15) * u128::from(high ^ 0xD1B5_4A32_D192_ED03);
    (product as u64) ^ ((product >> 64) as u64)
}

fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(bytes);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_are_those_of_first_sight(words in proptest::collection::vec("[a-cé]{1,3}|[ab]{14,18}", 0..60)) {
            let mut interner = Interner::default();
            let mut seen: Vec<String> = Vec::new();
            for word in words {
                let padded = format!("x{word}{}", "y".repeat(PADDING));
                let id = interner.id(&padded, 1, 1 + word.len());
                let expected = seen.iter().position(|known| *known == word).unwrap_or(seen.len());
                if expected == seen.len() {
                    seen.push(word);
                }
                prop_assert_eq!(id as usize, expected);
            }
            prop_assert_eq!(interner.len(), seen.len());
            let words = interner.into_words();
            prop_assert_eq!(words.iter().collect::<Vec<_>>(), seen);
        }
    }
}
