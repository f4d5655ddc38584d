//! Stemmers: Porter's first algorithm (`porter`), his second (`english`), and every other Snowball language.
//!
//! M. F. Porter, "An algorithm for suffix stripping", Program 14 (1980). The generated code is that of the `frostem`
//! crate, pinned to one exact version because stems may change from one to the next; a fixture holds the stems of
//! Porter's algorithm fast.
//!
//! ```
//! use corpuscle::text::Stemmer;
//! assert_eq!(Stemmer::from_name("porter")?.stem("relational"), "relat");
//! assert!(Stemmer::from_name("klingon").is_err());
//! # Ok::<(), corpuscle::Error>(())
//! ```

use std::borrow::Cow;
use std::fmt;

use frostem::Algorithm;
use serde::{Deserialize, Serialize};

use crate::params::{Form, Kind, Value};
use crate::{Error, Result};

/// A stemming algorithm, by its Snowball name.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Stemmer {
    stemmer: frostem::Stemmer,
}

impl Stemmer {
    /// The stemmer of a language (`english`, `german` …) or algorithm (`porter`, `lovins`); two-letter codes work too.
    pub fn from_name(name: &str) -> Result<Self> {
        match frostem::Stemmer::try_from_name(name) {
            Ok(stemmer) => Ok(Stemmer { stemmer }),
            Err(_) => {
                let reason = format!("is not a stemmer; there are {}", Self::names().join(", "));
                Err(Error::parameter("words", "stem", name, reason))
            }
        }
    }

    /// The names of all stemmers.
    pub fn names() -> Vec<&'static str> {
        Algorithm::all().iter().map(|algorithm| algorithm.name()).collect()
    }

    /// The name of this stemmer.
    pub fn name(&self) -> &'static str {
        self.stemmer.algorithm().name()
    }

    /// The stem of a word in lower case; a word that would vanish stays.
    pub fn stem<'a>(&self, word: &'a str) -> Cow<'a, str> {
        let stem = self.stemmer.stem(word);
        if stem.is_empty() { Cow::Borrowed(word) } else { stem }
    }
}

/// The word for no stems, no stop words, nothing cut.
pub(super) const NONE: &str = "none";

impl Value for Option<Stemmer> {
    fn read(text: &str) -> Option<Self> {
        if text == NONE { Some(None) } else { Stemmer::from_name(text).ok().map(Some) }
    }

    fn show(&self) -> String {
        self.as_ref().map_or(NONE, |stemmer| stemmer.name()).to_string()
    }

    fn form() -> Form {
        Form { kind: Kind::Word, words: std::iter::once(NONE).chain(Stemmer::names()).collect() }
    }
}

impl PartialEq for Stemmer {
    fn eq(&self, other: &Self) -> bool {
        self.stemmer.algorithm() == other.stemmer.algorithm()
    }
}

impl fmt::Debug for Stemmer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stemmer({})", self.name())
    }
}

impl TryFrom<String> for Stemmer {
    type Error = Error;

    fn try_from(name: String) -> Result<Self> {
        Stemmer::from_name(&name)
    }
}

impl From<Stemmer> for String {
    fn from(stemmer: Stemmer) -> String {
        stemmer.name().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Word and stem by line, from snowballstemmer; see `tests/fixtures/make_text.py`.
    #[test]
    fn porter_and_others_stem_as_snowball_does() {
        let fixture = include_str!("../../tests/fixtures/stems.tsv");
        let mut lines = 0;
        for line in fixture.lines().filter(|line| !line.starts_with('#')) {
            let fields: Vec<&str> = line.split('\t').collect();
            let [algorithm, word, stem] = fields[..] else { panic!("{line}") };
            assert_eq!(Stemmer::from_name(algorithm).unwrap().stem(word), stem, "{algorithm} {word}");
            lines += 1;
        }
        assert!(lines > 1000);
    }

    #[test]
    fn an_unknown_stemmer_is_named_with_the_known_ones() {
        let error = Stemmer::from_name("klingon").unwrap_err().to_string();
        assert!(error.contains("stem = klingon") && error.contains("porter, portuguese"), "{error}");
    }

    proptest! {
        #[test]
        fn no_word_makes_a_stemmer_fail(word in "\\PC{1,12}") {
            for name in Stemmer::names() {
                prop_assert!(!Stemmer::from_name(name).unwrap().stem(&word).is_empty());
            }
        }
    }
}
