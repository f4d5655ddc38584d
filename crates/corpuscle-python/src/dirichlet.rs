//! Latent Dirichlet allocation over a matrix of counts.

use corpuscle::matrix::{Csr, Dense};
use corpuscle::params::Params;
use corpuscle::recipe::model_file::Provenance;
use corpuscle::store::StoreWriter;
use corpuscle::text::Tokens;
use corpuscle::vectorize::{DirichletModel, DirichletParams, VectorizerModel};
use corpuscle::{Error, Result};
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::convert::{dense_to_python, params_of};
use crate::errors::raised;
use crate::matrix::{Given, to_python};
use crate::run::Settings;
use crate::sealed;

/// Fitted topics whose words are the columns of a matrix.
#[pyclass(frozen, module = "corpuscle._native")]
pub(crate) struct Dirichlet {
    model: DirichletModel,
    columns: usize,
}

fn tokens(counts: &Csr) -> Result<Tokens> {
    Tokens::of_counts(counts.cols(), (0..counts.rows()).map(|row| counts.row(row)))
}

#[pymethods]
impl Dirichlet {
    /// Finds topics with the settings, JSON, in a sparse matrix of counts; gives them and their shares in its rows.
    #[staticmethod]
    fn fit<'py>(
        py: Python<'py>,
        settings: &str,
        x: Given<'py>,
        run: &Settings,
    ) -> PyResult<(Self, Bound<'py, PyTuple>)> {
        let (params, x): (DirichletParams, Csr) = (params_of(settings)?, x.matrix()?.into_parts().0);
        let (model, rows) = run.work(py, |run| params.fit(&tokens(&x)?, run))?;
        Ok((Dirichlet { model, columns: x.cols() }, to_python(py, rows.into())?))
    }

    /// The shares of topics in rows.
    fn transform<'py>(&self, py: Python<'py>, x: Given<'py>, run: &Settings) -> PyResult<Bound<'py, PyTuple>> {
        let x = x.matrix()?.into_parts().0;
        to_python(py, run.work(py, |run| self.model.transform(&tokens(&x)?, run))?.into())
    }

    /// P(column | topic): topics × columns, 0 for columns that were left out.
    fn words<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let mut shares = Dense::zeros(self.model.n_topics(), self.columns);
        for (word, number) in self.model.words().iter().zip(0..) {
            let column = column_of(word, self.columns).map_err(raised)?;
            for (topic, &share) in self.model.word_given_topics(number).iter().enumerate() {
                shares.row_mut(topic)[column] = share;
            }
        }
        dense_to_python(py, shares)
    }

    /// The share of each topic in all words of the fitted rows.
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f32>> {
        PyArray1::from_slice(py, self.model.shares())
    }

    #[getter]
    fn notes(&self) -> Vec<(&'static str, String)> {
        vec![("words", format!("{} columns", self.model.words().len()))]
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = || {
            let mut store = StoreWriter::new();
            store.put_u64("columns", &[self.columns as u64]);
            store.scope("model", |out| self.model.save(out))?;
            sealed::to_bytes(DirichletParams::NAME.to_string(), Provenance::default(), store)
        };
        Ok(PyBytes::new(py, &bytes().map_err(raised)?))
    }

    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        sealed::built(|_| {
            let (_, loaded) = sealed::from_bytes(bytes)?;
            let store = loaded.reader();
            let columns = usize::try_from(store.u64s("columns", Some(1))?[0]).unwrap_or(usize::MAX);
            let model = DirichletModel::load(&store.scope("model"))?;
            model.words().iter().try_for_each(|word| column_of(word, columns).map(|_| ()))?;
            Ok(Dirichlet { model, columns })
        })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.get_type::<Dirichlet>().getattr("from_bytes")?, (self.to_bytes(py)?,)))
    }
}

/// The column that a word of [`Tokens::of_counts`] stands for.
fn column_of(word: &str, columns: usize) -> Result<usize> {
    let column = word.parse().ok().filter(|&column| column < columns);
    column.ok_or_else(|| Error::model(format!("`{word}` is no column of the matrix")))
}
