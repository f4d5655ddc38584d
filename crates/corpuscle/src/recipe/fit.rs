//! Fitting and applying the part of a recipe between words and scores.
//!
//! The fitted tree mirrors the recipe's: the same pipes, sums and weights with fitted stages at the leaves. Arrays of a
//! leaf are stored under its place in the tree (`body/0/1`), so the recipe's text alone says how to read them back.

use std::cell::Cell;
use std::sync::Arc;

use super::later::Later;
use super::plan::Node;
use super::stage::{FittedProjector, FittedVectorizer, Projector, Stage};
use crate::corpus::Labels;
use crate::matrix::{Csr, Dense, Matrix};
use crate::store::{StoreReader, StoreWriter};
use crate::text::Tokens;
use crate::vectorize::WordSpace;
use crate::{Error, Key, Result, Run};

/// Terms with weights, largest first.
pub type TermWeights = Vec<(String, f32)>;

/// A fitted part of a recipe.
#[derive(Debug)]
pub(super) enum Fitted {
    Vectorize { name: &'static str, stage: Arc<dyn FittedVectorizer>, key: Option<Key> },
    Project { name: &'static str, stage: Arc<dyn FittedProjector>, key: Option<Key> },
    Pipe(Vec<Fitted>),
    Sum(Vec<Fitted>),
    Weighted(Box<Fitted>, f32),
}

/// What flows from part to part, with its key where equal work is shared.
#[derive(Debug, Clone)]
pub(super) enum Flow<'a> {
    Words(&'a Tokens, Option<Key>),
    Matrix(Matrix, Option<Key>),
    /// Documents kept as counts, to fit the same stages again.
    Kept(&'a Kept<'a>),
}

impl<'a> Flow<'a> {
    /// Documents as words.
    pub(super) fn words(tokens: &'a Tokens, run: &Run) -> Self {
        Flow::Words(tokens, run.is_sharing().then(|| tokens.key()))
    }

    /// A matrix of which nobody will ask for the same again.
    pub(super) fn matrix(matrix: Matrix) -> Self {
        Flow::Matrix(matrix, None)
    }
}

/// A part fitted, what it makes of the documents, and the key of that.
pub(super) type Fit = (Fitted, Matrix, Option<Key>);

/// The key of a stage's work on what `before` stands for.
fn stage_key(stage: &dyn Stage, before: Key, run: &Run) -> crate::KeyWriter {
    let key = Key::of(stage.name()).key(&before).numbers(std::iter::once(run.seed()));
    stage.arguments().iter().fold(key, |key, (name, value)| key.text(name).text(value))
}

/// The key of a projection: labels count where it learns from them, the classifier where it asks that one.
fn projection_key(params: &dyn Projector, before: Key, labels: &Labels, later: &Later<'_>, run: &Run) -> Key {
    let mut key = stage_key(params, before, run);
    if params.needs_labels() || params.asks_classifier() {
        key = key.key(&labels.key());
    }
    if params.asks_classifier() {
        key = later.add_to(key);
    }
    key.finish()
}

/// The key of several parts side by side, or of what a fitted part makes of documents.
fn joined_key(kind: &str, keys: &[Option<Key>]) -> Option<Key> {
    let all: Option<Vec<&Key>> = keys.iter().map(Option::as_ref).collect();
    Some(all?.into_iter().fold(Key::of(kind), crate::KeyWriter::key).finish())
}

/// The key of a part after weighing.
fn weighted_key(key: Option<Key>, weight: f32) -> Option<Key> {
    Some(Key::of("*").key(&key?).numbers(std::iter::once(u64::from(weight.to_bits()))).finish())
}

/// The fitted vectorizers of a recipe in their order, each with the counts of all documents.
#[derive(Debug)]
pub(super) struct Kept<'a> {
    stages: Vec<(&'a dyn FittedVectorizer, &'a Csr)>,
    next: Cell<usize>,
}

impl<'a> Kept<'a> {
    /// Pairs the vectorizers of a fitted tree with the counts kept for them.
    pub(super) fn new(body: &'a Fitted, counts: &'a [Csr]) -> Result<Self> {
        let mut stages = Vec::new();
        body.vectorizers(&mut stages);
        if stages.len() != counts.len() {
            return Err(Error::Shape { what: "kept counts", expected: stages.len(), found: counts.len() });
        }
        let stages = stages.into_iter().map(|(_, stage)| stage).zip(counts).collect();
        Ok(Kept { stages, next: Cell::new(0) })
    }

    /// The next one: fitting visits them in their order.
    fn take(&self) -> Option<(&'a dyn FittedVectorizer, &'a Csr)> {
        let at = self.next.replace(self.next.get() + 1);
        self.stages.get(at).copied()
    }
}

/// The planner feeds every stage what it takes, so this is never seen; it is an error and not a panic all the same.
pub(super) fn misfed(name: &str) -> Error {
    Error::data(format!("`{name}` was fed the wrong kind of input"))
}

impl Node {
    /// Fits every stage in turn, each on what the ones before it make of the documents. What the supervised stages
    /// start from is put into `kept`, when there is one: see [`super::held_out`].
    pub(super) fn fit(
        &self,
        flow: Flow<'_>,
        labels: &Labels,
        later: &Later<'_>,
        kept: &mut Option<Vec<Matrix>>,
        run: &Run,
    ) -> Result<Fit> {
        match (self, flow) {
            (Node::Vectorize(params), Flow::Words(tokens, key)) => {
                let name = params.name();
                let key = key.map(|key| stage_key(params.as_ref(), key, run).finish());
                let done = run.shared(
                    key,
                    |(_, matrix): &(_, Matrix)| matrix.bytes(),
                    || {
                        let (stage, matrix) = run.stage(name, None, || params.fit(tokens, run))?;
                        Ok((Arc::<dyn FittedVectorizer>::from(stage), matrix))
                    },
                )?;
                let (stage, matrix) = Arc::unwrap_or_clone(done);
                Ok((Fitted::Vectorize { name, stage, key }, matrix, key))
            }
            (Node::Vectorize(params), Flow::Kept(kept)) => {
                let name = params.name();
                let (before, counts) = kept.take().ok_or_else(|| misfed(name))?;
                let (stage, matrix) = run.stage(name, None, || before.refit(counts, run))?;
                Ok((Fitted::Vectorize { name, stage: stage.into(), key: None }, matrix, None))
            }
            (Node::Project(params), Flow::Matrix(matrix, key)) => {
                let name = params.name();
                let later = later.with_input(key);
                let key = key.map(|key| projection_key(params.as_ref(), key, labels, &later, run));
                let done = run.shared(
                    key,
                    |(_, matrix): &(_, Matrix)| matrix.bytes(),
                    || {
                        let (stage, matrix) = run.stage(name, None, || params.fit(matrix, labels, &later, run))?;
                        Ok((Arc::<dyn FittedProjector>::from(stage), matrix))
                    },
                )?;
                let (stage, matrix) = Arc::unwrap_or_clone(done);
                Ok((Fitted::Project { name, stage, key }, matrix, key))
            }
            (Node::Pipe(parts), mut flow) => {
                let mut fitted = Vec::with_capacity(parts.len());
                let unsupervised = parts.iter().take_while(|part| !part.is_supervised()).count();
                for (at, part) in parts.iter().enumerate() {
                    if at == unsupervised
                        && let (Some(kept), Flow::Matrix(matrix, _)) = (kept.as_mut(), &flow)
                    {
                        kept.push(matrix.clone());
                    }
                    // Behind a supervised stage everything is fitted anew on every fold, so nothing is kept.
                    let nothing = &mut None;
                    let kept = if at == 0 { &mut *kept } else { nothing };
                    let (stage, matrix, key) = {
                        let names =
                            || fitted.iter().fold(later.names(), |names, part: &Fitted| part.feature_names(names));
                        part.fit(flow, labels, &later.with_names(&names), kept, run)?
                    };
                    fitted.push(stage);
                    flow = Flow::Matrix(matrix, key);
                }
                match flow {
                    Flow::Matrix(matrix, key) => Ok((Fitted::Pipe(fitted), matrix, key)),
                    _ => Err(misfed("|")),
                }
            }
            (Node::Sum(parts), flow) => {
                let mut fitted = Vec::with_capacity(parts.len());
                let mut keys = Vec::with_capacity(parts.len());
                let mut joined: Option<Matrix> = None;
                for part in parts {
                    let (stage, matrix, key) = part.fit(flow.clone(), labels, later, kept, run)?;
                    if let Some(kept) = kept.as_mut()
                        && self.is_supervised()
                        && !part.is_supervised()
                    {
                        kept.push(matrix.clone());
                    }
                    fitted.push(stage);
                    keys.push(key);
                    joined = Some(match joined {
                        None => matrix,
                        Some(before) => before.beside(&matrix)?,
                    });
                }
                Ok((Fitted::Sum(fitted), joined.ok_or_else(|| misfed("+"))?, joined_key("+", &keys)))
            }
            (Node::Weighted(part, weight), flow) => {
                let (stage, mut matrix, key) = part.fit(flow, labels, later, kept, run)?;
                run.install(|| matrix.scale(*weight));
                Ok((Fitted::Weighted(Box::new(stage), *weight), matrix, weighted_key(key, *weight)))
            }
            (Node::Vectorize(params), Flow::Matrix(..)) => Err(misfed(params.name())),
            (Node::Project(params), _) => Err(misfed(params.name())),
        }
    }

    /// Takes the fitted tree of this shape out of a store.
    pub(super) fn load(&self, store: &StoreReader<'_>) -> Result<Fitted> {
        let all = |parts: &[Node]| -> Result<Vec<Fitted>> {
            parts.iter().enumerate().map(|(index, part)| part.load(&store.scope(&index.to_string()))).collect()
        };
        Ok(match self {
            Node::Vectorize(params) => {
                Fitted::Vectorize { name: params.name(), stage: params.load(store)?.into(), key: None }
            }
            Node::Project(params) => {
                Fitted::Project { name: params.name(), stage: params.load(store)?.into(), key: None }
            }
            Node::Pipe(parts) => Fitted::Pipe(all(parts)?),
            Node::Sum(parts) => Fitted::Sum(all(parts)?),
            Node::Weighted(part, weight) => Fitted::Weighted(Box::new(part.load(&store.scope("0"))?), *weight),
        })
    }
}

impl Fitted {
    /// The matrix of any documents.
    pub(super) fn transform(&self, flow: Flow<'_>, run: &Run) -> Result<Matrix> {
        Ok(self.apply(flow, run)?.0)
    }

    /// The matrix of any documents, and the key of it.
    fn apply(&self, flow: Flow<'_>, run: &Run) -> Result<(Matrix, Option<Key>)> {
        run.check()?;
        match (self, flow) {
            (Fitted::Vectorize { stage, key, .. }, Flow::Words(tokens, before)) => {
                let key = joined_key("transform", &[*key, before]);
                Ok((Arc::unwrap_or_clone(run.shared(key, Matrix::bytes, || stage.transform(tokens, run))?), key))
            }
            (Fitted::Project { stage, key, .. }, Flow::Matrix(matrix, before)) => {
                let key = joined_key("transform", &[*key, before]);
                Ok((Arc::unwrap_or_clone(run.shared(key, Matrix::bytes, || stage.transform(matrix, run))?), key))
            }
            (Fitted::Pipe(parts), mut flow) => {
                for part in parts {
                    let (matrix, key) = part.apply(flow, run)?;
                    flow = Flow::Matrix(matrix, key);
                }
                match flow {
                    Flow::Matrix(matrix, key) => Ok((matrix, key)),
                    _ => Err(misfed("|")),
                }
            }
            (Fitted::Sum(parts), flow) => {
                let mut keys = Vec::with_capacity(parts.len());
                let mut joined: Option<Matrix> = None;
                for part in parts {
                    let (matrix, key) = part.apply(flow.clone(), run)?;
                    keys.push(key);
                    joined = Some(match joined {
                        None => matrix,
                        Some(before) => before.beside(&matrix)?,
                    });
                }
                Ok((joined.ok_or_else(|| misfed("+"))?, joined_key("+", &keys)))
            }
            (Fitted::Weighted(part, weight), flow) => {
                let (mut matrix, key) = part.apply(flow, run)?;
                run.install(|| matrix.scale(*weight));
                Ok((matrix, weighted_key(key, *weight)))
            }
            (Fitted::Vectorize { name, .. } | Fitted::Project { name, .. }, _) => Err(misfed(name)),
        }
    }

    /// The terms that each document brings to mind by the first stage that reconstructs any: (term, weight), largest
    /// first. `None` when no stage does. `names` is what the sparse columns that come in stand for.
    pub(super) fn reconstruct(
        &self,
        flow: Flow<'_>,
        names: Vec<String>,
        run: &Run,
    ) -> Result<Option<Vec<TermWeights>>> {
        match (self, flow) {
            (Fitted::Project { stage, .. }, Flow::Matrix(matrix, _)) => {
                let name = |(column, weight): (u32, f32)| Some((names.get(column as usize)?.clone(), weight));
                let named = |list: Vec<(u32, f32)>| list.into_iter().filter_map(name).collect();
                Ok(stage.reconstruct(&matrix, run)?.map(|lists| lists.into_iter().map(named).collect()))
            }
            (Fitted::Pipe(parts), mut flow) => {
                let mut names = names;
                for part in parts {
                    if let Some(found) = part.reconstruct(flow.clone(), names.clone(), run)? {
                        return Ok(Some(found));
                    }
                    names = part.feature_names(names);
                    flow = Flow::matrix(part.transform(flow, run)?);
                }
                Ok(None)
            }
            (Fitted::Sum(parts), flow) => {
                for part in parts {
                    if let Some(found) = part.reconstruct(flow.clone(), names.clone(), run)? {
                        return Ok(Some(found));
                    }
                }
                Ok(None)
            }
            (Fitted::Weighted(part, _), flow) => part.reconstruct(flow, names, run),
            _ => Ok(None),
        }
    }

    /// Puts every stage into a store, each under its place in the tree.
    pub(super) fn save(&self, out: &mut StoreWriter) -> Result<()> {
        match self {
            Fitted::Vectorize { stage, .. } => stage.save(out),
            Fitted::Project { stage, .. } => stage.save(out),
            Fitted::Pipe(parts) | Fitted::Sum(parts) => {
                for (index, part) in parts.iter().enumerate() {
                    out.scope(&index.to_string(), |out| part.save(out))?;
                }
                Ok(())
            }
            Fitted::Weighted(part, _) => out.scope("0", |out| part.save(out)),
        }
    }

    /// Documents as seen before the linear stages at the end, what their columns stand for, and the weights of those
    /// columns that score as `weights` do at the very end.
    pub(super) fn before_linear(
        &self,
        flow: Flow<'_>,
        mut weights: Dense,
        run: &Run,
    ) -> Result<(Matrix, Vec<String>, Dense)> {
        let Fitted::Pipe(parts) = self else {
            return Ok((self.transform(flow, run)?, self.feature_names(Vec::new()), weights));
        };
        let mut kept = parts.len();
        while let Some(Fitted::Project { stage, .. }) = parts[..kept].last() {
            let Some(before) = stage.pull_back(&weights)? else { break };
            weights = before;
            kept -= 1;
        }
        let mut flow = flow;
        let mut names = Vec::new();
        for part in &parts[..kept] {
            flow = Flow::matrix(part.transform(flow, run)?);
            names = part.feature_names(names);
        }
        match flow {
            Flow::Matrix(matrix, _) => Ok((matrix, names, weights)),
            _ => Err(misfed("|")),
        }
    }

    /// Whether a stage of that name is in this part.
    fn holds(&self, name: &str) -> bool {
        match self {
            Fitted::Vectorize { name: own, .. } | Fitted::Project { name: own, .. } => *own == name,
            Fitted::Pipe(parts) | Fitted::Sum(parts) => parts.iter().any(|part| part.holds(name)),
            Fitted::Weighted(part, _) => part.holds(name),
        }
    }

    /// What goes into the first projection of that name, and what comes out of it; `None` when there is none.
    pub(super) fn around(&self, name: &str, flow: Flow<'_>, run: &Run) -> Result<Option<(Matrix, Matrix)>> {
        if !self.holds(name) {
            return Ok(None);
        }
        match (self, flow) {
            (Fitted::Project { stage, .. }, Flow::Matrix(before, _)) => {
                let after = stage.transform(before.clone(), run)?;
                Ok(Some((before, after)))
            }
            (Fitted::Pipe(parts), mut flow) => {
                for part in parts {
                    if part.holds(name) {
                        return part.around(name, flow, run);
                    }
                    flow = Flow::matrix(part.transform(flow, run)?);
                }
                Ok(None)
            }
            (Fitted::Sum(parts), flow) => match parts.iter().find(|part| part.holds(name)) {
                Some(part) => part.around(name, flow, run),
                None => Ok(None),
            },
            (Fitted::Weighted(part, _), flow) => part.around(name, flow, run),
            _ => Ok(None),
        }
    }

    /// Name and stage of every vectorizer, in order.
    pub(super) fn vectorizers<'a>(&'a self, list: &mut Vec<(&'static str, &'a dyn FittedVectorizer)>) {
        match self {
            Fitted::Vectorize { name, stage, .. } => list.push((name, stage.as_ref())),
            Fitted::Project { .. } => {}
            Fitted::Pipe(parts) | Fitted::Sum(parts) => parts.iter().for_each(|part| part.vectorizers(list)),
            Fitted::Weighted(part, _) => part.vectorizers(list),
        }
    }

    /// What the sparse columns stand for.
    pub(super) fn feature_names(&self, before: Vec<String>) -> Vec<String> {
        match self {
            Fitted::Vectorize { stage, .. } => stage.feature_names(),
            Fitted::Project { stage, .. } => stage.feature_names(before),
            Fitted::Pipe(parts) => parts.iter().fold(before, |names, part| part.feature_names(names)),
            Fitted::Sum(parts) => parts.iter().flat_map(|part| part.feature_names(before.clone())).collect(),
            Fitted::Weighted(part, _) => part.feature_names(before),
        }
    }

    /// The word vectors of the first stage that has some.
    pub(super) fn word_space(&self) -> Option<&WordSpace> {
        match self {
            Fitted::Vectorize { stage, .. } => stage.word_space(),
            Fitted::Project { .. } => None,
            Fitted::Pipe(parts) | Fitted::Sum(parts) => parts.iter().find_map(Fitted::word_space),
            Fitted::Weighted(part, _) => part.word_space(),
        }
    }

    /// How many columns come out; fails when a stage cannot take what the one before it gives.
    pub(super) fn n_columns(&self, before: usize) -> Result<usize> {
        match self {
            Fitted::Vectorize { stage, .. } => Ok(stage.n_columns()),
            Fitted::Project { stage, .. } => stage.n_columns(before),
            Fitted::Pipe(parts) => parts.iter().try_fold(before, |columns, part| part.n_columns(columns)),
            Fitted::Sum(parts) => {
                let mut sum = 0;
                for part in parts {
                    sum += part.n_columns(before)?;
                }
                Ok(sum)
            }
            Fitted::Weighted(part, _) => part.n_columns(before),
        }
    }

    /// Name and width of every stage in order, for `inspect`.
    pub(super) fn widths(&self, before: usize, list: &mut Vec<(&'static str, usize)>) -> Result<usize> {
        let columns = self.n_columns(before)?;
        match self {
            Fitted::Vectorize { name, .. } | Fitted::Project { name, .. } => list.push((name, columns)),
            Fitted::Pipe(parts) => {
                let mut width = before;
                for part in parts {
                    width = part.widths(width, list)?;
                }
            }
            Fitted::Sum(parts) => {
                for part in parts {
                    part.widths(before, list)?;
                }
            }
            Fitted::Weighted(part, _) => {
                part.widths(before, list)?;
            }
        }
        Ok(columns)
    }
}
