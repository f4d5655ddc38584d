//! What a choice between recipes goes by, and the recipe that finds it out at the least cost.
//!
//! Documents with one label each are judged by accuracy, those with several by micro-averaged F1, where a label missed
//! and a label too many count alike (accuracy would ask for whole lists). Accuracy is that of scores as they come, without the fits that
//! calibration costs, as papers have it; a model that is calibrated may decide better where classes are uneven
//! ([`Calibration`](crate::classify::Calibration)). Several labels cannot be given without thresholds, which the same fits find.

use super::compare::Outcome;
use crate::corpus::Labels;
use crate::recipe::Recipe;

/// The figure that recipes are chosen by; higher is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Objective {
    /// Share of documents decided right.
    Accuracy,
    /// Micro-averaged F1, for several labels per document.
    MicroF1,
}

impl Objective {
    /// The one that suits the labels.
    pub fn of(labels: &Labels) -> Self {
        if labels.is_multi_label() { Objective::MicroF1 } else { Objective::Accuracy }
    }

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Objective::Accuracy => "accuracy",
            Objective::MicroF1 => "micro F1",
        }
    }

    /// The figure of an outcome.
    pub fn value(self, outcome: &Outcome) -> f64 {
        match self {
            Objective::Accuracy => outcome.accuracy,
            Objective::MicroF1 => outcome.micro_f1,
        }
    }

    /// The recipe to measure instead of `recipe`: without fits that one label does not need.
    #[must_use]
    pub fn measured(self, recipe: &Recipe) -> Recipe {
        match self {
            Objective::Accuracy => recipe.uncalibrated(),
            Objective::MicroF1 => recipe.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calibration_is_left_out_where_labels_need_none() {
        let measured = |objective: Objective, text: &str| objective.measured(&Recipe::parse(text).unwrap()).to_string();
        assert_eq!(measured(Objective::Accuracy, "tfidf | svm(c=3)"), "tfidf | svm(c=3, calibrate=0)");
        assert_eq!(measured(Objective::Accuracy, "tfidf | knn(calibrate=5)"), "tfidf | knn(calibrate=0)");
        assert_eq!(measured(Objective::MicroF1, "tfidf | svm"), "tfidf | svm");
        assert_eq!(measured(Objective::Accuracy, "tfidf | lsi"), "tfidf | lsi");
    }

    #[test]
    fn several_labels_are_judged_label_by_label() {
        let one = Labels::from_single([Some("a"), Some("b")]);
        assert_eq!(Objective::of(&one), Objective::Accuracy);
        let lists = [vec!["a".to_string(), "b".to_string()]];
        let several = Labels::from_lists(lists.iter().map(|list| Some(list.as_slice())));
        assert_eq!(Objective::of(&several).name(), "micro F1");
    }
}
