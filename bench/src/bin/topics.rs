//! Our half of `bench/topics_peer.py`: latent Dirichlet allocation with several numbers of sweeps, its time and its perplexity
//! on the test part, as JSON.
//!
//! With `--made 1000000` instead of `--data`, so many made-up short documents: processor time and peak memory, beside what the words
//! with their topics and two tables of counts take, in bytes. `--sweeps` has one number then.

use std::time::Instant;

use anyhow::Context;
use clap::Parser;
use corpuscle::Run;
use corpuscle::corpus::{Document, ReadOptions, read};
use corpuscle::recipe::{Corpus, Recipe};
use corpuscle::text::Tokens;
use corpuscle::vectorize::{Bound, DirichletModel, DirichletParams};
use corpuscle_bench::{Shape, documents, peak_memory, processor_seconds};
use serde_json::{Value, json};

#[derive(Debug, Parser)]
struct Args {
    /// JSON Lines with the fields text and split (train, test)
    #[arg(long, required_unless_present = "made")]
    data: Option<String>,
    /// Made-up short documents, so many, instead
    #[arg(long, conflicts_with = "data")]
    made: Option<usize>,
    /// How texts become words
    #[arg(long, default_value = "words(stop=english, min_length=2)")]
    words: String,
    #[arg(long, default_value_t = 80)]
    topics: usize,
    #[arg(long, value_delimiter = ',', default_value = "150")]
    sweeps: Vec<usize>,
    #[arg(long, default_value_t = 5)]
    min_df: u64,
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// Worker threads, 0 for one per core
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Where the words of both parts go, as numbers
    #[arg(long)]
    write: Option<String>,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let run = Run::new(args.seed, args.threads)?;
    if let Some(documents) = args.made {
        println!("{}", made(&args, documents, &run)?);
        return Ok(());
    }
    let data = args.data.as_ref().context("no data")?;
    let options = ReadOptions { id: Some("split".into()), ..ReadOptions::default() };
    let all: Vec<Document> = read(&[data], &options)?.collect::<Result<_, _>>()?;
    let recipe = Recipe::parse(&format!("{} | counts", args.words))?;
    let part = |name: &str| -> anyhow::Result<Tokens> {
        let texts = all.iter().filter(|document| document.id == name).map(|document| document.text.as_str());
        Ok(recipe.words().tokenize(&texts.collect::<Vec<_>>(), &run)?)
    };
    let (train, test) = (part("train")?, part("test")?);
    let mut fits = Vec::new();
    let mut known = None;
    for &sweeps in &args.sweeps {
        let params = DirichletParams {
            topics: args.topics,
            sweeps,
            min_df: Bound::Count(args.min_df),
            ..DirichletParams::default()
        };
        let (started, before) = (Instant::now(), processor_seconds());
        let (model, _) = params.fit_tokens(&train, &run)?;
        let (seconds, cpu) = (started.elapsed().as_secs_f64(), processor_seconds() - before);
        let perplexity = model.perplexity(&test, &run)?;
        let top = top_words(&model);
        fits.push(json!({"iterations": sweeps, "seconds": seconds, "cpu": cpu, "perplexity": perplexity, "top": top}));
        known = Some(model.words().clone());
    }
    let words = known.context("no fit was asked for")?;
    let numbers = |tokens: &Tokens| -> Vec<Vec<u32>> {
        (0..tokens.n_documents()).map(|row| tokens.words(row).filter_map(|word| words.id(word)).collect()).collect()
    };
    let (train, test) = (numbers(&train), numbers(&test));
    if let Some(path) = &args.write {
        std::fs::write(path, json!({"train": train, "test": test}).to_string())?;
    }
    let tokens: usize = train.iter().map(Vec::len).sum();
    println!(
        "{}",
        json!({"documents": train.len(), "tokens": tokens, "vocabulary": words.len(), "fits": fits, "peak": peak_memory()})
    );
    Ok(())
}

/// The ten most probable words of every topic, as numbers.
fn top_words(model: &DirichletModel) -> Vec<Vec<u32>> {
    let mut words: Vec<u32> = (0..model.words().len() as u32).collect();
    let mut top = |topic: usize| {
        let probability = |word: u32| model.word_given_topics(word)[topic];
        words.sort_by(|&a, &b| probability(b).total_cmp(&probability(a)).then(a.cmp(&b)));
        words.iter().take(10).copied().collect()
    };
    (0..model.n_topics()).map(&mut top).collect()
}

/// Topics of made-up documents: what a fit takes.
fn made(args: &Args, n_documents: usize, run: &Run) -> anyhow::Result<Value> {
    let recipe = Recipe::parse("counts")?;
    let corpus = Corpus::read(documents(Shape::short(n_documents), 1).map(Ok), recipe.words(), run)?;
    let sweeps = *args.sweeps.first().context("no number of sweeps")?;
    let params = DirichletParams { topics: args.topics, sweeps, ..DirichletParams::default() };
    let (read, started, before) = (peak_memory(), Instant::now(), processor_seconds());
    let (model, topics) = params.fit_tokens(&corpus.tokens, run)?;
    let (seconds, cpu) = (started.elapsed().as_secs_f64(), processor_seconds() - before);
    // A word and its topic for each token, where documents begin, and the counts of words in topics, now and summed up.
    let counts = 8 * model.words().len() * args.topics;
    let needed = 8 * topics.len() + 8 * corpus.tokens.n_documents() + counts;
    Ok(json!({
        "documents": n_documents, "tokens": topics.len(), "vocabulary": model.words().len(), "sweeps": sweeps,
        "seconds": seconds, "cpu": cpu, "peak_read": read, "peak": peak_memory(), "tokens_and_counts": needed,
    }))
}
