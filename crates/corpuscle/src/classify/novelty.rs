//! Whether a document is like those a model learnt from: a conformal p-value of how strange its scores are.
//!
//! The strangeness of a document is −(s₁ − mean(s₂ … s₁₁)): how little its best score stands out from those of the ten classes
//! behind it ([`strangeness`]). Its p-value is (1 + number of out-of-fold training documents at least as strange) / (n + 1)
//! (Vovk, Gammerman and Shafer, 2005, "Algorithmic learning in a random world"): about uniform on documents that come as the training
//! documents came, so that p ≤ 0.05 raises a false alarm on about one of twenty, and small on foreign ones. Out-of-fold documents
//! are scored by models that learnt from fewer documents and look a little stranger than new ones do, so alarms are
//! rather too few; unless the representation has learnt from them (`lsi` and others that need no labels), which makes them look
//! less strange, and alarms too many where documents are few. O(n log n) once, O(classes + log n) a document.
//!
//! The measure was chosen among some 45 on training rows of `banking77` with ten intents left out: share of foreign documents
//! found at 5 % false alarms. Linear SVM, six draws: 37 %, best score alone 37 %, energy 37 % (± 5: none of them is better).
//! Eight other draws: best score 33 %, nearest training document 22 %, nearest class mean 21 %, share of unknown words 15 %, sums of
//! ranks 33 % at most. Logistic regression, three draws: 36 %, against 31 % of the best score. On 20 Newsgroups with four groups
//! left out 54 % against 56 % of the energy; 62 % with the nearest training documents, which a model would have to keep.
//!
//! We keep at most [`KEPT`] strangenesses, at equal steps of rank; between two of them the larger p-value is given.
//!
//! ```
//! use corpuscle::classify::{Novelty, strangeness};
//! let known = Novelty::of((0..99).map(|n| -(n as f32)))?;   // 99 documents, the strangest at 0
//! assert_eq!((known.p_value(1.0), known.p_value(0.0), known.p_value(-98.0)), (0.01, 0.02, 1.0));
//! assert!(strangeness(&[0.1, 0.0, 0.0]) > strangeness(&[1.0, -1.0, -1.0]));
//! # Ok::<(), corpuscle::Error>(())
//! ```

use crate::store::{StoreReader, StoreWriter};
use crate::{Error, Result};

/// The most strangenesses that are kept.
pub const KEPT: usize = 1000;

/// How many classes the best one is compared with.
const RUNNERS_UP: usize = 10;

/// How strange training documents are when held out.
#[derive(Debug, Clone, PartialEq)]
pub struct Novelty {
    /// Strangenesses at equal steps of rank, ascending; the last is the largest.
    kept: Vec<f32>,
    /// How many documents there were.
    documents: u64,
}

/// How little the best of a document's scores stands out from the ten behind it; what is no number counts as most strange.
pub fn strangeness(scores: &[f32]) -> f32 {
    let mut sorted: Vec<f64> = scores.iter().map(|&score| f64::from(score)).collect();
    let count = RUNNERS_UP.min(sorted.len().saturating_sub(1));
    if sorted.len() > count + 1 {
        sorted.select_nth_unstable_by(count, |a, b| b.total_cmp(a));
        sorted.truncate(count + 1);
    }
    // In order, so that the sum has the same bits whatever the selection did.
    sorted.sort_by(|a, b| b.total_cmp(a));
    let behind = sorted.iter().skip(1).sum::<f64>() / count.max(1) as f64;
    finite((behind - sorted.first().copied().unwrap_or(f64::NAN)) as f32)
}

fn finite(value: f32) -> f32 {
    if value.is_nan() { f32::MAX } else { value.clamp(f32::MIN, f32::MAX) }
}

impl Novelty {
    /// From the strangenesses of out-of-fold documents.
    pub fn of(strangenesses: impl IntoIterator<Item = f32>) -> Result<Self> {
        let mut all: Vec<f32> = strangenesses.into_iter().map(finite).collect();
        if all.is_empty() {
            return Err(Error::data("there are no documents to compare new ones with"));
        }
        all.sort_by(f32::total_cmp);
        let (n, kept) = (all.len(), all.len().min(KEPT));
        Ok(Novelty { kept: (0..kept).map(|step| all[rank(step, n, kept)]).collect(), documents: n as u64 })
    }

    /// How many documents it was made of.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// The p-value of a document so strange.
    pub fn p_value(&self, strangeness: f32) -> f64 {
        let strangeness = finite(strangeness);
        let (n, kept) = (self.documents as usize, self.kept.len());
        let below = self.kept.partition_point(|&known| known < strangeness);
        // Those up to the last kept one below are certainly less strange; of those between two kept ones it is not known.
        let less = if below == 0 { 0 } else { rank(below - 1, n, kept) + 1 };
        (n - less + 1) as f64 / (n + 1) as f64
    }

    /// Puts the strangenesses into a store.
    pub fn save(&self, out: &mut StoreWriter) {
        out.put_f32("strangeness", &[self.kept.len()], &self.kept);
        out.put_u64("documents", &[self.documents]);
    }

    /// Takes the strangenesses out of a store.
    pub fn load(store: &StoreReader<'_>) -> Result<Self> {
        let (kept, _) = store.f32s("strangeness", &[None])?;
        let documents = store.u64s("documents", Some(1))?[0];
        // Ranks are products of two of these.
        let fits = kept.len() as u64 == documents.min(KEPT as u64) && (1..1 << 48).contains(&documents);
        if !fits || !kept.is_sorted() {
            return Err(Error::model("the strangenesses of out-of-fold documents are damaged"));
        }
        Ok(Novelty { kept, documents })
    }
}

/// Where the value of a step stands among all, counted from 0.
fn rank(step: usize, n: usize, kept: usize) -> usize {
    ((step + 1) * n).div_ceil(kept) - 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::store::tests::round_trip;

    #[test]
    fn the_best_score_counts_against_the_ten_behind_it() {
        assert_eq!(strangeness(&[1.0, 3.0, 2.0]), -1.5);
        let many: Vec<f32> = (0..40).map(|n| n as f32).collect();
        assert_eq!(strangeness(&many), -(39.0 - 33.5));
        assert_eq!((strangeness(&[2.0]), strangeness(&[])), (-2.0, f32::MAX));
        assert_eq!(strangeness(&[f32::NAN, 1.0]), f32::MAX);
        assert!(strangeness(&[f32::INFINITY, 0.0]) == f32::MIN && strangeness(&[f32::NEG_INFINITY; 3]) == f32::MAX);
    }

    proptest! {
        #[test]
        fn p_values_are_those_of_all_documents_or_a_step_larger(
            known in prop::collection::vec(prop_oneof![-5f32..5.0, Just(0.0f32)], 1..3000), new in -6f32..6.0
        ) {
            let novelty = Novelty::of(known.clone()).unwrap();
            let exact = (known.iter().filter(|&&v| v >= new).count() + 1) as f64 / (known.len() + 1) as f64;
            let found = novelty.p_value(new);
            prop_assert!(found >= exact && found <= exact + 1.0 / KEPT as f64, "{found} {exact}");
            prop_assert!(known.len() > KEPT || found == exact);
            prop_assert!(novelty.p_value(new + 1.0) <= found && found > 0.0 && found <= 1.0);
            prop_assert_eq!(&round_trip(|out| novelty.save(out), Novelty::load).unwrap(), &novelty);
        }

        #[test]
        fn a_document_like_the_others_raises_few_false_alarms(known in prop::collection::hash_set(-1000i32..1000, 20..200)) {
            // Leave each out in turn: by exchangeability at most a share α of them has p ≤ α.
            let known: Vec<f32> = known.into_iter().map(|v| v as f32).collect();
            let p = |at: usize| {
                let others = known.iter().enumerate().filter(|(n, _)| *n != at).map(|(_, &v)| v);
                Novelty::of(others).unwrap().p_value(known[at])
            };
            let alarms = (0..known.len()).filter(|&at| p(at) <= 0.1).count();
            prop_assert!(alarms as f64 <= 0.1 * known.len() as f64);
        }
    }

    #[test]
    fn damaged_values_are_refused() {
        let bad = |kept: &[f32], documents: u64| {
            let save = |out: &mut StoreWriter| {
                out.put_f32("strangeness", &[kept.len()], kept);
                out.put_u64("documents", &[documents]);
            };
            round_trip(save, Novelty::load).is_err()
        };
        assert!(!bad(&[-1.0, 2.0], 2));
        assert!(bad(&[], 0) && bad(&[2.0, -1.0], 2) && bad(&[1.0], 2) && bad(&[1.0], u64::MAX));
        assert!(Novelty::of([]).is_err());
    }
}
