//! Our half of `bench/paragraph_peer.py`: paragraph vectors learnt from the training part, rows of both parts to a file, seconds as JSON.

use std::io::Write;
use std::time::Instant;

use anyhow::Context;
use clap::Parser;
use corpuscle::Run;
use corpuscle::corpus::{Document, ReadOptions, read};
use corpuscle::params::Params;
use corpuscle::recipe::Recipe;
use corpuscle::vectorize::ParagraphParams;
use serde_json::json;

#[derive(Debug, Parser)]
struct Args {
    /// JSON Lines with the fields text, label and split (train, test)
    #[arg(long)]
    data: String,
    /// How texts become words
    #[arg(long, default_value = "words(tokenizer=unicode)")]
    words: String,
    /// Parameters of the stage: name=value
    #[arg(long, value_delimiter = ',')]
    set: Vec<String>,
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// Worker threads, 0 for one per core
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Where the rows go: training part, then test part, as 32-bit floats
    #[arg(long)]
    output: String,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let run = Run::new(args.seed, args.threads)?;
    let documents: Vec<Document> =
        read(&[&args.data], &ReadOptions { id: Some("split".into()), ..ReadOptions::default() })?
            .collect::<Result<_, _>>()?;
    let texts = |part: &str| -> Vec<&str> {
        documents.iter().filter(|document| document.id == part).map(|document| document.text.as_str()).collect()
    };
    let recipe = Recipe::parse(&format!("{} | counts", args.words))?;
    let train = recipe.words().tokenize(&texts("train"), &run)?;
    let test = recipe.words().tokenize(&texts("test"), &run)?;
    let mut params = ParagraphParams::default();
    for pair in &args.set {
        let (name, value) = pair.split_once('=').context("a parameter is name=value")?;
        let known = ParagraphParams::table().into_iter().find(|param| param.name == name);
        params.set(known.with_context(|| format!("no parameter {name}"))?.name, value)?;
    }
    let started = Instant::now();
    let (model, x) = params.fit(&train, &run)?;
    let fit = started.elapsed().as_secs_f64();
    let started = Instant::now();
    let z = model.transform(&test, &run)?;
    let infer = started.elapsed().as_secs_f64();
    let mut out = std::io::BufWriter::new(std::fs::File::create(&args.output).with_context(|| args.output.clone())?);
    for value in x.values().iter().chain(z.values()) {
        out.write_all(&value.to_le_bytes())?;
    }
    out.flush()?;
    println!("{}", json!({"fit_seconds": fit, "infer_seconds": infer, "dim": x.cols(), "tokens": train.n_tokens()}));
    Ok(())
}
