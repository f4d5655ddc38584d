//! How do I put a method of my own into a recipe?
//!
//! A stage is a params struct with a table of its parameters ([`Params`]), what fitting does ([`Projector`]) and what the fitted
//! model does ([`ProjectorModel`]). Parsing, printing, files, cross-validation and explanations then work as for any other.
//!
//! `cargo run --release -p corpuscle --example own_stage`
#![allow(clippy::print_stdout, reason = "an example prints what it finds")]

use corpuscle::matrix::{Csr, Dense, Matrix};
use corpuscle::params::{Checks, Param, Params};
use corpuscle::project::{Columns, Projector, ProjectorModel, Target, Weights};
use corpuscle::recipe::{Corpus, Model, Registry, Stage};
use corpuscle::store::{StoreReader, StoreWriter};
use corpuscle::{Error, Result, Run, corpus, param};

/// Raises every count to a power: with 0.5 a word that comes four times counts twice.
#[derive(Debug, Clone, PartialEq)]
struct PowerParams {
    power: f64,
}

impl Default for PowerParams {
    fn default() -> Self {
        PowerParams { power: 0.5 }
    }
}

impl Params for PowerParams {
    const NAME: &'static str = "power";
    const ABOUT: &'static str = "raises every value to a power";

    fn table() -> Vec<Param<Self>> {
        vec![param!("power", power, "the exponent, above 0")]
    }

    fn check(&self) -> Result<()> {
        Checks::of(Self::NAME).that(self.power > 0.0, "power", &self.power, "must be above 0").done()
    }
}

#[derive(Debug)]
struct PowerModel {
    power: f64,
    columns: usize,
}

impl Projector for PowerParams {
    type Model = PowerModel;
    // Terms stay terms, so that stages that need them may follow.
    const MAKES: Columns = Columns::Same;
    const NEEDS_TERMS: bool = true;

    fn fit(&self, x: &Matrix, _: &Target<'_>, run: &Run) -> Result<(PowerModel, Matrix)> {
        let model = PowerModel { power: self.power, columns: x.cols() };
        let rows = model.transform(x, run)?;
        Ok((model, rows))
    }

    fn load(&self, store: &StoreReader<'_>) -> Result<PowerModel> {
        let columns = store.u64s("columns", Some(1))?[0] as usize;
        Ok(PowerModel { power: self.power, columns })
    }
}

impl ProjectorModel for PowerModel {
    fn transform(&self, x: &Matrix, _run: &Run) -> Result<Matrix> {
        if x.cols() != self.columns {
            return Err(Error::Shape { what: "columns of `power`", expected: self.columns, found: x.cols() });
        }
        let mut rows: Csr = x.sparse().clone();
        rows.values_mut().iter_mut().for_each(|value| *value = value.powf(self.power as f32));
        Ok(Matrix::from(rows))
    }

    fn n_inputs(&self) -> usize {
        self.columns
    }

    fn n_columns(&self) -> usize {
        self.columns
    }

    fn save(&self, out: &mut StoreWriter) -> Result<()> {
        out.put_u64("columns", &[self.columns as u64]);
        Ok(())
    }

    /// d(w · xᵖ)/dx = w · p · xᵖ⁻¹: lets explanations be followed back to words. Without it words are left out one by one.
    fn gradient(&self, x: &Matrix, weights: &Weights<'_>, _run: &Run) -> Result<Option<Dense>> {
        let mut gradient = Dense::zeros(self.columns, 1);
        x.row(0).for_each(|column, value| {
            let slope = self.power * f64::from(value).powf(self.power - 1.0);
            gradient.row_mut(column)[0] = weights.at(column) * slope as f32;
        });
        Ok(Some(gradient))
    }
}

pub(crate) fn main() -> Result<()> {
    let run = Run::new(42, 0)?;
    let registry = Registry::standard().with(Stage::projector::<PowerParams>())?;
    let recipe = registry.parse("counts | power(0.25) | ig(300) | normalize | svm")?;
    println!("short: {recipe}\nfull:  {}\n", recipe.full());
    // Mistakes are named as for any other stage.
    if let Err(error) = registry.parse("counts | power(-1) | svm") {
        println!("{error}\n");
    }

    let train = Corpus::read(corpus::demo()?.train.into_iter().map(Ok), recipe.words(), &run)?;
    let bytes = recipe.fit(&train, &run)?.to_bytes()?;
    // Only a registry that knows the stage can read the model.
    if let Err(error) = Model::from_bytes(&bytes, &run) {
        println!("the standard registry says: {error}\n");
    }
    let model = registry.from_bytes(&bytes, &run)?;

    let text = "the invoice is wrong, and so was the invoice before";
    let class = model.predict(&[text], &run)?.labels[0][0];
    let (weighing, terms) = model.weigh_terms(text, class, None, &run)?;
    println!("{}: {text}\nwhat each word {}:", model.classes()[class as usize], weighing.about());
    terms.iter().take(4).for_each(|part| println!("  {:+.3}  {}", part.amount, part.term));
    Ok(())
}
