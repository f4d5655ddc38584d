//! What a recipe makes of documents whose labels it has not seen, fold by fold.
//!
//! Held-out scores say how sure a classifier may be only if nothing before it knew the held-out labels. Stages that
//! learn from labels (`ig`, `sprinkle`, `discriminant` …) are therefore fitted anew on every fold, and whatever follows
//! them; the stages before them know no labels and are fitted once. [`Node::fit`](super::plan::Node) puts aside
//! the matrices at which the supervised part of a recipe starts, in the order of the walk below.

use super::fit::{Fitted, misfed};
use super::later::Later;
use super::plan::Node;
use super::stage::Projector;
use crate::corpus::Labels;
use crate::matrix::Matrix;
use crate::{Result, Run};

/// The documents of a recipe's training, to be cut into folds.
pub(super) struct HeldOut<'a> {
    /// The recipe between words and scores, unfitted and fitted.
    pub(super) body: (&'a Node, &'a Fitted),
    /// Where its supervised part starts; `None` when it has none.
    pub(super) kept: Option<&'a [Matrix]>,
    /// What comes out of the whole body.
    pub(super) x: &'a Matrix,
    pub(super) labels: &'a Labels,
    pub(super) weights: Option<&'a [f32]>,
    pub(super) later: Later<'a>,
}

/// One fold: documents to fit a classifier on, and documents to score.
pub(super) struct Fold {
    pub(super) x: Matrix,
    pub(super) labels: Labels,
    pub(super) weights: Option<Vec<f32>>,
    pub(super) held: Matrix,
}

impl HeldOut<'_> {
    /// The fold that learns from the labelled rows `rest` and is tested on the rows `held`.
    pub(super) fn fold(&self, rest: &[usize], held: &[usize], run: &Run) -> Result<Fold> {
        let Some(kept) = self.kept else {
            return Ok(self.selected(rest, (self.x.select_rows(rest), self.x.select_rows(held))));
        };
        // Documents without labels shape a space too.
        let mut rows = rest.to_vec();
        rows.extend((0..self.labels.len()).filter(|&row| self.labels.of(row).is_none()));
        rows.sort_unstable();
        let labels = self.labels.select(&rows);
        let mut walk =
            Walk { kept: kept.iter(), rows: &rows, held, labels: &labels, later: Later::at(&self.later, &rows), run };
        let matrices = walk.node(self.body.0, self.body.1, None)?;
        Ok(self.selected(&rows, matrices))
    }

    fn selected(&self, rows: &[usize], (x, held): (Matrix, Matrix)) -> Fold {
        let weights = self.weights.map(|weights| rows.iter().map(|&row| weights[row]).collect());
        Fold { x, labels: self.labels.select(rows), weights, held }
    }
}

/// Goes through the recipe with the rows of one fold.
struct Walk<'a> {
    kept: std::slice::Iter<'a, Matrix>,
    rows: &'a [usize],
    held: &'a [usize],
    labels: &'a Labels,
    later: super::later::Selected<'a>,
    run: &'a Run,
}

/// Rows to learn from and rows held out, as one stage leaves them.
type Pair = (Matrix, Matrix);

impl Walk<'_> {
    fn next_kept(&mut self) -> Result<Pair> {
        let matrix = self.kept.next().ok_or_else(|| misfed("a fold"))?;
        Ok((matrix.select_rows(self.rows), matrix.select_rows(self.held)))
    }

    /// `flow` is `None` as long as no stage before this one has learnt from labels.
    fn node(&mut self, node: &Node, fitted: &Fitted, flow: Option<Pair>) -> Result<Pair> {
        if flow.is_none() && !node.is_supervised() {
            return self.next_kept();
        }
        match (node, fitted, flow) {
            (Node::Project(params), Fitted::Project { stage, .. }, Some((x, held))) => {
                let known = stage.found();
                let params: &dyn Projector = known.as_deref().unwrap_or(params.as_ref());
                let (stage, x) = params.fit(x, self.labels, &self.later.get(), self.run)?;
                Ok((x, stage.transform(held, self.run)?))
            }
            (Node::Pipe(parts), Fitted::Pipe(stages), mut flow) => {
                let mut start = 0;
                if flow.is_none() {
                    start = parts.iter().take_while(|part| !part.is_supervised()).count();
                    if start > 0 {
                        flow = Some(self.next_kept()?);
                    }
                }
                for (part, stage) in parts.iter().zip(stages).skip(start) {
                    flow = Some(self.node(part, stage, flow)?);
                }
                flow.ok_or_else(|| misfed("|"))
            }
            (Node::Sum(parts), Fitted::Sum(stages), flow) => {
                let mut joined: Option<Pair> = None;
                for (part, stage) in parts.iter().zip(stages) {
                    let (x, held) = self.node(part, stage, flow.clone())?;
                    joined = Some(match joined {
                        None => (x, held),
                        Some((before, held_before)) => (before.beside(&x)?, held_before.beside(&held)?),
                    });
                }
                joined.ok_or_else(|| misfed("+"))
            }
            (Node::Weighted(part, weight), Fitted::Weighted(stage, _), flow) => {
                let (mut x, mut held) = self.node(part, stage, flow)?;
                self.run.install(|| {
                    x.scale(*weight);
                    held.scale(*weight);
                });
                Ok((x, held))
            }
            _ => Err(misfed("a fold")),
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use crate::corpus::Document;
    use crate::recipe::{Corpus, Recipe};
    use crate::{Result, Run};

    /// Documents whose labels mean nothing: whoever is sure of them has seen them.
    fn noise(recipe: &Recipe, run: &Run) -> Result<Corpus> {
        let mut rng = run.rng(7);
        let documents: Vec<_> = (0..300)
            .map(|n| {
                let text: String = (0..12).map(|_| format!("w{} ", rng.random_range(0..300))).collect();
                Ok(Document::new(n.to_string(), text).labelled(["a", "b"][rng.random_range(0..2usize)]))
            })
            .collect();
        Corpus::read(documents, recipe.words(), run)
    }

    #[test]
    fn probabilities_behind_supervised_stages_are_not_too_sure() -> Result<()> {
        let run = Run::new(42, 1)?;
        for text in [
            "counts | sprinkle(rank=20, terms=8, adaptive=false) | svm",
            "counts | ig(100) | svm",
            "(counts + counts | sprinkle(rank=20) * 2) | normalize | svm",
        ] {
            let recipe = Recipe::parse(text)?;
            let corpus = noise(&recipe, &run)?;
            let model = recipe.fit(&corpus, &run)?;
            let texts: Vec<String> =
                (0..200).map(|n| (0..12).map(|w| format!("w{} ", (n * n + w * 41) % 300)).collect()).collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let Some(probabilities) = model.predict(&texts, &run)?.probabilities else {
                return Err(crate::Error::data("no probabilities"));
            };
            let surest = (0..texts.len()).map(|row| probabilities.row(row).iter().copied().fold(0.0, f32::max));
            let mean = surest.sum::<f32>() / texts.len() as f32;
            assert!(mean < 0.65, "{text}: the labels are noise, and yet the model is {mean:.2} sure");
        }
        Ok(())
    }
}
