//! Words cut into character n-grams: what `chars` makes of a text.
//!
//! A word gets a blank at each end and is cut into every run of `min` to `max` characters, as scikit-learn's `char_wb` does (a
//! word shorter than a run is one run, once). A gram is written as linguists write parts of words: `un-` begins a word, `-ing` ends
//! one, `-nn-` is inside, `run` is a whole one with both its blanks. No word of a tokenizer holds a hyphen, so none is taken for
//! another.
//!
//! A collection has some twenty times more tokens than distinct words, so each distinct word is cut once: documents stay lists of
//! words ([`Pieces`] has the grams of each), and whoever counts walks over both. Written out, 20 Newsgroups would be 60 million
//! numbers.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::filter::Filter;
use super::intern::{Interner, RawWords};
use super::merge::{MOST_WORDS, TOO_MANY_WORDS, merge};
use super::scan::PADDING;
use super::{Lexicon, WordsParams};
use crate::params::{Checks, Param, Params};
use crate::{Error, KeyWriter, Result};

/// The longest character n-gram.
const LONGEST: usize = 16;

/// How long the character n-grams of words are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chars {
    /// The shortest, blanks counted.
    pub min: usize,
    /// The longest, blanks counted.
    pub max: usize,
}

impl Default for Chars {
    fn default() -> Self {
        Chars { min: 2, max: 5 }
    }
}

impl Chars {
    /// Whether the lengths can be.
    pub(super) fn checks(self, checks: Checks) -> Checks {
        checks.that((1..=LONGEST).contains(&self.max), "max", &self.max, format!("must be from 1 to {LONGEST}")).that(
            (1..=self.max).contains(&self.min),
            "min",
            &self.min,
            format!("must be from 1 to max = {}", self.max),
        )
    }

    /// The grams of a word, each with the bytes of the word it stands for.
    ///
    /// ```
    /// use corpuscle::text::Chars;
    /// assert_eq!(Chars { min: 3, max: 3 }.grams("the")[..2], [("th-".to_string(), 0..2), ("-the-".to_string(), 0..3)]);
    /// ```
    pub fn grams(self, word: &str) -> Vec<(String, Range<usize>)> {
        let mut grams = Vec::new();
        self.cut_at(word, &mut String::new(), |padded, length, place| {
            grams.push((padded[..length].to_string(), place))
        });
        grams
    }

    /// Calls `visit(buffer, length)` for every gram of a word, in the order of their lengths and places. The gram is the first
    /// `length` bytes of the buffer, which goes on for 16 bytes.
    pub(super) fn cut(self, word: &str, buffer: &mut String, mut visit: impl FnMut(&str, usize)) {
        self.cut_at(word, buffer, |padded, length, _| visit(padded, length));
    }

    #[inline]
    fn cut_at(self, word: &str, buffer: &mut String, mut visit: impl FnMut(&str, usize, Range<usize>)) {
        // Where each character of the word begins, and its end. With its blanks the word has two characters more.
        let mut places = [0usize; 64];
        let mut many = Vec::new();
        let length = word.chars().count();
        let places: &mut [usize] = match length < places.len() {
            true => &mut places[..=length],
            false => {
                many.resize(length + 1, 0);
                &mut many[..]
            }
        };
        let starts = word.char_indices().map(|(at, _)| at).chain([word.len()]);
        places.iter_mut().zip(starts).for_each(|(place, at)| *place = at);
        let whole = length + 2;
        for size in self.min..=self.max {
            let last = whole.saturating_sub(size);
            for from in 0..=last {
                let to = (from + size).min(whole);
                let core = places[from.saturating_sub(1).min(length)]..places[(to - 1).min(length)];
                buffer.clear();
                if from > 0 {
                    buffer.push(INSIDE);
                }
                buffer.push_str(&word[core.clone()]);
                if to < whole {
                    buffer.push(INSIDE);
                }
                let length = buffer.len();
                buffer.extend(std::iter::repeat_n('\0', PADDING));
                visit(buffer, length, core);
            }
            if last == 0 {
                break;
            }
        }
    }
}

/// Stands where the word goes on.
const INSIDE: char = '-';

/// The grams of each word.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Pieces {
    /// The grams of word `i` are `grams[starts[i]..starts[i + 1]]`.
    starts: Vec<u64>,
    grams: Vec<u32>,
}

impl Pieces {
    /// The grams of the words of a lexicon, and these by number.
    pub(super) fn cut(words: &Lexicon, chars: Chars) -> Result<(Lexicon, Self)> {
        let mut interner = Interner::default();
        let mut pieces = Pieces { starts: Vec::with_capacity(words.len() + 1), grams: Vec::new() };
        pieces.starts.push(0);
        let mut buffer = String::new();
        for word in words.iter() {
            chars.cut(word, &mut buffer, |padded, length| pieces.grams.push(interner.id(padded, 0, length)));
            pieces.starts.push(pieces.grams.len() as u64);
        }
        if interner.len() >= MOST_WORDS {
            return Err(Error::data(TOO_MANY_WORDS));
        }
        let raw: [RawWords; 1] = [interner.into_words()];
        let (lexicon, maps) = merge(&raw, &Filter::default())?;
        for gram in &mut pieces.grams {
            *gram = maps[0][*gram as usize];
        }
        Ok((lexicon, pieces))
    }

    /// The grams of a word.
    #[inline]
    pub(super) fn of(&self, word: u32) -> &[u32] {
        &self.grams[self.starts[word as usize] as usize..self.starts[word as usize + 1] as usize]
    }

    /// Adds what work on words cut like this depends on.
    pub(super) fn add_to(&self, key: KeyWriter) -> KeyWriter {
        key.numbers(self.starts.iter().copied()).numbers(self.grams.iter().map(|&gram| u64::from(gram)))
    }
}

/// Parameters of the `chars` stage: a [`WordsParams`] whose words are cut.
#[derive(Debug, Clone, PartialEq)]
pub struct CharsParams(
    /// Which words, and into what they are cut.
    pub WordsParams,
);

impl Default for CharsParams {
    fn default() -> Self {
        CharsParams(WordsParams { chars: Some(Chars::default()), ..WordsParams::default() })
    }
}

impl CharsParams {
    fn lengths(&self) -> &Chars {
        self.0.chars.as_ref().unwrap_or(&Chars { min: 2, max: 5 })
    }

    fn lengths_mut(&mut self) -> &mut Chars {
        self.0.chars.get_or_insert_default()
    }
}

impl Params for CharsParams {
    const NAME: &'static str = "chars";
    const ABOUT: &'static str = "how texts become character n-grams inside words";

    fn table() -> Vec<Param<Self>> {
        let shared = ["tokenizer", "strip", "lowercase"];
        let words = WordsParams::table().into_iter().filter(|param| shared.contains(&param.name));
        let mut table = vec![
            Param::field(
                "min",
                "fewest characters, a blank at each end of a word counted",
                |chars: &Self| &chars.lengths().min,
                |chars| &mut chars.lengths_mut().min,
            ),
            Param::field(
                "max",
                "most characters",
                |chars: &Self| &chars.lengths().max,
                |chars| &mut chars.lengths_mut().max,
            ),
        ];
        table.extend(words.map(|param| param.inside(|chars: &Self| &chars.0, |chars| &mut chars.0)));
        table
    }

    fn check(&self) -> Result<()> {
        self.0.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Run;
    use crate::text::Tokenizer;
    use std::collections::BTreeMap;

    fn grams(word: &str, min: usize, max: usize) -> Vec<String> {
        Chars { min, max }.grams(word).into_iter().map(|(gram, _)| gram).collect()
    }

    #[test]
    fn words_are_cut_with_a_blank_at_each_end() {
        assert_eq!(grams("abc", 2, 3), ["a-", "-ab-", "-bc-", "-c", "ab-", "-abc-", "-bc"]);
        assert_eq!(grams("é", 2, 5), ["é-", "-é", "é"]);
        assert_eq!(grams("ab", 4, 6), ["ab"]);
        assert_eq!(grams("ab", 9, 9), ["ab"]);
        assert_eq!(grams("a", 1, 1), ["-", "-a-", "-"]);
        let long = "x".repeat(100);
        assert_eq!(grams(&long, 2, 2).len(), 101);
    }

    /// A gram as scikit-learn writes it.
    fn with_blanks(gram: &str) -> String {
        if gram == "-" {
            return " ".to_string();
        }
        let (inner, begins) = gram.strip_prefix('-').map_or((gram, " "), |rest| (rest, ""));
        let (inner, ends) = inner.strip_suffix('-').map_or((inner, " "), |rest| (rest, ""));
        format!("{begins}{inner}{ends}")
    }

    #[derive(Deserialize)]
    struct Fixture {
        texts: Vec<String>,
        cases: Vec<Case>,
    }

    #[derive(Deserialize)]
    struct Case {
        min: usize,
        max: usize,
        rows: Vec<BTreeMap<String, u32>>,
    }

    #[test]
    fn grams_are_those_of_scikit_learn() {
        let fixture: Fixture = serde_json::from_str(include_str!("../../tests/fixtures/chars.json")).unwrap();
        for Case { min, max, rows } in fixture.cases {
            let chars = Some(Chars { min, max });
            let params = WordsParams { tokenizer: Tokenizer::Sklearn, chars, ..WordsParams::default() };
            let tokens = params.tokenize(&fixture.texts, &Run::new(0, 2).unwrap()).unwrap();
            for (document, expected) in rows.iter().enumerate() {
                let mut found = BTreeMap::new();
                tokens.words(document).for_each(|gram| *found.entry(with_blanks(gram)).or_default() += 1);
                assert_eq!(&found, expected, "{min} to {max} of document {document}");
            }
        }
    }
}
