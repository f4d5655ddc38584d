//! One stage by itself, over a matrix somebody hands in: what a binding to another language fits without a recipe around it.
//!
//! A [`Method`] is a projection or a classifier as recipes write it, `lsi(100)` or `svm(c=2)`. Fitted, it transforms or predicts,
//! and lives in bytes of the same checked layout as a whole model ([`model_file`]). Nothing is known of words or texts here.
//!
//! ```
//! use corpuscle::{Run, corpus::Labels, matrix::{Csr, Matrix}, project::Target, recipe::Method};
//! let run = Run::new(42, 1)?;
//! let x = Matrix::from(Csr::from_rows(2, (0..12).map(|row| vec![(row % 2, 1.0)])));
//! let labels = Labels::from_single((0..12).map(|row| Some(["a", "b"][row % 2])));
//! let (svm, _) = Method::parse("svm(c=2)")?.fit(&x, &Target::new(&labels), &run)?;
//! let svm = corpuscle::recipe::FittedMethod::from_bytes(&svm.to_bytes()?, &run)?;
//! assert_eq!(svm.predict(&x, &run)?.labels[1], [1]);
//! # Ok::<(), corpuscle::Error>(())
//! ```

use std::borrow::Cow;
use std::sync::Arc;

use super::decide::Decision;
use super::erase::{AnyClassifier, AnyProjector};
use super::model::Predictions;
use super::model_file::{self, FORMAT, Metadata, Provenance, Sealed};
use super::plan;
use super::registry::{AnyStage, Registry};
use super::written::written_full;
use crate::classify::{ClassifierModel, LinearModel};
use crate::matrix::Matrix;
use crate::project::{ProjectorModel, Target};
use crate::store::StoreWriter;
use crate::{Error, Result, Run};

/// A projection or a classifier, not yet fitted.
#[derive(Debug, Clone)]
pub struct Method(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Project(Arc<dyn AnyProjector>),
    Classify(Arc<dyn AnyClassifier>),
}

/// A fitted projection or classifier.
#[derive(Debug, Clone)]
pub struct FittedMethod {
    /// With every value written out.
    recipe: String,
    model: Fitted,
    classes: Vec<String>,
    about: Provenance,
}

#[derive(Debug, Clone)]
enum Fitted {
    Project(Arc<dyn ProjectorModel>),
    Classify(Arc<dyn ClassifierModel>, Decision),
}

impl Method {
    /// Reads one stage of the house's own.
    pub fn parse(text: &str) -> Result<Self> {
        Self::of(plan::parse_stage(text, Registry::shared(), false)?, text)
    }

    fn of(stage: AnyStage, text: &str) -> Result<Self> {
        match stage {
            AnyStage::Project(stage) => Ok(Method(Kind::Project(stage))),
            AnyStage::Classify(stage) => Ok(Method(Kind::Classify(stage))),
            AnyStage::Words(_) | AnyStage::Vectorize(_) | AnyStage::Vote(_) => Err(Error::BadRecipe {
                recipe: text.to_string(),
                at: 0,
                reason: "this stage starts from words; only a projection or a classifier works on a matrix".to_string(),
            }),
        }
    }

    /// Whether it works on sparse columns alone.
    pub fn needs_terms(&self) -> bool {
        matches!(&self.0, Kind::Project(stage) if stage.needs_terms())
    }

    /// Whether it cannot be fitted without labels.
    pub fn needs_labels(&self) -> bool {
        match &self.0 {
            Kind::Project(stage) => stage.needs_labels(),
            Kind::Classify(_) => true,
        }
    }

    /// The stage with every value written out.
    fn full(&self) -> String {
        match &self.0 {
            Kind::Project(stage) => written_full(stage.as_ref()),
            Kind::Classify(stage) => written_full(stage.as_ref()),
        }
    }

    /// Learns from `x`; a projection also gives what becomes of its rows.
    pub fn fit(&self, x: &Matrix, target: &Target<'_>, run: &Run) -> Result<(FittedMethod, Option<Matrix>)> {
        let labels = target.labels();
        if labels.len() != x.rows() {
            return Err(Error::Shape { what: "labels of the rows", expected: x.rows(), found: labels.len() });
        }
        let (model, rows) = match &self.0 {
            Kind::Project(stage) => {
                let (projection, rows) = run.stage(stage.name(), None, || stage.fit_any(x, target, run))?;
                (Fitted::Project(projection.model), Some(rows))
            }
            Kind::Classify(stage) => {
                let fit = || stage.fit_any(x, target, run);
                let (model, calibrating) = run.stage(stage.name(), stage.steps_of(labels), fit)?;
                let decision = Decision::fit(calibrating.as_ref(), model.as_ref(), x, target, run)?;
                (Fitted::Classify(model, decision), None)
            }
        };
        let about = Provenance {
            documents: x.rows(),
            labelled: labels.labelled_rows().len(),
            seed: run.seed(),
            multi_label: labels.is_multi_label(),
            ..Provenance::default()
        };
        Ok((FittedMethod { recipe: self.full(), model, classes: labels.classes().to_vec(), about }, rows))
    }
}

impl FittedMethod {
    /// The stage with every value written out.
    pub fn recipe(&self) -> &str {
        &self.recipe
    }

    /// The class names, by number.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// How many columns go in.
    pub fn n_inputs(&self) -> usize {
        match &self.model {
            Fitted::Project(model) => model.n_inputs(),
            Fitted::Classify(model, _) => model.n_inputs(),
        }
    }

    /// How many columns come out: of the projection, or one for each class.
    pub fn n_columns(&self) -> usize {
        match &self.model {
            Fitted::Project(model) => model.n_columns(),
            Fitted::Classify(model, _) => model.n_classes(),
        }
    }

    /// Whether [`Predictions::probabilities`] will be there.
    pub fn has_probabilities(&self) -> bool {
        match &self.model {
            Fitted::Project(_) => false,
            Fitted::Classify(model, decision) => decision.has_probabilities(model.as_ref()),
        }
    }

    /// The weights of a linear classifier: those that make the scores of [`predict`](Self::predict).
    pub fn linear(&self) -> Option<Cow<'_, LinearModel>> {
        match &self.model {
            Fitted::Project(_) => None,
            Fitted::Classify(model, decision) => model.linear().map(|linear| decision.linear(linear)),
        }
    }

    /// What the columns that come out of a projection stand for, given the same for those that go in.
    pub fn feature_names(&self, before: Vec<String>) -> Vec<String> {
        match &self.model {
            Fitted::Project(model) => model.feature_names(before),
            Fitted::Classify(..) => self.classes.clone(),
        }
    }

    /// What was found and reached in fitting: (what, value).
    pub fn notes(&self) -> Vec<(&'static str, String)> {
        match &self.model {
            Fitted::Project(model) => model.notes(),
            Fitted::Classify(model, decision) => model.notes().into_iter().chain(decision.notes()).collect(),
        }
    }

    fn check(&self, x: &Matrix) -> Result<()> {
        let (expected, found) = (self.n_inputs(), x.cols());
        if expected == found { Ok(()) } else { Err(Error::Shape { what: "columns of the matrix", expected, found }) }
    }

    /// What a projection makes of rows.
    pub fn transform(&self, x: &Matrix, run: &Run) -> Result<Matrix> {
        self.check(x)?;
        match &self.model {
            Fitted::Project(model) => model.transform(x, run),
            Fitted::Classify(..) => Err(Error::data(format!("`{}` classifies; it transforms nothing", self.recipe))),
        }
    }

    /// What a classifier says of rows.
    pub fn predict(&self, x: &Matrix, run: &Run) -> Result<Predictions> {
        self.check(x)?;
        let Fitted::Classify(model, decision) = &self.model else {
            return Err(Error::data(format!("`{}` is a projection; it predicts nothing", self.recipe)));
        };
        decision.answer(model.as_ref(), model.scores(x, run)?, self.about.multi_label)
    }

    /// The bytes it can be built from again.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut store = StoreWriter::new();
        match &self.model {
            Fitted::Project(model) => store.scope("method", |out| model.save(out))?,
            Fitted::Classify(model, decision) => {
                store.scope("method", |out| model.save(out))?;
                store.scope("decision", |out| decision.save(out));
            }
        }
        let metadata = Metadata {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_string(),
            recipe: self.recipe.clone(),
            classes: self.classes.clone(),
            about: self.about.clone(),
            sha256: String::new(),
        };
        Ok(Sealed::new(&metadata, store)?.to_bytes())
    }

    /// A fitted method from its bytes, checked whole.
    pub fn from_bytes(bytes: &[u8], run: &Run) -> Result<Self> {
        let (metadata, loaded) = model_file::read(&mut &bytes[..], Some(bytes.len() as u64))?;
        let store = loaded.reader();
        let wrong = |e: Error| Error::model(e.to_string());
        let stage = plan::parse_stage(&metadata.recipe, Registry::shared(), true).map_err(wrong)?;
        let method = Method::of(stage, &metadata.recipe).map_err(wrong)?;
        let model = match &method.0 {
            Kind::Project(stage) => Fitted::Project(stage.load_any(&store.scope("method")).map_err(wrong)?),
            Kind::Classify(stage) => {
                let model = stage.load_any(&store.scope("method"), run).map_err(wrong)?;
                if model.n_classes() != metadata.classes.len() {
                    return Err(Error::model("the classifier has not as many classes as have names"));
                }
                let decision = Decision::load(&store.scope("decision"), metadata.classes.len()).map_err(wrong)?;
                Fitted::Classify(model, decision)
            }
        };
        Ok(FittedMethod { recipe: method.full(), model, classes: metadata.classes, about: metadata.about })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::Labels;
    use crate::matrix::{Csr, Dense};

    fn rows() -> (Matrix, Labels) {
        let entries = |row: u32| vec![(row % 3, 1.0 + (row % 5) as f32), (3 + row % 4, 0.5)];
        let x = Matrix::from(Csr::from_rows(7, (0..60).map(entries)));
        (x, Labels::from_single((0..60).map(|row| Some(["a", "b", "c"][row % 3]))))
    }

    #[test]
    fn every_method_on_a_matrix_comes_back_from_its_bytes() {
        let run = Run::new(7, 2).unwrap();
        let (x, labels) = rows();
        for text in ["ig(3)", "lsi(2)", "sprinkle(rank=3)", "varnorm(1)", "discriminant", "dcot(4)", "normalize"] {
            let method = Method::parse(text).unwrap();
            let (fitted, z) = method.fit(&x, &Target::new(&labels), &run).unwrap();
            let back = FittedMethod::from_bytes(&fitted.to_bytes().unwrap(), &run).unwrap();
            assert_eq!(back.to_bytes().unwrap(), fitted.to_bytes().unwrap(), "{text}");
            assert_eq!(back.transform(&x, &run).unwrap(), fitted.transform(&x, &run).unwrap(), "{text}");
            assert_eq!(z.unwrap().cols(), back.n_columns(), "{text}");
            assert!(
                back.predict(&x, &run).is_err() && back.transform(&Matrix::from(Dense::zeros(1, 2)), &run).is_err()
            );
        }
        for text in ["svm", "logistic(c=2)", "knn(k=3)", "svm(calibrate=0)"] {
            let (fitted, none) = Method::parse(text).unwrap().fit(&x, &Target::new(&labels), &run).unwrap();
            let back = FittedMethod::from_bytes(&fitted.to_bytes().unwrap(), &run).unwrap();
            assert_eq!(back.to_bytes().unwrap(), fitted.to_bytes().unwrap(), "{text}");
            let found = back.predict(&x, &run).unwrap();
            assert_eq!(found.scores, fitted.predict(&x, &run).unwrap().scores, "{text}");
            assert_eq!(found.probabilities.is_some(), back.has_probabilities(), "{text}");
            assert!(none.is_none() && back.transform(&x, &run).is_err());
        }
    }

    #[test]
    fn what_is_no_method_on_a_matrix_is_refused() {
        let said = |text: &str| Method::parse(text).unwrap_err().to_string();
        assert!(said("tfidf").contains("starts from words"));
        assert!(said("lsi | svm").contains("one stage"));
        assert!(said("lsj").contains("did you mean"));
        assert!(said("lsi(0)").contains("rank"));
        let run = Run::new(1, 1).unwrap();
        let (x, labels) = rows();
        let short = labels.select(&[0, 1]);
        assert!(Method::parse("svm").unwrap().fit(&x, &Target::new(&short), &run).is_err());
        assert!(FittedMethod::from_bytes(b"no model at all", &run).is_err());
    }
}
