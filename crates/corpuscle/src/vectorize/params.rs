//! Parameters of the counting vectorizers.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::params::{Checks, Form, Kind, Param, Params, Value};
use crate::{Result, param};

/// The most words between the two of a pair.
pub(super) const FARTHEST: usize = 16;

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

    fn check(self, checks: Checks, name: &'static str) -> Checks {
        match self {
            Bound::Count(count) => checks.that(count > 0, name, &0, "must be at least 1 document, or a share as 0.0"),
            Bound::Share(share) => {
                let reason = "must be a share from 0.0 to 1.0, or a whole number";
                checks.that((0.0..=1.0).contains(&share), name, &self, reason)
            }
        }
    }
}

/// A whole number is a count of documents; a number with a point is a share of them, as in scikit-learn.
impl Value for Bound {
    fn read(text: &str) -> Option<Self> {
        match text.parse() {
            Ok(count) => Some(Bound::Count(count)),
            Err(_) => text.parse::<f64>().ok().filter(|share| share.is_finite()).map(Bound::Share),
        }
    }

    fn show(&self) -> String {
        self.to_string()
    }

    fn form() -> Form {
        Form::of(Kind::Real)
    }
}

/// The word for no limit.
const ALL: &str = "all";

impl Value for Option<usize> {
    fn read(text: &str) -> Option<Self> {
        if text == ALL { Some(None) } else { text.parse().ok().map(Some) }
    }

    fn show(&self) -> String {
        self.map_or(ALL.to_string(), |count| count.to_string())
    }

    fn form() -> Form {
        Form::of(Kind::Whole).or(ALL)
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
    /// Pairs of words with up to so many others between them are terms too: `not … good`, in this order, next to each other or not.
    /// 0 counts none.
    pub skip: usize,
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
            skip: 0,
            binary: false,
        }
    }
}

impl Params for CountsParams {
    const NAME: &'static str = "counts";
    const ABOUT: &'static str = "how often each term occurs";

    fn table() -> Vec<Param<Self>> {
        vec![
            param!("ngrams", ngrams, "longest run of words counted as a term"),
            param!("ngrams_min", ngrams_min, "shortest run of words counted as a term"),
            param!("min_df", min_df, "fewest documents of a term: a count or, with a point, a share such as 0.01"),
            param!("max_df", max_df, "most documents of a term: a count or, with a point, a share"),
            param!("max_features", max_features, "keeps this many most frequent terms"),
            param!("skip", skip, "counts pairs of words too, with up to this many words between them: not … good"),
        ]
    }

    fn check(&self) -> Result<()> {
        self.checks(Self::NAME).done()
    }
}

impl CountsParams {
    pub(super) fn checks(&self, stage: &'static str) -> Checks {
        let longest = (1..=LONGEST).contains(&self.ngrams);
        let shortest = (1..=self.ngrams).contains(&self.ngrams_min);
        let checks = Checks::of(stage)
            .that(longest, "ngrams", &self.ngrams, format!("must be from 1 to {LONGEST}"))
            .that(shortest, "ngrams_min", &self.ngrams_min, format!("must be from 1 to ngrams = {}", self.ngrams))
            .that(self.max_features != Some(0), "max_features", &0, "must be at least 1")
            .that(self.skip <= FARTHEST, "skip", &self.skip, format!("must be from 0 to {FARTHEST}"));
        self.max_df.check(self.min_df.check(checks, "min_df"), "max_df")
    }
}

/// Whether each term occurs: counts of which every one is 1.
#[derive(Debug, Clone, PartialEq)]
pub struct BinaryParams(
    /// Which terms.
    pub CountsParams,
);

impl Default for BinaryParams {
    fn default() -> Self {
        BinaryParams(CountsParams { binary: true, ..CountsParams::default() })
    }
}

impl Params for BinaryParams {
    const NAME: &'static str = "binary";
    const ABOUT: &'static str = "whether each term occurs";

    fn table() -> Vec<Param<Self>> {
        let counts = CountsParams::table().into_iter();
        counts.map(|param| param.inside(|binary: &Self| &binary.0, |binary| &mut binary.0)).collect()
    }

    fn check(&self) -> Result<()> {
        self.0.checks(Self::NAME).done()
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

crate::words!(Norm { L2 = "l2", L1 = "l1", None = "none" });

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

impl Params for TfidfParams {
    const NAME: &'static str = "tfidf";
    const ABOUT: &'static str = "term counts weighed by how rare the term is";

    fn table() -> Vec<Param<Self>> {
        let mut table = vec![param!("sublinear", sublinear, "true: 1 + log(count) instead of the count")];
        let counts = CountsParams::table().into_iter();
        table.extend(counts.map(|param| param.inside(|tfidf: &Self| &tfidf.counts, |tfidf| &mut tfidf.counts)));
        table.extend([
            param!("binary", counts.binary, "true: 1 instead of the count"),
            param!("idf", use_idf, "false: no weighing by rarity"),
            param!("smooth_idf", smooth_idf, "false: document frequencies as they are, not plus one"),
            param!("norm", norm, "what each document is divided by: its length, its sum, or nothing"),
        ]);
        table
    }

    fn check(&self) -> Result<()> {
        self.counts.checks(Self::NAME).done()
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
            (CountsParams { skip: 99, ..good() }, "skip = 99"),
        ] {
            let error = TfidfParams { counts: params, ..TfidfParams::default() }.check().unwrap_err().to_string();
            assert!(error.starts_with("tfidf: ") && error.contains(name), "{error}");
        }
        assert!(good().check().is_ok());
    }
}
