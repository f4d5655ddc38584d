//! What every classifier of a recipe has around its own method: folds that make probabilities and thresholds of its scores, and,
//! for methods that can, learning from its own decisions and from the names of classes.
//!
//! Both are tried on the same folds that calibrate, where there are any ([`learn`](super::learn)): `names=auto` is left out unless more
//! held-out documents come out right with names, self-training where held-out accuracy falls by more than a standard error.

use std::sync::Arc;

use super::learn::{Found, Learning};
use super::{Classifier, ClassifierModel, LinearModel, NearDocument, OutOfFold, SelfTraining, Start};
use crate::corpus::Labels;
use crate::matrix::{Dense, Matrix};
use crate::param;
use crate::params::{Auto, Checks, Param, Params};
use crate::project::Target;
use crate::store::{StoreReader, StoreWriter};
use crate::{Error, Result, Run};

/// Folds for calibration when nothing is said.
const USUAL_FOLDS: usize = 3;

/// The most held-out scores: 8 GB of them.
const MOST_SCORES: usize = 1 << 31;

/// A method with what stands around it.
#[derive(Debug, Clone, PartialEq)]
pub struct Framed<P> {
    /// The method.
    pub method: P,
    /// Held-out folds for probabilities and thresholds; 0 for none.
    pub calibrate: usize,
    /// Whether and how it learns from its own decisions about unlabelled documents too.
    pub self_training: SelfTraining,
    /// Whether it learns from the words of the classes' names too.
    pub names: Auto<bool>,
    /// What a fit on all documents has found, for fits on parts of them.
    pub(crate) found: Option<Found>,
    /// Held-out scores that the same fit has made on its way.
    pub(crate) held: Option<Arc<OutOfFold>>,
}

impl<P: Classifier> Default for Framed<P> {
    fn default() -> Self {
        P::default().into()
    }
}

impl<P> From<P> for Framed<P> {
    fn from(method: P) -> Self {
        Framed {
            method,
            calibrate: USUAL_FOLDS,
            self_training: SelfTraining::Off,
            names: Auto::Value(false),
            found: None,
            held: None,
        }
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
            let about = "learns from its decisions about unlabelled documents too: aligned (or true) with classes in \
                         proportion, or from the surest alone";
            table.push(param!("self_training", self_training, about));
            let about = "learns from the words of the classes' names too; auto: where held-out folds gain by it";
            table.push(param!("names", names, about));
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
    found: Found,
    held: Option<Arc<OutOfFold>>,
}

impl<P: Classifier> Framed<P> {
    /// Refuses to calibrate where the held-out scores, one for each labelled document and class, would not fit.
    fn check_scores(&self, labels: &Labels) -> Result<()> {
        let (documents, classes) = (labels.labelled_rows().len(), labels.n_classes());
        match documents.checked_mul(classes) {
            Some(scores) if scores <= MOST_SCORES || self.calibrate == 0 => Ok(()),
            _ => Err(Error::data(format!(
                "{documents} labelled documents times {classes} classes are more than {MOST_SCORES} held-out scores; put rare classes \
                 together, or leave probabilities out with `{}(calibrate=0)`",
                P::NAME
            ))),
        }
    }

    /// Whether it learns from labels alone.
    fn is_plain(&self) -> bool {
        self.self_training == SelfTraining::Off && self.names == Auto::Value(false)
    }
}

impl<M> FramedModel<M> {
    fn plain(inner: M) -> Self {
        FramedModel { inner, taken: None, found: Found::default(), held: None }
    }
}

/// Where the rounds of self-training and the use of names are stored, beside the method's own arrays.
const TAKEN: &str = "self_training";
const NAMED: &str = "names";

impl<P: Classifier> Classifier for Framed<P> {
    type Model = FramedModel<P::Model>;
    const SELF_TRAINS: bool = P::SELF_TRAINS;

    fn fit(&self, x: &Matrix, target: &Target<'_>, run: &Run) -> Result<Self::Model> {
        self.check_scores(target.labels())?;
        if self.is_plain() {
            return Ok(FramedModel::plain(self.method.fit(x, target, run)?));
        }
        let learning = Learning { framed: self, x, target, run };
        let (inner, taken, found, held) = learning.fit()?;
        let taken = taken.map(|taken| taken.into_iter().map(|count| count as u64).collect());
        Ok(FramedModel { inner, taken, found, held: held.map(Arc::new) })
    }

    fn fit_from(&self, x: &Matrix, target: &Target<'_>, start: &mut Start, run: &Run) -> Result<Self::Model> {
        match self.is_plain() {
            true => Ok(FramedModel::plain(self.method.fit_from(x, target, start, run)?)),
            false => self.fit(x, target, run),
        }
    }

    fn load(&self, store: &StoreReader<'_>, run: &Run) -> Result<Self::Model> {
        let taken = if self.self_training == SelfTraining::Off { None } else { Some(store.u64s(TAKEN, None)?) };
        let named = match self.names {
            Auto::Value(false) => false,
            _ => store.u32s(NAMED, Some(1))?[0] == 1,
        };
        Ok(FramedModel {
            inner: self.method.load(store, run)?,
            taken,
            found: Found { named, asked: self.names != Auto::Value(false), ..Found::default() },
            held: None,
        })
    }

    fn resolved(&self, model: &Self::Model) -> Self {
        let self_training = if model.found.trains { self.self_training } else { SelfTraining::Off };
        Framed {
            method: self.method.resolved(&model.inner),
            calibrate: self.calibrate,
            self_training,
            names: Auto::Value(model.found.named),
            found: Some(model.found),
            held: model.held.clone(),
        }
    }

    fn rough(&self) -> Self {
        Framed { method: self.method.rough(), ..self.clone() }
    }

    /// Without self-training and names: a choice before the classifier goes by labelled documents alone.
    fn variants(&self) -> Vec<Self> {
        let plain = |method| Framed { calibrate: self.calibrate, ..Framed::from(method) };
        self.method.variants().into_iter().map(plain).collect()
    }

    fn steps(&self, labels: &Labels) -> Option<u64> {
        if self.is_plain() { self.method.steps(labels) } else { None }
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
        if self.found.asked {
            out.put_u32(NAMED, &[u32::from(self.found.named)]);
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
                0 => "left out: there are no unlabelled documents, or held-out accuracy fell".to_string(),
                rounds => format!("{rounds} rounds, unlabelled documents taken in: {}", counts.join(", ")),
            };
            notes.push(("self-training", rounds));
        }
        if self.found.asked {
            let used = if self.found.named { "used" } else { "left out: no gain on held-out documents" };
            notes.push(("names of classes", used.to_string()));
        }
        notes
    }
}
