//! Topics that were put into made documents come back; bad input; same bits on any threads; explanations.

use super::*;
use crate::store::StoreWriter;
use crate::store::tests::round_trip;
use crate::text::WordsParams;
use crate::vectorize::VectorizerModel;
use rand::RngExt;

fn run(threads: usize) -> Run {
    Run::new(3, threads).unwrap()
}

/// Documents of 40 words, each from one or two of four topics of 20 words of their own.
fn made(documents: usize) -> Vec<String> {
    let mut rng = run(1).rng(77);
    let mut one = || {
        let topics = [rng.random_range(0..4), rng.random_range(0..4)];
        let word = |_| format!("w{}x{}", topics[rng.random_range(0..2)], rng.random_range(0..20));
        (0..40).map(word).collect::<Vec<_>>().join(" ")
    };
    (0..documents).map(|_| one()).collect()
}

fn tokens(texts: &[impl AsRef<str> + Sync]) -> Tokens {
    WordsParams::default().tokenize(texts, &run(1)).unwrap()
}

fn params(topics: usize) -> DirichletParams {
    DirichletParams { topics, sweeps: 60, ..DirichletParams::default() }
}

#[test]
fn made_topics_come_back() {
    let tokens = tokens(&made(300));
    let (model, drawn) = params(4).fit_tokens(&tokens, &run(2)).unwrap();
    // Every made topic is one found topic: the 20 words of each have nearly all of its probability.
    let mut found = Vec::new();
    for topic in 0..4 {
        let mut words: Vec<u32> = (0..model.words().len() as u32).collect();
        words.sort_by(|&a, &b| model.word_given_topics(b)[topic].total_cmp(&model.word_given_topics(a)[topic]));
        let made: Vec<&str> = words[..20].iter().map(|&word| &model.words().term(word)[..2]).collect();
        assert!(made.iter().all(|prefix| *prefix == made[0]), "{made:?}");
        found.push(made[0].to_string());
    }
    found.sort_unstable();
    found.dedup();
    assert_eq!(found.len(), 4);
    let settled = model.token_topics(&tokens, &run(1)).unwrap();
    let same = drawn.iter().zip(&settled).filter(|(a, b)| a == b).count();
    assert!(same * 100 > 95 * drawn.len(), "{same} of {}", drawn.len());
    let sums: f32 = (0..model.words().len() as u32).map(|word| model.word_given_topics(word)[0]).sum();
    assert!((sums - 1.0).abs() < 1e-4);
    // 20 words of equal probability in each of two topics of a document.
    let perplexity = model.perplexity(&tokens, &run(1)).unwrap().unwrap();
    assert!((30.0..46.0).contains(&perplexity), "{perplexity}");
}

#[test]
fn bits_do_not_depend_on_threads() {
    let tokens = tokens(&made(400));
    let (model, x) = params(20).fit(&tokens, &run(1)).unwrap();
    for threads in [2, 8] {
        let (other, same) = params(20).fit(&tokens, &run(threads)).unwrap();
        assert_eq!((&other, &same), (&model, &x));
    }
    assert_eq!(model.transform(&tokens, &run(2)).unwrap(), x);
    let loaded = round_trip(|out| model.save(out).unwrap(), DirichletModel::load).unwrap();
    assert_eq!(loaded, model);
    assert_ne!(params(20).fit(&tokens, &Run::new(4, 1).unwrap()).unwrap().0, model);
}

#[test]
fn bad_input_has_a_defined_answer() {
    let error = |params: DirichletParams, texts: &[&str]| params.fit(&tokens(texts), &run(1)).unwrap_err().to_string();
    assert!(error(params(3), &["", "!"]).contains("none of the 2 documents has a word"));
    assert!(error(params(3), &["a b c"]).contains("min_df"));
    assert!(error(params(3), &["a b", "c d"]).contains("lower min_df = 2"));
    assert!(error(params(0), &["a"]).contains("topics = 0"));
    assert!(error(DirichletParams { sweeps: 0, ..params(2) }, &["a"]).contains("sweeps = 0"));
    // More topics than documents, one document, one word.
    for texts in [&["a b a", "b c b"][..], &["a b c a"], &["a"]] {
        let params = DirichletParams { min_df: Bound::Count(1), ..params(7) };
        let (model, x) = params.fit(&tokens(texts), &run(1)).unwrap();
        for row in 0..x.rows() {
            assert!((x.row(row).iter().sum::<f32>() - 1.0).abs() < 1e-5);
        }
        // Unseen words only: the mean of the prior.
        let unseen = model.transform(&tokens(&["zzz", ""]), &run(1)).unwrap();
        let all: f32 = model.alpha().iter().sum();
        for (share, alpha) in unseen.row(0).iter().zip(model.alpha()) {
            assert!((share - alpha / all).abs() < 1e-6);
        }
        assert_eq!(unseen.row(0), unseen.row(1));
        assert_eq!(model.perplexity(&tokens(&["zzz", "a"]), &run(1)).unwrap(), None);
        assert_eq!(model.token_topics(&tokens(&["zzz"]), &run(1)).unwrap(), [u32::MAX]);
    }
}

#[test]
fn damaged_models_are_refused() {
    let (model, _) = params(2).fit(&tokens(&["a b", "b a"]), &run(1)).unwrap();
    let with = |change: &dyn Fn(&mut StoreWriter)| {
        let save = |out: &mut StoreWriter| {
            model.save(out).unwrap();
            change(out);
        };
        round_trip(save, DirichletModel::load)
    };
    assert!(with(&|_| {}).is_ok());
    assert!(with(&|out| out.put_f32("alpha", &[2], &[0.0, 1.0])).is_err());
    assert!(with(&|out| out.put_f32("alpha", &[1], &[1.0])).is_err());
    assert!(with(&|out| out.put_f32("shares", &[2], &[-0.1, 1.1])).is_err());
    assert!(with(&|out| out.put_f32("given_topic", &[2, 2], &[0.5, 0.0, 0.5, 1.0])).is_err());
}

#[test]
fn words_account_for_a_score() {
    let tokens = tokens(&made(200));
    let (model, x) = params(4).fit(&tokens, &run(1)).unwrap();
    let weights = [1.0, -2.0, 0.5, 3.0];
    let score: f64 = x.row(0).iter().zip(weights).map(|(share, weight)| f64::from(share * weight)).sum();
    let (prior, length) = (model.alpha().iter().sum::<f32>(), 40.0);
    let constant: f64 =
        model.alpha().iter().zip(weights).map(|(alpha, weight)| f64::from(alpha * weight / (prior + length))).sum();
    let one = tokens.select(&[0]).unwrap();
    let parts = model.word_parts(&one, &weights, &run(1)).unwrap().unwrap();
    let sum: f64 = parts.iter().map(|(_, part)| part).sum();
    assert!((sum + constant - score).abs() < 5e-3, "{sum} + {constant} is not {score}");
}

#[test]
fn a_raised_flag_stops_it() {
    let run = run(1);
    let tokens = tokens(&made(100));
    run.cancel_flag().store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(matches!(params(4).fit(&tokens, &run), Err(Error::Cancelled)));
}
