//! Abstaining through whole recipes: the rate asked for is kept on fresh documents, and thresholds do not depend on threads.

use corpuscle::Run;
use corpuscle::corpus::Document;
use corpuscle::recipe::{Corpus, Model, Recipe};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Documents of two classes whose words overlap, so that some cannot be told apart.
fn documents(count: usize, seed: u64) -> Vec<Document> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let document = |row: usize| {
        let class = rng.random_range(0..2usize);
        // How much a document says about its class differs from one to the next.
        let clear = rng.random_range(0.5..1.0f64);
        let word = |rng: &mut Xoshiro256PlusPlus| {
            let of = if rng.random_bool(clear) { class } else { 1 - class };
            format!("w{}x{of}", rng.random_range(0..12))
        };
        let words: Vec<String> = (0..7).map(|_| word(&mut rng)).collect();
        Document::new(row.to_string(), words.join(" ")).labelled(["a", "b"][class])
    };
    (0..count).map(document).collect()
}

fn fitted(recipe: &Recipe, documents: Vec<Document>, run: &Run) -> Model {
    let corpus = Corpus::read(documents.into_iter().map(Ok), recipe.words(), run).unwrap();
    recipe.fit(&corpus, run).unwrap()
}

/// The error among the answers to fresh documents; `None` where nothing is answered.
fn error_among_answers(model: &Model, rate: f64, fresh: &[Document], run: &Run) -> Option<f64> {
    let threshold = model.selection(rate).unwrap()?.threshold;
    let texts: Vec<&str> = fresh.iter().map(|document| document.text.as_str()).collect();
    let found = model.predict(&texts, run).unwrap();
    let sure = model.confidences(&found).unwrap();
    let answered: Vec<usize> = (0..fresh.len()).filter(|&row| sure[row] >= threshold).collect();
    let wrong = |&&row: &&usize| {
        let given = &model.classes()[found.labels[row][0] as usize];
        fresh[row].labels.as_deref() != Some(std::slice::from_ref(given))
    };
    let wrong = answered.iter().filter(wrong).count();
    (!answered.is_empty()).then(|| wrong as f64 / answered.len() as f64)
}

#[test]
fn the_rate_is_kept_in_19_of_20_trainings() {
    let run = Run::new(42, 2).unwrap();
    let (rate, draws) = (0.1, 200);
    let fresh = documents(4000, 1_000_000);
    for recipe in ["tfidf | svm", "tfidf | logistic", "counts | knn(k=15)"] {
        let recipe = Recipe::parse(recipe).unwrap();
        let (mut answering, mut broken) = (0, 0);
        for draw in 0..draws {
            let model = fitted(&recipe, documents(300, draw), &run);
            if let Some(error) = error_among_answers(&model, rate, &fresh, &run) {
                answering += 1;
                broken += usize::from(error > rate);
            }
        }
        // A bound that is never met would be no use, and one that breaks more often than in 1 of 20 no bound.
        assert!(answering > draws as usize / 4, "{recipe}: only {answering} of {draws} trainings answer at all");
        assert!(broken <= draws as usize / 20, "{recipe}: {broken} of {answering} trainings break the rate");
    }
}

#[test]
fn thresholds_and_p_values_do_not_depend_on_threads() {
    let fresh = documents(50, 7);
    let texts: Vec<&str> = fresh.iter().map(|document| document.text.as_str()).collect();
    for recipe in ["tfidf | svm", "tfidf | logistic", "tfidf | knn(k=9)"] {
        let recipe = Recipe::parse(recipe).unwrap();
        let found = [1, 2, 8].map(|threads| {
            let run = Run::new(42, threads).unwrap();
            let model = fitted(&recipe, documents(400, 3), &run);
            let x = model.represent(&recipe.words().tokenize(&texts, &run).unwrap(), &run).unwrap();
            let novelty = model.novelty(&x, &model.predict_matrix(&x, &run).unwrap(), &run).unwrap();
            (model.selection(0.2).unwrap(), novelty, model.to_bytes().unwrap())
        });
        assert!(found[0] == found[1] && found[0] == found[2], "{recipe}");
    }
}

#[test]
fn files_of_earlier_versions_say_that_they_cannot_abstain() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let run = Run::new(42, 1).unwrap();
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("format-1-")) {
            continue;
        }
        let model = Model::load(&path, &run).unwrap();
        if model.predict(&["a text"], &run).is_ok() {
            let error = model.selection(0.1).unwrap_err().to_string();
            assert!(error.contains("train"), "{}: {error}", path.display());
            seen += 1;
        }
    }
    assert!(seen > 0);
}
