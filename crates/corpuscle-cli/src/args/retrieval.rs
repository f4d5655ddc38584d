//! The commands that find documents, as they are typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Reading;

#[derive(Debug, Args)]
pub(crate) struct Index {
    /// Files, folders or globs; `-` is standard input
    #[arg(value_name = "DATA")]
    pub(crate) data: Vec<String>,
    /// The folder of the index; made if it is not there
    #[arg(long, short, value_name = "INDEX")]
    pub(crate) output: PathBuf,
    /// Adds to the index that is there; a document whose id is known is replaced
    #[arg(long)]
    pub(crate) add: bool,
    /// Takes the document with this id out; may be repeated
    #[arg(long, value_name = "ID")]
    pub(crate) delete: Vec<String>,
    /// How texts and queries become words, as in a recipe
    #[arg(long, value_name = "WORDS", default_value = "words(stem=porter, stop=english)")]
    pub(crate) words: String,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// How documents are ranked.
#[derive(Debug, Clone, Args)]
pub(crate) struct Rank {
    /// The ranking function: bm25, or query likelihood with one of two smoothings
    #[arg(long, value_enum, value_name = "FUNCTION", default_value = "bm25")]
    pub(crate) rank: Function,
    /// k1 of bm25
    #[arg(long, value_name = "X")]
    pub(crate) k1: Option<f64>,
    /// b of bm25
    #[arg(long, value_name = "X")]
    pub(crate) b: Option<f64>,
    /// Tokens of the collection every document is taken to hold (dirichlet)
    #[arg(long, value_name = "X")]
    pub(crate) mu: Option<f64>,
    /// Share of the collection in every document (jelinek-mercer)
    #[arg(long, value_name = "X")]
    pub(crate) smoothing: Option<f64>,
    /// Adds probabilities instead of their logarithms
    #[arg(long)]
    pub(crate) linear: bool,
    /// Lets the best documents widen the query
    #[arg(long, value_enum, value_name = "MODEL")]
    pub(crate) feedback: Option<Widening>,
    /// A model whose vectors have a say in the order
    #[arg(long, value_name = "MODEL")]
    pub(crate) vectors: Option<PathBuf>,
    /// The share of the vectors
    #[arg(long, value_name = "X", default_value_t = 0.5)]
    pub(crate) lambda: f64,
    /// How vectors come in: beside the score, or into the probability of each word
    #[arg(long, value_enum, value_name = "HOW", default_value = "scores")]
    pub(crate) mix: Mixing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Function {
    Bm25,
    Dirichlet,
    JelinekMercer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Widening {
    Mixture,
    Rm3,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mixing {
    Scores,
    Probabilities,
}

#[derive(Debug, Args)]
pub(crate) struct Search {
    /// The folder of the index
    #[arg(value_name = "INDEX")]
    pub(crate) index: PathBuf,
    /// What to look for; without it, queries are answered as they are typed
    #[arg(value_name = "QUERY")]
    pub(crate) query: Option<String>,
    /// How many documents to show
    #[arg(long, value_name = "K", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) top: u32,
    /// Answers every query of a file (JSON Lines, id and text with a tab, or TREC topics)
    #[arg(long, value_name = "FILE", conflicts_with = "query", requires = "output")]
    pub(crate) queries: Option<PathBuf>,
    /// Where the answers are written, as a TREC run
    #[arg(long, short, value_name = "FILE", requires = "queries")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) rank: Rank,
}

#[derive(Debug, Args)]
pub(crate) struct EvaluateSearch {
    /// The folder of the index; not needed with --run
    #[arg(value_name = "INDEX", required_unless_present = "runs")]
    pub(crate) index: Option<PathBuf>,
    /// The queries
    #[arg(long, value_name = "FILE", required_unless_present = "runs")]
    pub(crate) queries: Option<PathBuf>,
    /// The judgements
    #[arg(long, value_name = "FILE")]
    pub(crate) qrels: PathBuf,
    /// Measures a TREC run instead; given twice, the two are compared by a paired t-test
    #[arg(long = "run", value_name = "FILE", conflicts_with_all = ["index", "queries"])]
    pub(crate) runs: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) rank: Rank,
}

#[derive(Debug, Args)]
pub(crate) struct TuneSearch {
    /// The folder of the index
    #[arg(value_name = "INDEX")]
    pub(crate) index: PathBuf,
    /// The queries
    #[arg(long, value_name = "FILE")]
    pub(crate) queries: PathBuf,
    /// The judgements
    #[arg(long, value_name = "FILE")]
    pub(crate) qrels: PathBuf,
    #[command(flatten)]
    pub(crate) rank: Rank,
}

#[derive(Debug, Args)]
pub(crate) struct SimilarDocuments {
    /// The model whose vectors are compared
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// Files, folders or globs; `-` is standard input
    #[arg(required = true, value_name = "DATA")]
    pub(crate) data: Vec<String>,
    /// The document whose like are looked for
    #[arg(long, value_name = "ID")]
    pub(crate) to: String,
    /// How many to show
    #[arg(long, value_name = "K", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) top: u32,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Duplicates {
    /// Files, folders or globs; `-` is standard input
    #[arg(required = true, value_name = "DATA")]
    pub(crate) data: Vec<String>,
    /// The least share of runs of five words that two documents have in common; 1 finds those with the same words only
    #[arg(long, value_name = "X", default_value_t = 0.8)]
    pub(crate) threshold: f64,
    #[command(flatten)]
    pub(crate) reading: Reading,
}
