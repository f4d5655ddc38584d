//! Whether documents still look like those a model was trained on.
//!
//! Two signs are judged. Novelty: each document's p-value of being like the training documents is about uniform while nothing changes, so at
//! most one in twenty has [`STRANGE`] or less; clearly more than that is drift (Wilson's interval, [`Proportion`]). Unknown words
//! ([`Vocabulary`], [`Unknown`]): clearly more than held-out training documents would have are drift too; a classifier may be sure of a
//! foreign document by the few words it knows. Class shares are counted, not judged: they may change for good reasons.
//!
//! "Clearly" is so many standard errors: [`USUAL`] for one look at a file, more for somebody who looks again and again.
//!
//! ```
//! use corpuscle::recipe::drift::{Tally, USUAL, Verdict};
//! let mut tally = Tally::default();
//! for _ in 0..30 {
//!     tally.take(None, Some(0.01), None); // a document that is stranger than 99 in 100 training documents
//! }
//! assert_eq!(Verdict::of(&tally, None, None, USUAL).drifted(), Some(true));
//! ```

mod words;

use serde_json::{Value, json};

pub use self::words::{ShareOfWords, Unknown, Vocabulary};
use crate::metrics::Proportion;

/// The p-value at and below which a document counts as strange, and the share of such documents while nothing changes.
pub const STRANGE: f64 = 0.05;
/// Classes of p-values, and of shares of unknown words, in histograms.
pub const STEPS: usize = 20;
/// Standard errors of a 95 % interval.
pub const USUAL: f64 = Proportion::USUAL;

/// What was counted of some documents; no text is kept.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    documents: usize,
    compared: usize,
    strange: usize,
    novelty: [usize; STEPS],
    classes: Vec<usize>,
    unknown: ShareOfWords,
    unknown_steps: [usize; STEPS],
}

impl Tally {
    /// Counts a document: the classes given to it, its p-value where the model can tell, and how many words of how many are unknown
    /// where they were looked at.
    pub fn take(
        &mut self,
        classes: impl IntoIterator<Item = u32>,
        novelty: Option<f64>,
        unknown: Option<(usize, usize)>,
    ) {
        self.documents += 1;
        for class in classes {
            let class = class as usize;
            if self.classes.len() <= class {
                self.classes.resize(class + 1, 0);
            }
            self.classes[class] += 1;
        }
        if let Some(p) = novelty {
            self.compared += 1;
            self.strange += usize::from(p <= STRANGE);
            self.novelty[((p * STEPS as f64).ceil() as usize).clamp(1, STEPS) - 1] += 1;
        }
        if let Some((unknown, all)) = unknown {
            self.unknown.add(unknown, all);
            if let Some(step) = (unknown * STEPS).checked_div(all) {
                self.unknown_steps[step.min(STEPS - 1)] += 1;
            }
        }
    }

    /// How many documents.
    pub fn documents(&self) -> usize {
        self.documents
    }

    /// How many have a p-value in each twentieth; none where there are no p-values.
    pub fn novelty(&self) -> Option<&[usize; STEPS]> {
        (self.compared > 0).then_some(&self.novelty)
    }

    /// Documents by their share of unknown words, in twentieths.
    pub fn unknown_steps(&self) -> &[usize; STEPS] {
        &self.unknown_steps
    }

    /// The share of documents that a class was given to.
    pub fn share(&self, class: usize) -> f64 {
        self.classes.get(class).copied().unwrap_or(0) as f64 / self.documents.max(1) as f64
    }
}

/// What is to be said of some documents.
#[derive(Debug, Clone, Copy)]
pub struct Verdict {
    /// The share of strange documents; none where the model cannot tell.
    pub strange: Option<Proportion>,
    /// None where nothing tells which words are known.
    pub unknown: Option<Unknown>,
}

impl Verdict {
    /// Judges documents. `known` are the words of the model, `counted` the share of words unknown in documents from before, where there are some
    /// ([`Vocabulary::counted`]), `errors` how many standard errors are clear.
    pub fn of(tally: &Tally, known: Option<&Vocabulary>, counted: Option<f64>, errors: f64) -> Self {
        Verdict {
            strange: tally.novelty().map(|_| Proportion::within(tally.strange, tally.compared, errors)),
            unknown: known.map(|known| Unknown::of(&tally.unknown, known.expected(counted), errors)),
        }
    }

    /// Whether more documents are strange than one in twenty: the whole interval is above.
    pub fn are_strange(&self) -> Option<bool> {
        self.strange.map(|share| share.low > STRANGE)
    }

    /// Whether clearly more words are unknown than expected; none where what to expect is not known.
    pub fn has_unknown(&self) -> Option<bool> {
        self.unknown.and_then(|unknown| unknown.are_many())
    }

    /// Whether documents are unlike those trained on; none where nothing tells.
    pub fn drifted(&self) -> Option<bool> {
        let signs = [self.are_strange(), self.has_unknown()];
        signs.iter().any(Option::is_some).then(|| signs.contains(&Some(true)))
    }

    /// The same in a sentence.
    pub fn sentence(&self) -> &'static str {
        let (strange, unknown) = (self.are_strange() == Some(true), self.has_unknown() == Some(true));
        match (self.drifted(), strange, unknown) {
            (None, ..) => {
                "nothing tells: this model has no out-of-fold scores and names no words; give documents from \
                 before to compare words with"
            }
            (_, true, true) => "these documents are unlike those trained on: many are strange, many words are unknown",
            (_, true, false) => "these documents are unlike those trained on: many are strange",
            (_, false, true) => "these documents are unlike those trained on: many words are unknown",
            (_, false, false) => "no sign that these documents differ from those trained on",
        }
    }

    /// `novelty` and `unknown_words` as JSON, with the histograms of what was counted.
    pub fn json(&self, tally: &Tally) -> (Value, Value) {
        let novelty = self.strange.map(|share| {
            json!({
                "share": share.value(), "low": share.low, "high": share.high, "expected": STRANGE,
                "histogram": tally.novelty(),
            })
        });
        let unknown = self.unknown.map(|unknown| {
            json!({
                "share": unknown.share, "low": unknown.low, "high": unknown.high, "expected": unknown.expected,
                "many": unknown.are_many(), "histogram": tally.unknown_steps,
            })
        });
        (novelty.unwrap_or_default(), unknown.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_usual_is_no_drift_and_more_certainty_asks_for_more() {
        let mut tally = Tally::default();
        for document in 0..1000 {
            tally.take([document % 3], Some(f64::from(document % 20 + 1) / 20.0), Some((1, 10)));
        }
        let usual = Verdict::of(&tally, None, None, USUAL);
        assert_eq!((usual.drifted(), usual.strange.unwrap().value()), (Some(false), 0.05));
        assert!(tally.novelty().unwrap().iter().all(|&count| count == 50));
        assert_eq!((tally.documents(), tally.unknown_steps()[2]), (1000, 1000));
        assert!((tally.share(0) - 0.334).abs() < 1e-12 && tally.share(7) == 0.0);
        // 72 of 1022 are strange: clear at two standard errors, not at four.
        for _ in 0..22 {
            tally.take([], Some(0.001), None);
        }
        assert_eq!(Verdict::of(&tally, None, None, USUAL).drifted(), Some(true));
        assert_eq!(Verdict::of(&tally, None, None, 4.0).drifted(), Some(false));
    }

    #[test]
    fn without_a_sign_nothing_is_said() {
        let mut tally = Tally::default();
        tally.take([0], None, Some((9, 10)));
        let blind = Verdict::of(&tally, None, None, USUAL);
        assert_eq!(blind.drifted(), None);
        assert!(blind.sentence().starts_with("nothing tells"));
        assert_eq!(blind.json(&tally), (Value::Null, Value::Null));
    }
}
