//! What a model has learnt about terms: which are near each other, and which the labels drew together or apart.

use serde::Serialize;

use super::arguments::nearest as nearest_name;
use super::fitted::Fitted;
use super::model::Model;
use crate::project::{NearTerm, ProjectorModel};
use crate::{Error, Result, Run};

/// A term near another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NearWord {
    /// The term.
    pub term: String,
    /// Cosine in the matrix as it came, when the stage has kept it.
    pub before: Option<f32>,
    /// Cosine after the stage.
    pub after: f32,
}

/// Two terms whose distance a stage has changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TermPair {
    /// One term.
    pub first: String,
    /// The other.
    pub second: String,
    /// Their cosine in the matrix as it came.
    pub before: f32,
    /// Their cosine after the stage.
    pub after: f32,
}

/// The terms near one term.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Neighbourhood {
    /// The term as the model knows it: folded and stemmed as its recipe says.
    pub term: String,
    /// The stage that compares terms.
    pub stage: &'static str,
    /// The nearest before the stage, nearest first; empty when the stage has not kept them.
    pub before: Vec<NearWord>,
    /// The nearest after it, nearest first.
    pub after: Vec<NearWord>,
}

impl Model {
    /// The `count` terms nearest to a word by the recipe's first stage that compares terms (`lsi`, `sprinkle`): before
    /// that stage, where it has kept them, and after it. `None` when no stage does.
    pub fn near_terms(&self, word: &str, count: usize, run: &Run) -> Result<Option<Neighbourhood>> {
        let Some((name, stage, names)) = self.body().comparing(Vec::new()) else { return Ok(None) };
        let column = self.column(word, &names, run)?;
        let term = names[column].clone();
        let named = |near: &NearTerm| {
            let term = names.get(near.column as usize)?.clone();
            Some(NearWord { term, before: Some(near.before), after: near.after })
        };
        if let Some(shift) = stage.term_shift() {
            let Some(near) = shift.near(column as u32) else {
                return Err(Error::data(format!(
                    "`{term}` is not among the terms that `{name}` has compared: those are the heaviest ones"
                )));
            };
            let list = |of: fn(&NearTerm) -> f32| {
                let mut near = near.to_vec();
                near.retain(|near| of(near) > 0.0);
                near.sort_by(|a, b| of(b).total_cmp(&of(a)).then(a.column.cmp(&b.column)));
                near.iter().take(count).filter_map(named).collect::<Vec<_>>()
            };
            let (before, after) = (list(|near| near.before), list(|near| near.after));
            return Ok(Some(Neighbourhood { term, stage: name, before, after }));
        }
        let Some(mut vectors) = stage.term_vectors() else { return Ok(None) };
        for row in 0..vectors.rows() {
            let length = vectors.row(row).iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>().sqrt();
            let scale = if length > 0.0 { length.recip() as f32 } else { 0.0 };
            vectors.row_mut(row).iter_mut().for_each(|value| *value *= scale);
        }
        let own = vectors.row(column);
        let cosine = |row: usize| vectors.row(row).iter().zip(own).map(|(a, b)| a * b).sum::<f32>();
        let mut after: Vec<(usize, f32)> =
            (0..names.len().min(vectors.rows())).filter(|&row| row != column).map(|row| (row, cosine(row))).collect();
        after.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let after = after.into_iter().take(count).filter(|&(_, cosine)| cosine > 0.0);
        let after = after.map(|(row, after)| NearWord { term: names[row].clone(), before: None, after }).collect();
        Ok(Some(Neighbourhood { term, stage: name, before: Vec::new(), after }))
    }

    /// The pairs of terms that labels drew together most and apart most, `count` of each; `None` when no stage knows.
    pub fn shifted_pairs(&self, count: usize) -> Option<[Vec<TermPair>; 2]> {
        let (_, stage, names) = self.body().comparing(Vec::new())?;
        let named = |(first, near): &(u32, NearTerm)| {
            let first = names.get(*first as usize)?.clone();
            let second = names.get(near.column as usize)?.clone();
            Some(TermPair { first, second, before: near.before, after: near.after })
        };
        let pairs = stage.term_shift()?.pairs(count);
        Some(pairs.map(|pairs| pairs.iter().filter_map(named).collect()))
    }

    /// How close any two words are before and after the stage that labels draw terms together in; `None` when no stage knows of
    /// these two.
    pub fn term_pair(&self, first: &str, second: &str, run: &Run) -> Result<Option<TermPair>> {
        let Some((_, stage, names)) = self.body().comparing(Vec::new()) else { return Ok(None) };
        let column = |word: &str| Ok::<_, Error>(self.column(word, &names, run)? as u32);
        let (one, other) = (column(first)?, column(second)?);
        let near = stage.term_shift().and_then(|shift| shift.pair(one, other));
        let pair = |near: NearTerm| TermPair {
            first: names[one as usize].clone(),
            second: names[other as usize].clone(),
            before: near.before,
            after: near.after,
        };
        Ok(near.map(pair))
    }

    /// The column of a word, cut and stemmed as the recipe does it.
    fn column(&self, word: &str, names: &[String], run: &Run) -> Result<usize> {
        let tokens = self.recipe().words().tokenize(&[word], run)?;
        let known = |name: &str| names.iter().position(|known| known == name);
        let found = tokens.words(0).find_map(known).or_else(|| known(word));
        found.ok_or_else(|| {
            let hint = nearest_name(word, names.iter().map(String::as_str));
            let hint = hint.map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
            Error::data(format!("the model does not know the word `{word}`{hint}"))
        })
    }
}

impl Fitted {
    /// The first stage that compares terms, its name, and what the columns that go into it stand for.
    fn comparing(&self, names: Vec<String>) -> Option<(&'static str, &dyn ProjectorModel, Vec<String>)> {
        match self {
            Fitted::Vectorize { .. } => None,
            Fitted::Project { name, model, .. } => {
                let compares = model.term_shift().is_some() || model.term_vectors().is_some();
                compares.then_some((name, model.as_ref(), names))
            }
            Fitted::Pipe(parts) => {
                let mut names = names;
                for part in parts {
                    if let Some(found) = part.comparing(names.clone()) {
                        return Some(found);
                    }
                    names = part.feature_names(names);
                }
                None
            }
            Fitted::Sum(parts) => parts.iter().find_map(|part| part.comparing(names.clone())),
            Fitted::Weighted(part, _) => part.comparing(names),
        }
    }
}
