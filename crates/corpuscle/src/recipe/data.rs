//! Documents read once, turned into words on the way: what every fit starts from.
//!
//! Texts are tokenised batch by batch while the next batch is being read, and are not kept. Texts that are in memory
//! already ([`Corpus::from_columns`]) are borrowed, not copied.

use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use crate::corpus::{Document, Labels, LabelsBuilder};
use crate::matrix::Dense;
use crate::text::{Tokens, WordsParams};
use crate::{Error, Result, Run};

/// A batch is handed on when it holds this many documents or this many bytes of text, whichever comes first.
const BATCH_DOCUMENTS: usize = 4096;
const BATCH_BYTES: usize = 4 << 20;

pub(super) const NO_DOCUMENTS: &str = "there are no documents: the data are empty, or a filter left none";

/// A tokenised corpus with its labels and weights.
#[derive(Debug, Clone)]
pub struct Corpus {
    /// The words of every document.
    pub tokens: Tokens,
    /// Ids, in order.
    pub ids: Vec<String>,
    /// Labels, in order.
    pub labels: Labels,
    /// Weights, when some document's is not 1.
    pub weights: Option<Vec<f32>>,
    /// Names of the data files, for the model's provenance.
    pub sources: Vec<String>,
}

impl Corpus {
    /// Reads and tokenises documents. Reading goes on in the background while a batch is tokenised.
    pub fn read<I>(documents: I, words: &WordsParams, run: &Run) -> Result<Self>
    where
        I: IntoIterator<Item = Result<Document>>,
        I::IntoIter: Send,
    {
        let mut builder = words.builder(run)?;
        let mut ids = Vec::new();
        let mut labels = LabelsBuilder::default();
        let mut weights = Vec::new();
        let mut fields = Fields::default();
        for_each_batch(documents, run, |batch| {
            builder.push(&batch.iter().map(|document| document.text.as_str()).collect::<Vec<_>>())?;
            fields.take(&batch)?;
            for document in batch {
                ids.push(document.id);
                labels.push(document.labels);
                weights.push(document.weight);
            }
            Ok(())
        })?;
        if ids.is_empty() {
            return Err(Error::data(NO_DOCUMENTS));
        }
        let tokens = fields.put(builder.finish()?)?;
        let weights = weights.iter().any(|&weight| weight != 1.0).then_some(weights);
        Ok(Corpus { tokens, ids, labels: labels.finish(), weights, sources: Vec::new() })
    }

    /// Tokenises texts that are in memory already, which are borrowed; ids are the row numbers from 0. Equal to
    /// [`Corpus::read`] of the same documents.
    pub fn from_columns(
        texts: &[impl AsRef<str> + Sync],
        labels: Labels,
        weights: Option<Vec<f32>>,
        words: &WordsParams,
        run: &Run,
    ) -> Result<Self> {
        let ids = (0..texts.len()).map(|row| row.to_string()).collect();
        Self::from_columns_with_ids(texts, ids, labels, weights, words, run)
    }

    /// [`Corpus::from_columns`] with ids of the caller's.
    pub fn from_columns_with_ids(
        texts: &[impl AsRef<str> + Sync],
        ids: Vec<String>,
        labels: Labels,
        weights: Option<Vec<f32>>,
        words: &WordsParams,
        run: &Run,
    ) -> Result<Self> {
        let expected = texts.len();
        if expected == 0 {
            return Err(Error::data(NO_DOCUMENTS));
        }
        for (what, found) in [
            ("ids of the documents", ids.len()),
            ("labels of the documents", labels.len()),
            ("weights of the documents", weights.as_ref().map_or(expected, Vec::len)),
        ] {
            if found != expected {
                return Err(Error::Shape { what, expected, found });
            }
        }
        let wrong = |weights: &Vec<f32>| weights.iter().position(|weight| !weight.is_finite() || *weight < 0.0);
        if let Some(row) = weights.as_ref().and_then(wrong) {
            let weight = weights.as_ref().map_or(f32::NAN, |weights| weights[row]);
            return Err(Error::data(format!("document {} has the weight {weight}, not a number from 0", row + 1)));
        }
        let mut builder = words.builder(run)?;
        let mut rest = texts;
        while !rest.is_empty() {
            run.check()?;
            let (batch, after) = rest.split_at(batch_length(rest));
            builder.push(batch)?;
            run.advance(batch.len() as u64);
            rest = after;
        }
        let tokens = builder.finish()?;
        let weights = weights.filter(|weights| weights.iter().any(|&weight| weight != 1.0));
        Ok(Corpus { tokens, ids, labels, weights, sources: Vec::new() })
    }

    /// The same documents with a field of numbers, a row for each, for stages that read it (`column`).
    pub fn with_column(self, name: &str, numbers: Dense) -> Result<Self> {
        if numbers.rows() != self.len() {
            return Err(Error::Shape { what: "rows of numbers", expected: self.len(), found: numbers.rows() });
        }
        let tokens = self.tokens.with_field(name, numbers.cols(), numbers.into_values())?;
        Ok(Corpus { tokens, ..self })
    }

    /// The given documents in the given order, with the same classes. Nothing is tokenised again.
    pub fn select(&self, rows: &[usize]) -> Result<Self> {
        let tokens = self.tokens.select(rows)?;
        Ok(Corpus {
            tokens,
            ids: rows.iter().map(|&row| self.ids[row].clone()).collect(),
            labels: self.labels.select(rows),
            weights: self.weights.as_ref().map(|weights| rows.iter().map(|&row| weights[row]).collect()),
            sources: self.sources.clone(),
        })
    }

    /// How many documents there are.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}

/// The fields of numbers of documents, gathered batch by batch.
#[derive(Debug, Default)]
struct Fields {
    fields: Vec<Field>,
    documents: usize,
}

#[derive(Debug)]
struct Field {
    name: Arc<str>,
    width: usize,
    numbers: Vec<f32>,
}

impl Fields {
    fn take(&mut self, documents: &[Document]) -> Result<()> {
        for document in documents {
            if self.documents == 0 {
                let new = |(name, numbers): &(Arc<str>, Vec<f32>)| Field {
                    name: Arc::clone(name),
                    width: numbers.len(),
                    numbers: Vec::new(),
                };
                self.fields = document.numbers.iter().map(new).collect();
            }
            self.documents += 1;
            let mut same = self.fields.len() == document.numbers.len();
            for (field, (name, numbers)) in self.fields.iter_mut().zip(&document.numbers) {
                same &= field.name == *name && field.width == numbers.len();
                field.numbers.extend_from_slice(numbers);
            }
            if !same {
                return Err(Error::data(format!(
                    "document `{}` has other fields of numbers than the first, or not as many numbers in them",
                    document.id
                )));
            }
        }
        Ok(())
    }

    fn put(self, tokens: Tokens) -> Result<Tokens> {
        let put = |tokens: Tokens, field: Field| tokens.with_field(&field.name, field.width, field.numbers);
        self.fields.into_iter().try_fold(tokens, put)
    }
}

/// The words of documents with their fields of numbers.
pub(super) fn with_fields(tokens: Tokens, documents: &[Document]) -> Result<Tokens> {
    let mut fields = Fields::default();
    fields.take(documents)?;
    fields.put(tokens)
}

/// Hands documents on in batches of a few megabytes, reading the next ones in the background while `work` has one.
/// Reports each batch as progress and stops when the run is cancelled.
pub fn for_each_batch<I, E>(
    documents: I,
    run: &Run,
    mut work: impl FnMut(Vec<Document>) -> Result<(), E>,
) -> Result<(), E>
where
    I: IntoIterator<Item = Result<Document>>,
    I::IntoIter: Send,
    E: From<Error>,
{
    let mut documents = documents.into_iter();
    std::thread::scope(|scope| {
        let (send, receive) = sync_channel::<Result<Vec<Document>>>(2);
        scope.spawn(move || {
            loop {
                let batch = next_batch(&mut documents);
                let last = !matches!(&batch, Ok(batch) if !batch.is_empty());
                // A receiver that is gone has met an error of its own and wants no more.
                if send.send(batch).is_err() || last {
                    return;
                }
            }
        });
        for batch in receive {
            run.check()?;
            let batch = batch?;
            let length = batch.len() as u64;
            if length > 0 {
                work(batch)?;
                run.advance(length);
            }
        }
        Ok(())
    })
}

/// How many of the texts make a batch.
fn batch_length(texts: &[impl AsRef<str>]) -> usize {
    let mut bytes = 0;
    let more = |text: &_| {
        let goes_on = bytes < BATCH_BYTES;
        bytes += AsRef::<str>::as_ref(text).len();
        goes_on
    };
    texts.iter().take(BATCH_DOCUMENTS).map(more).take_while(|&goes_on| goes_on).count()
}

fn next_batch(documents: &mut impl Iterator<Item = Result<Document>>) -> Result<Vec<Document>> {
    let mut batch = Vec::new();
    let mut bytes = 0;
    while batch.len() < BATCH_DOCUMENTS && bytes < BATCH_BYTES {
        match documents.next() {
            Some(document) => {
                let document = document?;
                bytes += document.text.len();
                batch.push(document);
            }
            None => break,
        }
    }
    Ok(batch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::Recipe;
    use std::sync::atomic::Ordering;

    fn documents() -> Vec<Document> {
        let demo = crate::corpus::demo().unwrap();
        let mut documents = demo.train;
        documents.iter_mut().step_by(7).for_each(|document| document.labels = None);
        documents.iter_mut().step_by(5).for_each(|document| document.weight = 0.5);
        documents
    }

    fn columns(documents: &[Document]) -> (Vec<&str>, Vec<String>, Labels, Vec<f32>) {
        (
            documents.iter().map(|document| document.text.as_str()).collect(),
            documents.iter().map(|document| document.id.clone()).collect(),
            Labels::from_lists(documents.iter().map(|document| document.labels.as_deref())),
            documents.iter().map(|document| document.weight).collect(),
        )
    }

    #[test]
    fn columns_make_the_same_corpus_and_model_as_documents() {
        let run = Run::new(1, 2).unwrap();
        let recipe = Recipe::parse("words(stem=english) | tfidf | svm").unwrap();
        let documents = documents();
        let (texts, ids, labels, weights) = columns(&documents);
        let given = Corpus::from_columns_with_ids(&texts, ids, labels, Some(weights), recipe.words(), &run).unwrap();
        let read = Corpus::read(documents.iter().cloned().map(Ok), recipe.words(), &run).unwrap();
        assert_eq!((&given.tokens, &given.ids, &given.labels), (&read.tokens, &read.ids, &read.labels));
        assert_eq!(given.weights, read.weights);
        assert!(given.weights.is_some());
        let bytes = |corpus: &Corpus| recipe.fit(corpus, &run).unwrap().to_bytes().unwrap();
        assert_eq!(bytes(&given), bytes(&read));
    }

    #[test]
    fn ids_are_row_numbers_and_weights_of_one_are_none() {
        let run = Run::new(1, 1).unwrap();
        let labels = Labels::from_single([Some("a"), None]);
        let words = WordsParams::default();
        let texts = ["one".to_string(), "two".to_string()];
        let corpus = Corpus::from_columns(&texts, labels, Some(vec![1.0; 2]), &words, &run).unwrap();
        assert_eq!((&corpus.ids[..], &corpus.weights), (&["0".to_string(), "1".to_string()][..], &None));
    }

    #[test]
    fn batches_hold_no_more_than_they_may() {
        assert_eq!(batch_length(&vec![""; BATCH_DOCUMENTS + 5]), BATCH_DOCUMENTS);
        let large = "x".repeat(BATCH_BYTES / 2 + 1);
        assert_eq!(batch_length(&[&large, &large, &large]), 2);
        assert_eq!(batch_length(&[&large]), 1);
    }

    #[test]
    fn columns_that_do_not_fit_are_refused_with_the_reason() {
        let run = Run::new(1, 1).unwrap();
        let words = WordsParams::default();
        let labels = Labels::from_single([Some("a"), None]);
        let make = |texts: &[&str], labels: &Labels, weights: Option<Vec<f32>>| {
            Corpus::from_columns(texts, labels.clone(), weights, &words, &run).map(|_| ()).unwrap_err().to_string()
        };
        assert!(make(&["x"], &labels, None).contains("labels of the documents"));
        assert!(make(&["x", "y"], &labels, Some(vec![1.0])).contains("weights of the documents"));
        for bad in [f32::NAN, -1.0, f32::INFINITY] {
            let said = make(&["x", "y"], &labels, Some(vec![1.0, bad]));
            assert!(said.contains("document 2 has the weight"), "{said}");
        }
        assert!(make(&[], &labels.select(&[]), None).contains("no documents"));
        run.cancel_flag().store(true, Ordering::Relaxed);
        assert_eq!(make(&["x", "y"], &labels, None), "cancelled");
    }
}
