//! The documents of one run, and the parts they are cut into.

use std::collections::{BTreeMap, BTreeSet};

use rand::SeedableRng;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::Protocol;
use crate::corpus::{Document, Filter, Labels, hold_out};
use crate::{Error, Result, Rng};

/// How documents are drawn and cut, label by label.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Parts {
    /// A share of every label is learnt from, and the rest tested on.
    Share {
        /// The share learnt from.
        train: f64,
        /// Documents drawn of each label, as far as there are that many; all when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        per_class: Option<usize>,
        /// Whether representations also see the texts of the test part, without labels.
        #[serde(default)]
        transductive: bool,
    },
    /// Fixed numbers of documents of every label.
    Counts {
        /// Learnt from.
        train: usize,
        /// Tuned on.
        development: usize,
        /// Tested on.
        test: usize,
    },
    /// The parts that the field `split` gives, the same in every run; runs differ by their seed.
    Given {
        /// Value of the part learnt from.
        train: String,
        /// Value of the part tested on.
        test: String,
        /// Whether representations also see the texts of the test part, without labels.
        #[serde(default)]
        transductive: bool,
    },
}

/// One run's documents, as rows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Draw {
    /// Rows learnt from.
    pub train: Vec<usize>,
    /// Rows tuned on; empty when that is done by cross-validation.
    pub development: Vec<usize>,
    /// Rows tested on.
    pub test: Vec<usize>,
    /// Rows whose texts are learnt from without their labels.
    pub unlabelled: Vec<usize>,
}

impl Draw {
    /// How many documents take part.
    pub fn len(&self) -> usize {
        self.train.len() + self.development.len() + self.test.len()
    }

    /// Whether none does.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Protocol {
    /// What is read: the whole file, or the training and then the test part when the data say which is which.
    pub fn selections(&self) -> Vec<Option<Filter>> {
        match &self.parts {
            Parts::Given { train, test, .. } => [train, test]
                .map(|value| Some(Filter { field: "split".into(), value: value.clone(), equal: true }))
                .to_vec(),
            _ => vec![None],
        }
    }

    /// The documents that take part at all, and how many of them are among the first `learnt`: with one label, or any
    /// number when several may be, and only such labels as the protocol, the numbers of documents or, for given parts,
    /// both parts allow.
    pub(super) fn taking_part(&self, documents: &[Document], learnt: usize) -> Result<(Vec<Document>, usize)> {
        let usable = |document: &Document| match document.labels.as_deref() {
            Some([_]) => true,
            Some([_, ..]) => self.multi_label,
            _ => false,
        };
        let is_given = matches!(self.parts, Parts::Given { .. });
        let mut counts: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
        for (row, document) in documents.iter().enumerate().filter(|(_, document)| usable(document)) {
            let part = usize::from(is_given && row >= learnt);
            document.labels.iter().flatten().for_each(|label| counts.entry(label).or_default()[part] += 1);
        }
        if let Some(class) = self.classes.iter().find(|class| !counts.contains_key(class.as_str())) {
            return Err(Error::data(format!("{}: no document has the label `{class}` alone", self.file)));
        }
        let allowed = |label: &String| {
            let wanted = self.classes.is_empty() || self.classes.contains(label);
            let [first, second] = counts.get(label.as_str()).copied().unwrap_or_default();
            wanted && first + second >= self.at_least && (!is_given || (first > 0 && second > 0))
        };
        let mut picked = Vec::new();
        let mut first = 0;
        for (row, document) in documents.iter().enumerate() {
            if usable(document) && document.labels.iter().flatten().all(allowed) {
                picked.push(document.clone());
                first += usize::from(row < learnt);
            }
        }
        let labels: BTreeSet<&String> = picked.iter().flat_map(|document| document.labels.iter().flatten()).collect();
        if labels.len() < 2 {
            return Err(Error::data(format!("{}: fewer than two labels have enough documents", self.file)));
        }
        Ok((picked, first))
    }

    /// The draw of run `number` from documents that [take part](Self::taking_part): unless the parts are given, every
    /// run draws its documents anew, so that no result hangs on which ones they were. The first `learnt` documents are
    /// those of the first [selection](Self::selections).
    pub(super) fn draw(&self, documents: &[Document], learnt: usize, number: u64, seed: u64) -> Result<Draw> {
        if let Parts::Given { transductive, .. } = self.parts {
            let (train, test): (Vec<usize>, Vec<usize>) = ((0..learnt).collect(), (learnt..documents.len()).collect());
            let unlabelled = if transductive { test.clone() } else { Vec::new() };
            return Ok(Draw { train, development: Vec::new(), test, unlabelled });
        }
        if let (Parts::Share { train, transductive, .. }, true) = (&self.parts, self.multi_label) {
            // Every label keeps its share, also those of documents with several.
            let labels = Labels::from_lists(documents.iter().map(|document| document.labels.as_deref()));
            let (train, test) = hold_out(&labels, *train, seed.wrapping_add(number))?;
            let unlabelled = if *transductive { test.clone() } else { Vec::new() };
            return Ok(Draw { train, development: Vec::new(), test, unlabelled });
        }
        let mut rows: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (row, document) in documents.iter().enumerate() {
            // A document of several labels is drawn by its first.
            if let Some(label) = document.labels.iter().flatten().next() {
                rows.entry(label.as_str()).or_default().push(row);
            }
        }
        let mut rng = Rng::seed_from_u64(seed.wrapping_add(number.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
        let mut draw = Draw::default();
        for (label, mut rows) in rows {
            rows.shuffle(&mut rng);
            let sizes = match self.parts {
                Parts::Share { train, per_class, .. } => {
                    rows.truncate(per_class.unwrap_or(usize::MAX));
                    let learnt = ((train * rows.len() as f64).round() as usize).min(rows.len());
                    [learnt, 0, rows.len() - learnt]
                }
                Parts::Counts { train, development, test } => [train, development, test],
                Parts::Given { .. } => [0; 3],
            };
            let [train, development, test] = sizes;
            if train + development + test > rows.len() || (!self.multi_label && (train == 0 || test == 0)) {
                let (all, wanted) = (rows.len(), train + development + test);
                return Err(Error::data(format!("`{label}` has {all} documents, and {wanted} are to be drawn of it")));
            }
            draw.train.extend(&rows[..train]);
            draw.development.extend(&rows[train..train + development]);
            draw.test.extend(&rows[train + development..train + development + test]);
        }
        draw.train.sort_unstable();
        draw.development.sort_unstable();
        draw.test.sort_unstable();
        if matches!(self.parts, Parts::Share { transductive: true, .. }) {
            draw.unlabelled.clone_from(&draw.test);
        }
        Ok(draw)
    }
}
