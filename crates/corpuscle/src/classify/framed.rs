//! What every classifier of a recipe has around its own method: folds that make probabilities and thresholds of its scores, and,
//! for methods that can, learning from its own decisions.

use super::self_training::{ROUNDS, self_train};
use super::{Classifier, ClassifierModel, LinearModel, NearDocument};
use crate::corpus::Labels;
use crate::matrix::{Dense, Matrix};
use crate::param;
use crate::params::{Checks, Param, Params};
use crate::project::Target;
use crate::store::{StoreReader, StoreWriter};
use crate::{Error, Result, Run};

/// Folds for calibration when nothing is said.
const USUAL_FOLDS: usize = 3;

/// A method with what stands around it.
#[derive(Debug, Clone, PartialEq)]
pub struct Framed<P> {
    /// The method.
    pub method: P,
    /// Held-out folds for probabilities and thresholds; 0 for none.
    pub calibrate: usize,
    /// Whether it learns from its surest decisions about unlabelled documents too.
    pub self_training: bool,
}

impl<P: Classifier> Default for Framed<P> {
    fn default() -> Self {
        P::default().into()
    }
}

impl<P> From<P> for Framed<P> {
    fn from(method: P) -> Self {
        Framed { method, calibrate: USUAL_FOLDS, self_training: false }
    }
}

impl<P: Classifier> Params for Framed<P> {
    const NAME: &'static str = P::NAME;
    const ABOUT: &'static str = P::ABOUT;
    const BEFORE: &'static [(&'static str, &'static str)] = P::BEFORE;

    fn table() -> Vec<Param<Self>> {
        let own = P::table().into_iter();
        let mut table: Vec<Param<Self>> =
            own.map(|param| param.inside(|framed: &Self| &framed.method, |framed| &mut framed.method)).collect();
        table.push(param!("calibrate", calibrate, "held-out folds for probabilities and thresholds, 0 for none"));
        if P::SELF_TRAINS {
            let about = "true: learns from its surest decisions about unlabelled documents too";
            table.push(param!("self_training", self_training, about));
        }
        table
    }

    fn check(&self) -> Result<()> {
        let good = self.calibrate != 1 && self.calibrate <= 100;
        let folds =
            Checks::of(P::NAME).that(good, "calibrate", &self.calibrate, "must be 0 for none, or from 2 to 100").done();
        match (self.method.check(), folds) {
            // Both complaints at once.
            (Err(Error::BadParameter { stage, mut faults }), Err(Error::BadParameter { faults: more, .. })) => {
                faults.extend(more);
                Err(Error::BadParameter { stage, faults })
            }
            (method, folds) => method.and(folds),
        }
    }
}

/// A fitted method and, when it has trained itself, how many documents each round took in.
#[derive(Debug)]
pub struct FramedModel<M> {
    /// The method's own model.
    pub inner: M,
    taken: Option<Vec<u64>>,
}

/// Where the rounds of self-training are stored, beside the method's own arrays.
const TAKEN: &str = "self_training";

impl<P: Classifier> Classifier for Framed<P> {
    type Model = FramedModel<P::Model>;
    const SELF_TRAINS: bool = P::SELF_TRAINS;

    fn fit(&self, x: &Matrix, target: &Target<'_>, run: &Run) -> Result<Self::Model> {
        if !self.self_training {
            return Ok(FramedModel { inner: self.method.fit(x, target, run)?, taken: None });
        }
        // A cost to be found is found in the first round and kept, and the rounds between may stop early.
        let mut known = self.method.clone();
        let fit = |x: &Matrix, labels: &Labels, weights: Option<&[f32]>, round: usize| {
            let widened = Target::new(labels).with_weights(weights);
            match round {
                0 => {
                    let fitted = self.method.fit(x, target, run)?;
                    known = self.method.resolved(&fitted);
                    Ok(fitted)
                }
                ROUNDS => known.fit(x, &widened, run),
                _ => known.rough().fit(x, &widened, &run.quiet()),
            }
        };
        let scores = |model: &P::Model, x: &Matrix| model.scores(x, run);
        let (inner, taken) = self_train(x, target.labels(), target.weights(), run, fit, scores)?;
        if taken.is_empty() {
            run.warn("self_training: there are no unlabelled documents, so it changes nothing");
        }
        Ok(FramedModel { inner, taken: Some(taken.into_iter().map(|count| count as u64).collect()) })
    }

    fn load(&self, store: &StoreReader<'_>, run: &Run) -> Result<Self::Model> {
        let taken = if self.self_training { Some(store.u64s(TAKEN, None)?) } else { None };
        Ok(FramedModel { inner: self.method.load(store, run)?, taken })
    }

    fn resolved(&self, model: &Self::Model) -> Self {
        Framed { method: self.method.resolved(&model.inner), ..self.clone() }
    }

    fn rough(&self) -> Self {
        Framed { method: self.method.rough(), ..self.clone() }
    }

    /// Without self-training: a choice before the classifier goes by labelled documents alone.
    fn variants(&self) -> Vec<Self> {
        let plain = |method| Framed { method, calibrate: self.calibrate, self_training: false };
        self.method.variants().into_iter().map(plain).collect()
    }

    fn steps(&self, labels: &Labels) -> Option<u64> {
        if self.self_training { None } else { self.method.steps(labels) }
    }
}

impl<M: ClassifierModel> ClassifierModel for FramedModel<M> {
    fn scores(&self, x: &Matrix, run: &Run) -> Result<Dense> {
        self.inner.scores(x, run)
    }

    fn n_classes(&self) -> usize {
        self.inner.n_classes()
    }

    fn n_inputs(&self) -> usize {
        self.inner.n_inputs()
    }

    fn save(&self, out: &mut StoreWriter) -> Result<()> {
        self.inner.save(out)?;
        if let Some(taken) = &self.taken {
            out.put_u64(TAKEN, taken);
        }
        Ok(())
    }

    fn own_probabilities(&self, scores: &Dense) -> Option<Dense> {
        self.inner.own_probabilities(scores)
    }

    fn usual_threshold(&self) -> f32 {
        self.inner.usual_threshold()
    }

    fn strangeness(&self, x: &Matrix, scores: &Dense, run: &Run) -> Result<Vec<f32>> {
        self.inner.strangeness(x, scores, run)
    }

    fn linear(&self) -> Option<&LinearModel> {
        self.inner.linear()
    }

    fn nearest(&self, x: &Matrix, count: usize, run: &Run) -> Result<Option<Vec<Vec<NearDocument>>>> {
        self.inner.nearest(x, count, run)
    }

    fn leaning(&self, x: &Matrix, class: u32, against: Option<u32>, run: &Run) -> Result<Option<Vec<f64>>> {
        self.inner.leaning(x, class, against, run)
    }

    fn leaning_gradient(&self, x: &Matrix, class: u32, against: Option<u32>, run: &Run) -> Result<Option<Dense>> {
        self.inner.leaning_gradient(x, class, against, run)
    }

    fn notes(&self) -> Vec<(&'static str, String)> {
        let mut notes = self.inner.notes();
        if let Some(taken) = &self.taken {
            let counts: Vec<String> = taken.iter().map(ToString::to_string).collect();
            let rounds = match counts.len() {
                0 => "no unlabelled documents".to_string(),
                rounds => format!("{rounds} rounds, unlabelled documents taken in: {}", counts.join(", ")),
            };
            notes.push(("self-training", rounds));
        }
        notes
    }
}
