//! Parameters of the counting vectorizers.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// The longest n-gram.
pub(super) const LONGEST: usize = 8;

/// A number of documents, or a share of all documents. In JSON an integer is a number and a float is a share.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Bound {
    /// That many documents.
    Count(u64),
    /// That share of all documents, from 0 to 1.
    Share(f64),
}

impl Bound {
    /// The bound in documents out of `documents`; a share need not come out whole.
    pub fn of(self, documents: usize) -> f64 {
        match self {
            Bound::Count(count) => count as f64,
            Bound::Share(share) => share * documents as f64,
        }
    }

    fn check(self, stage: &'static str, name: &'static str) -> Result<()> {
        match self {
            Bound::Count(0) => Err(Error::parameter(stage, name, 0, "must be at least 1 document, or a share as 0.0")),
            Bound::Share(share) if !(0.0..=1.0).contains(&share) => {
                Err(Error::parameter(stage, name, self, "must be a share from 0.0 to 1.0, or a whole number"))
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::Count(count) => write!(f, "{count}"),
            // With its point, so that the share 1.0 is not taken for the number 1.
            Bound::Share(share) => write!(f, "{share:?}"),
        }
    }
}

/// Which terms are counted, and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CountsParams {
    /// The shortest n-grams counted.
    pub ngrams_min: usize,
    /// The longest n-grams counted.
    pub ngrams: usize,
    /// Terms in fewer documents are left out.
    pub min_df: Bound,
    /// Terms in more documents are left out.
    pub max_df: Bound,
    /// Keep only that many terms: those with the highest count over all documents (with `binary`, those in most
    /// documents), the first in byte order among equals.
    pub max_features: Option<usize>,
    /// Whether a term counts once in a document, however often it is there.
    pub binary: bool,
}

impl Default for CountsParams {
    fn default() -> Self {
        CountsParams {
            ngrams_min: 1,
            ngrams: 1,
            min_df: Bound::Count(1),
            max_df: Bound::Share(1.0),
            max_features: None,
            binary: false,
        }
    }
}

impl CountsParams {
    /// Checks every value; the error names the one out of range.
    pub fn check(&self) -> Result<()> {
        self.check_as("counts")
    }

    pub(super) fn check_as(&self, stage: &'static str) -> Result<()> {
        if !(1..=LONGEST).contains(&self.ngrams) {
            return Err(Error::parameter(stage, "ngrams", self.ngrams, format!("must be from 1 to {LONGEST}")));
        }
        if !(1..=self.ngrams).contains(&self.ngrams_min) {
            let reason = format!("must be from 1 to ngrams = {}", self.ngrams);
            return Err(Error::parameter(stage, "ngrams_min", self.ngrams_min, reason));
        }
        self.min_df.check(stage, "min_df")?;
        self.max_df.check(stage, "max_df")?;
        if self.max_features == Some(0) {
            return Err(Error::parameter(stage, "max_features", 0, "must be at least 1"));
        }
        Ok(())
    }
}

/// What each row of a tf-idf matrix is divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Norm {
    /// Its length.
    #[default]
    L2,
    /// The sum of its absolute values.
    L1,
    /// Nothing.
    None,
}

/// How counts become tf-idf weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TfidfParams {
    /// Which terms are counted.
    pub counts: CountsParams,
    /// Whether counts are multiplied by the inverse document frequency.
    pub use_idf: bool,
    /// Whether the inverse document frequency is taken as if one more document had every term.
    pub smooth_idf: bool,
    /// Whether a count c is taken as 1 + ln c.
    pub sublinear: bool,
    /// What rows are divided by.
    pub norm: Norm,
}

impl Default for TfidfParams {
    fn default() -> Self {
        TfidfParams {
            counts: CountsParams::default(),
            use_idf: true,
            smooth_idf: true,
            sublinear: false,
            norm: Norm::L2,
        }
    }
}

impl TfidfParams {
    /// Checks every value; the error names the one out of range.
    pub fn check(&self) -> Result<()> {
        self.counts.check_as("tfidf")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_keep_their_kind_in_json() {
        for (bound, json) in [(Bound::Count(1), "1"), (Bound::Share(1.0), "1.0"), (Bound::Share(0.25), "0.25")] {
            assert_eq!(serde_json::to_string(&bound).unwrap(), json);
            assert_eq!(serde_json::from_str::<Bound>(json).unwrap(), bound);
            assert_eq!(bound.to_string(), json);
        }
    }

    #[test]
    fn each_value_out_of_range_is_named() {
        let good = CountsParams::default;
        for (params, name) in [
            (CountsParams { ngrams: 0, ..good() }, "ngrams = 0"),
            (CountsParams { ngrams: 9, ..good() }, "ngrams = 9"),
            (CountsParams { ngrams_min: 2, ..good() }, "ngrams_min = 2"),
            (CountsParams { min_df: Bound::Count(0), ..good() }, "min_df = 0"),
            (CountsParams { max_df: Bound::Share(1.5), ..good() }, "max_df = 1.5"),
            (CountsParams { max_df: Bound::Share(f64::NAN), ..good() }, "max_df = NaN"),
            (CountsParams { max_features: Some(0), ..good() }, "max_features = 0"),
        ] {
            let error = TfidfParams { counts: params, ..TfidfParams::default() }.check().unwrap_err().to_string();
            assert!(error.starts_with("tfidf: ") && error.contains(name), "{error}");
        }
        assert!(good().check().is_ok());
    }
}
