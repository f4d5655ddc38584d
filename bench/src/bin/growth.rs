//! How time and memory of a recipe grow with the number of documents.
//!
//! `cargo run --release -p corpuscle-bench --bin growth -- 100000 1000000` trains on made-up short documents of each
//! size, each in a process of its own so that peak memory is its own, and prints the growth against the first size.
//! `--topics`, `--vocabulary` and `--words` change the documents:
//! `growth 25000 50000 100000 --topics 100 --vocabulary 200000 --words 60 --recipe "tfidf | varnorm | discriminant(shrinkage=1)"`.

use std::process::Command;
use std::time::Instant;

use clap::Parser;
use corpuscle::Run;
use corpuscle::recipe::{Corpus, Recipe};
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
    println!("recipe: {}", args.recipe);
    println!(
        "{:>10} {:>9} {:>9} {:>9} {:>10} {:>10}",
        "documents", "seconds", "peak MB", "× docs", "× seconds", "× memory"
    );
    let mut first: Option<(usize, f64, f64)> = None;
    for &size in &args.sizes {
        let output = Command::new(std::env::current_exe()?)
            .args([&size.to_string(), "--one", "--recipe", &args.recipe, "--threads", &args.threads.to_string()])
            .args(["--topics", &args.topics.to_string(), "--vocabulary", &args.vocabulary.to_string()])
            .args(["--words", &args.words.to_string()])
            .output()?;
        anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let result: Value = serde_json::from_slice(&output.stdout)?;
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
