//! A whole recipe, fitted: texts in, labels, scores, probabilities, vectors and explanations out.

use std::sync::{Mutex, OnceLock, PoisonError};

use corpuscle::Precision;
use corpuscle::matrix::Dense;
use corpuscle::recipe::{Corpus, Model as Fitted, Predictions, Predictor, Recipe};
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::convert::{Lists, Target, dense_to_python, lists_to_python};
use crate::errors::raised;
use crate::matrix::to_python;
use crate::method::Said;
use crate::run::Settings;
use crate::texts::Texts;

/// Up to this many texts are answered one by one on the caller's thread: starting workers would take longer.
const FEW: usize = 4;

/// Texts whose words and rows are in memory at once.
const BATCH: usize = 1 << 15;

/// The process that has answered one by one. Rayon's own pool may have been started there, and in a process forked from it that
/// pool is dead; others answer with workers of their own.
static HOME: OnceLock<u32> = OnceLock::new();

/// A fitted recipe.
#[pyclass(frozen, module = "corpuscle._native")]
pub(crate) struct Model {
    model: Fitted,
    predictor: Mutex<Option<Predictor>>,
}

impl From<Fitted> for Model {
    fn from(model: Fitted) -> Self {
        Model { model, predictor: Mutex::new(None) }
    }
}

/// Words, and a row for each.
type Vectors<'py> = (Vec<String>, Bound<'py, PyArray2<f32>>);

/// Stages with their seconds.
pub(crate) type Seconds = Vec<(String, f64)>;

/// Confidence of each answer, and its p-value of being like the training documents.
type Doubts<'py> = (Option<Bound<'py, PyArray1<f32>>>, Bound<'py, PyArray1<f64>>);

pub(crate) fn precise(precision: &str) -> PyResult<Precision> {
    match precision {
        "compact" => Ok(Precision::Compact),
        "full" => Ok(Precision::Full),
        other => {
            Err(pyo3::exceptions::PyValueError::new_err(format!("precision = {other:?} must be 'compact' or 'full'")))
        }
    }
}

/// The recipe in its short form and in its full form, and the name of its classifier; what cannot work is refused.
#[pyfunction]
pub(crate) fn check_recipe(recipe: &str) -> PyResult<(String, String, Option<&'static str>)> {
    let recipe = Recipe::parse(recipe).map_err(raised)?;
    Ok((recipe.to_string(), recipe.full(), recipe.classifier()))
}

/// The recipe without its classifier.
#[pyfunction]
pub(crate) fn representation_of(recipe: &str) -> PyResult<String> {
    Ok(Recipe::parse(recipe).map_err(raised)?.representation().to_string())
}

/// Fits a recipe on texts.
#[pyfunction]
#[pyo3(signature = (recipe, texts, target, run, updatable=false, precision="compact", sources=Vec::new()))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn fit(
    py: Python<'_>,
    recipe: &str,
    texts: &Texts,
    target: &Target,
    run: &Settings,
    updatable: bool,
    precision: &str,
    sources: Vec<String>,
) -> PyResult<(Model, Seconds)> {
    let (recipe, precision) = (Recipe::parse(recipe).map_err(raised)?, precise(precision)?);
    let slices = texts.slices()?;
    let (model, seconds) = run.work(py, |run| {
        let run = &run.with_precision(precision);
        let corpus = corpus(&recipe, &slices, target, sources, run)?;
        let model = if updatable { recipe.fit_updatable(&corpus, run)? } else { recipe.fit(&corpus, run)? };
        Ok((model, run.seconds()))
    })?;
    Ok((model.into(), seconds))
}

/// Fits a recipe without its classifier; gives it, the seconds of each stage, and the documents' matrix.
#[pyfunction]
pub(crate) fn fit_representation<'py>(
    py: Python<'py>,
    recipe: &str,
    texts: &Texts,
    target: &Target,
    run: &Settings,
) -> PyResult<(Model, Seconds, Bound<'py, PyTuple>)> {
    let recipe = Recipe::parse(recipe).map_err(raised)?.representation();
    let slices = texts.slices()?;
    let (model, seconds, rows) = run.work(py, |run| {
        let corpus = corpus(&recipe, &slices, target, Vec::new(), run)?;
        let represented = recipe.represent(&corpus, run)?;
        let model = recipe.fit_classifier(&represented, &corpus, run)?;
        Ok((model, run.seconds(), represented.matrix().clone()))
    })?;
    Ok((model.into(), seconds, to_python(py, rows)?))
}

fn corpus(
    recipe: &Recipe,
    texts: &[&str],
    target: &Target,
    sources: Vec<String>,
    run: &corpuscle::Run,
) -> corpuscle::Result<Corpus> {
    let (labels, weights) = (target.labels.clone(), target.weights.clone());
    let mut corpus = run.watch("read", None, || Corpus::from_columns(texts, labels, weights, recipe.words(), run))?;
    corpus.sources = sources;
    Ok(corpus)
}

impl Model {
    /// The model of the library.
    pub(crate) fn fitted(&self) -> &Fitted {
        &self.model
    }

    /// The answer to one text after another, without workers; `None` where that cannot be done.
    fn one_by_one(&self, texts: &[&str], run: &Settings) -> PyResult<Option<Predictions>> {
        let here = std::process::id();
        if texts.len() > FEW || *HOME.get_or_init(|| here) != here {
            return Ok(None);
        }
        let mut kept = self.predictor.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.is_none() {
            *kept = Some(self.model.predictor(&run.single()?).map_err(raised)?);
        }
        let Some(predictor) = kept.as_mut() else { return Ok(None) };
        let (mut labels, mut scores, mut probabilities) = (Vec::new(), Vec::new(), Vec::new());
        for text in texts {
            let said = predictor.predict(text).map_err(raised)?;
            labels.push(said.labels.to_vec());
            scores.extend_from_slice(said.scores);
            probabilities.extend_from_slice(said.probabilities.unwrap_or(&[]));
        }
        let classes = self.model.classes().len();
        let dense = |values: Vec<f32>| Dense::new(texts.len(), classes, values).map_err(raised);
        let probabilities = if self.model.has_probabilities() { Some(dense(probabilities)?) } else { None };
        Ok(Some(Predictions { labels, scores: dense(scores)?, probabilities }))
    }

    fn said(&self, py: Python<'_>, texts: &Texts, run: &Settings) -> PyResult<Predictions> {
        let slices = texts.slices()?;
        if let Some(found) = self.one_by_one(&slices, run)? {
            return Ok(found);
        }
        run.work(py, |run| {
            let (mut labels, mut scores, mut probabilities) = (Vec::new(), Vec::new(), Vec::new());
            for batch in slices.chunks(BATCH) {
                let found = self.model.predict(batch, run)?;
                labels.extend(found.labels);
                scores.extend_from_slice(found.scores.values());
                probabilities.extend_from_slice(found.probabilities.as_ref().map_or(&[], Dense::values));
                run.advance(batch.len() as u64);
            }
            let dense = |values| Dense::new(slices.len(), self.model.classes().len(), values);
            let probabilities = if self.model.has_probabilities() { Some(dense(probabilities)?) } else { None };
            Ok(Predictions { labels, scores: dense(scores)?, probabilities })
        })
    }

    /// The classes alone: of a long column no scores are kept.
    fn decided(&self, py: Python<'_>, texts: &Texts, run: &Settings) -> PyResult<Vec<Vec<u32>>> {
        let slices = texts.slices()?;
        if let Some(found) = self.one_by_one(&slices, run)? {
            return Ok(found.labels);
        }
        run.work(py, |run| {
            let mut labels = Vec::with_capacity(slices.len());
            for batch in slices.chunks(BATCH) {
                labels.extend(self.model.predict(batch, run)?.labels);
                run.advance(batch.len() as u64);
            }
            Ok(labels)
        })
    }
}

/// Label numbers, what amounts are, and terms with amounts.
type Explained = (u32, f32, Option<f32>, &'static str, &'static str, Vec<(String, f64)>);

#[pymethods]
impl Model {
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        let run = corpuscle::Run::new(corpuscle::DEFAULT_SEED, 1).map_err(raised)?;
        let model = py.detach(|| run.install(|| Fitted::from_bytes(bytes, &run)));
        Ok(model.map_err(raised)?.into())
    }

    #[staticmethod]
    fn load(py: Python<'_>, path: std::path::PathBuf) -> PyResult<Self> {
        let run = corpuscle::Run::new(corpuscle::DEFAULT_SEED, 1).map_err(raised)?;
        let model = py.detach(|| run.install(|| Fitted::load(&path, &run)));
        Ok(model.map_err(raised)?.into())
    }

    fn save(&self, py: Python<'_>, path: std::path::PathBuf) -> PyResult<()> {
        py.detach(|| self.model.save(&path)).map_err(raised)
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &py.detach(|| self.model.to_bytes()).map_err(raised)?))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.get_type::<Model>().getattr("from_bytes")?, (self.to_bytes(py)?,)))
    }

    /// The classes given to texts, best first, their scores and probabilities.
    fn predict<'py>(&self, py: Python<'py>, texts: &Texts, run: &Settings) -> PyResult<Said<'py>> {
        let found = self.said(py, texts, run)?;
        let probabilities = found.probabilities.map(|values| dense_to_python(py, values)).transpose()?;
        Ok((lists_to_python(py, &found.labels), dense_to_python(py, found.scores)?, probabilities))
    }

    /// The classes given alone.
    fn labels<'py>(&self, py: Python<'py>, texts: &Texts, run: &Settings) -> PyResult<Lists<'py>> {
        Ok(lists_to_python(py, &self.decided(py, texts, run)?))
    }

    fn represent<'py>(&self, py: Python<'py>, texts: &Texts, run: &Settings) -> PyResult<Bound<'py, PyTuple>> {
        let slices = texts.slices()?;
        to_python(py, run.work(py, |run| self.model.represent_texts(&slices, run))?)
    }

    /// For each text: the class explained, its score and probability, what amounts are (a word and a line), and the terms.
    #[pyo3(signature = (texts, run, class=None))]
    fn explain(&self, py: Python<'_>, texts: &Texts, run: &Settings, class: Option<u32>) -> PyResult<Vec<Explained>> {
        let slices = texts.slices()?;
        run.work(py, |run| {
            let found = self.model.predict(&slices, run)?;
            let mut all = Vec::with_capacity(slices.len());
            for (row, text) in slices.iter().enumerate() {
                let scores = found.scores.row(row);
                let mut order: Vec<u32> = (0..scores.len() as u32).collect();
                order.sort_by(|&a, &b| scores[b as usize].total_cmp(&scores[a as usize]).then(a.cmp(&b)));
                let asked = class.or(order.first().copied()).unwrap_or(0);
                let against = order.iter().copied().find(|&other| other != asked);
                let (weighing, terms) = self.model.weigh_terms(text, asked, against, run)?;
                let probability = found.probabilities.as_ref().map(|all| all.row(row)[asked as usize]);
                let terms = terms.into_iter().map(|part| (part.term, part.amount)).collect();
                all.push((asked, scores[asked as usize], probability, weighing.name(), weighing.about(), terms));
            }
            Ok(all)
        })
    }

    /// The model that fitting on the old and the new documents at once gives.
    fn update(&self, py: Python<'_>, texts: &Texts, target: &Target, run: &Settings) -> PyResult<Self> {
        let slices = texts.slices()?;
        let model = run.work(py, |run| {
            let corpus = corpus(self.model.recipe(), &slices, target, Vec::new(), run)?;
            self.model.update(&corpus, run)
        })?;
        Ok(model.into())
    }

    #[getter]
    fn recipe(&self) -> String {
        self.model.recipe().to_string()
    }

    #[getter]
    fn full_recipe(&self) -> String {
        self.model.recipe().full()
    }

    #[getter]
    fn classifier(&self) -> Option<&'static str> {
        self.model.recipe().classifier()
    }

    #[getter]
    fn classes(&self) -> Vec<String> {
        self.model.classes().to_vec()
    }

    #[getter]
    fn is_multi_label(&self) -> bool {
        self.model.is_multi_label()
    }

    #[getter]
    fn is_updatable(&self) -> bool {
        self.model.is_updatable()
    }

    #[getter]
    fn has_probabilities(&self) -> bool {
        self.model.has_probabilities()
    }

    #[getter]
    fn notes(&self) -> Vec<(String, String)> {
        self.model.notes()
    }

    #[getter]
    fn widths(&self) -> PyResult<Vec<(&'static str, usize)>> {
        self.model.widths().map_err(raised)
    }

    #[getter]
    fn feature_names(&self) -> Vec<String> {
        self.model.feature_names()
    }

    /// Words and their vectors, for a recipe that has some.
    fn word_vectors<'py>(&self, py: Python<'py>) -> PyResult<Option<Vectors<'py>>> {
        let Some(space) = self.model.word_space() else { return Ok(None) };
        let (words, vectors) = (space.vectors().words(), space.vectors().vectors());
        let words = words.iter().map(ToString::to_string).collect();
        Ok(Some((words, dense_to_python(py, vectors.clone())?)))
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.model.metadata().about.seed
    }

    /// Confidence of each answer and its p-value of being like the training documents.
    fn doubt<'py>(&self, py: Python<'py>, texts: &Texts, run: &Settings) -> PyResult<Doubts<'py>> {
        let slices = texts.slices()?;
        let (sure, novel) = run.work(py, |run| {
            let x = self.model.represent_texts(&slices, run)?;
            let found = self.model.predict_matrix(&x, run)?;
            Ok((self.model.confidences(&found), self.model.novelty(&x, &found, run)?))
        })?;
        Ok((sure.map(|sure| PyArray1::from_vec(py, sure)), PyArray1::from_vec(py, novel)))
    }
}
