//! How often each term is in each document, or whether it is there.
//!
//! A term is a word or n words in a row joined by a space, and with `skip` also two words with others between them (`not … good`). Equal to scikit-learn's `CountVectorizer` under the same
//! tokenizer, save that `max_features` breaks ties by the byte order of the terms (there they fall as the sort leaves
//! them). O(tokens) for single words; see `grams` for longer ones.

use std::sync::Arc;

use super::fill::fill;
use super::row_maker::{RowMaker, TermRows, Weigh};
use super::select::{Selected, select, select_of, select_words};
use super::{BinaryParams, CountsParams, TermCounts, Vectorizer, VectorizerModel, Vocabulary};
use crate::matrix::{Csr, Matrix};
use crate::params::Params;
use crate::store::{StoreReader, StoreWriter};
use crate::text::{Tokens, WordsParams};
use crate::{Error, Result, Run};

/// A fitted counting vectorizer.
#[derive(Debug, Clone, PartialEq)]
pub struct CountsModel {
    params: CountsParams,
    vocabulary: Vocabulary,
    frequencies: Vec<u32>,
    documents: u64,
}

impl CountsParams {
    /// Learns the vocabulary of documents; gives their matrix as well.
    pub fn fit(&self, tokens: &Tokens, run: &Run) -> Result<(CountsModel, Csr)> {
        CountsModel::fit(self, tokens, if self.binary { "binary" } else { "counts" }, run, |counts| counts)
    }

    /// What [`CountsParams::fit`] learns, from counts of the same documents made in parts.
    pub fn model_of(&self, counts: &TermCounts) -> Result<CountsModel> {
        CountsModel::learn_of(self, counts, if self.binary { "binary" } else { "counts" })
    }

    /// The vocabulary that [`CountsParams::fit`] learns, from counts of the same documents made in parts.
    pub fn vocabulary_of(&self, counts: &TermCounts) -> Result<Vocabulary> {
        Ok(self.model_of(counts)?.vocabulary)
    }
}

impl CountsModel {
    pub(super) fn learn_of(params: &CountsParams, counts: &TermCounts, stage: &'static str) -> Result<Self> {
        let Selected { vocabulary, frequencies, .. } = select_of(counts, params, stage)?;
        Ok(CountsModel { params: params.clone(), vocabulary, frequencies, documents: counts.n_documents() })
    }

    /// Learns the terms of documents; gives the model that `make` makes of them, and its matrix of these documents.
    pub(super) fn fit<M: Weigh>(
        params: &CountsParams,
        tokens: &Tokens,
        stage: &'static str,
        run: &Run,
        make: impl FnOnce(CountsModel) -> M,
    ) -> Result<(M, Csr)> {
        let model = |Selected { vocabulary, frequencies, .. }| {
            let documents = tokens.n_documents() as u64;
            make(CountsModel { params: params.clone(), vocabulary, frequencies, documents })
        };
        if params.ngrams > 1 || params.skip > 0 {
            let model = model(select(tokens, params, stage, run)?);
            let x = fill(tokens, model.vocabulary(), run, |columns, counts, weights, values| {
                model.weigh(columns, counts, weights, values);
            })?;
            return Ok((model, x));
        }
        // Single words are counted once, for the vocabulary and for the matrix.
        let (mut selected, counted) = select_words(tokens, params, stage, run)?;
        let columns = std::mem::take(&mut selected.columns);
        let model = model(selected);
        let x = counted.weigh(&columns, model.vocabulary().len(), run, |columns, counts, weights, values| {
            model.weigh(columns, counts, weights, values);
        })?;
        Ok((model, x))
    }

    /// The matrix of documents; terms that are not in the vocabulary are passed over.
    pub fn transform(&self, tokens: &Tokens, run: &Run) -> Result<Csr> {
        fill(tokens, &self.vocabulary, run, |columns, counts, weights, values| {
            self.weigh(columns, counts, weights, values);
        })
    }

    /// How often each term of the vocabulary is in each document, whatever the model makes of that: what
    /// [`CountsModel::refit`] starts from.
    pub fn raw_counts(&self, tokens: &Tokens, run: &Run) -> Result<Csr> {
        fill(tokens, &self.vocabulary, run, |_, counts, _, values| {
            values.iter_mut().zip(counts).for_each(|(value, &count)| *value = count as f32);
        })
    }

    /// The same vocabulary with the document frequencies of other documents, given as [`CountsModel::raw_counts`], and
    /// their matrix. Terms that none of them has keep a frequency of 1.
    pub fn refit(&self, counts: &Csr) -> Result<(Self, Csr)> {
        let model = self.with_frequencies_of(counts)?;
        let mut x = counts.clone();
        if self.params.binary {
            x.values_mut().fill(1.0);
        }
        Ok((model, x))
    }

    pub(super) fn with_frequencies_of(&self, counts: &Csr) -> Result<Self> {
        if counts.cols() != self.vocabulary.len() {
            let (expected, found) = (self.vocabulary.len(), counts.cols());
            return Err(Error::Shape { what: "terms of the kept counts", expected, found });
        }
        if counts.rows() == 0 || counts.rows() >= u32::MAX as usize {
            return Err(Error::data("between 1 and 4 294 967 294 documents are needed to count terms"));
        }
        let mut frequencies = vec![0u32; counts.cols()];
        counts.indices().iter().for_each(|&column| frequencies[column as usize] += 1);
        frequencies.iter_mut().for_each(|frequency| *frequency = (*frequency).max(1));
        Ok(CountsModel { frequencies, documents: counts.rows() as u64, ..self.clone() })
    }

    /// The parameters it was fitted with.
    pub fn params(&self) -> &CountsParams {
        &self.params
    }

    /// The terms.
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// How many columns the matrix has.
    pub fn n_columns(&self) -> usize {
        self.vocabulary.len()
    }

    /// The term of each column.
    pub fn feature_names(&self) -> Vec<String> {
        self.vocabulary.terms()
    }

    /// In how many of the fitted documents the term of each column is.
    pub fn document_frequencies(&self) -> &[u32] {
        &self.frequencies
    }

    /// How many documents it was fitted on.
    pub fn n_documents(&self) -> u64 {
        self.documents
    }

    /// Takes a model out of a store, checking it whole.
    pub fn load(store: &StoreReader<'_>) -> Result<Self> {
        let params: CountsParams = store.json("params")?;
        Self::load_terms(params, store)
    }

    pub(super) fn save_terms(&self, out: &mut StoreWriter) {
        self.vocabulary.save(out);
        out.put_u32("document_frequencies", &self.frequencies);
        out.put_u64("documents", &[self.documents]);
    }

    pub(super) fn load_terms(params: CountsParams, store: &StoreReader<'_>) -> Result<Self> {
        params.check().map_err(|e| Error::model(e.to_string()))?;
        let vocabulary = Vocabulary::load(store)?;
        let frequencies = store.u32s("document_frequencies", Some(vocabulary.len()))?;
        let documents = store.u64s("documents", Some(1))?[0];
        if frequencies.iter().any(|&frequency| frequency == 0 || u64::from(frequency) > documents) {
            return Err(Error::model("a document frequency is not from 1 to the number of documents"));
        }
        if vocabulary.is_empty() {
            return Err(Error::model("the vocabulary is empty"));
        }
        Ok(CountsModel { params, vocabulary, frequencies, documents })
    }
}

impl Weigh for CountsModel {
    fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    fn weigh(&self, _columns: &[u32], counts: &[u32], _weights: &mut Vec<f64>, values: &mut [f32]) {
        let value = |count: u32| if self.params.binary { 1.0 } else { count as f32 };
        values.iter_mut().zip(counts).for_each(|(to, &count)| *to = value(count));
    }
}

impl Vectorizer for CountsParams {
    type Model = CountsModel;

    fn fit(&self, tokens: &Tokens, run: &Run) -> Result<(CountsModel, Matrix)> {
        let (model, x) = CountsParams::fit(self, tokens, run)?;
        Ok((model, x.into()))
    }

    fn counts(&self) -> Option<usize> {
        Some(self.ngrams)
    }

    fn model_of(&self, counts: &TermCounts) -> Result<CountsModel> {
        CountsParams::model_of(self, counts)
    }

    fn load(&self, store: &StoreReader<'_>) -> Result<CountsModel> {
        CountsModel::load(store)
    }
}

impl Vectorizer for BinaryParams {
    type Model = CountsModel;

    fn fit(&self, tokens: &Tokens, run: &Run) -> Result<(CountsModel, Matrix)> {
        Vectorizer::fit(&self.0, tokens, run)
    }

    fn counts(&self) -> Option<usize> {
        Some(self.0.ngrams)
    }

    fn model_of(&self, counts: &TermCounts) -> Result<CountsModel> {
        self.0.model_of(counts)
    }

    fn load(&self, store: &StoreReader<'_>) -> Result<CountsModel> {
        CountsModel::load(store)
    }
}

impl VectorizerModel for CountsModel {
    fn transform(&self, tokens: &Tokens, run: &Run) -> Result<Matrix> {
        Ok(CountsModel::transform(self, tokens, run)?.into())
    }

    fn n_columns(&self) -> usize {
        CountsModel::n_columns(self)
    }

    fn save(&self, out: &mut StoreWriter) -> Result<()> {
        out.put_json("params", &self.params)?;
        self.save_terms(out);
        Ok(())
    }

    fn feature_names(&self) -> Vec<String> {
        CountsModel::feature_names(self)
    }

    fn raw_counts(&self, tokens: &Tokens, run: &Run) -> Result<Option<Csr>> {
        CountsModel::raw_counts(self, tokens, run).map(Some)
    }

    fn refit(&self, counts: &Csr, _run: &Run) -> Result<(Arc<dyn VectorizerModel>, Matrix)> {
        let (model, matrix) = CountsModel::refit(self, counts)?;
        Ok((Arc::new(model), matrix.into()))
    }

    fn row_maker(self: Arc<Self>, words: &WordsParams) -> Option<Box<dyn RowMaker>> {
        Some(Box::new(TermRows::new(self, words)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::round_trip;
    use crate::text::Stop;
    use crate::vectorize::Bound;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    fn run(threads: usize) -> Run {
        Run::new(0, threads).unwrap()
    }

    fn tokens(texts: &[&str]) -> Tokens {
        WordsParams::default().tokenize(texts, &run(1)).unwrap()
    }

    /// Terms and the counts of each document.
    type Plain = (Vec<String>, Vec<BTreeMap<String, u32>>);

    /// Pairs come behind grams, each in the order of their words.
    fn column_order(term: &str) -> (bool, String) {
        (term.contains('…'), term.replace(" … ", " "))
    }

    /// Counts with strings and maps; none when no term is left.
    fn plainly(texts: &[String], params: &CountsParams) -> Option<Plain> {
        let words = WordsParams::default();
        let rows: Vec<BTreeMap<String, u32>> = texts
            .iter()
            .map(|text| {
                let words = words.tokens_of(text).unwrap();
                let mut row = BTreeMap::new();
                for n in params.ngrams_min..=params.ngrams {
                    words.windows(n).for_each(|gram| *row.entry(gram.join(" ")).or_default() += 1);
                }
                for (at, first) in words.iter().enumerate().filter(|_| params.skip > 0) {
                    for second in words[at + 1..].iter().take(params.skip + 1) {
                        *row.entry(format!("{first} … {second}")).or_default() += 1;
                    }
                }
                row
            })
            .collect();
        let terms: BTreeSet<&String> = rows.iter().flat_map(BTreeMap::keys).collect();
        let frequency = |term: &str| rows.iter().filter(|row| row.contains_key(term)).count() as f64;
        let (least, most) = (params.min_df.of(texts.len()), params.max_df.of(texts.len()));
        let mut kept: Vec<String> =
            terms.into_iter().filter(|t| frequency(t) >= least && frequency(t) <= most).cloned().collect();
        if let Some(limit) = params.max_features {
            let count = |term: &String| rows.iter().filter_map(|row| row.get(term)).sum::<u32>();
            kept.sort_by_key(|term| (std::cmp::Reverse(count(term)), column_order(term)));
            kept.truncate(limit);
        }
        kept.sort_by_key(|term| column_order(term));
        (!kept.is_empty()).then_some((kept, rows))
    }

    proptest! {
        #[test]
        fn grams_are_those_a_plain_count_finds(
            texts in proptest::collection::vec(
                proptest::collection::vec("a|b|c|ab|b1|é|'", 0..12).prop_map(|words| words.join(" ")), 1..10),
            (ngrams_min, more, min_df, max_df) in (1usize..4, 0usize..3, 1u64..4, 0.5f64..1.0),
            max_features in proptest::option::of(1usize..20),
            skip in 0usize..3,
        ) {
            let params = CountsParams {
                ngrams_min,
                ngrams: ngrams_min + more,
                min_df: Bound::Count(min_df),
                max_df: Bound::Share(max_df),
                max_features,
                skip,
                binary: false,
            };
            let tokens = WordsParams::default().tokenize(&texts, &run(1)).unwrap();
            let Some((terms, rows)) = plainly(&texts, &params) else {
                prop_assert!(params.fit(&tokens, &run(1)).is_err());
                return Ok(());
            };
            if (min_df as f64) > max_df * texts.len() as f64 {
                return Ok(());
            }
            let (model, x) = params.fit(&tokens, &run(1)).unwrap();
            prop_assert_eq!(&model.feature_names(), &terms);
            for (row, expected) in rows.iter().enumerate() {
                let (columns, values) = x.row(row);
                let found: BTreeMap<&str, f32> =
                    columns.iter().zip(values).map(|(&c, &v)| (terms[c as usize].as_str(), v)).collect();
                let expected: BTreeMap<&str, f32> = expected
                    .iter()
                    .filter(|(term, _)| terms.contains(term))
                    .map(|(term, &count)| (term.as_str(), count as f32))
                    .collect();
                prop_assert_eq!(found, expected);
            }
            let (again, same) = params.fit(&tokens, &run(2)).unwrap();
            prop_assert_eq!((&again, &same), (&model, &x));
            let loaded = round_trip(|out| model.save(out).unwrap(), CountsModel::load).unwrap();
            prop_assert_eq!(loaded.transform(&tokens, &run(2)).unwrap(), x);
        }
    }

    #[test]
    fn a_selection_of_documents_does_not_see_the_words_of_others() {
        let all = tokens(&["a b", "c d", "b a"]);
        let (model, x) = CountsParams::default().fit(&all.select(&[0, 2]).unwrap(), &run(1)).unwrap();
        assert_eq!(model.feature_names(), ["a", "b"]);
        assert_eq!((x.rows(), model.n_documents()), (2, 2));
        assert_eq!(model.document_frequencies(), [2, 2]);
    }

    #[test]
    fn nothing_to_count_says_what_to_change() {
        let error = |params: CountsParams, texts: &[&str]| params.fit(&tokens(texts), &run(1)).unwrap_err().to_string();
        let good = CountsParams::default;
        assert!(error(good(), &["", "!"]).contains("none of the 2 documents has a word"));
        assert!(error(good(), &[]).contains("none of the 0 documents"));
        let rare = CountsParams { min_df: Bound::Count(2), ngrams_min: 2, ngrams: 2, ..good() };
        let message = error(rare, &["a b", "b a"]);
        assert!(message.contains("lower min_df = 2, lower ngrams_min = 2"), "{message}");
        let crossed = CountsParams { min_df: Bound::Count(3), max_df: Bound::Share(0.5), ..good() };
        assert!(error(crossed, &["a", "b"]).contains("min_df = 3"));
        let stop = WordsParams { stop: Some(Stop::Words(vec!["a".into()])), ..WordsParams::default() };
        assert!(good().fit(&stop.tokenize(&["a a"], &run(1)).unwrap(), &run(1)).is_err());
    }

    #[test]
    fn damaged_models_are_refused() {
        let (model, _) = CountsParams::default().fit(&tokens(&["a b", "b"]), &run(1)).unwrap();
        let with = |change: &dyn Fn(&mut StoreWriter)| {
            round_trip(
                |out| {
                    model.save(out).unwrap();
                    change(out);
                },
                CountsModel::load,
            )
        };
        assert!(with(&|_| {}).is_ok());
        assert!(with(&|out| out.put_u32("document_frequencies", &[1])).is_err());
        assert!(with(&|out| out.put_u32("document_frequencies", &[0, 2])).is_err());
        assert!(with(&|out| out.put_u32("document_frequencies", &[3, 2])).is_err());
        assert!(with(&|out| out.put_strings("terms", ["b", "a"])).is_err());
        assert!(with(&|out| out.put_strings("terms", [""; 0])).is_err());
    }
}
