//! Documents read once, turned into words on the way: what every fit starts from.
//!
//! Texts are tokenised batch by batch while the next batch is being read, and are not kept.

use std::sync::mpsc::sync_channel;

use crate::corpus::{Document, Labels};
use crate::text::{Tokens, WordsParams};
use crate::{Error, Result, Run};

/// A batch is handed on when it holds this many documents or this many bytes of text, whichever comes first.
const BATCH_DOCUMENTS: usize = 4096;
const BATCH_BYTES: usize = 4 << 20;

/// A tokenised corpus with its labels and weights.
#[derive(Debug)]
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
        let mut lists: Vec<Option<Vec<String>>> = Vec::new();
        let mut weights = Vec::new();
        for_each_batch(documents, run, |batch| {
            builder.push(&batch.iter().map(|document| document.text.as_str()).collect::<Vec<_>>())?;
            for document in batch {
                ids.push(document.id);
                lists.push(document.labels);
                weights.push(document.weight);
            }
            Ok(())
        })?;
        if ids.is_empty() {
            return Err(Error::data("there are no documents: the data are empty, or a filter left none"));
        }
        let labels = Labels::from_lists(lists.iter().map(Option::as_deref));
        let tokens = builder.finish()?;
        let weights = weights.iter().any(|&weight| weight != 1.0).then_some(weights);
        Ok(Corpus { tokens, ids, labels, weights, sources: Vec::new() })
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
