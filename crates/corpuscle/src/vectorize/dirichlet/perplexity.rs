//! How surprised a topic model is by words it has not seen: perplexity by document completion.
//!
//! Of every document the known words at even places (the first, the third …) are read, and those at odd places are to be
//! foreseen: exp(−Σ ln P(w | d) / words), P(w | d) = Σ_k θ_dk · P(w|k), θ_d from the words read alone. Nothing is drawn and no
//! word is both read and scored. Of two models the one with fewer known words has the easier task: compare models of one vocabulary.
//! H. Wallach, I. Murray, R. Salakhutdinov and D. Mimno, "Evaluation methods for topic models" (2009), section 4.2.

use super::DirichletModel;
use crate::matrix::Dense;
use crate::text::Tokens;
use crate::{Error, Result, Run};

/// Perplexity of the words of documents to be foreseen, for any topic model: `shares` gives P(k|d) of each document, found from
/// the words read, and `given_topic` P(w|k), words × topics; documents are lists of word numbers. `None` where nothing is left to foresee.
pub fn completion_perplexity<'a>(
    foreseen: impl IntoIterator<Item = &'a [u32]>,
    shares: &Dense,
    given_topic: &Dense,
) -> Result<Option<f64>> {
    let (mut sum, mut words) = (0f64, 0u64);
    let mut rows = 0;
    for (row, document) in foreseen.into_iter().enumerate() {
        rows = row + 1;
        for &word in document {
            if row >= shares.rows() || word as usize >= given_topic.rows() || shares.cols() != given_topic.cols() {
                return Err(Error::data("documents, words and topics do not fit the shares and probabilities given"));
            }
            let parts = shares.row(row).iter().zip(given_topic.row(word as usize));
            let probability: f64 = parts.map(|(&share, &given)| f64::from(share) * f64::from(given)).sum();
            sum += probability.max(f64::MIN_POSITIVE).ln();
            words += 1;
        }
    }
    if rows > shares.rows() {
        return Err(Error::Shape { what: "documents with shares of topics", expected: rows, found: shares.rows() });
    }
    Ok((words > 0).then(|| (-sum / words as f64).exp()))
}

impl DirichletModel {
    /// Perplexity of documents by completion; `None` when no document has two known words.
    pub fn perplexity(&self, tokens: &Tokens, run: &Run) -> Result<Option<f64>> {
        let numbers = self.numbers(tokens);
        let mut scratch = self.scratch();
        let (mut read, mut entries, mut known) = (Vec::new(), Vec::new(), Vec::new());
        let (mut sum, mut words) = (0f64, 0u64);
        for document in 0..tokens.n_documents() {
            run.check()?;
            known.clear();
            known.extend(
                tokens.document(document).iter().map(|&id| numbers[id as usize]).filter(|&word| word != u32::MAX),
            );
            read.clear();
            read.extend(known.iter().step_by(2).copied());
            let shares = self.settle(&mut read, &mut entries, &mut scratch).as_flattened();
            for &word in known.iter().skip(1).step_by(2) {
                let parts = shares.iter().zip(self.word_given_topics(word));
                let probability: f64 = parts.map(|(&share, &given)| f64::from(share) * f64::from(given)).sum();
                sum += probability.max(f64::MIN_POSITIVE).ln();
                words += 1;
            }
        }
        Ok((words > 0).then(|| (-sum / words as f64).exp()))
    }
}
