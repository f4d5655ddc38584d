//! The documents of an index as vectors of a model.
//!
//! Any representation will do: the rows a model makes of the stored texts, at unit length. A query is represented as a text
//! like any other. The nearest documents are found exactly ([`Nearest`]); of equal ones those that came in first are first.

use rayon::prelude::*;

use super::nearest::Nearest;
use super::searcher::{Place, Searcher};
use crate::matrix::{Dense, Matrix};
use crate::recipe::Model;
use crate::{Error, Result, Run};

/// Documents represented together.
const BATCH: usize = 4096;
/// Documents times words for which the probabilities of words are worked out: beyond, it would take hours.
const MOST_PAIRS: usize = 500_000_000;

/// A cosine and the row that has it.
type Near = (f64, usize);

/// Vectors of all documents of a [`Searcher`].
#[derive(Debug)]
pub struct Vectors {
    model: Model,
    rows: Nearest,
    /// The numbers of the documents, ascending; one for each row.
    numbers: Vec<u64>,
    places: Vec<Place>,
    /// log Σ_w exp(w · d) of each document, once somebody asks for probabilities of words.
    normalisers: Option<Vec<f64>>,
}

impl Vectors {
    /// Represents every document.
    pub fn of(searcher: &Searcher, model: Model, run: &Run) -> Result<Self> {
        let all = searcher.places();
        let mut rows: Option<Matrix> = None;
        run.watch("represent", Some(all.len() as u64), || -> Result<()> {
            for batch in all.chunks(BATCH) {
                run.check()?;
                let texts = batch.iter().map(|&(_, place)| Ok(searcher.document(place)?.text));
                let texts = texts.collect::<Result<Vec<String>>>()?;
                let part = model.represent_texts(&texts, &run.quiet())?;
                match &mut rows {
                    Some(rows) => rows.append_rows(&part)?,
                    None => rows = Some(part),
                }
                run.advance(batch.len() as u64);
            }
            Ok(())
        })?;
        let Some(rows) = rows else { return Err(Error::data("the index has no documents to represent")) };
        let (numbers, places) = all.into_iter().unzip();
        Ok(Vectors { model, rows: Nearest::new(rows), numbers, places, normalisers: None })
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    pub(super) fn place(&self, row: usize) -> Place {
        self.places[row]
    }

    pub(super) fn number(&self, row: usize) -> u64 {
        self.numbers[row]
    }

    pub(super) fn row_of(&self, number: u64) -> Option<usize> {
        self.numbers.binary_search(&number).ok()
    }

    /// A text as a row of unit length.
    fn represent(&self, texts: &[&str], run: &Run) -> Result<Matrix> {
        let mut rows = self.model.represent_texts(texts, &run.quiet())?;
        rows.normalize_rows();
        Ok(rows)
    }

    /// The nearest documents of a text, and the cosines of the rows asked for beside them.
    pub(super) fn nearest(&self, text: &str, count: usize, rows: &[usize], run: &Run) -> Result<(Vec<Near>, Vec<f64>)> {
        let query = self.represent(&[text], run)?;
        let query = query.row(0);
        let nearest = self.rows.of(&query, count, run)?;
        Ok((nearest, rows.iter().map(|&row| self.rows.rows().row(row).inner(&query)).collect()))
    }

    /// Works out Σ_w exp(w · d) over the vocabulary for every document, which probabilities of words need ([`Mix::Probabilities`](super::Mix::Probabilities)).
    pub fn with_words(mut self, searcher: &Searcher, run: &Run) -> Result<Self> {
        let vocabulary = searcher.vocabulary()?;
        if vocabulary.len().saturating_mul(self.rows.rows().rows()) > MOST_PAIRS {
            return Err(Error::data(format!(
                "{} documents and {} words are too many for probabilities of words from vectors; mix scores instead",
                self.rows.rows().rows(),
                vocabulary.len()
            )));
        }
        let mut sums = vec![0f64; self.rows.rows().rows()];
        run.watch("words", Some(vocabulary.len() as u64), || -> Result<()> {
            for batch in vocabulary.chunks(256) {
                run.check()?;
                let texts: Vec<&str> = batch.iter().map(String::as_str).collect();
                let words = self.represent(&texts, run)?;
                // One product of documents with a batch of words: weights are a column for each word.
                let mut weights = Dense::zeros(self.rows.rows().cols(), batch.len());
                for word in 0..batch.len() {
                    let mut column = vec![0f32; self.rows.rows().cols()];
                    words.row(word).add_to(1.0, &mut column);
                    for (at, value) in column.into_iter().enumerate() {
                        weights.row_mut(at)[word] = value;
                    }
                }
                let products = run.install(|| self.rows.rows().multiply(&weights, &vec![0.0; batch.len()]))?;
                for (row, sum) in sums.iter_mut().enumerate() {
                    *sum += products.row(row).iter().map(|&product| f64::from(product).exp()).sum::<f64>();
                }
                run.advance(batch.len() as u64);
            }
            Ok(())
        })?;
        self.normalisers = Some(sums.into_iter().map(f64::ln).collect());
        Ok(self)
    }

    /// softmax over the vocabulary of word · document: for each term, its probability in each of the rows asked for.
    pub(super) fn word_probabilities(&self, terms: &[&str], rows: &[usize], run: &Run) -> Result<Vec<Vec<f64>>> {
        let Some(normalisers) = &self.normalisers else {
            return Err(Error::data("the probabilities of words were not worked out for these vectors"));
        };
        let words = self.represent(terms, run)?;
        let of = |term: usize| {
            let word = words.row(term);
            rows.iter().map(|&row| (self.rows.rows().row(row).inner(&word) - normalisers[row]).exp()).collect()
        };
        Ok(run.install(|| (0..terms.len()).into_par_iter().map(of).collect()))
    }
}
