//! Stop words: lists by name, or the caller's own.
//!
//! `english` is scikit-learn's list of 318 words, `smart` that of the SMART system (570 distinct words, with
//! contractions, which only [`Tokenizer::Unicode`](super::Tokenizer::Unicode) keeps whole); the other languages are
//! those of the Snowball project. Words are compared as the tokenizer gives them, before stemming.

use serde::{Deserialize, Serialize};

use super::stem::NONE;
use crate::params::{Form, Kind, Value};
use crate::{Error, Result};

/// Words to leave out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Stop {
    /// A list that comes with the library.
    List(StopList),
    /// The caller's own words, spelt as the tokenizer gives them (in lower case unless that is turned off).
    Words(Vec<String>),
}

impl Stop {
    /// The words.
    pub fn words(&self) -> Vec<&str> {
        match self {
            Stop::List(list) => list.words().collect(),
            Stop::Words(words) => words.iter().map(String::as_str).collect(),
        }
    }
}

impl From<StopList> for Stop {
    fn from(list: StopList) -> Self {
        Stop::List(list)
    }
}

macro_rules! lists {
    ($($variant:ident $name:literal $doc:literal),* $(,)?) => {
        /// A list of stop words that comes with the library.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        #[non_exhaustive]
        pub enum StopList {
            $(#[doc = $doc] $variant,)*
        }

        impl StopList {
            /// Every list.
            pub const ALL: &'static [StopList] = &[$(StopList::$variant),*];

            /// The name of the list.
            pub fn name(self) -> &'static str {
                match self {
                    $(StopList::$variant => $name,)*
                }
            }

            fn file(self) -> &'static str {
                match self {
                    $(StopList::$variant => include_str!(concat!("stop/", $name, ".txt")),)*
                }
            }
        }
    };
}

lists! {
    English "english" "scikit-learn's English list: 318 words.",
    Smart "smart" "The English list of the SMART system: 570 words, with contractions.",
    Danish "danish" "Danish, from Snowball.",
    Dutch "dutch" "Dutch, from Snowball.",
    Finnish "finnish" "Finnish, from Snowball.",
    French "french" "French, from Snowball.",
    German "german" "German, from Snowball.",
    Hungarian "hungarian" "Hungarian, from Snowball.",
    Italian "italian" "Italian, from Snowball.",
    Norwegian "norwegian" "Norwegian, from Snowball.",
    Portuguese "portuguese" "Portuguese, from Snowball.",
    Russian "russian" "Russian, from Snowball.",
    Spanish "spanish" "Spanish, from Snowball.",
    Swedish "swedish" "Swedish, from Snowball.",
}

impl StopList {
    /// The list of that name.
    pub fn from_name(name: &str) -> Result<Self> {
        Self::ALL.iter().copied().find(|list| list.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|list| list.name()).collect();
            Error::parameter("words", "stop", name, format!("is not a stop list; there are {}", names.join(", ")))
        })
    }

    /// The words of the list, some perhaps twice.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        self.file().lines().filter(|line| !line.starts_with('#') && !line.is_empty())
    }
}

impl Value for Option<Stop> {
    fn read(text: &str) -> Option<Self> {
        if text == NONE {
            return Some(None);
        }
        match StopList::from_name(text) {
            Ok(list) => Some(Some(Stop::List(list))),
            // One unknown word is more likely a misspelt list than a list of one word.
            Err(_) if !text.contains(' ') => None,
            Err(_) => Some(Some(Stop::Words(text.split_whitespace().map(str::to_string).collect()))),
        }
    }

    fn show(&self) -> String {
        match self {
            None => NONE.to_string(),
            Some(Stop::List(list)) => list.name().to_string(),
            // The trailing space keeps a list of one word apart from the name of a list.
            Some(Stop::Words(words)) => words.join(" ") + if words.len() == 1 { " " } else { "" },
        }
    }

    fn form() -> Form {
        let lists = StopList::ALL.iter().map(|list| list.name());
        Form { kind: Kind::Text, words: std::iter::once(NONE).chain(lists).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::WordsParams;

    #[test]
    fn lists_have_their_known_sizes() {
        assert_eq!(StopList::English.words().count(), 318);
        assert_eq!(StopList::Smart.words().count(), 571);
        for &list in StopList::ALL {
            assert_eq!(StopList::from_name(list.name()).unwrap(), list);
            assert!(list.words().count() > 90);
        }
        assert!(StopList::from_name("klingon").unwrap_err().to_string().contains("smart, danish"));
    }

    /// A stop word that the default tokenizer cannot produce would stop nothing.
    #[test]
    fn every_stop_word_is_a_token() {
        let params = WordsParams::default();
        for &list in StopList::ALL {
            for word in list.words() {
                assert_eq!(params.tokens_of(word).unwrap(), [word], "{list:?}");
            }
        }
    }

    #[test]
    fn own_words_are_a_list_in_json() {
        let stop: Stop = serde_json::from_str(r#"["a","b"]"#).unwrap();
        assert_eq!(stop.words(), ["a", "b"]);
        assert_eq!(serde_json::to_string(&Stop::List(StopList::Smart)).unwrap(), "\"smart\"");
    }
}
