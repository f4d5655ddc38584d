//! A fitted recipe: predicts, represents, explains, and lives in a file.
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
//! let corpus = Corpus::read(documents.map(Ok), recipe.words(), &run)?;
//! let model = recipe.fit(&corpus, &run)?;
//! let predictions = model.predict(&["password does not work"], &run)?;
//! assert_eq!(model.classes()[predictions.labels[0][0] as usize], "login");
//! # Ok::<(), corpuscle::Error>(())
//! ```

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use super::data::{Corpus, with_fields};
use super::decide::{Decision, confidence};
use super::fit::{Counted, Flow, Flowing, Learning};
use super::fitted::{Fitted, Input, TermWeights};
use super::folds::Downstream;
use super::model_file::{self, FORMAT, Metadata, Provenance, Sealed};
use super::plan::{self, Recipe};
use super::predictor::Predictor;
use super::registry::Registry;
use super::spill::Spilled;
use super::training::Training;
use crate::classify::{ClassifierModel, Selection};
use crate::corpus::{Document, Labels, Numbers};
use crate::matrix::{Dense, Matrix};
use crate::project::{Judge, TopicVariability, intra_topic_variability};
use crate::store::StoreWriter;
use crate::text::Tokens;
use crate::vectorize::{Chunks, Spread, WordSpace};
use crate::{Error, Result, Run};

/// The most classes that are learnt. Far fewer are told apart by anything here; more come of a field that holds no labels.
const MOST_CLASSES: usize = 100_000;

/// A fitted recipe.
#[derive(Debug)]
pub struct Model {
    recipe: Recipe,
    body: Arc<Fitted>,
    classifier: Option<Arc<dyn ClassifierModel>>,
    decision: Decision,
    metadata: Metadata,
    /// What an update starts from; kept only when asked for.
    training: Option<Training>,
}

/// A recipe fitted up to its classifier, with the documents it was fitted on: what several classifiers can share.
#[derive(Debug, Clone)]
pub struct Represented {
    body: Arc<Fitted>,
    documents: Flowing,
}

impl Represented {
    /// The documents as they come out of the last stage before the classifier.
    pub fn matrix(&self) -> &Matrix {
        &self.documents.matrix
    }

    /// What its sparse columns stand for.
    pub fn column_names(&self) -> Vec<String> {
        (self.documents.names)()
    }
}

/// What a model says about documents.
#[derive(Debug, Clone)]
pub struct Predictions {
    /// The classes given to each document: one, or any number for a multi-label model, best first.
    pub labels: Vec<Vec<u32>>,
    /// Scores: documents × classes, by which classes are told apart. Log-odds of each class against the others where held-out documents
    /// have told what the classifier's scores mean, else those scores.
    pub scores: Dense,
    /// Probabilities: documents × classes, when the model can tell.
    pub probabilities: Option<Dense>,
}

/// The intra-topic variability of every topic, before a projection and after it.
pub type BeforeAndAfter = (Vec<TopicVariability>, Vec<TopicVariability>);

impl Recipe {
    /// Fits every stage on a corpus tokenised with this recipe's [`Recipe::words`].
    pub fn fit(&self, corpus: &Corpus, run: &Run) -> Result<Model> {
        self.check_labels(&corpus.labels)?;
        self.fit_classifier(&self.represent(corpus, run)?, corpus, run)
    }

    /// Like [`Recipe::fit`], but the model also keeps the documents' term counts and labels (no text), from which
    /// [`Model::update`] can fit it again together with new documents.
    pub fn fit_updatable(&self, corpus: &Corpus, run: &Run) -> Result<Model> {
        let mut model = self.fit(corpus, run)?;
        let (labels, weights) = (&corpus.labels, corpus.weights.as_deref());
        model.training =
            Some(run.stage("keep", None, || Training::of(&model.body, &corpus.tokens, labels, weights, run))?);
        Ok(model)
    }

    /// Fits every stage but the classifier. Where [`Recipe::representation_needs_labels`] is false, the labels of
    /// `corpus` have no part in it.
    pub fn represent(&self, corpus: &Corpus, run: &Run) -> Result<Represented> {
        self.represent_flow(Flow::words(&corpus.tokens, run), &corpus.labels, corpus.weights.as_deref(), run)
    }

    /// Like [`Recipe::fit`], on documents that wait on disk: the same bytes, with the words of a few of them in memory at a time.
    /// Refused where a vectorizer needs all words at once.
    pub fn fit_spilled(&self, documents: &Spilled, run: &Run) -> Result<Model> {
        let (labels, weights) = (&documents.labels, documents.weights.as_deref());
        self.check_labels(labels)?;
        let represented = self.represent_flow(Flow::Chunks(documents), labels, weights, run)?;
        let about = Provenance {
            documents: labels.len(),
            labelled: labels.labelled_rows().len(),
            tokens: documents.n_tokens(),
            seed: run.seed(),
            multi_label: labels.is_multi_label(),
            sources: documents.sources.clone(),
        };
        self.classify(&represented, labels, weights, about, run)
    }

    fn represent_flow(
        &self,
        flow: Flow<'_>,
        labels: &Labels,
        weights: Option<&[f32]>,
        run: &Run,
    ) -> Result<Represented> {
        let downstream = self.any_classifier().map(Downstream);
        let judge = downstream.as_ref().map(|judge| judge as &dyn Judge);
        let (body, documents) =
            self.body().fit(flow, &Learning { labels, weights, judge, class_words: &[], words: None }, run)?;
        Ok(Represented { body: Arc::new(body), documents })
    }

    /// Fits the classifier on documents already represented by [`Recipe::represent`]; `corpus` holds the same
    /// documents, with the labels to learn from.
    pub fn fit_classifier(&self, represented: &Represented, corpus: &Corpus, run: &Run) -> Result<Model> {
        self.check_labels(&corpus.labels)?;
        let about = Provenance {
            documents: corpus.len(),
            labelled: corpus.labels.labelled_rows().len(),
            tokens: corpus.tokens.n_tokens() as u64,
            seed: run.seed(),
            multi_label: corpus.labels.is_multi_label(),
            sources: corpus.sources.clone(),
        };
        self.classify(represented, &corpus.labels, corpus.weights.as_deref(), about, run)
    }

    fn classify(
        &self,
        represented: &Represented,
        labels: &Labels,
        weights: Option<&[f32]>,
        about: Provenance,
        run: &Run,
    ) -> Result<Model> {
        let Represented { body, documents } = represented;
        let x = &documents.matrix;
        if x.rows() != labels.len() {
            return Err(Error::Shape { what: "documents represented", expected: labels.len(), found: x.rows() });
        }
        let mut fitted = None;
        let mut decision = Decision::default();
        if let Some(classifier) = self.any_classifier() {
            let class_words = if classifier.uses_names() { self.class_words(labels, run)? } else { Vec::new() };
            let learning = Learning { labels, weights, judge: None, class_words: &class_words, words: None };
            documents.with_target(&learning, |target| {
                let (name, steps) = (classifier.name(), classifier.steps_of(labels));
                let (model, calibrating) = run.stage(name, steps, || classifier.fit_any(x, target, run))?;
                decision = Decision::fit(calibrating.as_ref(), model.as_ref(), x, target, run)?;
                fitted = Some(model);
                Ok::<_, Error>(())
            })?;
        }
        let metadata = Metadata {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_string(),
            recipe: self.full(),
            classes: labels.classes().to_vec(),
            about,
            sha256: String::new(),
        };
        let body = Arc::clone(body);
        Ok(Model { recipe: self.clone(), body, classifier: fitted, decision, metadata, training: None })
    }

    fn check_labels(&self, labels: &Labels) -> Result<()> {
        let Some(stage) = self.needs_labels() else { return Ok(()) };
        if labels.n_classes() > MOST_CLASSES {
            return Err(Error::data(format!(
                "the labels have {} classes, more than {MOST_CLASSES}, such as `{}`; is their field one of ids or texts?",
                labels.n_classes(),
                labels.classes()[0].chars().take(40).collect::<String>()
            )));
        }
        if labels.labelled_rows().is_empty() {
            let n = labels.len();
            let by_names = self.any_classifier().is_some_and(|classifier| classifier.uses_names());
            if labels.are_described() && self.representation_needs_labels().is_none() && by_names {
                return match labels.n_classes() {
                    0 | 1 => Err(Error::data("names of at least two classes are needed to tell them apart")),
                    _ => Ok(()),
                };
            }
            return Err(Error::data(format!("`{stage}` needs labels; none of the {n} documents has one")));
        }
        if labels.n_classes() == 1 && !labels.is_multi_label() {
            return Err(Error::data(format!(
                "every labelled document has the label `{}`; `{stage}` needs at least two classes to tell apart",
                labels.classes()[0]
            )));
        }
        if labels.n_classes() == 0 {
            return Err(Error::data(format!("`{stage}` needs labels; every list of labels is empty")));
        }
        Ok(())
    }
}

impl Model {
    /// The recipe.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// The class names, by number.
    pub fn classes(&self) -> &[String] {
        &self.metadata.classes
    }

    /// Whether a document may get several labels.
    pub fn is_multi_label(&self) -> bool {
        self.metadata.about.multi_label
    }

    /// Whether [`Predictions::probabilities`] will be there.
    pub fn has_probabilities(&self) -> bool {
        self.classifier.as_deref().is_some_and(|classifier| self.decision.has_probabilities(classifier))
    }

    /// Recipe, versions, provenance; the checksum is empty until the model has been in a file.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    pub(super) fn decision(&self) -> &Decision {
        &self.decision
    }

    pub(super) fn body(&self) -> &Fitted {
        &self.body
    }

    /// Whether [`Model::update`] can add documents.
    pub fn is_updatable(&self) -> bool {
        self.training.is_some()
    }

    /// The model that fitting on the old and the new documents at once gives, with the vocabulary of the old ones. New
    /// classes are learnt, the seed is that of the first training, and the result can be updated again. `corpus` must be
    /// tokenised with this recipe's [`Recipe::words`].
    pub fn update(&self, corpus: &Corpus, run: &Run) -> Result<Model> {
        let Some(old) = &self.training else {
            return Err(Error::data(
                "this model has not kept what an update needs; fit it again as an updatable one (it then keeps term counts \
                 and labels of the training documents, no text) and update that",
            ));
        };
        let run = run.with_seed(self.metadata.about.seed);
        let mut training = old.clone();
        training.append(&Training::of(&self.body, &corpus.tokens, &corpus.labels, corpus.weights.as_deref(), &run)?)?;
        let before = &self.metadata.about;
        let about = Provenance {
            documents: before.documents + corpus.len(),
            labelled: training.labels.labelled_rows().len(),
            tokens: before.tokens + corpus.tokens.n_tokens() as u64,
            seed: before.seed,
            multi_label: training.labels.is_multi_label(),
            sources: before.sources.iter().chain(&corpus.sources).cloned().collect(),
        };
        let counted = Counted::new(&self.body, &training.counts)?;
        let (labels, weights) = (&training.labels, training.weights.as_deref());
        self.recipe.check_labels(labels)?;
        let represented = self.recipe.represent_flow(Flow::Counted(&counted), labels, weights, &run)?;
        let mut model = self.recipe.classify(&represented, labels, weights, about, &run)?;
        model.training = Some(training);
        Ok(model)
    }

    /// Name and number of columns of every stage.
    pub fn widths(&self) -> Result<Vec<(&'static str, usize)>> {
        let mut list = Vec::new();
        self.body.widths(0, &mut list)?;
        Ok(list)
    }

    /// What was found and reached in fitting, stage by stage: (what, value).
    pub fn notes(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        self.body.notes(&mut found);
        let mut notes: Vec<(String, String)> =
            found.into_iter().map(|(stage, what, value)| (format!("{stage} {what}"), value)).collect();
        let own = self.classifier.iter().flat_map(|classifier| classifier.notes()).chain(self.decision.notes());
        notes.extend(own.map(|(what, value)| (what.to_string(), value)));
        notes
    }

    /// What the sparse columns of the representation stand for.
    pub fn feature_names(&self) -> Vec<String> {
        self.body.feature_names(Vec::new())
    }

    /// The word vectors of the recipe's first stage that has some: `scdv`, `bowv`, `concepts`, `average`.
    pub fn word_space(&self) -> Option<&WordSpace> {
        self.body.word_space()
    }

    /// The values of documents before and after small ones are made zero by the recipe's first stage that does so: `scdv`, `bowv`.
    pub fn spread(&self, tokens: &Tokens, bins: usize, run: &Run) -> Result<Option<Spread>> {
        let mut stages = Vec::new();
        self.body.vectorizers(&mut stages);
        for stage in stages {
            if let Some(spread) = stage.model.spread(stage.tokens(tokens)?, bins, run)? {
                return Ok(Some(spread));
            }
        }
        Ok(None)
    }

    /// The documents as the classifier sees them.
    pub fn represent(&self, tokens: &Tokens, run: &Run) -> Result<Matrix> {
        self.body.transform(Input::words(tokens, run), run)
    }

    /// The same, from documents with the [fields of numbers](Model::number_fields) that the recipe reads.
    pub fn represent_documents(&self, documents: &[Document], run: &Run) -> Result<Matrix> {
        self.represent(&self.tokenize(documents, run)?, run)
    }

    /// The words of documents, and the numbers beside them, as the recipe reads them.
    pub fn tokenize(&self, documents: &[Document], run: &Run) -> Result<Tokens> {
        let texts: Vec<&str> = documents.iter().map(|document| document.text.as_str()).collect();
        with_fields(self.recipe.words().tokenize(&texts, run)?, documents)
    }

    /// The fields of numbers that the recipe reads, each as wide as in training, for
    /// [`crate::corpus::ReadOptions::numbers`].
    pub fn number_fields(&self) -> Vec<Numbers> {
        let mut stages = Vec::new();
        self.body.vectorizers(&mut stages);
        let mut fields: Vec<Numbers> = Vec::new();
        for (field, width) in stages.into_iter().filter_map(|stage| stage.model.field()) {
            let field = Numbers { field: field.to_string(), width: Some(width) };
            fields.extend(Some(field).filter(|field| !fields.contains(field)));
        }
        fields
    }

    /// The same, from texts.
    pub fn represent_texts<S: AsRef<str> + Sync>(&self, texts: &[S], run: &Run) -> Result<Matrix> {
        self.represent(&self.recipe.words().tokenize(texts, run)?, run)
    }

    /// How much documents of one topic differ before and after the recipe's first stage that evens topics out (`varnorm`), topic
    /// by topic; `None` when it has none.
    pub fn variability(&self, tokens: &Tokens, labels: &Labels, run: &Run) -> Result<Option<BeforeAndAfter>> {
        let input = Input::words(tokens, run);
        let Some((before, after)) = self.body.around(|stage| stage.evens_out_topics(), input, run)? else {
            return Ok(None);
        };
        let of = |x: &Matrix| intra_topic_variability(x, labels, run);
        Ok(Some((of(&before)?, of(&after)?)))
    }

    /// The terms that each text brings to mind, with weights, largest first: what a stage such as `dcot` reconstructs
    /// beyond what it expects of any text. The empty text gets just that. `None` when no stage reconstructs terms.
    pub fn reconstruct<S: AsRef<str> + Sync>(&self, texts: &[S], run: &Run) -> Result<Option<Vec<TermWeights>>> {
        let tokens = self.recipe.words().tokenize(texts, run)?;
        self.body.reconstruct(Input::words(&tokens, run), Vec::new(), run)
    }

    /// Classifies texts.
    pub fn predict<S: AsRef<str> + Sync>(&self, texts: &[S], run: &Run) -> Result<Predictions> {
        self.predict_matrix(&self.represent_texts(texts, run)?, run)
    }

    /// Classifies documents with the [fields of numbers](Model::number_fields) that the recipe reads.
    pub fn predict_documents(&self, documents: &[Document], run: &Run) -> Result<Predictions> {
        self.predict_matrix(&self.represent_documents(documents, run)?, run)
    }

    /// Classifies documents already represented by [`Model::represent`].
    pub fn predict_matrix(&self, x: &Matrix, run: &Run) -> Result<Predictions> {
        let classifier = self.classifier()?;
        self.decision.answer(classifier, classifier.scores(x, run)?, self.is_multi_label())
    }

    /// The least confidence of an answer that keeps the error among answers at `rate`, in 19 of 20 trainings, for documents that
    /// come as the training documents came; `None` where no threshold keeps it. See [`RiskCoverage`](crate::classify::RiskCoverage).
    pub fn selection(&self, rate: f64) -> Result<Option<Selection>> {
        let kept = self.decision.risk().ok_or_else(|| self.keeps_none("cannot tell how often it is wrong"))?;
        kept.select(rate, 0.95)
    }

    /// How sure each answer is: the probability of the label given, or of the whole list. `None` without probabilities.
    pub fn confidences(&self, predictions: &Predictions) -> Option<Vec<f32>> {
        let probabilities = predictions.probabilities.as_ref()?;
        let rows = predictions.labels.iter().enumerate();
        Some(rows.map(|(row, given)| confidence(given, probabilities.row(row), self.is_multi_label())).collect())
    }

    /// The p-value of each document being like the training documents, small for foreign ones: from the documents as
    /// [`Model::represent`] gives them and what was predicted of them. See [`Novelty`](crate::classify::Novelty).
    pub fn novelty(&self, x: &Matrix, predictions: &Predictions, run: &Run) -> Result<Vec<f64>> {
        let classifier = self.classifier()?;
        let known = self.decision.novelty().ok_or_else(|| self.keeps_none("cannot tell foreign documents"))?;
        // Strangeness is that of the classifier's own scores.
        let own = self.decision.slope(0).map(|_| classifier.scores(x, run)).transpose()?;
        let strange = classifier.strangeness(x, own.as_ref().unwrap_or(&predictions.scores), run)?;
        Ok(strange.into_iter().map(|strangeness| known.p_value(strangeness)).collect())
    }

    fn keeps_none(&self, what: &str) -> Error {
        Error::data(format!(
            "this model {what}: it has no out-of-fold scores, because it was trained by an earlier version, without calibration or on \
             too few documents; train it again with `calibrate` of at least 2 and with more documents than that of each class"
        ))
    }

    /// What predicts one text at a time; it holds on to what it needs of this model and can outlive it.
    pub fn predictor(&self, run: &Run) -> Result<Predictor> {
        let (body, classifier) = (Arc::clone(&self.body), Arc::clone(self.any_classifier()?));
        let (words, decision) = (self.recipe.words().clone(), self.decision.clone());
        Ok(Predictor::new(words, body, classifier, decision, self.is_multi_label(), run))
    }

    pub(super) fn classifier(&self) -> Result<&dyn ClassifierModel> {
        self.any_classifier().map(Arc::as_ref)
    }

    fn any_classifier(&self) -> Result<&Arc<dyn ClassifierModel>> {
        self.classifier.as_ref().ok_or_else(|| {
            Error::data(format!(
                "this model is a representation only (`{0}`); train one with a classifier, such as `{0} | svm`",
                self.recipe
            ))
        })
    }

    /// The bytes of the model's file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        Ok(self.sealed()?.to_bytes())
    }

    fn sealed(&self) -> Result<Sealed> {
        let mut store = StoreWriter::new();
        self.store(&mut store)?;
        Sealed::new(&self.written(), store)
    }

    /// How many bytes the model's file has; nothing is written or copied to find out.
    pub fn file_size(&self) -> Result<u64> {
        let mut store = StoreWriter::measuring();
        self.store(&mut store)?;
        model_file::size(&self.written(), store)
    }

    /// The metadata of a file written now: one of an earlier format is written in the newest.
    fn written(&self) -> Metadata {
        let version = env!("CARGO_PKG_VERSION").to_string();
        Metadata { format: FORMAT, version, recipe: self.recipe.full(), ..self.metadata.clone() }
    }

    fn store(&self, store: &mut StoreWriter) -> Result<()> {
        store.scope("body", |out| self.body.save(out))?;
        if let Some(classifier) = &self.classifier {
            store.scope("classifier", |out| classifier.save(out))?;
            store.scope("decision", |out| self.decision.save(out));
        }
        if let Some(training) = &self.training {
            store.scope("training", |out| training.save(out));
        }
        Ok(())
    }

    /// A model from the bytes of its file, checked whole. See [`Registry::from_bytes`] for stages that are not the house's own.
    pub fn from_bytes(bytes: &[u8], run: &Run) -> Result<Self> {
        Self::read(&mut &bytes[..], Some(bytes.len() as u64), Registry::shared(), run)
    }

    /// A model from its file, `length` bytes, where that is known, that are read once.
    pub(super) fn read(file: &mut impl Read, length: Option<u64>, registry: Arc<Registry>, run: &Run) -> Result<Self> {
        let (metadata, loaded) = model_file::read(file, length)?;
        let store = loaded.reader();
        let recipe = plan::parse_of_file(&metadata.recipe, registry)
            .map_err(|e| Error::model(format!("its recipe is not one this version knows: {e}")))?;
        let body = recipe.body().load(&store.scope("body")).map_err(as_model_error)?;
        let columns = body.n_columns(0).map_err(as_model_error)?;
        let mut classifier = None;
        let mut decision = Decision::default();
        if let Some(stage) = recipe.any_classifier() {
            let fitted = stage.load_any(&store.scope("classifier"), run).map_err(as_model_error)?;
            if fitted.n_classes() != metadata.classes.len() || fitted.n_inputs() != columns {
                return Err(Error::model(format!(
                    "the classifier has {} classes over {} columns, the rest of the model {} and {columns}",
                    fitted.n_classes(),
                    fitted.n_inputs(),
                    metadata.classes.len()
                )));
            }
            decision = Decision::load(&store.scope("decision"), metadata.classes.len()).map_err(as_model_error)?;
            classifier = Some(fitted);
        }
        let training = Training::load(&store.scope("training"), &body, &metadata.classes).map_err(as_model_error)?;
        Ok(Model { recipe, body: Arc::new(body), classifier, decision, metadata, training })
    }

    /// Writes the model's file: whole or not at all.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let (path, sealed) = (path.as_ref(), self.sealed()?);
        crate::file::write_whole(path, |file| sealed.write(file).map_err(|e| Error::io(path, e)))
    }

    /// Reads a model's file.
    pub fn load(path: impl AsRef<Path>, run: &Run) -> Result<Self> {
        Self::load_with(path.as_ref(), Registry::shared(), run)
    }

    pub(super) fn load_with(path: &Path, registry: Arc<Registry>, run: &Run) -> Result<Self> {
        let fault = |e| Error::io(path, e);
        let mut file = File::open(path).map_err(fault)?;
        let about = file.metadata().map_err(fault)?;
        if about.is_file() {
            return Self::read(&mut file, Some(about.len()), registry, run);
        }
        // A pipe tells its length at its end only, and a device may have none.
        Self::read(&mut file, None, registry, run)
    }
}

/// Whatever is wrong with what a file holds is the file's fault.
fn as_model_error(error: Error) -> Error {
    match error {
        Error::BadModel { .. } => error,
        other => Error::model(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::Document;

    #[test]
    fn the_terms_of_a_score_behind_linear_projections_add_up_to_it() {
        let run = Run::new(42, 1).unwrap();
        let documents: Vec<Document> = (0..60)
            .map(|i| {
                let words: Vec<String> =
                    (0..8).map(|j| format!("w{}", (i * 7 + j * j + (i % 3) * j) % 23 + 5 * (i % 3))).collect();
                Document::new(i.to_string(), words.join(" ")).labelled(["a", "b", "c"][i % 3])
            })
            .collect();
        for recipe in [
            "tfidf | svm",
            "tfidf | varnorm(4) | svm",
            "tfidf | lsi(10) | varnorm(3) | logistic",
            "tfidf | varnorm(4) | discriminant(shrinkage=1) | svm",
            "tfidf | ig(20) | svm",
            "((tfidf | varnorm(4)) + counts * 0.5) | lsi(10) | svm",
            "((tfidf | varnorm(4)) + counts) | svm",
            "(average(dim=4, min_count=1, epochs=1) + tfidf) | svm",
            "scdv(dim=4, clusters=2, min_count=1, epochs=1, sparsity=20) | svm",
            "scdv(dim=4, clusters=2, min_count=1, training=lsi) | svm",
            "bowv(dim=4, clusters=2, min_count=1, epochs=1) | svm",
            "concepts(dim=4, clusters=3, min_count=1, epochs=1) | svm",
        ] {
            let recipe = Recipe::parse(recipe).unwrap();
            let corpus = Corpus::read(documents.iter().cloned().map(Ok), recipe.words(), &run).unwrap();
            let model = recipe.fit(&corpus, &run).unwrap();
            let sum = |text: &str| -> f64 {
                let (weighing, list) = model.weigh_terms(text, 1, None, &run).unwrap();
                assert_eq!(weighing, crate::recipe::Weighing::Adds, "{recipe}");
                list.iter().map(|c| c.amount).sum()
            };
            let scores = model.predict(&["w1 w2 w9", "w8"], &run).unwrap().scores;
            // A constant is in every score; the difference of two has none.
            let expected = f64::from(scores.row(0)[1]) - f64::from(scores.row(1)[1]);
            let found = sum("w1 w2 w9") - sum("w8");
            assert!((found - expected).abs() < 1e-4 * expected.abs().max(1.0), "{recipe}: {found} {expected}");
        }
    }
}
