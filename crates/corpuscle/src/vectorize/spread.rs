//! How the values of documents are spread, and what making small ones zero leaves of them.
//!
//! A sparse composite document has most of its values near zero; this counts them, so that a report can show the histogram, the
//! share of zeros and the space that documents take before and after. O(values) of time; what is held is a histogram for each
//! document.

use serde::Serialize;

/// The values of documents before and after small ones are made zero.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spread {
    /// How many documents there are.
    pub documents: usize,
    /// How many columns they have.
    pub columns: usize,
    /// The largest size of a value.
    pub limit: f32,
    /// How many values before the cut are in each of the bins of equal width from −`limit` to `limit`; zeros, those of clusters
    /// without a word too, are in the bin in the middle (of two, the upper one).
    pub histogram: Vec<u64>,
    /// How many values are not zero before the cut.
    pub before: u64,
    /// How many values are left by the cut.
    pub after: u64,
}

impl Spread {
    /// The share of values that are zero before and after the cut.
    pub fn zeros(&self) -> [f64; 2] {
        let all = self.values().max(1) as f64;
        [self.before, self.after].map(|kept| 1.0 - kept as f64 / all)
    }

    /// Bytes of the documents as a dense matrix of 32-bit numbers.
    pub fn dense_bytes(&self) -> u64 {
        4 * self.values()
    }

    /// Bytes of the documents as a sparse matrix, before and after the cut: a column and a value for each entry, and where
    /// each document begins.
    pub fn sparse_bytes(&self) -> [u64; 2] {
        [self.before, self.after].map(|kept| 8 * kept + 8 * (self.documents as u64 + 1))
    }

    fn values(&self) -> u64 {
        self.documents as u64 * self.columns as u64
    }
}

/// Counts on their way to a [`Spread`].
pub(super) struct Counts {
    limit: f32,
    histogram: Vec<u64>,
    before: u64,
    after: u64,
}

impl Counts {
    pub(super) fn new(bins: usize, limit: f32) -> Self {
        Counts { limit, histogram: vec![0; bins.max(1)], before: 0, after: 0 }
    }

    /// Counts a value; one that is smaller than `cut` becomes zero. Zeros are counted at the end, being what is missing.
    pub(super) fn add(&mut self, value: f32, cut: f32) {
        if value == 0.0 {
            return;
        }
        self.before += 1;
        self.after += u64::from(value.abs() >= cut);
        let bin = self.bin(value);
        self.histogram[bin] += 1;
    }

    fn bin(&self, value: f32) -> usize {
        let bins = self.histogram.len();
        let place = if self.limit > 0.0 { 0.5 + 0.5 * f64::from(value) / f64::from(self.limit) } else { 0.5 };
        ((place * bins as f64) as usize).min(bins - 1)
    }

    pub(super) fn merge(&mut self, other: &Counts) {
        self.histogram.iter_mut().zip(&other.histogram).for_each(|(to, from)| *to += from);
        self.before += other.before;
        self.after += other.after;
    }

    pub(super) fn spread(mut self, documents: usize, columns: usize) -> Spread {
        let (middle, all) = (self.bin(0.0), documents as u64 * columns as u64);
        self.histogram[middle] += all.saturating_sub(self.before);
        let Counts { limit, histogram, before, after } = self;
        Spread { documents, columns, limit, histogram, before, after }
    }
}
