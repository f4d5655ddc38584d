//! Answers that are given only where a bound says they are right often enough.

use corpuscle::classify::Selection;
use corpuscle::recipe::Model;

use crate::output::{self, percent};

/// Which answers are given, and how many were so far.
pub(super) struct Withheld {
    rate: f64,
    selection: Option<Selection>,
    documents: usize,
    answered: usize,
}

impl Withheld {
    pub(super) fn new(model: &Model, rate: f64) -> anyhow::Result<Self> {
        Ok(Withheld { rate, selection: model.selection(rate)?, documents: 0, answered: 0 })
    }

    /// Whether an answer so confident is withheld.
    pub(super) fn holds(&mut self, confidence: f32) -> bool {
        let answered = self.selection.is_some_and(|selection| confidence >= selection.threshold);
        self.documents += 1;
        self.answered += usize::from(answered);
        !answered
    }

    pub(super) fn text(&self) -> String {
        let (rate, share) = (percent(self.rate), percent(self.answered as f64 / self.documents.max(1) as f64));
        match self.selection {
            Some(selection) => format!(
                "answered {} of {} documents ({share}): those of confidence {:.3} or more, of which at most {rate} are wrong with \
                 probability 0.95 if they are like the training documents",
                output::count(self.answered),
                output::count(self.documents),
                selection.threshold
            ),
            None => format!(
                "answered none of {} documents: no threshold keeps the error among answers at {rate} with probability 0.95; ask for a \
                 higher rate, or train on more documents",
                output::count(self.documents)
            ),
        }
    }
}
