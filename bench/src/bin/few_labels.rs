//! Accuracy against labels for the picture of the README and the tables of docs/RESULTS.md.
//!
//! `cargo run --release -p corpuscle-bench --bin few-labels -- ../shared/data/20newsgroups.jsonl.gz --picture docs/few-labels.svg`
//! fits representations on all training texts, classifiers on draws of labels, and tests on the rows whose `split` is `test`.

use std::path::PathBuf;

use clap::Parser;
use corpuscle::Run;
use corpuscle::corpus::{self, Document, Filter, ReadOptions};
use corpuscle::experiment::{Split, label_curves};
use corpuscle::recipe::Recipe;
use corpuscle::report::svg::{LineChart, Series};

/// What is compared, and under which name.
const SYSTEMS: [(&str, &str); 4] = [
    ("TF-IDF", "words(stop=english) | tfidf(sublinear=true, min_df=2) | svm(calibrate=0)"),
    ("LSI", "words(stop=english) | tfidf(sublinear=true, min_df=2) | lsi(200) | svm(calibrate=0)"),
    ("dCoT", "words(stop=english) | tfidf(sublinear=true, min_df=2) | dcot(weight=auto) | svm(calibrate=0)"),
    (
        "dCoT, self-training",
        "words(stop=english) | tfidf(sublinear=true, min_df=2) | dcot(weight=auto) | svm(calibrate=0, self_training=true)",
    ),
];

#[derive(Debug, Parser)]
struct Args {
    /// The corpus, with a field `split`
    data: PathBuf,
    /// Numbers of labels; all of them come last in any case
    #[arg(long, value_delimiter = ',', default_values_t = [50, 100, 250, 500, 1000, 2000])]
    labels: Vec<usize>,
    /// Draws of labels
    #[arg(long, default_value_t = 5)]
    draws: usize,
    /// A recipe more, under its own name
    #[arg(long)]
    recipe: Vec<String>,
    /// Where the picture goes
    #[arg(long)]
    picture: Option<PathBuf>,
    /// What the picture is called
    #[arg(long, default_value = "20 Newsgroups: accuracy by the number of labels")]
    title: String,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let run = Run::new(42, 0)?;
    let path = args.data.to_string_lossy();
    let part = |name: &str| -> anyhow::Result<Vec<Document>> {
        let filter = Filter { field: "split".into(), value: name.into(), equal: true };
        let options = ReadOptions { filters: vec![filter], ..ReadOptions::default() };
        Ok(corpus::read(&[path.as_ref()], &options)?.collect::<Result<_, _>>()?)
    };
    let (mut documents, test) = (part("train")?, part("test")?);
    let learnt = documents.len();
    documents.extend(test);
    let tested = (learnt..documents.len()).filter(|&row| documents[row].labels.is_some()).collect();
    let split = Split { train: (0..learnt).collect(), test: tested };
    let systems = SYSTEMS.map(|(name, recipe)| (name.to_string(), recipe.to_string())).into_iter();
    let systems: Vec<(String, String)> = systems.chain(args.recipe.iter().map(|r| (r.clone(), r.clone()))).collect();
    let recipes = systems.iter().map(|(_, recipe)| Recipe::parse(recipe)).collect::<Result<Vec<_>, _>>()?;
    let counts: Vec<Option<usize>> = args.labels.iter().map(|&count| Some(count)).chain([None]).collect();
    let curves = label_curves(&recipes, &documents, &split, &counts, args.draws, &run)?;
    let mut series = Vec::new();
    for ((name, _), curve) in systems.iter().zip(&curves) {
        let cells = curve.points.iter().map(|point| {
            let (mean, deviation) = point.accuracy();
            format!("{}: {:.1} ± {:.1}", point.labels, 100.0 * mean, 100.0 * deviation)
        });
        println!("{name:<24} {}", cells.collect::<Vec<_>>().join("   "));
        let points = curve.points.iter().map(|point| (point.labels as f64, 100.0 * point.accuracy().0));
        series.push(Series { name: name.clone(), points: points.collect() });
    }
    if let Some(path) = &args.picture {
        let chart = LineChart {
            title: args.title,
            x_label: "labelled documents to learn from".into(),
            y_label: "accuracy (%)".into(),
            series,
            log_x: true,
        };
        corpuscle::file::write_bytes(path, chart.render().standalone().as_bytes())?;
    }
    Ok(())
}
