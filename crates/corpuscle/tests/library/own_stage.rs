//! Stages from outside the crate, one of each kind, do all that the house's own do. The example `own_stage` shows how to write
//! one; these have what it leaves out: a projection that learns from labels and finds a value, and no gradient.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};

use corpuscle::classify::{Classifier, ClassifierModel, LinearModel};
use corpuscle::corpus::{Document, demo};
use corpuscle::matrix::{Csr, Dense, Matrix};
use corpuscle::params::{Auto, Checks, Param, Params};
use corpuscle::project::{Columns, Projector, ProjectorModel, Target};
use corpuscle::recipe::{Corpus, Model, Recipe, Registry, Stage, StageKind, Weighing};
use corpuscle::store::{StoreReader, StoreWriter};
use corpuscle::text::Tokens;
use corpuscle::vectorize::{Vectorizer, VectorizerModel};
use corpuscle::{Error, Result, Run, param};

/// Counts how words begin.
#[derive(Debug, Clone, PartialEq)]
struct BeginningsParams {
    length: usize,
}

#[derive(Debug)]
struct BeginningsModel {
    length: usize,
    names: Vec<String>,
}

impl Default for BeginningsParams {
    fn default() -> Self {
        BeginningsParams { length: 3 }
    }
}

impl Params for BeginningsParams {
    const NAME: &'static str = "beginnings";
    const ABOUT: &'static str = "how often words begin in each way";

    fn table() -> Vec<Param<Self>> {
        vec![param!("length", length, "letters that count")]
    }

    fn check(&self) -> Result<()> {
        Checks::of(Self::NAME).that(self.length > 0, "length", &self.length, "must be at least 1").done()
    }
}

impl Vectorizer for BeginningsParams {
    type Model = BeginningsModel;

    fn fit(&self, tokens: &Tokens, run: &Run) -> Result<(BeginningsModel, Matrix)> {
        let all: BTreeSet<String> = tokens.lexicon().iter().map(|word| beginning(word, self.length)).collect();
        let model = BeginningsModel { length: self.length, names: all.into_iter().collect() };
        let x = model.transform(tokens, run)?;
        Ok((model, x))
    }

    fn load(&self, store: &StoreReader<'_>) -> Result<BeginningsModel> {
        Ok(BeginningsModel { length: self.length, names: store.strings("names")? })
    }
}

fn beginning(word: &str, length: usize) -> String {
    word.chars().take(length).collect()
}

impl VectorizerModel for BeginningsModel {
    fn transform(&self, tokens: &Tokens, _run: &Run) -> Result<Matrix> {
        let rows = (0..tokens.n_documents()).map(|document| {
            let mut counts = BTreeMap::new();
            for word in tokens.words(document) {
                if let Ok(column) = self.names.binary_search(&beginning(word, self.length)) {
                    *counts.entry(column as u32).or_insert(0.0) += 1.0;
                }
            }
            counts.into_iter().collect()
        });
        Ok(Matrix::from(Csr::from_rows(self.names.len(), rows)))
    }

    fn n_columns(&self) -> usize {
        self.names.len()
    }

    fn save(&self, out: &mut StoreWriter) -> Result<()> {
        out.put_strings("names", &self.names);
        Ok(())
    }

    fn feature_names(&self) -> Vec<String> {
        self.names.clone()
    }
}

/// The mean of the documents of each class, drawn to zero by `smooth` documents that have nothing: columns × classes.
fn means(x: &Matrix, target: &Target<'_>, smooth: f64) -> Dense {
    let labels = target.labels();
    let mut means = Dense::zeros(x.cols(), labels.n_classes());
    let counts = labels.class_counts();
    for row in labels.labelled_rows() {
        for &class in labels.of(row).unwrap_or(&[]) {
            let share = (1.0 / (counts[class as usize] as f64 + smooth)) as f32;
            x.row(row).for_each(|column, value| means.row_mut(column)[class as usize] += share * value);
        }
    }
    means
}

/// How like each class's mean a document is, with a gradient for no one.
#[derive(Debug, Clone, PartialEq)]
struct LikenessParams {
    smooth: Auto<f64>,
}

#[derive(Debug)]
struct LikenessModel {
    means: Dense,
    smooth: f64,
}

const CHOICES: [f64; 3] = [64.0, 8.0, 1.0];

impl Default for LikenessParams {
    fn default() -> Self {
        LikenessParams { smooth: Auto::Value(1.0) }
    }
}

impl Params for LikenessParams {
    const NAME: &'static str = "likeness";
    const ABOUT: &'static str = "how like the mean of each class a document is";

    fn table() -> Vec<Param<Self>> {
        vec![param!("smooth", smooth, "documents that have nothing, added to each class")]
    }

    fn check(&self) -> Result<()> {
        let good = |smooth: f64| smooth >= 0.0;
        Checks::of(Self::NAME).auto(good, "smooth", self.smooth, "must not be negative, or be auto").done()
    }
}

impl Projector for LikenessParams {
    type Model = LikenessModel;
    const MAKES: Columns = Columns::Dimensions;

    fn fit(&self, x: &Matrix, target: &Target<'_>, run: &Run) -> Result<(LikenessModel, Matrix)> {
        let smooth = match self.smooth {
            Auto::Value(smooth) => smooth,
            Auto::Auto => {
                let right = target.judge(x, 3, CHOICES.len(), run, |fold, verdict| {
                    for (choice, &smooth) in CHOICES.iter().enumerate() {
                        let model = LikenessModel { means: means(&fold.x, &fold.target(), smooth), smooth };
                        verdict(choice, &model.transform(&fold.x, run)?, &model.transform(&fold.held, run)?)?;
                    }
                    Ok(())
                })?;
                let count = |list: &Vec<bool>| list.iter().filter(|&&good| good).count();
                let counts: Vec<usize> = right.iter().flatten().map(count).collect();
                CHOICES.iter().zip(counts).rev().max_by_key(|(_, count)| *count).map_or(1.0, |(smooth, _)| *smooth)
            }
        };
        let model = LikenessModel { means: means(x, target, smooth), smooth };
        let rows = model.transform(x, run)?;
        Ok((model, rows))
    }

    fn load(&self, store: &StoreReader<'_>) -> Result<LikenessModel> {
        let smooth = store.f64s("smooth", &[Some(1)])?.0[0];
        Ok(LikenessModel { means: Dense::load(store, "means", None, None)?, smooth })
    }

    fn needs_labels(&self) -> bool {
        true
    }

    fn asks_judge(&self) -> bool {
        self.smooth.is_auto()
    }

    fn resolved(&self, model: &LikenessModel) -> Self {
        LikenessParams { smooth: Auto::Value(model.smooth) }
    }
}

impl ProjectorModel for LikenessModel {
    fn transform(&self, x: &Matrix, run: &Run) -> Result<Matrix> {
        let none = vec![0.0; self.means.cols()];
        Ok(Matrix::from(run.install(|| x.multiply(&self.means, &none))?))
    }

    fn n_inputs(&self) -> usize {
        self.means.rows()
    }

    fn n_columns(&self) -> usize {
        self.means.cols()
    }

    fn save(&self, out: &mut StoreWriter) -> Result<()> {
        self.means.save("means", out);
        out.put_f64("smooth", &[1], &[self.smooth]);
        Ok(())
    }

    fn feature_names(&self, _before: Vec<String>) -> Vec<String> {
        Vec::new()
    }

    fn notes(&self) -> Vec<(&'static str, String)> {
        vec![("smooth", self.smooth.to_string())]
    }
}

/// The nearest class mean: −‖x − μ‖² but for what is the same for every class.
#[derive(Debug, Clone, PartialEq, Default)]
struct CentreParams {
    smooth: f64,
}

#[derive(Debug)]
struct CentreModel(LinearModel);

impl Params for CentreParams {
    const NAME: &'static str = "centre";
    const ABOUT: &'static str = "the class whose mean is nearest";

    fn table() -> Vec<Param<Self>> {
        vec![param!("smooth", smooth, "documents that have nothing, added to each class")]
    }

    fn check(&self) -> Result<()> {
        Checks::of(Self::NAME).that(self.smooth >= 0.0, "smooth", &self.smooth, "must not be negative").done()
    }
}

impl Classifier for CentreParams {
    type Model = CentreModel;

    fn fit(&self, x: &Matrix, target: &Target<'_>, _run: &Run) -> Result<CentreModel> {
        let mut weights = means(x, target, self.smooth.max(1e-3));
        let mut bias = vec![0.0; weights.cols()];
        for column in 0..weights.rows() {
            for (bias, weight) in bias.iter_mut().zip(weights.row_mut(column)) {
                *bias -= *weight * *weight;
                *weight *= 2.0;
            }
        }
        Ok(CentreModel(LinearModel::new(weights, bias)?))
    }

    fn load(&self, store: &StoreReader<'_>, _run: &Run) -> Result<CentreModel> {
        Ok(CentreModel(LinearModel::load(store)?))
    }
}

impl ClassifierModel for CentreModel {
    fn scores(&self, x: &Matrix, run: &Run) -> Result<Dense> {
        self.0.scores(x, run)
    }

    fn n_classes(&self) -> usize {
        self.0.n_classes()
    }

    fn n_inputs(&self) -> usize {
        self.0.n_inputs()
    }

    fn save(&self, out: &mut StoreWriter) -> Result<()> {
        self.0.save(out);
        Ok(())
    }

    fn linear(&self) -> Option<&LinearModel> {
        Some(&self.0)
    }
}

fn registry() -> Registry {
    let registry = Registry::standard().with(Stage::vectorizer::<BeginningsParams>()).unwrap();
    let registry = registry.with(Stage::projector::<LikenessParams>()).unwrap();
    registry.with(Stage::classifier::<CentreParams>()).unwrap()
}

fn documents() -> Vec<Document> {
    let mut documents: Vec<Document> = demo().unwrap().train.into_iter().take(150).collect();
    documents.iter_mut().step_by(4).for_each(|document| document.labels = None);
    documents
}

fn fit(recipe: &Recipe, run: &Run) -> Model {
    let corpus = Corpus::read(documents().into_iter().map(Ok), recipe.words(), run).unwrap();
    recipe.fit(&corpus, run).unwrap()
}

#[test]
fn own_stages_are_listed_parsed_and_printed() {
    let registry = registry();
    let centre = registry.find("centre").unwrap();
    assert_eq!(centre.kind, StageKind::Classify);
    // Every classifier gets the parameters that stand around its own; what cannot train itself does not offer it.
    assert_eq!(centre.parameters.iter().map(|parameter| parameter.name).collect::<Vec<_>>(), ["smooth", "calibrate"]);
    let recipe = registry.parse("beginnings(length=3)|likeness(smooth=auto)|centre(smooth=2,calibrate=3)").unwrap();
    assert_eq!(recipe.to_string(), "beginnings | likeness(auto) | centre(smooth=2)");
    assert!(recipe.full().ends_with("beginnings(length=3) | likeness(smooth=auto) | centre(smooth=2, calibrate=3)"));
    assert_eq!(registry.parse(&recipe.full()).unwrap().full(), recipe.full());
    assert_eq!((recipe.needs_labels(), recipe.classifier()), (Some("likeness"), Some("centre")));
    let said = |text: &str| registry.parse(text).unwrap_err().to_string();
    assert!(said("beginings | centre").contains("did you mean `beginnings`"));
    assert!(said("beginnings(0) | centre").contains("must be at least 1"));
    assert!(said("tfidf | likeness(smooth=much) | svm").contains("a number or auto"));
    assert!(said("tfidf | likeness | ig(5) | svm").contains("put `ig` before `likeness`"));
    let again = registry.clone().with(Stage::projector::<LikenessParams>()).unwrap_err().to_string();
    assert!(again.contains("there is a stage `likeness` already"), "{again}");
}

#[test]
fn own_stages_live_in_files_that_only_their_registry_reads() {
    let registry = registry();
    let run = Run::new(42, 2).unwrap();
    let texts: Vec<String> = demo().unwrap().test.into_iter().take(20).map(|document| document.text).collect();
    let folder = tempfile::tempdir().unwrap();
    for (recipe, stranger) in [
        ("beginnings | svm", "beginnings"),
        ("tfidf | likeness(auto) | normalize | logistic", "likeness"),
        ("tfidf | ig(200) | likeness(auto) | knn(k=3)", "likeness"),
        ("tfidf | centre", "centre"),
        ("(beginnings * 0.5 + counts) | likeness(auto) | centre", "beginnings"),
    ] {
        let recipe = registry.parse(recipe).unwrap();
        let model = fit(&recipe, &run);
        assert_eq!(fit(&recipe, &Run::new(42, 1).unwrap()).to_bytes().unwrap(), model.to_bytes().unwrap(), "{recipe}");

        let path = folder.path().join("own.model");
        model.save(&path).unwrap();
        let error = Model::load(&path, &run).unwrap_err();
        assert!(matches!(error, Error::BadModel { .. }), "{error}");
        assert!(error.to_string().contains(&format!("there is no stage `{stranger}`")), "{error}");

        let loaded = registry.load(&path, &run).unwrap();
        assert_eq!(loaded.to_bytes().unwrap(), model.to_bytes().unwrap(), "{recipe}");
        assert_eq!(loaded.notes(), model.notes());
        assert_eq!(loaded.recipe().registry().find(stranger).map(|stage| stage.name), Some(stranger));
        let (a, b) = (model.predict(&texts, &run).unwrap(), loaded.predict(&texts, &run).unwrap());
        assert_eq!((&a.labels, &a.scores, &a.probabilities), (&b.labels, &b.scores, &b.probabilities), "{recipe}");
        let probabilities = a.probabilities.unwrap();
        for row in 0..texts.len() {
            let sum: f32 = probabilities.row(row).iter().sum();
            assert!((sum - 1.0).abs() < 1e-4, "{recipe}: {sum}");
        }
    }
}

#[test]
fn own_stages_are_calibrated_and_find_their_values() {
    let registry = registry();
    let run = Run::new(42, 2).unwrap();
    let model = fit(&registry.parse("beginnings | likeness(auto) | centre").unwrap(), &run);
    let notes = model.notes();
    assert!(notes.contains(&("probabilities".into(), "calibrated on held-out folds".into())), "{notes:?}");
    let smooth = notes.iter().find(|(what, _)| what == "likeness smooth").map(|(_, value)| value.parse().unwrap());
    assert!(smooth.is_some_and(|smooth: f64| CHOICES.contains(&smooth)), "{notes:?}");
    assert!(!fit(&registry.parse("beginnings | centre(calibrate=0)").unwrap(), &run).has_probabilities());
}

#[test]
fn own_stages_are_explained() {
    let registry = registry();
    let run = Run::new(42, 2).unwrap();
    let text = "my invoice is wrong and the printer is broken";
    for (recipe, expected) in [
        ("beginnings | centre", Weighing::Adds),
        ("(tfidf + beginnings) | centre", Weighing::Adds),
        // No gradient, so terms are taken out one by one.
        ("tfidf | likeness | centre", Weighing::LeftOut),
        ("beginnings | likeness | svm", Weighing::LeftOut),
        ("tfidf | likeness | knn(k=3)", Weighing::Nearness),
    ] {
        let model = fit(&registry.parse(recipe).unwrap(), &run);
        for class in 0..model.classes().len() as u32 {
            let (weighing, parts) = model.weigh_terms(text, class, None, &run).unwrap();
            assert_eq!(weighing, expected, "{recipe}");
            assert!(parts.iter().any(|part| part.amount != 0.0), "{recipe}: {parts:?}");
            for part in &parts {
                assert!(part.amount.is_finite(), "{recipe}: {parts:?}");
                assert!(text.split(' ').any(|word| word.starts_with(&part.term)), "{recipe}: {part:?}");
            }
        }
    }
}
