//! The documents of one run, and the parts they are cut into.

use std::collections::BTreeMap;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::Protocol;
use crate::corpus::Document;
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
    /// The draw of run `number`: every run draws its documents anew, so that no result hangs on which ones they were.
    pub fn draw(&self, documents: &[Document], number: u64, seed: u64) -> Result<Draw> {
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
}
