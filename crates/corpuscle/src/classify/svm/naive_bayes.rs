//! Naive Bayes features: an SVM that starts from what naive Bayes knows of each term.
//!
//! For a class c, p_j = 1 + Σ x_ij over its documents and q_j the same over the others; r_j = ln((p_j / Σp) / (q_j / Σq)). The problem of the
//! class sees x∘r instead of x. Its weights w are then pulled to their mean size, w' = ¾ · mean|w| + ¼ · w, which leaves a term's
//! say mostly to naive Bayes and lets the SVM correct it. The score Σ_j x_j r_j w'_j is linear in x, so what is kept is the plain weight
//! r_j w'_j: model file, prediction and explanation are those of any SVM. Terms of unlabelled documents alone weigh nothing.
//!
//! Meant for binary words and pairs of words (`binary(ngrams=2) | svm(nb=true)`). One copy of the documents for each class
//! being solved; O(stored values) a class beside its solver, which starts anew at every cost.
//!
//! Reference: Wang and Manning (2012), "Baselines and bigrams: simple, good sentiment and topic classification". Where we differ: more than two classes
//! (each against the rest), weights of documents, and a bias that is not pulled.

use rayon::prelude::*;

use super::SvmParams;
use crate::classify::assembly::Reached;
use crate::classify::cost::CostPath;
use crate::classify::{ClassWeight, LinearModel, check_weights};
use crate::corpus::Labels;
use crate::matrix::{Csr, Dense, Matrix};
use crate::{Error, Result, Run};

/// What is added to how much of a term a class holds.
const ALPHA: f64 = 1.0;
/// How much of the SVM's own weights stays.
const KEPT: f32 = 0.25;
/// The scores of classes that no document has, and that every document has.
const CONSTANT: [f32; 2] = [-1e3, 1.0];

/// Fits of the same labelled documents at several costs.
pub(super) struct RatioPath<'r> {
    params: SvmParams,
    x: Csr,
    labels: Labels,
    weights: Vec<f32>,
    run: &'r Run,
}

impl<'r> RatioPath<'r> {
    pub(super) fn new(
        params: &SvmParams,
        x: &Matrix,
        labels: &Labels,
        weights: Option<&[f32]>,
        run: &'r Run,
    ) -> Result<Self> {
        if labels.len() != x.rows() {
            return Err(Error::Shape { what: "labels for the documents", expected: x.rows(), found: labels.len() });
        }
        check_weights(weights, x.rows())?;
        if x.dense().cols() > 0 {
            return Err(Error::data(
                "svm(nb=true) counts terms, and these documents have columns that are none (of lsi, dcot, word vectors or \
                 numbers); put it behind binary, counts or tfidf",
            ));
        }
        let weight = |row: usize| weights.map_or(1.0, |weights| weights[row]);
        let rows: Vec<usize> = labels.labelled_rows().into_iter().filter(|&row| weight(row) > 0.0).collect();
        let x = x.sparse().select_rows(&rows);
        if let Some(value) = x.values().iter().find(|value| !(**value >= 0.0 && value.is_finite())) {
            return Err(Error::data(format!(
                "svm(nb=true) counts terms, and a document has the value {value} of one; put it behind binary, counts or tfidf"
            )));
        }
        let weights = rows.iter().map(|&row| weight(row)).collect();
        Ok(RatioPath { params: SvmParams { nb: false, ..*params }, x, labels: labels.select(&rows), weights, run })
    }

    /// The fit at cost `c`, after at most `max_iter` passes.
    pub(super) fn solve(&self, c: f64, max_iter: usize) -> Result<(LinearModel, Vec<Reached>)> {
        let counts = self.labels.class_counts();
        let (n, n_classes, columns) = (self.labels.len(), counts.len(), self.x.cols());
        if n == 0 {
            let reason = "no document has a label (and a weight above 0); a classifier needs some to learn from";
            return Err(Error::data(reason));
        }
        let open: Vec<usize> = (0..n_classes).filter(|&class| counts[class] > 0 && counts[class] < n).collect();
        // Two classes are one problem: the second class's, mirrored for the first.
        let mirrored = !self.labels.is_multi_label() && open.len() == 2;
        let solved = if mirrored { &open[1..] } else { &open[..] };
        let rest = if mirrored { self.class_weights()[open[0]] } else { 1.0 };
        let parts: Vec<Part> =
            solved.par_iter().map(|&class| self.class(class, rest, c, max_iter)).collect::<Result<_>>()?;
        let mut weights = Dense::zeros(columns, n_classes);
        let mut bias: Vec<f32> = counts.iter().map(|&count| CONSTANT[usize::from(count > 0)]).collect();
        let mut reached = vec![Reached::AT_ONCE; n_classes];
        let values = weights.values_mut();
        for (&class, part) in solved.iter().zip(&parts) {
            let sides = if mirrored { vec![(class, 1.0), (open[0], -1.0)] } else { vec![(class, 1.0)] };
            for (class, sign) in sides {
                part.weights.iter().enumerate().for_each(|(column, weight)| {
                    values[column * n_classes + class] = sign * weight;
                });
                (bias[class], reached[class]) = (sign * part.bias, part.reached);
            }
        }
        Ok((LinearModel::new(weights, bias)?, reached))
    }

    fn class_weights(&self) -> Vec<f64> {
        self.params.class_weight.of(&self.labels)
    }

    /// One class against the rest.
    fn class(&self, class: usize, rest: f64, c: f64, max_iter: usize) -> Result<Part> {
        self.run.check()?;
        let (ratios, seen) = self.ratios(class as u32);
        let mut scaled = self.x.clone();
        scaled.rows_mut().for_each(|columns, values| {
            values.iter_mut().zip(columns).for_each(|(value, &column)| *value *= ratios[column as usize]);
        });
        let has = |row: usize| self.labels.has(row, class as u32);
        let two = vec!["rest".to_string(), "class".to_string()];
        let labels = Labels::with_classes(two, (0..self.labels.len()).map(|row| Some(vec![u32::from(has(row))])))?;
        let own = self.class_weights()[class];
        let weigh = |(row, weight): (usize, &f32)| weight * (if has(row) { own } else { rest }) as f32;
        let weights: Vec<f32> = self.weights.iter().enumerate().map(weigh).collect();
        let plain = SvmParams { class_weight: ClassWeight::None, ..self.params };
        let mut path = plain.cost_path(&Matrix::from(scaled), &labels, Some(&weights), self.run)?;
        let (linear, reached) = path.solve(c, max_iter)?;
        let own: Vec<f32> = (0..self.x.cols()).map(|column| linear.weights().row(column)[1]).collect();
        let mean = own.iter().map(|weight| f64::from(weight.abs())).sum::<f64>() / seen.max(1) as f64;
        let pull = |(weight, ratio): (&f32, &f32)| ((1.0 - KEPT) * mean as f32 + KEPT * weight) * ratio;
        let weights = own.iter().zip(&ratios).map(pull).collect();
        Ok(Part { weights, bias: linear.bias()[1], reached: reached[1] })
    }

    /// The log ratio of every term, 0 for terms no labelled document has; and how many some document has.
    fn ratios(&self, class: u32) -> (Vec<f32>, usize) {
        let mut sums = vec![[0f64; 2]; self.x.cols()];
        for row in 0..self.x.rows() {
            let side = usize::from(self.labels.has(row, class));
            let weight = f64::from(self.weights[row]);
            let (columns, values) = self.x.row(row);
            for (&column, &value) in columns.iter().zip(values) {
                sums[column as usize][side] += weight * f64::from(value);
            }
        }
        let seen: Vec<&[f64; 2]> = sums.iter().filter(|sums| sums[0] + sums[1] > 0.0).collect();
        let total = |side: usize| seen.iter().map(|sums| sums[side] + ALPHA).sum::<f64>();
        let offset = (total(1) / total(0)).ln();
        let ratio = |sums: &[f64; 2]| match sums[0] + sums[1] > 0.0 {
            true => (((sums[1] + ALPHA) / (sums[0] + ALPHA)).ln() - offset) as f32,
            false => 0.0,
        };
        (sums.iter().map(ratio).collect(), seen.len())
    }
}

/// What one class came to.
struct Part {
    weights: Vec<f32>,
    bias: f32,
    reached: Reached,
}

impl CostPath for RatioPath<'_> {
    fn fit(&mut self, c: f64) -> Result<LinearModel> {
        self.solve(c, self.params.max_iter).map(|(linear, _)| linear)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::svm::{Multiclass, SvmModel};
    use crate::classify::{Classifier, ClassifierModel};
    use crate::params::{Auto, Params};
    use crate::project::Target;
    use crate::store::tests::round_trip;

    fn reviews() -> (Matrix, Labels) {
        // Words 0 and 1 praise, 2 and 3 blame, 4 and 5 are everywhere.
        let rows = (0..60u32).map(|row| {
            let side = 2 * (row % 2);
            let mut words = vec![(side + (row / 2) % 2, 1.0), (4 + row % 3 / 2, 1.0)];
            words.sort_unstable_by_key(|&(column, _)| column);
            words
        });
        let labels = Labels::from_single((0..60).map(|row| Some(["good", "bad"][row % 2])));
        (Matrix::from(Csr::from_rows(7, rows)), labels)
    }

    fn nb() -> SvmParams {
        SvmParams { nb: true, ..SvmParams::default() }
    }

    #[test]
    fn weights_are_those_of_the_formula_by_hand() {
        let (x, labels) = reviews();
        let run = Run::new(1, 2).unwrap();
        let path = RatioPath::new(&nb(), &x, &labels, None, &run).unwrap();
        let good = labels.classes().iter().position(|class| class == "good").unwrap() as u32;
        let (ratios, seen) = path.ratios(good);
        // 30 documents a side with two words each: the sums differ by nothing, so the offset is 0.
        assert_eq!((seen, ratios[6]), (6, 0.0));
        assert!((ratios[0] - (16.0f32 / 1.0).ln()).abs() < 1e-6 && ratios[0] == -ratios[2], "{ratios:?}");
        // What the plain solver makes of x∘r, pulled and folded back.
        let mut scaled = x.sparse().clone();
        scaled.rows_mut().for_each(|columns, values| {
            values.iter_mut().zip(columns).for_each(|(value, &column)| *value *= path.ratios(1).0[column as usize]);
        });
        let plain = SvmParams::default().fit(&Matrix::from(scaled), &Target::new(&labels), &run).unwrap();
        let own: Vec<f32> = (0..7).map(|column| plain.linear().unwrap().weights().row(column)[1]).collect();
        let mean = own.iter().map(|weight| weight.abs()).sum::<f32>() / 6.0;
        let model = nb().fit(&x, &Target::new(&labels), &run).unwrap();
        for (column, own) in own.iter().enumerate() {
            let expected = (0.75 * mean + 0.25 * own) * path.ratios(1).0[column];
            let found = model.linear().unwrap().weights().row(column);
            assert!((found[1] - expected).abs() < 1e-4 && found[0] == -found[1], "{column}: {found:?} {expected}");
        }
    }

    #[test]
    fn it_decides_stores_and_repeats_like_any_svm() {
        let (x, labels) = reviews();
        let run = Run::new(1, 1).unwrap();
        let model = nb().fit(&x, &Target::new(&labels), &run).unwrap();
        let scores = model.scores(&x, &run).unwrap();
        assert!((0..60).all(|row| labels.has(row, u32::from(scores.row(row)[1] > scores.row(row)[0]))));
        assert_eq!(round_trip(|out| model.save(out).unwrap(), SvmModel::load).unwrap(), model);
        for threads in [2, 8] {
            assert_eq!(nb().fit(&x, &Target::new(&labels), &Run::new(1, threads).unwrap()).unwrap(), model);
        }
        let auto = SvmParams { c: Auto::Auto, ..nb() };
        assert!(auto.fit(&x, &Target::new(&labels), &run).unwrap().c() > 0.0);
        // Three classes and several labels are problems of their own; a class nobody has never wins.
        let lists = (0..60).map(|row| Some(if row % 5 == 0 { vec![0, 1] } else { vec![row % 3] }));
        let several = Labels::with_classes((0..4).map(|class| class.to_string()).collect(), lists).unwrap();
        let scores = nb().fit(&x, &Target::new(&several), &run).unwrap().scores(&x, &run).unwrap();
        assert!((0..60).all(|row| scores.row(row)[3] < -100.0));
    }

    #[test]
    fn what_is_no_term_is_refused() {
        let (x, labels) = reviews();
        let run = Run::new(1, 1).unwrap();
        let target = Target::new(&labels);
        let dense = Matrix::from(Dense::zeros(60, 3));
        assert!(nb().fit(&dense, &target, &run).unwrap_err().to_string().contains("counts terms"));
        let mut negative = x.sparse().clone();
        negative.values_mut()[0] = -1.0;
        assert!(nb().fit(&Matrix::from(negative), &target, &run).unwrap_err().to_string().contains("-1"));
        let joint = SvmParams { multiclass: Multiclass::CrammerSinger, ..nb() };
        assert!(joint.check().unwrap_err().to_string().contains("nb"));
    }
}
