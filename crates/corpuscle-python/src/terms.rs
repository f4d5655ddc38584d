//! Counting vectorizers by themselves: what `CountVectorizer` and `TfidfVectorizer` are made of.

use corpuscle::matrix::Csr;
use corpuscle::params::Params;
use corpuscle::recipe::model_file::Provenance;
use corpuscle::store::StoreWriter;
use corpuscle::text::{Tokens, WordsParams};
use corpuscle::vectorize::{
    BinaryParams, CountsModel, CountsParams, TermCounts, TfidfModel, TfidfParams, VectorizerModel,
};
use corpuscle::{Error, Result, Run};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::errors::raised;
use crate::matrix::to_python;
use crate::run::Settings;
use crate::sealed;
use crate::texts::Texts;

/// What is counted and how, from the JSON `{"words": {…}, "stage": "counts", "terms": {…}}`.
struct Asked {
    json: String,
    words: WordsParams,
    stage: Stage,
}

enum Stage {
    Counts(CountsParams),
    Tfidf(TfidfParams),
}

enum Fitted {
    Counts(CountsModel),
    Tfidf(TfidfModel),
}

impl Asked {
    fn read(json: &str) -> Result<Self> {
        let wrong = |e: serde_json::Error| Error::data(format!("settings of a vectorizer: {e}"));
        let all: serde_json::Map<String, serde_json::Value> = serde_json::from_str(json).map_err(wrong)?;
        let object = |name: &str| all.get(name).and_then(|value| value.as_object()).cloned().unwrap_or_default();
        let stage = match all.get("stage").and_then(|value| value.as_str()) {
            Some("counts") => Stage::Counts(CountsParams::from_json(&object("terms"))?),
            Some("binary") => Stage::Counts(BinaryParams::from_json(&object("terms"))?.0),
            _ => Stage::Tfidf(TfidfParams::from_json(&object("terms"))?),
        };
        Ok(Asked { json: json.to_string(), words: WordsParams::from_json(&object("words"))?, stage })
    }

    /// How many words the longest terms have, and how many may stand between the two of a pair.
    fn lengths(&self) -> (usize, usize) {
        let (Stage::Counts(counts) | Stage::Tfidf(TfidfParams { counts, .. })) = &self.stage;
        (counts.ngrams, counts.skip)
    }

    fn fit(&self, tokens: &Tokens, run: &Run) -> Result<(Fitted, Csr)> {
        match &self.stage {
            Stage::Counts(counts) => counts.fit(tokens, run).map(|(model, x)| (Fitted::Counts(model), x)),
            Stage::Tfidf(tfidf) => tfidf.fit(tokens, run).map(|(model, x)| (Fitted::Tfidf(model), x)),
        }
    }

    fn model_of(&self, counts: &TermCounts) -> Result<Fitted> {
        match &self.stage {
            Stage::Counts(params) => params.model_of(counts).map(Fitted::Counts),
            Stage::Tfidf(params) => params.model_of(counts).map(Fitted::Tfidf),
        }
    }
}

impl Fitted {
    fn model(&self) -> &dyn VectorizerModel {
        match self {
            Fitted::Counts(model) => model,
            Fitted::Tfidf(model) => model,
        }
    }
}

/// A fitted counting vectorizer.
#[pyclass(frozen, module = "corpuscle._native")]
pub(crate) struct Terms {
    asked: Asked,
    fitted: Fitted,
    /// Counts of every term of all documents so far, for one that is fitted part by part.
    counts: Option<TermCounts>,
}

#[pymethods]
impl Terms {
    /// Learns from texts and gives their matrix.
    #[staticmethod]
    fn fit<'py>(
        py: Python<'py>,
        settings: &str,
        texts: &Texts,
        run: &Settings,
    ) -> PyResult<(Self, Bound<'py, PyTuple>)> {
        let (asked, slices) = (Asked::read(settings).map_err(raised)?, texts.slices()?);
        let (fitted, x) = run.work(py, |run| asked.fit(&asked.words.tokenize(&slices, run)?, run))?;
        Ok((Terms { asked, fitted, counts: None }, to_python(py, x.into())?))
    }

    /// What a fit on all texts so far and these would learn; `before` is what came out of the last part.
    #[staticmethod]
    #[pyo3(signature = (settings, texts, run, before=None))]
    fn partial_fit(
        py: Python<'_>,
        settings: &str,
        texts: &Texts,
        run: &Settings,
        before: Option<&Terms>,
    ) -> PyResult<Self> {
        let (asked, slices) = (Asked::read(settings).map_err(raised)?, texts.slices()?);
        let (longest, skip) = asked.lengths();
        let (fitted, counts) = run.work(py, |run| {
            let mut counts = match before.and_then(|before| before.counts.as_ref()) {
                Some(counts) => counts.clone(),
                None => TermCounts::no_pairs(longest, skip)?,
            };
            counts.merge(&TermCounts::with_pairs(&asked.words.tokenize(&slices, run)?, longest, skip, run)?)?;
            Ok((asked.model_of(&counts)?, counts))
        })?;
        Ok(Terms { asked, fitted, counts: Some(counts) })
    }

    fn transform<'py>(&self, py: Python<'py>, texts: &Texts, run: &Settings) -> PyResult<Bound<'py, PyTuple>> {
        let slices = texts.slices()?;
        let work = |run: &Run| self.fitted.model().transform(&self.asked.words.tokenize(&slices, run)?, run);
        to_python(py, run.work(py, work)?)
    }

    #[getter]
    fn feature_names(&self) -> Vec<String> {
        match &self.fitted {
            Fitted::Counts(model) => model.feature_names(),
            Fitted::Tfidf(model) => model.feature_names(),
        }
    }

    /// Inverse document frequencies, for tf-idf.
    #[getter]
    fn idf<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        match &self.fitted {
            Fitted::Counts(_) => None,
            Fitted::Tfidf(model) => Some(PyArray1::from_slice(py, model.idf())),
        }
    }

    /// Whether it can go on with more parts.
    #[getter]
    fn is_partial(&self) -> bool {
        self.counts.is_some()
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = || {
            let mut store = StoreWriter::new();
            store.scope("model", |out| self.fitted.model().save(out))?;
            if let Some(counts) = &self.counts {
                store.scope("counts", |out| counts.save(out));
            }
            sealed::to_bytes(self.asked.json.clone(), Provenance::default(), store)
        };
        Ok(PyBytes::new(py, &bytes().map_err(raised)?))
    }

    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        sealed::built(|_| {
            let (metadata, loaded) = sealed::from_bytes(bytes)?;
            let (asked, store) = (Asked::read(&metadata.recipe)?, loaded.reader());
            let model = store.scope("model");
            let fitted = match &asked.stage {
                Stage::Counts(_) => Fitted::Counts(CountsModel::load(&model)?),
                Stage::Tfidf(_) => Fitted::Tfidf(TfidfModel::load(&model)?),
            };
            let parts = store.scope("counts");
            let counts = if parts.has("documents") { Some(TermCounts::load(&parts)?) } else { None };
            Ok(Terms { asked, fitted, counts })
        })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.get_type::<Terms>().getattr("from_bytes")?, (self.to_bytes(py)?,)))
    }
}
