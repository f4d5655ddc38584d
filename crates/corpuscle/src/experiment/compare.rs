//! Several recipes on the same splits.
//!
//! Every recipe is fitted on the training part of every split, words and document frequencies included, and tested on
//! the rest. Texts are tokenised once for all recipes that cut words in the same way; a split then only picks rows of
//! the tokenised corpus, and terms that occur in test rows alone are never seen by a fit.
//!
//! ```
//! use corpuscle::{Run, corpus, experiment::{compare, random_splits}, recipe::Recipe};
//! let run = Run::new(42, 0)?;
//! let documents = corpus::demo()?.train;
//! let labels = corpus::Labels::from_lists(documents.iter().map(|document| document.labels.as_deref()));
//! let recipes = [Recipe::parse("tfidf | svm(calibrate=0)")?, Recipe::parse("binary | knn(k=1)")?];
//! let comparison = compare(&recipes, &documents, &random_splits(&labels, 3, 0.5, 42)?, &run)?;
//! assert_eq!(comparison.best(), Some(0));
//! # Ok::<(), corpuscle::Error>(())
//! ```

use std::collections::HashMap;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::memory::Peak;
use super::results::ResultsFile;
use super::significance::{TTest, holm, mean_and_deviation, paired_t_test};
use super::splits::Split;
use crate::corpus::{Document, Labels};
use crate::matrix::Matrix;
use crate::metrics::{Evaluation, Predictions};
use crate::recipe::{Corpus, Model, Recipe};
use crate::text::WordsParams;
use crate::{Error, Result, Run};

/// What a recipe did on one split.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Share of documents decided right (all labels right, when there are several).
    pub accuracy: f64,
    /// Micro-averaged F1.
    pub micro_f1: f64,
    /// Macro-averaged F1.
    pub macro_f1: f64,
    /// Equal error rate.
    pub eer: Option<f64>,
    /// Seconds to fit the representation, from words on.
    pub represent_seconds: f64,
    /// Seconds to fit, from words on.
    pub train_seconds: f64,
    /// Seconds to represent and score the test part.
    pub predict_seconds: f64,
    /// Size of the model's file.
    pub model_bytes: u64,
    /// Bytes by which the process grew at most while fitting and testing, where the system can tell.
    pub peak_bytes: Option<u64>,
}

/// What a recipe did on every split.
#[derive(Debug, Clone, Serialize)]
pub struct Outcomes {
    /// The recipe.
    pub recipe: String,
    /// One outcome per split.
    pub splits: Vec<Outcome>,
}

/// Recipes side by side.
#[derive(Debug, Clone, Serialize)]
pub struct Comparison {
    /// In the order the recipes were given.
    pub recipes: Vec<Outcomes>,
}

impl Outcomes {
    /// Mean and standard deviation of a figure over the splits.
    pub fn spread(&self, figure: impl Fn(&Outcome) -> f64) -> (f64, f64) {
        mean_and_deviation(&self.values(figure)).unwrap_or((f64::NAN, f64::NAN))
    }

    fn values(&self, figure: impl Fn(&Outcome) -> f64) -> Vec<f64> {
        self.splits.iter().map(figure).collect()
    }
}

impl Comparison {
    /// The recipe of the highest mean accuracy, the first of equals.
    pub fn best(&self) -> Option<usize> {
        let means: Vec<f64> = self.recipes.iter().map(|outcomes| outcomes.spread(|o| o.accuracy).0).collect();
        (0..means.len()).reduce(|best, index| if means[index] > means[best] { index } else { best })
    }

    /// The accuracy of every recipe against that of `reference` in a paired t-test, and the p-values corrected by Holm for
    /// all of them together. `None` for the reference itself and when there are fewer than two splits.
    pub fn tests(&self, reference: usize) -> Vec<Option<(TTest, f64)>> {
        let accuracy = |index: usize| self.recipes[index].values(|outcome| outcome.accuracy);
        let tests: Vec<Option<TTest>> = (0..self.recipes.len())
            .map(|index| (index != reference).then(|| paired_t_test(&accuracy(index), &accuracy(reference))).flatten())
            .collect();
        let raw: Vec<f64> = tests.iter().flatten().map(|test| test.p).collect();
        let mut corrected = holm(&raw).into_iter();
        tests.into_iter().map(|test| test.and_then(|test| Some((test, corrected.next()?)))).collect()
    }
}

/// Fits and tests every recipe on every split.
pub fn compare(recipes: &[Recipe], documents: &[Document], splits: &[Split], run: &Run) -> Result<Comparison> {
    compare_with(recipes, documents, splits, None, run, |_| {})
}

/// Like [`compare`], but takes what `kept` already has from there and puts everything new into it, and lets `watch` see
/// what is known after each step.
pub fn compare_with(
    recipes: &[Recipe],
    documents: &[Document],
    splits: &[Split],
    mut kept: Option<&mut ResultsFile>,
    run: &Run,
    mut watch: impl FnMut(&Comparison),
) -> Result<Comparison> {
    if recipes.is_empty() || splits.is_empty() {
        return Err(Error::data("a comparison needs at least one recipe and one split"));
    }
    let mut corpora = Tokenised::default();
    let outcomes = recipes.iter().map(|recipe| Outcomes { recipe: recipe.to_string(), splits: Vec::new() });
    let mut comparison = Comparison { recipes: outcomes.collect() };
    run.watch("compare", Some((recipes.len() * splits.len()) as u64), || {
        for (at, split) in splits.iter().enumerate() {
            let run = &run.sharing();
            for (index, recipe) in recipes.iter().enumerate() {
                run.check()?;
                let outcome = match kept.as_ref().and_then(|kept| kept.get(index, at)) {
                    Some(known) => known.clone(),
                    None => {
                        let outcome = corpora.measure(recipe, documents, split, &[], run)?.0;
                        if let Some(kept) = &mut kept {
                            kept.add(index, at, &outcome)?;
                        }
                        outcome
                    }
                };
                comparison.recipes[index].splits.push(outcome);
                watch(&comparison);
                run.advance(1);
            }
        }
        Ok(())
    })?;
    Ok(comparison)
}

/// A corpus tokenised once for every way of cutting words that was asked for.
#[derive(Debug, Default)]
pub(super) struct Tokenised {
    corpora: Vec<(WordsParams, Corpus)>,
    /// What classes are about, where more is known than their names.
    descriptions: Vec<(String, String)>,
}

impl Tokenised {
    /// The same with descriptions of classes.
    pub(super) fn described(descriptions: &[(String, String)]) -> Self {
        Tokenised { descriptions: descriptions.to_vec(), ..Tokenised::default() }
    }

    /// Fits and tests a recipe on a split of `documents`, which must be the same at every call.
    pub(super) fn measure(
        &mut self,
        recipe: &Recipe,
        documents: &[Document],
        split: &Split,
        unlabelled: &[usize],
        run: &Run,
    ) -> Result<(Outcome, Evaluation)> {
        let run = run.quiet();
        let corpus = self.corpus(recipe, documents, &run)?;
        let peak = Peak::start();
        let (mut outcome, evaluation) = fit_and_measure(recipe, corpus, split, unlabelled, &run)?;
        outcome.peak_bytes = peak.growth();
        Ok((outcome, evaluation))
    }

    /// A figure of a recipe over folds of the rows `learnt`, added up, where the representation is fitted once on the texts of all
    /// of them and of the rows `unlabelled`, and only the classifier fold by fold; for representations that know no labels.
    pub(super) fn on_fixed_vectors(
        &mut self,
        recipe: &Recipe,
        documents: &[Document],
        [learnt, unlabelled]: [&[usize]; 2],
        folds: &[Split],
        run: &Run,
        figure: impl Fn(&Evaluation, &Outcome) -> f64,
    ) -> Result<f64> {
        let run = run.quiet();
        let corpus = self.corpus(recipe, documents, &run)?;
        let places: HashMap<usize, usize> = learnt.iter().enumerate().map(|(place, &row)| (row, place)).collect();
        let mut train = with_texts(corpus, learnt, unlabelled)?;
        let labels = train.labels.clone();
        let represented = recipe.represent(&train, &run)?;
        let mut sum = 0.0;
        for fold in folds {
            run.check()?;
            let kept: Vec<usize> = fold.train.iter().filter_map(|row| places.get(row).copied()).collect();
            train.labels = labels.only(&kept);
            let model = recipe.fit_classifier(&represented, &train, &run)?;
            let test = corpus.select(&fold.test)?;
            let x = model.represent(&test.tokens, &run)?;
            let (outcome, evaluation) = measure(&model, &x, &test.labels, 0.0, &run)?;
            sum += figure(&evaluation, &outcome);
        }
        Ok(sum)
    }

    /// The intra-topic variability Q of the rows a recipe with `varnorm` is fitted on, before and after it: topic, before, after.
    pub(super) fn variability(
        &mut self,
        recipe: &Recipe,
        documents: &[Document],
        rows: &[usize],
        run: &Run,
    ) -> Result<Vec<(String, f64, f64)>> {
        let run = run.quiet();
        let train = self.corpus(recipe, documents, &run)?.select(rows)?;
        let model = recipe.fit(&train, &run)?;
        let Some((before, after)) = model.variability(&train.tokens, &train.labels, &run)? else {
            return Err(Error::data(format!("`{recipe}` has no varnorm whose effect could be shown")));
        };
        let both = before.into_iter().zip(after).filter(|(before, _)| before.documents > 0);
        Ok(both.map(|(before, after)| (before.topic.clone(), before.total, after.total)).collect())
    }

    /// A recipe fitted on the rows `learnt` and on the texts of the rows `unlabelled`.
    pub(super) fn fitted(
        &mut self,
        recipe: &Recipe,
        documents: &[Document],
        [learnt, unlabelled]: [&[usize]; 2],
        run: &Run,
    ) -> Result<Model> {
        let run = run.quiet();
        recipe.fit(&with_texts(self.corpus(recipe, documents, &run)?, learnt, unlabelled)?, &run)
    }

    /// What a recipe without a classifier makes of the rows it is fitted on, and their labels.
    pub(super) fn represented(
        &mut self,
        recipe: &Recipe,
        documents: &[Document],
        rows: &[usize],
        run: &Run,
    ) -> Result<(Matrix, Labels)> {
        let run = run.quiet();
        let corpus = self.corpus(recipe, documents, &run)?.select(rows)?;
        let matrix = recipe.fit(&corpus, &run)?.represent(&corpus.tokens, &run)?;
        Ok((matrix, corpus.labels))
    }

    /// The tokenised `documents`, which must be the same at every call.
    pub(super) fn corpus(&mut self, recipe: &Recipe, documents: &[Document], run: &Run) -> Result<&Corpus> {
        let index = match self.corpora.iter().position(|(words, _)| words == recipe.words()) {
            Some(index) => index,
            None => {
                let mut corpus = Corpus::read(documents.iter().cloned().map(Ok), recipe.words(), run)?;
                if !self.descriptions.is_empty() {
                    corpus.labels = corpus.labels.described(&self.descriptions);
                }
                self.corpora.push((recipe.words().clone(), corpus));
                self.corpora.len() - 1
            }
        };
        Ok(&self.corpora[index].1)
    }
}

/// What `work` gives and the seconds it takes, those included that sharing saved.
pub(super) fn timed<R>(run: &Run, work: impl FnOnce() -> Result<R>) -> Result<(R, f64)> {
    let (started, saved) = (Instant::now(), run.saved_seconds());
    let result = work()?;
    Ok((result, started.elapsed().as_secs_f64() + run.saved_seconds() - saved))
}

/// The rows `learnt` with their labels, and behind them the rows `unlabelled` without.
fn with_texts(corpus: &Corpus, learnt: &[usize], unlabelled: &[usize]) -> Result<Corpus> {
    let mut all = corpus.select(&[learnt, unlabelled].concat())?;
    if !unlabelled.is_empty() {
        all.labels = all.labels.only(&(0..learnt.len()).collect::<Vec<_>>());
    }
    Ok(all)
}

/// Texts of the rows `unlabelled` are learnt from too, their labels are not.
fn fit_and_measure(
    recipe: &Recipe,
    corpus: &Corpus,
    split: &Split,
    unlabelled: &[usize],
    run: &Run,
) -> Result<(Outcome, Evaluation)> {
    let train = with_texts(corpus, &split.train, unlabelled)?;
    let test = corpus.select(&split.test)?;
    let (represented, represent_seconds) = timed(run, || recipe.represent(&train, run))?;
    let (model, classify_seconds) = timed(run, || recipe.fit_classifier(&represented, &train, run))?;
    drop(represented);
    let (x, test_seconds) = timed(run, || model.represent(&test.tokens, run))?;
    let (mut outcome, evaluation) = measure(&model, &x, &test.labels, represent_seconds + classify_seconds, run)?;
    outcome.predict_seconds += test_seconds;
    outcome.represent_seconds = represent_seconds;
    Ok((outcome, evaluation))
}

/// What a model says about documents already represented, against their labels.
pub(super) fn measure(
    model: &Model,
    x: &Matrix,
    labels: &Labels,
    train_seconds: f64,
    run: &Run,
) -> Result<(Outcome, Evaluation)> {
    let started = Instant::now();
    let found = model.predict_matrix(x, run)?;
    let predict_seconds = started.elapsed().as_secs_f64();
    let truth = labels.align(model.classes());
    let predicted = match model.is_multi_label() || truth.is_multi_label() {
        true => Predictions::lists(&found.labels),
        false => Predictions::best(&found.scores)?,
    };
    let evaluation = Evaluation::of(&truth, &predicted, Some(&found.scores))?;
    let outcome = Outcome {
        accuracy: evaluation.accuracy,
        micro_f1: evaluation.micro_f1,
        macro_f1: evaluation.macro_f1,
        eer: evaluation.eer,
        represent_seconds: 0.0,
        train_seconds,
        predict_seconds,
        model_bytes: model.file_size()?,
        peak_bytes: None,
    };
    Ok((outcome, evaluation))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::demo;
    use crate::experiment::k_folds;

    #[test]
    fn a_split_sees_nothing_of_its_test_part() {
        let run = Run::new(42, 2).unwrap();
        let mut documents = demo().unwrap().train;
        documents.truncate(120);
        let labels = Labels::from_lists(documents.iter().map(|document| document.labels.as_deref()));
        let split = k_folds(&labels, 4, 1).unwrap().remove(0);
        let recipe = Recipe::parse("tfidf | svm").unwrap();
        // The same training rows with every other text blotted out give the same model.
        let mut blotted = documents.clone();
        for &row in &split.test {
            blotted[row].text = "zyzzogeton".into();
        }
        let model = |documents: &[Document]| {
            let corpus = Corpus::read(documents.iter().cloned().map(Ok), recipe.words(), &run).unwrap();
            recipe.fit(&corpus.select(&split.train).unwrap(), &run).unwrap().to_bytes().unwrap()
        };
        assert!(model(&documents) == model(&blotted));
    }

    #[test]
    fn sharing_work_changes_nothing() {
        let mut documents = demo().unwrap().train;
        documents.truncate(150);
        let labels = Labels::from_lists(documents.iter().map(|document| document.labels.as_deref()));
        let split = k_folds(&labels, 3, 1).unwrap().remove(0);
        let space = "dim=8, epochs=1, min_count=2, clusters=3";
        let recipes = [
            "tfidf | svm(calibrate=0)".to_string(),
            "tfidf | lsi(5) | knn(k=3)".to_string(),
            "tfidf | lsi(5) | svm".to_string(),
            "tfidf | lsi(5) | varnorm(2) | knn(k=3)".to_string(),
            "tfidf | sprinkle(rank=6) | knn(k=3)".to_string(),
            "tfidf | sprinkle(rank=6) | svm(calibrate=0)".to_string(),
            "tfidf | sprinkle(rank=9) | svm(calibrate=0)".to_string(),
            format!("(tfidf + scdv({space}) * 0.5) | svm(calibrate=0)"),
            format!("(tfidf + scdv({space}) * 0.7) | svm(calibrate=0)"),
            format!("concepts({space}) | svm(calibrate=0)"),
            "tfidf | dcot(prototypes=40, weight=auto) | svm(c=auto, calibrate=0)".to_string(),
            "tfidf | dcot(prototypes=40, weight=auto) | knn(k=3)".to_string(),
        ];
        let plain = Run::new(42, 2).unwrap();
        let sharing = plain.sharing();
        for recipe in &recipes {
            let recipe = Recipe::parse(recipe).unwrap();
            let corpus = Corpus::read(documents.iter().cloned().map(Ok), recipe.words(), &plain).unwrap();
            let scores = |run: &Run| {
                let model = recipe.fit(&corpus.select(&split.train).unwrap(), run).unwrap();
                let x = model.represent(&corpus.select(&split.test).unwrap().tokens, run).unwrap();
                (model.to_bytes().unwrap(), model.predict_matrix(&x, run).unwrap().scores)
            };
            assert!(scores(&plain) == scores(&sharing), "{recipe}");
        }
        assert!(sharing.saved_seconds() > 0.0);
    }

    #[test]
    fn tests_compare_with_the_reference() {
        let outcome = |accuracy| Outcome {
            accuracy,
            micro_f1: 0.0,
            macro_f1: 0.0,
            eer: None,
            represent_seconds: 0.0,
            train_seconds: 0.0,
            predict_seconds: 0.0,
            model_bytes: 0,
            peak_bytes: None,
        };
        let row = |accuracies: [f64; 4]| Outcomes { recipe: String::new(), splits: accuracies.map(outcome).to_vec() };
        let comparison = Comparison {
            recipes: vec![row([0.6, 0.62, 0.61, 0.6]), row([0.8, 0.82, 0.81, 0.83]), row([0.8, 0.83, 0.8, 0.83])],
        };
        assert_eq!(comparison.best(), Some(1));
        let tests = comparison.tests(1);
        assert!(tests[1].is_none());
        assert!(tests[0].unwrap().1 < 0.01 && tests[2].unwrap().1 > 0.5);
    }
}
