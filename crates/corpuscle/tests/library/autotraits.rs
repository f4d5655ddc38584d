//! Public types can be sent to and shared between threads: what servers and other languages' bindings build on.

use corpuscle::{
    Error, Key, Run, Silent, classify, corpus, experiment, matrix, metrics, project, recipe, report, store,
};
use corpuscle::{text, topics, vectorize, words};

const fn shared<T: Send + Sync + 'static>() {}
const fn sent<T: Send>() {}

macro_rules! shared {
    ($($kind:ty),+ $(,)?) => { $(const _: () = shared::<$kind>();)+ };
}

shared!(Error, Run, Silent, Key, store::StoreWriter, store::StoreReader<'static>);
shared!(
    corpus::Document,
    corpus::Labels,
    corpus::LabelCounts,
    corpus::ReadOptions,
    corpus::Filter,
    corpus::Format,
    corpus::Skipped,
    corpus::Demo,
);
shared!(
    text::Tokens,
    text::Lexicon,
    text::WordsParams,
    text::Tokenizer,
    text::Stemmer,
    text::Stop,
    text::StopList,
    text::Strip,
);
shared!(
    matrix::Buffer<u32>,
    matrix::Buffer<u64>,
    matrix::Buffer<f32>,
    matrix::Csr,
    matrix::RowsMut<'static>,
    matrix::Dense,
    matrix::Matrix,
    matrix::Row<'static>,
);
shared!(
    words::WordVectors,
    words::SkipGramParams,
    words::Kmeans,
    words::KmeansParams,
    words::Mixture,
    words::MixtureParams,
    words::VectorFormat,
);
shared!(
    vectorize::CountsParams,
    vectorize::CountsModel,
    vectorize::TfidfParams,
    vectorize::TfidfModel,
    vectorize::TermCounts,
    vectorize::DirichletParams,
    vectorize::DirichletModel,
    topics::TopicTable,
    topics::Topic,
    topics::Reference<'static>,
    topics::WordSenses,
    vectorize::Vocabulary,
    vectorize::Bound,
    vectorize::Norm,
    vectorize::AverageParams,
    vectorize::AverageModel,
    vectorize::BowvParams,
    vectorize::CompositeModel,
    vectorize::ConceptsParams,
    vectorize::ConceptsModel,
    vectorize::ScdvParams,
    vectorize::SpaceParams,
    vectorize::WordSpace,
);
shared!(
    project::InformationGainParams,
    project::InformationGainModel,
    project::GainCounts,
    project::LsiParams,
    project::LsiModel,
    project::NormalizeParams,
    project::NormalizeModel,
    project::SprinkleParams,
    project::SprinkleModel,
    project::VarNormParams,
    project::VarNormModel,
    project::DiscriminantParams,
    project::DiscriminantModel,
    project::DcotParams,
    project::DcotModel,
);
shared!(
    classify::SvmParams,
    classify::SvmModel,
    classify::LogisticParams,
    classify::LogisticModel,
    classify::KnnParams,
    classify::KnnModel,
    classify::LinearModel,
    classify::Calibration,
    classify::Thresholds,
    classify::Framed<classify::SvmParams>,
    classify::ClassWeight,
    classify::Reached,
);
shared!(
    metrics::Predictions,
    metrics::Evaluation,
    metrics::Confusion,
    metrics::LabelCounts,
    metrics::DetCurve,
    metrics::RankingScores,
);
shared!(
    recipe::Recipe,
    recipe::Model,
    recipe::Predictor,
    recipe::Prediction<'static>,
    recipe::Corpus,
    recipe::Predictions,
    recipe::Represented,
    recipe::Registry,
    recipe::Stage
);
shared!(
    experiment::ResultsFile,
    experiment::Outcome,
    experiment::Comparison,
    experiment::Recommendation,
    experiment::RecommendParams,
    experiment::Space,
    experiment::TuneParams,
    experiment::Tuning,
    experiment::Split,
);
shared!(report::html::Report);

// A reader or a builder is one thread's at a time.
const _: () = sent::<corpus::Documents>();
const _: () = sent::<text::TokensBuilder>();

/// The check is made when this file is compiled; the test shows that it was.
#[test]
fn public_types_are_send_and_sync() {
    sent::<Run>();
}
