//! The table of stages and parameters: what constructors, docstrings and stubs of the Python package are made from.

use corpuscle::params::Kind;
use corpuscle::recipe::{Registry, StageKind, presets as named};
use pyo3::prelude::*;

use crate::errors::raised;

/// `(name, about, kind, words, default)` of a parameter; the default is empty for another way to say what one before it says.
type Row = (String, String, &'static str, Vec<&'static str>, String);

/// Every stage: `(name, kind, about, parameters)`.
#[pyfunction]
pub(crate) fn stages() -> Vec<(String, &'static str, String, Vec<Row>)> {
    let registry = Registry::standard();
    let rows = registry.stages().map(|stage| {
        let kind = match stage.kind {
            StageKind::Words => "words",
            StageKind::Vectorize => "vectorize",
            StageKind::Project => "project",
            StageKind::Classify => "classify",
            StageKind::Vote => "vote",
        };
        let parameters = stage.parameters.iter().map(|parameter| {
            let kind = match parameter.form.kind {
                Kind::Whole => "whole",
                Kind::Real => "real",
                Kind::Flag => "flag",
                Kind::Word => "word",
                Kind::Text => "text",
            };
            let words = parameter.form.words.clone();
            (parameter.name.to_string(), parameter.about.to_string(), kind, words, parameter.default.clone())
        });
        (stage.name.to_string(), kind, stage.about.to_string(), parameters.collect())
    });
    rows.collect()
}

/// Recipes with a name: `(name, recipe)`.
#[pyfunction]
pub(crate) fn presets() -> Vec<(&'static str, &'static str)> {
    named::all().collect()
}

/// The embedded corpus: `(texts, labels, is_test)`.
#[pyfunction]
pub(crate) fn demo() -> PyResult<(Vec<String>, Vec<String>, Vec<bool>)> {
    let demo = corpuscle::corpus::demo().map_err(raised)?;
    let (mut texts, mut labels, mut test) = (Vec::new(), Vec::new(), Vec::new());
    for (part, is_test) in [(demo.train, false), (demo.test, true)] {
        for document in part {
            texts.push(document.text);
            labels.push(document.labels.into_iter().flatten().next().unwrap_or_default());
            test.push(is_test);
        }
    }
    Ok((texts, labels, test))
}
