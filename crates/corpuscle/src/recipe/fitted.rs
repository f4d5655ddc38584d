//! The fitted stages between words and scores: what they make of documents, and what they say of themselves.
//!
//! Arrays of a leaf are stored under its place in the tree (`body/0/1`), so the recipe's text alone says how to read them
//! back.

use std::sync::{Arc, OnceLock};

use super::fit::{joined_key, weighted_key, wrong_input};
use crate::matrix::Matrix;
use crate::project::ProjectorModel;
use crate::store::StoreWriter;
use crate::text::{Tokens, WordsParams};
use crate::vectorize::{VectorizerModel, WordSpace};
use crate::{Error, Key, Result, Run};

/// Terms with weights, largest first.
pub type TermWeights = Vec<(String, f32)>;

/// A fitted part of a recipe.
#[derive(Debug)]
pub(super) enum Fitted {
    Vectorize {
        name: &'static str,
        model: Arc<dyn VectorizerModel>,
        /// The view of the documents that it reads, where that is not the recipe's own.
        view: Option<Arc<WordsParams>>,
        key: Option<Key>,
        /// What its columns stand for, made when first asked for: there may be a million.
        names: OnceLock<Vec<String>>,
    },
    Project {
        name: &'static str,
        model: Arc<dyn ProjectorModel>,
        key: Option<Key>,
    },
    Pipe(Vec<Fitted>),
    Sum(Vec<Fitted>),
    Weighted(Box<Fitted>, f32),
}

/// A fitted representation and the view it reads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Vectorizing<'a> {
    pub(super) name: &'static str,
    pub(super) model: &'a dyn VectorizerModel,
    view: Option<&'a WordsParams>,
}

impl Vectorizing<'_> {
    /// The documents as it reads them.
    pub(super) fn tokens<'t>(&self, tokens: &'t Tokens) -> Result<&'t Tokens> {
        self.view.map_or(Ok(tokens), |view| tokens.view(view))
    }
}

/// Documents in the view that a stage reads, with their key where equal work is shared.
pub(super) fn seen<'t>(
    view: Option<&WordsParams>,
    tokens: &'t Tokens,
    key: Option<Key>,
) -> Result<(&'t Tokens, Option<Key>)> {
    let Some(view) = view else { return Ok((tokens, key)) };
    let tokens = tokens.view(view)?;
    Ok((tokens, key.map(|_| tokens.key())))
}

/// What goes into a fitted part, with its key where equal work is shared.
#[derive(Debug, Clone)]
pub(super) enum Input<'a> {
    Words(&'a Tokens, Option<Key>),
    Matrix(Arc<Matrix>, Option<Key>),
}

impl<'a> Input<'a> {
    /// Documents as words.
    pub(super) fn words(tokens: &'a Tokens, run: &Run) -> Self {
        Input::Words(tokens, run.is_sharing().then(|| tokens.key()))
    }

    /// A matrix of which nobody will ask for the same again.
    pub(super) fn matrix(matrix: Matrix) -> Self {
        Input::Matrix(Arc::new(matrix), None)
    }
}

impl Fitted {
    /// The matrix of any documents.
    pub(super) fn transform(&self, input: Input<'_>, run: &Run) -> Result<Matrix> {
        Ok(Arc::unwrap_or_clone(self.apply(input, run)?.0))
    }

    /// The matrix of any documents, and the key of it.
    pub(super) fn apply(&self, input: Input<'_>, run: &Run) -> Result<(Arc<Matrix>, Option<Key>)> {
        run.check()?;
        match (self, input) {
            (Fitted::Vectorize { model, view, key, .. }, Input::Words(tokens, before)) => {
                let (tokens, before) = seen(view.as_deref(), tokens, before)?;
                let key = joined_key("transform", &[*key, before]);
                Ok((run.shared(key, Matrix::bytes, || model.transform(tokens, run))?, key))
            }
            (Fitted::Project { model, key, .. }, Input::Matrix(matrix, before)) => {
                let key = joined_key("transform", &[*key, before]);
                Ok((run.shared(key, Matrix::bytes, || model.transform(&matrix, run))?, key))
            }
            (Fitted::Pipe(parts), mut input) => {
                for part in parts {
                    let (matrix, key) = part.apply(input, run)?;
                    input = Input::Matrix(matrix, key);
                }
                match input {
                    Input::Matrix(matrix, key) => Ok((matrix, key)),
                    Input::Words(..) => Err(wrong_input("|")),
                }
            }
            (Fitted::Sum(parts), input) => {
                let mut keys = Vec::with_capacity(parts.len());
                let mut joined: Option<Arc<Matrix>> = None;
                for part in parts {
                    let (matrix, key) = part.apply(input.clone(), run)?;
                    keys.push(key);
                    joined = Some(match joined {
                        None => matrix,
                        Some(before) => Arc::new(before.beside(&matrix)?),
                    });
                }
                Ok((joined.ok_or_else(|| wrong_input("+"))?, joined_key("+", &keys)))
            }
            (Fitted::Weighted(part, weight), input) => {
                let (matrix, key) = part.apply(input, run)?;
                let mut matrix = Arc::unwrap_or_clone(matrix);
                run.install(|| matrix.scale(*weight));
                Ok((Arc::new(matrix), weighted_key(key, *weight)))
            }
            (Fitted::Vectorize { name, .. } | Fitted::Project { name, .. }, _) => Err(wrong_input(name)),
        }
    }

    /// The terms that each document brings to mind by the first stage that reconstructs any: (term, weight), largest
    /// first. `None` when no stage does. `names` is what the sparse columns that come in stand for.
    pub(super) fn reconstruct(
        &self,
        input: Input<'_>,
        names: Vec<String>,
        run: &Run,
    ) -> Result<Option<Vec<TermWeights>>> {
        match (self, input) {
            (Fitted::Project { model, .. }, Input::Matrix(matrix, _)) => {
                let name = |(column, weight): (u32, f32)| Some((names.get(column as usize)?.clone(), weight));
                let named = |list: Vec<(u32, f32)>| list.into_iter().filter_map(name).collect();
                Ok(model.reconstruct(&matrix, run)?.map(|lists| lists.into_iter().map(named).collect()))
            }
            (Fitted::Pipe(parts), mut input) => {
                let mut names = names;
                for part in parts {
                    if let Some(found) = part.reconstruct(input.clone(), names.clone(), run)? {
                        return Ok(Some(found));
                    }
                    names = part.feature_names(names);
                    input = Input::matrix(part.transform(input, run)?);
                }
                Ok(None)
            }
            (Fitted::Sum(parts), input) => {
                for part in parts {
                    if let Some(found) = part.reconstruct(input.clone(), names.clone(), run)? {
                        return Ok(Some(found));
                    }
                }
                Ok(None)
            }
            (Fitted::Weighted(part, _), input) => part.reconstruct(input, names, run),
            _ => Ok(None),
        }
    }

    /// Puts every stage into a store, each under its place in the tree.
    pub(super) fn save(&self, out: &mut StoreWriter) -> Result<()> {
        match self {
            Fitted::Vectorize { model, .. } => model.save(out),
            Fitted::Project { model, .. } => model.save(out),
            Fitted::Pipe(parts) | Fitted::Sum(parts) => {
                for (index, part) in parts.iter().enumerate() {
                    out.scope(&index.to_string(), |out| part.save(out))?;
                }
                Ok(())
            }
            Fitted::Weighted(part, _) => out.scope("0", |out| part.save(out)),
        }
    }

    /// The parts inside, in order.
    fn parts(&self) -> &[Fitted] {
        match self {
            Fitted::Vectorize { .. } | Fitted::Project { .. } => &[],
            Fitted::Pipe(parts) | Fitted::Sum(parts) => parts,
            Fitted::Weighted(part, _) => std::slice::from_ref(part),
        }
    }

    /// Whether a projection in this part is such a one.
    fn holds(&self, such: fn(&dyn ProjectorModel) -> bool) -> bool {
        match self {
            Fitted::Project { model, .. } => such(model.as_ref()),
            other => other.parts().iter().any(|part| part.holds(such)),
        }
    }

    /// What goes into the first projection that is such a one, and what comes out of it; `None` when there is none.
    pub(super) fn around(
        &self,
        such: fn(&dyn ProjectorModel) -> bool,
        input: Input<'_>,
        run: &Run,
    ) -> Result<Option<(Arc<Matrix>, Matrix)>> {
        if !self.holds(such) {
            return Ok(None);
        }
        match (self, input) {
            (Fitted::Project { model, .. }, Input::Matrix(before, _)) => {
                let after = model.transform(&before, run)?;
                Ok(Some((before, after)))
            }
            (Fitted::Pipe(parts), mut input) => {
                for part in parts {
                    if part.holds(such) {
                        return part.around(such, input, run);
                    }
                    input = Input::matrix(part.transform(input, run)?);
                }
                Ok(None)
            }
            (Fitted::Sum(parts), input) => match parts.iter().find(|part| part.holds(such)) {
                Some(part) => part.around(such, input, run),
                None => Ok(None),
            },
            (Fitted::Weighted(part, _), input) => part.around(such, input, run),
            _ => Ok(None),
        }
    }

    /// Every vectorizer, in order.
    pub(super) fn vectorizers<'a>(&'a self, list: &mut Vec<Vectorizing<'a>>) {
        match self {
            Fitted::Vectorize { name, model, view, .. } => {
                list.push(Vectorizing { name, model: model.as_ref(), view: view.as_deref() });
            }
            other => other.parts().iter().for_each(|part| part.vectorizers(list)),
        }
    }

    /// What the projections found in fitting, in order: (stage, what, value).
    pub(super) fn notes(&self, list: &mut Vec<(&'static str, &'static str, String)>) {
        match self {
            Fitted::Project { name, model, .. } => {
                list.extend(model.notes().into_iter().map(|(what, value)| (*name, what, value)));
            }
            other => other.parts().iter().for_each(|part| part.notes(list)),
        }
    }

    /// What the sparse columns stand for.
    pub(super) fn feature_names(&self, before: Vec<String>) -> Vec<String> {
        match self {
            Fitted::Vectorize { model, .. } => model.feature_names(),
            Fitted::Project { model, .. } => model.feature_names(before),
            Fitted::Pipe(parts) => parts.iter().fold(before, |names, part| part.feature_names(names)),
            Fitted::Sum(parts) => parts.iter().flat_map(|part| part.feature_names(before.clone())).collect(),
            Fitted::Weighted(part, _) => part.feature_names(before),
        }
    }

    /// The word vectors of the first stage that has some.
    pub(super) fn word_space(&self) -> Option<&WordSpace> {
        match self {
            Fitted::Vectorize { model, .. } => model.word_space(),
            other => other.parts().iter().find_map(Fitted::word_space),
        }
    }

    /// How many columns come out of `before` columns; fails when a stage cannot take what the one before it gives.
    pub(super) fn n_columns(&self, before: usize) -> Result<usize> {
        match self {
            Fitted::Vectorize { model, .. } => Ok(model.n_columns()),
            Fitted::Project { model, .. } if model.n_inputs() == before => Ok(model.n_columns()),
            Fitted::Project { model, .. } => {
                Err(Error::Shape { what: "columns for a stage", expected: model.n_inputs(), found: before })
            }
            Fitted::Pipe(parts) => parts.iter().try_fold(before, |columns, part| part.n_columns(columns)),
            Fitted::Sum(parts) => parts.iter().try_fold(0, |sum, part| Ok(sum + part.n_columns(before)?)),
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
            Fitted::Sum(_) | Fitted::Weighted(..) => {
                for part in self.parts() {
                    part.widths(before, list)?;
                }
            }
        }
        Ok(columns)
    }
}
