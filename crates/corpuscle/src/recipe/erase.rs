//! The one adapter between methods and the tree of stages: every params struct of a room is a stage as it stands.
//!
//! A method has concrete types ([`Vectorizer`], [`Projector`], [`Classifier`] and their models); a recipe holds methods whose
//! types it does not know. The traits here are the same ones with the types taken out, written once for all methods.

use std::fmt::Debug;
use std::sync::Arc;

use crate::classify::{Classifier, ClassifierModel, Framed, OutOfFold, Start};
use crate::corpus::Labels;
use crate::matrix::Matrix;
use crate::params::Params;
use crate::project::{Projector, ProjectorModel, Target};
use crate::store::StoreReader;
use crate::text::Tokens;
use crate::vectorize::{Chunks, Columns, TermCounts, Vectorizer, VectorizerModel};
use crate::{Result, Run};

/// What every stage can say of itself.
pub(crate) trait Stage: Debug + Send + Sync {
    /// Its name in recipes.
    fn name(&self) -> &'static str;
    /// Every argument, in the order of the table.
    fn all_arguments(&self) -> Vec<(&'static str, String)>;
    /// The arguments that differ from the defaults.
    fn changed_arguments(&self) -> Vec<(&'static str, String)>;
}

impl<P: Params> Stage for P {
    fn name(&self) -> &'static str {
        P::NAME
    }

    fn all_arguments(&self) -> Vec<(&'static str, String)> {
        self.arguments()
    }

    fn changed_arguments(&self) -> Vec<(&'static str, String)> {
        self.changed()
    }
}

/// A [`Vectorizer`] of any type.
pub(crate) trait AnyVectorizer: Stage {
    fn fit_any(&self, tokens: &Tokens, labelled: &[usize], run: &Run) -> Result<(Arc<dyn VectorizerModel>, Matrix)>;
    /// How many words the longest terms have that it counts, for a stage that learns from term counts alone.
    fn counts_any(&self) -> Option<usize>;
    fn model_of_any(&self, counts: &TermCounts) -> Result<Arc<dyn VectorizerModel>>;
    fn fit_chunks_any(&self, chunks: &dyn Chunks, run: &Run) -> Result<(Arc<dyn VectorizerModel>, Matrix)>;
    fn load_any(&self, store: &StoreReader<'_>) -> Result<Arc<dyn VectorizerModel>>;
    fn makes(&self) -> Columns;
    fn field_read(&self) -> Option<&str>;
    /// Whether it makes a difference which documents are labelled.
    fn asks_labelled(&self) -> bool;
}

impl<P: Vectorizer> AnyVectorizer for P {
    fn fit_any(&self, tokens: &Tokens, labelled: &[usize], run: &Run) -> Result<(Arc<dyn VectorizerModel>, Matrix)> {
        let (model, x) = self.fit_labelled(tokens, labelled, run)?;
        Ok((Arc::new(model), x))
    }

    fn counts_any(&self) -> Option<usize> {
        self.counts()
    }

    fn model_of_any(&self, counts: &TermCounts) -> Result<Arc<dyn VectorizerModel>> {
        Ok(Arc::new(self.model_of(counts)?))
    }

    fn fit_chunks_any(&self, chunks: &dyn Chunks, run: &Run) -> Result<(Arc<dyn VectorizerModel>, Matrix)> {
        let (model, x) = self.fit_chunks(chunks, run)?;
        Ok((Arc::new(model), x))
    }

    fn load_any(&self, store: &StoreReader<'_>) -> Result<Arc<dyn VectorizerModel>> {
        Ok(Arc::new(self.load(store)?))
    }

    fn makes(&self) -> Columns {
        P::MAKES
    }

    fn field_read(&self) -> Option<&str> {
        self.field()
    }

    fn asks_labelled(&self) -> bool {
        P::ASKS_LABELLED
    }
}

/// A fitted projection, and its stage with what was found in place of `auto`.
#[derive(Debug, Clone)]
pub(crate) struct Projection {
    pub(crate) model: Arc<dyn ProjectorModel>,
    pub(crate) resolved: Arc<dyn AnyProjector>,
}

/// A [`Projector`] of any type.
pub(crate) trait AnyProjector: Stage {
    fn fit_any(&self, x: &Matrix, target: &Target<'_>, run: &Run) -> Result<(Projection, Matrix)>;
    fn load_any(&self, store: &StoreReader<'_>) -> Result<Arc<dyn ProjectorModel>>;
    fn makes(&self) -> Columns;
    fn needs_terms(&self) -> bool;
    fn wants_words(&self) -> bool;
    fn needs_labels(&self) -> bool;
    fn learns_from_labels(&self) -> bool;
    fn asks_judge(&self) -> bool;
}

impl<P: Projector> AnyProjector for P {
    fn fit_any(&self, x: &Matrix, target: &Target<'_>, run: &Run) -> Result<(Projection, Matrix)> {
        let (model, x) = self.fit(x, target, run)?;
        let resolved = Arc::new(self.resolved(&model));
        Ok((Projection { model: Arc::new(model), resolved }, x))
    }

    fn load_any(&self, store: &StoreReader<'_>) -> Result<Arc<dyn ProjectorModel>> {
        Ok(Arc::new(self.load(store)?))
    }

    fn makes(&self) -> Columns {
        P::MAKES
    }

    fn needs_terms(&self) -> bool {
        P::NEEDS_TERMS
    }

    fn wants_words(&self) -> bool {
        P::WANTS_WORDS
    }

    fn needs_labels(&self) -> bool {
        Projector::needs_labels(self)
    }

    fn learns_from_labels(&self) -> bool {
        Projector::learns_from_labels(self)
    }

    fn asks_judge(&self) -> bool {
        Projector::asks_judge(self)
    }
}

/// A [`Classifier`] of any type, in its frame.
pub(crate) trait AnyClassifier: Stage {
    /// The model, and the stage for fits that only calibrate it: with what was found in place of `auto`, and looser.
    fn fit_any(
        &self,
        x: &Matrix,
        target: &Target<'_>,
        run: &Run,
    ) -> Result<(Arc<dyn ClassifierModel>, Arc<dyn AnyClassifier>)>;
    /// The model alone, beginning where the fit before ended.
    fn fit_from_any(
        &self,
        x: &Matrix,
        target: &Target<'_>,
        start: &mut Start,
        run: &Run,
    ) -> Result<Arc<dyn ClassifierModel>>;
    /// Out-of-fold scores of the model that this stage calibrates, where its fit has made them on the way.
    fn out_of_fold(&self) -> Option<&OutOfFold>;
    fn load_any(&self, store: &StoreReader<'_>, run: &Run) -> Result<Arc<dyn ClassifierModel>>;
    fn variants_any(&self) -> Vec<Box<dyn AnyClassifier>>;
    fn steps_of(&self, labels: &Labels) -> Option<u64>;
    /// Folds for calibration and thresholds; 0 for none.
    fn calibration_folds(&self) -> usize;
    /// Whether unlabelled documents teach it something.
    fn self_trains(&self) -> bool;
    /// Whether the names of classes may stand for labels.
    fn uses_names(&self) -> bool;
    /// The same without calibration.
    fn uncalibrated(&self) -> Arc<dyn AnyClassifier>;
    /// The classifiers of the recipes that decide together in it.
    fn members(&self) -> &[Arc<dyn AnyClassifier>] {
        &[]
    }
}

impl<P: Classifier> AnyClassifier for Framed<P> {
    fn fit_any(
        &self,
        x: &Matrix,
        target: &Target<'_>,
        run: &Run,
    ) -> Result<(Arc<dyn ClassifierModel>, Arc<dyn AnyClassifier>)> {
        let model = self.fit(x, target, run)?;
        let calibrating = Arc::new(self.resolved(&model).rough());
        Ok((Arc::new(model), calibrating))
    }

    fn fit_from_any(
        &self,
        x: &Matrix,
        target: &Target<'_>,
        start: &mut Start,
        run: &Run,
    ) -> Result<Arc<dyn ClassifierModel>> {
        Ok(Arc::new(self.fit_from(x, target, start, run)?))
    }

    fn out_of_fold(&self) -> Option<&OutOfFold> {
        self.held.as_deref()
    }

    fn load_any(&self, store: &StoreReader<'_>, run: &Run) -> Result<Arc<dyn ClassifierModel>> {
        Ok(Arc::new(self.load(store, run)?))
    }

    fn variants_any(&self) -> Vec<Box<dyn AnyClassifier>> {
        self.variants().into_iter().map(|variant| Box::new(variant) as Box<dyn AnyClassifier>).collect()
    }

    fn steps_of(&self, labels: &Labels) -> Option<u64> {
        self.steps(labels)
    }

    fn calibration_folds(&self) -> usize {
        self.calibrate
    }

    fn self_trains(&self) -> bool {
        self.self_training != crate::classify::SelfTraining::Off || self.names != crate::params::Auto::Value(false)
    }

    fn uses_names(&self) -> bool {
        self.names != crate::params::Auto::Value(false)
    }

    fn uncalibrated(&self) -> Arc<dyn AnyClassifier> {
        Arc::new(Framed { calibrate: 0, held: None, ..self.clone() })
    }
}
