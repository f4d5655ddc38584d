//! What was seen of some documents.

use std::collections::HashMap;

use corpuscle::Run;
use corpuscle::corpus::{Document, ReadOptions};
use corpuscle::recipe::drift::{Tally, Vocabulary};
use corpuscle::recipe::{Model, for_each_batch};

use crate::input;

/// In how many documents a word is, and how often.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Found {
    pub(super) documents: usize,
    pub(super) tokens: u64,
}

#[derive(Default)]
pub(super) struct Seen {
    pub(super) tally: Tally,
    pub(super) words: HashMap<String, Found>,
    tokens: u64,
}

impl Seen {
    /// Looks through documents; `known` are the words the model knows, where that can be told.
    pub(super) fn of(
        data: &[String],
        options: &ReadOptions,
        model: &Model,
        known: Option<&Vocabulary>,
        run: &Run,
    ) -> anyhow::Result<Self> {
        let mut seen = Seen::default();
        let mut source = input::open(data, options)?;
        for_each_batch(&mut source, run, |batch: Vec<Document>| -> anyhow::Result<()> {
            let tokens = model.tokenize(&batch, run)?;
            let x = model.represent(&tokens, run)?;
            let said = model.predict_matrix(&x, run)?;
            let novelty = model.novelty(&x, &said, run).ok();
            for document in 0..tokens.n_documents() {
                let novelty = novelty.as_ref().map(|values| values[document]);
                let counts = seen.take_words(tokens.words(document), known);
                seen.tally.take(said.labels[document].iter().copied(), novelty, Some(counts));
            }
            Ok(())
        })?;
        input::report_skipped(&source, run);
        if seen.tally.documents() == 0 {
            return Err(
                corpuscle::Error::data("there are no documents: the data are empty, or a filter left none").into()
            );
        }
        Ok(seen)
    }

    /// Counts the words of a document: how many are unknown, and how many there are.
    fn take_words<'a>(
        &mut self,
        words: impl ExactSizeIterator<Item = &'a str>,
        known: Option<&Vocabulary>,
    ) -> (usize, usize) {
        let all = words.len();
        let mut own: HashMap<&str, u64> = HashMap::new();
        let mut unknown = 0;
        for word in words {
            *own.entry(word).or_default() += 1;
            unknown += usize::from(known.is_some_and(|known| !known.knows(word)));
        }
        self.tokens += all as u64;
        for (word, tokens) in own {
            // Looked up before a name is made: nearly always it is there.
            match self.words.get_mut(word) {
                Some(found) => {
                    found.documents += 1;
                    found.tokens += tokens;
                }
                None => {
                    self.words.insert(word.to_string(), Found { documents: 1, tokens });
                }
            }
        }
        (unknown, all)
    }

    /// The words of these documents as what is known.
    pub(super) fn vocabulary(&self) -> Vocabulary {
        Vocabulary::of_documents(self.words.keys().cloned().collect(), self.tally.documents(), self.tokens)
    }

    /// The share of their words that would be unknown, had they been held out.
    pub(super) fn counted(&self, known: &Vocabulary) -> f64 {
        let words = self.words.iter().map(|(word, found)| (word.as_str(), found.documents, found.tokens));
        known.counted(self.tally.documents(), words)
    }
}
