//! A linear classifier that has trained itself on unlabelled documents.

use super::Method;
use crate::classify::{LinearModel, SELF_TRAINING_ROUNDS, self_train};
use crate::corpus::Labels;
use crate::matrix::{Dense, Matrix};
use crate::recipe::stage::FittedClassifier;
use crate::store::{StoreReader, StoreWriter};
use crate::{Result, Run};

/// Where the counts are stored, beside the classifier's own arrays.
const TAKEN: &str = "self_training";

/// The last round's classifier and how many documents each round took in.
#[derive(Debug)]
struct SelfTrained {
    inner: Box<dyn FittedClassifier>,
    taken: Vec<u64>,
}

/// Fits in rounds; a cost to be found is found in the first and kept, and the rounds between may stop early.
pub(super) fn fit<M: Method>(
    method: &M,
    x: &Matrix,
    labels: &Labels,
    weights: Option<&[f32]>,
    run: &Run,
) -> Result<Box<dyn FittedClassifier>> {
    let mut c = None;
    let fit = |x: &Matrix, labels: &Labels, weights: Option<&[f32]>, round: usize| {
        let fitted = match round {
            0 => method.fit(x, labels, weights, run)?,
            SELF_TRAINING_ROUNDS => method.with_cost(c).fit(x, labels, weights, run)?,
            _ => method.rough(c).fit(x, labels, weights, &run.quiet())?,
        };
        if round == 0 {
            c = fitted.c();
        }
        Ok(fitted)
    };
    let (inner, taken) = self_train(x, labels, weights, run, fit, |model, x| model.scores(x, run))?;
    if taken.is_empty() {
        run.warn(
            "self_training: there are no unlabelled documents, so it changes nothing; give some with --unlabelled",
        );
    }
    Ok(Box::new(SelfTrained { inner, taken: taken.into_iter().map(|count| count as u64).collect() }))
}

/// Puts what a store says of the rounds around the classifier it holds.
pub(super) fn load(inner: Box<dyn FittedClassifier>, store: &StoreReader<'_>) -> Result<Box<dyn FittedClassifier>> {
    Ok(Box::new(SelfTrained { inner, taken: store.u64s(TAKEN, None)? }))
}

impl FittedClassifier for SelfTrained {
    fn scores(&self, x: &Matrix, run: &Run) -> Result<Dense> {
        self.inner.scores(x, run)
    }

    fn own_probabilities(&self, scores: &Dense) -> Option<Dense> {
        self.inner.own_probabilities(scores)
    }

    fn c(&self) -> Option<f64> {
        self.inner.c()
    }

    fn usual_threshold(&self) -> f32 {
        self.inner.usual_threshold()
    }

    fn save(&self, out: &mut StoreWriter) -> Result<()> {
        self.inner.save(out)?;
        out.put_u64(TAKEN, &self.taken);
        Ok(())
    }

    fn linear(&self) -> Option<&LinearModel> {
        self.inner.linear()
    }

    fn notes(&self) -> Vec<(&'static str, String)> {
        let mut notes = self.inner.notes();
        let counts: Vec<String> = self.taken.iter().map(ToString::to_string).collect();
        let told = match counts.len() {
            0 => "no unlabelled documents".to_string(),
            rounds => format!("{rounds} rounds, unlabelled documents taken in: {}", counts.join(", ")),
        };
        notes.push(("self-training", told));
        notes
    }

    fn n_classes(&self) -> usize {
        self.inner.n_classes()
    }

    fn n_columns(&self) -> usize {
        self.inner.n_columns()
    }
}
