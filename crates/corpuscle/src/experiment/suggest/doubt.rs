//! How sure a model is of each document.

use super::Reason;
use crate::matrix::Dense;
use crate::recipe::{Model, Predictions};
use crate::{Error, Result};

/// How far every document is from being decided otherwise, and between which classes.
#[derive(Debug, Clone, PartialEq)]
pub struct Doubt {
    classes: Vec<String>,
    margins: Vec<f32>,
    /// The two best classes of each document; for several labels a document, the one class that is nearest to its threshold.
    between: Vec<(u32, Option<u32>)>,
}

impl Doubt {
    /// What a model says of documents: by its probabilities where it has some, else by its scores.
    pub fn of(model: &Model, predictions: &Predictions) -> Result<Self> {
        match &predictions.probabilities {
            Some(probabilities) if model.is_multi_label() => {
                let mut centred = probabilities.clone();
                centred.values_mut().iter_mut().for_each(|value| *value -= 0.5);
                Self::of_scores(model.classes(), &centred, true)
            }
            Some(probabilities) => Self::of_scores(model.classes(), probabilities, false),
            None => Self::of_scores(model.classes(), &predictions.scores, model.is_multi_label()),
        }
    }

    /// The same from scores, documents × classes; for several labels a document, scores above 0 give a label.
    pub fn of_scores(classes: &[String], scores: &Dense, multi_label: bool) -> Result<Self> {
        if scores.cols() != classes.len() {
            return Err(Error::Shape { what: "classes of the scores", expected: classes.len(), found: scores.cols() });
        }
        let rows =
            (0..scores.rows()).map(|row| if multi_label { nearest(scores.row(row)) } else { best(scores.row(row)) });
        let (margins, between) = rows.unzip();
        Ok(Doubt { classes: classes.to_vec(), margins, between })
    }

    /// How many documents there are.
    pub fn len(&self) -> usize {
        self.margins.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.margins.is_empty()
    }

    /// How far a document is from being decided otherwise.
    pub fn margin(&self, row: usize) -> f32 {
        self.margins[row]
    }

    /// The same in words.
    pub(super) fn reason(&self, row: usize) -> Reason {
        let name = |class: u32| self.classes.get(class as usize).cloned().unwrap_or_default();
        let (one, other) = self.between[row];
        Reason::Wavers { one: name(one), other: other.map(name) }
    }
}

/// The difference of the two highest scores, and whose they are.
fn best(scores: &[f32]) -> (f32, (u32, Option<u32>)) {
    let (mut first, mut second) = ((f32::NEG_INFINITY, 0), (f32::NEG_INFINITY, None));
    for (&score, class) in scores.iter().zip(0u32..) {
        if score > first.0 {
            second = (first.0, (class > 0).then_some(first.1));
            first = (score, class);
        } else if score > second.0 {
            second = (score, Some(class));
        }
    }
    (first.0 - second.0, (first.1, second.1))
}

/// The smallest distance from 0, and of which class.
fn nearest(scores: &[f32]) -> (f32, (u32, Option<u32>)) {
    let mut least = (f32::INFINITY, 0);
    for (&score, class) in scores.iter().zip(0u32..) {
        if score.abs() < least.0 {
            least = (score.abs(), class);
        }
    }
    (least.0, (least.1, None))
}
