//! Our half of `bench/topics_peer.py`: latent Dirichlet allocation with several numbers of sweeps, its time and its perplexity
//! on the test part, as JSON.

use std::time::Instant;

use anyhow::Context;
use clap::Parser;
use corpuscle::Run;
use corpuscle::corpus::{Document, ReadOptions, read};
use corpuscle::recipe::Recipe;
use corpuscle::text::Tokens;
use corpuscle::vectorize::{Bound, DirichletParams};
use corpuscle_bench::peak_memory;
use serde_json::json;

#[derive(Debug, Parser)]
struct Args {
    /// JSON Lines with the fields text and split (train, test)
    #[arg(long)]
    data: String,
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
    let options = ReadOptions { id: Some("split".into()), ..ReadOptions::default() };
    let documents: Vec<Document> = read(&[&args.data], &options)?.collect::<Result<_, _>>()?;
    let recipe = Recipe::parse(&format!("{} | counts", args.words))?;
    let part = |name: &str| -> anyhow::Result<Tokens> {
        let texts = documents.iter().filter(|document| document.id == name).map(|document| document.text.as_str());
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
        fits.push(json!({"iterations": sweeps, "seconds": seconds, "cpu": cpu, "perplexity": perplexity}));
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

/// Processor time of this process in user mode so far, of all threads; 0 where the system does not say.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(11)?.parse::<f64>().ok());
    ticks.unwrap_or(0.0) / 100.0
}
