//! What is looked at once, on the documents of the first draw, and not measured: words brought to mind, the spread of values, and
//! documents for a map.

use super::{Draw, Protocol, Reconstruction};
use crate::corpus::{Document, Labels};
use crate::experiment::compare::Tokenised;
use crate::matrix::Matrix;
use crate::recipe::{Model, Recipe};
use crate::vectorize::Spread;
use crate::{Error, Result, Run};

/// Bins of the histogram of values; an odd number, so that zero is in the middle of one.
const BINS: usize = 41;
/// Terms shown of each word.
const SHOWN: usize = 10;

/// The documents that take part, and the first draw of them.
pub(super) struct FirstDraw<'a> {
    pub(super) documents: &'a [Document],
    pub(super) draw: Draw,
}

impl FirstDraw<'_> {
    pub(super) fn fitted(&self, recipe: &Recipe, run: &Run) -> Result<Model> {
        Tokenised::default().fitted(recipe, self.documents, [&self.draw.train, &self.draw.unlabelled], run)
    }

    /// All documents of the draw: those learnt from, those without labels, those tested on.
    pub(super) fn all(&self) -> Vec<usize> {
        let mut rows: Vec<usize> =
            [&self.draw.train, &self.draw.unlabelled, &self.draw.test].into_iter().flatten().copied().collect();
        rows.sort_unstable();
        rows.dedup();
        rows
    }

    pub(super) fn texts(&self, rows: &[usize]) -> Vec<&str> {
        rows.iter().map(|&row| self.documents[row].text.as_str()).collect()
    }

    /// The values of the training documents before and after small ones are made zero.
    pub(super) fn spread(&self, recipe: &Recipe, run: &Run) -> Result<Option<Spread>> {
        let (model, quiet) = (self.fitted(recipe, run)?, run.quiet());
        model.spread(&recipe.words().tokenize(&self.texts(&self.draw.train), &quiet)?, BINS, &quiet)
    }

    /// Each word with the terms it brings to mind, largest first; none of a word that is not in the training part.
    pub(super) fn reconstruction(&self, asked: &Reconstruction, run: &Run) -> Result<Vec<(String, Vec<String>)>> {
        let recipe = Recipe::parse(&asked.recipe)?;
        let model = self.fitted(&recipe, run)?;
        // The empty document last: what an unknown word brings to mind is what that does.
        let words: Vec<&str> = asked.words.iter().map(|(word, _)| word.as_str()).chain([""]).collect();
        let Some(mut lists) = model.reconstruct(&words, &run.quiet())? else {
            return Err(Error::data(format!("`{recipe}` reconstructs no terms")));
        };
        let nothing = lists.pop();
        let shown = |(word, list): (&str, Vec<(String, f32)>)| {
            let known = word.is_empty() || Some(&list) != nothing.as_ref();
            let terms = list.into_iter().take(if known { SHOWN } else { 0 }).map(|(term, _)| term);
            (word.to_string(), terms.collect())
        };
        Ok(words.into_iter().zip(lists).map(shown).collect())
    }
}

impl Protocol {
    /// What each of the recipes that [`Protocol::maps`] names makes of the test documents of the first draw, and their labels.
    pub fn mapped(&self, documents: &[Document], learnt: usize, run: &Run) -> Result<Vec<(String, Matrix, Labels)>> {
        let (documents, learnt) = self.taking_part(documents, learnt)?;
        let first = FirstDraw { documents: &documents, draw: self.draw(&documents, learnt, 0, run.seed())? };
        let (test, quiet) = (&first.draw.test, run.quiet());
        let labels = Labels::from_lists(test.iter().map(|&row| documents[row].labels.as_deref()));
        let one = |(system, recipe): &(String, String)| {
            let recipe = Recipe::parse(recipe)?;
            let tokens = recipe.words().tokenize(&first.texts(test), &quiet)?;
            Ok((system.clone(), first.fitted(&recipe, run)?.represent(&tokens, &quiet)?, labels.clone()))
        };
        self.maps.iter().map(one).collect()
    }
}
