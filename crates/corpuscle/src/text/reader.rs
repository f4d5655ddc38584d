//! Reads one text at a time as numbers of the words of a lexicon that is there already.
//!
//! Where a collection is read all at once, distinct words are merged and filtered once ([`super::merge`]); one text has few
//! words and its lexicon is known, so each word is looked up in a table made beforehand: one hash and one comparison, no
//! string, no lexicon of the text's own. A word that has to be compared with stop words or cut to its stem is remembered
//! with what became of it, because stems cost some twenty times a look-up and words repeat from text to text.

use std::sync::Arc;

use super::filter::Filter;
use super::intern::{Interner, Known};
use super::one_text::OneText;
use super::scan::Scanner;
use super::{Lexicon, WordsParams};

/// Stands for a word that is not in the lexicon.
pub(crate) const UNKNOWN: u32 = u32::MAX;

/// Stands for a word that is left out, as if the text did not have it.
const LEFT_OUT: u32 = u32::MAX - 1;

/// Words remembered before all are forgotten: enough for the words of some hundred texts, and a bound for a server that never
/// stops.
const REMEMBERED: usize = 1 << 16;

/// Turns texts into the numbers of words in a lexicon.
pub(crate) struct Reader {
    params: WordsParams,
    scanner: Scanner,
    filter: Arc<Filter>,
    known: Arc<Known>,
    /// Words as they stand in texts, and what each became; unused when words stay as they are.
    seen: Interner,
    became: Vec<u32>,
    /// For words that are cut or marked, where it is not words alone that have numbers.
    marking: Option<OneText>,
}

impl Reader {
    /// A reader of texts whose words are those of `params`, in numbers of `lexicon`.
    pub(crate) fn new(params: &WordsParams, lexicon: &Lexicon) -> Self {
        Reader::of(params.alone(), Arc::new(Filter::new(params)), Arc::new(Known::new(lexicon)))
    }

    fn of(params: WordsParams, filter: Arc<Filter>, known: Arc<Known>) -> Self {
        let scanner = Scanner::new(&params);
        let marking = (!params.is_plain()).then(|| OneText::new(&params));
        Reader { params, scanner, filter, known, seen: Interner::default(), became: Vec::new(), marking }
    }

    /// Another reader that shares the tables with this one.
    pub(crate) fn fork(&self) -> Self {
        Reader::of(self.params.clone(), Arc::clone(&self.filter), Arc::clone(&self.known))
    }

    /// Calls `visit(number)` for every word of `text` in order, [`UNKNOWN`] for those that `lexicon`, the one this reader
    /// was made for, does not have.
    pub(crate) fn read(&mut self, text: &str, lexicon: &Lexicon, mut visit: impl FnMut(u32)) {
        let Reader { scanner, filter, known, seen, became, marking, .. } = self;
        if let Some(marking) = marking {
            return marking.read(text, filter, |term| visit(known.id_of(lexicon, term).unwrap_or(UNKNOWN)));
        }
        if filter.is_idle() {
            scanner.scan(text, |padded, start, end| {
                visit(known.id(lexicon, padded, start, end).unwrap_or(UNKNOWN));
            });
            return;
        }
        if became.len() >= REMEMBERED {
            *seen = Interner::default();
            became.clear();
        }
        scanner.scan(text, |padded, start, end| {
            let word = seen.id(padded, start, end) as usize;
            if word == became.len() {
                became.push(match filter.apply(padded.get(start..end).unwrap_or_default()) {
                    // A stem of nothing is left out as well.
                    Some(kept) if !kept.is_empty() => known.id_of(lexicon, &kept).unwrap_or(UNKNOWN),
                    _ => LEFT_OUT,
                });
            }
            if became[word] != LEFT_OUT {
                visit(became[word]);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Run;
    use crate::text::{Stemmer, StopList, Tokenizer};
    use proptest::prelude::*;

    fn read(reader: &mut Reader, text: &str, lexicon: &Lexicon) -> Vec<u32> {
        let mut ids = Vec::new();
        reader.read(text, lexicon, |id| ids.push(id));
        ids
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn words_are_those_of_the_tokenizer(
            texts in proptest::collection::vec("(([a-cA-C]{1,2}|the|running|é漢字|[a-b]{15,18}|[ .'])( |\\PC)){0,12}", 1..8),
        ) {
            for tokenizer in [Tokenizer::Unicode, Tokenizer::Sklearn, Tokenizer::Letters] {
                for (stem, min_length) in [(None, 1), (Some(Stemmer::from_name("porter").unwrap()), 3)] {
                    let stop = stem.map(|_| StopList::English.into());
                    let params = WordsParams { tokenizer, stem, stop, min_length, ..WordsParams::default() };
                    let tokens = params.tokenize(&texts[1..], &Run::new(0, 1).unwrap()).unwrap();
                    let mut reader = Reader::new(&params, tokens.lexicon());
                    for (document, text) in texts[1..].iter().enumerate() {
                        prop_assert_eq!(&read(&mut reader, text, tokens.lexicon()), tokens.document(document));
                    }
                    // A text with words that the lexicon may not have.
                    let words = params.tokens_of(&texts[0]).unwrap();
                    let expected: Vec<u32> =
                        words.iter().map(|word| tokens.lexicon().id(word).unwrap_or(UNKNOWN)).collect();
                    prop_assert_eq!(read(&mut reader.fork(), &texts[0], tokens.lexicon()), expected);
                }
            }
        }
    }

    #[test]
    fn words_are_forgotten_before_they_are_too_many() {
        let params = WordsParams { stop: Some(StopList::English.into()), ..WordsParams::default() };
        let lexicon = Lexicon::from_sorted(["w1", "w70000"]);
        let mut reader = Reader::new(&params, &lexicon);
        for from in [0, 40_000, 80_000] {
            let text: Vec<String> = (from..from + 40_000).map(|n| format!("w{n}")).collect();
            let known =
                read(&mut reader, &text.join(" the "), &lexicon).into_iter().filter(|&id| id != UNKNOWN).count();
            assert_eq!(known, usize::from(from < 80_000));
            assert!(reader.became.len() < REMEMBERED + 40_001);
        }
        assert_eq!(read(&mut reader, "the w1 x w70000", &lexicon), [0, UNKNOWN, 1]);
    }
}
