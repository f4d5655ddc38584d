//! Every target of `fuzz/` over its seeds and over some thousands of inputs made of them, the same ones each time: what a fuzzer would try first,
//! on a stable compiler and in seconds. `CORPUSCLE_FUZZ=N` tries N inputs a target instead, `CORPUSCLE_FUZZ_SEED=S` others.
//! Each input is written to `target/fuzz-NAME` before it is tried, so that one that ends the process is
//! there afterwards.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod mutate;
mod targets;

use std::io::{Seek, Write};
use std::path::PathBuf;
use std::time::Instant;

use mutate::Mutator;
use targets::TARGETS;

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap())
}

fn files(folder: &str) -> Vec<(String, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files: Vec<(String, Vec<u8>)> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap()))
        .collect();
    files.sort();
    files
}

/// The committed inputs of a target. Models of earlier releases serve those that read models.
fn seeds(name: &str) -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> =
        files(&format!("../../fuzz/seeds/{name}")).into_iter().map(|(_, bytes)| bytes).collect();
    if matches!(name, "model" | "update") {
        let golden = files("tests/golden").into_iter().filter(|(file, _)| file.ends_with(".model"));
        seeds.extend(golden.filter(|(file, _)| name == "model" || file.contains("updatable")).map(|(_, bytes)| bytes));
    }
    assert!(!seeds.is_empty(), "no seeds for {name}");
    seeds
}

/// Inputs a target gets beside its seeds. Where one costs a model or a folder of files, fewer.
fn usual(name: &str) -> u64 {
    match name {
        "index" => 150,
        "update" => 150,
        "model" => 1500,
        "compressed" | "excel" | "parquet" | "tokenize" => 1500,
        _ => 3000,
    }
}

/// The seeds of a target and inputs made of them are taken or refused, none for long.
fn attempt(name: &str) {
    let body = TARGETS.iter().find(|(known, _)| *known == name).unwrap().1;
    let seeds = seeds(name);
    let last = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{name}"));
    // Kept open: file systems wait for the disk when a file that was emptied is closed.
    let mut kept = std::fs::File::create(&last).unwrap();
    let began = Instant::now();
    let mut longest = (0.0, 0);
    let mut attempt = |number: u64, input: &[u8]| {
        kept.rewind().unwrap();
        kept.write_all(input).unwrap();
        kept.set_len(input.len() as u64).unwrap();
        let began = Instant::now();
        body(input);
        let seconds = began.elapsed().as_secs_f64();
        if seconds > longest.0 {
            longest = (seconds, number);
        }
    };
    seeds.iter().zip(0..).for_each(|(seed, number)| attempt(number, seed));
    let count = setting("CORPUSCLE_FUZZ").unwrap_or(usual(name));
    let mut mutator = Mutator::new(setting("CORPUSCLE_FUZZ_SEED").unwrap_or(1));
    for number in 0..count {
        let input = mutator.input(&seeds);
        attempt(seeds.len() as u64 + number, &input);
    }
    let tried = seeds.len() as u64 + count;
    let took = began.elapsed().as_secs_f64();
    println!("{name}: {tried} inputs in {took:.1} s, the longest {:.3} s ({})", longest.0, longest.1);
    // Inputs are a few kilobytes at most; one that takes so long has found something that is not linear.
    assert!(longest.0 < 20.0, "{name}: input {} took {:.1} s", longest.1, longest.0);
    let _ = std::fs::remove_file(&last);
}

/// A test for each target, so that they run side by side, and one that none is left out.
macro_rules! targets {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            attempt(stringify!($name));
        })*

        #[test]
        fn no_target_is_left_out() {
            let tried = [$(stringify!($name)),*];
            assert!(TARGETS.iter().all(|(name, _)| tried.contains(name)));
        }
    };
}

targets!(compressed csv excel fasttext index jsonl lines model names parquet query recipe sgml tokenize trec tsv update vectors);
