//! The part of a text that shows why it was found.

use std::ops::Range;

use serde::Serialize;

use crate::Result;
use crate::text::{Cutter, WordsParams};

/// Words of a text that are looked at: enough to find a good place, however long it is.
const MOST_WORDS: usize = 5000;

/// A part of a text with the places of the words that were looked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Snippet {
    /// The part, white space collapsed, with "…" where something was left out.
    pub text: String,
    /// Byte ranges of the words looked for.
    pub marks: Vec<Range<usize>>,
}

impl Snippet {
    /// The `width` words of a text that hold the most of the different terms, the earliest of equals.
    pub fn of(text: &str, terms: &[String], words: &WordsParams, width: usize) -> Result<Self> {
        let pieces: Vec<&str> = text.split_whitespace().take(MOST_WORDS).collect();
        let mut found: Vec<Option<usize>> = Vec::with_capacity(pieces.len());
        let cutter = Cutter::new(words)?;
        for piece in &pieces {
            let tokens = cutter.terms(piece);
            found.push(terms.iter().position(|term| tokens.contains(term)));
        }
        let width = width.max(1);
        let (mut seen, mut different, mut best, mut most) = (vec![0usize; terms.len()], 0usize, 0usize, 0usize);
        for end in 0..pieces.len() {
            if let Some(term) = found[end] {
                seen[term] += 1;
                different += usize::from(seen[term] == 1);
            }
            if let Some(term) = end.checked_sub(width).and_then(|gone| found[gone]) {
                seen[term] -= 1;
                different -= usize::from(seen[term] == 0);
            }
            if different > most {
                (most, best) = (different, (end + 1).saturating_sub(width));
            }
        }
        let last = pieces.len().min(best + width);
        let mut snippet = Snippet { text: String::new(), marks: Vec::new() };
        if best > 0 {
            snippet.text.push_str("… ");
        }
        for at in best..last {
            if at > best {
                snippet.text.push(' ');
            }
            let start = snippet.text.len();
            snippet.text.push_str(pieces[at]);
            if found[at].is_some() {
                snippet.marks.push(start..snippet.text.len());
            }
        }
        if last < pieces.len() || pieces.len() == MOST_WORDS {
            snippet.text.push_str(" …");
        }
        Ok(snippet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, terms: &[&str], width: usize) -> Snippet {
        let terms: Vec<String> = terms.iter().map(ToString::to_string).collect();
        Snippet::of(text, &terms, &WordsParams::default(), width).unwrap()
    }

    #[test]
    fn the_window_with_the_most_different_terms_is_shown() {
        let text = "cat a b c d e cat cat f g h cat dog i j";
        let snippet = of(text, &["cat", "dog"], 4);
        assert_eq!(snippet.text, "… g h cat dog …");
        let marked: Vec<&str> = snippet.marks.iter().map(|mark| &snippet.text[mark.clone()]).collect();
        assert_eq!(marked, ["cat", "dog"]);
    }

    #[test]
    fn without_a_match_or_a_word_the_beginning_is_shown() {
        assert_eq!(of("one two three", &["x"], 2).text, "one two …");
        assert_eq!(of("", &["x"], 2).text, "");
        assert_eq!(of("é “Katze”, 猫", &["katze"], 9).marks.len(), 1);
    }
}
