//! Cuts headers, signatures and quotes from newsgroup posts and mails, exactly as scikit-learn's
//! `fetch_20newsgroups(remove=("headers", "footers", "quotes"))` does, and in the same order.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::stem::NONE;
use crate::params::{Form, Kind, Value};

/// What to cut from a post before its words are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Strip {
    /// Everything up to the first empty line; a text without one is all header.
    pub headers: bool,
    /// Lines that begin with `>` or `|`, and lines that introduce a quotation ("… writes:").
    pub quotes: bool,
    /// The last block, when an empty line or a line of hyphens sets it apart.
    pub signatures: bool,
}

impl Strip {
    /// The text without what is to be cut.
    pub fn apply<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut rest = text;
        if self.headers {
            rest = rest.split_once("\n\n").map_or("", |(_, after)| after);
        }
        if self.signatures {
            rest = without_signature(rest);
        }
        if !self.quotes {
            return Cow::Borrowed(rest);
        }
        let mut kept = String::with_capacity(rest.len());
        for line in rest.split('\n').filter(|line| !is_quote(line)) {
            kept.push_str(line);
            kept.push('\n');
        }
        kept.pop();
        Cow::Owned(kept)
    }
}

impl Value for Strip {
    fn read(text: &str) -> Option<Self> {
        let mut strip = Strip::default();
        for part in text.split('+') {
            match part {
                NONE => {}
                "headers" => strip.headers = true,
                "quotes" => strip.quotes = true,
                "signatures" => strip.signatures = true,
                "all" => strip = Strip { headers: true, quotes: true, signatures: true },
                _ => return None,
            }
        }
        Some(strip)
    }

    fn show(&self) -> String {
        let parts = [(self.headers, "headers"), (self.quotes, "quotes"), (self.signatures, "signatures")];
        let named: Vec<&str> = parts.into_iter().filter_map(|(on, name)| on.then_some(name)).collect();
        match named.len() {
            0 => NONE.to_string(),
            3 => "all".to_string(),
            _ => named.join("+"),
        }
    }

    fn form() -> Form {
        Form { kind: Kind::Text, words: vec![NONE, "headers", "quotes", "signatures", "all"] }
    }
}

fn without_signature(text: &str) -> &str {
    let trimmed = text.trim_matches(is_space);
    // The cut is before the line feed that ends the line above the separator; a separator in the first line is none.
    let mut end = trimmed.len();
    while let Some(feed) = trimmed[..end].rfind('\n') {
        if trimmed[feed + 1..end].trim_matches(is_space).trim_matches('-').is_empty() {
            return &trimmed[..feed];
        }
        end = feed;
    }
    text
}

fn is_quote(line: &str) -> bool {
    const WITHIN: [&str; 5] = ["writes in", "writes:", "wrote:", "says:", "said:"];
    const BEFORE: [&str; 4] = ["In article", "Quoted from", "|", ">"];
    BEFORE.iter().any(|start| line.starts_with(start)) || WITHIN.iter().any(|part| line.contains(part))
}

/// White space as Python's `str.strip` sees it: the separators U+001C to U+001F count.
fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Case {
        text: String,
        headers: String,
        signatures: String,
        quotes: String,
        all: String,
    }

    #[test]
    fn posts_are_cut_as_scikit_learn_cuts_them() {
        let cases: Vec<Case> = serde_json::from_str(include_str!("../../tests/fixtures/strip.json")).unwrap();
        assert!(cases.len() > 10);
        for case in cases {
            let nothing = Strip::default();
            assert_eq!(nothing.apply(&case.text), case.text);
            assert_eq!(Strip { headers: true, ..nothing }.apply(&case.text), case.headers);
            assert_eq!(Strip { signatures: true, ..nothing }.apply(&case.text), case.signatures, "{:?}", case.text);
            assert_eq!(Strip { quotes: true, ..nothing }.apply(&case.text), case.quotes);
            assert_eq!(Strip { headers: true, quotes: true, signatures: true }.apply(&case.text), case.all);
        }
    }
}
