//! Term frequency times inverse document frequency.
//!
//! With c the count of a term in a document, n documents of which d have the term:
//!
//! - tf = c, or 1 + ln c when `sublinear`; 1 when `binary`;
//! - idf = 1 + ln((n + 1) / (d + 1)) when `smooth_idf`, else 1 + ln(n / d); 1 without `use_idf`;
//! - the row of all tf · idf is divided by its length (`L2`) or sum (`L1`).
//!
//! K. Spärck Jones, "A statistical interpretation of term specificity" (1972), in the form of scikit-learn's
//! `TfidfVectorizer`, to which values are equal but for their storage in `f32`. O(tokens).

use std::sync::Arc;

use super::counts::CountsModel;
use super::fill::fill;
use super::row_maker::{RowMaker, TermRows, Weigh};
use super::{Norm, TermCounts, TfidfParams, Vectorizer, VectorizerModel, Vocabulary};
use crate::matrix::{Csr, Matrix};
use crate::params::Params;
use crate::store::{StoreReader, StoreWriter};
use crate::text::{Tokens, WordsParams};
use crate::{Error, Result, Run};

/// A fitted tf-idf vectorizer.
#[derive(Debug, Clone, PartialEq)]
pub struct TfidfModel {
    params: TfidfParams,
    counts: CountsModel,
    idf: Vec<f64>,
    /// What small counts weigh before idf: nearly all counts are small, and their logarithms are looked up.
    small: Vec<f64>,
}

impl TfidfParams {
    /// Learns vocabulary and document frequencies; gives the matrix of the fitted documents as well.
    pub fn fit(&self, tokens: &Tokens, run: &Run) -> Result<(TfidfModel, Csr)> {
        CountsModel::fit(&self.counts, tokens, "tfidf", run, |counts| TfidfModel::new(self.clone(), counts))
    }

    /// What [`TfidfParams::fit`] learns, from counts of the same documents made in parts.
    pub fn model_of(&self, counts: &TermCounts) -> Result<TfidfModel> {
        Ok(TfidfModel::new(self.clone(), CountsModel::learn_of(&self.counts, counts, "tfidf")?))
    }
}

impl TfidfModel {
    fn new(params: TfidfParams, counts: CountsModel) -> Self {
        let extra = f64::from(u8::from(params.smooth_idf));
        let documents = counts.n_documents() as f64 + extra;
        let idf = |&frequency: &u32| match params.use_idf {
            true => (documents / (f64::from(frequency) + extra)).ln() + 1.0,
            false => 1.0,
        };
        let idf = counts.document_frequencies().iter().map(idf).collect();
        let small = (0..256).map(|count| frequency(&params, count)).collect();
        TfidfModel { params, counts, idf, small }
    }

    /// The matrix of documents; terms that are not in the vocabulary are passed over.
    pub fn transform(&self, tokens: &Tokens, run: &Run) -> Result<Csr> {
        fill(tokens, self.vocabulary(), run, |columns, counts, weights, values| {
            self.weigh(columns, counts, weights, values);
        })
    }

    /// How often each term of the vocabulary is in each document: what [`TfidfModel::refit`] starts from.
    pub fn raw_counts(&self, tokens: &Tokens, run: &Run) -> Result<Csr> {
        self.counts.raw_counts(tokens, run)
    }

    /// The same vocabulary with the document frequencies of other documents, given as [`TfidfModel::raw_counts`], and
    /// their matrix: bit for bit what fitting on them with this vocabulary gives.
    pub fn refit(&self, counts: &Csr, run: &Run) -> Result<(Self, Csr)> {
        let model = TfidfModel::new(self.params.clone(), self.counts.with_frequencies_of(counts)?);
        let mut x = counts.clone();
        run.install(|| {
            x.rows_mut().for_each(|columns, values| {
                let weigh = |(&column, &count): (&u32, &f32)| model.weight(column, count as u32);
                let weights: Vec<f64> = columns.iter().zip(values.iter()).map(weigh).collect();
                let divisor = model.divisor(&weights);
                values.iter_mut().zip(&weights).for_each(|(value, weight)| *value = (weight / divisor) as f32);
            });
        });
        Ok((model, x))
    }

    /// The parameters it was fitted with.
    pub fn params(&self) -> &TfidfParams {
        &self.params
    }

    /// The terms.
    pub fn vocabulary(&self) -> &Vocabulary {
        self.counts.vocabulary()
    }

    /// How many columns the matrix has.
    pub fn n_columns(&self) -> usize {
        self.vocabulary().len()
    }

    /// The term of each column.
    pub fn feature_names(&self) -> Vec<String> {
        self.vocabulary().terms()
    }

    /// The inverse document frequency of each column; 1 without `use_idf`.
    pub fn idf(&self) -> &[f64] {
        &self.idf
    }

    /// In how many of the fitted documents the term of each column is.
    pub fn document_frequencies(&self) -> &[u32] {
        self.counts.document_frequencies()
    }

    /// How many documents it was fitted on.
    pub fn n_documents(&self) -> u64 {
        self.counts.n_documents()
    }

    /// Takes a model out of a store, checking it whole.
    pub fn load(store: &StoreReader<'_>) -> Result<Self> {
        let params: TfidfParams = store.json("params")?;
        params.check().map_err(|e| Error::model(e.to_string()))?;
        let counts = CountsModel::load_terms(params.counts.clone(), store)?;
        Ok(TfidfModel::new(params, counts))
    }
}

/// What a count in a document weighs before idf.
fn frequency(params: &TfidfParams, count: u32) -> f64 {
    match (params.counts.binary, params.sublinear) {
        (true, _) => 1.0,
        (false, true) => f64::from(count).ln() + 1.0,
        (false, false) => f64::from(count),
    }
}

impl TfidfModel {
    #[inline]
    fn weight(&self, column: u32, count: u32) -> f64 {
        let known = self.small.get(count as usize).copied();
        known.unwrap_or_else(|| frequency(&self.params, count)) * self.idf[column as usize]
    }

    fn divisor(&self, weights: &[f64]) -> f64 {
        match self.params.norm {
            Norm::L2 => weights.iter().map(|w| w * w).sum::<f64>().sqrt(),
            Norm::L1 => weights.iter().sum(),
            Norm::None => 1.0,
        }
    }
}

impl Weigh for TfidfModel {
    fn vocabulary(&self) -> &Vocabulary {
        self.counts.vocabulary()
    }

    fn weigh(&self, columns: &[u32], counts: &[u32], weights: &mut Vec<f64>, values: &mut [f32]) {
        weights.extend(columns.iter().zip(counts).map(|(&column, &count)| self.weight(column, count)));
        let divisor = self.divisor(weights);
        values.iter_mut().zip(weights.drain(..)).for_each(|(value, weight)| *value = (weight / divisor) as f32);
    }
}

impl Vectorizer for TfidfParams {
    type Model = TfidfModel;

    fn fit(&self, tokens: &Tokens, run: &Run) -> Result<(TfidfModel, Matrix)> {
        let (model, x) = TfidfParams::fit(self, tokens, run)?;
        Ok((model, x.into()))
    }

    fn counts(&self) -> Option<usize> {
        Some(self.counts.ngrams)
    }

    fn model_of(&self, counts: &TermCounts) -> Result<TfidfModel> {
        TfidfParams::model_of(self, counts)
    }

    fn load(&self, store: &StoreReader<'_>) -> Result<TfidfModel> {
        TfidfModel::load(store)
    }
}

impl VectorizerModel for TfidfModel {
    fn transform(&self, tokens: &Tokens, run: &Run) -> Result<Matrix> {
        Ok(TfidfModel::transform(self, tokens, run)?.into())
    }

    fn n_columns(&self) -> usize {
        TfidfModel::n_columns(self)
    }

    fn save(&self, out: &mut StoreWriter) -> Result<()> {
        out.put_json("params", &self.params)?;
        self.counts.save_terms(out);
        Ok(())
    }

    fn feature_names(&self) -> Vec<String> {
        TfidfModel::feature_names(self)
    }

    fn raw_counts(&self, tokens: &Tokens, run: &Run) -> Result<Option<Csr>> {
        TfidfModel::raw_counts(self, tokens, run).map(Some)
    }

    fn refit(&self, counts: &Csr, run: &Run) -> Result<(Arc<dyn VectorizerModel>, Matrix)> {
        let (model, matrix) = TfidfModel::refit(self, counts, run)?;
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
    use crate::text::{Stop, StopList, Tokenizer};
    use serde::Deserialize;

    #[derive(Deserialize)]
    struct Fixture {
        fit: Vec<String>,
        transform: Vec<String>,
        cases: Vec<Case>,
    }

    /// What scikit-learn gave under some parameters.
    #[derive(Deserialize)]
    struct Case {
        params: TfidfParams,
        stop: Option<Stop>,
        lowercase: bool,
        /// Whether it was a `CountVectorizer`.
        counts: bool,
        terms: Vec<String>,
        fitted: Vec<Vec<(u32, f64)>>,
        transformed: Vec<Vec<(u32, f64)>>,
    }

    fn assert_close(x: &Csr, expected: &[Vec<(u32, f64)>], about: &str) {
        assert_eq!(x.rows(), expected.len(), "{about}");
        for (row, expected) in expected.iter().enumerate() {
            let (columns, values) = x.row(row);
            let wanted: Vec<u32> = expected.iter().map(|entry| entry.0).collect();
            assert_eq!(columns, wanted, "row {row} of {about}");
            for (&value, entry) in values.iter().zip(expected) {
                let close = (f64::from(value) - entry.1).abs() <= 1e-6 * entry.1.abs().max(1.0);
                assert!(close, "row {row}, column {} of {about}: {value}, not {}", entry.0, entry.1);
            }
        }
    }

    #[test]
    fn equal_to_scikit_learn_under_every_shared_option() {
        let fixture: Fixture = serde_json::from_str(include_str!("../../tests/fixtures/tfidf.json")).unwrap();
        assert!(fixture.cases.len() > 20);
        let run = Run::new(0, 2).unwrap();
        for case in fixture.cases {
            let about = format!("{:?} stop {:?}", case.params, case.stop.as_ref().map(|_| StopList::English));
            let words = WordsParams {
                tokenizer: Tokenizer::Sklearn,
                lowercase: case.lowercase,
                stop: case.stop,
                ..WordsParams::default()
            };
            let tokens = words.tokenize(&fixture.fit, &run).unwrap();
            let others = words.tokenize(&fixture.transform, &run).unwrap();
            if case.counts {
                let (model, x) = case.params.counts.fit(&tokens, &run).unwrap();
                assert_eq!(model.feature_names(), case.terms, "{about}");
                assert_close(&x, &case.fitted, &about);
                assert_close(&model.transform(&others, &run).unwrap(), &case.transformed, &about);
            } else {
                let (model, x) = case.params.fit(&tokens, &run).unwrap();
                assert_eq!(model.feature_names(), case.terms, "{about}");
                assert_close(&x, &case.fitted, &about);
                assert_close(&model.transform(&others, &run).unwrap(), &case.transformed, &about);
                let loaded = round_trip(|out| model.save(out).unwrap(), TfidfModel::load).unwrap();
                assert_eq!(loaded.transform(&tokens, &run).unwrap(), x);
            }
        }
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        let texts: Vec<String> = (0..3000)
            .map(|i| (0..20).map(|j| format!("w{} ", (i * 7 + j * j) % (50 + j * 13))).collect::<String>())
            .collect();
        let counts = crate::vectorize::CountsParams { ngrams: 3, ..Default::default() };
        let params = TfidfParams { counts, sublinear: true, ..TfidfParams::default() };
        let fit = |threads| {
            let run = Run::new(0, threads).unwrap();
            params.fit(&WordsParams::default().tokenize(&texts, &run).unwrap(), &run).unwrap()
        };
        let one = fit(1);
        assert_eq!(fit(2), one);
        assert_eq!(fit(8), one);
    }

    #[test]
    fn a_document_without_known_words_is_an_empty_row() {
        let run = Run::new(0, 1).unwrap();
        let words = WordsParams::default();
        let (model, _) = TfidfParams::default().fit(&words.tokenize(&["a"], &run).unwrap(), &run).unwrap();
        let x = model.transform(&words.tokenize(&["", "z"], &run).unwrap(), &run).unwrap();
        assert_eq!((x.rows(), x.nnz()), (2, 0));
    }
}
