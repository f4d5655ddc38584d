//! Adapters of the vectorizers made of word vectors: `scdv`, `bowv`, `concepts`, `average`.

use std::sync::Arc;

use super::{AnyStage, StageInfo, StageKind, word_of};
use crate::matrix::Matrix;
use crate::recipe::arguments::{Arguments, Parameter, Shown};
use crate::recipe::stage::{FittedVectorizer, Stage, Vectorizer};
use crate::store::{StoreReader, StoreWriter};
use crate::text::Tokens;
use crate::vectorize::{
    AverageModel, AverageParams, BowvModel, BowvParams, ConceptsModel, ConceptsParams, ScdvModel, ScdvParams,
    SpaceParams, Weighting, WordSpace,
};
use crate::words::{Architecture, Covariance};
use crate::{Result, Run};

const ARCHITECTURES: &[(&str, Architecture)] = &[("skip-gram", Architecture::SkipGram), ("cbow", Architecture::Cbow)];
const COVARIANCES: &[(&str, Covariance)] = &[
    ("shared-full", Covariance::SharedFull),
    ("shared-spherical", Covariance::SharedSpherical),
    ("diagonal", Covariance::Diagonal),
];
const WEIGHTINGS: &[(&str, Weighting)] = &[("tfidf", Weighting::Tfidf), ("plain", Weighting::Plain)];

const DIM: Parameter = Parameter { name: "dim", about: "length of a word vector (200)" };
const WINDOW: Parameter = Parameter { name: "window", about: "words to either side that count as context (10)" };
const NEGATIVES: Parameter = Parameter { name: "negatives", about: "random words set against each pair (10)" };
const MIN_COUNT: Parameter = Parameter { name: "min_count", about: "fewest occurrences of a word with a vector (20)" };
const SUBSAMPLE: Parameter =
    Parameter { name: "subsample", about: "share of all words above which a word is thinned out; 0: none (0.001)" };
const EPOCHS: Parameter = Parameter { name: "epochs", about: "passes over the documents (25)" };
const TRAINING: Parameter = Parameter { name: "training", about: "skip-gram (default) or cbow" };
const DETERMINISTIC: Parameter = Parameter {
    name: "deterministic",
    about: "false: threads do not wait for each other, no two runs are equal (true)",
};
const VECTORS: Parameter = Parameter {
    name: "vectors",
    about: "a file of word vectors to use instead of training: word2vec, GloVe or fastText (none)",
};
const CLUSTERS: Parameter = Parameter { name: "clusters", about: "clusters of words (60)" };
const SPARSITY: Parameter =
    Parameter { name: "sparsity", about: "entries below this many hundredths of the mean largest one become zero (4)" };

fn read_space(arguments: &mut Arguments<'_>, space: &mut SpaceParams) -> Result<()> {
    let training = &mut space.training;
    arguments.parse("dim", &mut training.dim)?;
    arguments.parse("window", &mut training.window)?;
    arguments.parse("negatives", &mut training.negatives)?;
    arguments.parse("min_count", &mut training.min_count)?;
    arguments.float("subsample", &mut training.subsample)?;
    arguments.parse("epochs", &mut training.epochs)?;
    arguments.choice("training", &mut training.architecture, ARCHITECTURES)?;
    arguments.parse("deterministic", &mut training.deterministic)?;
    arguments.read("vectors", &mut space.vectors, |path| match path {
        "none" => Some(None),
        "" => None,
        _ => Some(Some(path.to_string())),
    })
}

fn show_space(space: &SpaceParams) -> Shown {
    let (own, default) = (&space.training, &SpaceParams::default().training);
    Shown::new()
        .plain("dim", &own.dim, &default.dim)
        .plain("window", &own.window, &default.window)
        .plain("negatives", &own.negatives, &default.negatives)
        .plain("min_count", &own.min_count, &default.min_count)
        .plain("subsample", &own.subsample, &default.subsample)
        .plain("epochs", &own.epochs, &default.epochs)
        .add("training", &own.architecture, &default.architecture, |value| word_of(ARCHITECTURES, value))
        .plain("deterministic", &own.deterministic, &default.deterministic)
        .add("vectors", &space.vectors, &None, |path| path.clone().unwrap_or("none".to_string()))
}

/// Names for columns that stand for a direction within a cluster.
fn composite_names(stage: &str, columns: usize, clusters: usize, dim: usize) -> Vec<String> {
    (0..columns)
        .map(|column| match column < clusters * dim {
            true => format!("{stage} cluster {} dimension {}", column / dim, column % dim),
            false => format!("{stage} cluster {}", column - clusters * dim),
        })
        .collect()
}

/// What all four have in common: the parameters as a stage still to be fitted and the model as a fitted one, whose columns
/// are named by a function of the model.
macro_rules! adapter {
    ($params:ty, $model:ty, $names:expr) => {
        impl Vectorizer for $params {
            fn fit(&self, tokens: &Tokens, run: &Run) -> Result<(Box<dyn FittedVectorizer>, Matrix)> {
                let (model, x) = <$params>::fit(self, tokens, run)?;
                Ok((Box::new(model), x.into()))
            }

            fn load(&self, store: &StoreReader<'_>) -> Result<Box<dyn FittedVectorizer>> {
                Ok(Box::new(<$model>::load(store)?))
            }
        }

        impl FittedVectorizer for $model {
            fn transform(&self, tokens: &Tokens, run: &Run) -> Result<Matrix> {
                Ok(<$model>::transform(self, tokens, run)?.into())
            }

            fn save(&self, out: &mut StoreWriter) -> Result<()> {
                <$model>::save(self, out)
            }

            fn feature_names(&self) -> Vec<String> {
                $names(self)
            }

            fn n_columns(&self) -> usize {
                self.n_features()
            }

            fn word_space(&self) -> Option<&WordSpace> {
                Some(self.space())
            }
        }
    };
}

pub(super) const SCDV: StageInfo = StageInfo {
    name: "scdv",
    kind: StageKind::Vectorize,
    about: "word vectors, softly clustered, weighed by rarity, a part for each cluster",
    parameters: &[
        DIM,
        CLUSTERS,
        Parameter {
            name: "covariance",
            about: "shape of the clusters: shared-full (default), shared-spherical or diagonal",
        },
        SPARSITY,
        WINDOW,
        NEGATIVES,
        MIN_COUNT,
        SUBSAMPLE,
        EPOCHS,
        TRAINING,
        DETERMINISTIC,
        VECTORS,
    ],
    build: |arguments| {
        let mut params = ScdvParams::default();
        read_space(arguments, &mut params.space)?;
        arguments.parse("clusters", &mut params.clusters)?;
        arguments.choice("covariance", &mut params.covariance, COVARIANCES)?;
        arguments.float("sparsity", &mut params.sparsity)?;
        Ok(AnyStage::Vectorize(Arc::new(params)))
    },
};

impl Stage for ScdvParams {
    fn name(&self) -> &'static str {
        SCDV.name
    }

    fn arguments(&self) -> Vec<(&'static str, String)> {
        let default = ScdvParams::default();
        show_space(&self.space)
            .plain("clusters", &self.clusters, &default.clusters)
            .add("covariance", &self.covariance, &default.covariance, |value| word_of(COVARIANCES, value))
            .plain("sparsity", &self.sparsity, &default.sparsity)
            .into_arguments()
    }

    fn check(&self) -> Result<()> {
        ScdvParams::check(self)
    }
}

adapter!(ScdvParams, ScdvModel, |model: &ScdvModel| {
    composite_names(SCDV.name, model.n_features(), model.posteriors().cols(), model.space().vectors().dim())
});

pub(super) const BOWV: StageInfo = StageInfo {
    name: "bowv",
    kind: StageKind::Vectorize,
    about: "word vectors summed up cluster by cluster, and the weight of each cluster",
    parameters: &[
        DIM,
        CLUSTERS,
        SPARSITY,
        WINDOW,
        NEGATIVES,
        MIN_COUNT,
        SUBSAMPLE,
        EPOCHS,
        TRAINING,
        DETERMINISTIC,
        VECTORS,
    ],
    build: |arguments| {
        let mut params = BowvParams::default();
        read_space(arguments, &mut params.space)?;
        arguments.parse("clusters", &mut params.clusters)?;
        arguments.float("sparsity", &mut params.sparsity)?;
        Ok(AnyStage::Vectorize(Arc::new(params)))
    },
};

impl Stage for BowvParams {
    fn name(&self) -> &'static str {
        BOWV.name
    }

    fn arguments(&self) -> Vec<(&'static str, String)> {
        let default = BowvParams::default();
        show_space(&self.space)
            .plain("clusters", &self.clusters, &default.clusters)
            .plain("sparsity", &self.sparsity, &default.sparsity)
            .into_arguments()
    }

    fn check(&self) -> Result<()> {
        BowvParams::check(self)
    }
}

adapter!(BowvParams, BowvModel, |model: &BowvModel| {
    let dim = model.space().vectors().dim();
    composite_names(BOWV.name, model.n_features(), model.n_features() / (dim + 1), dim)
});

pub(super) const CONCEPTS: StageInfo = StageInfo {
    name: "concepts",
    kind: StageKind::Vectorize,
    about: "how many words of each cluster of words there are, weighed by rarity",
    parameters: &[DIM, CLUSTERS, WINDOW, NEGATIVES, MIN_COUNT, SUBSAMPLE, EPOCHS, TRAINING, DETERMINISTIC, VECTORS],
    build: |arguments| {
        let mut params = ConceptsParams::default();
        read_space(arguments, &mut params.space)?;
        arguments.parse("clusters", &mut params.clusters)?;
        Ok(AnyStage::Vectorize(Arc::new(params)))
    },
};

impl Stage for ConceptsParams {
    fn name(&self) -> &'static str {
        CONCEPTS.name
    }

    fn arguments(&self) -> Vec<(&'static str, String)> {
        let default = ConceptsParams::default();
        show_space(&self.space).plain("clusters", &self.clusters, &default.clusters).into_arguments()
    }

    fn check(&self) -> Result<()> {
        ConceptsParams::check(self)
    }
}

adapter!(ConceptsParams, ConceptsModel, |model: &ConceptsModel| {
    (0..model.n_features()).map(|concept| format!("concept {concept}")).collect()
});

pub(super) const AVERAGE: StageInfo = StageInfo {
    name: "average",
    kind: StageKind::Vectorize,
    about: "the average word vector",
    parameters: &[
        DIM,
        Parameter { name: "weights", about: "tfidf (default) or plain" },
        WINDOW,
        NEGATIVES,
        MIN_COUNT,
        SUBSAMPLE,
        EPOCHS,
        TRAINING,
        DETERMINISTIC,
        VECTORS,
    ],
    build: |arguments| {
        let mut params = AverageParams::default();
        read_space(arguments, &mut params.space)?;
        arguments.choice("weights", &mut params.weighting, WEIGHTINGS)?;
        Ok(AnyStage::Vectorize(Arc::new(params)))
    },
};

impl Stage for AverageParams {
    fn name(&self) -> &'static str {
        AVERAGE.name
    }

    fn arguments(&self) -> Vec<(&'static str, String)> {
        show_space(&self.space)
            .add("weights", &self.weighting, &Weighting::default(), |value| word_of(WEIGHTINGS, value))
            .into_arguments()
    }

    fn check(&self) -> Result<()> {
        AverageParams::check(self)
    }
}

// Dimensions stand for no term.
adapter!(AverageParams, AverageModel, |_: &AverageModel| Vec::new());
