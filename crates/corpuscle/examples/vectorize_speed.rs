//! How long texts take to become a tf-idf matrix, step by step.
//!
//! ```text
//! cargo run --release --example vectorize_speed -- corpus FILE.jsonl.gz THREADS [REPEATS]
//! cargo run --release --example vectorize_speed -- short DOCUMENTS THREADS
//! ```
//! `corpus` takes the documents of the split `train` (field `text`) as `TfidfVectorizer(sublinear_tf=True, min_df=2)`
//! would; `short` makes that many short documents with words of Zipf's distribution and shows the peak memory as well.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::time::Instant;

use corpuscle::Run;
use corpuscle::text::{Stemmer, StopList, Tokenizer, WordsParams};
use corpuscle::vectorize::{Bound, CountsParams, TfidfParams};
use rand::{Rng, RngExt};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: usize| arguments.get(at).map_or(Ok(default), |text| text.parse::<usize>());
    let run = Run::new(1, number(2, 0)?)?;
    match arguments.first().map(String::as_str) {
        Some("corpus") => corpus(&train_texts(&arguments[1])?, number(3, 5)?, &run),
        Some("short") => short(number(1, 100_000)?, &run),
        _ => Err("say `corpus FILE THREADS [REPEATS]` or `short DOCUMENTS THREADS`".into()),
    }
}

fn train_texts(path: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let lines = BufReader::new(flate2::read::GzDecoder::new(File::open(path)?)).lines();
    let mut texts = Vec::new();
    for line in lines {
        let document: serde_json::Value = serde_json::from_str(&line?)?;
        if document["split"].as_str().is_none_or(|split| split == "train") {
            texts.push(document["text"].as_str().unwrap_or_default().to_string());
        }
    }
    Ok(texts)
}

fn corpus(texts: &[String], repeats: usize, run: &Run) -> Result<(), Box<dyn Error>> {
    let sklearn = WordsParams { tokenizer: Tokenizer::Sklearn, ..WordsParams::default() };
    let stem = Some(Stemmer::from_name("porter")?);
    let stemmed = WordsParams { stem, stop: Some(StopList::English.into()), ..WordsParams::default() };
    for (name, words, ngrams) in [
        ("sklearn words", &sklearn, 1),
        ("sklearn words, 1-2-grams", &sklearn, 2),
        ("sklearn words, 1-3-grams", &sklearn, 3),
        ("unicode words", &WordsParams::default(), 1),
        ("unicode words, stop, porter", &stemmed, 1),
    ] {
        let counts = CountsParams { ngrams, min_df: Bound::Count(2), ..CountsParams::default() };
        let tfidf = TfidfParams { counts, sublinear: true, ..TfidfParams::default() };
        let mut best = [f64::INFINITY; 5];
        let mut size = String::new();
        for _ in 0..repeats {
            let (started, busy) = (Instant::now(), processor_seconds());
            let tokens = words.tokenize(texts, run)?;
            let (middle, middle_busy) = (started.elapsed().as_secs_f64(), processor_seconds() - busy);
            let (model, x) = tfidf.fit(&tokens, run)?;
            let (whole, whole_busy) = (started.elapsed().as_secs_f64(), processor_seconds() - busy);
            for (best, now) in
                best.iter_mut().zip([whole, middle, whole - middle, middle_busy, whole_busy - middle_busy])
            {
                *best = best.min(now);
            }
            size = format!("{} tokens, {} terms, {} entries", tokens.n_tokens(), model.n_features(), x.nnz());
        }
        let [whole, tokenize, fit, tokenize_busy, fit_busy] = best.map(|seconds| seconds * 1000.0);
        println!(
            "{name}: {whole:.1} ms (tokenize {tokenize:.1}, fit {fit:.1}); processors busy {:.1} ms (tokenize \
             {tokenize_busy:.1}, fit {fit_busy:.1}); {size}",
            tokenize_busy + fit_busy,
        );
    }
    Ok(())
}

fn short(documents: usize, run: &Run) -> Result<(), Box<dyn Error>> {
    let mut rng = run.rng(0);
    let texts: Vec<String> = (0..documents).map(|_| short_text(&mut rng)).collect();
    let before = peak_megabytes();
    let (started, busy) = (Instant::now(), processor_seconds());
    let mut builder = WordsParams::default().builder(run)?;
    for batch in texts.chunks(10_000) {
        builder.push(batch)?;
    }
    let tokens = builder.finish()?;
    let tokenize_busy = processor_seconds() - busy;
    let (model, x) = TfidfParams::default().fit(&tokens, run)?;
    let (whole, whole_busy) = (started.elapsed().as_secs_f64(), processor_seconds() - busy);
    println!(
        "{documents} documents: {:.0} ms; processors busy {:.0} ms (tokenize {:.0}); {:.0} MB over the {before:.0} MB of \
         the texts; {} tokens, {} terms, {} entries",
        whole * 1000.0,
        whole_busy * 1000.0,
        tokenize_busy * 1000.0,
        peak_megabytes() - before,
        tokens.n_tokens(),
        model.n_features(),
        x.nnz(),
    );
    Ok(())
}

/// 10 to 20 words whose ranks follow Zipf's law up to a million.
fn short_text(rng: &mut impl Rng) -> String {
    let length = rng.random_range(10..=20);
    let word = |_| format!("w{} ", (1e6f64.powf(rng.random::<f64>())) as u64);
    (0..length).map(word).collect()
}

/// Processor time of all threads: what a machine that others use as well does not blur.
fn processor_seconds() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let nanoseconds = |task: std::fs::DirEntry| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<f64>().ok()
    };
    tasks.filter_map(nanoseconds).sum::<f64>() / 1e9
}

/// The most memory the process has held.
fn peak_megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap_or(0.0) / 1024.0
}
