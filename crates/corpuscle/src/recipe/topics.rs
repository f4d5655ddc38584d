//! The topics of a model: of its first stage that has some.

use super::fitted::{Fitted, Input, seen};
use super::model::Model;
use crate::matrix::Dense;
use crate::text::Tokens;
use crate::vectorize::TopicTable;
use crate::{Result, Run};

impl Model {
    /// The words of the topics of the recipe's first stage that has some, and that stage's name: `dirichlet`, the clusters of
    /// `scdv` and `bowv`, the dimensions of `lsi`. `None` when no stage has.
    pub fn topics(&self) -> Option<(&'static str, TopicTable)> {
        self.body().topics(Vec::new())
    }

    /// How much of each topic of [`Model::topics`] is in each document; every row adds up to 1.
    pub fn topic_shares(&self, tokens: &Tokens, run: &Run) -> Result<Option<Dense>> {
        self.body().topic_shares(&Input::words(tokens, run), run)
    }
}

impl Fitted {
    fn topics(&self, names: Vec<String>) -> Option<(&'static str, TopicTable)> {
        match self {
            Fitted::Vectorize { name, model, .. } => Some((name, model.topics()?)),
            Fitted::Project { name, model, .. } => Some((name, model.topics(names)?)),
            Fitted::Pipe(parts) => {
                let mut names = names;
                for part in parts {
                    if let Some(found) = part.topics(names.clone()) {
                        return Some(found);
                    }
                    names = part.feature_names(names);
                }
                None
            }
            Fitted::Sum(parts) => parts.iter().find_map(|part| part.topics(names.clone())),
            Fitted::Weighted(part, _) => part.topics(names),
        }
    }

    fn topic_shares(&self, input: &Input<'_>, run: &Run) -> Result<Option<Dense>> {
        match (self, input) {
            (Fitted::Vectorize { model, view, .. }, Input::Words(tokens, _)) => {
                model.topic_shares(seen(view.as_deref(), tokens, None)?.0, run)
            }
            (Fitted::Project { model, .. }, Input::Matrix(x, _)) => model.topic_shares(x, run),
            (Fitted::Pipe(parts), input) => {
                let mut input = input.clone();
                for part in parts {
                    if let Some(found) = part.topic_shares(&input, run)? {
                        return Ok(Some(found));
                    }
                    let (matrix, key) = part.apply(input, run)?;
                    input = Input::Matrix(matrix, key);
                }
                Ok(None)
            }
            (Fitted::Sum(parts), input) => {
                for part in parts {
                    if let Some(found) = part.topic_shares(input, run)? {
                        return Ok(Some(found));
                    }
                }
                Ok(None)
            }
            (Fitted::Weighted(part, _), input) => part.topic_shares(input, run),
            _ => Ok(None),
        }
    }
}
