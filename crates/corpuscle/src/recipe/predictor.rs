//! Predicts one text at a time and keeps its tables and buffers between calls: what a server or a binding holds on to.
//!
//! [`Model::predict`](super::Model::predict) is made for many texts: it cuts them into pieces for a pool of threads, builds a lexicon, maps it, and has
//! a counter for each term of the vocabulary. For one text all of that costs more than the answer. Here every representation that
//! can makes its row by itself ([`RowMaker`]), a linear classifier scores that row where it stands, and nothing enters the pool.
//! Stages that cannot are asked as ever, with one row and on the caller's own thread. The answers are the same bits.
//!
//! ```
//! use corpuscle::{Run, corpus::Document, recipe::{Corpus, Recipe}};
//! let run = Run::new(42, 1)?;
//! let recipe = Recipe::parse("tfidf | svm")?;
//! let documents = [
//!     Document::new("1", "the printer is out of paper").labelled("printer"),
//!     Document::new("2", "paper jam in the printer").labelled("printer"),
//!     Document::new("3", "cannot log in with my password").labelled("login"),
//!     Document::new("4", "forgot my password again").labelled("login"),
//! ];
//! let model = recipe.fit(&Corpus::read(documents.map(Ok), recipe.words(), &run)?, &run)?;
//! let mut predictor = model.predictor(&run)?;
//! let prediction = predictor.predict("password does not work")?;
//! assert_eq!(model.classes()[prediction.labels[0] as usize], "login");
//! # Ok::<(), corpuscle::Error>(())
//! ```

use std::fmt;
use std::sync::Arc;

use super::decide::Decision;
use super::fit::wrong_input;
use super::fitted::{Fitted, seen};
use crate::classify::{ClassifierModel, strangeness};
use crate::matrix::{Csr, Dense, Matrix, Row};
use crate::text::{Tokens, WordsParams};
use crate::vectorize::RowMaker;
use crate::{Result, Run};

/// Predicts one text at a time. Cheap to clone for another thread: clones share the tables and have buffers of their own.
pub struct Predictor {
    words: WordsParams,
    body: Arc<Fitted>,
    /// One for each representation of the recipe, in order; `None` for one that has none.
    makers: Vec<Option<Box<dyn RowMaker>>>,
    classifier: Arc<dyn ClassifierModel>,
    decision: Decision,
    multi: bool,
    run: Run,
    labels: Vec<u32>,
    /// What the classifier makes of the text: one row.
    scores: Dense,
    /// The scores by which classes were told apart: one row.
    said: Dense,
    probabilities: Option<Dense>,
}

/// What a model says about one text; borrowed from the [`Predictor`] until its next call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction<'a> {
    /// The classes given: one, or any number for a multi-label model, best first.
    pub labels: &'a [u32],
    /// The score of each class.
    pub scores: &'a [f32],
    /// The probability of each class, when the model can tell.
    pub probabilities: Option<&'a [f32]>,
    /// The p-value of being like the training documents, when the model can tell; see [`Model::novelty`](super::Model::novelty).
    pub novelty: Option<f64>,
}

impl fmt::Debug for Predictor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Predictor").field("words", &self.words).field("run", &self.run).finish_non_exhaustive()
    }
}

impl Clone for Predictor {
    fn clone(&self) -> Self {
        Predictor {
            words: self.words.clone(),
            body: Arc::clone(&self.body),
            makers: self.makers.iter().map(|maker| maker.as_ref().map(|maker| maker.fork())).collect(),
            classifier: Arc::clone(&self.classifier),
            decision: self.decision.clone(),
            multi: self.multi,
            run: self.run.clone(),
            labels: Vec::new(),
            said: Dense::zeros(0, self.scores.cols()),
            scores: Dense::zeros(1, self.scores.cols()),
            probabilities: None,
        }
    }
}

impl Predictor {
    pub(super) fn new(
        words: WordsParams,
        body: Arc<Fitted>,
        classifier: Arc<dyn ClassifierModel>,
        decision: Decision,
        multi: bool,
        run: &Run,
    ) -> Self {
        let mut makers = Vec::new();
        body.row_makers(&words, &mut makers);
        let scores = Dense::zeros(1, classifier.n_classes());
        let run = run.quiet().inline();
        Predictor {
            words,
            body,
            makers,
            classifier,
            decision,
            multi,
            run,
            labels: Vec::new(),
            said: Dense::zeros(0, scores.cols()),
            scores,
            probabilities: None,
        }
    }

    /// Classifies a text: what [`Model::predict`](super::Model::predict) says of it, bit for bit.
    pub fn predict(&mut self, text: &str) -> Result<Prediction<'_>> {
        self.run.check()?;
        let classifier = self.classifier.as_ref();
        let strange = match (self.body.as_ref(), self.makers.as_mut_slice(), classifier.linear()) {
            (Fitted::Vectorize { model, .. }, [Some(maker)], Some(linear)) => {
                let (columns, values) = maker.row(text);
                let row = Row { columns, values, dense: &[], dense_start: model.n_columns(), negative_start: 0 };
                row.score(linear.weights(), linear.bias(), self.scores.row_mut(0))?;
                self.decision.novelty().map(|_| strangeness(self.scores.row(0)))
            }
            (body, makers, _) => {
                let mut one = OneText { text, words: &self.words, tokens: None, run: &self.run };
                let x = body.row_of(&mut one, None, &mut makers.iter_mut())?;
                self.scores = classifier.scores(&x, &self.run)?;
                match self.decision.novelty() {
                    Some(_) => classifier.strangeness(&x, &self.scores, &self.run)?.first().copied(),
                    None => None,
                }
            }
        };
        let said = self.decision.answer(classifier, self.scores.clone(), self.multi)?;
        self.labels = said.labels.into_iter().next().unwrap_or_default();
        (self.said, self.probabilities) = (said.scores, said.probabilities);
        Ok(Prediction {
            labels: &self.labels,
            scores: self.said.row(0),
            probabilities: self.probabilities.as_ref().map(|probabilities| probabilities.row(0)),
            novelty: strange.and_then(|strange| Some(self.decision.novelty()?.p_value(strange))),
        })
    }
}

/// The text under way.
pub(super) struct OneText<'a> {
    text: &'a str,
    words: &'a WordsParams,
    /// Its words, once a representation has asked for them.
    tokens: Option<Tokens>,
    run: &'a Run,
}

impl Fitted {
    /// The row maker of every representation, in order.
    fn row_makers(&self, words: &WordsParams, list: &mut Vec<Option<Box<dyn RowMaker>>>) {
        match self {
            Fitted::Vectorize { model, view, .. } => {
                list.push(Arc::clone(model).row_maker(view.as_deref().unwrap_or(words)));
            }
            Fitted::Project { .. } => {}
            Fitted::Pipe(parts) | Fitted::Sum(parts) => parts.iter().for_each(|part| part.row_makers(words, list)),
            Fitted::Weighted(part, _) => part.row_makers(words, list),
        }
    }

    /// What [`Fitted::apply`] makes of one text, by row makers where there are some.
    fn row_of(
        &self,
        one: &mut OneText<'_>,
        input: Option<&Matrix>,
        makers: &mut std::slice::IterMut<'_, Option<Box<dyn RowMaker>>>,
    ) -> Result<Matrix> {
        match (self, input) {
            (Fitted::Vectorize { model, view, .. }, None) => match makers.next() {
                Some(Some(maker)) => {
                    let (columns, values) = maker.row(one.text);
                    let ends = vec![0, columns.len() as u64];
                    Ok(Csr::from_parts(model.n_columns(), ends, columns.to_vec(), values.to_vec()).into())
                }
                _ => {
                    if one.tokens.is_none() {
                        one.tokens = Some(one.words.tokenize(&[one.text], one.run)?);
                    }
                    let tokens = one.tokens.as_ref().ok_or_else(|| wrong_input("words"))?;
                    model.transform(seen(view.as_deref(), tokens, None)?.0, one.run)
                }
            },
            (Fitted::Project { model, .. }, Some(x)) => model.transform(x, one.run),
            (Fitted::Pipe(parts), input) => {
                let (first, rest) = parts.split_first().ok_or_else(|| wrong_input("|"))?;
                let x = first.row_of(one, input, makers)?;
                rest.iter().try_fold(x, |x, part| part.row_of(one, Some(&x), makers))
            }
            (Fitted::Sum(parts), input) => {
                let (first, rest) = parts.split_first().ok_or_else(|| wrong_input("+"))?;
                let x = first.row_of(one, input, makers)?;
                rest.iter().try_fold(x, |x, part| x.beside(&part.row_of(one, input, makers)?))
            }
            (Fitted::Weighted(part, weight), input) => weighted(part.row_of(one, input, makers)?, *weight),
            (Fitted::Vectorize { name, .. } | Fitted::Project { name, .. }, _) => Err(wrong_input(name)),
        }
    }
}

/// What [`Matrix::scale`] does, for a row: too little to share out.
pub(super) fn weighted(x: Matrix, weight: f32) -> Result<Matrix> {
    let (mut sparse, mut dense, negative) = x.into_parts();
    for values in [sparse.values_mut(), dense.values_mut()] {
        values.iter_mut().for_each(|value| *value *= weight);
    }
    Matrix::new(sparse, dense, negative)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::{Document, demo};
    use crate::recipe::{Corpus, Model, Recipe};

    fn fit(recipe: &str, documents: &[Document], run: &Run) -> Result<Model> {
        let recipe = Recipe::parse(recipe)?;
        recipe.fit(&Corpus::read(documents.iter().cloned().map(Ok), recipe.words(), run)?, run)
    }

    fn bits(values: &[f32]) -> Vec<u32> {
        values.iter().map(|value| value.to_bits()).collect()
    }

    fn agree(recipe: &str, documents: &[Document], texts: &[&str], run: &Run) -> Result<()> {
        let model = fit(recipe, documents, run)?;
        let mut predictor = model.predictor(run)?;
        let mut other = predictor.clone();
        for text in texts {
            let x = model.represent_texts(&[text], run)?;
            let expected = model.predict_matrix(&x, run)?;
            let novelty = model.novelty(&x, &expected, run).ok().map(|list| list[0]);
            for predictor in [&mut predictor, &mut other] {
                let found = predictor.predict(text)?;
                assert_eq!(found.labels, expected.labels[0], "{recipe} {text:?}");
                assert_eq!(found.novelty, novelty, "{recipe} {text:?}");
                assert_eq!(bits(found.scores), bits(expected.scores.row(0)), "{recipe} {text:?}");
                let expected = expected.probabilities.as_ref().map(|probabilities| bits(probabilities.row(0)));
                assert_eq!(found.probabilities.map(bits), expected, "{recipe} {text:?}");
            }
        }
        Ok(())
    }

    const ODD: [&str; 5] =
        ["", " \n", "zzyzx qwrtp", "the the of", "From: a@b\nSubject: bill\n\n> my invoice\nÉté 東京 café"];

    #[test]
    fn every_kind_of_recipe_predicts_the_same_bits() -> Result<()> {
        let run = Run::new(42, 2)?;
        let corpus = demo()?;
        let mut texts: Vec<&str> = corpus.test[..6].iter().map(|document| document.text.as_str()).collect();
        texts.extend(ODD);
        for recipe in [
            "tfidf | svm",
            "tfidf | svm(calibrate=0)",
            "words(tokenizer=sklearn) | tfidf(sublinear=true, min_df=2) | svm(multiclass=crammer_singer)",
            "words(stem=porter, stop=english) | tfidf(ngrams=2) | logistic",
            "words(tokenizer=letters, strip=quotes, min_length=3) | counts(ngrams=3, min_df=2) | logistic",
            "words(stop=smart, lowercase=false) | binary | svm(calibrate=0)",
            "tfidf | ig(50) | svm(calibrate=0)",
            "tfidf | lsi(10) | normalize | svm",
            "tfidf | lsi(10) | varnorm(3) | svm(calibrate=0)",
            "tfidf | varnorm(3) | discriminant(shrinkage=1) | svm(calibrate=0)",
            "tfidf | sprinkle(rank=10) | logistic",
            "tfidf | dcot(prototypes=50) | svm(calibrate=0)",
            "tfidf | knn(k=5)",
            "tfidf | lsi(10) | knn(k=5, metric=euclidean)",
            "((tfidf | lsi(8)) + counts * 0.5) | svm(calibrate=0)",
            "average(dim=8, min_count=2, epochs=1) | svm(calibrate=0)",
            "(tfidf + average(dim=8, min_count=2, epochs=1) * 0.3) | knn(k=3)",
            "scdv(dim=4, clusters=2, min_count=2, epochs=1) | svm(calibrate=0)",
            "scdv(dim=8, clusters=3, min_count=2, training=lsi) | svm(calibrate=0)",
            "concepts(dim=4, clusters=3, min_count=2, epochs=1) | svm(calibrate=0)",
        ] {
            agree(recipe, &corpus.train, &texts, &run)?;
        }
        Ok(())
    }

    #[test]
    fn several_labels_are_the_same_and_best_first() -> Result<()> {
        let run = Run::new(42, 2)?;
        let corpus = demo()?;
        let mut documents = corpus.train;
        for (number, document) in documents.iter_mut().enumerate() {
            let long = if document.text.len() > 60 { "long" } else { "short" };
            document.labels.iter_mut().for_each(|labels| labels.push(long.to_string()));
            if number % 11 == 0 {
                document.labels = Some(Vec::new());
            }
        }
        let mut texts: Vec<&str> = corpus.test[..20].iter().map(|document| document.text.as_str()).collect();
        texts.extend(ODD);
        for recipe in ["tfidf | svm", "tfidf | logistic(calibrate=0)", "tfidf(ngrams=2) | knn(k=5)"] {
            agree(recipe, &documents, &texts, &run)?;
        }
        Ok(())
    }

    #[test]
    fn a_representation_does_not_predict_and_a_raised_flag_stops() -> Result<()> {
        let run = Run::new(1, 1)?;
        let corpus = demo()?;
        assert!(fit("tfidf", &corpus.train, &run)?.predictor(&run).is_err());
        let mut predictor = fit("tfidf | svm(calibrate=0)", &corpus.train, &run)?.predictor(&run)?;
        assert!(predictor.predict("my invoice").is_ok());
        run.cancel_flag().store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(predictor.predict("my invoice").is_err());
        Ok(())
    }
}
