//! Tests of the vectorizers made of word vectors.

use super::*;
use crate::Run;
use crate::matrix::Csr;
use crate::params::Params;
use crate::store::tests::round_trip;
use crate::text::{Tokens, WordsParams};

fn texts() -> Vec<String> {
    let topics = [["cat", "dog", "paw", "fur", "vet"], ["tax", "law", "fee", "act", "vat"]];
    (0..120)
        .map(|i| {
            (0..12).map(|j| topics[i % 2][(i * 7 + j * j * 3 + j) % 5].to_string() + " ").collect::<String>() + "the"
        })
        .collect()
}

fn tokens(texts: &[String], run: &Run) -> Tokens {
    WordsParams::default().tokenize(texts, run).unwrap()
}

fn space() -> SpaceParams {
    let training = crate::words::SkipGramParams { dim: 6, min_count: 1, epochs: 3, ..Default::default() };
    SpaceParams { training, vectors: None }
}

fn row(x: &Csr, row: usize) -> Vec<f32> {
    let mut dense = vec![0.0; x.cols()];
    let (columns, values) = x.row(row);
    columns.iter().zip(values).for_each(|(&column, &value)| dense[column as usize] = value);
    dense
}

#[test]
fn scdv_is_the_formula_written_out() {
    let run = Run::new(4, 2).unwrap();
    let tokens = tokens(&texts(), &run);
    let params = ScdvParams { space: space(), clusters: 3, sparsity: 10.0, ..ScdvParams::default() };
    let (model, x) = params.fit(&tokens, &run).unwrap();
    let words = model.space().vectors();
    let mut full = Vec::new();
    for document in 0..tokens.n_documents() {
        let mut sum = [0f64; 18];
        for word in tokens.words(document) {
            let id = words.words().id(word).unwrap() as usize;
            let (clusters, shares) = model.posteriors().row(id);
            for (&cluster, &share) in clusters.iter().zip(shares) {
                for (i, &value) in words.vectors().row(id).iter().enumerate() {
                    sum[cluster as usize * 6 + i] += f64::from(model.space().idf()[id] * share * value);
                }
            }
        }
        let length = sum.iter().map(|v| v * v).sum::<f64>().sqrt();
        full.push(sum.map(|v| v / length));
    }
    let mean = |pick: fn(f64, f64) -> f64| {
        full.iter().map(|row| row.iter().copied().fold(0.0, pick)).sum::<f64>() / full.len() as f64
    };
    let cut = 0.1 * (mean(f64::min).abs() + mean(f64::max).abs()) / 2.0;
    assert!((f64::from(model.cut()) - cut).abs() < 1e-6);
    for (document, full) in full.iter().enumerate() {
        for (value, &wanted) in row(&x, document).iter().zip(full) {
            let wanted = if wanted.abs() < cut { 0.0 } else { wanted };
            assert!((f64::from(*value) - wanted).abs() < 1e-5 || (wanted.abs() - cut).abs() < 1e-5);
        }
    }
    assert!(x.nnz() < 120 * 18);
}

#[test]
fn all_four_transform_store_and_keep_their_bits() {
    let fit = |threads: usize| {
        let run = Run::new(4, threads).unwrap();
        let tokens = tokens(&texts(), &run);
        let scdv = ScdvParams { space: space(), clusters: 3, ..ScdvParams::default() }.fit(&tokens, &run).unwrap();
        let bowv = BowvParams { space: space(), clusters: 3, sparsity: 0.0 }.fit(&tokens, &run).unwrap();
        let concepts = ConceptsParams { space: space(), clusters: 3 }.fit(&tokens, &run).unwrap();
        let average = AverageParams { space: space(), ..AverageParams::default() }.fit(&tokens, &run).unwrap();
        (scdv, bowv, concepts, average)
    };
    let one = fit(1);
    assert_eq!(fit(2), one);
    assert_eq!(fit(8), one);
    let ((scdv, a), (bowv, b), (concepts, c), (average, d)) = one;
    let run = Run::new(4, 1).unwrap();
    let all = tokens(&texts(), &run);
    assert_eq!(
        round_trip(|out| scdv.save(out).unwrap(), |store| Vectorizer::load(&ScdvParams::default(), store))
            .unwrap()
            .transform(&all, &run)
            .unwrap(),
        a
    );
    assert_eq!(
        round_trip(|out| bowv.save(out).unwrap(), |store| Vectorizer::load(&BowvParams::default(), store))
            .unwrap()
            .transform(&all, &run)
            .unwrap(),
        b
    );
    assert_eq!(
        round_trip(|out| concepts.save(out).unwrap(), ConceptsModel::load).unwrap().transform(&all, &run).unwrap(),
        c
    );
    let loaded = round_trip(|out| average.save(out).unwrap(), AverageModel::load).unwrap();
    assert_eq!(loaded.transform(&all, &run).unwrap(), d);
    assert_eq!((a.cols(), b.cols(), c.cols(), d.cols()), (18, 21, 3, 6));
    for x in [&b, &c] {
        assert!((row(x, 5).iter().map(|v| v * v).sum::<f32>() - 1.0).abs() < 1e-5);
    }
    let strange = tokens(&["zzz".to_string(), String::new()], &run);
    assert_eq!(scdv.transform(&strange, &run).unwrap().nnz(), 0);
    assert_eq!(bowv.transform(&strange, &run).unwrap().nnz(), 0);
    assert_eq!(concepts.transform(&strange, &run).unwrap().nnz(), 0);
    assert!(average.transform(&strange, &run).unwrap().values().iter().all(|&v| v == 0.0));
}

#[test]
fn vectors_can_come_from_a_file() {
    let run = Run::new(4, 1).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("few.txt");
    std::fs::write(&path, "cat 1 0\ntax 0 2\nunseen 3 3\n").unwrap();
    let space = SpaceParams { vectors: Some(path.display().to_string()), ..space() };
    let params = AverageParams { space, ..AverageParams::default() };
    let tokens = tokens(&["cat cat tax".to_string(), "tax".to_string()], &run);
    let (model, x) = params.fit(&tokens, &run).unwrap();
    assert_eq!(model.space().vectors().len(), 2);
    let idf = model.space().idf();
    assert!((x.row(0)[0] / x.row(0)[1] - 2.0 * idf[0] / idf[1]).abs() < 1e-5);
    assert_eq!(x.row(1), [0.0, 1.0]);
}

#[test]
fn values_out_of_range_are_named() {
    let run = Run::new(4, 1).unwrap();
    let tokens = tokens(&texts(), &run);
    let wrong = |params: ScdvParams| params.fit(&tokens, &run).unwrap_err().to_string();
    assert!(wrong(ScdvParams { clusters: 0, ..Default::default() }).contains("clusters = 0"));
    assert!(wrong(ScdvParams { sparsity: -1.0, ..Default::default() }).contains("sparsity = -1"));
    assert!(wrong(ScdvParams { space: space(), clusters: 50, ..Default::default() }).contains("11 words"));
    let mut params = ScdvParams::default();
    params.space.training.dim = 0;
    assert!(params.check().unwrap_err().to_string().starts_with("scdv: dim = 0"));
}
