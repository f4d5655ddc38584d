//! Our half of `bench/retrieval_peer.py`: how quickly documents are indexed and found, how large an index is, as JSON.
//!
//! Without `--data` the documents are made up (short ones, words by Zipf's law) and queries are a few words of one of them; with it they
//! are a collection with judgements, and MAP is measured too.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Parser;
use corpuscle::Run;
use corpuscle::corpus::{Document, ReadOptions, read, read_text};
use corpuscle::recipe::{Corpus, Recipe};
use corpuscle::retrieve::{Index, Judged, Search, Searcher, Vectors, trec};
use corpuscle_bench::{Shape, documents, peak_memory};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::{Value, json};

/// Documents that the model of the vectors learns from.
const LEARNT: usize = 20_000;

#[derive(Debug, Parser)]
struct Args {
    /// How many documents are made up
    #[arg(long, default_value_t = 1_000_000)]
    documents: usize,
    /// Documents of a collection instead: JSON Lines with id and text
    #[arg(long, requires = "queries")]
    data: Option<String>,
    /// Its queries
    #[arg(long)]
    queries: Option<PathBuf>,
    /// Its judgements
    #[arg(long)]
    qrels: Option<PathBuf>,
    /// How texts become words
    #[arg(long, default_value = "words")]
    words: String,
    /// How many queries are timed
    #[arg(long, default_value_t = 1000)]
    timed: usize,
    /// Words of a made-up query
    #[arg(long, default_value_t = 3)]
    length: usize,
    /// The recipe of vectors that are mixed in; none when empty
    #[arg(long, default_value = "tfidf(min_df=2) | lsi(100) | normalize")]
    vectors: String,
    /// Worker threads, 0 for one per core
    #[arg(long, default_value_t = 0)]
    threads: usize,
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// Where the words of documents and queries go, for peers: a folder
    #[arg(long)]
    write: Option<PathBuf>,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let run = Run::new(args.seed, args.threads)?;
    let all: Vec<Document> = match &args.data {
        Some(data) => read(&[data], &ReadOptions::default())?.collect::<Result<_, _>>()?,
        None => documents(Shape::short(args.documents), args.seed).collect(),
    };
    let queries = match &args.queries {
        Some(path) => trec::queries(&read_text(path)?, &path.display().to_string())?,
        None => made_up(&all, &args),
    };
    let recipe = Recipe::parse(&format!("{} | counts", args.words))?;
    if let Some(folder) = &args.write {
        write_words(folder, &all, &queries, &recipe)?;
    }
    let text: usize = all.iter().map(|document| document.text.len()).sum();
    let count = all.len();
    let learnt: Vec<Document> = all.iter().take(LEARNT).cloned().collect();
    let place = std::env::temp_dir().join(format!("corpuscle-bench-{}", std::process::id()));
    let started = Instant::now();
    let index = Index::create(&place, recipe.words())?;
    let mut writer = index.writer(&run)?;
    for document in all {
        writer.add(document)?;
    }
    writer.commit()?;
    let seconds = started.elapsed().as_secs_f64();
    let bytes = index.bytes()?;
    let opening = Instant::now();
    let searcher = Index::open(&place)?.searcher()?;
    let mut result = json!({
        "documents": count, "text_bytes": text, "index_seconds": seconds, "mb_per_second": text as f64 / 1e6 / seconds,
        "index_bytes": bytes, "index_of_text": bytes as f64 / text as f64, "open_seconds": opening.elapsed().as_secs_f64(),
    });
    result["words"] = timed(&searcher, &queries, None, &args, &run)?;
    if let Some(path) = &args.qrels {
        let qrels = trec::qrels(&read_text(path)?, &path.display().to_string())?;
        let judged = Judged::new(queries.clone(), qrels)?;
        let figures = judged.evaluate(&searcher, &Search::default(), None, &run)?;
        let sum: f64 = figures.iter().map(|(_, figures)| figures.average_precision).sum();
        result["map"] = json!(sum / figures.len() as f64);
    }
    if !args.vectors.is_empty() {
        let recipe = Recipe::parse(&format!("{} | {}", args.words, args.vectors))?;
        let learnt = learnt.into_iter().map(Ok);
        let model = recipe.fit(&Corpus::read(learnt, recipe.words(), &run)?, &run)?;
        let started = Instant::now();
        let vectors = Vectors::of(&searcher, model, &run)?;
        result["represent_seconds"] = json!(started.elapsed().as_secs_f64());
        result["vectors"] = timed(&searcher, &queries, Some(&vectors), &args, &run)?;
    }
    result["peak_memory"] = json!(peak_memory());
    std::fs::remove_dir_all(&place)?;
    writeln!(std::io::stdout(), "{result}")?;
    Ok(())
}

/// A few words of one document each, those of it that come first in a draw.
fn made_up(all: &[Document], args: &Args) -> Vec<(String, String)> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(args.seed + 1);
    let one = |number: usize| {
        let mut words: Vec<&str> = all[rng.random_range(0..all.len())].text.split_whitespace().collect();
        let mut chosen = Vec::new();
        while chosen.len() < args.length && !words.is_empty() {
            chosen.push(words.swap_remove(rng.random_range(0..words.len())));
        }
        (number.to_string(), chosen.join(" "))
    };
    (0..args.timed).map(one).collect()
}

/// One query after the other, ten documents with their ids each.
fn timed(
    searcher: &Searcher,
    queries: &[(String, String)],
    vectors: Option<&Vectors>,
    args: &Args,
    run: &Run,
) -> anyhow::Result<Value> {
    let how = Search { lambda: 0.3, ..Search::default() };
    // The first ones fill caches.
    for (_, query) in queries.iter().take(5) {
        searcher.ids(query, &how, vectors, 10, run)?;
    }
    let mut times = Vec::with_capacity(args.timed);
    for (_, query) in queries.iter().cycle().take(args.timed) {
        let started = Instant::now();
        searcher.ids(query, &how, vectors, 10, run)?;
        times.push(started.elapsed().as_secs_f64() * 1e3);
    }
    let per_second = times.len() as f64 / (times.iter().sum::<f64>() / 1e3);
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() as f64 * share) as usize).min(times.len() - 1)];
    Ok(json!({"queries": times.len(), "median_ms": at(0.5), "p99_ms": at(0.99), "queries_per_second": per_second}))
}

/// The words of documents and queries, a line each, separated by spaces: peers begin with them.
fn write_words(folder: &Path, all: &[Document], queries: &[(String, String)], recipe: &Recipe) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)?;
    let lines = |rows: &mut dyn Iterator<Item = (&str, &str)>, name: &str| -> anyhow::Result<()> {
        let mut file = std::io::BufWriter::new(std::fs::File::create(folder.join(name))?);
        for (id, text) in rows {
            writeln!(file, "{id}\t{}", recipe.words().tokens_of(text)?.join(" "))?;
        }
        Ok(file.flush()?)
    };
    lines(&mut all.iter().map(|document| (document.id.as_str(), document.text.as_str())), "documents.tsv")?;
    lines(&mut queries.iter().map(|(id, query)| (id.as_str(), query.as_str())), "queries.tsv")
}
