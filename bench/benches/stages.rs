//! Every stage on made-up corpora of a few sizes, the sizes in the names.
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;

use corpuscle::Run;
use corpuscle::classify::{Classifier, KnnParams, LogisticParams, Multiclass, SvmParams};
use corpuscle::corpus::{Document, Labels};
use corpuscle::matrix::Matrix;
use corpuscle::project::Target;
use corpuscle::recipe::{Corpus, Model, Recipe};
use corpuscle::text::WordsParams;
use corpuscle::vectorize::TfidfParams;
use corpuscle_bench::{Shape, documents};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

const SIZES: [usize; 2] = [2_000, 20_000];

struct Made {
    texts: Vec<String>,
    labels: Labels,
    x: Matrix,
}

fn made(size: usize, run: &Run) -> Made {
    let documents: Vec<Document> = documents(Shape::short(size), 1).collect();
    let labels = Labels::from_lists(documents.iter().map(|document| document.labels.as_deref()));
    let texts: Vec<String> = documents.into_iter().map(|document| document.text).collect();
    let tokens = WordsParams::default().tokenize(&texts, run).unwrap();
    let x = TfidfParams::default().fit(&tokens, run).unwrap().1.into();
    Made { texts, labels, x }
}

fn words_and_matrices(c: &mut Criterion) {
    let run = Run::new(42, 0).unwrap();
    let mut group = c.benchmark_group("text");
    for size in SIZES {
        let made = made(size, &run);
        let bytes: usize = made.texts.iter().map(String::len).sum();
        group.throughput(Throughput::Bytes(bytes as u64));
        group.bench_function(BenchmarkId::new("tokenize", size), |b| {
            b.iter(|| black_box(WordsParams::default().tokenize(&made.texts, &run).unwrap()));
        });
        let tokens = WordsParams::default().tokenize(&made.texts, &run).unwrap();
        group.bench_function(BenchmarkId::new("tfidf", size), |b| {
            b.iter(|| black_box(TfidfParams::default().fit(&tokens, &run).unwrap()));
        });
    }
    group.finish();
}

fn classifiers(c: &mut Criterion) {
    let run = Run::new(42, 0).unwrap();
    let mut group = c.benchmark_group("classify");
    group.sample_size(10);
    for size in SIZES {
        let made = made(size, &run);
        group.bench_function(BenchmarkId::new("svm", size), |b| {
            b.iter(|| black_box(SvmParams::default().fit(&made.x, &Target::new(&made.labels), &run).unwrap()));
        });
        group.bench_function(BenchmarkId::new("crammer_singer", size), |b| {
            let params = SvmParams { multiclass: Multiclass::CrammerSinger, ..SvmParams::default() };
            b.iter(|| black_box(params.fit(&made.x, &Target::new(&made.labels), &run).unwrap()));
        });
        group.bench_function(BenchmarkId::new("logistic", size), |b| {
            b.iter(|| black_box(LogisticParams::default().fit(&made.x, &Target::new(&made.labels), &run).unwrap()));
        });
        let model = KnnParams::default().fit(&made.x, &Target::new(&made.labels), &run).unwrap();
        let queries = made.x.select_rows(&(0..1_000).collect::<Vec<_>>());
        group.bench_function(BenchmarkId::new("knn_1000_queries", size), |b| {
            b.iter(|| black_box(model.neighbours(&queries, 10, &run).unwrap()));
        });
    }
    group.finish();
}

fn model_files(c: &mut Criterion) {
    let run = Run::new(42, 0).unwrap();
    let recipe = Recipe::parse("tfidf | svm(calibrate=0)").unwrap();
    let corpus = Corpus::read(documents(Shape::short(20_000), 1).map(Ok), recipe.words(), &run).unwrap();
    let model = recipe.fit(&corpus, &run).unwrap();
    let bytes = model.to_bytes().unwrap();
    let mut group = c.benchmark_group("model_file");
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    group.bench_function("write", |b| b.iter(|| black_box(model.to_bytes().unwrap())));
    group.bench_function("load", |b| b.iter(|| black_box(Model::from_bytes(&bytes, &run).unwrap())));
    group.finish();
}

fn one_by_one(c: &mut Criterion) {
    let run = Run::new(42, 0).unwrap();
    let mut group = c.benchmark_group("one_text");
    let asked: Vec<Document> = documents(Shape { words: 200, ..Shape::short(1_000) }, 2).collect();
    for recipe in ["tfidf | svm(calibrate=0)", "tfidf(ngrams=2, min_df=2) | svm(calibrate=0)"] {
        let recipe = Recipe::parse(recipe).unwrap();
        let corpus = Corpus::read(documents(Shape::short(20_000), 1).map(Ok), recipe.words(), &run).unwrap();
        let model = recipe.fit(&corpus, &run).unwrap();
        let mut predictor = model.predictor(&run).unwrap();
        let mut texts = asked.iter().map(|document| document.text.as_str()).cycle();
        group.bench_function(BenchmarkId::new("predictor", &recipe), |b| {
            b.iter(|| texts.next().map(|text| predictor.predict(text).unwrap().labels[0]));
        });
    }
    group.finish();
}

criterion_group!(benches, words_and_matrices, classifiers, model_files, one_by_one);
criterion_main!(benches);
