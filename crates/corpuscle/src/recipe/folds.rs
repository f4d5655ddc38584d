//! Documents as a recipe makes them when some of their labels are hidden, and the classifier as a judge.
//!
//! Held-out documents tell something only if nothing before knew their labels. A [`Trace`] says how a matrix came to be: stages
//! that know no labels are not done again, their rows are picked; stages that learn from labels, and whatever follows them, are
//! fitted anew without the held-out ones, with the values that the fit on all documents found in place of `auto`.
//! [`Target::folds`] walks over the folds.

use std::sync::Arc;

use super::erase::{AnyClassifier, AnyProjector};
use crate::corpus::Labels;
use crate::matrix::{Dense, Matrix};
use crate::project::{ColumnNames, Fold, Judge, Refitted, Target, Upstream};
use crate::{Error, KeyWriter, Result, Run};

/// How a matrix came to be.
pub(super) enum Trace {
    /// Without labels: its rows can be picked.
    Rows(Arc<Matrix>, ColumnNames),
    /// By a stage that is fitted anew on what its input becomes.
    Stage(Arc<dyn AnyProjector>, Arc<Trace>),
    /// By parts side by side.
    Beside(Vec<Arc<Trace>>),
    /// By weighing a part.
    Weighted(Arc<Trace>, f32),
    /// By a member of a vote, whose stages are judged by its own classifier.
    Member(Arc<Trace>, Arc<dyn AnyClassifier>),
}

impl std::fmt::Debug for Trace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Trace::Rows(matrix, _) => write!(f, "Rows({})", matrix.rows()),
            Trace::Stage(stage, before) => write!(f, "{before:?} | {}", stage.name()),
            Trace::Beside(parts) => write!(f, "{parts:?}"),
            Trace::Weighted(part, weight) => write!(f, "{part:?} * {weight}"),
            Trace::Member(part, classifier) => write!(f, "{part:?} | {}", classifier.name()),
        }
    }
}

impl Trace {
    /// Whether no label had a part in it.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self, Trace::Rows(..))
    }
}

/// The documents of a training, to be made anew fold by fold.
pub(super) struct Documents<'a> {
    pub(super) trace: &'a Trace,
    pub(super) labels: &'a Labels,
    pub(super) weights: Option<&'a [f32]>,
    pub(super) judge: Option<&'a dyn Judge>,
}

/// One fold while it goes through the stages.
struct Part<'a> {
    rows: &'a [usize],
    held: &'a [usize],
    labels: Labels,
    weights: Option<Vec<f32>>,
    judge: Option<&'a dyn Judge>,
    run: &'a Run,
}

impl Documents<'_> {
    fn made(&self, trace: &Trace, rows: &[usize], held: &[usize], run: &Run) -> Result<Refitted> {
        let weights = self.weights.map(|weights| rows.iter().map(|&row| weights[row]).collect());
        Part { rows, held, labels: self.labels.select(rows), weights, judge: self.judge, run }.of(trace)
    }
}

impl Upstream for Documents<'_> {
    fn fold(&self, rows: &[usize], held: &[usize], run: &Run) -> Result<Refitted> {
        self.made(self.trace, rows, held, run)
    }

    /// Only that part is fitted anew.
    fn fold_part(&self, part: usize, rows: &[usize], held: &[usize], run: &Run) -> Result<Refitted> {
        match self.trace {
            Trace::Beside(parts) if part < parts.len() => self.made(&parts[part], rows, held, run),
            _ => Err(Error::data("documents that are one part have no others")),
        }
    }
}

impl Part<'_> {
    fn of(&self, trace: &Trace) -> Result<Refitted> {
        match trace {
            Trace::Rows(matrix, names) => Ok(Refitted {
                x: matrix.select_rows(self.rows),
                held: matrix.select_rows(self.held),
                names: Some(Arc::clone(names)),
                parts: Vec::new(),
            }),
            Trace::Stage(stage, before) => {
                let before = self.of(before)?;
                let mut target = Target::new(&self.labels).with_weights(self.weights.as_deref());
                // The columns of a fold are its own: `ig` keeps others than it keeps of all documents.
                if let Some(names) = &before.names {
                    target = target.with_names(names);
                }
                if let Some(judge) = self.judge {
                    target = target.with_judge(judge);
                }
                // Held-out rows go through a stage that has not seen their labels: the rows of the fit itself would be too well separated.
                let (fitted, x) = stage.fit_any(&before.x, &target, self.run)?;
                let held = fitted.model.transform(&before.held, self.run)?;
                let names = before.names.map(|names| {
                    let model = Arc::clone(&fitted.model);
                    Arc::new(move || model.feature_names(names())) as ColumnNames
                });
                Ok(Refitted { x, held, names, parts: Vec::new() })
            }
            Trace::Beside(parts) => {
                let parts = parts.iter().map(|part| self.of(part)).collect::<Result<Vec<_>>>()?;
                let widths = parts.iter().map(|part| part.x.widths()).collect();
                let joined = parts.into_iter().map(Ok).reduce(|left, right| {
                    let (left, right) = (left?, right?);
                    let names = left.names.zip(right.names).map(|(left, right)| side_by_side(left, right));
                    let (x, held) = (left.x.beside(&right.x)?, left.held.beside(&right.held)?);
                    Ok(Refitted { x, held, names, parts: Vec::new() })
                });
                let joined = joined.unwrap_or_else(|| Err(Error::data("a sum without parts")))?;
                Ok(Refitted { parts: widths, ..joined })
            }
            Trace::Member(part, classifier) => {
                let judge = Downstream(classifier.as_ref());
                let own =
                    Part { judge: Some(&judge), labels: self.labels.clone(), weights: self.weights.clone(), ..*self };
                own.of(part)
            }
            Trace::Weighted(part, weight) => {
                let mut part = self.of(part)?;
                self.run.install(|| {
                    part.x.scale(*weight);
                    part.held.scale(*weight);
                });
                Ok(part)
            }
        }
    }
}

/// The names of two matrices side by side.
pub(super) fn side_by_side(left: ColumnNames, right: ColumnNames) -> ColumnNames {
    Arc::new(move || {
        let mut names = left();
        names.extend(right());
        names
    })
}

/// The classifier at the end of a recipe, as the stages before it see it.
pub(super) struct Downstream<'a>(pub(super) &'a dyn AnyClassifier);

impl Judge for Downstream<'_> {
    fn scores(&self, x: &Matrix, held: &Matrix, fold: &Fold<'_>, run: &Run) -> Result<Vec<Dense>> {
        let target = Target::new(&fold.labels).with_weights(fold.weights.as_deref());
        let variants = self.0.variants_any();
        variants.iter().map(|variant| variant.fit_any(x, &target, run)?.0.scores(held, run)).collect()
    }

    fn add_to(&self, key: KeyWriter) -> KeyWriter {
        let arguments = self.0.all_arguments();
        let key = arguments.iter().fold(key.text(self.0.name()), |key, (name, value)| key.text(name).text(value));
        self.0.members().iter().fold(key, |key, member| Downstream(member.as_ref()).add_to(key))
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use crate::corpus::Document;
    use crate::project::{FoldRows, InformationGainParams, Projector, ProjectorModel, Target};
    use crate::recipe::fit::{Flow, Learning};
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

    #[test]
    fn a_fold_has_the_columns_that_its_own_labels_choose() -> Result<()> {
        let run = Run::new(42, 1)?;
        let recipe = Recipe::parse("tfidf | ig(20) | svm(calibrate=0)")?;
        let corpus = noise(&recipe, &run)?;
        let learning = Learning { labels: &corpus.labels, weights: None, judge: None, class_words: &[], words: None };
        let (_, documents) = recipe.body().fit(Flow::words(&corpus.tokens, &run), &learning, &run)?;
        let before = Recipe::parse("tfidf")?.represent(&corpus, &run)?;
        let x = before.matrix();
        let mut walked = 0;
        documents.with_target(&learning, |target| {
            target.folds(&documents.matrix, 3, FoldRows::Labelled, &run, |fold| {
                let rows: Vec<usize> = (0..x.rows()).filter(|row| !fold.held_rows.contains(row)).collect();
                let params = InformationGainParams { terms: 20 };
                let (own, expected) = params.fit(&x.select_rows(&rows), &Target::new(&fold.labels), &run)?;
                assert_eq!(fold.x, expected);
                assert_eq!(fold.held, own.transform(&x.select_rows(&fold.held_rows), &run)?);
                assert_eq!(fold.target().names().len(), 20);
                // The columns of all documents would be others.
                assert_ne!(fold.x, documents.matrix.select_rows(&rows));
                walked += 1;
                Ok(())
            })
        })?;
        assert_eq!(walked, 3);
        Ok(())
    }
}
