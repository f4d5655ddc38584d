//! The native half of the Python package: buffers in and out, nothing else.
//!
//! Every call that can take long goes through `run::Settings::work`: the interpreter is let go, signals are watched, and the
//! workers end with the call. What a method does is written in the library; what scikit-learn expects, in Python.

mod convert;
mod dirichlet;
mod elsewhere;
mod errors;
mod experiment;
mod matrix;
mod method;
mod mixture;
mod model;
mod packed;
mod run;
mod sealed;
mod search;
mod table;
mod terms;
mod texts;
mod topics;

use pyo3::prelude::*;

/// Runs the command `corpuscle` with these arguments, the first of which is the name of the program; gives its exit code.
#[pyfunction]
fn command(py: Python<'_>, arguments: Vec<String>) -> u8 {
    py.detach(|| corpuscle_cli::main_with(arguments))
}

#[pymodule]
#[pyo3(name = "_native")]
fn native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("DEFAULT_SEED", corpuscle::DEFAULT_SEED)?;
    module.add_class::<run::Settings>()?;
    module.add_class::<texts::Texts>()?;
    module.add_class::<convert::Target>()?;
    module.add_class::<model::Model>()?;
    module.add_class::<method::Fitted>()?;
    module.add_class::<terms::Terms>()?;
    module.add_class::<mixture::Mixture>()?;
    module.add_class::<dirichlet::Dirichlet>()?;
    module.add_class::<search::Index>()?;
    module.add_function(wrap_pyfunction!(command, module)?)?;
    module.add_function(wrap_pyfunction!(table::stages, module)?)?;
    module.add_function(wrap_pyfunction!(table::methods, module)?)?;
    module.add_function(wrap_pyfunction!(table::presets, module)?)?;
    module.add_function(wrap_pyfunction!(table::demo, module)?)?;
    module.add_function(wrap_pyfunction!(method::fit_method, module)?)?;
    module.add_function(wrap_pyfunction!(model::fit, module)?)?;
    module.add_function(wrap_pyfunction!(model::fit_representation, module)?)?;
    module.add_function(wrap_pyfunction!(model::check_recipe, module)?)?;
    module.add_function(wrap_pyfunction!(model::representation_of, module)?)?;
    module.add_function(wrap_pyfunction!(elsewhere::count_terms, module)?)?;
    module.add_function(wrap_pyfunction!(elsewhere::merge_terms, module)?)?;
    module.add_function(wrap_pyfunction!(elsewhere::representation_of_counts, module)?)?;
    module.add_class::<elsewhere::Projection>()?;
    module.add_function(wrap_pyfunction!(elsewhere::count_gains, module)?)?;
    module.add_function(wrap_pyfunction!(elsewhere::merge_gains, module)?)?;
    module.add_function(wrap_pyfunction!(elsewhere::kept_factors, module)?)?;
    module.add_function(wrap_pyfunction!(elsewhere::assemble, module)?)?;
    module.add_function(wrap_pyfunction!(packed::pack, module)?)?;
    module.add_function(wrap_pyfunction!(packed::fit_packed, module)?)?;
    module.add_function(wrap_pyfunction!(experiment::recommend, module)?)?;
    module.add_function(wrap_pyfunction!(experiment::compare, module)?)?;
    module.add_function(wrap_pyfunction!(experiment::label_curve, module)?)?;
    module.add_function(wrap_pyfunction!(experiment::tune, module)?)?;
    module.add_function(wrap_pyfunction!(topics::topics, module)?)?;
    module.add_function(wrap_pyfunction!(topics::topics_recipe, module)?)?;
    module.add_function(wrap_pyfunction!(topics::bubbles, module)?)?;
    module.add_function(wrap_pyfunction!(topics::stacks, module)?)?;
    module.add_function(wrap_pyfunction!(experiment::bars, module)?)?;
    module.add_function(wrap_pyfunction!(experiment::lines, module)?)?;
    Ok(())
}
