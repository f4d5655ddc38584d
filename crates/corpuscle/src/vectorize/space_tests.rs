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
fn bowv_is_the_formula_written_out() {
    let run = Run::new(4, 2).unwrap();
    let tokens = tokens(&texts(), &run);
    for icf in [ClusterWeight::Mean, ClusterWeight::Sum] {
        let (model, x) =
            BowvParams { space: space(), clusters: 3, icf, ..BowvParams::default() }.fit(&tokens, &run).unwrap();
        let words = model.space().vectors();
        for document in [0, 7, 119] {
            let (mut vectors, mut weights, mut members) = ([0f64; 18], [0f64; 3], [0f64; 3]);
            for word in tokens.words(document) {
                let id = words.words().id(word).unwrap() as usize;
                let cluster = model.posteriors().row(id).0[0] as usize;
                for (i, &value) in words.vectors().row(id).iter().enumerate() {
                    vectors[cluster * 6 + i] += f64::from(value);
                }
                weights[cluster] += f64::from(model.space().idf()[id]);
                members[cluster] += 1.0;
            }
            if icf == ClusterWeight::Mean {
                (0..3).filter(|&k| members[k] > 0.0).for_each(|k| weights[k] /= members[k]);
            }
            let length = |part: &[f64]| part.iter().map(|v| v * v).sum::<f64>().sqrt();
            let scales = [length(&vectors), length(&weights)].map(|length| 2f64.sqrt() * length);
            let wanted = vectors.iter().map(|v| v / scales[0]).chain(weights.iter().map(|v| v / scales[1]));
            for (value, wanted) in row(&x, document).iter().zip(wanted) {
                assert!((f64::from(*value) - wanted).abs() < 1e-6, "{icf:?} {document}: {value} {wanted}");
            }
        }
        // Nothing is made zero.
        assert_eq!(model.cut(), 0.0);
        // What words bring adds up to the score.
        let weights: Vec<f32> = (0..x.cols()).map(|column| 1.0 + column as f32).collect();
        let one = tokens.select(&[7]).unwrap();
        let parts: f64 = model.word_parts(&one, &weights, &run).unwrap().unwrap().iter().map(|(_, part)| part).sum();
        let score: f32 = row(&x, 7).iter().zip(&weights).map(|(value, weight)| value * weight).sum();
        assert!((parts - f64::from(score)).abs() < 1e-3, "{parts} {score}");
    }
}

#[test]
fn only_training_documents_set_the_threshold() {
    let run = Run::new(4, 2).unwrap();
    // The documents without a label are of one word each, so their largest entries are larger.
    let mut texts = texts();
    (0..60).for_each(|i| texts.push(["cat", "tax"][i % 2].to_string()));
    let tokens = tokens(&texts, &run);
    let params = ScdvParams { space: space(), clusters: 3, sparsity: 10.0, ..ScdvParams::default() };
    let labelled: Vec<usize> = (0..120).collect();
    let cut = |labelled: &[usize], run: &Run| {
        let (model, x) = Vectorizer::fit_labelled(&params, &tokens, labelled, run).unwrap();
        assert_eq!(x.rows(), 180);
        model.cut()
    };
    let (all, training) = (cut(&[], &run), cut(&labelled, &run));
    assert_ne!(all, training);
    assert_eq!(cut(&labelled, &Run::new(4, 8).unwrap()), training);
    assert_eq!(cut(&(0..180).collect::<Vec<_>>(), &run), all);
    // The same words and clusters, but the threshold of the first documents only.
    let (model, _) = params.fit(&tokens, &run).unwrap();
    let (alone, _) = params.fit_in(model.space().clone(), &tokens.select(&labelled).unwrap(), &run).unwrap();
    assert_eq!(alone.cut(), training);
    // Shared work is told apart by what is labelled.
    let sharing = Run::new(4, 1).unwrap().sharing();
    assert_eq!((cut(&[], &sharing), cut(&labelled, &sharing)), (all, training));
}

#[test]
fn the_spread_counts_every_value() {
    let run = Run::new(4, 2).unwrap();
    let tokens = tokens(&texts(), &run);
    let params = ScdvParams { space: space(), clusters: 3, sparsity: 10.0, ..ScdvParams::default() };
    let (model, x) = params.fit(&tokens, &run).unwrap();
    let spread = model.spread(&tokens, 20, &run).unwrap();
    let (whole, full) = ScdvParams { sparsity: 0.0, ..params }.fit(&tokens, &run).unwrap();
    assert_eq!((spread.documents, spread.columns), (120, 18));
    assert_eq!((spread.before, spread.after), (full.nnz() as u64, x.nnz() as u64));
    assert_eq!(spread.histogram.iter().sum::<u64>(), 120 * 18);
    let beyond = full.values().iter().filter(|&&value| value < -0.9 * spread.limit).count();
    assert_eq!(spread.histogram[0], beyond as u64);
    assert_eq!(spread.dense_bytes(), 120 * 18 * 4);
    assert_eq!(spread.sparse_bytes()[1], 8 * x.nnz() as u64 + 8 * 121);
    assert!(spread.zeros()[0] < spread.zeros()[1] && spread.zeros()[1] < 1.0);
    assert_eq!(model.spread(&tokens, 20, &Run::new(4, 8).unwrap()).unwrap(), spread);
    let uncut = whole.spread(&tokens, 20, &run).unwrap();
    assert_eq!((uncut.before, uncut.after, &uncut.histogram), (spread.before, spread.before, &spread.histogram));
}

#[test]
fn all_four_transform_store_and_keep_their_bits() {
    let fit = |threads: usize| {
        let run = Run::new(4, threads).unwrap();
        let tokens = tokens(&texts(), &run);
        let scdv = ScdvParams { space: space(), clusters: 3, ..ScdvParams::default() }.fit(&tokens, &run).unwrap();
        let bowv = BowvParams { space: space(), clusters: 3, ..BowvParams::default() }.fit(&tokens, &run).unwrap();
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
