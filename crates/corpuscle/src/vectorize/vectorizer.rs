//! The shape of every method that makes a matrix of words: params, `fit`, model.

use std::fmt::Debug;
use std::sync::Arc;

use super::chunks::{count, rows};
use super::{Chunks, RowMaker, Spread, TermCounts, TopicTable, WordSpace};
use crate::matrix::{Csr, Dense, Matrix};
use crate::params::Params;
use crate::store::{StoreReader, StoreWriter};
use crate::text::{Tokens, WordsParams};
use crate::{Error, Result, Run};

/// What kind of columns a method makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Columns {
    /// Sparse columns alone: terms, or something counted like terms.
    Terms,
    /// Terms with other columns beside them.
    Beside,
    /// Dimensions that stand for no term.
    Dimensions,
    /// Whatever went in.
    Same,
}

/// Words to matrix, not yet fitted.
pub trait Vectorizer: Params {
    /// What fitting gives.
    type Model: VectorizerModel + 'static;
    /// What the columns that come out are.
    const MAKES: Columns = Columns::Terms;

    /// The field of numbers it reads of the documents, for a method that reads one: [`Tokens::field`].
    fn field(&self) -> Option<&str> {
        None
    }

    /// Whether it makes a difference which documents are labelled: see [`Vectorizer::fit_labelled`].
    const ASKS_LABELLED: bool = false;

    /// Learns from all documents, labelled or not, and gives their matrix.
    fn fit(&self, tokens: &Tokens, run: &Run) -> Result<(Self::Model, Matrix)>;

    /// The same where the documents at `labelled` are the training documents and others only give texts to learn words from.
    /// A method that takes something from training documents alone says so with [`Vectorizer::ASKS_LABELLED`].
    fn fit_labelled(&self, tokens: &Tokens, _labelled: &[usize], run: &Run) -> Result<(Self::Model, Matrix)> {
        self.fit(tokens, run)
    }

    /// How many words the longest terms have that it counts, for a method that learns from nothing but [`TermCounts`].
    fn counts(&self) -> Option<usize> {
        None
    }

    /// What [`Vectorizer::fit`] learns, from counts of the same documents made in parts, for a method that has
    /// [`Vectorizer::counts`].
    fn model_of(&self, _counts: &TermCounts) -> Result<Self::Model> {
        Err(Error::data(format!("`{}` cannot be fitted from term counts; counts, binary and tfidf can", Self::NAME)))
    }

    /// Learns from documents that come in chunks, and gives their matrix: to the bit what [`Vectorizer::fit`] gives on all of
    /// them. Refused by a method that needs the words of all documents in memory.
    fn fit_chunks(&self, chunks: &dyn Chunks, run: &Run) -> Result<(Self::Model, Matrix)> {
        let Some(longest) = self.counts() else {
            return Err(Error::data(format!(
                "`{}` needs the words of all documents in memory; counts, binary and tfidf can learn from documents on disk",
                Self::NAME
            )));
        };
        let model = self.model_of(&count(chunks, longest, run)?)?;
        let x = rows(chunks, model.n_columns(), run, |tokens| Ok(model.transform(tokens, run)?.sparse().clone()))?;
        Ok((model, x.into()))
    }

    /// Takes a fitted model out of a store, checking it whole.
    fn load(&self, store: &StoreReader<'_>) -> Result<Self::Model>;
}

/// A part of a score for each word of a document.
pub type WordParts = Vec<(String, f64)>;

/// Words to matrix, fitted.
pub trait VectorizerModel: Debug + Send + Sync {
    /// The matrix of any documents.
    fn transform(&self, tokens: &Tokens, run: &Run) -> Result<Matrix>;
    /// How many columns come out.
    fn n_columns(&self) -> usize;
    /// Puts the model into a store.
    fn save(&self, out: &mut StoreWriter) -> Result<()>;
    /// What the sparse columns stand for: one name for each.
    fn feature_names(&self) -> Vec<String>;

    /// What an update of the model needs to keep of documents: how often each known term is in each. `None` for a method
    /// that cannot be fitted again from that.
    fn raw_counts(&self, _tokens: &Tokens, _run: &Run) -> Result<Option<Csr>> {
        Ok(None)
    }

    /// Fits again, with the same terms, on documents kept as [`VectorizerModel::raw_counts`].
    fn refit(&self, _counts: &Csr, _run: &Run) -> Result<(Arc<dyn VectorizerModel>, Matrix)> {
        Err(Error::data("this stage cannot be fitted again from counts"))
    }

    /// The field of numbers it reads of the documents, and how many there must be, for a method that reads one.
    fn field(&self) -> Option<(&str, usize)> {
        None
    }

    /// The word vectors, when it has some.
    fn word_space(&self) -> Option<&WordSpace> {
        None
    }

    /// Whether [`VectorizerModel::word_parts`] gives some.
    fn has_word_parts(&self) -> bool {
        self.word_space().is_some()
    }

    /// What each word of one document adds to a score with these weights of the columns, for a method whose columns are not
    /// themselves words; the parts add up to the score but for a constant. `None` where columns are words.
    fn word_parts(&self, _tokens: &Tokens, _weights: &[f32], _run: &Run) -> Result<Option<WordParts>> {
        Ok(None)
    }

    /// The values of documents before and after small ones are made zero, for a method that does so: [`Spread`], with `bins`
    /// bins.
    fn spread(&self, _tokens: &Tokens, _bins: usize, _run: &Run) -> Result<Option<Spread>> {
        Ok(None)
    }

    /// Its topics and their words, for a method that has topics.
    fn topics(&self) -> Option<TopicTable> {
        None
    }

    /// How much of each topic is in each document, for a method that has topics; every row adds up to 1.
    fn topic_shares(&self, _tokens: &Tokens, _run: &Run) -> Result<Option<Dense>> {
        Ok(None)
    }

    /// What makes the rows of texts one at a time, for a method that can do so faster than by [`VectorizerModel::transform`];
    /// `words` is how texts become the words it was fitted on.
    fn row_maker(self: Arc<Self>, _words: &WordsParams) -> Option<Box<dyn RowMaker>> {
        None
    }
}
