//! The documents of one run, and the parts they are cut into.

use std::collections::{BTreeMap, BTreeSet};

use rand::SeedableRng;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::Protocol;
use crate::corpus::{Document, Filter};
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

    /// The draw of run `number`: unless the parts are given, every run draws its documents anew, so that no result hangs
    /// on which ones they were. The first `learnt` documents are those of the first [selection](Self::selections).
    pub fn draw(&self, documents: &[Document], learnt: usize, number: u64, seed: u64) -> Result<Draw> {
        if let Parts::Given { transductive, .. } = self.parts {
            return self.given(documents, learnt, transductive);
        }
        let mut rows: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (row, document) in documents.iter().enumerate() {
            if let Some([label]) = document.labels.as_deref() {
                rows.entry(label.as_str()).or_default().push(row);
            }
        }
        let counts = rows.iter().map(|(&label, rows)| (label, rows.len())).collect();
        let taking_part = self.taking_part(&counts)?;
        if taking_part.len() < 2 {
            return Err(Error::data(format!("{}: fewer than two labels have enough documents", self.file)));
        }
        let mut rng = Rng::seed_from_u64(seed.wrapping_add(number.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
        let mut draw = Draw::default();
        for (label, mut rows) in rows.into_iter().filter(|(label, _)| taking_part.contains(label)) {
            rows.shuffle(&mut rng);
            let sizes = match self.parts {
                Parts::Share { train, per_class } => {
                    rows.truncate(per_class.unwrap_or(usize::MAX));
                    let learnt = (train * rows.len() as f64).round() as usize;
                    [learnt, 0, rows.len() - learnt.min(rows.len())]
                }
                Parts::Counts { train, development, test } => [train, development, test],
                Parts::Given { .. } => [0; 3],
            };
            if sizes.iter().sum::<usize>() > rows.len() || sizes[0] == 0 || sizes[2] == 0 {
                let (all, wanted) = (rows.len(), sizes.iter().sum::<usize>());
                return Err(Error::data(format!("`{label}` has {all} documents, and {wanted} are to be drawn of it")));
            }
            let (train, rest) = rows.split_at(sizes[0]);
            let (development, rest) = rest.split_at(sizes[1]);
            draw.train.extend(train);
            draw.development.extend(development);
            draw.test.extend(&rest[..sizes[2]]);
        }
        draw.train.sort_unstable();
        draw.development.sort_unstable();
        draw.test.sort_unstable();
        Ok(draw)
    }

    /// The parts as the data give them: documents whose labels all occur in both parts.
    fn given(&self, documents: &[Document], learnt: usize, transductive: bool) -> Result<Draw> {
        let takes_part = |document: &Document| match document.labels.as_deref() {
            Some([_]) => true,
            Some([_, ..]) => self.multi_label,
            _ => false,
        };
        let (before, after) = documents.split_at(learnt.min(documents.len()));
        let labels = |part: &[Document]| -> BTreeSet<String> {
            part.iter()
                .filter(|document| takes_part(document))
                .flat_map(|d| d.labels.clone().unwrap_or_default())
                .collect()
        };
        let both: BTreeSet<String> = labels(before).intersection(&labels(after)).cloned().collect();
        let known = |document: &Document| document.labels.iter().flatten().all(|label| both.contains(label));
        let rows = |range: std::ops::Range<usize>| -> Vec<usize> {
            range.filter(|&row| takes_part(&documents[row]) && known(&documents[row])).collect()
        };
        let (train, test) = (rows(0..before.len()), rows(before.len()..documents.len()));
        if train.is_empty() || test.is_empty() {
            return Err(Error::data(format!("{}: no labels occur in both parts of the data", self.file)));
        }
        let unlabelled = if transductive { test.clone() } else { Vec::new() };
        Ok(Draw { train, development: Vec::new(), test, unlabelled })
    }
}
