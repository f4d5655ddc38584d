//! What a method may learn from beside the matrix: labels, weights, names of columns, and held-out folds with somebody to
//! judge by.
//!
//! A method that leaves a value to be found ([`Auto`](crate::params::Auto)) asks its target: [`Target::folds`] walks over
//! folds of the documents *as they come into the method*, and [`Target::judge`] counts how many held-out documents come out
//! right with each of several ways to represent them. The method need not know who answers:
//!
//! - Handed a matrix by a person, folds are rows of that matrix, and the judge is the nearest class mean ([`NearestMean`]).
//! - In a recipe, folds are made by whatever came before ([`Upstream`]): stages that learn from labels are fitted anew
//!   without the held-out ones. The judge is then the classifier that follows.
//!
//! So nothing is chosen on rows whose labels shaped what it sees. Folds are runs of neighbouring rows of each class
//! ([`blocks`]).
//!
//! ```
//! use corpuscle::{Run, corpus::Labels, matrix::{Csr, Matrix}, project::{Fold, Target}};
//! let x = Matrix::from(Csr::from_rows(2, (0..12).map(|row| vec![(row % 2, 1.0)])));
//! let labels = Labels::from_single((0..12).map(|row| Some(["a", "b"][row % 2])));
//! let run = Run::new(42, 1)?;
//! // Two ways to represent documents: as they are, and with nothing left of them.
//! let right = Target::new(&labels).judge(&x, 3, 2, &run, |fold, verdict| {
//!     verdict(0, &fold.x, &fold.held)?;
//!     let nothing = |x: &Matrix| Matrix::from(Csr::empty(x.rows(), 2));
//!     verdict(1, &nothing(&fold.x), &nothing(&fold.held))
//! })?;
//! let count = |list: &Vec<bool>| list.iter().filter(|&&good| good).count();
//! assert_eq!(right.iter().flatten().map(count).collect::<Vec<_>>(), [12, 6]);
//! # Ok::<(), corpuscle::Error>(())
//! ```

use std::fmt;
use std::sync::Arc;

use crate::corpus::{Labels, blocks, without};
use crate::matrix::{Dense, Matrix, Widths};
use crate::text::Tokens;
use crate::{Error, Key, KeyWriter, Result, Run};

/// Gives what the sparse columns of a matrix stand for; asked only by the few methods that need it, because they are many.
pub type ColumnNames = Arc<dyn Fn() -> Vec<String> + Send + Sync>;

/// What a method learns from beside the matrix.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    labels: &'a Labels,
    weights: Option<&'a [f32]>,
    names: Option<&'a ColumnNames>,
    upstream: Option<&'a dyn Upstream>,
    judge: &'a dyn Judge,
    input: Option<Key>,
    class_words: &'a [ClassWords],
    parts: &'a [Widths],
    words: Option<&'a Tokens>,
}

impl fmt::Debug for Target<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target").field("documents", &self.labels.len()).finish_non_exhaustive()
    }
}

/// The words of a class's name or description.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClassWords {
    /// Words that speak for the class.
    pub words: Vec<String>,
    /// Words that were struck out: they may not come back by expansion.
    pub struck: Vec<String>,
}

/// How the documents that come into a method look when some of their labels are hidden.
pub trait Upstream: Sync {
    /// The rows `rows`, whose labels may be learnt from, and the rows `held`, whose labels may not.
    fn fold(&self, rows: &[usize], held: &[usize], run: &Run) -> Result<Refitted>;

    /// The same for one of the [parts](Target::parts) of the documents.
    fn fold_part(&self, part: usize, rows: &[usize], held: &[usize], run: &Run) -> Result<Refitted> {
        let all = self.fold(rows, held, run)?;
        let (x, held) = (all.x.part(&all.parts, part)?, all.held.part(&all.parts, part)?);
        Ok(Refitted { x, held, names: None, parts: Vec::new() })
    }
}

/// The documents of one fold as [`Upstream`] makes them.
#[derive(Clone)]
pub struct Refitted {
    /// Documents to learn from.
    pub x: Matrix,
    /// Documents held out.
    pub held: Matrix,
    /// What the sparse columns of both stand for, when somebody knows.
    pub names: Option<ColumnNames>,
    /// The widths of the parts that stand side by side in both; none where they are one.
    pub parts: Vec<Widths>,
}

/// Decides about held-out documents: the classifier that follows, or the nearest class mean.
pub trait Judge: Sync {
    /// Scores of the held-out documents (documents × classes) by each of the judge's variants, learnt from the fold with its
    /// documents represented as `x` and `held`. Variants stand for values the judge would itself have to find.
    fn scores(&self, x: &Matrix, held: &Matrix, fold: &Fold<'_>, run: &Run) -> Result<Vec<Dense>>;
    /// Adds what the answers depend on to a key.
    fn add_to(&self, key: KeyWriter) -> KeyWriter;
}

/// One fold: documents to learn from, and documents held out.
pub struct Fold<'a> {
    /// Documents to learn from; unlabelled ones among them when they were asked for.
    pub x: Matrix,
    /// Their labels.
    pub labels: Labels,
    /// Their weights.
    pub weights: Option<Vec<f32>>,
    /// Documents held out.
    pub held: Matrix,
    /// The labels of those.
    pub truth: Labels,
    /// The rows of those among all documents, ascending.
    pub held_rows: Vec<usize>,
    names: Option<ColumnNames>,
    judge: &'a dyn Judge,
    class_words: &'a [ClassWords],
    parts: Vec<Widths>,
}

impl fmt::Debug for Fold<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fold").field("x", &self.x.rows()).field("held", &self.held.rows()).finish_non_exhaustive()
    }
}

impl Fold<'_> {
    /// The target of a fit on the documents to learn from.
    pub fn target(&self) -> Target<'_> {
        Target {
            weights: self.weights.as_deref(),
            names: self.names.as_ref(),
            judge: self.judge,
            class_words: self.class_words,
            parts: &self.parts,
            ..Target::new(&self.labels)
        }
    }
}

/// Which documents a fold learns from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoldRows {
    /// Those with labels; unlabelled ones only where a stage upstream must be fitted anew.
    Labelled,
    /// Unlabelled ones too, for methods they teach something.
    All,
}

/// Takes a choice, the documents to learn from and the held-out documents, both as that choice represents them.
pub type Verdict<'a> = dyn FnMut(usize, &Matrix, &Matrix) -> Result<()> + 'a;

impl<'a> Target<'a> {
    /// Labels and nothing else.
    pub fn new(labels: &'a Labels) -> Self {
        Target {
            labels,
            weights: None,
            names: None,
            upstream: None,
            judge: &NearestMean,
            input: None,
            class_words: &[],
            parts: &[],
            words: None,
        }
    }

    /// The same with what each document counts.
    #[must_use]
    pub fn with_weights(self, weights: Option<&'a [f32]>) -> Self {
        Target { weights, ..self }
    }

    /// The same with what the sparse columns stand for.
    #[must_use]
    pub fn with_names(self, names: &'a ColumnNames) -> Self {
        Target { names: Some(names), ..self }
    }

    /// The same where folds are made by what came before.
    #[must_use]
    pub fn with_upstream(self, upstream: &'a dyn Upstream) -> Self {
        Target { upstream: Some(upstream), ..self }
    }

    /// The same with somebody else to judge by.
    #[must_use]
    pub fn with_judge(self, judge: &'a dyn Judge) -> Self {
        Target { judge, ..self }
    }

    /// The same with the key of the matrix that comes with it, where equal work is shared.
    #[must_use]
    pub fn with_input(self, input: Option<Key>) -> Self {
        Target { input, ..self }
    }

    /// The same with the words of each class's name or description, as the documents' words are.
    #[must_use]
    pub fn with_class_words(self, class_words: &'a [ClassWords]) -> Self {
        Target { class_words, ..self }
    }

    /// The same for documents that are several representations side by side, of these widths.
    #[must_use]
    pub fn with_parts(self, parts: &'a [Widths]) -> Self {
        Target { parts, ..self }
    }

    /// The widths of the representations that stand side by side in a document; none where they are one.
    pub fn parts(&self) -> &'a [Widths] {
        self.parts
    }

    /// The same with the words that the matrix was made of, in their order.
    #[must_use]
    pub fn with_words(self, words: Option<&'a Tokens>) -> Self {
        Target { words, ..self }
    }

    /// The words that the matrix was made of, in their order, for a method that [wants](super::Projector::WANTS_WORDS) them.
    pub fn words(&self) -> Option<&'a Tokens> {
        self.words
    }

    /// What gives the names of the sparse columns, where somebody knows them.
    pub(crate) fn column_names(&self) -> Option<&'a ColumnNames> {
        self.names
    }

    /// What makes folds, where something before learns from labels.
    pub(crate) fn upstream(&self) -> Option<&'a dyn Upstream> {
        self.upstream
    }

    /// The words of each class's name or description; none when nobody knows.
    pub fn class_words(&self) -> &'a [ClassWords] {
        self.class_words
    }

    /// The same judge and key for some of the documents, whose labels and weights are given.
    #[must_use]
    pub fn narrowed<'b>(&self, labels: &'b Labels, weights: Option<&'b [f32]>) -> Target<'b>
    where
        'a: 'b,
    {
        Target { weights, judge: self.judge, input: self.input, ..Target::new(labels) }
    }

    /// Whether what came before learns from labels, so that folds are made by it.
    pub fn has_upstream(&self) -> bool {
        self.upstream.is_some()
    }

    /// The labels of the documents.
    pub fn labels(&self) -> &'a Labels {
        self.labels
    }

    /// What each document counts; 1 each when there are none.
    pub fn weights(&self) -> Option<&'a [f32]> {
        self.weights
    }

    /// The key of the matrix, where equal work is shared.
    pub fn input(&self) -> Option<Key> {
        self.input
    }

    /// What the sparse columns of the matrix stand for; empty when nobody knows.
    pub fn names(&self) -> Vec<String> {
        self.names.map(|names| names()).unwrap_or_default()
    }

    /// Adds what a method could learn from here, beside the matrix and the labels, to a key.
    pub fn add_to(&self, key: KeyWriter) -> KeyWriter {
        let weights = self.weights.unwrap_or(&[]).iter().map(|weight| u64::from(weight.to_bits()));
        self.judge.add_to(key).numbers(weights)
    }

    /// Calls `visit` with each of `n_folds` folds, and gives whether there was anything to visit: too few labelled documents,
    /// or a fold that would leave fewer than two classes to learn from, make no cross-validation.
    ///
    /// This is the one walk over folds in the house: calibration, thresholds and every `auto` go through it.
    pub fn folds(
        &self,
        x: &Matrix,
        n_folds: usize,
        which: FoldRows,
        run: &Run,
        mut visit: impl FnMut(Fold<'_>) -> Result<()>,
    ) -> Result<bool> {
        let Some(cut) = self.cut(x, n_folds)? else { return Ok(false) };
        let labelled = self.labels.labelled_rows();
        for held_rows in cut {
            run.check()?;
            let mut rows = without(&labelled, &held_rows);
            // A stage upstream that is fitted anew learns from texts without labels as it did before.
            if which == FoldRows::All || self.upstream.is_some() {
                rows.extend((0..self.labels.len()).filter(|&row| self.labels.of(row).is_none()));
                rows.sort_unstable();
            }
            let documents = match self.upstream {
                Some(upstream) => upstream.fold(&rows, &held_rows, run)?,
                None => Refitted {
                    x: x.select_rows(&rows),
                    held: x.select_rows(&held_rows),
                    names: self.names.cloned(),
                    parts: self.parts.to_vec(),
                },
            };
            visit(Fold {
                x: documents.x,
                held: documents.held,
                names: documents.names,
                labels: self.labels.select(&rows),
                weights: self.weights.map(|weights| rows.iter().map(|&row| weights[row]).collect()),
                truth: self.labels.select(&held_rows),
                held_rows,
                judge: self.judge,
                class_words: self.class_words,
                parts: documents.parts,
            })?;
        }
        Ok(true)
    }

    /// The rows of each fold; `None` when there are too few documents or classes for a cross-validation.
    fn cut(&self, x: &Matrix, n_folds: usize) -> Result<Option<Vec<Vec<usize>>>> {
        if x.rows() != self.labels.len() {
            return Err(Error::Shape { what: "labels", expected: x.rows(), found: self.labels.len() });
        }
        let labelled = self.labels.labelled_rows();
        if n_folds < 2 || labelled.len() < 2 * n_folds {
            return Ok(None);
        }
        let cut = blocks(self.labels, n_folds)?;
        let learnable = cut.iter().all(|held| self.can_learn(&without(&labelled, held)));
        Ok(learnable.then_some(cut))
    }

    /// Whether some rows hold two classes (or, with several labels each, one) on documents that count.
    fn can_learn(&self, rows: &[usize]) -> bool {
        let counted = rows.iter().filter(|&&row| self.weights.is_none_or(|weights| weights[row] > 0.0));
        let mut seen = vec![false; self.labels.n_classes()];
        counted.flat_map(|&row| self.labels.of(row).unwrap_or(&[])).for_each(|&class| seen[class as usize] = true);
        let wanted = if self.labels.is_multi_label() { 1 } else { 2 };
        seen.iter().filter(|&&seen| seen).count() >= wanted
    }

    /// For each of `choices` ways to represent documents, which of the labelled ones come out right when held out, in the
    /// order of the labelled rows. `represent` is called once for each fold and hands what every choice makes of it to the
    /// verdict, so that what choices have in common is done once. `None` when there is no cross-validation to be had.
    pub fn judge(
        &self,
        x: &Matrix,
        n_folds: usize,
        choices: usize,
        run: &Run,
        represent: impl Fn(&Fold<'_>, &mut Verdict<'_>) -> Result<()>,
    ) -> Result<Option<Vec<Vec<bool>>>> {
        self.judge_rows(x, n_folds, choices, FoldRows::Labelled, run, represent)
    }

    /// [`Target::judge`] with a say in which documents folds learn from.
    pub fn judge_rows(
        &self,
        x: &Matrix,
        n_folds: usize,
        choices: usize,
        which: FoldRows,
        run: &Run,
        represent: impl Fn(&Fold<'_>, &mut Verdict<'_>) -> Result<()>,
    ) -> Result<Option<Vec<Vec<bool>>>> {
        let (labelled, quiet) = (self.labels.labelled_rows(), run.quiet());
        // One list for each choice and each variant of the judge, of which there are as many as it says.
        let mut right: Vec<Vec<Vec<bool>>> = vec![Vec::new(); choices];
        let walked = self.folds(x, n_folds, which, &quiet, |fold| {
            represent(&fold, &mut |choice, x, held| {
                let scores = self.judge.scores(x, held, &fold, &quiet)?;
                right[choice].resize(scores.len(), vec![false; labelled.len()]);
                for (right, scores) in right[choice].iter_mut().zip(&scores) {
                    for (at, row) in fold.held_rows.iter().enumerate() {
                        let good = best(scores.row(at)).is_some_and(|class| fold.truth.has(at, class));
                        if let Ok(place) = labelled.binary_search(row) {
                            right[place] = good;
                        }
                    }
                }
                Ok(())
            })
        })?;
        // A judge that would find a value of its own is taken at its best; of equals at the last, as `c=auto` would not.
        let most = |lists: Vec<Vec<bool>>| {
            lists.into_iter().rev().max_by_key(|list| list.iter().filter(|&&good| good).count()).unwrap_or_default()
        };
        Ok(walked.then(|| right.into_iter().map(most).collect()))
    }

    /// Which classes the judge takes for which when documents are held out as they are: rows are true classes, columns the ones
    /// given. A document with several labels counts once for each. `None` when there is no cross-validation to be had.
    pub fn confusion(&self, x: &Matrix, n_folds: usize, run: &Run) -> Result<Option<Vec<Vec<u64>>>> {
        // The question does not depend on the method that asks, so the same method with other values shares the answer.
        let key = self.input.map(|input| {
            let numbers = [run.seed(), n_folds as u64].into_iter();
            self.add_to(Key::of("confusion").key(&input).key(&self.labels.key()).numbers(numbers)).finish()
        });
        let size = |table: &Option<Vec<Vec<u64>>>| table.as_ref().map_or(0, |table| 8 * table.len() * table.len());
        let table = run.shared(key, size, || {
            let classes = self.labels.n_classes();
            let (mut counts, quiet) = (vec![vec![0; classes]; classes], run.quiet());
            let walked = self.folds(x, n_folds, FoldRows::Labelled, &quiet, |fold| {
                let scores = self.judge.scores(&fold.x, &fold.held, &fold, &quiet)?;
                let Some(scores) = scores.first() else { return Ok(()) };
                for row in 0..fold.truth.len() {
                    let Some(given) = best(scores.row(row)) else { continue };
                    for &class in fold.truth.of(row).unwrap_or(&[]) {
                        // A label the document has is no mistake for another label it has.
                        let to = if fold.truth.has(row, given) { class } else { given };
                        counts[class as usize][to as usize] += 1;
                    }
                }
                Ok(())
            })?;
            Ok(walked.then_some(counts))
        })?;
        Ok(Arc::unwrap_or_clone(table))
    }
}

/// The class of the highest score, the first of equals.
pub(crate) fn best(scores: &[f32]) -> Option<u32> {
    let mut best: Option<(u32, f32)> = None;
    for (class, &score) in (0u32..).zip(scores) {
        if best.is_none_or(|(_, top)| score > top) {
            best = Some((class, score));
        }
    }
    best.map(|(class, _)| class)
}

/// Judges by the nearest class mean: −‖x − μ_c‖², the judge where no classifier follows. O(stored numbers · classes).
#[derive(Debug, Clone, Copy, Default)]
pub struct NearestMean;

impl Judge for NearestMean {
    fn scores(&self, x: &Matrix, held: &Matrix, fold: &Fold<'_>, run: &Run) -> Result<Vec<Dense>> {
        let labels = &fold.labels;
        let (columns, classes) = (x.cols(), labels.n_classes());
        let mut means = Dense::zeros(columns, classes);
        let mut totals = vec![0f64; classes];
        for row in 0..x.rows() {
            let weight = fold.weights.as_ref().map_or(1.0, |weights| weights[row]);
            for &class in labels.of(row).unwrap_or(&[]) {
                totals[class as usize] += f64::from(weight);
                x.row(row).for_each(|column, value| means.row_mut(column)[class as usize] += weight * value);
            }
        }
        let mut squares = vec![0f64; classes];
        let negative_start = columns - x.negative();
        for column in 0..columns {
            // Columns that count negatively do so in inner products, of which distances are made.
            let sign = if column < negative_start { 1.0 } else { -1.0 };
            for (class, value) in means.row_mut(column).iter_mut().enumerate() {
                *value = if totals[class] > 0.0 { (f64::from(*value) / totals[class]) as f32 } else { 0.0 };
                squares[class] += sign * f64::from(*value) * f64::from(*value);
                *value *= sign as f32 * 2.0;
            }
        }
        // A class nobody has is never the nearest. ‖x‖² is the same for every class and left out.
        let bias: Vec<f32> =
            squares.iter().zip(&totals).map(|(&s, &n)| if n > 0.0 { -s as f32 } else { f32::MIN }).collect();
        Ok(vec![run.install(|| held.multiply(&means, &bias))?])
    }

    fn add_to(&self, key: KeyWriter) -> KeyWriter {
        key.text("nearest mean")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Csr;

    fn blobs(n: usize) -> (Matrix, Labels) {
        let x = Csr::from_rows(3, (0..n).map(|row| vec![(row as u32 % 2, 1.0), (2, 0.1 * (row % 5) as f32)]));
        (x.into(), Labels::from_single((0..n).map(|row| (row % 7 > 0).then_some(["b", "a"][row % 2]))))
    }

    #[test]
    fn folds_hold_every_labelled_row_once_and_never_learn_from_it() {
        let (x, labels) = blobs(40);
        let weights: Vec<f32> = (0..40).map(|row| row as f32).collect();
        let run = Run::new(1, 1).unwrap();
        for which in [FoldRows::Labelled, FoldRows::All] {
            let mut held = Vec::new();
            let target = Target::new(&labels).with_weights(Some(&weights));
            let walked = target.folds(&x, 3, which, &run, |fold| {
                assert_eq!(fold.x.rows(), fold.labels.len());
                let learnt: Vec<f32> = fold.weights.clone().unwrap();
                assert!(fold.held_rows.iter().all(|&row| !learnt.contains(&(row as f32))));
                assert_eq!(learnt.contains(&7.0), which == FoldRows::All);
                assert_eq!(fold.held.row(0).values, x.row(fold.held_rows[0]).values);
                held.extend(fold.held_rows);
                Ok(())
            });
            assert!(walked.unwrap());
            held.sort_unstable();
            assert_eq!(held, labels.labelled_rows());
        }
    }

    #[test]
    fn too_few_documents_or_classes_make_no_folds() {
        let (x, labels) = blobs(40);
        let run = Run::new(1, 1).unwrap();
        let none = |labels: &Labels| !Target::new(labels).folds(&x, 3, FoldRows::All, &run, |_| Ok(())).unwrap();
        assert!(none(&labels.only(&[1, 2, 3, 4, 5])));
        assert!(none(&labels.only(&(0..20).map(|half| 2 * half).collect::<Vec<_>>())));
        assert!(Target::new(&labels.select(&[0])).folds(&x, 3, FoldRows::All, &run, |_| Ok(())).is_err());
        // Documents that count nothing teach nothing.
        let weights = vec![0.0; 40];
        let target = Target::new(&labels).with_weights(Some(&weights));
        assert!(!target.folds(&x, 3, FoldRows::Labelled, &run, |_| Ok(())).unwrap());
    }

    #[test]
    fn the_nearest_mean_tells_classes_apart_in_any_order_of_names() {
        let (x, labels) = blobs(42);
        let run = Run::new(1, 1).unwrap();
        for labels in [labels.clone(), Labels::from_ids(vec!["z".into(), "a".into()], &[0, 1].repeat(21)).unwrap()] {
            let confusion = Target::new(&labels).confusion(&x, 3, &run).unwrap().unwrap();
            let counts = labels.class_counts();
            assert_eq!(confusion, [[counts[0] as u64, 0], [0, counts[1] as u64]]);
        }
    }
}
