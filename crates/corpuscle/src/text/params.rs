//! What a word is: the parameters of the `words` stage.

use serde::{Deserialize, Serialize};

use super::builder::TokensBuilder;
use super::chars::Chars;
use super::one_text::Cutter;
use super::{Stemmer, Stop, Strip, Tokens};
use crate::params::{Checks, Param, Params};
use crate::{Result, Run, param};

/// Where words begin and end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tokenizer {
    /// Words of any script: text in NFKC without soft hyphens; a word is a run of letters, marks, numbers, `_` and
    /// joiners that begins with a letter, number or `_`, with single apostrophes kept between letters; Chinese
    /// characters, kana, Thai, Lao, Khmer and Burmese letters become overlapping pairs (one alone stays alone).
    #[default]
    Unicode,
    /// The words of scikit-learn's default pattern `\w\w+`: runs of at least two letters, numbers or `_`, without
    /// normalisation. Marks split words.
    Sklearn,
    /// Runs of the letters A to Z; everything else, accented letters too, splits.
    Letters,
}

crate::words!(Tokenizer { Unicode = "unicode", Sklearn = "sklearn", Letters = "letters" });

/// Parameters of the `words` stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WordsParams {
    /// Where words begin and end.
    pub tokenizer: Tokenizer,
    /// Whether text is brought to lower case.
    pub lowercase: bool,
    /// The fewest characters of a word, before stemming. [`Tokenizer::Sklearn`] never has fewer than 2.
    pub min_length: usize,
    /// Words left out, compared before stemming.
    pub stop: Option<Stop>,
    /// How words are cut to stems.
    pub stem: Option<Stemmer>,
    /// What is cut from newsgroup posts and mails before words are looked for.
    pub strip: Strip,
    /// Whether the first words and the last are terms of their own beside the words: `^how`, `^how·do`, `^how·do·i`, `card$`.
    pub position: bool,
    /// How many words after a negation (an English one) are marked, up to the next sign: `¬good`. 0 marks none.
    pub negate: usize,
    /// The lengths of the character n-grams that words are cut into; `None` leaves words whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chars: Option<Chars>,
    /// Other ways in which the same texts are read, for branches of a recipe that open with `words` or `chars` of their own:
    /// [`Tokens::view`] has them. They have no views themselves and are not in JSON.
    #[serde(skip)]
    pub views: Vec<WordsParams>,
}

impl Default for WordsParams {
    fn default() -> Self {
        WordsParams {
            tokenizer: Tokenizer::default(),
            lowercase: true,
            min_length: 1,
            stop: None,
            stem: None,
            strip: Strip::default(),
            position: false,
            negate: 0,
            chars: None,
            views: Vec::new(),
        }
    }
}

impl Params for WordsParams {
    const NAME: &'static str = "words";
    const ABOUT: &'static str = "how texts become words";

    fn table() -> Vec<Param<Self>> {
        vec![
            param!("tokenizer", tokenizer, "what a word is: of any script, scikit-learn's \\w\\w+, or letters a to z"),
            param!("stem", stem, "porter, english or another Snowball language"),
            param!("stop", stop, "words left out: english, smart, another language, or \"your own words\""),
            param!(
                "strip",
                strip,
                "what is cut from mails and posts: headers, quotes, signatures, joined with +, or all"
            ),
            param!("lowercase", lowercase, "whether text is brought to lower case"),
            param!("min_length", min_length, "fewest characters of a word"),
            param!("position", position, "true: the first words and the last are terms too: ^how, ^how·do, card$"),
            param!("negate", negate, "words after an English negation that are marked, up to the next sign: ¬good"),
        ]
    }

    fn check(&self) -> Result<()> {
        let Some(chars) = self.chars else {
            return Checks::of(Self::NAME).that(self.min_length > 0, "min_length", &0, "must be at least 1").done();
        };
        chars
            .checks(Checks::of("chars").that(self.min_length > 0, "min_length", &0, "must be at least 1"))
            .that(!self.position, "position", &true, "must be false: it is about whole words")
            .that(self.negate == 0, "negate", &self.negate, "must be 0: it is about whole words")
            .done()
    }
}

impl WordsParams {
    /// The tokens of all texts, with their views.
    pub fn tokenize<S: AsRef<str> + Sync>(&self, texts: &[S], run: &Run) -> Result<Tokens> {
        let mut builder = self.builder(run)?;
        builder.push(texts)?;
        builder.finish()
    }

    /// A builder that takes texts in batches, so that they need not all be in memory.
    pub fn builder(&self, run: &Run) -> Result<TokensBuilder> {
        self.check()?;
        Ok(TokensBuilder::new(self, run))
    }

    /// The tokens of one text, as [`WordsParams::tokenize`] would give them, views left aside.
    pub fn tokens_of(&self, text: &str) -> Result<Vec<String>> {
        Ok(Cutter::new(self)?.terms(text))
    }

    /// The same without its views.
    #[must_use]
    pub fn alone(&self) -> Self {
        WordsParams { views: Vec::new(), ..self.clone() }
    }

    /// Whether tokens are words as they stand, not cut and not marked.
    pub(crate) fn is_plain(&self) -> bool {
        self.chars.is_none() && !self.position && self.negate == 0
    }

    /// Whether the same scanner finds the words of both.
    pub(super) fn scans_like(&self, other: &Self) -> bool {
        (self.tokenizer, self.lowercase, self.strip) == (other.tokenizer, other.lowercase, other.strip)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::StopList;

    #[test]
    fn parameters_survive_json() {
        let params = WordsParams {
            tokenizer: Tokenizer::Letters,
            stop: Some(StopList::Smart.into()),
            stem: Some(Stemmer::from_name("german").unwrap()),
            ..WordsParams::default()
        };
        let json = serde_json::to_string(&params).unwrap();
        assert!(json.contains(r#""stop":"smart","stem":"german""#), "{json}");
        assert_eq!(serde_json::from_str::<WordsParams>(&json).unwrap(), params);
        assert!(serde_json::from_str::<WordsParams>(r#"{"stem":"klingon"}"#).is_err());
        assert_eq!(serde_json::from_str::<WordsParams>("{}").unwrap(), WordsParams::default());
    }

    #[test]
    fn a_length_of_zero_is_refused() {
        let params = WordsParams { min_length: 0, ..WordsParams::default() };
        assert!(params.check().unwrap_err().to_string().contains("min_length = 0"));
        assert!(params.tokens_of("a").is_err());
    }

    #[test]
    fn filters_come_in_order_length_stop_stem() {
        let params = WordsParams {
            min_length: 3,
            stop: Some(Stop::Words(vec!["running".into()])),
            stem: Some(Stemmer::from_name("porter").unwrap()),
            ..WordsParams::default()
        };
        assert_eq!(params.tokens_of("I am running; he runs as runners run").unwrap(), ["run", "runner", "run"]);
    }
}
