//! The documents of an index as vectors of a model.
//!
//! Any representation will do: the rows a model makes of the stored texts, at unit length. A query is represented as a text
//! like any other. The nearest documents are found exactly ([`Nearest`]); of equal ones those that came in first are first.

use rustc_hash::FxHashMap;

use super::nearest::Nearest;
use super::searcher::{Place, Searcher};
use crate::matrix::{Dense, Matrix};
use crate::recipe::Model;
use crate::{Error, Result, Run};

/// Documents represented together.
const BATCH: usize = 4096;
/// Documents times words for which the probabilities of words are worked out: four bytes of memory each.
const MOST_PAIRS: usize = 100_000_000;
/// Words represented together.
const WORDS: usize = 256;

/// A cosine and the row that has it.
pub(super) type Near = (f64, usize);

/// Vectors of all documents of a [`Searcher`].
#[derive(Debug)]
pub struct Vectors {
    model: Model,
    rows: Nearest,
    /// The numbers of the documents, ascending; one for each row.
    numbers: Vec<u64>,
    places: Vec<Place>,
    /// Once somebody asks for probabilities of words.
    words: Option<Words>,
}

/// Words against documents.
#[derive(Debug)]
struct Words {
    places: FxHashMap<String, usize>,
    /// Documents × words, for one batch of words after the other.
    products: Vec<Dense>,
    /// log Σ_w exp(w · d) of each document.
    normalisers: Vec<f64>,
}

/// One query among the vectors of documents.
pub(super) struct Similar<'a> {
    vectors: &'a Vectors,
    query: Matrix,
    nearest: Vec<Near>,
    known: FxHashMap<usize, f64>,
}

impl Vectors {
    /// Represents every document.
    pub fn of(searcher: &Searcher, model: Model, run: &Run) -> Result<Self> {
        let all = searcher.places();
        let mut rows: Option<Matrix> = None;
        run.watch("represent", Some(all.len() as u64), || -> Result<()> {
            for batch in all.chunks(BATCH) {
                run.check()?;
                let texts = batch.iter().map(|&(_, place)| searcher.text_at(place));
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
        Ok(Vectors { model, rows: Nearest::new(rows), numbers, places, words: None })
    }

    /// Rows of unit length that are known already; one for each document, in the order in which they came in.
    pub(super) fn known(searcher: &Searcher, model: Model, rows: Matrix) -> Self {
        let (numbers, places) = searcher.places().into_iter().unzip();
        Vectors { model, rows: Nearest::of_unit_rows(rows), numbers, places, words: None }
    }

    /// The rows at unit length.
    pub(super) fn rows(&self) -> &Matrix {
        self.rows.rows()
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

    /// Texts as rows of unit length.
    fn represent<S: AsRef<str> + Sync>(&self, texts: &[S], run: &Run) -> Result<Matrix> {
        let mut rows = self.model.represent_texts(texts, &run.quiet())?;
        rows.normalize_rows();
        Ok(rows)
    }

    /// A query's place among the documents: its nearest, and its cosine with any.
    pub(super) fn similar(&self, text: &str, count: usize, run: &Run) -> Result<Similar<'_>> {
        let query = self.represent(&[text], run)?;
        let nearest = self.rows.of(&query.row(0), count, run)?;
        let known = nearest.iter().map(|&(cosine, row)| (row, cosine)).collect();
        Ok(Similar { vectors: self, query, nearest, known })
    }

    /// Works out softmax over the vocabulary of word · document, which the mixture of probabilities needs ([`Mix::Probabilities`](super::Mix::Probabilities)).
    pub fn with_words(mut self, searcher: &Searcher, run: &Run) -> Result<Self> {
        let vocabulary = searcher.vocabulary()?;
        let documents = self.rows.rows().rows();
        if vocabulary.len().saturating_mul(documents) > MOST_PAIRS {
            return Err(Error::data(format!(
                "{documents} documents and {} words are too many for probabilities of words from vectors; mix scores instead",
                vocabulary.len()
            )));
        }
        let mut products = Vec::with_capacity(vocabulary.len().div_ceil(WORDS));
        let mut sums = vec![0f64; documents];
        run.watch("words", Some(vocabulary.len() as u64), || -> Result<()> {
            for batch in vocabulary.chunks(WORDS) {
                run.check()?;
                let words = self.represent(batch, run)?;
                // One product of documents with a batch of words: weights are a column for each word.
                let mut weights = Dense::zeros(self.rows.rows().cols(), batch.len());
                for word in 0..batch.len() {
                    words.row(word).for_each(|at, value| weights.row_mut(at)[word] = value);
                }
                let product = run.install(|| self.rows.rows().multiply(&weights, &vec![0.0; batch.len()]))?;
                for (row, sum) in sums.iter_mut().enumerate() {
                    *sum += product.row(row).iter().map(|&product| f64::from(product).exp()).sum::<f64>();
                }
                products.push(product);
                run.advance(batch.len() as u64);
            }
            Ok(())
        })?;
        let places = vocabulary.into_iter().enumerate().map(|(place, word)| (word, place)).collect();
        self.words = Some(Words { places, products, normalisers: sums.into_iter().map(f64::ln).collect() });
        Ok(self)
    }

    /// The probability of a term in each row.
    pub(super) fn probabilities(&self, term: &str) -> Result<impl Fn(usize) -> f64 + use<'_>> {
        let Some(words) = &self.words else {
            return Err(Error::data("the probabilities of words were not worked out for these vectors"));
        };
        let place = words.places.get(term).copied();
        Ok(move |row: usize| {
            let product = place.map_or(0.0, |place| f64::from(words.products[place / WORDS].row(row)[place % WORDS]));
            (product - words.normalisers[row]).exp()
        })
    }
}

impl<'a> Similar<'a> {
    pub(super) fn vectors(&self) -> &'a Vectors {
        self.vectors
    }

    pub(super) fn nearest(&self) -> &[Near] {
        &self.nearest
    }

    /// The cosine with a row; worked out once.
    pub(super) fn cosine(&mut self, row: usize) -> f64 {
        let (vectors, query) = (self.vectors, &self.query);
        *self.known.entry(row).or_insert_with(|| vectors.rows.rows().row(row).inner(&query.row(0)))
    }
}
