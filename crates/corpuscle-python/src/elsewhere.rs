//! Stages fitted elsewhere: counts of terms that merge, and models put together of what sums over documents gave.

use std::sync::Arc;

use corpuscle::classify::{ClassifierModel, LinearModel, LogisticModel, LogisticParams, Reached, SvmModel, SvmParams};
use corpuscle::corpus::Labels;
use corpuscle::matrix::Dense;
use corpuscle::params::Params;
use corpuscle::project::{
    DcotModel, DiscriminantModel, FoundLayer, GainCounts, InformationGainParams, LsiModel, NormalizeModel,
    ProjectorModel, VarNormModel,
};
use corpuscle::recipe::model_file::Provenance;
use corpuscle::recipe::{Model as Fitted, Recipe};
use corpuscle::store::StoreWriter;
use corpuscle::vectorize::TermCounts;
use corpuscle::{Error, Result, Run};
use numpy::{PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::convert::dense_to_python;
use crate::errors::raised;
use crate::matrix::Given;
use crate::model::Model;
use crate::run::Settings;
use crate::sealed;
use crate::texts::Texts;

/// Counts as the bytes of a checked file.
fn to_bytes(counts: &TermCounts, tokens: u64) -> Result<Vec<u8>> {
    let mut store = StoreWriter::new();
    counts.save(&mut store);
    of_counts(store, tokens)
}

fn of_counts(store: StoreWriter, tokens: u64) -> Result<Vec<u8>> {
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

/// Name and arguments of a classifier, its weights (columns × classes), biases, steps, and how far it came.
type Weighed<'py> = (String, String, PyReadonlyArray2<'py, f32>, PyReadonlyArray1<'py, f32>, usize, f64);

/// Counts of the labelled rows of a sparse matrix by term and class, as bytes.
#[pyfunction]
pub(crate) fn count_gains<'py>(
    py: Python<'py>,
    x: Given<'py>,
    codes: PyReadonlyArray1<'py, i32>,
    classes: Vec<String>,
    run: &Settings,
) -> PyResult<Bound<'py, PyBytes>> {
    let x = x.matrix()?;
    let numbers: Vec<u32> = codes.as_slice()?.iter().map(|&code| code.max(0) as u32).collect();
    let bytes = run.work(py, |run| {
        let labels = Labels::with_classes(classes, numbers.iter().map(|&code| Some(vec![code])))?;
        let mut store = StoreWriter::new();
        GainCounts::of(&x, &labels, run)?.save(&mut store);
        of_counts(store, 0)
    })?;
    Ok(PyBytes::new(py, &bytes))
}

/// The sum of several counts by term and class.
#[pyfunction]
pub(crate) fn merge_gains<'py>(
    py: Python<'py>,
    parts: Vec<PyBackedBytes>,
    run: &Settings,
) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = run.work(py, |run| {
        let mut store = StoreWriter::new();
        merged_gains(&parts, run)?.save(&mut store);
        of_counts(store, 0)
    })?;
    Ok(PyBytes::new(py, &bytes))
}

fn merged_gains(parts: &[PyBackedBytes], run: &Run) -> Result<GainCounts> {
    let mut all: Option<GainCounts> = None;
    for part in parts {
        run.check()?;
        let (_, loaded) = sealed::from_bytes(part)?;
        let counts = GainCounts::load(&loaded.reader())?;
        match &mut all {
            None => all = Some(counts),
            Some(sum) => sum.merge(&counts)?,
        }
    }
    all.ok_or_else(|| Error::data("there are no documents"))
}

/// A projection that was fitted elsewhere.
#[pyclass(frozen, module = "corpuscle._native")]
pub(crate) struct Projection(Arc<dyn ProjectorModel>);

impl Projection {
    fn of(model: impl ProjectorModel + 'static) -> Self {
        Projection(Arc::new(model))
    }
}

/// A layer of dCoT: weights or their first factor, the second, biases, centre, directions.
type LayerArrays<'py> = (
    PyReadonlyArray2<'py, f32>,
    Option<PyReadonlyArray2<'py, f32>>,
    PyReadonlyArray1<'py, f32>,
    PyReadonlyArray1<'py, f32>,
    Option<PyReadonlyArray2<'py, f32>>,
);

#[pymethods]
impl Projection {
    /// The terms that say most about the classes, by counts of all documents; also the columns of these terms.
    #[staticmethod]
    fn ig(py: Python<'_>, terms: usize, parts: Vec<PyBackedBytes>, run: &Settings) -> PyResult<(Self, Vec<u32>)> {
        let model = run.work(py, |run| InformationGainParams { terms }.model_of(&merged_gains(&parts, run)?, run))?;
        let columns = model.columns().to_vec();
        Ok((Self::of(model), columns))
    }

    /// Singular vectors (a row for each column of the input), singular values, and shares of the variance.
    #[staticmethod]
    fn lsi(
        vectors: PyReadonlyArray2<'_, f32>,
        values: PyReadonlyArray1<'_, f64>,
        explained: PyReadonlyArray1<'_, f64>,
    ) -> PyResult<Self> {
        LsiModel::new(dense(&vectors)?, values.to_vec()?, explained.to_vec()?).map(Self::of).map_err(raised)
    }

    /// Directions to remove from rows of so many sparse and dense columns, of which `negative` count negatively.
    #[staticmethod]
    fn varnorm(
        vectors: PyReadonlyArray2<'_, f32>,
        eigenvalues: PyReadonlyArray1<'_, f64>,
        sparse: usize,
        width: usize,
        negative: usize,
    ) -> PyResult<Self> {
        VarNormModel::from_parts(dense(&vectors)?, eigenvalues.to_vec()?, sparse, width, negative)
            .map(Self::of)
            .map_err(raised)
    }

    /// Directions that tell classes apart, what brings the mean to 0 in them, their ratios of variances.
    #[staticmethod]
    fn discriminant(
        vectors: PyReadonlyArray2<'_, f32>,
        offset: PyReadonlyArray1<'_, f32>,
        ratios: PyReadonlyArray1<'_, f64>,
        shrinkage: f64,
    ) -> PyResult<Self> {
        DiscriminantModel::from_parts(dense(&vectors)?, offset.to_vec()?, ratios.to_vec()?, shrinkage)
            .map(Self::of)
            .map_err(raised)
    }

    /// Rows brought to length 1.
    #[staticmethod]
    fn normalize(columns: usize) -> Self {
        Self::of(NormalizeModel::new(columns))
    }

    /// Layers that reconstruct columns.
    #[staticmethod]
    #[pyo3(signature = (layers, prototypes, noise, length, exact))]
    fn dcot(
        layers: Vec<LayerArrays<'_>>,
        prototypes: PyReadonlyArray1<'_, u32>,
        noise: f64,
        length: Option<f32>,
        exact: bool,
    ) -> PyResult<Self> {
        let found = layers.iter().map(|(down, up, bias, centre, directions)| {
            Ok(FoundLayer {
                down: dense(down)?,
                up: up.as_ref().map(dense).transpose()?,
                bias: bias.to_vec()?,
                centre: centre.to_vec()?,
                directions: directions.as_ref().map(dense).transpose()?,
            })
        });
        let found = found.collect::<PyResult<Vec<_>>>()?;
        DcotModel::from_layers(found, prototypes.to_vec()?, noise, length, exact).map(Self::of).map_err(raised)
    }
}

/// What a model keeps of the two factors of a layer.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub(crate) fn kept_factors<'py>(
    py: Python<'py>,
    down: PyReadonlyArray2<'py, f32>,
    up: PyReadonlyArray2<'py, f32>,
    first: bool,
) -> PyResult<(Bound<'py, PyArray2<f32>>, Bound<'py, PyArray2<f32>>)> {
    let (down, up) = FoundLayer::kept(dense(&down)?, dense(&up)?, first);
    Ok((dense_to_python(py, down)?, dense_to_python(py, up)?))
}

fn dense(array: &PyReadonlyArray2<'_, f32>) -> PyResult<Dense> {
    let (rows, cols) = (array.shape()[0], array.shape()[1]);
    Dense::new(rows, cols, array.to_vec()?).map_err(raised)
}

/// A model of a vectorizer fitted on counts, projections and weights that were found elsewhere.
#[pyfunction]
#[pyo3(signature = (recipe, parts, projections, classifier, classes, labelled, sources, run))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn assemble(
    py: Python<'_>,
    recipe: &str,
    parts: Vec<PyBackedBytes>,
    projections: Vec<PyRef<'_, Projection>>,
    classifier: Option<Weighed<'_>>,
    classes: Vec<String>,
    labelled: usize,
    sources: Vec<String>,
    run: &Settings,
) -> PyResult<Model> {
    let recipe = Recipe::parse(recipe).map_err(raised)?;
    let projections: Vec<Arc<dyn ProjectorModel>> = projections.iter().map(|one| Arc::clone(&one.0)).collect();
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
        let projections: Vec<&dyn ProjectorModel> = projections.iter().map(Arc::as_ref).collect();
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
