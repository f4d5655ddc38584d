//! The distinct words of a collection, in byte order, in one block of memory.

use crate::store::{StoreReader, StoreWriter};
use crate::{Error, Result};

/// Distinct words; a word's number is its place in byte order (which is code point order).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lexicon {
    text: String,
    /// Word `i` is `text[ends[i]..ends[i + 1]]`; the first entry is 0.
    ends: Vec<u64>,
}

impl Default for Lexicon {
    fn default() -> Self {
        Lexicon { text: String::new(), ends: vec![0] }
    }
}

impl Lexicon {
    /// A lexicon of words that ascend strictly.
    pub(crate) fn from_sorted<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        let mut lexicon = Lexicon::default();
        words.into_iter().for_each(|word| lexicon.push(word));
        lexicon
    }

    /// No words, with room for so many of so many bytes together.
    pub(crate) fn with_room(words: usize, bytes: usize) -> Self {
        let mut lexicon = Lexicon::default();
        lexicon.ends.reserve(words);
        lexicon.text.reserve(bytes);
        lexicon
    }

    /// How many bytes all words have together.
    pub(crate) fn text_len(&self) -> usize {
        self.text.len()
    }

    /// Adds words that come after all others.
    pub(crate) fn append(&mut self, other: &Lexicon) {
        let before = self.text.len() as u64;
        self.text.push_str(&other.text);
        self.ends.extend(other.ends[1..].iter().map(|end| before + end));
    }

    /// Adds a word that comes after all others.
    pub(crate) fn push(&mut self, word: &str) {
        debug_assert!(self.is_empty() || self.term(self.len() as u32 - 1) < word);
        self.text.push_str(word);
        self.ends.push(self.text.len() as u64);
    }

    /// How many words there are.
    pub fn len(&self) -> usize {
        self.ends.len() - 1
    }

    /// Whether there is no word.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The word of a number below [`Lexicon::len`].
    #[inline]
    pub fn term(&self, id: u32) -> &str {
        &self.text[self.ends[id as usize] as usize..self.ends[id as usize + 1] as usize]
    }

    /// The number of a word, by binary search.
    pub fn id(&self, word: &str) -> Option<u32> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = (low + high) / 2;
            match self.term(middle as u32).cmp(word) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Some(middle as u32),
            }
        }
        None
    }

    /// The words in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        self.ends.windows(2).map(|pair| &self.text[pair[0] as usize..pair[1] as usize])
    }

    /// For each word of this lexicon its number in `other`, or `u32::MAX`. O(n + m), or O(n log m) when that is less.
    pub(crate) fn map_to(&self, other: &Lexicon) -> Vec<u32> {
        if self.len() * 16 < other.len() {
            return self.iter().map(|word| other.id(word).unwrap_or(u32::MAX)).collect();
        }
        let mut theirs = other.iter().zip(0u32..).peekable();
        let find = |word: &str| {
            while theirs.next_if(|&(their, _)| their < word).is_some() {}
            theirs.next_if(|&(their, _)| their == word).map_or(u32::MAX, |(_, id)| id)
        };
        self.iter().map(find).collect()
    }

    /// Puts the words into a store.
    pub fn save(&self, name: &str, out: &mut StoreWriter) {
        out.put_strings(name, self.iter());
    }

    /// Takes words out of a store, checking that they ascend.
    pub fn load(name: &str, store: &StoreReader<'_>) -> Result<Self> {
        let words = store.strings(name)?;
        if words.windows(2).any(|pair| pair[0] >= pair[1]) || words.len() >= u32::MAX as usize {
            return Err(Error::model(format!("the words of `{name}` are not in order")));
        }
        Ok(Lexicon::from_sorted(words.iter().map(String::as_str)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::round_trip;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn words_are_found_and_mapped(
            ours in proptest::collection::btree_set("[a-dé]{1,3}", 0..40),
            theirs in proptest::collection::btree_set("[a-dé]{1,3}", 0..40),
        ) {
            let make = |words: &BTreeSet<String>| Lexicon::from_sorted(words.iter().map(String::as_str));
            let (ours, theirs) = (make(&ours), make(&theirs));
            let map = ours.map_to(&theirs);
            for (word, &id) in ours.iter().zip(&map) {
                prop_assert_eq!(theirs.id(word).unwrap_or(u32::MAX), id);
            }
            let few = Lexicon::from_sorted(ours.iter().take(1));
            prop_assert_eq!(few.map_to(&theirs), &map[..few.len()]);
            prop_assert_eq!(round_trip(|out| ours.save("w", out), |store| Lexicon::load("w", store)).unwrap(), ours);
        }
    }

    #[test]
    fn words_out_of_order_are_refused() {
        assert!(round_trip(|out| out.put_strings("w", ["b", "a"]), |store| Lexicon::load("w", store)).is_err());
        assert!(round_trip(|out| out.put_strings("w", ["a", "a"]), |store| Lexicon::load("w", store)).is_err());
    }
}
