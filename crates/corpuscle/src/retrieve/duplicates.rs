//! Documents that are the same, or nearly.
//!
//! A document is the set of its runs of five words; two are near when |A ∩ B| / |A ∪ B| reaches a threshold t. All such pairs are
//! found, not most of them: with the runs of all documents in the order of how rare they are, two sets that reach t share one of the first
//! |A| − ⌈t|A|⌉ + 1 of each, so only documents that meet in these rare runs are compared. Documents joined by pairs form a group.
//! C. Xiao and others, "Efficient similarity joins for near duplicate detection" (2008). O(words + pairs that meet).
//!
//! ```
//! use corpuscle::retrieve::duplicates;
//! use corpuscle::{Run, text::WordsParams};
//! let texts = ["The cat sat on the mat today.", "the cat sat on the mat, today", "Something else altogether."];
//! let groups = duplicates(&WordsParams::default().tokenize(&texts, &Run::new(1, 1)?)?, 0.8, &Run::new(1, 1)?)?;
//! assert_eq!(groups[0].documents, [0, 1]);
//! # Ok::<(), corpuscle::Error>(())
//! ```

use std::hash::Hasher as _;

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHasher};
use serde::Serialize;

use crate::text::Tokens;
use crate::{Error, Result, Run};

/// Words in a run.
const RUN: usize = 5;

/// Documents that belong together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Group {
    /// Their rows, ascending.
    pub documents: Vec<usize>,
    /// The least similarity of a pair that joins them.
    pub similarity: f64,
}

/// Groups of documents whose similarity reaches `threshold`, the largest first, then by their first document. Documents without a
/// word are in no group.
pub fn duplicates(tokens: &Tokens, threshold: f64, run: &Run) -> Result<Vec<Group>> {
    if !(threshold > 0.0 && threshold <= 1.0) {
        return Err(Error::parameter("duplicates", "threshold", threshold, "must be above 0 and at most 1"));
    }
    let sets: Vec<Vec<u64>> =
        run.install(|| (0..tokens.n_documents()).into_par_iter().map(|row| runs_of(tokens.document(row))).collect());
    let mut counts: FxHashMap<u64, u32> = FxHashMap::default();
    sets.iter().flatten().for_each(|&run| *counts.entry(run).or_default() += 1);
    // The rarest first; equally rare ones by their hash.
    let sets: Vec<Vec<(u32, u64)>> = run.install(|| {
        let ordered = |set: Vec<u64>| {
            let mut set: Vec<(u32, u64)> =
                set.into_iter().map(|run| (counts.get(&run).copied().unwrap_or(0), run)).collect();
            set.sort_unstable();
            set
        };
        sets.into_par_iter().map(ordered).collect()
    });
    // Shorter documents first, so that only those that can be long enough are looked at.
    let mut order: Vec<usize> = (0..sets.len()).filter(|&row| !sets[row].is_empty()).collect();
    order.sort_by_key(|&row| (sets[row].len(), row));
    let mut meeting: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
    let mut joined = Joined::new(sets.len());
    let mut candidates: Vec<usize> = Vec::new();
    for (done, &row) in order.iter().enumerate() {
        if done % 1024 == 0 {
            run.check()?;
        }
        let set = &sets[row];
        let shortest = (threshold * set.len() as f64).ceil() as usize;
        let prefix = set.len() - shortest.min(set.len()) + 1;
        candidates.clear();
        for (_, run) in &set[..prefix.min(set.len())] {
            let met = meeting.entry(*run).or_default();
            candidates.extend(met.iter().filter(|&&other| sets[other].len() >= shortest));
            met.push(row);
        }
        candidates.sort_unstable();
        candidates.dedup();
        for &other in &candidates {
            let similarity = similarity(set, &sets[other]);
            if similarity >= threshold {
                joined.join(row, other, similarity);
            }
        }
    }
    Ok(joined.groups())
}

/// The distinct runs of words of a document as hashes; a short one is a single run.
fn runs_of(words: &[u32]) -> Vec<u64> {
    let hash = |words: &[u32]| {
        let mut hasher = FxHasher::default();
        words.iter().for_each(|&word| hasher.write_u32(word));
        // FxHash leaves its entropy in the high bits; a multiplication spreads it.
        (hasher.finish() ^ words.len() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    };
    let mut runs: Vec<u64> = match words.len() {
        0 => Vec::new(),
        1..RUN => vec![hash(words)],
        _ => words.windows(RUN).map(hash).collect(),
    };
    runs.sort_unstable();
    runs.dedup();
    runs
}

/// |A ∩ B| / |A ∪ B| of two ordered sets.
fn similarity(one: &[(u32, u64)], other: &[(u32, u64)]) -> f64 {
    let (mut i, mut j, mut both) = (0, 0, 0usize);
    while i < one.len() && j < other.len() {
        match one[i].cmp(&other[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => (i, j, both) = (i + 1, j + 1, both + 1),
        }
    }
    both as f64 / (one.len() + other.len() - both) as f64
}

/// Which documents are joined: a forest whose roots are groups.
struct Joined {
    parents: Vec<usize>,
    least: Vec<f64>,
}

impl Joined {
    fn new(count: usize) -> Self {
        Joined { parents: (0..count).collect(), least: vec![1.0; count] }
    }

    fn root(&mut self, mut row: usize) -> usize {
        while self.parents[row] != row {
            self.parents[row] = self.parents[self.parents[row]];
            row = self.parents[row];
        }
        row
    }

    fn join(&mut self, one: usize, other: usize, similarity: f64) {
        let (one, other) = (self.root(one), self.root(other));
        let (root, below) = (one.min(other), one.max(other));
        self.parents[below] = root;
        self.least[root] = self.least[root].min(self.least[below]).min(similarity);
    }

    fn groups(mut self) -> Vec<Group> {
        let mut groups: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
        for row in 0..self.parents.len() {
            let root = self.root(row);
            groups.entry(root).or_default().push(row);
        }
        let of = |(root, documents): (usize, Vec<usize>)| Group { documents, similarity: self.least[root] };
        let mut groups: Vec<Group> = groups.into_iter().filter(|(_, documents)| documents.len() > 1).map(of).collect();
        groups.sort_by(|a, b| b.documents.len().cmp(&a.documents.len()).then_with(|| a.documents.cmp(&b.documents)));
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::WordsParams;

    #[test]
    fn every_pair_of_a_full_comparison_is_found() {
        let run = Run::new(1, 2).unwrap();
        let demo = crate::corpus::demo().unwrap();
        let mut texts: Vec<String> = demo.train.iter().take(120).map(|document| document.text.clone()).collect();
        // Copies with a word changed, words dropped, and the whole twice.
        for row in 0..40 {
            let whole = texts[row].clone();
            let words: Vec<&str> = whole.split(' ').collect();
            texts.push([&words[..words.len() / 2], &["changed"], &words[words.len() / 2 + 1..]].concat().join(" "));
            texts.push(words[..words.len() * 4 / 5].join(" "));
        }
        texts.push(texts[0].clone());
        texts.push(String::new());
        texts.push(String::new());
        let tokens = WordsParams::default().tokenize(&texts, &run).unwrap();
        for threshold in [0.3, 0.5, 0.7, 0.9, 1.0] {
            let sets: Vec<Vec<(u32, u64)>> = (0..texts.len())
                .map(|row| runs_of(tokens.document(row)).into_iter().map(|run| (0, run)).collect())
                .collect();
            let mut joined = Joined::new(texts.len());
            for one in 0..texts.len() {
                for other in 0..one {
                    if !sets[one].is_empty() && !sets[other].is_empty() {
                        let similarity = similarity(&sets[one], &sets[other]);
                        if similarity >= threshold {
                            joined.join(one, other, similarity);
                        }
                    }
                }
            }
            let found = duplicates(&tokens, threshold, &run).unwrap();
            assert_eq!(found, joined.groups(), "{threshold}");
            assert!(!found.is_empty());
        }
        assert!(duplicates(&tokens, 0.0, &run).is_err());
        assert!(duplicates(&tokens, f64::NAN, &run).is_err());
    }
}
