//! How many documents each class has, counted on any part of the documents and merged.
//!
//! ```
//! use corpuscle::corpus::{LabelCounts, Labels};
//! let mut counts = LabelCounts::of(&Labels::from_single([Some("spam"), None]));
//! counts.merge(&LabelCounts::of(&Labels::from_single([Some("ham"), Some("spam")])));
//! assert_eq!((counts.count("spam"), counts.labelled, counts.unlabelled), (2, 3, 1));
//! assert_eq!(counts.class_names(), ["ham", "spam"]);
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Labels;

/// Documents by class. Whole numbers, so any grouping and any order of merging gives the same.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabelCounts {
    /// How many documents have each class; a class that is known and has none is 0.
    pub classes: BTreeMap<String, u64>,
    /// Documents with labels, be it an empty list.
    pub labelled: u64,
    /// Documents without.
    pub unlabelled: u64,
    /// Whether some labelled document has not exactly one label.
    pub multi_label: bool,
}

impl LabelCounts {
    /// Counts labels.
    pub fn of(labels: &Labels) -> Self {
        let labelled = labels.labelled_rows().len() as u64;
        LabelCounts {
            classes: labels.classes().iter().cloned().zip(labels.class_counts().iter().map(|&n| n as u64)).collect(),
            labelled,
            unlabelled: labels.len() as u64 - labelled,
            multi_label: labels.is_multi_label(),
        }
    }

    /// Adds the counts of other documents.
    pub fn merge(&mut self, other: &LabelCounts) {
        for (class, count) in &other.classes {
            *self.classes.entry(class.clone()).or_default() += count;
        }
        self.labelled += other.labelled;
        self.unlabelled += other.unlabelled;
        self.multi_label |= other.multi_label;
    }

    /// How many documents have a class.
    pub fn count(&self, class: &str) -> u64 {
        self.classes.get(class).copied().unwrap_or(0)
    }

    /// The classes in the order of their names, as [`Labels::from_lists`] numbers them: give them to [`Labels::align`]
    /// of each part to number all parts alike.
    pub fn class_names(&self) -> Vec<String> {
        self.classes.keys().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_grouping_and_order_of_parts_gives_the_same(
            rows in proptest::collection::vec(
                proptest::option::of(proptest::collection::vec("a|b|c|z", 0..3)), 0..20),
            owners in proptest::collection::vec(0usize..4, 20),
            order in Just([0usize, 1, 2, 3]).prop_shuffle(),
            left in any::<bool>(),
        ) {
            let count = |rows: &[&Option<Vec<String>>]| {
                LabelCounts::of(&Labels::from_lists(rows.iter().map(|row| row.as_deref())))
            };
            let parts = order.map(|part| {
                let own: Vec<_> = rows.iter().zip(&owners).filter(|(_, owner)| **owner == part).map(|(r, _)| r).collect();
                let text = serde_json::to_string(&count(&own)).unwrap();
                serde_json::from_str::<LabelCounts>(&text).unwrap()
            });
            let [mut a, mut b, mut c, d] = parts;
            if left {
                a.merge(&b);
                a.merge(&c);
                a.merge(&d);
            } else {
                c.merge(&d);
                b.merge(&c);
                a.merge(&b);
            }
            let whole = count(&rows.iter().collect::<Vec<_>>());
            prop_assert_eq!(serde_json::to_string(&a).unwrap(), serde_json::to_string(&whole).unwrap());
            prop_assert_eq!(a, whole);
        }
    }
}
