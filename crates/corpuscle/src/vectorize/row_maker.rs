//! The row of one text at a time, from its characters, with nothing made anew but what the text itself needs.
//!
//! `transform` tokenises documents into a lexicon of their own, maps that to the vocabulary and has a counter for every term of
//! the vocabulary per worker: little for ten thousand documents, most of the time for one. Here the words of the vocabulary are
//! in a hash table and the counters are kept from text to text, cleared as they are read. Counting and weighing are the same code,
//! so the values are the same bits. O(bytes + t + columns / 4096) for t distinct terms of the text.

use std::sync::Arc;

use super::Vocabulary;
use super::fill::Counter;
use crate::text::{Reader, UNKNOWN, WordsParams};

/// Makes the rows of texts, one at a time, keeping its tables and buffers in between.
pub trait RowMaker: Send + Sync {
    /// Columns, ascending, and values of a text's row: those that the model gives for its tokens, bit for bit.
    fn row(&mut self, text: &str) -> (&[u32], &[f32]);

    /// Another one, for another thread, that shares what does not change.
    fn fork(&self) -> Box<dyn RowMaker>;
}

/// A model of terms: what counts of a document weigh.
pub(super) trait Weigh: Send + Sync {
    fn vocabulary(&self) -> &Vocabulary;

    /// Writes the values of a row, given its columns in order and how often each is there. `weights` is empty, for scratch, and must
    /// be left so.
    fn weigh(&self, columns: &[u32], counts: &[u32], weights: &mut Vec<f64>, values: &mut [f32]);
}

/// The row maker of every model of terms.
pub(super) struct TermRows<M> {
    model: Arc<M>,
    reader: Reader,
    counter: Counter,
    /// The words of the text under way, where their order matters.
    words: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<f32>,
}

impl<M: Weigh> TermRows<M> {
    pub(super) fn new(model: Arc<M>, words: &WordsParams) -> Self {
        let reader = Reader::new(words, model.vocabulary().words());
        Self::of(model, reader)
    }

    fn of(model: Arc<M>, reader: Reader) -> Self {
        let counter = Counter::new(model.vocabulary().len());
        TermRows { model, reader, counter, words: Vec::new(), columns: Vec::new(), values: Vec::new() }
    }
}

impl<M: Weigh + 'static> RowMaker for TermRows<M> {
    fn row(&mut self, text: &str) -> (&[u32], &[f32]) {
        let TermRows { model, reader, counter, words, columns, values } = self;
        let vocabulary = model.vocabulary();
        match vocabulary.single_words() {
            Some(single) => reader.read(text, vocabulary.words(), |word| {
                if word != UNKNOWN {
                    counter.add_known(single[word as usize]);
                }
            }),
            None => {
                words.clear();
                reader.read(text, vocabulary.words(), |word| words.push(word));
                vocabulary.for_each(words, |column| counter.add(column));
            }
        }
        columns.clear();
        values.clear();
        counter.finish(
            |columns, counts, weights, values| model.weigh(columns, counts, weights, values),
            columns,
            values,
        );
        (columns, values)
    }

    fn fork(&self) -> Box<dyn RowMaker> {
        Box::new(Self::of(Arc::clone(&self.model), self.reader.fork()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{CharsParams, Stemmer, StopList, Strip, Tokenizer};
    use crate::vectorize::{BinaryParams, Bound, CountsParams, Norm, TfidfParams, Vectorizer, VectorizerModel};
    use crate::{Result, Run};

    fn agree(model: Arc<dyn VectorizerModel>, words: &WordsParams, texts: &[&str], run: &Run) -> Result<()> {
        let mut maker = Arc::clone(&model).row_maker(words).unwrap();
        let mut other = maker.fork();
        for text in texts {
            let x = model.transform(&words.tokenize(&[text], run)?, run)?;
            let (columns, values) = maker.row(text);
            let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            assert_eq!((columns, bits(values)), (x.row(0).columns, bits(x.row(0).values)), "{text:?} {words:?}");
            assert_eq!(other.row(text), (columns, values));
        }
        Ok(())
    }

    #[test]
    fn rows_are_those_of_the_model() -> Result<()> {
        let run = Run::new(1, 1)?;
        let train = [
            "From: x@y\nSubject: a\n\nThe cats sat on the red mat\n> quoted lines\n-- \nme",
            "the red cats don't sit; cafés ÉTÉ 東京都 naïve",
            "the cats sat on the mat; red mats are the best mats on the mat averyveryverylongwordindeed",
            "cats sat on the red mat mat mat mat",
        ];
        let texts = [
            train[0],
            train[1],
            train[2],
            "",
            "   ",
            "zzz qqq unheard",
            "cats zzz sat the on the red the mat averyveryverylongwordindeed averyveryverylongwordindeee",
            "> only quotes\nwrote: nothing",
        ];
        let stem = Some(Stemmer::from_name("porter")?);
        let plain = WordsParams::default();
        let options = [
            plain.clone(),
            WordsParams { tokenizer: Tokenizer::Sklearn, ..plain.clone() },
            WordsParams { tokenizer: Tokenizer::Letters, lowercase: false, ..plain.clone() },
            WordsParams { stem, ..plain.clone() },
            WordsParams { stem, position: true, negate: 3, ..plain.clone() },
            CharsParams::default().0,
            WordsParams { stop: Some(StopList::English.into()), min_length: 3, ..plain.clone() },
            WordsParams {
                stem,
                stop: Some(StopList::Smart.into()),
                strip: Strip { headers: true, quotes: true, signatures: true },
                ..plain
            },
        ];
        for words in options {
            let tokens = words.tokenize(&train, &run)?;
            for (ngrams_min, ngrams) in [(1, 1), (1, 3), (2, 2), (3, 3)] {
                let counts = CountsParams { ngrams_min, ngrams, ..CountsParams::default() };
                agree(Arc::new(Vectorizer::fit(&counts, &tokens, &run)?.0), &words, &texts, &run)?;
                let few = CountsParams { min_df: Bound::Count(2), max_features: Some(9), ..counts.clone() };
                let binary = BinaryParams(CountsParams { binary: true, ..counts });
                agree(Arc::new(binary.fit(&tokens, &run)?.0), &words, &texts, &run)?;
                let pairs = CountsParams { skip: 2, ngrams_min: 1, ngrams, ..CountsParams::default() };
                agree(Arc::new(Vectorizer::fit(&pairs, &tokens, &run)?.0), &words, &texts, &run)?;
                for (norm, sublinear) in [(Norm::L2, true), (Norm::L1, false), (Norm::None, true)] {
                    let tfidf = TfidfParams { counts: few.clone(), norm, sublinear, ..TfidfParams::default() };
                    if let Ok((model, _)) = Vectorizer::fit(&tfidf, &tokens, &run) {
                        agree(Arc::new(model), &words, &texts, &run)?;
                    }
                }
            }
        }
        Ok(())
    }
}
