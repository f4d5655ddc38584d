//! What counting terms needs of documents, built on any part of them and merged.
//!
//! A [`TermCounts`] has, for every n-gram of 1 to so many words, in how many documents it is and how often it is there,
//! and the number of documents: whole numbers only. Merging adds them up term by term, so any grouping and any order of
//! the parts gives the same, and a vectorizer made of the sum ([`CountsParams::model_of`](super::CountsParams::model_of),
//! [`TfidfParams::model_of`](super::TfidfParams::model_of)) is
//! to the byte the one fitted on all documents at once. Rare terms cannot be left out before the last part is known, so
//! a part holds every gram it has: 20 bytes each, and the words once. Merging is O(grams) of both.
//!
//! ```
//! use corpuscle::Run;
//! use corpuscle::text::WordsParams;
//! use corpuscle::vectorize::{TermCounts, TfidfParams};
//! let run = Run::new(1, 1)?;
//! let words = WordsParams::default();
//! let mut counts = TermCounts::of(&words.tokenize(&["red apple"], &run)?, 1, &run)?;
//! counts.merge(&TermCounts::of(&words.tokenize(&["green apple"], &run)?, 1, &run)?)?;
//! let (model, _) = TfidfParams::default().fit(&words.tokenize(&["red apple", "green apple"], &run)?, &run)?;
//! assert_eq!(TfidfParams::default().model_of(&counts)?, model);
//! # Ok::<(), corpuscle::Error>(())
//! ```

use super::grams::{Grams, Level, find};
use super::params::{FARTHEST, LONGEST};
use super::select::numbers;
use crate::store::{StoreReader, StoreWriter};
use crate::text::{Lexicon, Tokens};
use crate::{Error, Result, Run};

/// Document frequencies and counts of every term of some documents.
#[derive(Debug, Clone, PartialEq)]
pub struct TermCounts {
    documents: u64,
    /// The words that occur.
    words: Lexicon,
    grams: Grams,
    /// Up to how many words may stand between the two of a pair; 0 when pairs are not counted.
    skip: usize,
}

impl TermCounts {
    /// The counts of no documents, for grams of up to `longest` words: where merging can start.
    pub fn none(longest: usize) -> Result<Self> {
        Self::no_pairs(longest, 0)
    }

    /// The same, for pairs of words with up to `skip` words between them as well.
    pub fn no_pairs(longest: usize, skip: usize) -> Result<Self> {
        check_longest(longest, skip)?;
        let grams = Grams { levels: vec![Level::default(); longest], pairs: Level::default() };
        Ok(TermCounts { documents: 0, words: Lexicon::default(), grams, skip })
    }

    /// Counts the grams of up to `longest` words.
    pub fn of(tokens: &Tokens, longest: usize, run: &Run) -> Result<Self> {
        Self::with_pairs(tokens, longest, 0, run)
    }

    /// Counts the grams of up to `longest` words, and pairs of words with up to `skip` words between them.
    pub fn with_pairs(tokens: &Tokens, longest: usize, skip: usize, run: &Run) -> Result<Self> {
        check_longest(longest, skip)?;
        if tokens.n_documents() >= u32::MAX as usize {
            return Err(Error::data("more than 4 294 967 294 documents"));
        }
        let mut grams = find(tokens, longest, skip, 1.0, run)?;
        let Grams { levels, pairs } = &mut grams;
        let documents = tokens.n_documents() as u64;
        // A lexicon may have words of other documents, which would make equal counts unequal.
        let occurs: Vec<bool> = levels[0].frequencies.iter().map(|&frequency| frequency > 0).collect();
        if occurs.iter().all(|&occurs| occurs) {
            return Ok(TermCounts { documents, words: tokens.lexicon().clone(), grams, skip });
        }
        let kept = tokens.lexicon().iter().zip(&occurs).filter(|&(_, &occurs)| occurs).map(|(word, _)| word);
        let words = Lexicon::from_sorted(kept);
        let renumbered = numbers(&occurs);
        levels[0].frequencies.retain(|&frequency| frequency > 0);
        levels[0].counts.retain(|&count| count > 0);
        for (length, level) in levels.iter_mut().enumerate().skip(1) {
            level.words.iter_mut().for_each(|word| *word = renumbered[*word as usize]);
            if length == 1 {
                level.parents.iter_mut().for_each(|parent| *parent = renumbered[*parent as usize]);
            }
        }
        for word in pairs.parents.iter_mut().chain(&mut pairs.words) {
            *word = renumbered[*word as usize];
        }
        Ok(TermCounts { documents, words, grams, skip })
    }

    /// Adds the counts of other documents.
    pub fn merge(&mut self, other: &TermCounts) -> Result<()> {
        if self.longest() != other.longest() {
            let (expected, found) = (self.longest(), other.longest());
            return Err(Error::Shape { what: "words of the longest grams counted", expected, found });
        }
        if self.skip != other.skip {
            let (expected, found) = (self.skip, other.skip);
            return Err(Error::Shape { what: "words between the two of a pair counted", expected, found });
        }
        let (own_levels, other_levels) = (&self.grams.levels, &other.grams.levels);
        let (words, from_own, from_other) = merge_words(&self.words, &other.words);
        let mut single = Level { frequencies: vec![0; words.len()], counts: vec![0; words.len()], ..Level::default() };
        for (part, places) in [(&own_levels[0], &from_own), (&other_levels[0], &from_other)] {
            for ((&place, frequency), count) in places.iter().zip(&part.frequencies).zip(&part.counts) {
                let place = place as usize;
                single.frequencies[place] = single.frequencies[place].saturating_add(*frequency);
                // Counts of single words end at 2³² − 1 wherever they are made, so that is where they end here.
                single.counts[place] = (single.counts[place] + count).min(u64::from(u32::MAX));
            }
        }
        let mut levels = vec![single];
        let mut parents = (from_own.clone(), from_other.clone());
        for length in 1..own_levels.len() {
            let own = Part { level: &own_levels[length], parents: &parents.0, words: &from_own };
            let others = Part { level: &other_levels[length], parents: &parents.1, words: &from_other };
            let (level, from_own, from_other) = merge_level(&own, &others);
            parents = (from_own, from_other);
            levels.push(level);
        }
        let own = Part { level: &self.grams.pairs, parents: &from_own, words: &from_own };
        let others = Part { level: &other.grams.pairs, parents: &from_other, words: &from_other };
        let (pairs, ..) = merge_level(&own, &others);
        let (documents, skip) = (self.documents + other.documents, self.skip);
        *self = TermCounts { documents, words, grams: Grams { levels, pairs }, skip };
        Ok(())
    }

    /// How many documents were counted.
    pub fn n_documents(&self) -> u64 {
        self.documents
    }

    /// How many different terms there are, of all lengths.
    pub fn n_terms(&self) -> usize {
        self.grams.levels.iter().chain([&self.grams.pairs]).map(|level| level.counts.len()).sum()
    }

    /// How many words the longest grams counted have.
    pub fn longest(&self) -> usize {
        self.grams.levels.len()
    }

    /// Up to how many words may stand between the two of a pair; 0 when pairs are not counted.
    pub fn skip(&self) -> usize {
        self.skip
    }

    pub(super) fn words(&self) -> &Lexicon {
        &self.words
    }

    pub(super) fn grams(&self) -> &Grams {
        &self.grams
    }

    /// Puts the counts into a store.
    pub fn save(&self, out: &mut StoreWriter) {
        out.put_u64("documents", &[self.documents]);
        out.put_u64("longest", &[self.longest() as u64]);
        self.words.save("words", out);
        let save = |level: &Level, out: &mut StoreWriter| {
            out.put_u32("parents", &level.parents);
            out.put_u32("words", &level.words);
            out.put_u32("frequencies", &level.frequencies);
            out.put_u64("counts", &level.counts);
        };
        for (level, length) in self.grams.levels.iter().zip(1..) {
            out.scope(&format!("grams{length}"), |out| save(level, out));
        }
        if self.skip > 0 {
            out.put_u64("skip", &[self.skip as u64]);
            out.scope("pairs", |out| save(&self.grams.pairs, out));
        }
    }

    /// Takes counts out of a store, checking them whole.
    pub fn load(store: &StoreReader<'_>) -> Result<Self> {
        let documents = store.u64s("documents", Some(1))?[0];
        let longest = usize::try_from(store.u64s("longest", Some(1))?[0]).unwrap_or(usize::MAX);
        let skip = match store.has("skip") {
            true => usize::try_from(store.u64s("skip", Some(1))?[0]).unwrap_or(usize::MAX),
            false => 0,
        };
        check_longest(longest, skip).map_err(|e| Error::model(e.to_string()))?;
        let words = Lexicon::load("words", store)?;
        let load = |store: &StoreReader<'_>, length: usize, before: usize| -> Result<Level> {
            let frequencies = store.u32s("frequencies", (length == 1).then_some(words.len()))?;
            let counts = store.u64s("counts", Some(frequencies.len()))?;
            let pairs = if length == 1 { 0 } else { frequencies.len() };
            let level = Level {
                parents: store.u32s("parents", Some(pairs))?,
                words: store.u32s("words", Some(pairs))?,
                frequencies,
                counts,
            };
            let counted = level.frequencies.iter().zip(&level.counts).all(|(&frequency, &count)| {
                frequency > 0 && u64::from(frequency) <= documents && u64::from(frequency) <= count
            });
            let within = level.parents.iter().all(|&parent| (parent as usize) < before)
                && level.words.iter().all(|&word| (word as usize) < words.len());
            let ordered = (1..pairs).all(|at| level.pair(at - 1) < level.pair(at));
            if !(counted && within && ordered) {
                return Err(Error::model(format!("the counts of grams of {length} words are damaged")));
            }
            Ok(level)
        };
        let mut levels: Vec<Level> = Vec::with_capacity(longest);
        for length in 1..=longest {
            let before = levels.last().map_or(0, |level| level.counts.len());
            levels.push(load(&store.scope(&format!("grams{length}")), length, before)?);
        }
        let pairs = match skip {
            0 => Level::default(),
            _ => load(&store.scope("pairs"), 2, words.len())?,
        };
        Ok(TermCounts { documents, words, grams: Grams { levels, pairs }, skip })
    }
}

fn check_longest(longest: usize, skip: usize) -> Result<()> {
    if skip > FARTHEST {
        return Err(Error::parameter("counts", "skip", skip, format!("must be from 0 to {FARTHEST}")));
    }
    match longest {
        1..=LONGEST => Ok(()),
        _ => Err(Error::parameter("counts", "ngrams", longest, format!("must be from 1 to {LONGEST}"))),
    }
}

/// Both lists of words as one, and the place in it of every word of each.
fn merge_words(left: &Lexicon, right: &Lexicon) -> (Lexicon, Vec<u32>, Vec<u32>) {
    let mut words = Lexicon::default();
    let (mut from_left, mut from_right) = (Vec::with_capacity(left.len()), Vec::with_capacity(right.len()));
    let (mut i, mut j) = (0, 0);
    while i < left.len() || j < right.len() {
        let (a, b) = ((i < left.len()).then(|| left.term(i as u32)), (j < right.len()).then(|| right.term(j as u32)));
        let place = words.len() as u32;
        let takes_left = b.is_none_or(|b| a.is_some_and(|a| a <= b));
        let takes_right = a.is_none_or(|a| b.is_some_and(|b| b <= a));
        if takes_left {
            from_left.push(place);
            i += 1;
        }
        if takes_right {
            from_right.push(place);
            j += 1;
        }
        if let Some(word) = if takes_left { a } else { b } {
            words.push(word);
        }
    }
    (words, from_left, from_right)
}

/// The grams of one length of a part, with the merged numbers of their parents and words.
struct Part<'a> {
    level: &'a Level,
    parents: &'a [u32],
    words: &'a [u32],
}

impl Part<'_> {
    /// The merged numbers of parent and word. Renumbering keeps the order, so grams ascend as before.
    fn pair(&self, gram: usize) -> Option<(u32, u32)> {
        let (&parent, &word) = (self.level.parents.get(gram)?, self.level.words.get(gram)?);
        Some((self.parents[parent as usize], self.words[word as usize]))
    }
}

/// The grams of both parts, and the place among them of every gram of each.
fn merge_level(left: &Part<'_>, right: &Part<'_>) -> (Level, Vec<u32>, Vec<u32>) {
    let mut merged = Level::default();
    let (mut from_left, mut from_right) = (Vec::new(), Vec::new());
    let (mut i, mut j) = (0, 0);
    loop {
        let (a, b) = (left.pair(i), right.pair(j));
        let pair = match (a, b) {
            (Some(a), Some(b)) => a.min(b),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => return (merged, from_left, from_right),
        };
        let place = merged.counts.len() as u32;
        let (mut frequency, mut count) = (0u32, 0u64);
        if a == Some(pair) {
            (frequency, count) = (left.level.frequencies[i], left.level.counts[i]);
            from_left.push(place);
            i += 1;
        }
        if b == Some(pair) {
            frequency = frequency.saturating_add(right.level.frequencies[j]);
            count += right.level.counts[j];
            from_right.push(place);
            j += 1;
        }
        merged.push(pair.0, pair.1, frequency, count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::round_trip;
    use crate::text::WordsParams;
    use crate::vectorize::{Bound, CountsParams, TfidfParams, VectorizerModel};
    use proptest::prelude::*;

    fn run() -> Run {
        Run::new(0, 2).unwrap()
    }

    fn bytes(save: impl FnOnce(&mut StoreWriter)) -> Vec<(String, Vec<u8>)> {
        let mut out = StoreWriter::new();
        save(&mut out);
        out.into_entries().into_iter().map(|(name, entry)| (name, entry.bytes)).collect()
    }

    /// Merges two neighbours again and again, chosen by `choices`, sometimes the right into the left.
    fn merge_all(mut parts: Vec<TermCounts>, choices: &[usize]) -> TermCounts {
        for &choice in choices.iter().cycle() {
            if parts.len() == 1 {
                break;
            }
            let (one, other) = (choice % parts.len(), choice / 7 % (parts.len() - 1));
            let one = parts.swap_remove(one);
            parts[other].merge(&one).unwrap();
        }
        parts.pop().unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_grouping_and_order_of_parts_gives_the_same_bytes(
            texts in proptest::collection::vec(
                proptest::collection::vec("a|b|c|ab|b1|é|'", 0..12).prop_map(|words| words.join(" ")), 1..12),
            owners in proptest::collection::vec(0usize..5, 12),
            choices in proptest::collection::vec(0usize..100, 6),
            (ngrams_min, more, min_df, max_df) in (1usize..4, 0usize..3, 1u64..4, 0.5f64..1.0),
            max_features in proptest::option::of(1usize..20),
            skip in 0usize..4,
            shares in any::<bool>(),
        ) {
            let run = run();
            let longest = ngrams_min + more;
            let tokens = WordsParams::default().tokenize(&texts, &run).unwrap();
            let whole = TermCounts::with_pairs(&tokens, longest, skip, &run).unwrap();
            let parts: Vec<TermCounts> = (0..5)
                .map(|part| {
                    let rows: Vec<usize> = (0..texts.len()).filter(|&row| owners[row] == part).collect();
                    // With words of their own, or sharing those of all documents.
                    let own = match shares {
                        true => tokens.select(&rows).unwrap(),
                        false => {
                            let texts: Vec<&String> = rows.iter().map(|&row| &texts[row]).collect();
                            WordsParams::default().tokenize(&texts, &run).unwrap()
                        }
                    };
                    let counts = TermCounts::with_pairs(&own, longest, skip, &run).unwrap();
                    round_trip(|out| counts.save(out), TermCounts::load).unwrap()
                })
                .chain([TermCounts::no_pairs(longest, skip).unwrap()])
                .collect();
            let merged = merge_all(parts, &choices);
            prop_assert_eq!(bytes(|out| merged.save(out)), bytes(|out| whole.save(out)));

            let params = CountsParams {
                ngrams_min,
                ngrams: longest,
                min_df: Bound::Count(min_df),
                max_df: Bound::Share(max_df),
                max_features,
                skip,
                binary: false,
            };
            match (params.fit(&tokens, &run), params.model_of(&merged)) {
                (Ok((fitted, _)), Ok(made)) => {
                    prop_assert_eq!(&made, &fitted);
                    prop_assert_eq!(&params.vocabulary_of(&merged).unwrap(), fitted.vocabulary());
                    let tfidf = TfidfParams { counts: params.clone(), ..TfidfParams::default() };
                    let (fitted, _) = tfidf.fit(&tokens, &run).unwrap();
                    let made = tfidf.model_of(&merged).unwrap();
                    let saved = |model: &crate::vectorize::TfidfModel| bytes(|out| model.save(out).unwrap());
                    prop_assert_eq!(saved(&made), saved(&fitted));
                    prop_assert_eq!(made, fitted);
                    // Shorter grams can be had of the same counts.
                    let single = CountsParams { ngrams: 1, ngrams_min: 1, ..CountsParams::default() };
                    prop_assert_eq!(single.model_of(&merged).unwrap(), single.fit(&tokens, &run).unwrap().0);
                }
                (Err(fitted), Err(made)) => prop_assert_eq!(fitted.to_string(), made.to_string()),
                (fitted, made) => prop_assert!(false, "{fitted:?} {made:?}"),
            }
        }
    }

    #[test]
    fn counts_that_do_not_fit_together_are_refused() {
        let tokens = WordsParams::default().tokenize(&["a b", "b a b"], &run()).unwrap();
        let mut two = TermCounts::of(&tokens, 2, &run()).unwrap();
        assert_eq!((two.n_documents(), two.n_terms(), two.longest()), (2, 4, 2));
        assert!(two.merge(&TermCounts::none(1).unwrap()).is_err());
        assert!(two.merge(&TermCounts::no_pairs(2, 1).unwrap()).is_err());
        assert!(TermCounts::no_pairs(1, 17).is_err());
        assert!(CountsParams { skip: 1, ..CountsParams::default() }.model_of(&two).is_err());
        assert!(CountsParams { ngrams: 3, ..CountsParams::default() }.model_of(&two).is_err());
        assert!(TermCounts::none(0).is_err() && TermCounts::none(9).is_err());
        let with = |change: &dyn Fn(&mut StoreWriter)| {
            round_trip(
                |out| {
                    two.save(out);
                    change(out);
                },
                TermCounts::load,
            )
        };
        assert!(with(&|_| {}).is_ok());
        assert!(with(&|out| out.put_u64("longest", &[3])).is_err());
        assert!(with(&|out| out.put_u64("documents", &[1])).is_err());
        assert!(with(&|out| out.put_u32("grams1/frequencies", &[0, 2])).is_err());
        assert!(with(&|out| out.put_u32("grams2/words", &[0, 9])).is_err());
        assert!(with(&|out| out.put_u32("grams2/parents", &[1, 0])).is_err());
    }
}
