//! How good a ranked list of documents is, by the definitions of trec_eval.
//!
//! With the relevant documents of a query R, and rel(i) the relevance at rank i:
//!
//! - average precision: (1/|R|) Σ over ranks i of relevant documents of (relevant among the first i)/i;
//! - precision at k: relevant among the first k, by k, however few there are;
//! - recall at k: relevant among the first k, by |R|;
//! - nDCG at k: Σ_{i ≤ k} rel(i)/log₂(i + 1), by the same of the best possible order;
//! - reciprocal rank: one by the rank of the first relevant document.
//!
//! As in trec_eval a list is put in order by its scores, and of equal ones the id that is later in byte order comes first, whatever
//! rank the list itself gives them. Queries without a relevant document have no figures; one that found nothing has zeros.
//!
//! ```
//! use corpuscle::metrics::RetrievalFigures;
//! let relevant = [("a".to_string(), 1), ("c".to_string(), 1)].into();
//! let found = [("a".to_string(), 3.0), ("b".to_string(), 2.0), ("c".to_string(), 1.0)];
//! let figures = RetrievalFigures::of(&found, &relevant).unwrap();
//! assert_eq!(figures.average_precision, (1.0 + 2.0 / 3.0) / 2.0);
//! ```

use std::collections::BTreeMap;

use serde::Serialize;

/// Ranks at which precision, recall and nDCG are taken.
pub const RETRIEVAL_RANKS: [usize; 6] = [1, 5, 10, 20, 100, 1000];

/// The figures of one query, or means of several.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct RetrievalFigures {
    /// Average precision; its mean over queries is MAP.
    pub average_precision: f64,
    /// One by the rank of the first relevant document.
    pub reciprocal_rank: f64,
    /// Precision at each of [`RETRIEVAL_RANKS`].
    pub precision_at: BTreeMap<usize, f64>,
    /// Recall at each of [`RETRIEVAL_RANKS`].
    pub recall_at: BTreeMap<usize, f64>,
    /// nDCG at each of [`RETRIEVAL_RANKS`].
    pub ndcg_at: BTreeMap<usize, f64>,
}

impl RetrievalFigures {
    /// The figures of one query: documents found with their scores, and the relevance of those judged (above 0: relevant).
    /// `None` when nothing is relevant.
    pub fn of(found: &[(String, f64)], judged: &BTreeMap<String, i32>) -> Option<Self> {
        let relevant = judged.values().filter(|&&relevance| relevance > 0).count();
        if relevant == 0 {
            return None;
        }
        let mut order: Vec<&(String, f64)> = found.iter().collect();
        order.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| b.0.cmp(&a.0)));
        let gains: Vec<f64> =
            order.iter().map(|(id, _)| f64::from(judged.get(id).copied().unwrap_or(0).max(0))).collect();
        let mut best: Vec<f64> = judged.values().map(|&relevance| f64::from(relevance.max(0))).collect();
        best.sort_by(|a, b| b.total_cmp(a));
        let (mut hits, mut sum, mut first) = (0usize, 0.0, 0.0);
        let mut hits_at = Vec::with_capacity(gains.len());
        for (rank, &gain) in (1usize..).zip(&gains) {
            if gain > 0.0 {
                hits += 1;
                sum += hits as f64 / rank as f64;
                if hits == 1 {
                    first = 1.0 / rank as f64;
                }
            }
            hits_at.push(hits);
        }
        let hits_within = |k: usize| hits_at.get(k.min(hits_at.len()).wrapping_sub(1)).copied().unwrap_or(0) as f64;
        let discounted = |gains: &[f64], k: usize| -> f64 {
            (2u32..).zip(gains.iter().take(k)).map(|(place, gain)| gain / f64::from(place).log2()).sum()
        };
        let at = |figure: &dyn Fn(usize) -> f64| RETRIEVAL_RANKS.iter().map(|&k| (k, figure(k))).collect();
        Some(RetrievalFigures {
            average_precision: sum / relevant as f64,
            reciprocal_rank: first,
            precision_at: at(&|k| hits_within(k) / k as f64),
            recall_at: at(&|k| hits_within(k) / relevant as f64),
            ndcg_at: at(&|k| discounted(&gains, k) / discounted(&best, k)),
        })
    }

    /// Means over queries; zeros of none.
    pub fn mean<'a>(queries: impl Iterator<Item = &'a RetrievalFigures>) -> Self {
        let mut sum = RetrievalFigures::default();
        let mut count = 0.0;
        for query in queries {
            count += 1.0;
            sum.average_precision += query.average_precision;
            sum.reciprocal_rank += query.reciprocal_rank;
            let add = |sum: &mut BTreeMap<usize, f64>, of: &BTreeMap<usize, f64>| {
                of.iter().for_each(|(&k, value)| *sum.entry(k).or_default() += value);
            };
            add(&mut sum.precision_at, &query.precision_at);
            add(&mut sum.recall_at, &query.recall_at);
            add(&mut sum.ndcg_at, &query.ndcg_at);
        }
        if count > 0.0 {
            sum.average_precision /= count;
            sum.reciprocal_rank /= count;
            let lists = [&mut sum.precision_at, &mut sum.recall_at, &mut sum.ndcg_at];
            lists.into_iter().flat_map(|list| list.values_mut()).for_each(|value| *value /= count);
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(ids: &[&str]) -> Vec<(String, f64)> {
        ids.iter().enumerate().map(|(rank, id)| (id.to_string(), -(rank as f64))).collect()
    }

    fn judged(pairs: &[(&str, i32)]) -> BTreeMap<String, i32> {
        pairs.iter().map(|(id, relevance)| (id.to_string(), *relevance)).collect()
    }

    #[test]
    fn an_empty_list_has_zeros_and_no_relevant_document_has_no_figures() {
        let none = RetrievalFigures::of(&[], &judged(&[("a", 1)])).unwrap();
        assert_eq!((none.average_precision, none.reciprocal_rank, none.ndcg_at[&10]), (0.0, 0.0, 0.0));
        assert_eq!(RetrievalFigures::of(&list(&["a"]), &judged(&[("a", 0), ("b", -1)])), None);
    }

    #[test]
    fn graded_relevance_counts_in_ndcg_only() {
        let figures = RetrievalFigures::of(&list(&["x", "b", "a"]), &judged(&[("a", 3), ("b", 1), ("c", 2)])).unwrap();
        let ideal = 3.0 + 2.0 / 3f64.log2() + 0.5;
        assert!((figures.ndcg_at[&5] - (1.0 / 3f64.log2() + 3.0 / 2.0) / ideal).abs() < 1e-12);
        assert!((figures.average_precision - (0.5 + 2.0 / 3.0) / 3.0).abs() < 1e-12);
        assert_eq!((figures.reciprocal_rank, figures.precision_at[&5]), (0.5, 0.4));
        assert_eq!(figures.recall_at[&1000], 2.0 / 3.0);
    }

    #[test]
    fn equal_scores_go_by_id_from_the_last() {
        let found = [("a".to_string(), 1.0), ("b".to_string(), 1.0)];
        assert_eq!(RetrievalFigures::of(&found, &judged(&[("b", 1)])).unwrap().reciprocal_rank, 1.0);
        assert_eq!(RetrievalFigures::of(&found, &judged(&[("a", 1)])).unwrap().reciprocal_rank, 0.5);
    }
}
