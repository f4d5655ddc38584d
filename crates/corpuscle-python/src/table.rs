//! The table of stages and parameters: what constructors, docstrings and stubs of the Python package are made from.

use corpuscle::params::{Form, Kind, Params};
use corpuscle::recipe::{Registry, StageKind, presets as named};
use corpuscle::words::MixtureParams;
use pyo3::prelude::*;

use crate::errors::raised;

/// `(name, about, kind, words, default)` of a parameter; the default is empty for another way to say what one before it says.
type Row = (String, String, &'static str, Vec<&'static str>, String);

/// A method: `(name, kind, about, parameters)`.
type Table = (String, &'static str, String, Vec<Row>);

fn row(name: &str, about: &str, form: &Form, default: String) -> Row {
    let kind = match form.kind {
        Kind::Whole => "whole",
        Kind::Real => "real",
        Kind::Flag => "flag",
        Kind::Word => "word",
        Kind::Text => "text",
    };
    (name.to_string(), about.to_string(), kind, form.words.clone(), default)
}

/// Every stage of recipes.
#[pyfunction]
pub(crate) fn stages() -> Vec<Table> {
    let registry = Registry::standard();
    let rows = registry.stages().map(|stage| {
        let kind = match stage.kind {
            StageKind::Words => "words",
            StageKind::Vectorize => "vectorize",
            StageKind::Project => "project",
            StageKind::Classify => "classify",
            StageKind::Vote => "vote",
        };
        let rows = stage.parameters.iter().map(|own| row(own.name, own.about, &own.form, own.default.clone()));
        (stage.name.to_string(), kind, stage.about.to_string(), rows.collect())
    });
    rows.collect()
}

/// Methods on matrices that are no stage of recipes.
#[pyfunction]
pub(crate) fn methods() -> Vec<Table> {
    vec![table::<MixtureParams>("cluster")]
}

fn table<P: Params>(kind: &'static str) -> Table {
    let default = P::default();
    let rows = P::table().into_iter().map(|own| row(own.name, own.about, &own.form, own.show(&default)));
    (P::NAME.to_string(), kind, P::ABOUT.to_string(), rows.collect())
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
