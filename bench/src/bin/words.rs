//! Our half of `bench/words_peer.py`: word vectors, mixture, SCDV and what they are worth, as JSON.
//!
//! The protocol is the paper's: word vectors and idf are fitted on the text of both parts (transductive), the
//! classifier on the training part.

use std::time::Instant;

use anyhow::Context;
use clap::Parser;
use corpuscle::Run;
use corpuscle::classify::{Classifier, ClassifierModel, SvmParams};
use corpuscle::corpus::{Document, Labels, ReadOptions, read};
use corpuscle::matrix::{Csr, Dense, Matrix};
use corpuscle::metrics::Predictions;
use corpuscle::project::Target;
use corpuscle::recipe::Recipe;
use corpuscle::vectorize::{AverageParams, ScdvParams, SpaceParams, TfidfParams};
use corpuscle::words::{MixtureParams, SkipGramParams};
use corpuscle_bench::peak_memory;
use serde_json::{Map, Value, json};

#[derive(Debug, Parser)]
struct Args {
    /// JSON Lines with the fields text, label and split (train, test)
    #[arg(long)]
    data: String,
    /// Tasks: mixture, scdv, average, tfidf, both
    #[arg(long, value_delimiter = ',', default_value = "mixture,scdv")]
    tasks: Vec<String>,
    /// How texts become words
    #[arg(long, default_value = "words")]
    words: String,
    #[arg(long, default_value_t = 25)]
    epochs: usize,
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// Worker threads, 0 for one per core
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Without waiting for each other
    #[arg(long)]
    nondeterministic: bool,
    /// Word vectors from a file instead of training
    #[arg(long)]
    vectors: Option<String>,
    /// Where the word vectors go, in word2vec's binary format
    #[arg(long)]
    output: Option<String>,
    /// Costs of mistakes to try
    #[arg(long, value_delimiter = ',', default_value = "1")]
    c: Vec<f64>,
    /// Sparsities to try
    #[arg(long, value_delimiter = ',', default_value = "4")]
    sparsity: Vec<f64>,
    /// Weights of SCDV beside tf-idf to try
    #[arg(long, value_delimiter = ',', default_value = "0.5")]
    weight: Vec<f32>,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let run = Run::new(args.seed, args.threads)?;
    let documents: Vec<Document> =
        read(&[&args.data], &ReadOptions { id: Some("split".into()), ..ReadOptions::default() })?
            .collect::<Result<_, _>>()?;
    let is_train: Vec<bool> = documents.iter().map(|document| document.id == "train").collect();
    let labels = Labels::from_lists(documents.iter().map(|document| document.labels.as_deref()));
    let rows = |train: bool| (0..documents.len()).filter(|&row| is_train[row] == train).collect::<Vec<_>>();
    let (train, test) = (rows(true), rows(false));
    let parts = Parts { train: &train, test: &test, labels: &labels, run: &run };
    let texts: Vec<&str> = documents.iter().map(|document| document.text.as_str()).collect();
    let mut results = Map::new();

    let started = Instant::now();
    let recipe = Recipe::parse(&format!("{} | counts", args.words))?;
    let tokens = recipe.words().tokenize(&texts, &run)?;
    results.insert("tokenise".into(), json!({"seconds": started.elapsed().as_secs_f64(), "tokens": tokens.n_tokens()}));

    let training =
        SkipGramParams { epochs: args.epochs, deterministic: !args.nondeterministic, ..SkipGramParams::default() };
    let space = SpaceParams { training, vectors: args.vectors.clone() };
    let started = Instant::now();
    let fitted = space.fit(&tokens, &run)?;
    let seconds = started.elapsed().as_secs_f64();
    results.insert(
        "vectors".into(),
        json!({
            "seconds": seconds,
            "words": fitted.vectors().len(),
            "tokens_per_second": (tokens.n_tokens() * args.epochs) as f64 / seconds,
        }),
    );
    if let Some(path) = &args.output {
        let file = std::fs::File::create(path).with_context(|| path.clone())?;
        fitted.vectors().write(file, corpuscle::words::VectorFormat::Binary)?;
    }
    let mut tfidf = None;
    for task in &args.tasks {
        match task.as_str() {
            "mixture" => {
                let params = MixtureParams { tolerance: 0.0, ..MixtureParams::default() };
                let started = Instant::now();
                let mixture = params.fit(fitted.vectors().vectors(), &run)?;
                let seconds = started.elapsed().as_secs_f64();
                let likelihood = mixture.likelihoods().last().copied();
                results.insert("mixture".into(), json!({"seconds": seconds, "likelihood": likelihood}));
            }
            "average" => {
                let (_, x) = AverageParams::default().fit_in(fitted.clone(), &tokens, &run)?;
                let x = Matrix::new(Csr::empty(x.rows(), 0), x, 0)?;
                results.insert("average".into(), parts.try_costs(&x, &args.c)?);
            }
            "tfidf" | "both" if tfidf.is_none() => {
                let params = TfidfParams { sublinear: true, ..TfidfParams::default() };
                let x: Matrix = params.fit(&tokens, &run)?.1.into();
                results.insert("tfidf".into(), parts.try_costs(&x, &args.c)?);
                tfidf = Some(x);
            }
            _ => {}
        }
    }
    for &sparsity in &args.sparsity {
        let params = ScdvParams { sparsity, ..ScdvParams::default() };
        let started = Instant::now();
        let (model, _) = params.fit_in(fitted.clone(), &tokens, &run)?;
        let fit = started.elapsed().as_secs_f64();
        let started = Instant::now();
        let x = model.transform(&tokens, &run)?;
        let seconds = started.elapsed().as_secs_f64();
        let kept = x.nnz() as f64 / (x.rows() * x.cols()) as f64;
        let largest: f64 = (0..model.posteriors().rows())
            .map(|row| f64::from(model.posteriors().row(row).1.iter().copied().fold(0.0, f32::max)))
            .sum::<f64>()
            / model.posteriors().rows() as f64;
        let x: Matrix = x.into();
        let costs =
            if args.tasks.iter().any(|task| task == "scdv") { parts.try_costs(&x, &args.c)? } else { json!(null) };
        results.insert(format!("scdv {sparsity}"), json!({
            "fit_seconds": fit, "transform_seconds": seconds, "kept": kept, "largest_posterior": largest, "svm": costs,
        }));
        if let Some(tfidf) = tfidf.as_ref().filter(|_| args.tasks.iter().any(|task| task == "both")) {
            for &weight in &args.weight {
                let mut weighed = x.clone();
                weighed.scale(weight);
                let both = tfidf.beside(&weighed)?;
                results.insert(format!("tfidf + scdv {sparsity} * {weight}"), parts.try_costs(&both, &args.c)?);
            }
        }
    }
    results.insert("peak_memory".into(), json!(peak_memory()));
    println!("{:#}", Value::Object(results));
    Ok(())
}

struct Parts<'a> {
    train: &'a [usize],
    test: &'a [usize],
    labels: &'a Labels,
    run: &'a Run,
}

impl Parts<'_> {
    /// Accuracy on the test part and seconds of training for each cost.
    fn try_costs(&self, x: &Matrix, costs: &[f64]) -> anyhow::Result<Value> {
        let (train, test) = (x.select_rows(self.train), x.select_rows(self.test));
        let (train_labels, test_labels) = (self.labels.select(self.train), self.labels.select(self.test));
        let mut found = Map::new();
        for &c in costs {
            let started = Instant::now();
            let model =
                SvmParams { c: c.into(), ..SvmParams::default() }.fit(&train, &Target::new(&train_labels), self.run)?;
            let seconds = started.elapsed().as_secs_f64();
            let scores: Dense = model.scores(&test, self.run)?;
            let predictions = Predictions::best(&scores)?;
            let right = corpuscle::metrics::Evaluation::of(&test_labels, &predictions, Some(&scores))?.accuracy;
            found.insert(format!("c = {c}"), json!({"seconds": seconds, "accuracy": right}));
        }
        Ok(Value::Object(found))
    }
}
