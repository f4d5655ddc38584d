//! Figures for labels that stand in an order or in a tree.
//!
//! Ordinal labels (ratings 1 to 5): mean absolute error in places of the order, and the share of documents at most one
//! place off. Labels that are paths (`comp.graphics`): accuracy at every level, where two labels agree at level l when
//! their first l parts do; a path with fewer parts counts with all it has. Both O(documents).
//!
//! ```
//! use corpuscle::corpus::Labels;
//! use corpuscle::metrics::{Predictions, levels, ordinal};
//! let truth = Labels::from_single(["1", "2", "3", "3"].map(Some));
//! let order = ["1", "2", "3"].map(String::from);
//! let scores = ordinal(&truth, &Predictions::single(vec![0, 2, 2, 0]), &order)?;
//! assert_eq!((scores.mean_absolute_error, scores.within_one), (0.75, 0.75));
//! # Ok::<(), corpuscle::Error>(())
//! ```

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::Predictions;
use crate::corpus::Labels;
use crate::{Error, Result};

/// How far off ordinal decisions are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct OrdinalScores {
    /// Mean distance between the true and the given label, in places of the order.
    pub mean_absolute_error: f64,
    /// Share of documents whose given label is at most one place off.
    pub within_one: f64,
}

/// Accuracy at one level of a tree of labels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LevelScore {
    /// How many parts of the path are compared.
    pub level: usize,
    /// Different labels at this level.
    pub classes: usize,
    /// Share of documents right at this level.
    pub accuracy: f64,
}

/// Pairs of true and given class of every labelled document that has just one.
fn decided(truth: &Labels, predicted: &Predictions) -> Result<Vec<(usize, usize)>> {
    if truth.len() != predicted.len() {
        return Err(Error::Shape { what: "decisions", expected: truth.len(), found: predicted.len() });
    }
    let mut pairs = Vec::new();
    for row in 0..truth.len() {
        match (truth.of(row), predicted.of(row)) {
            (Some(&[class]), &[given]) if (given as usize) < truth.n_classes() => {
                pairs.push((class as usize, given as usize));
            }
            (None, _) => {}
            _ => return Err(Error::data("ordinal and path labels need exactly one label per document")),
        }
    }
    if pairs.is_empty() { Err(Error::data("no document has a label to compare with")) } else { Ok(pairs) }
}

/// How far off decisions are when the classes stand in `order`.
pub fn ordinal(truth: &Labels, predicted: &Predictions, order: &[String]) -> Result<OrdinalScores> {
    let places: BTreeMap<&str, usize> = order.iter().map(String::as_str).zip(0..).collect();
    if places.len() != order.len() {
        return Err(Error::data("the order of the labels names one of them twice"));
    }
    let place = |class: usize| {
        let name = truth.classes()[class].as_str();
        places.get(name).copied().ok_or_else(|| {
            Error::data(format!("the label `{name}` is not in the order {}; name every label once", order.join(",")))
        })
    };
    let pairs = decided(truth, predicted)?;
    let (mut sum, mut near) = (0usize, 0usize);
    for &(class, given) in &pairs {
        let distance = place(class)?.abs_diff(place(given)?);
        sum += distance;
        near += usize::from(distance <= 1);
    }
    let n = pairs.len() as f64;
    Ok(OrdinalScores { mean_absolute_error: sum as f64 / n, within_one: near as f64 / n })
}

/// Accuracy at every level of labels that are paths, the parts divided by `separator`; the last is plain accuracy.
pub fn levels(truth: &Labels, predicted: &Predictions, separator: &str) -> Result<Vec<LevelScore>> {
    if separator.is_empty() {
        return Err(Error::data("the separator of the path's parts is empty"));
    }
    let paths: Vec<Vec<&str>> = truth.classes().iter().map(|name| name.split(separator).collect()).collect();
    let pairs = decided(truth, predicted)?;
    let deepest = paths.iter().map(Vec::len).max().unwrap_or(0);
    let start = |class: usize, level: usize| &paths[class][..level.min(paths[class].len())];
    Ok((1..=deepest)
        .map(|level| {
            let right = pairs.iter().filter(|&&(class, given)| start(class, level) == start(given, level)).count();
            let classes: BTreeSet<_> = (0..paths.len()).map(|class| start(class, level)).collect();
            LevelScore { level, classes: classes.len(), accuracy: right as f64 / pairs.len() as f64 }
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_measures_distance() {
        let truth = Labels::from_single(["bad", "fair", "good", "good"].map(Some));
        let order = ["bad", "fair", "good"].map(String::from);
        let scores = ordinal(&truth, &Predictions::single(vec![0, 0, 0, 2]), &order).unwrap();
        assert_eq!(scores, OrdinalScores { mean_absolute_error: 0.75, within_one: 0.75 });
        assert!(
            ordinal(&truth, &Predictions::single(vec![0; 4]), &order[..2]).unwrap_err().to_string().contains("good")
        );
        let twice = ["bad", "bad", "good"].map(String::from);
        assert!(ordinal(&truth, &Predictions::single(vec![0; 4]), &twice).is_err());
    }

    #[test]
    fn levels_grow_stricter() {
        let truth = Labels::from_single(["comp.graphics", "comp.sys.mac", "rec.autos", "misc"].map(Some));
        // comp.graphics, comp.sys.mac, misc, rec.autos are 0, 1, 2, 3.
        let levels = levels(&truth, &Predictions::single(vec![1, 1, 1, 2]), ".").unwrap();
        let accuracies: Vec<f64> = levels.iter().map(|level| level.accuracy).collect();
        assert_eq!(accuracies, [0.75, 0.5, 0.5]);
        assert_eq!(levels[0].classes, 3);
    }

    #[test]
    fn several_labels_are_refused() {
        let rows = [Some(vec!["a".to_string(), "b".to_string()])];
        let truth = Labels::from_lists(rows.iter().map(Option::as_deref));
        assert!(levels(&truth, &Predictions::single(vec![0]), ".").is_err());
    }
}
