//! The command line as it is typed.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

mod retrieval;
mod serving;

pub(crate) use retrieval::{
    Duplicates, EvaluateSearch, Function, Index, Mixing, Rank, Search, SimilarDocuments, TuneSearch, Widening,
};
pub(crate) use serving::{Drift, Label, Listening, Serve};

/// Learn document representations and classify text, on a CPU.
#[derive(Debug, Parser)]
#[command(name = "corpuscle", version, about, disable_help_subcommand = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) everywhere: Everywhere,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags that every command takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct Everywhere {
    /// Seed of every random choice: same seed, same bits
    #[arg(long, global = true, value_name = "N", default_value_t = corpuscle::DEFAULT_SEED)]
    pub(crate) seed: u64,
    /// Worker threads, 0 for one per core; results do not depend on it
    #[arg(long, global = true, value_name = "N", default_value_t = 0)]
    pub(crate) threads: usize,
    /// No progress and no warnings
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// One JSON object on stdout instead of text for people
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Trains and compares on the embedded corpus, explains a prediction, writes a report
    Demo(Demo),
    /// Trains a model from documents and a recipe
    Train(Train),
    /// Adds documents to a model trained with --updatable, without the old texts
    Update(Update),
    /// Gives each document its label: one row out for every row in, in order; without DATA, answers lines as they are typed
    Predict(Predict),
    /// Measures a model on labelled documents
    Evaluate(Evaluate),
    /// Tries recipes on the same splits: mean, spread, paired t-test, time
    Compare(Compare),
    /// Searches the ranges of a recipe, such as svm(c=0.01..100 log), and prints the best as one line for --recipe
    Tune(Tune),
    /// Finds a good recipe for the documents within a time, and trains it
    Recommend(Recommend),
    /// Says which documents to label next, with a reason for each
    Suggest(Suggest),
    /// Writes the documents as vectors
    Embed(Embed),
    /// Shows what a model file holds
    Inspect(Inspect),
    /// Shows the terms behind each decision
    Explain(Explain),
    /// Shows what a representation has learnt about words: neighbours before and after, pairs drawn together and apart
    Terms(Terms),
    /// Shows the terms that names of classes bring to mind in a pile, before anything is labelled
    Expand(Expand),
    /// Runs a paper's table and shows ours beside theirs
    Reproduce(Reproduce),
    /// Shows the words nearest to a word, by a model's word vectors
    Similar(Similar),
    /// Trains word vectors and writes them for other programs
    Words(Words),
    /// Makes a search index of documents, adds to it, takes out of it
    Index(Index),
    /// Finds the documents of an index for a query, and says why; without a query, answers lines as they are typed
    Search(Search),
    /// Measures search against judgements: MAP, precision, nDCG, recall, reciprocal rank
    EvaluateSearch(EvaluateSearch),
    /// Chooses the constants of ranking, and the share of vectors, by judged queries
    TuneSearch(TuneSearch),
    /// Shows the documents most like one of them, by a model's vectors
    SimilarDocuments(SimilarDocuments),
    /// Finds documents that are the same, or nearly
    Duplicates(Duplicates),
    /// Shows the topics of a model, or finds those of documents: words, coherence, documents, labels, a page with a map
    Topics(Topics),
    /// Shows words that live in several clusters of a model, and what each sense is about
    Senses(Senses),
    /// Opens a page to label documents on, with a model that learns along
    Label(Label),
    /// Answers over HTTP: predict, explain, embed, search; a page to try it on
    Serve(Serve),
    /// Tells whether documents still look like those a model was trained on: novelty, class shares, new words
    Drift(Drift),
    /// Lists the stages and presets that recipes are made of
    Stages,
    /// Shows what this machine and this build have: cores, instruction sets, memory, where things are kept
    Doctor,
    /// Prints the script that completes commands and flags in a shell
    Completions(Completions),
    /// Writes the manual pages
    Man(Man),
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: CompletedShell,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum CompletedShell {
    Bash,
    Zsh,
    Fish,
}

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// The folder they are written to; made if it is not there
    #[arg(long, short, value_name = "DIR")]
    pub(crate) output: PathBuf,
}

/// How documents are read.
#[derive(Debug, Clone, Args)]
pub(crate) struct Reading {
    /// Field with the text; several joined with `+` (title+text) [default: text, else the only one that can be it]
    #[arg(long, value_name = "FIELD")]
    pub(crate) text: Option<String>,
    /// Field with the label or list of labels [default: label, else labels, else the only one that can be it]
    #[arg(long, value_name = "FIELD")]
    pub(crate) label: Option<String>,
    /// Field with the id [default: id, else the row number]
    #[arg(long, value_name = "FIELD")]
    pub(crate) id: Option<String>,
    /// Field with the weight of a document in training [default: weight, when there]
    #[arg(long, value_name = "FIELD")]
    pub(crate) weight: Option<String>,
    /// Keeps the documents whose FIELD is VALUE (or is not, with !=); may be repeated
    #[arg(long = "where", value_name = "FIELD=VALUE")]
    pub(crate) filters: Vec<String>,
    /// Format of the data [default: found out]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) input_format: Option<InputFormat>,
    /// Encoding of the data, such as windows-1252 or shift_jis [default: utf-8, or utf-16 where the data begin so]
    #[arg(long, value_name = "NAME")]
    pub(crate) encoding: Option<String>,
    /// Sheet of a workbook [default: the first]
    #[arg(long, value_name = "NAME")]
    pub(crate) sheet: Option<String>,
    /// Takes quotes in CSV or TSV data as plain characters
    #[arg(long)]
    pub(crate) no_quotes: bool,
    /// Longest line that is read, in megabytes
    #[arg(long, value_name = "MB", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) max_line: u32,
    /// Splits a label of CSV or TSV data at this character into several
    #[arg(long, value_name = "CHAR")]
    pub(crate) label_separator: Option<char>,
    /// Leaves out rows that cannot be read, counting them, instead of stopping at the first
    #[arg(long)]
    pub(crate) skip_bad: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum InputFormat {
    Jsonl,
    Csv,
    Tsv,
    Fasttext,
    Folders,
    Reuters,
    Parquet,
    Excel,
    Lines,
}

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Where the report is written
    #[arg(long, value_name = "FILE", default_value = "corpuscle-demo.html")]
    pub(crate) report: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Train {
    /// Files, folders or globs; `-` is standard input
    #[arg(required = true, value_name = "DATA")]
    pub(crate) data: Vec<String>,
    /// The recipe or the name of a preset (`corpuscle stages` lists them) [default: what `recommend` finds in 20 s]
    #[arg(long, short, value_name = "RECIPE")]
    pub(crate) recipe: Option<String>,
    /// Where the model is written
    #[arg(long, short, value_name = "MODEL")]
    pub(crate) output: PathBuf,
    /// More documents, whose labels are ignored; may be repeated
    #[arg(long, value_name = "DATA")]
    pub(crate) unlabelled: Vec<String>,
    /// What classes are about: a file of lines class, tab, name or description or seed words; also without any label
    #[arg(long, value_name = "FILE")]
    pub(crate) describe: Option<PathBuf>,
    /// Keeps term counts and labels of the documents (no text) in the model, so that `update` can add others
    #[arg(long)]
    pub(crate) updatable: bool,
    /// Keeps the words of the documents in a file in DIR while training, for more of them than fit memory; the model is the same.
    /// For recipes of counts, binary or tfidf [default DIR: that of the model]
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true, requires = "recipe", conflicts_with = "updatable", conflicts_with = "describe")]
    pub(crate) spill: Option<Option<PathBuf>>,
    /// Whether wide weights are kept in few directions and eight bits, or with every bit
    #[arg(long, value_enum, default_value_t, value_name = "PRECISION")]
    pub(crate) precision: Precision,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// How wide weights are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Precision {
    #[default]
    Compact,
    Full,
}

#[derive(Debug, Args)]
pub(crate) struct Update {
    /// The model, trained with --updatable
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// New documents: files, folders or globs; `-` is standard input
    #[arg(required = true, value_name = "DATA")]
    pub(crate) data: Vec<String>,
    /// Where the updated model is written
    #[arg(long, short, value_name = "MODEL")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Predict {
    /// The model
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// Files, folders or globs; `-` is standard input [default: standard input; on a terminal, line by line]
    #[arg(value_name = "DATA")]
    pub(crate) data: Vec<String>,
    /// The K best classes of each document, with their scores
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) top: Option<u32>,
    /// Probabilities
    #[arg(long)]
    pub(crate) proba: bool,
    /// Answers only where at most this share of the answers is wrong, by a bound from out-of-fold scores that holds with
    /// probability 0.95 for documents like the training ones (0.05: 5 %); the other rows have no label. Where no threshold keeps
    /// the rate, no row has one
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub(crate) abstain: Option<f64>,
    /// Adds the p-value of being like the training documents: small for foreign ones, about uniform for others
    #[arg(long)]
    pub(crate) novelty: bool,
    /// Gives all columns of the data back, with the label beside them
    #[arg(long)]
    pub(crate) keep: bool,
    /// How the rows are written [default: as the name of the output says; else tsv, with --keep as the data if that is jsonl
    /// or tsv, else csv]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<RowFormat>,
    /// Writes to a file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RowFormat {
    Tsv,
    Csv,
    Jsonl,
    Fasttext,
    Parquet,
}

#[derive(Debug, Args)]
pub(crate) struct Evaluate {
    /// The model
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// Files, folders or globs; `-` is standard input
    #[arg(required = true, value_name = "DATA")]
    pub(crate) data: Vec<String>,
    /// Labels in their order: also reports the mean absolute error and the share at most one place off
    #[arg(long, value_name = "LABELS", value_delimiter = ',')]
    pub(crate) ordinal: Vec<String>,
    /// Labels are paths with this between their parts: also reports accuracy per level
    #[arg(long, value_name = "SEPARATOR")]
    pub(crate) hierarchy: Option<String>,
    /// Also reports the error among the answers that `predict --abstain RATE` gives, and error against coverage
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub(crate) abstain: Option<f64>,
    /// Also writes a page with tables and charts
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// Files, folders or globs; `-` is standard input
    #[arg(required = true, value_name = "DATA")]
    pub(crate) data: Vec<String>,
    /// A recipe or the name of a preset; give it several times
    #[arg(long = "recipe", short, required = true, value_name = "RECIPE")]
    pub(crate) recipes: Vec<String>,
    /// Independent draws of a training and a test part [default: 10], or of the labels that are left [default: 5]
    #[arg(long, value_name = "N", conflicts_with = "folds", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) runs: Option<u32>,
    /// Share of every label that is learnt from in a draw
    #[arg(long, value_name = "SHARE", default_value_t = 0.5, conflicts_with = "folds")]
    pub(crate) train: f64,
    /// Folds of one cross-validation instead of draws
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub(crate) folds: Option<u32>,
    /// Learns from the documents whose FIELD is `train` and tests on those whose FIELD is `test`, instead of draws
    #[arg(long, value_name = "FIELD", conflicts_with_all = ["folds", "runs", "train", "labels"])]
    pub(crate) split: Option<String>,
    /// Keeps every result in this file, line by line; the same call goes on where it was interrupted
    #[arg(long, value_name = "FILE", conflicts_with = "labels")]
    pub(crate) results: Option<PathBuf>,
    /// Numbers of labels to learn from, such as 100,500,all: hides the others, draws each --runs times, and tests on the
    /// documents whose field `split` is `test`, on --test, or on one held-out part
    #[arg(long, value_name = "N,…", value_delimiter = ',', conflicts_with = "folds")]
    pub(crate) labels: Vec<String>,
    /// Also draws curves of labels asked for as `corpuscle suggest` says, 50 at a time; the others are then drawn without care that
    /// every class has one, as somebody draws who knows no class yet
    #[arg(long, requires = "labels")]
    pub(crate) active: bool,
    /// Documents to test on, with --labels
    #[arg(long, value_name = "DATA", requires = "labels")]
    pub(crate) test: Vec<String>,
    /// Also writes a page: with --labels the curves, else what the best recipe did with every document
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Tune {
    /// Files, folders or globs; `-` is standard input
    #[arg(required = true, value_name = "DATA")]
    pub(crate) data: Vec<String>,
    /// A recipe with ranges: whole numbers 20..120, real numbers 0.1..2, `log` behind for ratios, lists {1|3|10}
    #[arg(long, short, value_name = "RECIPE")]
    pub(crate) recipe: String,
    /// Most trials, each one cross-validation [default: 20 without --budget]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) trials: Option<u32>,
    /// Most seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) budget: Option<Duration>,
    /// Folds of the cross-validation
    #[arg(long, value_name = "K", default_value_t = 5, value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub(crate) folds: u32,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Recommend {
    /// Files, folders or globs; `-` is standard input
    #[arg(required = true, value_name = "DATA")]
    pub(crate) data: Vec<String>,
    /// Seconds for comparing recipes and training the best
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub(crate) budget: Duration,
    /// Where the model is written
    #[arg(long, short, value_name = "MODEL")]
    pub(crate) output: PathBuf,
    /// More documents, whose labels are ignored; may be repeated
    #[arg(long, value_name = "DATA")]
    pub(crate) unlabelled: Vec<String>,
    /// What classes are about: a file of lines class, tab, name or description or seed words; also without any label
    #[arg(long, value_name = "FILE")]
    pub(crate) describe: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Expand {
    /// What classes are about: lines of class, tab, name or description or seed words
    #[arg(value_name = "NAMES")]
    pub(crate) names: PathBuf,
    /// The pile: files, folders or globs; `-` is standard input
    #[arg(required = true, value_name = "DATA")]
    pub(crate) data: Vec<String>,
    /// How documents become terms
    #[arg(long, short, value_name = "RECIPE", default_value = "tfidf(sublinear=true, min_df=2)")]
    pub(crate) recipe: String,
    /// Terms shown for each class
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) top: u32,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Suggest {
    /// Files, folders or globs; `-` is standard input. Documents with a label count as labelled already
    #[arg(required = true, value_name = "DATA")]
    pub(crate) data: Vec<String>,
    /// How many documents
    #[arg(long, short, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) number: u32,
    /// More documents, whose labels are ignored; may be repeated
    #[arg(long, value_name = "DATA")]
    pub(crate) unlabelled: Vec<String>,
    /// A model trained on the labels so far; half of the documents are then those it wavers about most
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|&rate| rate > 0.0 && rate < 1.0);
    rate.ok_or_else(|| "a share of wrong answers between 0 and 1, such as 0.05".to_string())
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|&seconds| (0.0..=1e7).contains(&seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "a number of seconds, from 0 to 10 million".to_string())
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// The model
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// Files, folders or globs; `-` is standard input
    #[arg(required = true, value_name = "DATA")]
    pub(crate) data: Vec<String>,
    /// How many terms to show of each document
    #[arg(long, value_name = "K", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) top: u32,
    /// Training documents (files, folders or globs) among which the nearest of each document are shown; a `knn` model has
    /// its own
    #[arg(long, value_name = "DATA", num_args = 1..)]
    pub(crate) neighbours: Vec<String>,
    /// Keeps the training documents whose field has this value (FIELD=VALUE or FIELD!=VALUE); --where is for the others
    #[arg(long, value_name = "FIELD=VALUE", requires = "neighbours")]
    pub(crate) neighbours_where: Vec<String>,
    /// How many nearest documents to show
    #[arg(long, value_name = "K", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) near: u32,
    /// Also writes a page: each text with its terms highlighted
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Terms {
    /// The model
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// Words to look up; without any, the pairs of terms that labels drew together and apart most
    #[arg(value_name = "WORD")]
    pub(crate) words: Vec<String>,
    /// Two words: how close they are before and after the labels have their say; may be given several times
    #[arg(long, value_name = "WORD,WORD", value_parser = word_pair)]
    pub(crate) pair: Vec<(String, String)>,
    /// How many to show
    #[arg(long, value_name = "K", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) top: u32,
}

fn word_pair(text: &str) -> Result<(String, String), String> {
    match text.split_once(',').map(|(one, other)| (one.trim(), other.trim())) {
        Some((one, other)) if !one.is_empty() && !other.is_empty() => Ok((one.into(), other.into())),
        _ => Err("two words with a comma between them, such as opec,refinery".into()),
    }
}

#[derive(Debug, Args)]
pub(crate) struct Reproduce {
    /// The protocol (`--list` shows them), or a .json file with one of your own
    #[arg(value_name = "NAME", required_unless_present_any = ["list", "all"], conflicts_with = "all")]
    pub(crate) name: Option<String>,
    /// Every protocol of a paper whose data are there, one after the other; --report then has all of them on one page
    #[arg(long)]
    pub(crate) all: bool,
    /// Folder with the data
    #[arg(long, value_name = "DIR", required_unless_present = "list")]
    pub(crate) data: Option<PathBuf>,
    /// Two draws instead of the protocol's number, and less work in each where the protocol says how
    #[arg(long)]
    pub(crate) quick: bool,
    /// Draws instead of the protocol's number
    #[arg(long, value_name = "N", conflicts_with = "quick", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) runs: Option<u32>,
    /// Writes a page with tables and charts
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Lists the protocols
    #[arg(long)]
    pub(crate) list: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Embed {
    /// The model
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// Files, folders or globs; `-` is standard input
    #[arg(required = true, value_name = "DATA")]
    pub(crate) data: Vec<String>,
    /// Where the vectors are written: .npy, .jsonl or .parquet
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Inspect {
    /// The model
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Similar {
    /// A model whose recipe has word vectors
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// The words
    #[arg(required = true, value_name = "WORD")]
    pub(crate) words: Vec<String>,
    /// How many words for each
    #[arg(long, value_name = "K", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) top: u32,
}

#[derive(Debug, Args)]
pub(crate) struct Topics {
    /// A model with topics (`dirichlet`, `scdv`, `bowv`, `lsi`) and documents to look at; or documents alone, whose topics are found
    #[arg(required = true, value_name = "MODEL|DATA")]
    pub(crate) data: Vec<String>,
    /// How many topics to find in documents [default: 80]
    #[arg(long = "topics", short = 'n', value_name = "N")]
    pub(crate) topics: Option<usize>,
    /// The recipe to find topics with [default: words(stop=smart, min_length=3) | dirichlet(N)]
    #[arg(long, short, value_name = "RECIPE")]
    pub(crate) recipe: Option<String>,
    /// Where the model is written
    #[arg(long, short, value_name = "MODEL")]
    pub(crate) output: Option<PathBuf>,
    /// Writes a page with a map of the topics
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Fits with five seeds, and says which topics come back
    #[arg(long)]
    pub(crate) stable: bool,
    /// Shows the topics along a field of the documents: a date, a number, a name
    #[arg(long, value_name = "FIELD")]
    pub(crate) over: Option<String>,
    /// Documents by which coherence is counted [default: the documents]
    #[arg(long, value_name = "DATA")]
    pub(crate) reference: Vec<String>,
    /// Words of a topic
    #[arg(long, value_name = "K", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) words: u32,
    /// Closest documents of a topic
    #[arg(long, value_name = "K", default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub(crate) documents: u32,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Senses {
    /// A model that clusters words: `scdv`
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// The words [default: the most ambiguous]
    #[arg(value_name = "WORD")]
    pub(crate) words: Vec<String>,
    /// The least probability of a sense
    #[arg(long, value_name = "P", default_value_t = 0.2)]
    pub(crate) least: f64,
    /// Documents to take example sentences from
    #[arg(long, value_name = "DATA")]
    pub(crate) examples: Vec<String>,
    /// Sentences of a sense
    #[arg(long, value_name = "K", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) sentences: u32,
    /// How many ambiguous words
    #[arg(long, value_name = "K", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) top: u32,
    /// Words shown of a sense's cluster
    #[arg(long = "words", value_name = "K", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) words_shown: u32,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Words {
    /// Files, folders or globs; `-` is standard input
    #[arg(required = true, value_name = "DATA")]
    pub(crate) data: Vec<String>,
    /// Where the vectors are written
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// How the file is written [default: binary for .bin, glove when the name says so, else text]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<VectorFileFormat>,
    /// How texts become words, as in a recipe: "words(stop=english)"
    #[arg(long, value_name = "STAGE", default_value = "words")]
    pub(crate) words: String,
    /// Length of a vector
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub(crate) dim: usize,
    /// Words to either side that count as context
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) window: usize,
    /// Random words set against each pair
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) negatives: usize,
    /// Fewest occurrences of a word with a vector
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) min_count: u64,
    /// Share of all words above which a word is thinned out; 0 for none
    #[arg(long, value_name = "SHARE", default_value_t = 1e-3)]
    pub(crate) subsample: f64,
    /// Passes over the documents
    #[arg(long, value_name = "N", default_value_t = 25)]
    pub(crate) epochs: usize,
    /// The words around a word predict it, instead of it predicting them
    #[arg(long)]
    pub(crate) cbow: bool,
    /// Nothing is predicted: words as `lsi` has them, for piles too small to learn by prediction
    #[arg(long, conflicts_with = "cbow")]
    pub(crate) lsi: bool,
    /// Threads do not wait for each other: no two runs are equal
    #[arg(long)]
    pub(crate) nondeterministic: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum VectorFileFormat {
    /// word2vec and fastText text, with a line of sizes
    Text,
    /// word2vec binary
    Binary,
    /// GloVe text
    Glove,
}
