//! Stages fitted elsewhere: counts of terms that merge, and models put together of what sums over documents gave.

use corpuscle::classify::{ClassifierModel, LinearModel, LogisticModel, LogisticParams, Reached, SvmModel, SvmParams};
use corpuscle::matrix::Dense;
use corpuscle::params::Params;
use corpuscle::project::{LsiModel, ProjectorModel};
use corpuscle::recipe::model_file::Provenance;
use corpuscle::recipe::{Model as Fitted, Recipe};
use corpuscle::store::StoreWriter;
use corpuscle::vectorize::TermCounts;
use corpuscle::{Error, Result, Run};
use numpy::{PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::errors::raised;
use crate::model::Model;
use crate::run::Settings;
use crate::sealed;
use crate::texts::Texts;

/// Counts as the bytes of a checked file.
fn to_bytes(counts: &TermCounts, tokens: u64) -> Result<Vec<u8>> {
    let mut store = StoreWriter::new();
    counts.save(&mut store);
    sealed::to_bytes("counts".to_string(), Provenance { tokens, ..Provenance::default() }, store)
}

fn from_bytes(bytes: &[u8]) -> Result<(TermCounts, u64)> {
    let (metadata, loaded) = sealed::from_bytes(bytes)?;
    Ok((TermCounts::load(&loaded.reader())?, metadata.about.tokens))
}

/// The sum of counts, and of how many tokens.
fn merged(parts: &[PyBackedBytes], run: &Run) -> Result<(TermCounts, u64)> {
    let mut all: Option<(TermCounts, u64)> = None;
    for part in parts {
        run.check()?;
        let (counts, tokens) = from_bytes(part)?;
        match &mut all {
            None => all = Some((counts, tokens)),
            Some((sum, total)) => {
                sum.merge(&counts)?;
                *total += tokens;
            }
        }
    }
    all.ok_or_else(|| Error::data("there are no documents"))
}

/// The counts of the terms of texts, as the first stage of a recipe counts them.
#[pyfunction]
pub(crate) fn count_terms<'py>(
    py: Python<'py>,
    recipe: &str,
    texts: &Texts,
    run: &Settings,
) -> PyResult<Bound<'py, PyBytes>> {
    let recipe = Recipe::parse(recipe).map_err(raised)?;
    let slices = texts.slices()?;
    let bytes = run.work(py, |run| {
        let tokens = recipe.words().tokenize(&slices, run)?;
        to_bytes(&TermCounts::of(&tokens, recipe.longest_term()?, run)?, tokens.n_tokens() as u64)
    })?;
    Ok(PyBytes::new(py, &bytes))
}

/// The sum of several counts.
#[pyfunction]
pub(crate) fn merge_terms<'py>(
    py: Python<'py>,
    parts: Vec<PyBackedBytes>,
    run: &Settings,
) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = run.work(py, |run| merged(&parts, run).and_then(|(counts, tokens)| to_bytes(&counts, tokens)))?;
    Ok(PyBytes::new(py, &bytes))
}

/// The first stage of a recipe fitted on counts, as a model without a classifier; how many documents and tokens there are.
#[pyfunction]
pub(crate) fn representation_of_counts(
    py: Python<'_>,
    recipe: &str,
    parts: Vec<PyBackedBytes>,
    run: &Settings,
) -> PyResult<(Model, u64, u64)> {
    let recipe = Recipe::parse(recipe).map_err(raised)?;
    let (model, documents, tokens) = run.work(py, |run| {
        let (counts, tokens) = merged(&parts, run)?;
        let vectorizer = recipe.vectorizer_of(&counts)?;
        let about =
            Provenance { documents: counts.n_documents() as usize, tokens, seed: run.seed(), ..Provenance::default() };
        let model = recipe.assemble(vectorizer.as_ref(), &[], None, Vec::new(), about, run)?;
        Ok((model, counts.n_documents(), tokens))
    })?;
    Ok((model.into(), documents, tokens))
}

/// Singular vectors (a row for each column of the input), singular values, and shares of the variance.
type Lsi<'py> = (PyReadonlyArray2<'py, f32>, PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>);

/// Name and arguments of a classifier, its weights (columns × classes), biases, steps, and how far it came.
type Weighed<'py> = (String, String, PyReadonlyArray2<'py, f32>, PyReadonlyArray1<'py, f32>, usize, f64);

fn dense(array: &PyReadonlyArray2<'_, f32>) -> PyResult<Dense> {
    let (rows, cols) = (array.shape()[0], array.shape()[1]);
    Dense::new(rows, cols, array.to_vec()?).map_err(raised)
}

/// A model of a vectorizer fitted on counts, singular vectors and weights that were found elsewhere.
#[pyfunction]
#[pyo3(signature = (recipe, parts, lsi, classifier, classes, labelled, sources, run))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn assemble(
    py: Python<'_>,
    recipe: &str,
    parts: Vec<PyBackedBytes>,
    lsi: Option<Lsi<'_>>,
    classifier: Option<Weighed<'_>>,
    classes: Vec<String>,
    labelled: usize,
    sources: Vec<String>,
    run: &Settings,
) -> PyResult<Model> {
    let recipe = Recipe::parse(recipe).map_err(raised)?;
    let lsi = match &lsi {
        None => None,
        Some((vectors, values, explained)) => {
            Some(LsiModel::new(dense(vectors)?, values.to_vec()?, explained.to_vec()?).map_err(raised)?)
        }
    };
    let classifier = match &classifier {
        None => None,
        Some((name, arguments, weights, bias, steps, gap)) => {
            let linear = LinearModel::new(dense(weights)?, bias.to_vec()?).map_err(raised)?;
            Some(linear_classifier(name, arguments, linear, *steps, *gap).map_err(raised)?)
        }
    };
    let model: Fitted = run.work(py, |run| {
        let (counts, tokens) = merged(&parts, run)?;
        let vectorizer = recipe.vectorizer_of(&counts)?;
        let projections: Vec<&dyn ProjectorModel> = lsi.iter().map(|model| model as &dyn ProjectorModel).collect();
        let about = Provenance {
            documents: counts.n_documents() as usize,
            labelled,
            tokens,
            seed: run.seed(),
            multi_label: false,
            sources,
        };
        recipe.assemble(vectorizer.as_ref(), &projections, classifier.as_deref(), classes, about, run)
    })?;
    Ok(model.into())
}

fn linear_classifier(
    name: &str,
    arguments: &str,
    linear: LinearModel,
    steps: usize,
    gap: f64,
) -> Result<Box<dyn ClassifierModel>> {
    let wrong = |e: serde_json::Error| Error::data(format!("arguments of `{name}`: {e}"));
    let arguments: serde_json::Map<String, serde_json::Value> = serde_json::from_str(arguments).map_err(wrong)?;
    let reached =
        |tolerance: f64| vec![Reached { iterations: steps, gap, converged: gap <= tolerance }; linear.n_classes()];
    match name {
        "svm" => {
            let params = SvmParams::from_json(&arguments)?;
            let c = params.c.value().unwrap_or(1.0);
            Ok(Box::new(SvmModel::new(params, c, reached(params.tolerance), linear)))
        }
        "logistic" => {
            let params = LogisticParams::from_json(&arguments)?;
            let c = params.c.value().unwrap_or(1.0);
            Ok(Box::new(LogisticModel::of(params, c, false, reached(params.tolerance), linear)))
        }
        other => Err(Error::data(format!("`{other}` is not fitted by sums over documents; svm and logistic are"))),
    }
}
