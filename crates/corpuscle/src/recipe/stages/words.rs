//! The `words` stage: text to words.

use super::{AnyStage, StageInfo, StageKind};
use crate::Result;
use crate::recipe::arguments::{Parameter, Shown};
use crate::recipe::stage::Stage;
use crate::text::{Stemmer, Stop, StopList, Strip, Tokenizer, WordsParams};

const TOKENIZERS: &[(&str, Tokenizer)] =
    &[("unicode", Tokenizer::Unicode), ("sklearn", Tokenizer::Sklearn), ("letters", Tokenizer::Letters)];

pub(super) const WORDS: StageInfo = StageInfo {
    name: "words",
    kind: StageKind::Words,
    about: "how texts become words",
    parameters: &[
        Parameter { name: "tokenizer", about: "unicode (default), sklearn (the pattern \\w\\w+) or letters (a to z)" },
        Parameter { name: "stem", about: "none (default), porter, english or another Snowball language" },
        Parameter { name: "stop", about: "none (default), english, smart, another language, or \"your own words\"" },
        Parameter { name: "strip", about: "none (default), headers, quotes, signatures, joined with +, or all" },
        Parameter { name: "lowercase", about: "true (default) or false" },
        Parameter { name: "min_length", about: "fewest characters of a word (1)" },
    ],
    build: |arguments| {
        let mut words = WordsParams::default();
        arguments.choice("tokenizer", &mut words.tokenizer, TOKENIZERS)?;
        arguments.read("stem", &mut words.stem, |name| match name {
            "none" => Some(None),
            _ => Stemmer::from_name(name).ok().map(Some),
        })?;
        arguments.read("stop", &mut words.stop, |text| match text {
            "none" => Some(None),
            _ => match StopList::from_name(text) {
                Ok(list) => Some(Some(Stop::List(list))),
                // One unknown word is more likely a misspelt list than a list of one word.
                Err(_) if !text.contains(' ') => None,
                Err(_) => Some(Some(Stop::Words(text.split_whitespace().map(str::to_string).collect()))),
            },
        })?;
        arguments.read("strip", &mut words.strip, read_strip)?;
        arguments.parse("lowercase", &mut words.lowercase)?;
        arguments.parse("min_length", &mut words.min_length)?;
        Ok(AnyStage::Words(words))
    },
};

fn read_strip(text: &str) -> Option<Strip> {
    let mut strip = Strip::default();
    for part in text.split('+') {
        match part {
            "none" => {}
            "headers" => strip.headers = true,
            "quotes" => strip.quotes = true,
            "signatures" => strip.signatures = true,
            "all" => strip = Strip { headers: true, quotes: true, signatures: true },
            _ => return None,
        }
    }
    Some(strip)
}

fn show_strip(strip: &Strip) -> String {
    let parts = [(strip.headers, "headers"), (strip.quotes, "quotes"), (strip.signatures, "signatures")];
    let named: Vec<&str> = parts.into_iter().filter_map(|(on, name)| on.then_some(name)).collect();
    match named.len() {
        0 => "none".to_string(),
        3 => "all".to_string(),
        _ => named.join("+"),
    }
}

/// The parameters as something that can be printed.
#[derive(Debug)]
pub(super) struct Words(pub(super) WordsParams);

impl Stage for Words {
    fn name(&self) -> &'static str {
        WORDS.name
    }

    fn arguments(&self) -> Vec<(&'static str, String)> {
        let (words, default) = (&self.0, WordsParams::default());
        Shown::new()
            .add("tokenizer", &words.tokenizer, &default.tokenizer, |value| super::word_of(TOKENIZERS, value))
            .add("stem", &words.stem, &default.stem, |stem| {
                stem.as_ref().map_or("none".to_string(), |stemmer| stemmer.name().to_string())
            })
            .add("stop", &words.stop, &default.stop, |stop| match stop {
                None => "none".to_string(),
                Some(Stop::List(list)) => list.name().to_string(),
                // The trailing space keeps a list of one word apart from the name of a list.
                Some(Stop::Words(words)) => words.join(" ") + if words.len() == 1 { " " } else { "" },
            })
            .add("strip", &words.strip, &default.strip, show_strip)
            .plain("lowercase", &words.lowercase, &default.lowercase)
            .plain("min_length", &words.min_length, &default.min_length)
            .into_arguments()
    }

    fn check(&self) -> Result<()> {
        self.0.check()
    }
}
