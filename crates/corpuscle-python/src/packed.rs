//! Documents tokenised in parts, elsewhere: what executors hand in, and the fit on all of it.

use corpuscle::recipe::{Corpus, Recipe};
use corpuscle::text::PackedTokens;
use corpuscle::{Error, Run};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::convert::Target;
use crate::errors::raised;
use crate::model::{Model, Seconds, precise};
use crate::run::Settings;
use crate::texts::Texts;

/// The words of texts as a recipe reads them, in few bytes, and how many tokens these are.
#[pyfunction]
pub(crate) fn pack<'py>(
    py: Python<'py>,
    recipe: &str,
    texts: &Texts,
    run: &Settings,
) -> PyResult<(Bound<'py, PyBytes>, u64)> {
    let recipe = Recipe::parse(recipe).map_err(raised)?;
    let slices = texts.slices()?;
    let (bytes, tokens) = run.work(py, |run| {
        let packed = PackedTokens::of(&recipe.words().tokenize(&slices, run)?);
        Ok((packed.to_bytes(), packed.n_tokens()))
    })?;
    Ok((PyBytes::new(py, &bytes), tokens))
}

/// Fits a recipe on the documents of several parts: for each place the part and the document in it. A recipe that ends with a
/// representation gives a model without a classifier.
#[pyfunction]
#[pyo3(signature = (recipe, parts, part_of, row_of, target, run, updatable=false, precision="compact", sources=Vec::new()))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn fit_packed(
    py: Python<'_>,
    recipe: &str,
    parts: Vec<PyBackedBytes>,
    part_of: PyReadonlyArray1<'_, u32>,
    row_of: PyReadonlyArray1<'_, u32>,
    target: &Target,
    run: &Settings,
    updatable: bool,
    precision: &str,
    sources: Vec<String>,
) -> PyResult<(Model, Seconds)> {
    let (recipe, precision) = (Recipe::parse(recipe).map_err(raised)?, precise(precision)?);
    let order: Vec<(u32, u32)> = part_of.as_slice()?.iter().copied().zip(row_of.as_slice()?.iter().copied()).collect();
    let (model, seconds) = run.work(py, |run| {
        let run = &run.with_precision(precision);
        let corpus = run.watch("read", None, || joined(&parts, &order, target, sources, run))?;
        drop(parts);
        let model = match (recipe.classifier(), updatable) {
            (None, _) => recipe.fit_classifier(&recipe.represent(&corpus, run)?, &corpus, run)?,
            (_, true) => recipe.fit_updatable(&corpus, run)?,
            (_, false) => recipe.fit(&corpus, run)?,
        };
        Ok((model, run.seconds()))
    })?;
    Ok((model.into(), seconds))
}

fn joined(
    parts: &[PyBackedBytes],
    order: &[(u32, u32)],
    target: &Target,
    sources: Vec<String>,
    run: &Run,
) -> corpuscle::Result<Corpus> {
    if order.is_empty() {
        return Err(Error::data("there are no documents"));
    }
    if target.labels.len() != order.len() {
        let (expected, found) = (order.len(), target.labels.len());
        return Err(Error::Shape { what: "labels of the documents", expected, found });
    }
    let parts = parts.iter().map(|part| PackedTokens::from_bytes(part)).collect::<corpuscle::Result<Vec<_>>>()?;
    let tokens = PackedTokens::join(&parts, order, run)?;
    let ids = (0..order.len()).map(|row| row.to_string()).collect();
    let weights = target.weights.clone().filter(|weights| weights.iter().any(|&weight| weight != 1.0));
    Ok(Corpus { tokens, ids, labels: target.labels.clone(), weights, sources })
}
