//! Experiments: what the library finds out about recipes, as JSON, and its charts, as SVG.

use std::time::Duration;

use corpuscle::corpus::Document;
use corpuscle::experiment::{Fate, RecommendParams, Space, Split, TuneParams, k_folds, random_splits};
use corpuscle::recipe::Recipe;
use corpuscle::report::svg::{Bar, BarChart, LineChart, Series};
use corpuscle::{Error, Result};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::convert::Target;
use crate::errors::raised;
use crate::run::Settings;
use crate::texts::Texts;

/// Documents as experiments take them: they own their texts.
fn documents(texts: &[&str], target: &Target) -> Vec<Document> {
    let labels = &target.labels;
    let document = |(row, text): (usize, &&str)| {
        let mut document = Document::new(row.to_string(), *text);
        document.labels =
            labels.of(row).map(|own| own.iter().map(|&class| labels.classes()[class as usize].clone()).collect());
        document.weight = target.weights.as_ref().map_or(1.0, |weights| weights[row]);
        document
    };
    texts.iter().enumerate().map(document).collect()
}

fn parsed(recipes: &[String]) -> PyResult<Vec<Recipe>> {
    recipes.iter().map(|text| Recipe::parse(text)).collect::<Result<Vec<_>>>().map_err(raised)
}

fn seconds(budget: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(budget).map_err(|_| PyValueError::new_err("budget must be a number of seconds from 0"))
}

/// The best recipe within `budget` seconds, what it was judged by, and every candidate.
#[pyfunction]
pub(crate) fn recommend(
    py: Python<'_>,
    texts: &Texts,
    target: &Target,
    budget: f64,
    run: &Settings,
) -> PyResult<String> {
    let slices = texts.slices()?;
    let params = RecommendParams { budget: seconds(budget)?, ..RecommendParams::default() };
    let found =
        run.work(py, |run| corpuscle::experiment::recommend(&documents(&slices, target), &params, run, |_| {}))?;
    let tests = found.tests();
    let rows: Vec<Value> = (0..found.standings.len())
        .map(|index| {
            let standing = &found.standings[index];
            let fate = match &standing.fate {
                Fate::Finished => "finished".to_string(),
                Fate::Dropped => "clearly behind".to_string(),
                Fate::TooSlow(_) => "too slow for the time".to_string(),
                Fate::NotTried => "no time left".to_string(),
                Fate::TooFewDocuments(_) => "too few labelled documents to compare".to_string(),
                Fate::Failed(why) => format!("failed: {why}"),
            };
            json!({
                "recipe": standing.recipe,
                "mean": found.mean(index),
                "folds": standing.folds.len(),
                "fold_seconds": standing.fold_seconds,
                "p": tests.get(index).copied().flatten().map(|(_, corrected)| corrected),
                "outcome": fate,
            })
        })
        .collect();
    let best = found.recipe();
    Ok(json!({"recipe": best, "objective": found.objective.name(), "candidates": rows}).to_string())
}

/// Recipes on the same splits: `folds` of them, or `runs` draws with the share `train` to learn from.
#[pyfunction]
#[pyo3(signature = (texts, target, recipes, run, folds=None, runs=10, train=0.5))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn compare(
    py: Python<'_>,
    texts: &Texts,
    target: &Target,
    recipes: Vec<String>,
    run: &Settings,
    folds: Option<usize>,
    runs: usize,
    train: f64,
) -> PyResult<String> {
    let (slices, recipes) = (texts.slices()?, parsed(&recipes)?);
    let comparison = run.work(py, |run| {
        let splits = match folds {
            Some(folds) => k_folds(&target.labels, folds, run.seed())?,
            None => random_splits(&target.labels, runs, train, run.seed())?,
        };
        corpuscle::experiment::compare(&recipes, &documents(&slices, target), &splits, run)
    })?;
    let best = comparison.best().unwrap_or(0);
    let tests: Vec<Value> =
        comparison.tests(best).into_iter().map(|test| test.map_or(Value::Null, |(_, p)| json!(p))).collect();
    Ok(json!({"best": best, "p": tests, "recipes": comparison.recipes}).to_string())
}

/// Recipes with few labels: the first `learnt` documents are learnt from, the others tested on.
#[pyfunction]
#[pyo3(signature = (texts, target, recipes, counts, run, draws=5, learnt=None, train=0.5))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn label_curve(
    py: Python<'_>,
    texts: &Texts,
    target: &Target,
    recipes: Vec<String>,
    counts: Vec<Option<usize>>,
    run: &Settings,
    draws: usize,
    learnt: Option<usize>,
    train: f64,
) -> PyResult<String> {
    let (slices, recipes) = (texts.slices()?, parsed(&recipes)?);
    let curves = run.work(py, |run| {
        let labels = &target.labels;
        let split = match learnt {
            Some(learnt) => {
                let test = (learnt..labels.len()).filter(|&row| labels.of(row).is_some()).collect();
                Split { train: (0..learnt).collect(), test }
            }
            None => random_splits(labels, 1, train, run.seed())?
                .pop()
                .ok_or_else(|| Error::data("there is nothing to split"))?,
        };
        corpuscle::experiment::label_curves(&recipes, &documents(&slices, target), &split, &counts, draws, run)
    })?;
    let rows: Vec<Value> = curves
        .iter()
        .map(|curve| {
            let points: Vec<Value> =
                curve.points.iter().map(|point| json!({"labels": point.labels, "draws": point.draws})).collect();
            json!({"recipe": curve.recipe, "points": points})
        })
        .collect();
    Ok(json!({ "recipes": rows }).to_string())
}

/// Values for the ranges of a recipe, by cross-validation.
#[pyfunction]
#[pyo3(signature = (texts, target, recipe, run, trials=None, budget=None, folds=5))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn tune(
    py: Python<'_>,
    texts: &Texts,
    target: &Target,
    recipe: &str,
    run: &Settings,
    trials: Option<usize>,
    budget: Option<f64>,
    folds: usize,
) -> PyResult<String> {
    let (slices, space) = (texts.slices()?, Space::parse(recipe).map_err(raised)?);
    let params = TuneParams { trials, budget: budget.map(seconds).transpose()?, folds };
    params.check().map_err(raised)?;
    let found =
        run.work(py, |run| corpuscle::experiment::tune(&space, &documents(&slices, target), &params, run, |_, _| {}))?;
    let names: Vec<String> =
        space.dimensions().iter().map(|dimension| format!("{}.{}", dimension.stage, dimension.parameter)).collect();
    Ok(json!({
        "recipe": found.best().recipe,
        "objective": found.objective.name(),
        "exhausted": found.exhausted,
        "names": names,
        "trials": found.trials,
    })
    .to_string())
}

/// A chart with a bar for each `(label, value, note)`, as SVG.
#[pyfunction]
pub(crate) fn bars(title: String, x_label: String, bars: Vec<(String, f64, String)>) -> String {
    let bars = bars.into_iter().map(|(label, value, note)| Bar { label, value, note }).collect();
    BarChart { title, x_label, bars, note_label: String::new(), most: None }.render().standalone()
}

/// Name, points and spread of a line.
type Line = (String, Vec<(f64, f64)>, Vec<f64>);

/// A chart with a line for each `(name, points, spread)`, as SVG.
#[pyfunction]
pub(crate) fn lines(title: String, x_label: String, y_label: String, series: Vec<Line>, log_x: bool) -> String {
    let spread: Vec<Vec<f64>> = series.iter().map(|(_, _, spread)| spread.clone()).collect();
    let series = series.into_iter().map(|(name, points, _)| Series { name, points }).collect();
    LineChart { title, x_label, y_label, series, log_x }.render_with_spread(&spread).standalone()
}
