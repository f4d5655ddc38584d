//! Word vectors by decomposition: what `lsi` knows of words.
//!
//! With X the documents as tf-idf rows of length one, tf = 1 + ln c and idf = 1 + ln((n + 1)/(d + 1)), and X ≈ U S Vᵀ its leading singular
//! triplets, a word's vector is its row of V. Words come together that share documents, not windows.
//!
//! Prediction needs many words: of 808 conversations these vectors make the better SCDV, of some thousand short texts one as good
//! (docs/RESULTS.md, SCDV), and they take seconds where skip-gram takes up to minutes. Not scaled by S, so that the few strongest directions
//! do not stand for all.
//!
//! Cost: that of `lsi(dim)`.
//!
//! Reference: Deerwester and others, Indexing by latent semantic analysis, 1990.

use rayon::prelude::*;

use super::slab::Frequent;
use crate::matrix::svd::truncated_svd;
use crate::matrix::{Csr, Dense, Matrix};
use crate::text::Tokens;
use crate::{Result, Run};

/// A vector for each frequent word; shorter than `dim` where there are fewer documents or words.
pub(super) fn decompose(tokens: &Tokens, frequent: &Frequent, dim: usize, run: &Run) -> Result<Dense> {
    let x = run.install(|| tf_idf(tokens, frequent, run))?;
    Ok(truncated_svd(&Matrix::from(x), dim, 0, run)?.vectors)
}

fn tf_idf(tokens: &Tokens, frequent: &Frequent, run: &Run) -> Result<Csr> {
    let documents = tokens.n_documents();
    let count = |document: usize| {
        run.check()?;
        let mut words: Vec<u32> = frequent.known(tokens.document(document)).collect();
        words.sort_unstable();
        Ok(words.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as f32)).collect())
    };
    let mut rows: Vec<Vec<(u32, f32)>> =
        (0..documents).into_par_iter().with_min_len(64).map(count).collect::<Result<_>>()?;
    let mut frequencies = vec![0u32; frequent.words.len()];
    rows.iter().flatten().for_each(|&(word, _)| frequencies[word as usize] += 1);
    let idf = |frequency: &u32| ((documents as f64 + 1.0) / (f64::from(*frequency) + 1.0)).ln() + 1.0;
    let idf: Vec<f64> = frequencies.iter().map(idf).collect();
    rows.par_iter_mut().with_min_len(64).for_each(|row| {
        let weight = |&(word, count): &(u32, f32)| (f64::from(count).ln() + 1.0) * idf[word as usize];
        let length = row.iter().map(|entry| weight(entry).powi(2)).sum::<f64>().sqrt();
        row.iter_mut().for_each(|entry| entry.1 = (weight(entry) / length) as f32);
    });
    Ok(Csr::from_rows(frequent.words.len(), rows))
}
