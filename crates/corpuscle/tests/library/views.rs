//! Several views of the same texts in one recipe: each is what the same recipe makes of it alone, and everything a model does
//! (predict many texts and one, save, load, update, explain) does with all of them.
#![allow(clippy::unwrap_used)]

use corpuscle::Run;
use corpuscle::corpus::{Document, demo};
use corpuscle::recipe::{Corpus, Model, Recipe, Weighing};
use proptest::prelude::*;

const VIEWS: &[&str] = &[
    "words",
    "words(stem=porter, stop=english)",
    "words(position=true)",
    "words(negate=3)",
    "words(position=true, negate=2, tokenizer=sklearn)",
    "chars",
    "chars(min=1, max=3, tokenizer=letters)",
];

const RECIPES: &[&str] = &[
    "chars | tfidf(sublinear=true, min_df=3) | svm",
    "words(position=true) | tfidf(ngrams=2) | logistic",
    "words(negate=3) | tfidf(skip=2, min_df=2) | svm(calibrate=0)",
    "(tfidf(ngrams=2) + (chars | tfidf(min_df=3)) * 0.5) | svm",
    "words(stem=porter) | (tfidf + (words(position=true) | binary) + (chars | counts | normalize)) | logistic",
    "((words(stop=english) | tfidf) + (chars(max=3) | tfidf | lsi(10) | normalize)) | svm(calibrate=0)",
    "(tfidf(skip=1, min_df=2) + (words(negate=2) | tfidf | dcot(prototypes=50))) | knn(k=5)",
    "(tfidf + (words(stem=porter) | average(dim=8, min_count=2, epochs=1))) | svm(calibrate=0)",
    "(chars(max=3) | average(dim=8, min_count=5, epochs=1)) | svm(calibrate=0)",
    "vote(tfidf(min_df=2) | svm; chars | tfidf(min_df=3) | logistic; words(stem=porter) | tfidf | lsi(20) | svm)",
    "vote(tfidf | ig(200) | svm; words(stop=english) | tfidf | sprinkle(rank=20) | knn(k=5); calibrate=0, weights=equal)",
];

const ODD: &[&str] = &["", " \n", "!", "a", "I I", "zzyzx", "don't", "not", "Été 東京 ภาษาไทย not good, bad"];

fn train() -> Vec<Document> {
    demo().unwrap().train
}

fn texts() -> Vec<String> {
    let own = demo().unwrap().test.into_iter().take(12).map(|document| document.text);
    own.chain(ODD.iter().map(ToString::to_string)).collect()
}

fn fit(recipe: &str, documents: &[Document], run: &Run) -> Model {
    let recipe = Recipe::parse(recipe).unwrap();
    recipe.fit(&Corpus::read(documents.iter().cloned().map(Ok), recipe.words(), run).unwrap(), run).unwrap()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn the_same_bits_at_any_thread_count_and_out_of_a_file() {
    let texts = texts();
    for recipe in RECIPES {
        let one = fit(recipe, &train(), &Run::new(42, 1).unwrap());
        let bytes = one.to_bytes().unwrap();
        for threads in [2, 8] {
            let run = Run::new(42, threads).unwrap();
            assert_eq!(fit(recipe, &train(), &run).to_bytes().unwrap(), bytes, "{recipe}");
            let loaded = Model::from_bytes(&bytes, &run).unwrap();
            assert_eq!(loaded.recipe().full(), one.recipe().full());
            assert_eq!(loaded.recipe().words(), one.recipe().words());
            let (found, expected) = (loaded.predict(&texts, &run).unwrap(), one.predict(&texts, &run).unwrap());
            assert_eq!(bits(found.scores.values()), bits(expected.scores.values()), "{recipe}");
            assert_eq!(loaded.to_bytes().unwrap(), bytes, "{recipe}");
        }
    }
}

#[test]
fn one_text_is_answered_as_many_are() {
    let run = Run::new(42, 2).unwrap();
    let texts = texts();
    for recipe in RECIPES {
        let model = fit(recipe, &train(), &run);
        let many = model.predict(&texts, &run).unwrap();
        let mut predictor = model.predictor(&run).unwrap();
        for (row, text) in texts.iter().enumerate() {
            let found = predictor.predict(text).unwrap();
            assert_eq!(bits(found.scores), bits(many.scores.row(row)), "{recipe}: {text:?}");
        }
    }
}

#[test]
fn explanations_add_up_over_all_views() {
    let run = Run::new(42, 1).unwrap();
    let knn = |recipe: &&&str| recipe.contains("knn");
    for recipe in RECIPES.iter().filter(knn) {
        let model = fit(recipe, &train(), &run);
        let (weighing, terms) = model.weigh_terms("How do I get my invoice", 0, Some(1), &run).unwrap();
        assert!(weighing == Weighing::Nearness && !terms.is_empty(), "{recipe}");
    }
    for recipe in RECIPES.iter().filter(|recipe| !knn(recipe)) {
        let model = fit(recipe, &train(), &run);
        for document in demo().unwrap().test.iter().take(3) {
            let (weighing, terms) = model.weigh_terms(&document.text, 0, Some(1), &run).unwrap();
            assert!(!terms.is_empty(), "{recipe}");
            if weighing != Weighing::Adds {
                continue;
            }
            let sum: f64 = terms.iter().map(|part| part.amount).sum();
            let score = |text: &str| f64::from(model.predict(&[text], &run).unwrap().scores.row(0)[0]);
            // The score of an empty text is what every score has.
            let expected = score(&document.text) - score("");
            assert!((sum - expected).abs() < 1e-3, "{recipe}: {sum} {expected}");
        }
        assert!(model.weigh_terms("", 0, None, &run).unwrap().1.is_empty());
    }
    let model = fit(RECIPES[4], &train(), &run);
    let (_, terms) = model.weigh_terms("How do I get my invoice", 0, None, &run).unwrap();
    for term in ["^how", "invoic", "-voi-"] {
        assert!(terms.iter().any(|part| part.term == term), "{term}: {terms:?}");
    }
}

#[test]
fn models_with_views_learn_more() {
    let run = Run::new(42, 2).unwrap();
    let documents = train();
    for recipe in [
        "chars | tfidf(sublinear=true) | svm",
        "(tfidf(ngrams=2) + (chars | tfidf) * 0.5) | svm",
        RECIPES[4],
        "(tfidf(skip=1) + (words(negate=2) | tfidf | dcot(prototypes=50))) | knn(k=5)",
        "vote(tfidf | svm; chars | tfidf | logistic)",
    ] {
        let recipe = Recipe::parse(recipe).unwrap();
        let read =
            |documents: &[Document]| Corpus::read(documents.iter().cloned().map(Ok), recipe.words(), &run).unwrap();
        // Documents that come twice bring no new word, so an update is a fit on all of them.
        let again = &documents[20..60];
        let model = recipe.fit_updatable(&read(&documents), &run).unwrap();
        let model = Model::from_bytes(&model.to_bytes().unwrap(), &run).unwrap();
        let updated = model.update(&read(again), &run).unwrap();
        let all: Vec<Document> = documents.iter().chain(again).cloned().collect();
        assert_eq!(updated.metadata().about.documents, all.len());
        let fitted = recipe.fit(&read(&all), &run).unwrap();
        let scores = |model: &Model| bits(model.predict(&texts(), &run).unwrap().scores.values());
        assert_eq!(scores(&updated), scores(&fitted), "{recipe}");
        // New words stay unknown.
        let (old, new) = documents.split_at(documents.len() / 2);
        let model = recipe.fit_updatable(&read(old), &run).unwrap();
        let updated = model.update(&read(new), &run).unwrap();
        assert_eq!(updated.feature_names(), model.feature_names());
        assert_ne!(scores(&updated), scores(&model), "{recipe}");
    }
}

/// The demo's training documents with a label on every `every`-th only.
fn labelled_now_and_then(every: usize) -> Vec<Document> {
    let mut documents = train();
    for (row, document) in documents.iter_mut().enumerate() {
        if row % every > 0 {
            document.labels = None;
        }
    }
    documents
}

fn right(model: &Model, run: &Run) -> usize {
    let test = demo().unwrap().test;
    let texts: Vec<&str> = test.iter().map(|document| document.text.as_str()).collect();
    let found = model.predict(&texts, run).unwrap().labels;
    let is_right = |(found, document): &(&Vec<u32>, &Document)| {
        document.labels.as_ref().is_some_and(|labels| labels[0] == model.classes()[found[0] as usize])
    };
    found.iter().zip(&test).filter(is_right).count()
}

#[test]
fn a_vote_weighs_its_members_by_held_out_documents() {
    let run = Run::new(42, 2).unwrap();
    let (good, bad) = ("tfidf(sublinear=true) | svm", "tfidf(max_features=2) | svm");
    let note = |model: &Model| model.notes().into_iter().find(|(what, _)| what.starts_with("shares")).unwrap().1;
    // By likelihood with many labels, by accuracy with few: what knows nothing counts next to nothing.
    for documents in [train(), labelled_now_and_then(4)] {
        let vote = fit(&format!("vote({good}; {bad})"), &documents, &run);
        let alone = fit(good, &documents, &run);
        assert!(right(&vote, &run) + 3 >= right(&alone, &run), "{} {}", right(&vote, &run), right(&alone, &run));
        assert!(note(&vote).starts_with("svm 1.00") || note(&vote).starts_with("svm 0.9"), "{}", note(&vote));
    }
    let equal = fit(&format!("vote({good}; {good}; weights=equal)"), &train(), &run);
    assert_eq!(note(&equal), "svm 0.50, svm 0.50");
    let probabilities = equal.predict(&texts(), &run).unwrap().probabilities.unwrap();
    let alone = fit(good, &train(), &run).predict(&texts(), &run).unwrap();
    for row in 0..12 {
        assert!((probabilities.row(row).iter().sum::<f32>() - 1.0).abs() < 1e-3);
    }
    assert_eq!(equal.predict(&texts(), &run).unwrap().labels, alone.labels, "two of a kind say what one says");
}

#[test]
fn members_of_a_vote_teach_each_other() {
    let run = Run::new(42, 2).unwrap();
    let members = "words(stem=porter) | tfidf(sublinear=true) | svm; chars | tfidf(sublinear=true) | svm";
    let documents = labelled_now_and_then(6);
    let plain = fit(&format!("vote({members}; calibrate=0)"), &documents, &run);
    let text = format!("vote({members}; calibrate=0, self_training=aligned)");
    let taught = fit(&text, &documents, &run);
    assert!(right(&taught, &run) > right(&plain, &run), "{} {}", right(&taught, &run), right(&plain, &run));
    for threads in [1, 8] {
        let again = fit(&text, &documents, &Run::new(42, threads).unwrap());
        assert_eq!(again.to_bytes().unwrap(), taught.to_bytes().unwrap());
    }
    // With a guard it is never left worse than a standard error; with names a member may start from those.
    let guarded = fit(&format!("vote({members}; self_training=true)"), &documents, &run);
    assert!(right(&guarded, &run) + 8 >= right(&plain, &run));
    fit("vote(tfidf | svm(names=auto); tfidf | lsi(20) | svm(self_training=true))", &documents, &run);
}

#[test]
fn a_vote_gives_several_labels_too() {
    let run = Run::new(42, 2).unwrap();
    let mut documents = train();
    for document in documents.iter_mut().step_by(3) {
        document.labels.get_or_insert_default().push("third".into());
    }
    let model = fit("vote(tfidf | svm; chars | tfidf | logistic; tfidf | knn)", &documents, &run);
    assert!(model.is_multi_label() && model.predict(&texts(), &run).unwrap().probabilities.is_some());
    let loaded = Model::from_bytes(&model.to_bytes().unwrap(), &run).unwrap();
    assert_eq!(loaded.predict(&texts(), &run).unwrap().labels, model.predict(&texts(), &run).unwrap().labels);
}

#[test]
fn documents_not_read_for_a_view_are_refused() {
    let run = Run::new(1, 1).unwrap();
    let recipe = Recipe::parse("(tfidf + (chars | tfidf)) | svm").unwrap();
    let plain = Recipe::parse("tfidf | svm").unwrap();
    let corpus = Corpus::read(train().into_iter().map(Ok), plain.words(), &run).unwrap();
    let said = recipe.fit(&corpus, &run).unwrap_err().to_string();
    assert!(said.contains("not read for every view"), "{said}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn a_branch_is_what_its_recipe_is_alone(
        first in 0..VIEWS.len(),
        second in 0..VIEWS.len(),
        main in 0..VIEWS.len(),
        stage in 0usize..4,
        texts in proptest::collection::vec("((not|the|Card|cards|arrived|a|don't|é|漢字)[ .,]){1,9}", 2..8),
        asked in proptest::collection::vec("((not|Cards|a|x|é|漢)[ .,]){0,5}", 1..4),
    ) {
        let run = Run::new(7, 2).unwrap();
        let stage = ["counts", "tfidf(ngrams=2)", "binary(skip=2)", "tfidf(sublinear=true)"][stage];
        let (first, second, main) = (VIEWS[first], VIEWS[second], VIEWS[main]);
        let fitted = |text: &str| -> Option<Model> {
            let recipe = Recipe::parse(text).unwrap();
            let documents = texts.iter().enumerate().map(|(n, text)| Ok(Document::new(n.to_string(), text.clone())));
            recipe.fit(&Corpus::read(documents, recipe.words(), &run).unwrap(), &run).ok()
        };
        let parts: Vec<Option<Model>> =
            [first, second, main].iter().map(|view| fitted(&format!("{view} | {stage}"))).collect();
        let both = fitted(&format!("{main} | (({first} | {stage}) + ({second} | {stage}) * 2 + {stage})"));
        prop_assert_eq!(both.is_some(), parts.iter().all(Option::is_some));
        let (Some(both), Some(parts)) = (both, parts.into_iter().collect::<Option<Vec<Model>>>()) else { return Ok(()) };
        let names: Vec<String> = parts.iter().flat_map(Model::feature_names).collect();
        prop_assert_eq!(both.feature_names(), names);
        let x = both.represent_texts(&asked, &run).unwrap();
        let own: Vec<_> = parts.iter().map(|part| part.represent_texts(&asked, &run).unwrap()).collect();
        for row in 0..asked.len() {
            let mut expected = Vec::new();
            let mut before = 0;
            for (part, weight) in own.iter().zip([1.0, 2.0, 1.0]) {
                let row = part.row(row);
                expected.extend(row.columns.iter().zip(row.values).map(|(&c, &v)| (before + c, (v * weight).to_bits())));
                before += part.cols() as u32;
            }
            let found: Vec<(u32, u32)> =
                x.row(row).columns.iter().zip(x.row(row).values).map(|(&c, &v)| (c, v.to_bits())).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
