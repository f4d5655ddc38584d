//! Tests of `twe` and `ltsg`.

use super::*;
use crate::params::Params;
use crate::store::tests::round_trip;
use crate::text::{Tokens, WordsParams};
use crate::{Error, Run};

fn texts() -> Vec<String> {
    let topics = [["cat", "dog", "paw", "fur", "vet"], ["tax", "law", "fee", "act", "vat"]];
    (0..120)
        .map(|i| {
            (0..12).map(|j| topics[i % 2][(i * 7 + j * j * 3 + j) % 5].to_string() + " ").collect::<String>() + "the"
        })
        .collect()
}

fn tokens<T: AsRef<str> + Sync>(texts: &[T], run: &Run) -> Tokens {
    WordsParams::default().tokenize(texts, run).unwrap()
}

fn small<P: Params>() -> P {
    let mut params = P::default();
    for (name, value) in [("dim", "6"), ("topics", "3"), ("sweeps", "20"), ("min_count", "1"), ("epochs", "6")] {
        params.set(name, value).unwrap();
    }
    params
}

#[test]
fn documents_of_a_topic_come_together() {
    let run = Run::new(3, 2).unwrap();
    let tokens = tokens(&texts(), &run);
    // Six passes over 1440 words leave all vectors close to each other.
    let (mut twe, mut ltsg) = (small::<TweParams>(), small::<LtsgParams>());
    twe.set("epochs", "40").unwrap();
    ltsg.set("epochs", "40").unwrap();
    for (name, x) in [("twe", twe.fit(&tokens, &run).unwrap().1), ("ltsg", ltsg.fit(&tokens, &run).unwrap().1)] {
        let inner = |a: usize, b: usize| x.row(a).iter().zip(x.row(b)).map(|(a, b)| a * b).sum::<f32>();
        let mean = |step: usize| (0..40).map(|row| inner(row, row + step)).sum::<f32>() / 40.0;
        assert!(mean(2) > mean(1) + 0.1, "{name}: {} {}", mean(2), mean(1));
        assert!((inner(0, 0) - 1.0).abs() < 1e-5);
    }
}

#[test]
fn the_same_bits_on_any_threads_from_the_store_and_shared() {
    let all = texts();
    let fit = |run: &Run| {
        let tokens = tokens(&all, run);
        (small::<TweParams>().fit(&tokens, run).unwrap(), small::<LtsgParams>().fit(&tokens, run).unwrap())
    };
    let one = fit(&Run::new(7, 1).unwrap());
    for threads in [2, 8] {
        assert_eq!(fit(&Run::new(7, threads).unwrap()), one);
    }
    assert_eq!(fit(&Run::new(7, 2).unwrap().sharing()), one);
    assert_ne!(one.0.1, one.1.1);
    let run = Run::new(1, 1).unwrap();
    for (model, x) in [&one.0, &one.1] {
        let loaded = round_trip(|out| model.save(out).unwrap(), TopicalModel::load).unwrap();
        assert_eq!(&loaded, model);
        let alone = loaded.transform(&tokens(&all[5..6], &run), &run).unwrap();
        assert_eq!(alone.row(0), x.row(5));
        // What words bring adds up to the score.
        let weights: Vec<f32> = (0..12).map(|column| column as f32 - 4.0).collect();
        let parts = model.word_parts(&tokens(&all[5..6], &run), &weights, &run).unwrap().unwrap();
        let sum: f64 = parts.iter().map(|(_, part)| part).sum();
        let score: f32 = x.row(5).iter().zip(&weights).map(|(value, weight)| value * weight).sum();
        assert!((sum - f64::from(score)).abs() < 1e-4, "{sum} {score}");
    }
}

#[test]
fn strange_documents_have_a_defined_vector_and_bad_values_are_named() {
    let run = Run::new(3, 2).unwrap();
    // One document, fewer words than dimensions; topics need words in two documents unless told otherwise.
    let few = tokens(&["one two three two", "one two three"], &run);
    let (model, x) = small::<LtsgParams>().fit(&few, &run).unwrap();
    assert!(x.values().iter().all(|value| value.is_finite()));
    let z = model.transform(&tokens(&["zzz", "", "two", "zzz two"], &run), &run).unwrap();
    assert!(z.row(0).iter().chain(z.row(1)).all(|&value| value == 0.0));
    assert_eq!(z.row(2), z.row(3));
    assert!(small::<TweParams>().fit(&tokens(&["one two"], &run), &run).is_err());
    let mut wrong = LtsgParams::default();
    (wrong.rounds, wrong.blend) = (0, 1.0);
    let wrong = wrong.check().unwrap_err().to_string();
    assert!(wrong.contains("rounds = 0") && wrong.contains("blend = 1"), "{wrong}");
    let mut twe = TweParams::default();
    twe.set("topics", "0").unwrap();
    assert!(twe.check().unwrap_err().to_string().starts_with("twe: topics = 0"));
    run.cancel_flag().store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(matches!(small::<TweParams>().fit(&few, &run), Err(Error::Cancelled)));
}
