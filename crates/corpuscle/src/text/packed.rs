//! Tokens in few bytes, made on any part of the documents and put together in any order.
//!
//! A part has the words that occur in it, in byte order, and for every document the numbers of its words: about two bytes
//! a token. It can be made in another process or another hour; [`PackedTokens::join`] makes of parts the [`Tokens`] that all
//! documents at once, in the order asked for, would have given, to the bit: words are numbered in byte order whoever counted
//! them. Joining is O(tokens + words · log words) and holds the parts and the result.
//!
//! The bytes: how many words and documents (LEB128, as every number here); every word as how many bytes it shares with the
//! one before, how many follow, and these; every document as its length and the numbers of its words.
//!
//! ```
//! use corpuscle::Run;
//! use corpuscle::text::{PackedTokens, WordsParams};
//! let (words, run) = (WordsParams::default(), Run::new(1, 1)?);
//! let part = |texts: &[&str]| words.tokenize(texts, &run).map(|tokens| PackedTokens::of(&tokens));
//! let (one, other) = (part(&["red apple", "pear"])?, part(&["green apple"])?);
//! // The second part's document between the two of the first.
//! let joined = PackedTokens::join(&[one, other], &[(0, 0), (1, 0), (0, 1)], &run)?;
//! assert_eq!(joined, words.tokenize(&["red apple", "green apple", "pear"], &run)?);
//! # Ok::<(), corpuscle::Error>(())
//! ```

use rayon::prelude::*;

use super::{Lexicon, Tokens, WordsParams};
use crate::{Error, Result, Run};

/// The tokens of a part of the documents, in few bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct PackedTokens {
    words: Lexicon,
    /// Documents one after the other, as they stand in the bytes.
    rows: Vec<u8>,
    /// Where each document begins in `rows`, and the end of the last.
    starts: Vec<u64>,
    tokens: u64,
}

impl PackedTokens {
    /// Packs documents; words of the lexicon that none of them has are left out.
    pub fn of(tokens: &Tokens) -> Self {
        let mut occurs = vec![false; tokens.n_terms()];
        tokens.ids().iter().for_each(|&id| occurs[id as usize] = true);
        let mut numbers = vec![0u32; occurs.len()];
        let mut words = Lexicon::default();
        for ((word, &occurs), number) in tokens.lexicon().iter().zip(&occurs).zip(&mut numbers) {
            if occurs {
                *number = words.len() as u32;
                words.push(word);
            }
        }
        let mut rows = Vec::with_capacity(tokens.n_tokens() * 2 + tokens.n_documents());
        let mut starts = Vec::with_capacity(tokens.n_documents() + 1);
        starts.push(0);
        for document in 0..tokens.n_documents() {
            let ids = tokens.document(document);
            put(&mut rows, ids.len() as u64);
            ids.iter().for_each(|&id| put(&mut rows, u64::from(numbers[id as usize])));
            starts.push(rows.len() as u64);
        }
        PackedTokens { words, rows, starts, tokens: tokens.n_tokens() as u64 }
    }

    /// How many documents there are.
    pub fn n_documents(&self) -> usize {
        self.starts.len() - 1
    }

    /// How many tokens all documents have together.
    pub fn n_tokens(&self) -> u64 {
        self.tokens
    }

    /// The words that occur.
    pub fn words(&self) -> &Lexicon {
        &self.words
    }

    /// The part as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.rows.len() + self.words.len() * 6 + 20);
        put(&mut bytes, self.words.len() as u64);
        put(&mut bytes, self.n_documents() as u64);
        let mut before: &[u8] = &[];
        for word in self.words.iter().map(str::as_bytes) {
            let shared = before.iter().zip(word).take_while(|(a, b)| a == b).count();
            put(&mut bytes, shared as u64);
            put(&mut bytes, (word.len() - shared) as u64);
            bytes.extend_from_slice(&word[shared..]);
            before = word;
        }
        bytes.extend_from_slice(&self.rows);
        bytes
    }

    /// A part from its bytes, checked whole.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::read(bytes).ok_or_else(|| Error::data("packed tokens are damaged or cut short"))
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let (n_words, n_documents) = (take_number(&mut rest)?, take_number(&mut rest)?);
        // Every word and every document takes at least a byte, so no more is set aside than there can be.
        if n_words.checked_add(n_documents)? > rest.len() as u64 || n_words >= u64::from(u32::MAX) {
            return None;
        }
        let mut words = Lexicon::default();
        let mut word: Vec<u8> = Vec::new();
        for at in 0..n_words {
            let (shared, more) = (take_number(&mut rest)?, take_number(&mut rest)?);
            let (shared, more) = (usize::try_from(shared).ok()?, usize::try_from(more).ok()?);
            let tail = rest.get(..more)?;
            rest = &rest[more..];
            // In order and not the same again: what follows the shared bytes is more than what followed them before.
            if at > 0 && word.get(shared..)? >= tail {
                return None;
            }
            word.get(..shared)?;
            word.truncate(shared);
            word.extend_from_slice(tail);
            words.push(std::str::from_utf8(&word).ok()?);
        }
        let rows = rest.to_vec();
        let mut starts = Vec::with_capacity(n_documents as usize + 1);
        starts.push(0);
        let mut tokens = 0u64;
        for _ in 0..n_documents {
            let length = take_number(&mut rest)?;
            for _ in 0..length {
                if take_number(&mut rest)? >= n_words {
                    return None;
                }
            }
            tokens = tokens.checked_add(length)?;
            starts.push((rows.len() - rest.len()) as u64);
        }
        rest.is_empty().then_some(PackedTokens { words, rows, starts, tokens })
    }

    /// The documents of several parts: for each place the part and the document in it. No document may come twice.
    pub fn join(parts: &[PackedTokens], order: &[(u32, u32)], run: &Run) -> Result<Tokens> {
        run.check()?;
        let documents: usize = parts.iter().map(PackedTokens::n_documents).sum();
        if order.len() != documents {
            return Err(Error::Shape { what: "documents put in order", expected: documents, found: order.len() });
        }
        let mut met: Vec<Vec<bool>> = parts.iter().map(|part| vec![false; part.n_documents()]).collect();
        for &(part, document) in order {
            match met.get_mut(part as usize).and_then(|part| part.get_mut(document as usize)) {
                Some(met) if !*met => *met = true,
                _ => {
                    return Err(Error::data(format!(
                        "document {document} of part {part} is not there, or comes twice"
                    )));
                }
            }
        }
        drop(met);
        let (lexicon, maps) = run.install(|| merge(parts))?;
        let mut offsets = Vec::with_capacity(documents + 1);
        offsets.push(0);
        let mut total = 0u64;
        for &(part, document) in order {
            let mut rest = parts[part as usize].row(document as usize);
            total += take_number(&mut rest).unwrap_or(0);
            offsets.push(total);
        }
        let mut ids = vec![0u32; total as usize];
        let mut places: Vec<&mut [u32]> = Vec::with_capacity(documents);
        let mut free = &mut ids[..];
        for pair in offsets.windows(2) {
            let (place, rest) = free.split_at_mut((pair[1] - pair[0]) as usize);
            places.push(place);
            free = rest;
        }
        run.check()?;
        run.install(|| {
            places.into_par_iter().zip(order).with_min_len(1024).for_each(|(place, &(part, document))| {
                let map = &maps[part as usize];
                let mut rest = parts[part as usize].row(document as usize);
                take_number(&mut rest);
                for id in place {
                    *id = take_number(&mut rest).and_then(|own| map.get(own as usize).copied()).unwrap_or(0);
                }
            });
        });
        // Which way words were cut is not packed: a recipe with further views does not find them here and says so.
        Ok(Tokens::from_parts(&WordsParams::default(), lexicon, ids, offsets))
    }

    fn row(&self, document: usize) -> &[u8] {
        &self.rows[self.starts[document] as usize..self.starts[document + 1] as usize]
    }
}

/// All words in byte order, and for each part the place of each of its words.
fn merge(parts: &[PackedTokens]) -> Result<(Lexicon, Vec<Vec<u32>>)> {
    let mut all: Vec<(&str, u32, u32)> = Vec::with_capacity(parts.iter().map(|part| part.words.len()).sum());
    for (part, number) in parts.iter().zip(0u32..) {
        all.extend(part.words.iter().zip(0u32..).map(|(word, id)| (word, number, id)));
    }
    all.par_sort_unstable();
    let mut maps: Vec<Vec<u32>> = parts.iter().map(|part| vec![0; part.words.len()]).collect();
    let mut lexicon = Lexicon::default();
    let mut before: Option<&str> = None;
    for (word, part, id) in all {
        if before != Some(word) {
            lexicon.push(word);
            before = Some(word);
        }
        maps[part as usize][id as usize] = (lexicon.len() - 1) as u32;
    }
    match lexicon.len() < u32::MAX as usize {
        true => Ok((lexicon, maps)),
        false => Err(Error::data("more than 4 294 967 294 distinct words")),
    }
}

/// Seven bits a byte, the lowest first; the top bit says that more follow.
fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take_number(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for (place, &byte) in rest.iter().take(10).enumerate() {
        let bits = u64::from(byte & 0x7f);
        if place == 9 && bits > 1 {
            return None;
        }
        number |= bits << (7 * place);
        if byte & 0x80 == 0 {
            *rest = &rest[place + 1..];
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Stemmer, StopList, WordsParams};
    use proptest::prelude::*;

    fn run(threads: usize) -> Run {
        Run::new(0, threads).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn parts_in_any_order_give_the_tokens_of_all_documents(
            texts in proptest::collection::vec("(([a-c]{1,3}|the|running|é漢字)[ .]){0,8}", 0..20),
            owners in proptest::collection::vec(0usize..4, 20),
            keys in proptest::collection::vec(any::<u16>(), 20),
        ) {
            let words = WordsParams {
                stem: Some(Stemmer::from_name("porter").unwrap()),
                stop: Some(StopList::English.into()),
                ..WordsParams::default()
            };
            let mut order: Vec<usize> = (0..texts.len()).collect();
            order.sort_by_key(|&row| (keys[row], row));
            let in_order: Vec<&String> = order.iter().map(|&row| &texts[row]).collect();
            let whole = words.tokenize(&in_order, &run(1)).unwrap();
            let owners = &owners;
            let rows = |part: usize| (0..texts.len()).filter(move |&row| owners[row] == part);
            let parts: Vec<PackedTokens> = (0..4)
                .map(|part| {
                    let own: Vec<&String> = rows(part).map(|row| &texts[row]).collect();
                    let packed = PackedTokens::of(&words.tokenize(&own, &run(1)).unwrap());
                    let back = PackedTokens::from_bytes(&packed.to_bytes()).unwrap();
                    assert_eq!(back, packed);
                    back
                })
                .collect();
            let place = |row: usize| (owners[row] as u32, rows(owners[row]).position(|own| own == row).unwrap() as u32);
            let places: Vec<(u32, u32)> = order.iter().map(|&row| place(row)).collect();
            for threads in [1, 2] {
                // Which way words were cut is not packed.
                let joined = PackedTokens::join(&parts, &places, &run(threads)).unwrap();
                prop_assert_eq!(joined.n_documents(), whole.n_documents());
                for document in 0..whole.n_documents() {
                    prop_assert_eq!(joined.words(document).collect::<Vec<_>>(), whole.words(document).collect::<Vec<_>>());
                }
            }
            // Words that only other documents have are not carried along.
            let some: Vec<usize> = (0..whole.n_documents()).step_by(2).collect();
            let alone: Vec<&String> = some.iter().map(|&at| in_order[at]).collect();
            prop_assert_eq!(
                PackedTokens::of(&whole.select(&some).unwrap()),
                PackedTokens::of(&words.tokenize(&alone, &run(1)).unwrap())
            );
        }

        #[test]
        fn damaged_bytes_are_refused_or_read_and_never_panic(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..60),
            change in any::<(usize, u8)>(),
        ) {
            let _ = PackedTokens::from_bytes(&bytes);
            let good = PackedTokens::of(&WordsParams::default().tokenize(&["b a b", "", "c b"], &run(1)).unwrap());
            bytes = good.to_bytes();
            for length in 0..bytes.len() {
                prop_assert!(PackedTokens::from_bytes(&bytes[..length]).is_err());
            }
            let at = change.0 % bytes.len();
            bytes[at] = change.1;
            if let Ok(read) = PackedTokens::from_bytes(&bytes) {
                prop_assert!(read.n_documents() <= bytes.len());
            }
        }
    }

    #[test]
    fn an_order_that_does_not_fit_is_refused() {
        let part = PackedTokens::of(&WordsParams::default().tokenize(&["a", "b"], &run(1)).unwrap());
        let join = |order: &[(u32, u32)]| PackedTokens::join(std::slice::from_ref(&part), order, &run(1));
        assert!(join(&[(0, 1), (0, 0)]).is_ok());
        for wrong in [&[(0, 0)][..], &[(0, 0), (0, 0)], &[(0, 0), (1, 0)], &[(0, 0), (0, 2)]] {
            assert!(join(wrong).is_err(), "{wrong:?}");
        }
        assert_eq!(PackedTokens::join(&[], &[], &run(1)).unwrap().n_documents(), 0);
    }

    #[test]
    fn large_numbers_survive() {
        let mut bytes = Vec::new();
        for number in [0, 127, 128, 16_383, 16_384, u64::from(u32::MAX), u64::MAX] {
            bytes.clear();
            put(&mut bytes, number);
            let mut rest = &bytes[..];
            assert_eq!((take_number(&mut rest), rest.len()), (Some(number), 0));
        }
        assert_eq!(take_number(&mut &[0xff; 11][..]), None);
    }
}
