//! Every stage of the standard registry, and every value of it that is left to be found or chosen by a word, in recipes that are
//! printed, fitted, saved, loaded and explained. The recipes are made from the registry itself, so a new stage or parameter is
//! tested without a word here. All that is wrong is told together.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use corpuscle::Run;
use corpuscle::corpus::{Document, Labels, demo};
use corpuscle::matrix::Dense;
use corpuscle::params::Kind;
use corpuscle::recipe::{Corpus, Model, Predictions, Recipe, Registry, Stage, StageKind};

/// Values that keep a fit on few documents quick.
fn small(stage: &str) -> Vec<(&'static str, String)> {
    let values: &[(&str, &str)] = match stage {
        "scdv" | "bowv" | "concepts" => &[("dim", "4"), ("clusters", "3"), ("min_count", "1"), ("epochs", "1")],
        "average" | "paragraph" => &[("dim", "4"), ("min_count", "1"), ("epochs", "1")],
        "twe" | "ltsg" => &[("dim", "4"), ("topics", "3"), ("sweeps", "3"), ("min_count", "1"), ("epochs", "2")],
        "dirichlet" => &[("topics", "4"), ("sweeps", "10")],
        "ig" => &[("terms", "60")],
        "lsi" | "slsi" => &[("rank", "5")],
        "local_lsi" => &[("rank", "3"), ("local", "2")],
        "sprinkle" => &[("rank", "5"), ("terms", "2")],
        "varnorm" => &[("components", "3")],
        "discriminant" => &[("shrinkage", "1")],
        "dcot" => &[("prototypes", "20")],
        "knn" => &[("k", "3")],
        _ => &[],
    };
    values.iter().map(|&(name, value)| (name, value.to_string())).collect()
}

/// The call of a stage with small values and one other.
fn call(stage: &Stage, changed: Option<(&'static str, &str)>) -> String {
    let mut arguments = small(stage.name);
    if let Some((name, value)) = changed {
        arguments.retain(|(known, _)| *known != name);
        // What is sprinkled for confused classes is asked only when no number of terms is given.
        if stage.name == "sprinkle" && matches!(name, "msl" | "adaptive") {
            arguments.retain(|(known, _)| *known != "terms");
        }
        arguments.push((name, value.to_string()));
    }
    let written: Vec<String> = arguments.iter().map(|(name, value)| format!("{name}={value}")).collect();
    format!("{}({})", stage.name, written.join(", "))
}

/// The stages of a kind: with small values, then with every value there is to be found, then with every word and flag.
fn calls(kind: StageKind, only_auto: bool) -> Vec<String> {
    let registry = Registry::standard();
    let mut calls = Vec::new();
    for stage in registry.stages().filter(|stage| stage.kind == kind) {
        calls.push(call(stage, None));
        for parameter in &stage.parameters {
            // Threads that do not wait for each other give other vectors every time; that is what it says.
            if parameter.name == "deterministic" {
                continue;
            }
            let words: &[&str] = match parameter.form.kind {
                Kind::Flag => &["true", "false"],
                _ => &parameter.form.words,
            };
            for &word in words.iter().filter(|&&word| word == "auto" || !only_auto) {
                calls.push(call(stage, Some((parameter.name, word))));
            }
        }
    }
    calls
}

/// A message as mail, so that something is left when headers are stripped.
fn mail(text: &str) -> String {
    format!("Subject: help\n\n{text}")
}

/// Ninety messages, every third unlabelled, with classes in an order that is not that of their names.
fn corpus(recipe: &Recipe, several: bool, run: &Run) -> Corpus {
    let documents: Vec<_> = demo().unwrap().train.into_iter().take(90).collect();
    let names: BTreeSet<&str> =
        documents.iter().flat_map(|document| document.labels.iter().flatten()).map(|s| s.as_str()).collect();
    let classes: Vec<String> = names.iter().rev().map(ToString::to_string).collect();
    let count = classes.len() as u32;
    let rows = documents.iter().enumerate().map(|(row, document)| {
        let label = document.labels.as_ref()?.first()?;
        let class = classes.iter().position(|class| class == label)? as u32;
        match (row % 3, several, row % 7, row % 4) {
            (2, ..) => None,
            (_, true, 0, _) => Some(Vec::new()),
            (_, true, _, 0) => Some(vec![class, (class + 1) % count]),
            _ => Some(vec![class]),
        }
    });
    let labels = Labels::with_classes(classes.clone(), rows.collect::<Vec<_>>()).unwrap();
    assert_eq!(labels.is_multi_label(), several);
    let texts: Vec<String> = documents.iter().map(|document| mail(&document.text)).collect();
    let corpus = Corpus::from_columns(&texts, labels, None, recipe.words(), run).unwrap();
    let fields = recipe.number_fields().into_iter();
    fields.fold(corpus, |corpus, wanted| {
        let rows = texts.iter().flat_map(|text| numbers(text)).collect::<Vec<f32>>();
        corpus.with_column(&wanted.field, Dense::new(texts.len(), 3, rows).unwrap()).unwrap()
    })
}

/// Three numbers that have something to do with a text.
fn numbers(text: &str) -> [f32; 3] {
    let count = |letter: char| text.chars().filter(|&c| c == letter).count() as f32;
    [count('e') / 10.0, count('p') - 1.0, 0.5]
}

/// Documents with the fields of numbers that the recipe reads.
fn documents(recipe: &Recipe) -> Vec<Document> {
    let demo = demo().unwrap();
    let known = demo.train.into_iter().take(2).chain(demo.test.into_iter().take(10));
    let mut texts: Vec<String> = known.map(|document| mail(&document.text)).collect();
    texts.extend([String::new(), "zzyzx qwxv".to_string()]);
    let document = |text: String| {
        let fields = recipe.number_fields().into_iter();
        let document = Document::new("", text.clone());
        fields.fold(document, |document, wanted| document.with_numbers(wanted.field, numbers(&text).to_vec()))
    };
    texts.into_iter().map(document).collect()
}

fn ensure(good: bool, wrong: impl FnOnce() -> String) -> Result<(), String> {
    if good { Ok(()) } else { Err(wrong()) }
}

fn same(a: &Predictions, b: &Predictions) -> bool {
    a.labels == b.labels && a.scores == b.scores && a.probabilities == b.probabilities
}

/// Everything that must hold of a recipe.
fn check(text: &str, several: bool) -> Result<(), String> {
    let said = |what: &'static str| move |error: corpuscle::Error| format!("{what}: {error}");
    let (one, two) = (Run::new(42, 1).unwrap(), Run::new(42, 2).unwrap());
    let recipe = Recipe::parse(text).map_err(said("parse"))?;
    for printed in [recipe.to_string(), recipe.full()] {
        let back = Recipe::parse(&printed).map_err(said("parse what was printed"))?;
        ensure(back.to_string() == recipe.to_string(), || format!("printed short: {back} and not {recipe}"))?;
        ensure(back.full() == recipe.full(), || format!("printed in full: {} and not {}", back.full(), recipe.full()))?;
    }

    let model = recipe.fit(&corpus(&recipe, several, &one), &one).map_err(said("fit"))?;
    let bytes = model.to_bytes().map_err(said("save"))?;
    ensure(model.file_size().ok() == Some(bytes.len() as u64), || "its file has another size than it says".into())?;
    let other = recipe.fit(&corpus(&recipe, several, &two), &two).map_err(said("fit with two threads"))?;
    ensure(other.to_bytes().map_err(said("save"))? == bytes, || "one and two threads give different models".into())?;
    let shared = two.sharing();
    let other = recipe.fit(&corpus(&recipe, several, &shared), &shared).map_err(said("fit with shared work"))?;
    ensure(other.to_bytes().map_err(said("save"))? == bytes, || "shared work gives a different model".into())?;
    let loaded = Model::from_bytes(&bytes, &two).map_err(said("load"))?;
    ensure(loaded.to_bytes().map_err(said("save again"))? == bytes, || "saved again it is another file".into())?;
    let notes = model.notes();
    // A file may keep less than fitting has to tell, but nothing else.
    ensure(loaded.notes().iter().all(|note| notes.contains(note)), || {
        format!("notes {notes:?}, {:?}", loaded.notes())
    })?;
    ensure(loaded.widths().ok() == model.widths().ok(), || "loaded it has other widths".into())?;

    let documents = documents(&recipe);
    let represented = |model: &Model| model.represent_documents(&documents, &one).map_err(said("represent"));
    ensure(represented(&model)? == represented(&loaded)?, || "loaded it represents documents otherwise".into())?;
    if recipe.classifier().is_none() {
        return Ok(());
    }
    let found = model.predict_documents(&documents, &one).map_err(said("predict"))?;
    let again = loaded.predict_documents(&documents, &two).map_err(said("predict when loaded"))?;
    ensure(same(&found, &again), || "loaded it predicts something else".into())?;
    ensure(found.scores.values().iter().all(|score| score.is_finite()), || "a score is not finite".into())?;
    let probabilities = found.probabilities.as_ref().ok_or("it has no probabilities")?;
    for (row, Document { text, .. }) in documents.iter().enumerate() {
        let values = probabilities.row(row);
        ensure(values.iter().all(|value| (0.0..=1.0).contains(value)), || {
            format!("probabilities {values:?}: {text:?}")
        })?;
        let sum: f32 = values.iter().sum();
        ensure(several || (sum - 1.0).abs() < 1e-4, || format!("probabilities sum to {sum}: {text:?}"))?;
        ensure(several || found.labels[row].len() == 1, || format!("labels {:?}: {text:?}", found.labels[row]))?;
    }
    explain(&model, &loaded, &documents[..2])
}

/// Terms of the document with finite amounts, the same from the file.
fn explain(model: &Model, loaded: &Model, documents: &[Document]) -> Result<(), String> {
    let run = Run::new(42, 1).unwrap();
    let classes = model.classes().len() as u32;
    let fields: Vec<String> = model.number_fields().into_iter().map(|wanted| format!("{}[", wanted.field)).collect();
    for document in documents {
        let text = &document.text;
        let tokens = model.recipe().words().tokenize(&[text], &run).unwrap();
        let words: BTreeSet<&str> = tokens.words(0).collect();
        let (mut useful, mut all) = (0, 0);
        for class in 0..classes {
            let weigh = |model: &Model| {
                model
                    .weigh_document(document, class, Some((class + 1) % classes), &run)
                    .map_err(|e| format!("explain: {e}"))
            };
            let (weighing, parts) = weigh(model)?;
            for part in &parts {
                ensure(part.amount.is_finite(), || format!("explain: {} has {}", part.term, part.amount))?;
                let known = part.term.split(' ').all(|word| words.contains(word))
                    || fields.iter().any(|field| part.term.starts_with(field));
                ensure(known, || format!("explain: `{}` is not in {text:?}", part.term))?;
            }
            ensure((weighing, parts.clone()) == weigh(loaded)?, || "loaded it explains otherwise".into())?;
            useful += parts.iter().filter(|part| part.amount != 0.0).count();
            all += parts.len();
        }
        // A document may have none of the terms that were kept.
        ensure(useful > 0 || all == 0, || format!("explain: nothing speaks for or against any class of {text:?}"))?;
    }
    Ok(())
}

/// Checks all recipes and tells of everything that is wrong.
fn check_all(recipes: &[String], several: bool) {
    let told = |recipe: &String| {
        let outcome = catch_unwind(AssertUnwindSafe(|| check(recipe, several)));
        let outcome = outcome.unwrap_or_else(|panic| {
            let message = panic.downcast_ref::<String>().cloned();
            Err(format!("panicked: {}", message.unwrap_or_default()))
        });
        outcome.err().map(|reason| format!("{recipe}\n    {reason}"))
    };
    let faults: Vec<String> = recipes.iter().filter_map(told).collect();
    assert!(faults.is_empty(), "{} of {} recipes:\n{}", faults.len(), recipes.len(), faults.join("\n"));
}

#[test]
fn words() {
    let recipes: Vec<String> =
        calls(StageKind::Words, false).iter().map(|words| format!("{words} | tfidf | svm")).collect();
    assert!(recipes.len() > 3);
    check_all(&recipes, false);
}

#[test]
fn vectorizers() {
    let mut recipes = Vec::new();
    for stage in calls(StageKind::Vectorize, false) {
        recipes.extend([stage.clone(), format!("words | {stage} | svm")]);
    }
    for stage in calls(StageKind::Vectorize, true) {
        recipes.extend([format!("{stage} | knn(k=3)"), format!("({stage} + binary * 0.5) | normalize | logistic")]);
    }
    check_all(&recipes, false);
}

#[test]
fn projections() {
    let mut recipes: Vec<String> =
        calls(StageKind::Project, false).iter().map(|stage| format!("words | tfidf | {stage} | svm")).collect();
    for stage in calls(StageKind::Project, true) {
        recipes.push(format!("tfidf | {stage}"));
        recipes.push(format!("tfidf | {stage} | knn(k=3)"));
    }
    check_all(&recipes, false);
}

#[test]
fn projections_behind_one_that_learns_from_labels() {
    let mut recipes = Vec::new();
    for stage in calls(StageKind::Project, true) {
        // What counts words in their order stands right behind the stage that has them.
        if !stage.starts_with("pmi") {
            recipes.push(format!("tfidf | ig(60) | {stage} | svm"));
            recipes.push(format!("((tfidf | ig(60)) + (counts | ig(40)) * 0.5) | {stage} | logistic"));
        }
        let behind = format!("tfidf | discriminant(shrinkage=1) | {stage} | knn(k=3)");
        // Dimensions are no terms, and not every stage takes those.
        if Recipe::parse(&behind).is_ok() {
            recipes.push(behind);
        }
    }
    check_all(&recipes, false);
}

#[test]
fn classifiers() {
    let mut recipes = Vec::new();
    for stage in calls(StageKind::Classify, false) {
        recipes.extend([format!("words | tfidf | {stage}"), format!("tfidf | ig(60) | {stage}")]);
    }
    // Naive Bayes counts terms, and refuses what is none.
    for stage in calls(StageKind::Classify, true).into_iter().filter(|stage| !stage.starts_with("bayes")) {
        recipes.push(format!("tfidf | ig(60) | varnorm(3) | discriminant | {stage}"));
    }
    check_all(&recipes, false);
}

#[test]
fn several_labels() {
    let mut recipes = Vec::new();
    for stage in calls(StageKind::Classify, false) {
        // What cannot be done with several labels is refused, with the reason.
        let one_label = ["crammer_singer", "self_training=true", "names=true", "complement=true"];
        if one_label.iter().any(|refused| stage.contains(refused)) {
            let refused = check(&format!("tfidf | {stage}"), true).unwrap_err();
            assert!(refused.contains("needs exactly one label per"), "{stage}: {refused}");
            continue;
        }
        recipes.extend([format!("tfidf | {stage}"), format!("tfidf | ig(60) | {stage}")]);
    }
    recipes.extend(calls(StageKind::Project, true).iter().map(|stage| format!("tfidf | {stage} | svm")));
    check_all(&recipes, true);
}

/// Solvers visit classes in their order and ties go to the first, so some decisions may differ; a class taken for another would
/// change most. Majorities of three votes tie too often to be asked.
#[test]
fn the_order_of_classes_hardly_matters() {
    let run = Run::new(42, 2).unwrap();
    let texts: Vec<String> = demo().unwrap().test.into_iter().map(|document| mail(&document.text)).collect();
    let projections = calls(StageKind::Project, true).into_iter().map(|stage| format!("tfidf | {stage} | svm"));
    let classifiers = calls(StageKind::Classify, false).into_iter().map(|stage| format!("tfidf | {stage}"));
    let mut faults = Vec::new();
    for text in projections.chain(classifiers).filter(|text| !text.contains("majority")) {
        let recipe = Recipe::parse(&text).unwrap();
        let mut corpus = corpus(&recipe, false, &run);
        let named = |corpus: &Corpus| -> Vec<String> {
            let model = recipe.fit(corpus, &run).unwrap();
            let found = model.predict(&texts, &run).unwrap();
            found.labels.iter().map(|labels| model.classes()[labels[0] as usize].clone()).collect()
        };
        let given = named(&corpus);
        let mut sorted = corpus.labels.classes().to_vec();
        sorted.sort();
        assert_ne!(sorted, corpus.labels.classes());
        corpus.labels = corpus.labels.align(&sorted);
        let same = given.iter().zip(named(&corpus)).filter(|(a, b)| *a == b).count();
        if 4 * same < 3 * texts.len() {
            faults.push(format!("{text}: {same} of {}", texts.len()));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Whatever a classifier's own scores are, the class given is the one of the highest score shown and of the highest probability.
#[test]
fn the_class_given_is_the_most_probable_one() {
    let run = Run::new(42, 2).unwrap();
    let texts: Vec<String> = demo().unwrap().test.into_iter().map(|document| mail(&document.text)).collect();
    let mut faults = Vec::new();
    for stage in calls(StageKind::Classify, false) {
        let recipe = Recipe::parse(&format!("tfidf | {stage}")).unwrap();
        let model = recipe.fit(&corpus(&recipe, false, &run), &run).unwrap();
        let said = model.predict(&texts, &run).unwrap();
        for (row, given) in said.labels.iter().enumerate() {
            let probabilities = said.probabilities.as_ref().map(|all| all.row(row));
            for values in [Some(said.scores.row(row)), probabilities].into_iter().flatten() {
                let most = values.iter().copied().fold(f32::MIN, f32::max);
                // Shares of votes tie, and so do probabilities near 1 in single precision.
                if values[given[0] as usize] < most - 1e-6 * most.abs() {
                    faults.push(format!("{stage}, text {row}: {} and not {most}", values[given[0] as usize]));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{} faults, the first {}", faults.len(), faults[0]);
}
