//! Models whose stages were fitted elsewhere, on documents that never were in one place.
//!
//! What counting needs comes as [`TermCounts`], which merge; what iterates (singular vectors, weights of a linear classifier) was
//! found from sums over documents. [`Recipe::assemble`] puts the parts together and takes them through the model file's own
//! checks, so what does not fit together is refused as a damaged file is.

use std::sync::Arc;

use super::Model;
use super::erase::AnyVectorizer;
use super::model_file::{FORMAT, Metadata, Provenance, Sealed};
use super::plan::{Node, Recipe};
use crate::classify::ClassifierModel;
use crate::project::ProjectorModel;
use crate::store::StoreWriter;
use crate::vectorize::{TermCounts, VectorizerModel};
use crate::{Error, Result, Run};

impl Recipe {
    /// How many words the longest terms have that its vectorizer counts; an error that says why for a recipe that does not begin
    /// with counting.
    pub fn longest_term(&self) -> Result<usize> {
        let vectorizer = self.only_vectorizer()?;
        vectorizer.counts_any().ok_or_else(|| {
            Error::data(format!(
                "`{}` cannot be fitted from term counts, so its documents must be in one place; counts, binary and tfidf can",
                vectorizer.name()
            ))
        })
    }

    /// The fitted vectorizer, from counts of all documents made in parts.
    pub fn vectorizer_of(&self, counts: &TermCounts) -> Result<Arc<dyn VectorizerModel>> {
        self.longest_term()?;
        self.only_vectorizer()?.model_of_any(counts)
    }

    fn only_vectorizer(&self) -> Result<&dyn AnyVectorizer> {
        let first = match self.body() {
            Node::Pipe(parts) => parts.first(),
            other => Some(other),
        };
        match first {
            Some(Node::Vectorize(stage, None)) => Ok(stage.as_ref()),
            _ => Err(Error::data(
                "parts side by side cannot be fitted elsewhere; give one representation after the other",
            )),
        }
    }

    /// The model whose stages were fitted elsewhere: the vectorizer, the projections after it in order, and the classifier of a
    /// recipe that ends with one. It answers by scores alone: probabilities and thresholds need held-out folds, so a recipe that
    /// asks for them is refused ([`Recipe::uncalibrated`] does not).
    pub fn assemble(
        &self,
        vectorizer: &dyn VectorizerModel,
        projections: &[&dyn ProjectorModel],
        classifier: Option<&dyn ClassifierModel>,
        classes: Vec<String>,
        about: Provenance,
        run: &Run,
    ) -> Result<Model> {
        self.only_vectorizer()?;
        let stages = match self.body() {
            Node::Pipe(parts) => parts.len(),
            _ => 1,
        };
        if stages != 1 + projections.len() {
            return Err(Error::Shape { what: "fitted stages", expected: stages, found: 1 + projections.len() });
        }
        match (self.any_classifier(), classifier) {
            (Some(stage), Some(_)) if stage.calibration_folds() > 0 => {
                return Err(Error::data(format!(
                    "`{}` asks for probabilities from held-out folds, which a model put together has not; ask for none (calibrate=0)",
                    stage.name()
                )));
            }
            (Some(stage), None) => return Err(Error::data(format!("there is no fitted `{}`", stage.name()))),
            (None, Some(_)) => return Err(Error::data("the recipe has no classifier at its end")),
            _ => {}
        }
        let mut store = StoreWriter::new();
        store.scope("body", |out| match self.body() {
            Node::Pipe(_) => {
                out.scope("0", |out| vectorizer.save(out))?;
                for (at, projection) in projections.iter().enumerate() {
                    out.scope(&(at + 1).to_string(), |out| projection.save(out))?;
                }
                Ok(())
            }
            _ => vectorizer.save(out),
        })?;
        if let Some(classifier) = classifier {
            store.scope("classifier", |out| classifier.save(out))?;
            store.scope("decision", |out| out.put_u32("has", &[0, 0]));
        }
        let metadata = Metadata {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_string(),
            recipe: self.full(),
            classes,
            about,
            sha256: String::new(),
        };
        Model::from_bytes(&Sealed::new(&metadata, store)?.to_bytes(), run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::{Classifier, SvmParams};
    use crate::matrix::Matrix;
    use crate::project::{LsiParams, Projector, Target};
    use crate::recipe::Corpus;

    #[test]
    fn parts_put_together_are_the_model_that_was_fitted() {
        let run = Run::new(7, 1).unwrap();
        let recipe = Recipe::parse("words(stem=english) | tfidf(min_df=2) | lsi(12) | svm(calibrate=0)").unwrap();
        let demo = crate::corpus::demo().unwrap();
        let corpus = Corpus::read(demo.train.into_iter().map(Ok), recipe.words(), &run).unwrap();
        let fitted = recipe.fit(&corpus, &run).unwrap();

        let longest = recipe.longest_term().unwrap();
        let mut counts = TermCounts::none(longest).unwrap();
        for rows in [0..100, 100..corpus.len()] {
            let part = corpus.tokens.select(&rows.collect::<Vec<_>>()).unwrap();
            counts.merge(&TermCounts::of(&part, longest, &run).unwrap()).unwrap();
        }
        let vectorizer = recipe.vectorizer_of(&counts).unwrap();
        let x: Matrix = vectorizer.transform(&corpus.tokens, &run).unwrap();
        let target = Target::new(&corpus.labels);
        let (lsi, z) = LsiParams { rank: 12, ..LsiParams::default() }.fit(&x, &target, &run).unwrap();
        let svm = SvmParams::default().fit(&z, &target, &run).unwrap();
        let about = fitted.metadata().about.clone();
        let classes = corpus.labels.classes().to_vec();
        let put = |recipe: &Recipe, projections: &[&dyn ProjectorModel], svm: Option<&dyn ClassifierModel>| {
            recipe.assemble(vectorizer.as_ref(), projections, svm, classes.clone(), about.clone(), &run)
        };
        let made = put(&recipe, &[&lsi], Some(&svm)).unwrap();
        assert_eq!(made.to_bytes().unwrap(), fitted.to_bytes().unwrap());

        assert!(put(&recipe, &[], Some(&svm)).is_err());
        assert!(put(&recipe, &[&lsi], None).is_err());
        assert!(put(&recipe.representation(), &[&lsi], Some(&svm)).is_err());
        let asks = Recipe::parse("tfidf | lsi(12) | svm").unwrap();
        assert!(put(&asks, &[&lsi], Some(&svm)).unwrap_err().to_string().contains("calibrate=0"));
        assert!(put(&recipe.representation(), &[&lsi], None).is_ok());
    }

    #[test]
    fn what_cannot_be_counted_in_parts_is_refused() {
        let said = |line: &str| Recipe::parse(line).unwrap().longest_term().unwrap_err().to_string();
        assert!(said("scdv | svm").contains("`scdv` cannot be fitted from term counts"));
        assert!(said("(tfidf + counts) | svm").contains("side by side"));
        assert_eq!(Recipe::parse("tfidf(ngrams=3) | svm").unwrap().longest_term().unwrap(), 3);
    }
}
