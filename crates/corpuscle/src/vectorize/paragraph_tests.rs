//! Tests of paragraph vectors.

use super::*;
use crate::params::Params;
use crate::store::tests::round_trip;
use crate::text::{Tokens, WordsParams};
use crate::words::SkipGramParams;
use crate::{Error, Run};

/// Documents about one of two topics, each with its own words.
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

fn small(mode: ParagraphMode, words: bool) -> ParagraphParams {
    let training =
        SkipGramParams { dim: 12, min_count: 1, epochs: 40, subsample: 0.0, ..ParagraphParams::default().training };
    ParagraphParams { mode, words, training }
}

const ALL: [(ParagraphMode, bool); 3] =
    [(ParagraphMode::Dbow, false), (ParagraphMode::Dbow, true), (ParagraphMode::Dm, false)];

/// How much more documents of one topic have in common than those of two, as a mean of cosines.
fn apart(params: &ParagraphParams, texts: &[String]) -> f32 {
    let run = Run::new(3, 2).unwrap();
    let (_, x) = params.fit(&tokens(texts, &run), &run).unwrap();
    let inner = |a: usize, b: usize| x.row(a).iter().zip(x.row(b)).map(|(a, b)| a * b).sum::<f32>();
    let mean = |step: usize| (0..40).map(|row| inner(row, row + step)).sum::<f32>() / 40.0;
    mean(2) - mean(1)
}

/// gensim 4.4 with the same settings: 0.19 by inference, 0.27 by the vectors training ends with.
#[test]
fn documents_of_a_topic_come_together() {
    for (mode, words) in &ALL[..2] {
        let apart = apart(&small(*mode, *words), &texts());
        assert!(apart > 0.2, "{words}: {apart}");
    }
}

/// In the texts above the words around say what comes next, so that nothing is left for the paragraph to learn: gensim's own PV-DM keeps
/// topics apart by −0.08 there. Where a common word stands before and after each word of the topic, and the window is one
/// word, only the paragraph can tell; gensim 4.4 comes to 0.67.
#[test]
fn documents_of_a_topic_come_together_in_a_distributed_memory() {
    let common = ["the", "of", "and", "is"];
    let between = |(i, text): (usize, String)| -> String {
        let topical = text.split(' ').filter(|word| *word != "the").enumerate();
        topical.map(|(j, word)| format!("{word} {} ", common[(i + j * 3) % 4])).collect()
    };
    let texts: Vec<String> = texts().into_iter().enumerate().map(between).collect();
    let mut params = small(ParagraphMode::Dm, false);
    params.training.window = 1;
    let apart = apart(&params, &texts);
    assert!(apart > 0.5, "{apart}");
}

#[test]
fn the_same_bits_on_any_threads_and_from_the_store() {
    let all = texts();
    for (mode, words) in ALL {
        let params = small(mode, words);
        let fit = |threads| {
            let run = Run::new(7, threads).unwrap();
            params.fit(&tokens(&all, &run), &run).unwrap()
        };
        let (model, x) = fit(1);
        assert_eq!(fit(2), (model.clone(), x.clone()));
        assert_eq!(fit(8), (model.clone(), x.clone()));
        let loaded = round_trip(|out| model.save(out).unwrap(), |store| Vectorizer::load(&params, store)).unwrap();
        assert_eq!(loaded, model);
        // A document has one vector, whoever asks and whatever stands beside it.
        let other = Run::new(99, 3).unwrap();
        let alone = loaded.transform(&tokens(&all[5..6], &other), &other).unwrap();
        assert_eq!(alone.row(0), x.row(5));
        // Another size than the parameters say is refused.
        let wider = ParagraphParams { training: SkipGramParams { dim: 13, ..params.training.clone() }, ..params };
        assert!(round_trip(|out| model.save(out).unwrap(), |store| Vectorizer::load(&wider, store)).is_err());
    }
}

#[test]
fn what_words_bring_adds_up_to_the_score() {
    let run = Run::new(3, 2).unwrap();
    let all = texts();
    for (mode, words) in ALL {
        let (model, x) = small(mode, words).fit(&tokens(&all, &run), &run).unwrap();
        let weights: Vec<f32> = (0..12).map(|column| column as f32 - 4.0).collect();
        let parts = model.word_parts(&tokens(&all[7..8], &run), &weights, &run).unwrap().unwrap();
        let sum: f64 = parts.iter().map(|(_, part)| part).sum();
        let score: f32 = x.row(7).iter().zip(&weights).map(|(value, weight)| value * weight).sum();
        assert!((sum - f64::from(score)).abs() < 1e-3, "{mode:?}: {sum} {score}");
        assert!(parts.windows(2).all(|pair| pair[0].0 < pair[1].0), "a word has one part");
    }
}

#[test]
fn strange_documents_have_a_defined_vector() {
    let run = Run::new(3, 2).unwrap();
    for (mode, words) in ALL {
        // One document, and more dimensions than words.
        let (model, x) = small(mode, words).fit(&tokens(&["one two three two"], &run), &run).unwrap();
        assert!(x.values().iter().all(|value| value.is_finite()));
        let z = model.transform(&tokens(&["zzz", "", "two", "zzz two"], &run), &run).unwrap();
        assert!(z.row(0).iter().chain(z.row(1)).all(|&value| value == 0.0));
        assert!(z.values().iter().all(|value| value.is_finite()));
        assert_eq!(z.row(2), z.row(3));
        // A long document of one word, over and over.
        let long = tokens(&["word ".repeat(5000)], &run);
        assert!(small(mode, words).fit(&long, &run).unwrap().1.values().iter().all(|value| value.is_finite()));
        let none = SkipGramParams { min_count: 9, ..small(mode, words).training };
        let error = ParagraphParams { training: none, ..small(mode, words) }.fit(&tokens(&["a b"], &run), &run);
        assert!(error.unwrap_err().to_string().contains("lower min_count"));
    }
}

#[test]
fn values_out_of_range_are_named_and_a_raised_flag_stops() {
    let wrong = SkipGramParams { dim: 0, rate: 2.0, ..SkipGramParams::default() };
    let error = ParagraphParams { training: wrong, ..Default::default() }.check().unwrap_err().to_string();
    assert!(error.starts_with("paragraph: dim = 0") && error.contains("rate = 2"), "{error}");
    let run = Run::new(1, 1).unwrap();
    let tokens = tokens(&texts(), &run);
    run.cancel_flag().store(true, std::sync::atomic::Ordering::Relaxed);
    for (mode, words) in ALL {
        assert!(matches!(small(mode, words).fit(&tokens, &run), Err(Error::Cancelled)));
    }
}
