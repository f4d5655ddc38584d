//! Recipes that decide together: `vote(A; B; C)`.
//!
//! Every member is a recipe with a classifier of its own. What members make of a document stands side by side, and member v reads
//! its own columns of it. Its scores s_v are read as probabilities, p_v = softmax(s_v / T_v) with the temperature T_v under which
//! held-out labels are likeliest, and the vote is log p = Σ_v w_v log p_v (a logarithmic opinion pool). The denominators of softmax are
//! the same for all classes, so the score of class c is
//!
//! S_c = Σ_v (w_v / T_v) · s_vc,
//!
//! and a vote of linear members is itself one linear classifier over all their columns: it is kept, applied and explained as such.
//!
//! The weights w come from out-of-fold scores. From [`MANY`](held::MANY) labels on they are those, none below 0, that make held-out labels
//! likeliest (Newton's method on a convex function of as many variables as members). Below, where that would fit noise, members whose
//! held-out accuracy is within a standard error of the best count the same and the others nothing. With several labels a document,
//! scores are divided by their root mean square instead, and members count the same.
//!
//! With `self_training=aligned` members teach each other: in each of four rounds every member learns the labels, in proportion, that the
//! *others* together give to unlabelled documents, of each class a quarter more, the surest first. It is tried on the same folds first, and left out where held-out accuracy
//! falls by more than a standard error.
//!
//! Cost: its members', once for all documents and once for each fold, and with self-training once more for each.
//!
//! References: Genest and Zidek, Combining probability distributions, 1986; Blum and Mitchell, Combining labeled and unlabeled data with
//! co-training, 1998. We differ from co-training in taking in all unlabelled documents by the last round, weighed, in the proportions of the labels.
//!
//! ```
//! use corpuscle::recipe::Recipe;
//! let recipe = Recipe::parse("vote(tfidf | svm; chars | tfidf(min_df=3) | svm)")?;
//! assert_eq!(recipe.classifier(), Some("vote"));
//! # Ok::<(), corpuscle::Error>(())
//! ```

mod held;
mod model;

use std::sync::Arc;

use held::Held;
use model::VoteModel;

use super::erase::{AnyClassifier, Stage};
use crate::classify::{Alignment, ClassifierModel, OutOfFold, SelfTraining, Start, is_clearly_worse, right_rows};
use crate::corpus::Labels;
use crate::matrix::{Dense, Matrix};
use crate::param;
use crate::params::{Checks, Param, Params};
use crate::project::{ColumnNames, Refitted, Target, Upstream};
use crate::store::StoreReader;
use crate::{Error, Result, Run};

/// Folds that tell the weights where none calibrate.
const WEIGHT_FOLDS: usize = 3;
/// Rounds in which members teach each other.
const ROUNDS: usize = 4;

/// How much the members of a vote count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum VoteWeights {
    /// As held-out documents say.
    #[default]
    Auto,
    /// All the same.
    Equal,
}

crate::words!(VoteWeights { Auto = "auto", Equal = "equal" });

/// What can be set on a vote, beside its members.
#[derive(Debug, Clone, PartialEq)]
pub struct VoteParams {
    /// How much members count.
    pub weights: VoteWeights,
    /// Held-out folds for weights, probabilities and thresholds; 0 for none but those that tell the weights.
    pub calibrate: usize,
    /// Whether members learn from what the others say of unlabelled documents.
    pub self_training: SelfTraining,
}

impl Default for VoteParams {
    fn default() -> Self {
        VoteParams { weights: VoteWeights::Auto, calibrate: WEIGHT_FOLDS, self_training: SelfTraining::Off }
    }
}

impl Params for VoteParams {
    const NAME: &'static str = "vote";
    const ABOUT: &'static str = "recipes that decide together: vote(A | svm; B | svm)";

    fn table() -> Vec<Param<Self>> {
        vec![
            param!("weights", weights, "how much members count: auto, as held-out documents say, or equal"),
            param!("calibrate", calibrate, "held-out folds for probabilities and thresholds, 0 for none"),
            param!(
                "self_training",
                self_training,
                "members learn what the others say of unlabelled documents: aligned (or true)"
            ),
        ]
    }

    fn check(&self) -> Result<()> {
        Checks::of(Self::NAME)
            .that(
                self.calibrate != 1 && self.calibrate <= 100,
                "calibrate",
                &self.calibrate,
                "must be 0 for none, or from 2 to 100",
            )
            .that(
                self.self_training != SelfTraining::Surest,
                "self_training",
                &"surest",
                "must be false or aligned: members teach each other all documents, weighed",
            )
            .done()
    }
}

/// A vote, not yet fitted.
#[derive(Debug, Clone)]
pub(super) struct Vote {
    params: VoteParams,
    members: Vec<Arc<dyn AnyClassifier>>,
    /// What a fit on all documents has found, for fits on parts of them.
    found: Option<Found>,
    /// Held-out scores that the same fit has made on its way.
    held: Option<Arc<OutOfFold>>,
}

/// What held-out documents say of the members.
#[derive(Debug, Clone, Default)]
struct Found {
    /// w_v / T_v of each member.
    shares: Vec<f64>,
    /// Whether members teach each other, and the temperature of what the others of each say.
    teaching: Option<Vec<f64>>,
}

impl Vote {
    pub(super) fn new(params: VoteParams, members: Vec<Arc<dyn AnyClassifier>>) -> Self {
        Vote { params, members, found: None, held: None }
    }
}

impl Stage for Vote {
    fn name(&self) -> &'static str {
        VoteParams::NAME
    }

    fn all_arguments(&self) -> Vec<(&'static str, String)> {
        self.params.arguments()
    }

    fn changed_arguments(&self) -> Vec<(&'static str, String)> {
        self.params.changed()
    }
}

/// Calls `work` with the target of one member: its own columns, and folds of its own documents.
fn with_member<R>(target: &Target<'_>, member: usize, work: impl FnOnce(&Target<'_>) -> R) -> R {
    let before: usize = target.parts()[..member].iter().map(|part| part.sparse).sum();
    let width = target.parts()[member].sparse;
    let names = target.column_names().cloned();
    let names =
        names.map(|names| Arc::new(move || names().into_iter().skip(before).take(width).collect()) as ColumnNames);
    let upstream = target.upstream().map(|all| MemberDocuments { all, member });
    let mut own =
        target.narrowed(target.labels(), target.weights()).with_input(None).with_class_words(target.class_words());
    if let Some(names) = &names {
        own = own.with_names(names);
    }
    if let Some(upstream) = &upstream {
        own = own.with_upstream(upstream);
    }
    work(&own)
}

/// The documents of one member, to be made anew fold by fold.
struct MemberDocuments<'a> {
    all: &'a dyn Upstream,
    member: usize,
}

impl Upstream for MemberDocuments<'_> {
    fn fold(&self, rows: &[usize], held: &[usize], run: &Run) -> Result<Refitted> {
        self.all.fold_part(self.member, rows, held, run)
    }
}

/// The models of all members, and the same as stages for further fits.
type Fitted = (Vec<Arc<dyn ClassifierModel>>, Vec<Arc<dyn AnyClassifier>>);

impl Vote {
    /// Fits every member on its own columns.
    fn fit_members(&self, x: &Matrix, target: &Target<'_>, run: &Run) -> Result<Fitted> {
        let mut fitted: Fitted = (Vec::new(), Vec::new());
        for (member, stage) in self.members.iter().enumerate() {
            run.check()?;
            let own = x.part(target.parts(), member)?;
            let (model, stage) = with_member(target, member, |target| stage.fit_any(&own, target, run))?;
            fitted.0.push(model);
            fitted.1.push(stage);
        }
        Ok(fitted)
    }

    /// What held-out documents say of members that were fitted on all documents as `stages` now stand, and what the vote that was found
    /// says of those documents.
    fn survey(
        &self,
        stages: &[Arc<dyn AnyClassifier>],
        x: &Matrix,
        target: &Target<'_>,
        run: &Run,
    ) -> Result<(Found, Option<OutOfFold>)> {
        let (labels, quiet) = (target.labels(), run.quiet());
        let folds = if self.params.calibrate == 0 { WEIGHT_FOLDS } else { self.params.calibrate };
        let held = Held::of(&self.with(stages, None), x, target, folds, &quiet)?;
        let n = stages.len();
        let Some(held) = held else {
            return Ok((Found { shares: vec![1.0 / n as f64; n], teaching: None }, None));
        };
        let rows = labels.labelled_rows();
        let out_of_fold = |scores: &[Dense], found: &Found| {
            // Folds that only tell the weights calibrate nothing.
            let pooled = (self.params.calibrate > 0).then(|| pooled(scores, &found.shares)).transpose()?;
            Ok::<_, Error>(pooled.map(|scores| OutOfFold::of_scores(rows.clone(), scores)))
        };
        if labels.is_multi_label() {
            let shares = held.scores.iter().map(|scores| 1.0 / (n as f64 * root_mean_square(scores))).collect();
            let found = Found { shares, teaching: None };
            let all = out_of_fold(&held.scores, &found)?;
            return Ok((found, all));
        }
        let temperatures: Vec<f64> = held.scores.iter().map(|scores| held.temperature(scores).unwrap_or(1.0)).collect();
        let weights = match self.params.weights {
            VoteWeights::Equal => vec![1.0 / n as f64; n],
            VoteWeights::Auto => held.weights(&temperatures),
        };
        let mut found = Found {
            shares: weights.iter().zip(&temperatures).map(|(weight, temperature)| weight / temperature).collect(),
            teaching: None,
        };
        let before = out_of_fold(&held.scores, &found)?;
        if self.params.self_training == SelfTraining::Off || rows.len() == labels.len() {
            return Ok((found, before));
        }
        let others = |member: usize| {
            let pool = pooled(&held.scores, &without(&found.shares, member))?;
            Ok(held.temperature(&pool).unwrap_or(1.0))
        };
        found.teaching = Some((0..n).map(others).collect::<Result<_>>()?);
        let Some(before) = before else { return Ok((found, None)) };
        let taught = Held::of(&self.with(stages, Some(found.clone())), x, target, folds, &quiet)?;
        let after = taught.map(|taught| out_of_fold(&taught.scores, &found)).transpose()?.flatten();
        let right = |all: &OutOfFold| right_rows(&all.scores, &held.truth);
        match after.filter(|after| !is_clearly_worse(&right(&before), &right(after))) {
            Some(after) => Ok((found, Some(after))),
            None => {
                found.teaching = None;
                Ok((found, Some(before)))
            }
        }
    }

    /// The same vote with members as they were found.
    fn with(&self, stages: &[Arc<dyn AnyClassifier>], found: Option<Found>) -> Self {
        Vote { params: self.params.clone(), members: stages.to_vec(), found, held: None }
    }

    /// Rounds in which every member learns what the others say of unlabelled documents.
    fn teach(&self, fitted: &mut Fitted, x: &Matrix, target: &Target<'_>, found: &Found, run: &Run) -> Result<()> {
        let (labels, parts, quiet) = (target.labels(), target.parts(), run.quiet());
        let Some(temperatures) = &found.teaching else { return Ok(()) };
        let mut alignment = Alignment::new(labels, target.weights());
        let open = alignment.unlabelled().to_vec();
        if open.is_empty() {
            return Ok(());
        }
        let own: Vec<Matrix> = (0..fitted.0.len()).map(|member| x.part(parts, member)).collect::<Result<_>>()?;
        let unlabelled: Vec<Matrix> = own.iter().map(|own| own.select_rows(&open)).collect();
        let mut starts: Vec<Start> = fitted.0.iter().map(|_| Start::default()).collect();
        for round in 1..=ROUNDS {
            run.check()?;
            let scores = fitted.0.iter().zip(&unlabelled).map(|(model, x)| model.scores(x, &quiet));
            let scores: Vec<Dense> = scores.collect::<Result<_>>()?;
            let share = round as f64 / ROUNDS as f64;
            if round == 1 {
                // Of all members together; temperatures of members without one another are much alike.
                alignment.meet(&pooled(&scores, &found.shares)?, temperatures[0]);
            }
            for (member, own) in own.iter().enumerate() {
                let said = pooled(&scores, &without(&found.shares, member))?;
                let Some(taught) = alignment.taught(&said, temperatures[member], share) else { continue };
                // A member's own self-training and names have done their part in the first model.
                let Some(plain) = fitted.1[member].variants_any().into_iter().next() else { continue };
                let target = Target::new(&taught.labels).with_weights(Some(&taught.weights));
                fitted.0[member] = plain.fit_from_any(own, &target, &mut starts[member], &quiet)?;
            }
        }
        Ok(())
    }
}

/// The shares of all members but one; of all where nobody else counts.
fn without(shares: &[f64], member: usize) -> Vec<f64> {
    let mut others = shares.to_vec();
    others[member] = 0.0;
    if others.iter().any(|&share| share > 0.0) { others } else { shares.to_vec() }
}

/// Σ_v share_v · s_v.
fn pooled(scores: &[Dense], shares: &[f64]) -> Result<Dense> {
    let (rows, classes) = scores.first().map_or((0, 0), |scores| (scores.rows(), scores.cols()));
    let mut sums = vec![0f64; rows * classes];
    for (scores, share) in scores.iter().zip(shares) {
        sums.iter_mut().zip(scores.values()).for_each(|(sum, &score)| *sum += share * f64::from(score));
    }
    Dense::new(rows, classes, sums.into_iter().map(|sum| sum as f32).collect::<Vec<_>>())
}

fn root_mean_square(scores: &Dense) -> f64 {
    let squares: f64 = scores.values().iter().map(|&score| f64::from(score) * f64::from(score)).sum();
    (squares / scores.values().len().max(1) as f64).sqrt().max(1e-6)
}

impl AnyClassifier for Vote {
    fn fit_any(
        &self,
        x: &Matrix,
        target: &Target<'_>,
        run: &Run,
    ) -> Result<(Arc<dyn ClassifierModel>, Arc<dyn AnyClassifier>)> {
        if target.parts().len() != self.members.len() {
            let (expected, found) = (self.members.len(), target.parts().len());
            return Err(Error::Shape { what: "parts of a document for the members of a vote", expected, found });
        }
        let mut fitted = self.fit_members(x, target, run)?;
        let (found, held) = match &self.found {
            Some(found) => (found.clone(), None),
            None => self.survey(&fitted.1, x, target, run)?,
        };
        let has_unlabelled = target.labels().labelled_rows().len() < target.labels().len();
        if self.found.is_none() && self.params.self_training != SelfTraining::Off && !has_unlabelled {
            run.warn("self_training: there are no unlabelled documents, so it changes nothing");
        }
        self.teach(&mut fitted, x, target, &found, run)?;
        let calibrating = Vote { held: held.map(Arc::new), ..self.with(&fitted.1, Some(found.clone())) };
        let names = self.members.iter().map(|member| member.name()).collect();
        let model = VoteModel::new(fitted.0, target.parts().to_vec(), found.shares, names)?;
        Ok((Arc::new(model), Arc::new(calibrating)))
    }

    fn fit_from_any(
        &self,
        x: &Matrix,
        target: &Target<'_>,
        _start: &mut Start,
        run: &Run,
    ) -> Result<Arc<dyn ClassifierModel>> {
        Ok(self.fit_any(x, target, run)?.0)
    }

    fn out_of_fold(&self) -> Option<&OutOfFold> {
        self.held.as_deref()
    }

    fn load_any(&self, store: &StoreReader<'_>, run: &Run) -> Result<Arc<dyn ClassifierModel>> {
        Ok(Arc::new(VoteModel::load(self, store, run)?))
    }

    /// One: members as they are, without what they or the vote learn from unlabelled documents.
    fn variants_any(&self) -> Vec<Box<dyn AnyClassifier>> {
        let plain = |member: &Arc<dyn AnyClassifier>| match member.variants_any().into_iter().next() {
            Some(variant) => Arc::from(variant),
            None => Arc::clone(member),
        };
        let params = VoteParams { self_training: SelfTraining::Off, ..self.params.clone() };
        vec![Box::new(Vote::new(params, self.members.iter().map(plain).collect()))]
    }

    fn steps_of(&self, _labels: &Labels) -> Option<u64> {
        None
    }

    fn calibration_folds(&self) -> usize {
        self.params.calibrate
    }

    fn self_trains(&self) -> bool {
        self.params.self_training != SelfTraining::Off || self.members.iter().any(|member| member.self_trains())
    }

    fn uses_names(&self) -> bool {
        self.members.iter().any(|member| member.uses_names())
    }

    fn uncalibrated(&self) -> Arc<dyn AnyClassifier> {
        let members = self.members.iter().map(|member| member.uncalibrated()).collect();
        Arc::new(Vote::new(VoteParams { calibrate: 0, ..self.params.clone() }, members))
    }

    fn members(&self) -> &[Arc<dyn AnyClassifier>] {
        &self.members
    }
}
