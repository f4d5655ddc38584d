//! How long one text at a time takes: the predictor, `Model::predict` and the explanation, as JSON.
//!
//! Each recipe is trained on the training part; then a sample of the test part, spread evenly, is predicted text by text. A
//! text's time is the shortest of `--rounds`, because other work on the machine only ever adds; the figure is the median over
//! texts.

use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context;
use clap::Parser;
use corpuscle::Run;
use corpuscle::corpus::{Document, ReadOptions, read};
use corpuscle::recipe::{Corpus, Model, Recipe};
use serde_json::{Map, Value, json};

const RECIPES: [&str; 5] = [
    "words(tokenizer=sklearn) | tfidf(sublinear=true, min_df=2) | svm",
    "words(tokenizer=sklearn) | tfidf(sublinear=true, min_df=2) | dcot(prototypes=1000) | svm",
    "words(tokenizer=sklearn) | tfidf(sublinear=true, min_df=2) | lsi(100) | normalize | svm",
    "words(tokenizer=sklearn) | tfidf(sublinear=true, min_df=2) | knn",
    "words(tokenizer=sklearn) | average(epochs=1) | svm",
];

#[derive(Debug, Parser)]
struct Args {
    /// JSON Lines with the fields text, label and split (train, test)
    #[arg(long)]
    data: String,
    /// Recipes to time instead of the usual ones
    #[arg(long)]
    recipe: Vec<String>,
    /// A folder in which fitted models are kept between calls
    #[arg(long)]
    models: Option<PathBuf>,
    /// Texts of the test part
    #[arg(long, default_value_t = 300)]
    texts: usize,
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// Worker threads, 0 for one per core
    #[arg(long, default_value_t = 0)]
    threads: usize,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let run = Run::new(args.seed, args.threads)?;
    let documents: Vec<Document> =
        read(&[&args.data], &ReadOptions { id: Some("split".into()), ..ReadOptions::default() })?
            .collect::<Result<_, _>>()?;
    let (train, test): (Vec<Document>, Vec<Document>) =
        documents.into_iter().partition(|document| document.id == "train");
    anyhow::ensure!(!test.is_empty(), "no document has the split `test`");
    let step = test.len().div_ceil(args.texts.max(1));
    let texts: Vec<&str> = test.iter().step_by(step).map(|document| document.text.as_str()).collect();
    let usual = || RECIPES.iter().map(|recipe| recipe.to_string()).collect();
    let recipes: Vec<String> = if args.recipe.is_empty() { usual() } else { args.recipe.clone() };
    let mut results = Map::new();
    for (number, text) in recipes.iter().enumerate() {
        let model = fitted(&args, number, text, &train, &run).with_context(|| text.clone())?;
        results.insert(text.clone(), times(&model, &texts, args.rounds, &run)?);
    }
    println!("{:#}", Value::Object(results));
    Ok(())
}

/// The model of a recipe, from its file where there is one.
fn fitted(args: &Args, number: usize, text: &str, train: &[Document], run: &Run) -> anyhow::Result<Model> {
    let path = args.models.as_ref().map(|folder| folder.join(format!("{number}.model")));
    let recipe = Recipe::parse(text)?;
    if let Some(path) = path.as_ref().filter(|path| path.exists()) {
        let model = Model::load(path, run)?;
        if model.recipe().full() == recipe.full() {
            return Ok(model);
        }
    }
    let corpus = Corpus::read(train.iter().cloned().map(Ok), recipe.words(), run)?;
    let model = recipe.fit(&corpus, run)?;
    if let Some(path) = path {
        model.save(path)?;
    }
    Ok(model)
}

fn times(model: &Model, texts: &[&str], rounds: usize, run: &Run) -> anyhow::Result<Value> {
    let mut classes = Vec::with_capacity(texts.len());
    for text in texts {
        classes.push(model.predict(&[text], run)?.labels[0].first().copied().unwrap_or(0));
    }
    let mut predictor = model.predictor(run)?;
    let of_predictor = median(texts.len(), rounds, |at| {
        black_box(predictor.predict(texts[at])?);
        Ok(())
    })?;
    let of_predict = median(texts.len(), rounds, |at| {
        black_box(model.predict(&texts[at..=at], run)?);
        Ok(())
    })?;
    let other = |class: u32| (class + 1) % model.classes().len() as u32;
    let of_explain = median(texts.len(), rounds, |at| {
        black_box(model.weigh_terms(texts[at], classes[at], Some(other(classes[at])), run)?);
        Ok(())
    })?;
    Ok(json!({
        "predictor_us": of_predictor,
        "predict_us": of_predict,
        "weigh_terms_us": of_explain,
        "explain_over_predict": of_explain / of_predict,
    }))
}

/// The median over texts of the shortest of several times, in microseconds.
fn median(texts: usize, rounds: usize, mut work: impl FnMut(usize) -> anyhow::Result<()>) -> anyhow::Result<f64> {
    let mut shortest = vec![f64::INFINITY; texts];
    for _ in 0..rounds.max(1) {
        for (at, shortest) in shortest.iter_mut().enumerate() {
            let started = Instant::now();
            work(at)?;
            *shortest = shortest.min(started.elapsed().as_secs_f64() * 1e6);
        }
    }
    shortest.sort_by(f64::total_cmp);
    Ok(shortest.get(texts / 2).copied().unwrap_or(f64::NAN))
}
