//! Our half of the side-by-side runs: does the work `bench/side_by_side.py` asks for and prints what it took as JSON.
//!
//! Every task starts from what the peer starts from: texts in memory for `vectorise`, the finished tf-idf matrix for
//! the classifiers. Times are the least of several repeats; objectives are computed in f64 from the fitted weights.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context;
use clap::Parser;
use corpuscle::Run;
use corpuscle::classify::{Classifier, ClassifierModel, KnnParams, LogisticParams, Multiclass, SvmParams};
use corpuscle::corpus::{Document, Filter, Labels, ReadOptions, read};
use corpuscle::matrix::{Dense, Matrix};
use corpuscle::project::Target;
use corpuscle::text::{Tokenizer, WordsParams};
use corpuscle::vectorize::{Bound, CountsParams, TfidfParams};
use corpuscle_bench::peak_memory;
use serde_json::{Map, Value, json};

#[derive(Debug, Parser)]
struct Args {
    /// JSON Lines with the fields text, label and split (train, test)
    #[arg(long)]
    data: String,
    /// Tasks: vectorise, bigrams, floor, svm, crammer_singer, logistic, knn
    #[arg(long, value_delimiter = ',')]
    tasks: Vec<String>,
    /// Runs of each task; the fastest counts
    #[arg(long, default_value_t = 3)]
    repeat: usize,
    /// Worker threads, 0 for one per core
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Where the neighbours of `knn` are written: 32-bit row numbers, ten a query
    #[arg(long)]
    neighbours: Option<PathBuf>,
}

/// Texts, matrices and labels of both parts.
struct Data {
    train_texts: Vec<String>,
    train: Matrix,
    test: Matrix,
    train_labels: Labels,
    test_labels: Labels,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let run = Run::new(42, args.threads)?;
    let data = load(&args.data, &run)?;
    let mut results = Map::new();
    for task in &args.tasks {
        let result = match task.as_str() {
            "vectorise" => vectorise(&data, 1, &args, &run)?,
            "bigrams" => vectorise(&data, 2, &args, &run)?,
            "floor" => floor(&data, &args, &run)?,
            "svm" => {
                let (seconds, model) = fastest(args.repeat, || {
                    Ok(SvmParams::default().fit(&data.train, &Target::new(&data.train_labels), &run)?)
                })?;
                scored(seconds, &model, &data, &run, Objective::SquaredHinge)?
            }
            "crammer_singer" => {
                let params = SvmParams { multiclass: Multiclass::CrammerSinger, ..SvmParams::default() };
                let (seconds, model) =
                    fastest(args.repeat, || Ok(params.fit(&data.train, &Target::new(&data.train_labels), &run)?))?;
                scored(seconds, &model, &data, &run, Objective::CrammerSinger)?
            }
            "logistic" => {
                let (seconds, model) = fastest(args.repeat, || {
                    Ok(LogisticParams::default().fit(&data.train, &Target::new(&data.train_labels), &run)?)
                })?;
                scored(seconds, &model, &data, &run, Objective::Multinomial)?
            }
            "knn" => {
                let (seconds, found) = fastest(args.repeat, || {
                    let model = KnnParams::default().fit(&data.train, &Target::new(&data.train_labels), &run)?;
                    Ok(model.neighbours(&data.test, 10, &run)?)
                })?;
                if let Some(path) = &args.neighbours {
                    let mut file = BufWriter::new(File::create(path)?);
                    for query in 0..found.len() {
                        for row in found.of(query).0 {
                            file.write_all(&row.to_le_bytes())?;
                        }
                    }
                }
                json!({"seconds": seconds})
            }
            other => anyhow::bail!("no task `{other}`"),
        };
        results.insert(task.clone(), result);
    }
    results.insert("peak_memory".into(), json!(peak_memory()));
    println!("{}", Value::Object(results));
    Ok(())
}

fn words() -> WordsParams {
    WordsParams { tokenizer: Tokenizer::Sklearn, ..WordsParams::default() }
}

fn tfidf(ngrams: usize) -> TfidfParams {
    let counts = CountsParams { ngrams, min_df: Bound::Count(2), ..CountsParams::default() };
    TfidfParams { counts, sublinear: true, ..TfidfParams::default() }
}

fn load(path: &str, run: &Run) -> anyhow::Result<Data> {
    let part = |name: &str| -> anyhow::Result<(Vec<String>, Labels)> {
        let filter: Filter = format!("split={name}").parse()?;
        let options = ReadOptions { filters: vec![filter], ..ReadOptions::default() };
        let documents: Vec<Document> = read(&[path], &options)?.collect::<Result<_, _>>()?;
        let labels = Labels::from_lists(documents.iter().map(|document| document.labels.as_deref()));
        Ok((documents.into_iter().map(|document| document.text).collect(), labels))
    };
    let (train_texts, train_labels) = part("train").context("reading the training part")?;
    let (test_texts, test_labels) = part("test")?;
    let (model, train) = tfidf(1).fit(&words().tokenize(&train_texts, run)?, run)?;
    let test = model.transform(&words().tokenize(&test_texts, run)?, run)?;
    let test_labels = test_labels.align(train_labels.classes());
    Ok(Data { train_texts, train: train.into(), test: test.into(), train_labels, test_labels })
}

/// Runs `work` several times: the least seconds and the last result.
fn fastest<T>(repeat: usize, mut work: impl FnMut() -> anyhow::Result<T>) -> anyhow::Result<(f64, T)> {
    let mut best = f64::INFINITY;
    let mut last = None;
    for _ in 0..repeat.max(1) {
        let started = Instant::now();
        last = Some(work()?);
        best = best.min(started.elapsed().as_secs_f64());
    }
    Ok((best, last.context("no repeat")?))
}

fn vectorise(data: &Data, ngrams: usize, args: &Args, run: &Run) -> anyhow::Result<Value> {
    let (seconds, matrix) = fastest(args.repeat, || {
        let tokens = words().tokenize(&data.train_texts, run)?;
        Ok(tfidf(ngrams).fit(&tokens, run)?.1)
    })?;
    Ok(json!({"seconds": seconds, "rows": matrix.rows(), "columns": matrix.cols(), "nnz": matrix.nnz()}))
}

/// What tokenising cannot be quicker than, and its halves: one pass over the texts that only counts spaces, tokenising alone, tf-idf of
/// the tokens alone.
fn floor(data: &Data, args: &Args, run: &Run) -> anyhow::Result<Value> {
    let bytes: usize = data.train_texts.iter().map(String::len).sum();
    let count = |text: &String| text.bytes().filter(|&byte| byte == b' ').count();
    let (pass, spaces) = fastest(args.repeat, || Ok(data.train_texts.iter().map(count).sum::<usize>()))?;
    let (tokenise, tokens) = fastest(args.repeat, || Ok(words().tokenize(&data.train_texts, run)?))?;
    let (count_terms, _) = fastest(args.repeat, || Ok(tfidf(1).fit(&tokens, run)?))?;
    Ok(json!({
        "bytes": bytes, "spaces": spaces, "tokens": tokens.n_tokens(), "words": tokens.n_terms(),
        "pass": pass, "tokenise": tokenise, "tfidf": count_terms,
    }))
}

enum Objective {
    SquaredHinge,
    CrammerSinger,
    Multinomial,
}

fn scored(
    seconds: f64,
    model: &dyn ClassifierModel,
    data: &Data,
    run: &Run,
    objective: Objective,
) -> anyhow::Result<Value> {
    let linear = model.linear().context("a linear model")?;
    let scores = model.scores(&data.train, run)?;
    let truth = data.train_labels.single()?;
    let squares = |values: &[f32]| values.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>();
    // The SVM's bias is a regularised constant feature, as in LIBLINEAR; the logistic model's is free.
    let bias = if matches!(objective, Objective::Multinomial) { 0.0 } else { squares(linear.bias()) };
    let mut value = 0.5 * (squares(linear.weights().values()) + bias);
    for (row, &class) in truth.iter().enumerate() {
        value += loss(scores.row(row), class as usize, &objective);
    }
    let test = model.scores(&data.test, run)?;
    let classes = data.test_labels.single()?;
    let right = classes.iter().enumerate().filter(|&(row, &class)| best(&test, row) == class as usize);
    let accuracy = right.count() as f64 / data.test.rows() as f64;
    Ok(json!({"seconds": seconds, "objective": value, "accuracy": accuracy}))
}

fn loss(scores: &[f32], truth: usize, objective: &Objective) -> f64 {
    let own = f64::from(scores[truth]);
    let others = || scores.iter().enumerate().filter(|&(class, _)| class != truth).map(|(_, &score)| f64::from(score));
    match objective {
        Objective::SquaredHinge => {
            (1.0 - own).max(0.0).powi(2) + others().map(|score| (1.0 + score).max(0.0).powi(2)).sum::<f64>()
        }
        Objective::CrammerSinger => (1.0 - own + others().fold(f64::NEG_INFINITY, f64::max)).max(0.0),
        Objective::Multinomial => {
            let top = scores.iter().fold(f64::NEG_INFINITY, |top, &score| top.max(f64::from(score)));
            top + scores.iter().map(|&score| (f64::from(score) - top).exp()).sum::<f64>().ln() - own
        }
    }
}

fn best(scores: &Dense, row: usize) -> usize {
    let row = scores.row(row);
    (0..row.len()).fold(0, |best, class| if row[class] > row[best] { class } else { best })
}
