use super::*;
use crate::text::WordsParams;

/// Documents about one of two topics, each with its own words.
fn topics(run: &Run) -> Tokens {
    let mut rng = run.rng(99);
    let texts: Vec<String> = (0..400)
        .map(|number| {
            let words = (0..40).map(|_| format!("{}{} ", ["cat", "tax"][number % 2], rng.random_range(0..20)));
            words.collect::<String>() + "and the of"
        })
        .collect();
    WordsParams::default().tokenize(&texts, run).unwrap()
}

fn small() -> SkipGramParams {
    SkipGramParams { dim: 24, window: 5, negatives: 5, min_count: 2, subsample: 0.0, epochs: 5, ..Default::default() }
}

#[test]
fn words_used_alike_come_together() {
    let run = Run::new(3, 2).unwrap();
    let tokens = topics(&run);
    // A decomposition has a direction for what documents share and one for what sets the topics apart; any more are chance.
    for (architecture, dim) in [(Architecture::SkipGram, 24), (Architecture::Cbow, 24), (Architecture::Lsi, 2)] {
        for deterministic in [true, false] {
            let vectors =
                SkipGramParams { architecture, dim, deterministic, epochs: 20, ..small() }.fit(&tokens, &run).unwrap();
            let near = vectors.neighbours("cat3", 15).unwrap();
            let own = near.iter().filter(|near| near.word.starts_with("cat")).count();
            assert!(own >= 14, "{architecture:?} {deterministic}: {near:?}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_bits_on_any_threads() {
    for architecture in [Architecture::SkipGram, Architecture::Lsi] {
        let fit = |seed, threads| {
            let run = Run::new(seed, threads).unwrap();
            SkipGramParams { architecture, ..small() }.fit(&topics(&Run::new(1, 1).unwrap()), &run).unwrap()
        };
        let one = fit(7, 1);
        assert_eq!(fit(7, 2), one);
        assert_eq!(fit(7, 8), one);
        // A decomposition has one answer, whatever it starts from.
        assert_eq!(fit(8, 1) != one, architecture == Architecture::SkipGram);
    }
}

#[test]
fn decomposed_words_are_the_right_singular_vectors_of_tf_idf() {
    let run = Run::new(1, 1).unwrap();
    let tokens = WordsParams::default().tokenize(&["cat dog dog", "cat", "tax law", ""], &run).unwrap();
    let params = SkipGramParams { architecture: Architecture::Lsi, dim: 9, min_count: 1, ..small() };
    let vectors = params.fit(&tokens, &run).unwrap();
    // Three documents have words, and the two topics share none.
    assert_eq!((vectors.len(), vectors.dim()), (4, 3));
    // The first document is (cat, dog) = (1 + ln 5/3, (1 + ln 2)(1 + ln 5/2)) over its length; tax and law are always together.
    let (cat, dog) = (vectors.get("cat").unwrap(), vectors.get("dog").unwrap());
    let (tax, law) = (vectors.get("tax").unwrap(), vectors.get("law").unwrap());
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(a * b)).sum::<f64>();
    assert!((dot(tax, law) - 0.5).abs() < 1e-5 && (dot(tax, tax) - 0.5).abs() < 1e-5, "{tax:?} {law:?}");
    assert!(dot(cat, tax).abs() < 1e-5 && dot(dog, law).abs() < 1e-5);
    // Both words of a topic with two documents: its two directions span their whole plane.
    assert!((dot(cat, cat) - 1.0).abs() < 1e-5 && dot(cat, dog).abs() < 1e-5);
    let few = SkipGramParams { min_count: 9, ..params };
    assert!(few.fit(&tokens, &run).unwrap_err().to_string().contains("lower min_count"));
}

#[test]
fn values_out_of_range_are_named() {
    for (params, name) in [
        (SkipGramParams { dim: 0, ..small() }, "dim = 0"),
        (SkipGramParams { window: 0, ..small() }, "window = 0"),
        (SkipGramParams { negatives: 0, ..small() }, "negatives = 0"),
        (SkipGramParams { min_count: 0, ..small() }, "min_count = 0"),
        (SkipGramParams { epochs: 0, ..small() }, "epochs = 0"),
        (SkipGramParams { subsample: f64::NAN, ..small() }, "subsample = NaN"),
        (SkipGramParams { rate: 0.0, ..small() }, "rate = 0"),
    ] {
        assert!(params.check().unwrap_err().to_string().contains(name));
    }
    let run = Run::new(1, 1).unwrap();
    let tokens = WordsParams::default().tokenize(&["a b", "c"], &run).unwrap();
    assert!(small().fit(&tokens, &run).unwrap_err().to_string().contains("lower min_count"));
}

#[test]
fn documents_too_short_for_a_pair_leave_the_start_as_it_is() {
    let run = Run::new(1, 2).unwrap();
    let tokens = WordsParams::default().tokenize(&["a", "a", ""], &run).unwrap();
    assert_eq!(small().fit(&tokens, &run).unwrap().len(), 1);
}

#[test]
fn a_raised_flag_stops_training() {
    let run = Run::new(1, 1).unwrap();
    let tokens = topics(&run);
    run.cancel_flag().store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(matches!(small().fit(&tokens, &run), Err(Error::Cancelled)));
}

#[test]
fn windows_end_with_the_document() {
    let run = Run::new(3, 1).unwrap();
    // A document has the words of its own number alone, so a span with two numbers would lie across two.
    let texts: Vec<String> = (0..50).map(|number| format!("w{number} ").repeat(number + 2)).collect();
    let tokens = WordsParams::default().tokenize(&texts, &run).unwrap();
    let frequent = Frequent::of(&tokens, 1).unwrap();
    let documents: Vec<u32> = (0..50).collect();
    let slab = Slab::new(&documents, &tokens, None, &frequent, &vec![u32::MAX; frequent.counts.len()], &run, 5);
    let mut words = 0;
    for &span in &slab.spans {
        let span = slab.span(span);
        assert!(span.words.iter().all(|word| *word == span.words[0]) && span.end <= span.words.len());
        words += span.end - span.start;
    }
    assert_eq!(words, tokens.n_tokens());
}
