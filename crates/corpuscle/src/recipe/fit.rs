//! Fitting and applying the part of a recipe between words and scores.
//!
//! The fitted tree mirrors the recipe's: the same pipes, sums and weights with fitted stages at the leaves. Arrays of a
//! leaf are stored under its place in the tree (`body/0/1`), so the recipe's text alone says how to read them back.

use std::cell::Cell;

use super::later::Later;
use super::plan::Node;
use super::stage::{FittedProjector, FittedVectorizer};
use crate::corpus::Labels;
use crate::matrix::{Csr, Dense, Matrix};
use crate::store::{StoreReader, StoreWriter};
use crate::text::Tokens;
use crate::vectorize::WordSpace;
use crate::{Error, Result, Run};

/// Terms with weights, largest first.
pub type TermWeights = Vec<(String, f32)>;

/// A fitted part of a recipe.
#[derive(Debug)]
pub(super) enum Fitted {
    Vectorize { name: &'static str, stage: Box<dyn FittedVectorizer> },
    Project { name: &'static str, stage: Box<dyn FittedProjector> },
    Pipe(Vec<Fitted>),
    Sum(Vec<Fitted>),
    Weighted(Box<Fitted>, f32),
}

/// What flows from part to part.
#[derive(Debug, Clone)]
pub(super) enum Flow<'a> {
    Words(&'a Tokens),
    Matrix(Matrix),
    /// Documents kept as counts, to fit the same stages again.
    Kept(&'a Kept<'a>),
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
    ) -> Result<(Fitted, Matrix)> {
        match (self, flow) {
            (Node::Vectorize(params), Flow::Words(tokens)) => {
                let name = params.name();
                let (stage, matrix) = run.stage(name, None, || params.fit(tokens, run))?;
                Ok((Fitted::Vectorize { name, stage }, matrix))
            }
            (Node::Vectorize(params), Flow::Kept(kept)) => {
                let name = params.name();
                let (before, counts) = kept.take().ok_or_else(|| misfed(name))?;
                let (stage, matrix) = run.stage(name, None, || before.refit(counts, run))?;
                Ok((Fitted::Vectorize { name, stage }, matrix))
            }
            (Node::Project(params), Flow::Matrix(matrix)) => {
                let name = params.name();
                let (stage, matrix) = run.stage(name, None, || params.fit(matrix, labels, later, run))?;
                Ok((Fitted::Project { name, stage }, matrix))
            }
            (Node::Pipe(parts), mut flow) => {
                let mut fitted = Vec::with_capacity(parts.len());
                let unsupervised = parts.iter().take_while(|part| !part.is_supervised()).count();
                for (at, part) in parts.iter().enumerate() {
                    if at == unsupervised
                        && let (Some(kept), Flow::Matrix(matrix)) = (kept.as_mut(), &flow)
                    {
                        kept.push(matrix.clone());
                    }
                    // Behind a supervised stage everything is fitted anew on every fold, so nothing is kept.
                    let nothing = &mut None;
                    let kept = if at == 0 { &mut *kept } else { nothing };
                    let (stage, matrix) = {
                        let names =
                            || fitted.iter().fold(later.names(), |names, part: &Fitted| part.feature_names(names));
                        part.fit(flow, labels, &later.with_names(&names), kept, run)?
                    };
                    fitted.push(stage);
                    flow = Flow::Matrix(matrix);
                }
                match flow {
                    Flow::Matrix(matrix) => Ok((Fitted::Pipe(fitted), matrix)),
                    _ => Err(misfed("|")),
                }
            }
            (Node::Sum(parts), flow) => {
                let mut fitted = Vec::with_capacity(parts.len());
                let mut joined: Option<Matrix> = None;
                for part in parts {
                    let (stage, matrix) = part.fit(flow.clone(), labels, later, kept, run)?;
                    if let Some(kept) = kept.as_mut()
                        && self.is_supervised()
                        && !part.is_supervised()
                    {
                        kept.push(matrix.clone());
                    }
                    fitted.push(stage);
                    joined = Some(match joined {
                        None => matrix,
                        Some(before) => before.beside(&matrix)?,
                    });
                }
                Ok((Fitted::Sum(fitted), joined.ok_or_else(|| misfed("+"))?))
            }
            (Node::Weighted(part, weight), flow) => {
                let (stage, mut matrix) = part.fit(flow, labels, later, kept, run)?;
                run.install(|| matrix.scale(*weight));
                Ok((Fitted::Weighted(Box::new(stage), *weight), matrix))
            }
            (Node::Vectorize(params), Flow::Matrix(_)) => Err(misfed(params.name())),
            (Node::Project(params), _) => Err(misfed(params.name())),
        }
    }

    /// Takes the fitted tree of this shape out of a store.
    pub(super) fn load(&self, store: &StoreReader<'_>) -> Result<Fitted> {
        let all = |parts: &[Node]| -> Result<Vec<Fitted>> {
            parts.iter().enumerate().map(|(index, part)| part.load(&store.scope(&index.to_string()))).collect()
        };
        Ok(match self {
            Node::Vectorize(params) => Fitted::Vectorize { name: params.name(), stage: params.load(store)? },
            Node::Project(params) => Fitted::Project { name: params.name(), stage: params.load(store)? },
            Node::Pipe(parts) => Fitted::Pipe(all(parts)?),
            Node::Sum(parts) => Fitted::Sum(all(parts)?),
            Node::Weighted(part, weight) => Fitted::Weighted(Box::new(part.load(&store.scope("0"))?), *weight),
        })
    }
}

impl Fitted {
    /// The matrix of any documents.
    pub(super) fn transform(&self, flow: Flow<'_>, run: &Run) -> Result<Matrix> {
        run.check()?;
        match (self, flow) {
            (Fitted::Vectorize { stage, .. }, Flow::Words(tokens)) => stage.transform(tokens, run),
            (Fitted::Project { stage, .. }, Flow::Matrix(matrix)) => stage.transform(matrix, run),
            (Fitted::Pipe(parts), mut flow) => {
                for part in parts {
                    flow = Flow::Matrix(part.transform(flow, run)?);
                }
                match flow {
                    Flow::Matrix(matrix) => Ok(matrix),
                    _ => Err(misfed("|")),
                }
            }
            (Fitted::Sum(parts), flow) => {
                let mut joined: Option<Matrix> = None;
                for part in parts {
                    let matrix = part.transform(flow.clone(), run)?;
                    joined = Some(match joined {
                        None => matrix,
                        Some(before) => before.beside(&matrix)?,
                    });
                }
                joined.ok_or_else(|| misfed("+"))
            }
            (Fitted::Weighted(part, weight), flow) => {
                let mut matrix = part.transform(flow, run)?;
                run.install(|| matrix.scale(*weight));
                Ok(matrix)
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
            (Fitted::Project { stage, .. }, Flow::Matrix(matrix)) => {
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
                    flow = Flow::Matrix(part.transform(flow, run)?);
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
            flow = Flow::Matrix(part.transform(flow, run)?);
            names = part.feature_names(names);
        }
        match flow {
            Flow::Matrix(matrix) => Ok((matrix, names, weights)),
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
            (Fitted::Project { stage, .. }, Flow::Matrix(before)) => {
                let after = stage.transform(before.clone(), run)?;
                Ok(Some((before, after)))
            }
            (Fitted::Pipe(parts), mut flow) => {
                for part in parts {
                    if part.holds(name) {
                        return part.around(name, flow, run);
                    }
                    flow = Flow::Matrix(part.transform(flow, run)?);
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
            Fitted::Vectorize { name, stage } => list.push((name, stage.as_ref())),
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
