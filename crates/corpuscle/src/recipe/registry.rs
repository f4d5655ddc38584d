//! The stages that recipes can name: those of the house, and any of a user's own.
//!
//! ```
//! use corpuscle::project::LsiParams;
//! use corpuscle::recipe::{Registry, Stage};
//! let registry = Registry::standard();
//! assert_eq!(registry.find("lsi").map(|stage| stage.parameters[0].default.clone()), Some("100".to_string()));
//! // A stage is a params struct with its traits; see the example `own_stage` for one from outside this crate.
//! assert!(registry.clone().with(Stage::projector::<LsiParams>()).is_err(), "there is one of that name already");
//! ```

use std::fmt;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use super::arguments::Arguments;
use super::erase::{AnyClassifier, AnyProjector, AnyVectorizer};
use super::model::Model;
use super::plan::{self, Recipe};
use super::vote::VoteParams;
use crate::classify::{BayesParams, Classifier, Framed, KnnParams, LogisticParams, SvmParams};
use crate::params::{Form, Params};
use crate::project::{
    DcotParams, DiscriminantParams, InformationGainParams, LocalLsiParams, LsiParams, NormalizeParams, PmiParams,
    Projector, SlsiParams, SprinkleParams, VarNormParams,
};
use crate::text::{CharsParams, WordsParams};
use crate::vectorize::{
    AverageParams, BinaryParams, BowvParams, ColumnParams, ConceptsParams, CountsParams, DirichletParams, LtsgParams,
    ParagraphParams, ScdvParams, TfidfParams, TweParams, Vectorizer,
};
use crate::{Error, Result, Run};

/// The kinds of stage, in the order they can follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StageKind {
    /// Texts to words.
    Words,
    /// Words to matrix.
    Vectorize,
    /// Matrix to matrix.
    Project,
    /// Matrix to scores.
    Classify,
    /// Recipes to scores.
    Vote,
}

/// A parameter of a stage, for people and programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// What its text looks like.
    pub form: Form,
    /// The text of its default; empty for another way to say what a parameter before it says.
    pub default: String,
}

/// A stage of any kind with its arguments, not yet fitted.
#[derive(Debug, Clone)]
pub(super) enum AnyStage {
    Words(WordsParams),
    Vectorize(Arc<dyn AnyVectorizer>),
    Project(Arc<dyn AnyProjector>),
    Classify(Arc<dyn AnyClassifier>),
    Vote(VoteParams),
}

/// A stage that recipes can name.
#[derive(Clone)]
pub struct Stage {
    /// The name.
    pub name: &'static str,
    /// The kind.
    pub kind: StageKind,
    /// What it does, in a line.
    pub about: &'static str,
    /// Its parameters; the first may be given by position.
    pub parameters: Vec<Parameter>,
    read: fn(&Arguments<'_>) -> Result<AnyStage>,
}

impl fmt::Debug for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stage").field("name", &self.name).field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl Stage {
    fn of<P: Params>(kind: StageKind, read: fn(&Arguments<'_>) -> Result<AnyStage>) -> Self {
        let default = P::default();
        let parameter = |param: crate::params::Param<P>| Parameter {
            name: param.name,
            about: param.about,
            default: param.show(&default),
            form: param.form,
        };
        let parameters = P::table().into_iter().map(parameter).collect();
        Stage { name: P::NAME, kind, about: P::ABOUT, parameters, read }
    }

    /// The stage that makes words of texts.
    fn words() -> Self {
        Self::of::<WordsParams>(StageKind::Words, |arguments| Ok(AnyStage::Words(arguments.read()?)))
    }

    /// The stage that makes character n-grams of texts.
    fn chars() -> Self {
        Self::of::<CharsParams>(StageKind::Words, |arguments| Ok(AnyStage::Words(arguments.read::<CharsParams>()?.0)))
    }

    /// A stage that makes a matrix of words.
    pub fn vectorizer<P: Vectorizer>() -> Self {
        Self::of::<P>(StageKind::Vectorize, |arguments| Ok(AnyStage::Vectorize(Arc::new(arguments.read::<P>()?))))
    }

    /// A stage that makes a matrix of a matrix.
    pub fn projector<P: Projector>() -> Self {
        Self::of::<P>(StageKind::Project, |arguments| Ok(AnyStage::Project(Arc::new(arguments.read::<P>()?))))
    }

    /// A stage that makes scores of a matrix. It gets the parameters of every classifier beside its own: `calibrate` and, where
    /// it can, `self_training`.
    pub fn classifier<P: Classifier>() -> Self {
        Self::of::<Framed<P>>(StageKind::Classify, |arguments| {
            Ok(AnyStage::Classify(Arc::new(arguments.read::<Framed<P>>()?)))
        })
    }

    /// The stage whose members are recipes.
    fn vote() -> Self {
        Self::of::<VoteParams>(StageKind::Vote, |arguments| Ok(AnyStage::Vote(arguments.read()?)))
    }

    /// Reads the arguments of a call.
    pub(super) fn read(&self, arguments: &Arguments<'_>) -> Result<AnyStage> {
        (self.read)(arguments)
    }
}

/// Systems of the papers that are known by name and not to be had, with the reason.
const REFUSED: &[(&str, &str)] = &[(
    "ntsg",
    "what the SCDV paper and the abstract of Liu, Qiu and Huang (2015) say does not tell its three variants apart (how the slices of \
     the tensor are factored, of which rank, and what of them makes a document); `twe` and `ltsg` are its nearest kin",
)];

/// Why there is no stage of that name, for a system of the papers that cannot be built.
pub(super) fn refused(name: &str) -> Option<&'static str> {
    REFUSED.iter().find(|(known, _)| *known == name).map(|(_, reason)| *reason)
}

/// Stages by name.
#[derive(Debug, Clone)]
pub struct Registry {
    stages: Vec<Stage>,
}

impl Registry {
    /// The stages of the house.
    pub fn standard() -> Self {
        Registry {
            stages: vec![
                Stage::words(),
                Stage::chars(),
                Stage::vectorizer::<CountsParams>(),
                Stage::vectorizer::<BinaryParams>(),
                Stage::vectorizer::<TfidfParams>(),
                Stage::vectorizer::<ScdvParams>(),
                Stage::vectorizer::<BowvParams>(),
                Stage::vectorizer::<ConceptsParams>(),
                Stage::vectorizer::<AverageParams>(),
                Stage::vectorizer::<ParagraphParams>(),
                Stage::vectorizer::<TweParams>(),
                Stage::vectorizer::<LtsgParams>(),
                Stage::vectorizer::<DirichletParams>(),
                Stage::vectorizer::<ColumnParams>(),
                Stage::projector::<InformationGainParams>(),
                Stage::projector::<LsiParams>(),
                Stage::projector::<SprinkleParams>(),
                Stage::projector::<SlsiParams>(),
                Stage::projector::<LocalLsiParams>(),
                Stage::projector::<VarNormParams>(),
                Stage::projector::<DiscriminantParams>(),
                Stage::projector::<DcotParams>(),
                Stage::projector::<PmiParams>(),
                Stage::projector::<NormalizeParams>(),
                Stage::classifier::<KnnParams>(),
                Stage::classifier::<SvmParams>(),
                Stage::classifier::<LogisticParams>(),
                Stage::classifier::<BayesParams>(),
                Stage::vote(),
            ],
        }
    }

    /// The same registry for everybody who adds nothing to it.
    pub(super) fn shared() -> Arc<Registry> {
        static STANDARD: LazyLock<Arc<Registry>> = LazyLock::new(|| Arc::new(Registry::standard()));
        Arc::clone(&STANDARD)
    }

    /// The same with one more stage; a name can be given once.
    pub fn with(mut self, stage: Stage) -> Result<Self> {
        if self.find(stage.name).is_some() {
            return Err(Error::data(format!("there is a stage `{}` already; give yours another name", stage.name)));
        }
        self.stages.push(stage);
        Ok(self)
    }

    /// Every stage.
    pub fn stages(&self) -> impl Iterator<Item = &Stage> {
        self.stages.iter()
    }

    /// The stage of that name.
    pub fn find(&self, name: &str) -> Option<&Stage> {
        self.stages.iter().find(|stage| stage.name == name)
    }

    /// Reads a recipe or the name of a preset, and checks it.
    pub fn parse(&self, text: &str) -> Result<Recipe> {
        plan::parse(text, Arc::new(self.clone()))
    }

    /// Reads the file of a model whose recipe names stages of this registry.
    pub fn load(&self, path: impl AsRef<Path>, run: &Run) -> Result<Model> {
        Model::load_with(path.as_ref(), Arc::new(self.clone()), run)
    }

    /// A model from the bytes of its file, checked whole.
    pub fn from_bytes(&self, bytes: &[u8], run: &Run) -> Result<Model> {
        Model::read(&mut &bytes[..], Some(bytes.len() as u64), Arc::new(self.clone()), run)
    }
}
