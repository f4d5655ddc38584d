//! What was seen of some documents.

use std::collections::HashMap;

use corpuscle::Run;
use corpuscle::corpus::{Document, ReadOptions};
use corpuscle::recipe::{Model, for_each_batch};

use super::words::{ShareOfWords, Vocabulary};
use super::{STEPS, STRANGE};
use crate::input;

/// In how many documents a word is, and how often.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Found {
    pub(super) documents: usize,
    pub(super) tokens: u64,
}

#[derive(Default)]
pub(super) struct Seen {
    pub(super) documents: usize,
    /// How many have a p-value in each twentieth; none where the model cannot tell.
    pub(super) novelty: Option<[usize; STEPS]>,
    /// How many have 0.05 or less.
    pub(super) strange: usize,
    /// Documents by class.
    pub(super) classes: Vec<usize>,
    pub(super) words: HashMap<String, Found>,
    pub(super) tokens: u64,
    pub(super) unknown: ShareOfWords,
    /// Documents by their share of unknown words, in twentieths.
    pub(super) unknown_steps: [usize; STEPS],
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
        let mut seen = Seen { classes: vec![0; model.classes().len()], ..Seen::default() };
        let mut source = input::open(data, options)?;
        for_each_batch(&mut source, run, |batch: Vec<Document>| -> anyhow::Result<()> {
            let tokens = model.tokenize(&batch, run)?;
            let x = model.represent(&tokens, run)?;
            let said = model.predict_matrix(&x, run)?;
            seen.documents += batch.len();
            for &class in said.labels.iter().flatten() {
                seen.classes[class as usize] += 1;
            }
            if let Ok(values) = model.novelty(&x, &said, run) {
                let counts = seen.novelty.get_or_insert([0; STEPS]);
                for value in values {
                    counts[((value * STEPS as f64).ceil() as usize).clamp(1, STEPS) - 1] += 1;
                    seen.strange += usize::from(value <= STRANGE);
                }
            }
            for document in 0..tokens.n_documents() {
                seen.take_words(tokens.words(document), known);
            }
            Ok(())
        })?;
        input::report_skipped(&source, run);
        if seen.documents == 0 {
            return Err(
                corpuscle::Error::data("there are no documents: the data are empty, or a filter left none").into()
            );
        }
        Ok(seen)
    }

    fn take_words<'a>(&mut self, words: impl ExactSizeIterator<Item = &'a str>, known: Option<&Vocabulary>) {
        let all = words.len();
        let mut own: HashMap<&str, u64> = HashMap::new();
        let mut unknown = 0;
        for word in words {
            *own.entry(word).or_default() += 1;
            unknown += usize::from(known.is_some_and(|known| !known.knows(word)));
        }
        self.tokens += all as u64;
        self.unknown.add(unknown, all);
        if let Some(step) = (unknown * STEPS).checked_div(all) {
            self.unknown_steps[step.min(STEPS - 1)] += 1;
        }
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
    }

    pub(super) fn share(&self, class: usize) -> f64 {
        self.classes[class] as f64 / self.documents as f64
    }
}
