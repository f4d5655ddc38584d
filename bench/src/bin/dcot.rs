//! Our half of `bench/dcot_peer.py`: fits dCoT on the tf-idf matrix of the texts given and prints what it took as JSON.
//!
//! The matrix and the first layer's output are written where the peer can read them, so that both work on the same
//! numbers and their results can be compared.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context;
use clap::Parser;
use corpuscle::Run;
use corpuscle::corpus::{Document, Labels, ReadOptions, read};
use corpuscle::matrix::Matrix;
use corpuscle::project::{DcotParams, Projector, Solver, Target};
use corpuscle::text::{Tokenizer, WordsParams};
use corpuscle::vectorize::TfidfParams;
use corpuscle_bench::peak_memory;
use serde_json::{Map, json};

#[derive(Debug, Parser)]
struct Args {
    /// JSON Lines with the field text
    #[arg(long)]
    data: String,
    /// Folder for the matrix and the output
    #[arg(long)]
    out: PathBuf,
    /// Share of words removed
    #[arg(long, default_value_t = 0.97)]
    noise: f64,
    /// Prototype terms
    #[arg(long, default_value_t = 1000)]
    prototypes: usize,
    /// Runs of each task; the fastest counts
    #[arg(long, default_value_t = 3)]
    repeat: usize,
    /// Worker threads, 0 for one per core
    #[arg(long, default_value_t = 0)]
    threads: usize,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let run = Run::new(42, args.threads)?;
    let documents: Vec<Document> = read(&[&args.data], &ReadOptions::default())?.collect::<Result<_, _>>()?;
    let texts: Vec<String> = documents.into_iter().map(|document| document.text).collect();
    let words = WordsParams { tokenizer: Tokenizer::Sklearn, ..WordsParams::default() };
    let tfidf = TfidfParams { sublinear: true, ..TfidfParams::default() };
    let x = Matrix::from(tfidf.fit(&words.tokenize(&texts, &run)?, &run)?.1);
    write(&args.out.join("indptr.u64"), x.sparse().indptr().iter().flat_map(|v| v.to_le_bytes()))?;
    write(&args.out.join("indices.u32"), x.sparse().indices().iter().flat_map(|v| v.to_le_bytes()))?;
    write(&args.out.join("values.f32"), x.sparse().values().iter().flat_map(|v| v.to_le_bytes()))?;
    let mut results = Map::new();
    let labels = Labels::none(x.rows());
    for (name, layers, solver) in [
        ("one_layer", 1, Solver::Auto),
        ("one_layer_woodbury", 1, Solver::Woodbury),
        ("one_layer_gradients", 1, Solver::Gradients),
        ("five_layers", 5, Solver::Auto),
    ] {
        let params = DcotParams {
            prototypes: args.prototypes.into(),
            noise: args.noise.into(),
            layers: layers.into(),
            solver,
            ..DcotParams::default()
        };
        let mut best = f64::INFINITY;
        let mut used = None;
        for _ in 0..args.repeat.max(1) {
            let started = Instant::now();
            let (model, z) = params.fit(&x, &Target::new(&labels), &run)?;
            best = best.min(started.elapsed().as_secs_f64());
            used = model.solver();
            if name == "one_layer" {
                write(&args.out.join("z.f32"), z.dense().values().iter().flat_map(|v| v.to_le_bytes()))?;
            }
        }
        results.insert(name.into(), json!({"seconds": best, "solver": format!("{used:?}")}));
    }
    results.insert("shape".into(), json!([x.rows(), x.cols(), x.sparse().nnz()]));
    results.insert("peak_memory".into(), json!(peak_memory()));
    println!("{}", serde_json::Value::Object(results));
    Ok(())
}

fn write(path: &Path, bytes: impl Iterator<Item = u8>) -> anyhow::Result<()> {
    std::fs::write(path, bytes.collect::<Vec<u8>>()).with_context(|| path.display().to_string())
}
