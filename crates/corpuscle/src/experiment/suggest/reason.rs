//! A suggested document and why it is suggested, for people.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::matrix::Csr;

/// Most documents of a cluster that its words are taken from.
const DOCUMENTS: usize = 200;

/// A document to label.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Suggestion {
    /// Its row.
    pub row: usize,
    /// Why it is worth a label.
    pub reason: Reason,
}

/// Why a document is worth a label.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// It stands for documents like it.
    Group {
        /// How many there are.
        documents: usize,
        /// How many of them have a label or are suggested already.
        labels: usize,
        /// What they are about.
        words: Vec<String>,
    },
    /// A classifier cannot make up its mind.
    Wavers {
        /// The class it would give.
        one: String,
        /// The class that is nearly as good; none where a document may have several labels, and `one` itself is in doubt.
        other: Option<String>,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Group { documents, labels, words } => {
                match (documents, labels) {
                    (1, _) => write!(f, "has no other document like it")?,
                    (_, 0) => write!(f, "stands for a group of {documents} documents without a label")?,
                    (_, 1) => write!(f, "stands for a group of {documents} documents with one label")?,
                    _ => write!(f, "stands for a group of {documents} documents with {labels} labels")?,
                }
                if words.is_empty() { Ok(()) } else { write!(f, ": {}", words.join(", ")) }
            }
            Reason::Wavers { one, other: Some(other) } => write!(f, "the model wavers between {one} and {other}"),
            Reason::Wavers { one, other: None } => write!(f, "the model wavers whether to give {one}"),
        }
    }
}

/// The terms of sparse columns, and how rare each is.
#[derive(Debug)]
pub(super) struct Terms {
    names: Vec<String>,
    /// ln((1 + n) / (1 + df)).
    rarity: Vec<f32>,
}

impl Terms {
    pub(super) fn of(names: Vec<String>, x: &Csr) -> Self {
        let mut frequencies = vec![0u32; x.cols()];
        for row in 0..x.rows() {
            x.row(row).0.iter().for_each(|&column| frequencies[column as usize] += 1);
        }
        let rarity = |df: u32| ((1.0 + x.rows() as f64) / (1.0 + f64::from(df))).ln() as f32;
        Terms { names, rarity: frequencies.into_iter().map(rarity).collect() }
    }

    /// The terms that weigh more in the given rows than their document frequency lets expect, heaviest first.
    pub(super) fn heaviest(&self, x: &Csr, rows: &[usize], count: usize) -> Vec<String> {
        let mut sums: BTreeMap<u32, f32> = BTreeMap::new();
        for &row in rows.iter().step_by(rows.len().div_ceil(DOCUMENTS).max(1)) {
            let (columns, values) = x.row(row);
            for (&column, &value) in columns.iter().zip(values) {
                *sums.entry(column).or_default() += value;
            }
        }
        // The weights hold idf already; once more lets words of every text fall behind those of this group.
        let mut order: Vec<(f32, u32)> =
            sums.into_iter().map(|(column, sum)| (sum * self.rarity[column as usize], column)).collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        order.iter().take(count).map(|&(_, column)| self.names[column as usize].clone()).collect()
    }
}
