//! Search: an index in a folder, and the best documents for queries.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use corpuscle::corpus::Document;
use corpuscle::recipe::{Model as Fitted, Recipe};
use corpuscle::retrieve::{Feedback, Form, Hit, Index as Kept, Mix, Ranking, Search, Searcher, Snippet, Vectors};
use corpuscle::{Error, Result};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::errors::raised;
use crate::model::Model;
use crate::run::Settings;
use crate::texts::Texts;

/// Words of a document that are shown.
const WIDTH: usize = 30;

/// An index of documents.
#[pyclass(frozen, module = "corpuscle._native")]
pub(crate) struct Index {
    index: Kept,
    /// What was committed when it was first asked for.
    searcher: Mutex<Option<Arc<Searcher>>>,
}

impl From<Kept> for Index {
    fn from(index: Kept) -> Self {
        Index { index, searcher: Mutex::new(None) }
    }
}

impl Index {
    fn searcher(&self) -> Result<Arc<Searcher>> {
        let mut kept = self.searcher.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(searcher) = kept.as_ref() {
            return Ok(Arc::clone(searcher));
        }
        let searcher = Arc::new(self.index.searcher()?);
        *kept = Some(Arc::clone(&searcher));
        Ok(searcher)
    }

    /// What was committed since counts from now on.
    fn renew(&self) {
        *self.searcher.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

#[pymethods]
impl Index {
    /// A new index in a folder that is empty or not there; `words` is how texts become words, as recipes say it.
    #[staticmethod]
    fn create(py: Python<'_>, folder: PathBuf, words: &str) -> PyResult<Self> {
        let recipe = Recipe::parse(&format!("{words} | counts")).map_err(raised)?;
        let index = py.detach(|| Kept::create(&folder, recipe.words())).map_err(raised)?;
        Ok(index.into())
    }

    /// The index in a folder, checked.
    #[staticmethod]
    fn open(py: Python<'_>, folder: PathBuf) -> PyResult<Self> {
        Ok(py.detach(|| Kept::open(&folder)).map_err(raised)?.into())
    }

    /// Adds documents, all of them or none; one of the same id is replaced.
    fn add(&self, py: Python<'_>, texts: &Texts, ids: Vec<String>, run: &Settings) -> PyResult<()> {
        let slices = texts.slices()?;
        if slices.len() != ids.len() {
            return Err(PyValueError::new_err(format!("{} texts have {} ids", slices.len(), ids.len())));
        }
        run.work(py, |run| {
            let mut writer = self.index.writer(run)?;
            run.watch("index", Some(slices.len() as u64), || {
                ids.into_iter().zip(&slices).try_for_each(|(id, text)| writer.add(Document::new(id, *text)))?;
                writer.commit()
            })
        })?;
        self.renew();
        Ok(())
    }

    /// Takes the documents of ids out.
    fn delete(&self, py: Python<'_>, ids: Vec<String>, run: &Settings) -> PyResult<()> {
        run.work(py, |run| {
            let mut writer = self.index.writer(run)?;
            ids.iter().try_for_each(|id| writer.delete(id))?;
            writer.commit()
        })?;
        self.renew();
        Ok(())
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(self.searcher().map_err(raised)?.documents() as usize)
    }

    /// The best documents of each query as JSON: lists of hits, best first.
    #[pyo3(signature = (queries, run, top=10, model=None, rank="bm25", constants=Vec::new(), linear=false, feedback=None, mix="scores", share=0.5))]
    #[allow(clippy::too_many_arguments)]
    fn search(
        &self,
        py: Python<'_>,
        queries: Vec<String>,
        run: &Settings,
        top: usize,
        model: Option<&Model>,
        rank: &str,
        constants: Vec<(String, f64)>,
        linear: bool,
        feedback: Option<&str>,
        mix: &str,
        share: f64,
    ) -> PyResult<String> {
        let how = how(rank, &constants, linear, feedback, mix, share)?;
        let found = run.work(py, |run| {
            let searcher = self.searcher()?;
            let vectors = match model {
                None => None,
                Some(model) => {
                    let model = Fitted::from_bytes(&model.fitted().to_bytes()?, run)?;
                    let vectors = Vectors::kept(self.index.folder(), &searcher, model, run)?;
                    Some(if how.mix == Mix::Probabilities { vectors.with_words(&searcher, run)? } else { vectors })
                }
            };
            run.watch("search", Some(queries.len() as u64), || {
                let answer = |query: &String| {
                    let hits = searcher.search(query, &how, vectors.as_ref(), top, &run.quiet())?;
                    run.advance(1);
                    hits.iter().map(|hit| shown(hit, &searcher)).collect::<Result<Vec<Value>>>()
                };
                queries.iter().map(answer).collect::<Result<Vec<_>>>()
            })
        })?;
        Ok(json!(found).to_string())
    }
}

/// A hit with the part of its text that shows why; marks are places of characters.
fn shown(hit: &Hit, searcher: &Searcher) -> Result<Value> {
    let terms: Vec<String> = hit.terms.iter().map(|part| part.term.clone()).collect();
    let snippet = Snippet::of(&hit.text, &terms, searcher.words(), WIDTH)?;
    let place = |byte: usize| snippet.text.get(..byte).map_or(0, |before| before.chars().count());
    let marks: Vec<[usize; 2]> = snippet.marks.iter().map(|mark| [place(mark.start), place(mark.end)]).collect();
    let mut value = serde_json::to_value(hit).map_err(|e| Error::data(e.to_string()))?;
    value["text"] = json!(hit.text);
    value["snippet"] = json!(snippet.text);
    value["marks"] = json!(marks);
    Ok(value)
}

fn how(
    rank: &str,
    constants: &[(String, f64)],
    linear: bool,
    feedback: Option<&str>,
    mix: &str,
    share: f64,
) -> PyResult<Search> {
    let unknown =
        |what: &str, given: &str, known: &str| PyValueError::new_err(format!("{what} = {given:?} is none of {known}"));
    let mut ranking = match rank {
        "bm25" => Ranking::BM25,
        "dirichlet" => Ranking::DIRICHLET,
        "jelinek-mercer" => Ranking::JELINEK_MERCER,
        other => return Err(unknown("rank", other, "bm25, dirichlet and jelinek-mercer")),
    };
    for (name, value) in constants {
        match (&mut ranking, name.as_str()) {
            (Ranking::Bm25 { k1, .. }, "k1") => *k1 = *value,
            (Ranking::Bm25 { b, .. }, "b") => *b = *value,
            (Ranking::Dirichlet { mu }, "mu") => *mu = *value,
            (Ranking::JelinekMercer { lambda }, "smoothing") => *lambda = *value,
            _ => return Err(PyValueError::new_err(format!("{name} is not for the ranking {rank}"))),
        }
    }
    let feedback = match feedback {
        None => None,
        Some("mixture") => Some(Feedback::MIXTURE),
        Some("rm3") => Some(Feedback::RELEVANCE),
        Some(other) => return Err(unknown("feedback", other, "mixture and rm3")),
    };
    let mix = match mix {
        "scores" => Mix::Scores,
        "probabilities" => Mix::Probabilities,
        other => return Err(unknown("mix", other, "scores and probabilities")),
    };
    let form = if linear { Form::Linear } else { Form::Log };
    let search = Search { ranking, form, feedback, mix, lambda: share };
    search.check().map_err(raised)?;
    Ok(search)
}
