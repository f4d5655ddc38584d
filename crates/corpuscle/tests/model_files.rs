//! Model files of every released format keep loading, and no damaged one does.
#![allow(clippy::unwrap_used)]

use corpuscle::corpus::demo;
use corpuscle::recipe::{Corpus, Model, Recipe};
use corpuscle::{Error, Run};

/// Written once by version 0.1.0 from the first 60 training messages of the demo corpus in a file of their own:
/// `corpuscle train first60.jsonl --recipe 'words(stem=porter, stop=english) | tfidf(max_features=300) | svm' -o …`.
/// They are never written again; a new format gets new files beside them.
const GOLDEN: &[(&str, &[u8])] = &[
    ("svm", include_bytes!("golden/format-1-svm.model")),
    ("knn", include_bytes!("golden/format-1-knn.model")),
    ("logistic", include_bytes!("golden/format-1-logistic.model")),
];

fn small(recipe: &str, run: &Run) -> Model {
    let recipe = Recipe::parse(recipe).unwrap();
    let documents = demo().unwrap().train.into_iter().take(60).map(Ok);
    recipe.fit(&Corpus::read(documents, recipe.words(), run).unwrap(), run).unwrap()
}

#[test]
fn models_of_earlier_releases_load_and_predict() {
    let run = Run::new(42, 2).unwrap();
    for (name, bytes) in GOLDEN {
        let model = Model::from_bytes(bytes, &run).unwrap();
        assert_eq!(model.metadata().format, 1);
        assert_eq!(model.classes().len(), 8, "{name}");
        let texts: Vec<String> = demo().unwrap().train.into_iter().take(60).map(|document| document.text).collect();
        let found = model.predict(&texts, &run).unwrap();
        let truth: Vec<String> = demo().unwrap().train.into_iter().take(60).filter_map(|d| d.labels?.pop()).collect();
        let right =
            found.labels.iter().zip(&truth).filter(|(labels, truth)| {
                labels.first().is_some_and(|&class| model.classes()[class as usize] == **truth)
            });
        assert!(right.count() >= 45, "{name}");
        assert!(found.probabilities.is_some(), "{name}");
    }
}

#[test]
fn a_model_survives_its_file_bit_for_bit() {
    let run = Run::new(42, 2).unwrap();
    for recipe in [
        "tfidf(ngrams=2) | svm",
        "(tfidf + binary * 0.5) | normalize | logistic",
        "counts | ig(50) | knn(k=3)",
        "tfidf | dcot(prototypes=40, layers=3) | svm(self_training=true)",
    ] {
        let model = small(recipe, &run);
        let bytes = model.to_bytes().unwrap();
        let back = Model::from_bytes(&bytes, &run).unwrap();
        assert_eq!(back.to_bytes().unwrap(), bytes, "{recipe}");
        let texts = ["my invoice is wrong", "", "\u{0} ¿qué?"];
        let (a, b) = (model.predict(&texts, &run).unwrap(), back.predict(&texts, &run).unwrap());
        assert_eq!((a.labels, a.scores, a.probabilities), (b.labels, b.scores, b.probabilities));
    }
}

#[test]
fn no_cut_and_no_flipped_byte_gets_through() {
    let run = Run::new(42, 1).unwrap();
    for (name, bytes) in GOLDEN {
        // Every byte of the header, then a sample of the arrays: the checksum covers both alike.
        let places = (0..bytes.len()).filter(|&at| at < 2000 || at % 499 == 0);
        for at in places {
            assert!(matches!(Model::from_bytes(&bytes[..at], &run), Err(Error::BadModel { .. })), "{name} cut at {at}");
            let mut damaged = bytes.to_vec();
            damaged[at] = damaged[at].wrapping_add(1);
            assert!(matches!(Model::from_bytes(&damaged, &run), Err(Error::BadModel { .. })), "{name} altered at {at}");
        }
    }
}
