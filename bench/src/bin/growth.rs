//! How time and memory of a recipe grow with the number of documents.
//!
//! `cargo run --release -p corpuscle-bench --bin growth -- 100000 1000000` trains on made-up short documents of each
//! size, each in a process of its own so that peak memory is its own, and prints the growth against the first size.
//! With `--all`, every method over documents, vocabulary and labels, as a page of charts.
//! `--topics`, `--vocabulary` and `--words` change the documents:
//! `growth 25000 50000 100000 --topics 100 --vocabulary 200000 --words 60 --recipe "tfidf | varnorm | discriminant(shrinkage=1)"`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use clap::Parser;
use corpuscle::Run;
use corpuscle::recipe::{Corpus, Recipe};
use corpuscle::report::html::{Report, Section};
use corpuscle::report::svg::{LineChart, Series};
use corpuscle_bench::{Shape, documents, peak_memory};
use serde_json::{Value, json};

#[derive(Debug, Parser)]
struct Args {
    /// Numbers of documents
    #[arg(default_values_t = [100_000, 1_000_000])]
    sizes: Vec<usize>,
    /// The recipe to train
    #[arg(long, default_value = "tfidf | svm")]
    recipe: String,
    /// Topics of the documents
    #[arg(long, default_value_t = 20)]
    topics: usize,
    /// Different words that can occur
    #[arg(long, default_value_t = 100_000)]
    vocabulary: usize,
    /// Mean words of a document
    #[arg(long, default_value_t = 15)]
    words: usize,
    /// Worker threads, 0 for one per core
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Every method over documents, vocabulary and labels
    #[arg(long, requires = "chart")]
    all: bool,
    /// Where the page of charts goes
    #[arg(long)]
    chart: Option<PathBuf>,
    /// Trains on one size here and prints what it took as JSON
    #[arg(long, hide = true)]
    one: bool,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    if args.one {
        let Args { topics, vocabulary, words, .. } = args;
        let shape = Shape { documents: args.sizes[0], vocabulary, topics, words };
        println!("{}", train(shape, &args.recipe, args.threads)?);
        return Ok(());
    }
    if let (true, Some(path)) = (args.all, &args.chart) {
        return all(path, args.threads);
    }
    println!("recipe: {}", args.recipe);
    println!(
        "{:>10} {:>9} {:>9} {:>9} {:>10} {:>10}",
        "documents", "seconds", "peak MB", "× docs", "× seconds", "× memory"
    );
    let mut first: Option<(usize, f64, f64)> = None;
    for &size in &args.sizes {
        let shape = Shape { documents: size, vocabulary: args.vocabulary, topics: args.topics, words: args.words };
        let result = apart(shape, &args.recipe, args.threads)?;
        let seconds = result["total"].as_f64().unwrap_or(f64::NAN);
        let peak = result["peak"].as_f64().unwrap_or(f64::NAN) / 1e6;
        let base = *first.get_or_insert((size, seconds, peak));
        println!(
            "{size:>10} {seconds:>9.2} {peak:>9.0} {:>9.2} {:>10.2} {:>10.2}   {}",
            size as f64 / base.0 as f64,
            seconds / base.1,
            peak / base.2,
            result["seconds"]
        );
    }
    Ok(())
}

/// What is drawn: a method and a recipe that stands for it.
const METHODS: &[(&str, &str)] = &[
    ("tf-idf, svm", "tfidf | svm(calibrate=0)"),
    ("logistic", "tfidf | logistic"),
    ("lsi", "tfidf | lsi(100) | svm(calibrate=0)"),
    ("sprinkle", "binary | ig(1000) | sprinkle(rank=50) | svm(calibrate=0)"),
    ("varnorm", "tfidf | varnorm(60) | svm(calibrate=0)"),
    ("discriminant", "tfidf | discriminant(shrinkage=1) | svm(calibrate=0)"),
    ("dcot", "tfidf(min_df=2) | dcot(prototypes=500, layers=1) | svm(calibrate=0)"),
    ("dirichlet", "dirichlet(80, sweeps=20) | svm(calibrate=0)"),
    ("scdv", "scdv(dim=100, clusters=30, epochs=1) | svm(calibrate=0)"),
];

/// The sizes an axis goes through, and the corpus of each.
type Axis = (&'static str, &'static [usize], fn(usize) -> Shape);

const AXES: [Axis; 3] = [
    ("documents", &[4000, 8000, 16_000, 32_000], |documents| Shape { documents, ..USUAL }),
    ("vocabulary", &[10_000, 40_000, 160_000], |vocabulary| Shape { vocabulary, ..USUAL }),
    ("labels", &[10, 40, 160], |topics| Shape { topics, ..USUAL }),
];
const USUAL: Shape = Shape { documents: 8000, vocabulary: 50_000, topics: 20, words: 40 };

/// Every method along every axis, as a page.
fn all(path: &Path, threads: usize) -> anyhow::Result<()> {
    let mut sections = vec![Section::Text {
        heading: "What this is".into(),
        paragraphs: vec![format!(
            "Seconds and peak memory of whole training runs on made-up documents of {} words, {} documents, {} different \
             words and {} labels unless the axis says otherwise; every run in a process of its own.",
            USUAL.words, USUAL.documents, USUAL.vocabulary, USUAL.topics
        )],
    }];
    for (axis, sizes, shape) in AXES {
        let mut rows = Vec::new();
        let (mut times, mut memories) = (Vec::new(), Vec::new());
        for (name, recipe) in METHODS {
            let (mut seconds, mut megabytes) = (Vec::new(), Vec::new());
            for &size in sizes {
                let result = apart(shape(size), recipe, threads)?;
                let time = result["total"].as_f64().unwrap_or(f64::NAN);
                let peak = result["peak"].as_f64().unwrap_or(f64::NAN) / 1e6;
                println!("{axis:>10} {size:>8} {name:14} {time:>8.2} s {peak:>7.0} MB");
                rows.push(vec![name.to_string(), size.to_string(), format!("{time:.2}"), format!("{peak:.0}")]);
                seconds.push((size as f64, time));
                megabytes.push((size as f64, peak));
            }
            times.push(Series { name: name.to_string(), points: seconds });
            memories.push(Series { name: name.to_string(), points: megabytes });
        }
        for (what, unit, series) in [("Seconds", "seconds", times), ("Memory", "peak memory, MB", memories)] {
            let title = format!("{what} against {axis}");
            let chart =
                LineChart { title: title.clone(), x_label: axis.into(), y_label: unit.into(), series, log_x: true };
            sections.push(Section::Chart { heading: title, chart: chart.render(), caption: String::new() });
        }
        let columns = ["method", axis, "seconds", "peak MB"].map(String::from).to_vec();
        sections.push(Section::Table { heading: format!("Numbers over {axis}"), columns, rows });
    }
    sections.push(Section::Facts {
        heading: "Recipes".into(),
        rows: METHODS.iter().map(|(name, recipe)| (name.to_string(), recipe.to_string())).collect(),
    });
    let question = "How do time and memory grow with size?".to_string();
    std::fs::write(path, Report { title: "Growth".into(), question, sections }.render())?;
    Ok(())
}

/// Trains in a process of its own, so that peak memory is its own.
fn apart(shape: Shape, recipe: &str, threads: usize) -> anyhow::Result<Value> {
    let output = Command::new(std::env::current_exe()?)
        .args([&shape.documents.to_string(), "--one", "--recipe", recipe, "--threads", &threads.to_string()])
        .args(["--topics", &shape.topics.to_string(), "--vocabulary", &shape.vocabulary.to_string()])
        .args(["--words", &shape.words.to_string()])
        .output()?;
    anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn train(shape: Shape, recipe: &str, threads: usize) -> anyhow::Result<Value> {
    let run = Run::new(42, threads)?;
    let recipe = Recipe::parse(recipe)?;
    let started = Instant::now();
    let corpus = run.stage("read", None, || Corpus::read(documents(shape, 1).map(Ok), recipe.words(), &run))?;
    let model = recipe.fit(&corpus, &run)?;
    let bytes = model.to_bytes()?.len();
    let seconds: serde_json::Map<String, Value> =
        run.seconds().into_iter().map(|(stage, seconds)| (stage, json!((seconds * 1e3).round() / 1e3))).collect();
    Ok(json!({"total": started.elapsed().as_secs_f64(), "peak": peak_memory(), "model": bytes, "seconds": seconds}))
}
