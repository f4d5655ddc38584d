//! Fitting the part of a recipe between words and scores.
//!
//! The fitted tree mirrors the recipe's: the same pipes, sums and weights with fitted stages at the leaves. Beside each matrix
//! flows what it takes to make it again without some labels ([`Trace`]), what its columns stand for, and, where equal work is
//! shared, the key of it.

use std::cell::Cell;
use std::sync::{Arc, OnceLock};

use super::erase::{AnyProjector, Projection, Stage};
use super::fitted::{Fitted, seen};
use super::folds::{Documents, Downstream, Trace, side_by_side};
use super::plan::Node;
use crate::corpus::Labels;
use crate::matrix::{Csr, Matrix, Widths};
use crate::project::{ClassWords, ColumnNames, Judge, Target};
use crate::store::{StoreReader, StoreWriter};
use crate::text::{Tokens, WordsParams};
use crate::vectorize::{Chunks, VectorizerModel};
use crate::{Error, Key, Result, Run};

/// What flows from part to part in fitting.
#[derive(Clone)]
pub(super) enum Flow<'a> {
    Words(&'a Tokens, Option<Key>),
    Matrix(Flowing),
    /// Documents as words, chunk by chunk.
    Chunks(&'a dyn Chunks),
    /// Documents known by their counts alone, to fit the same stages again.
    Counted(&'a Counted<'a>),
}

/// A matrix on its way through the stages.
#[derive(Clone)]
pub(super) struct Flowing {
    pub(super) matrix: Arc<Matrix>,
    pub(super) trace: Arc<Trace>,
    pub(super) names: ColumnNames,
    /// The widths of the representations that stand side by side in it; none where it is one.
    parts: Vec<Widths>,
    key: Option<Key>,
}

impl std::fmt::Debug for Flowing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Flowing").field("trace", &self.trace).finish_non_exhaustive()
    }
}

impl Flowing {
    /// A matrix that no label had a part in.
    fn plain(matrix: Matrix, names: ColumnNames, key: Option<Key>) -> Self {
        let matrix = Arc::new(matrix);
        let trace = Arc::new(Trace::Rows(Arc::clone(&matrix), Arc::clone(&names)));
        Flowing { trace, matrix, names, parts: Vec::new(), key }
    }

    /// Calls `work` with the target of a stage that this matrix goes into.
    pub(super) fn with_target<R>(&self, learning: &Learning<'_>, work: impl FnOnce(&Target<'_>) -> R) -> R {
        let documents =
            Documents { trace: &self.trace, labels: learning.labels, weights: learning.weights, judge: learning.judge };
        let mut target =
            Target::new(learning.labels).with_weights(learning.weights).with_names(&self.names).with_input(self.key);
        target = target.with_class_words(learning.class_words).with_parts(&self.parts).with_words(learning.words);
        if !self.trace.is_plain() {
            target = target.with_upstream(&documents);
        }
        if let Some(judge) = learning.judge {
            target = target.with_judge(judge);
        }
        work(&target)
    }
}

/// What stages learn from beside the documents.
#[derive(Clone, Copy)]
pub(super) struct Learning<'a> {
    pub(super) labels: &'a Labels,
    pub(super) weights: Option<&'a [f32]>,
    /// The classifier that follows, when one does.
    pub(super) judge: Option<&'a dyn Judge>,
    /// The words of each class's name, where somebody wants them.
    pub(super) class_words: &'a [ClassWords],
    /// The words that the matrix before was made of, for a stage that wants them.
    pub(super) words: Option<&'a Tokens>,
}

impl<'a> Flow<'a> {
    /// Documents as words.
    pub(super) fn words(tokens: &'a Tokens, run: &Run) -> Self {
        Flow::Words(tokens, run.is_sharing().then(|| tokens.key()))
    }
}

/// The key of a stage's work on what `before` stands for.
fn stage_key(stage: &(impl Stage + ?Sized), before: Key, run: &Run) -> crate::KeyWriter {
    let key = Key::of(stage.name()).key(&before).numbers(std::iter::once(run.seed()));
    stage.all_arguments().iter().fold(key, |key, (name, value)| key.text(name).text(value))
}

/// The key of a projection: labels count where it learns from them, the judge where it asks that one.
fn projection_key(stage: &dyn AnyProjector, before: Key, target: &Target<'_>, run: &Run) -> Key {
    let mut key = stage_key(stage, before, run);
    if stage.needs_labels() || stage.asks_judge() {
        key = key.key(&target.labels().key());
    }
    if stage.asks_judge() {
        key = target.add_to(key);
    }
    key.finish()
}

/// The key of several parts side by side, or of what a fitted part makes of documents.
pub(super) fn joined_key(kind: &str, keys: &[Option<Key>]) -> Option<Key> {
    let all: Option<Vec<&Key>> = keys.iter().map(Option::as_ref).collect();
    Some(all?.into_iter().fold(Key::of(kind), crate::KeyWriter::key).finish())
}

/// The key of a part after weighing.
pub(super) fn weighted_key(key: Option<Key>, weight: f32) -> Option<Key> {
    Some(Key::of("*").key(&key?).numbers(std::iter::once(u64::from(weight.to_bits()))).finish())
}

/// The fitted vectorizers of a recipe in their order, each with the counts of all documents.
#[derive(Debug)]
pub(super) struct Counted<'a> {
    stages: Vec<(&'a dyn VectorizerModel, &'a Csr)>,
    next: Cell<usize>,
}

impl<'a> Counted<'a> {
    /// Pairs the vectorizers of a fitted tree with the counts kept for them.
    pub(super) fn new(body: &'a Fitted, counts: &'a [Csr]) -> Result<Self> {
        let mut stages = Vec::new();
        body.vectorizers(&mut stages);
        if stages.len() != counts.len() {
            return Err(Error::Shape { what: "counts for vectorizers", expected: stages.len(), found: counts.len() });
        }
        let stages = stages.into_iter().map(|stage| stage.model).zip(counts).collect();
        Ok(Counted { stages, next: Cell::new(0) })
    }

    /// The next one: fitting visits them in their order.
    fn take(&self) -> Option<(&'a dyn VectorizerModel, &'a Csr)> {
        let at = self.next.replace(self.next.get() + 1);
        self.stages.get(at).copied()
    }
}

/// The planner feeds every stage what it takes, so this is never seen; it is an error and not a panic all the same.
pub(super) fn wrong_input(name: &str) -> Error {
    Error::data(format!("`{name}` was fed the wrong kind of input"))
}

/// Bytes that are taken by a matrix and the model that made it: one that cannot be stored tells when it is, not here.
fn kept(matrix: &Matrix, save: impl FnOnce(&mut StoreWriter) -> Result<()>) -> usize {
    matrix.bytes() + StoreWriter::bytes_of(save).unwrap_or(0)
}

fn names_of(model: &Arc<dyn VectorizerModel>) -> ColumnNames {
    let model = Arc::clone(model);
    Arc::new(move || model.feature_names())
}

impl Node {
    /// Fits every stage in turn, each on what the ones before it make of the documents.
    pub(super) fn fit(&self, flow: Flow<'_>, learning: &Learning<'_>, run: &Run) -> Result<(Fitted, Flowing)> {
        match (self, flow) {
            (Node::Vectorize(params, view), Flow::Words(tokens, key)) => {
                let name = params.name();
                let (tokens, key) = seen(view.as_deref(), tokens, key)?;
                let labelled = if params.asks_labelled() { learning.labels.labelled_rows() } else { Vec::new() };
                let with_labelled = |key: Key| {
                    let rows = labelled.iter().map(|&row| row as u64);
                    stage_key(params.as_ref(), key, run).numbers(rows).finish()
                };
                // Work is shared by everything that it depends on: the words, the arguments, the seed and, where it is asked for, which
                // documents have a label (SCDV's threshold).
                let key = key.map(with_labelled);
                let size = |(model, matrix): &(Arc<dyn VectorizerModel>, Matrix)| kept(matrix, |out| model.save(out));
                let fit = || run.stage(name, None, || params.fit_any(tokens, &labelled, run));
                let done = run.shared(key, size, fit)?;
                let (model, matrix) = Arc::unwrap_or_clone(done);
                let names = names_of(&model);
                Ok((Fitted::vectorizer(name, model, view, key), Flowing::plain(matrix, names, key)))
            }
            (Node::Vectorize(params, view), Flow::Chunks(chunks)) => {
                if view.is_some() {
                    return Err(Error::data(
                        "words kept on disk are cut in one way; a recipe with several views is fitted in memory",
                    ));
                }
                let name = params.name();
                let (model, matrix) = run.stage(name, None, || params.fit_chunks_any(chunks, run))?;
                let names = names_of(&model);
                Ok((Fitted::vectorizer(name, model, view, None), Flowing::plain(matrix, names, None)))
            }
            (Node::Vectorize(params, view), Flow::Counted(counted)) => {
                let name = params.name();
                let (before, counts) = counted.take().ok_or_else(|| wrong_input(name))?;
                let (model, matrix) = run.stage(name, None, || before.refit(counts, run))?;
                let names = names_of(&model);
                Ok((Fitted::vectorizer(name, model, view, None), Flowing::plain(matrix, names, None)))
            }
            (Node::Project(params), Flow::Matrix(input)) => input.with_target(learning, |target| {
                let name = params.name();
                let key = input.key.map(|key| projection_key(params.as_ref(), key, target, run));
                let size = |(projection, matrix): &(Projection, Matrix)| kept(matrix, |out| projection.model.save(out));
                let fit = || run.stage(name, None, || params.fit_any(&input.matrix, target, run));
                let (projection, matrix) = Arc::unwrap_or_clone(run.shared(key, size, fit)?);
                let (model, before) = (Arc::clone(&projection.model), Arc::clone(&input.names));
                let names: ColumnNames = Arc::new(move || model.feature_names(before()));
                // Behind a stage that learns from labels everything is fitted anew in every fold.
                let out = match input.trace.is_plain() && !projection.resolved.learns_from_labels() {
                    true => Flowing::plain(matrix, names, key),
                    false => Flowing {
                        matrix: Arc::new(matrix),
                        trace: Arc::new(Trace::Stage(projection.resolved, Arc::clone(&input.trace))),
                        names,
                        parts: Vec::new(),
                        key,
                    },
                };
                Ok((Fitted::Project { name, model: projection.model, key }, out))
            }),
            (Node::View(_, part), flow) => part.fit(flow, learning, run),
            (Node::Member(part, classifier), flow) => {
                // Its stages are chosen by how well its own classifier does.
                let judge = Downstream(classifier.as_ref());
                let (stage, mut out) = part.fit(flow, &Learning { judge: Some(&judge), ..*learning }, run)?;
                if !out.trace.is_plain() {
                    out.trace = Arc::new(Trace::Member(out.trace, Arc::clone(classifier)));
                }
                Ok((stage, out))
            }
            (Node::Pipe(parts), mut flow) => {
                let mut fitted = Vec::with_capacity(parts.len());
                // The words of the first stage, for one right behind it that wants them.
                let words = match (parts.first(), &flow) {
                    (Some(Node::Vectorize(_, view)), Flow::Words(tokens, _)) => {
                        Some(seen(view.as_deref(), tokens, None)?.0)
                    }
                    _ => None,
                };
                for part in parts {
                    let wanting = match part {
                        Node::Project(stage) if stage.wants_words() => Some(stage.name()),
                        _ => None,
                    };
                    if let (Some(name), None) = (wanting, words) {
                        return Err(Error::data(format!(
                            "`{name}` counts words near each other, which words on disk and the counts of an updatable model do not \
                             tell; train it anew in memory"
                        )));
                    }
                    let own = Learning { words: words.filter(|_| wanting.is_some()), ..*learning };
                    let (stage, out) = part.fit(flow, &own, run)?;
                    fitted.push(stage);
                    flow = Flow::Matrix(out);
                }
                match flow {
                    Flow::Matrix(out) => Ok((Fitted::Pipe(fitted), out)),
                    _ => Err(wrong_input("|")),
                }
            }
            (Node::Sum(parts), flow) => {
                let mut fitted = Vec::with_capacity(parts.len());
                let mut outs: Vec<Flowing> = Vec::with_capacity(parts.len());
                for part in parts {
                    let (stage, out) = part.fit(flow.clone(), learning, run)?;
                    fitted.push(stage);
                    outs.push(out);
                }
                let joined = joined(outs)?.ok_or_else(|| wrong_input("+"))?;
                Ok((Fitted::Sum(fitted), joined))
            }
            (Node::Weighted(part, weight), flow) => {
                let (stage, out) = part.fit(flow, learning, run)?;
                let Flowing { matrix, trace, names, key, .. } = out;
                let is_plain = trace.is_plain();
                // A copy: another branch, or another recipe of the run, may share the matrix as it was.
                let mut matrix = Matrix::clone(&matrix);
                run.install(|| matrix.scale(*weight));
                let key = weighted_key(key, *weight);
                let out = match is_plain {
                    true => Flowing::plain(matrix, names, key),
                    false => {
                        let trace = Arc::new(Trace::Weighted(trace, *weight));
                        Flowing { matrix: Arc::new(matrix), trace, names, parts: Vec::new(), key }
                    }
                };
                Ok((Fitted::Weighted(Box::new(stage), *weight), out))
            }
            (Node::Vectorize(params, _), Flow::Matrix(_)) => Err(wrong_input(params.name())),
            (Node::Project(params), _) => Err(wrong_input(params.name())),
        }
    }

    /// Takes the fitted tree of this shape out of a store.
    pub(super) fn load(&self, store: &StoreReader<'_>) -> Result<Fitted> {
        let all = |parts: &[Node]| -> Result<Vec<Fitted>> {
            parts.iter().enumerate().map(|(index, part)| part.load(&store.scope(&index.to_string()))).collect()
        };
        Ok(match self {
            Node::Vectorize(params, view) => Fitted::vectorizer(params.name(), params.load_any(store)?, view, None),
            Node::View(_, part) | Node::Member(part, _) => part.load(store)?,
            Node::Project(params) => Fitted::Project { name: params.name(), model: params.load_any(store)?, key: None },
            Node::Pipe(parts) => Fitted::Pipe(all(parts)?),
            Node::Sum(parts) => Fitted::Sum(all(parts)?),
            Node::Weighted(part, weight) => Fitted::Weighted(Box::new(part.load(&store.scope("0"))?), *weight),
        })
    }
}

impl Fitted {
    fn vectorizer(
        name: &'static str,
        model: Arc<dyn VectorizerModel>,
        view: &Option<Arc<WordsParams>>,
        key: Option<Key>,
    ) -> Self {
        Fitted::Vectorize { name, model, view: view.clone(), key, names: OnceLock::new() }
    }
}

/// Parts side by side; `None` when there are none.
fn joined(parts: Vec<Flowing>) -> Result<Option<Flowing>> {
    let is_plain = parts.iter().all(|part| part.trace.is_plain());
    let key = joined_key("+", &parts.iter().map(|part| part.key).collect::<Vec<_>>());
    let traces = parts.iter().map(|part| Arc::clone(&part.trace)).collect();
    let widths: Vec<Widths> = parts.iter().map(|part| part.matrix.widths()).collect();
    let mut both: Option<(Matrix, ColumnNames)> = None;
    for part in parts {
        both = Some(match both {
            None => (Arc::unwrap_or_clone(part.matrix), part.names),
            Some((matrix, names)) => (matrix.beside(&part.matrix)?, side_by_side(names, part.names)),
        });
    }
    Ok(both.map(|(matrix, names)| match is_plain {
        true => Flowing { parts: widths, ..Flowing::plain(matrix, names, key) },
        false => {
            let trace = Arc::new(Trace::Beside(traces));
            Flowing { matrix: Arc::new(matrix), trace, names, parts: widths, key }
        }
    }))
}
