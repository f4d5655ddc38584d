//! The `dcot` stage.

use std::sync::Arc;

use super::super::{AnyStage, StageInfo, StageKind, word_of};
use super::same_columns;
use crate::corpus::Labels;
use crate::matrix::{Dense, Matrix};
use crate::project::{DcotModel, DcotParams, Layers, Noise, Prototypes, Select, Solver, Weight};
use crate::recipe::arguments::{Parameter, Shown};
use crate::recipe::later::Later;
use crate::recipe::stage::{ColumnWeights, FittedProjector, Projector, Stage};
use crate::store::{StoreReader, StoreWriter};
use crate::{Error, Key, Result, Run};

/// What `noise=auto` chooses from; the usual value comes first.
const NOISES: [f64; 4] = [0.97, 0.9, 0.99, 0.7];
/// What `layers=auto` chooses from; the usual one comes first.
const LAYERS: [usize; 3] = [2, 1, 3];
/// What `weight=auto` chooses from; the smallest leaves little more than the document itself.
const WEIGHTS: [f64; 5] = [8.0, 2.0, 0.5, 0.125, 0.03125];
/// Labels of each class at which reconstructions and document are worth about the same; see [`usual_weight`].
const LABELS_FOR_EQUAL: f64 = 40.0;
/// Folds of those choices.
const FOLDS: usize = 3;
/// A list of terms that starts so is the name of a file that holds them, one a line.
const FILE: char = '@';

const SELECTIONS: &[(&str, Select)] = &[("frequent", Select::Frequent), ("information_gain", Select::InformationGain)];
const SOLVERS: &[(&str, Solver)] = &[
    ("auto", Solver::Auto),
    ("woodbury", Solver::Woodbury),
    ("cholesky", Solver::Cholesky),
    ("gradients", Solver::Gradients),
];

pub(in crate::recipe::stages) const DCOT: StageInfo = StageInfo {
    name: "dcot",
    kind: StageKind::Project,
    about: "puts beside each document its frequent terms, reconstructed from all its words; needs no labels",
    parameters: &[
        Parameter { name: "prototypes", about: "terms to reconstruct (auto: 2000, above 100 000 documents 1000)" },
        Parameter {
            name: "noise",
            about: "share of words removed while learning (0.97), or auto: by cross-validation",
        },
        Parameter {
            name: "layers",
            about: "how often it is applied to its own output (2), or auto: by cross-validation",
        },
        Parameter { name: "select", about: "frequent (default) or information_gain" },
        Parameter { name: "terms", about: "the terms to reconstruct, as \"tasty,food\", or \"@FILE\" with one a line" },
        Parameter {
            name: "weight",
            about: "squared length of each layer's output beside that of the document (2), or auto: by cross-validation",
        },
        Parameter { name: "ridge", about: "added to the diagonal of the equations, as a share of its mean (0.00001)" },
        Parameter { name: "solver", about: "auto (default), woodbury, cholesky or gradients" },
    ],
    build: |arguments| {
        let mut params = DcotParams::default();
        arguments.read("prototypes", &mut params.prototypes, |text| match text {
            "auto" => Some(Prototypes::Auto),
            _ => text.parse().ok().map(Prototypes::Value),
        })?;
        arguments.read("noise", &mut params.noise, |text| match text {
            "auto" => Some(Noise::Auto),
            _ => text.parse().ok().map(Noise::Value),
        })?;
        arguments.read("layers", &mut params.layers, |text| match text {
            "auto" => Some(Layers::Auto),
            _ => text.parse().ok().map(Layers::Value),
        })?;
        arguments.read("select", &mut params.select, |text| {
            SELECTIONS.iter().find(|(word, _)| *word == text).map(|(_, select)| select.clone())
        })?;
        arguments.read("terms", &mut params.select, |text| {
            let terms = text.split(',').map(str::trim).filter(|term| !term.is_empty()).map(String::from);
            Some(Select::Terms(terms.collect()))
        })?;
        arguments.read("weight", &mut params.weight, |text| match text {
            "auto" => Some(Weight::Auto),
            _ => text.parse().ok().map(Weight::Value),
        })?;
        arguments.float("ridge", &mut params.ridge)?;
        arguments.choice("solver", &mut params.solver, SOLVERS)?;
        Ok(AnyStage::Project(Arc::new(params)))
    },
};

impl Stage for DcotParams {
    fn name(&self) -> &'static str {
        DCOT.name
    }

    fn arguments(&self) -> Vec<(&'static str, String)> {
        let default = Self::default();
        let select = match &self.select {
            Select::Terms(terms) => ("terms", terms.join(",")),
            other => ("select", word_of(SELECTIONS, other)),
        };
        Shown::new()
            .add("prototypes", &self.prototypes, &default.prototypes, |prototypes| match prototypes {
                Prototypes::Auto => "auto".to_string(),
                Prototypes::Value(count) => count.to_string(),
            })
            .add("noise", &self.noise, &default.noise, |noise| match noise {
                Noise::Auto => "auto".to_string(),
                Noise::Value(value) => value.to_string(),
            })
            .add("layers", &self.layers, &default.layers, |layers| match layers {
                Layers::Auto => "auto".to_string(),
                Layers::Value(value) => value.to_string(),
            })
            .add(select.0, &self.select, &default.select, |_| select.1.clone())
            .add("weight", &self.weight, &default.weight, |weight| match weight {
                Weight::Auto => "auto".to_string(),
                Weight::Value(value) => value.to_string(),
            })
            .plain("ridge", &self.ridge, &default.ridge)
            .add("solver", &self.solver, &default.solver, |solver| word_of(SOLVERS, solver))
            .into_arguments()
    }

    fn check(&self) -> Result<()> {
        DcotParams::check(self)
    }
}

impl Projector for DcotParams {
    fn needs_labels(&self) -> bool {
        self.chooses() || self.select == Select::InformationGain
    }

    fn asks_classifier(&self) -> bool {
        self.chooses()
    }

    fn fit(
        &self,
        x: Matrix,
        labels: &Labels,
        later: &Later<'_>,
        run: &Run,
    ) -> Result<(Box<dyn FittedProjector>, Matrix)> {
        let params = self.with_terms_of_file()?;
        let prototypes = params.choose(&x, Some(labels), &|| later.names(), run)?;
        let (model, rows) = match self.chooses() {
            false => params.fit_on(x, prototypes, run)?,
            true => params.fit_best(x, prototypes, labels, later, run)?,
        };
        Ok((Box::new(model), rows))
    }

    fn load(&self, store: &StoreReader<'_>) -> Result<Box<dyn FittedProjector>> {
        Ok(Box::new(DcotModel::load(store)?))
    }
}

impl DcotParams {
    /// Whether something is left to be chosen on held-out documents.
    fn chooses(&self) -> bool {
        self.noise == Noise::Auto || self.layers == Layers::Auto || self.weight == Weight::Auto
    }

    /// The same with the terms that a file holds, when the list names one.
    fn with_terms_of_file(&self) -> Result<Self> {
        let Select::Terms(terms) = &self.select else { return Ok(self.clone()) };
        let Some(path) = terms.first().and_then(|term| term.strip_prefix(FILE)) else { return Ok(self.clone()) };
        let text = std::fs::read_to_string(path).map_err(|e| Error::io(path, e))?;
        let terms = text.lines().map(str::trim).filter(|term| !term.is_empty()).map(String::from).collect();
        let params = DcotParams { select: Select::Terms(terms), ..self.clone() };
        params.check()?;
        Ok(params)
    }

    /// The layers and what they make of `x`. They know no labels, so that draws of labels can have them in common.
    fn shared_layers(
        &self,
        x: &Matrix,
        prototypes: &[u32],
        later: &Later<'_>,
        run: &Run,
    ) -> Result<Arc<(DcotModel, Dense)>> {
        let key = later.input().map(|input| {
            let columns = prototypes.iter().map(|&column| u64::from(column));
            Key::of("dcot layers").key(&input).text(&format!("{self:?}")).numbers(columns).finish()
        });
        // Weights of the first layer and outputs are nearly all there is.
        let bytes = |(_, z): &(DcotModel, Dense)| 4 * (z.values().len() + x.cols() * prototypes.len());
        run.shared(key, bytes, || {
            let (model, fitted) = self.fit_on(x.clone(), prototypes.to_vec(), run)?;
            Ok((model, fitted.into_parts().1))
        })
    }

    /// The noise, the number of layers and then the weight whose documents the classifier gets right most often on
    /// held-out folds. The layers know no labels, so each noise is fitted once, on all documents, and only the classifier
    /// fold by fold. What is usual stays unless another value is [clearly](clearly_more) better: with a hundred labels
    /// the best of five values by count is often only the luckiest.
    fn fit_best(
        &self,
        x: Matrix,
        prototypes: Vec<u32>,
        labels: &Labels,
        later: &Later<'_>,
        run: &Run,
    ) -> Result<(DcotModel, Matrix)> {
        let noises = match self.noise {
            Noise::Value(value) => vec![value],
            Noise::Auto => NOISES.to_vec(),
        };
        let counts = match self.layers {
            Layers::Value(value) => vec![value],
            Layers::Auto => LAYERS.to_vec(),
        };
        let usual = match self.weight {
            Weight::Value(value) => value,
            Weight::Auto => usual_weight(labels),
        };
        let most = counts.iter().copied().max().unwrap_or(1);
        let rows = labels.labelled_rows();
        let right = |x: &Matrix| -> Result<Vec<bool>> {
            // Without a cross-validation all are equal, and what is usual stays.
            Ok(later.right_as_is(DCOT.name, x, labels, &rows, FOLDS, run)?.unwrap_or_default())
        };
        if rows.len() < 2 * FOLDS {
            run.warn("dcot: too few labelled documents to choose noise, layers or weight; the usual ones are taken");
        }
        let mut best: Option<Chosen> = None;
        for noise in noises {
            let params = DcotParams {
                noise: Noise::Value(noise),
                layers: Layers::Value(most),
                // Whatever the labels make usual, draws of them shall have the layers in common.
                weight: Weight::Value(1.0),
                ..self.clone()
            };
            let layers = params.shared_layers(&x, &prototypes, later, run)?;
            let (model, z) = layers.as_ref();
            let labelled = Matrix::new(x.sparse().select_rows(&rows), z.select_rows(&rows), 0)?;
            for &count in &counts {
                let part = first_layers(&labelled, count * prototypes.len(), usual.sqrt() as f32)?;
                let right = right(&part)?;
                if best.as_ref().is_none_or(|best| clearly_more(&right, &best.right)) {
                    let labelled = first_layers(&labelled, count * prototypes.len(), 1.0)?;
                    best = Some(Chosen { right, model: model.clone().truncated(count), labelled });
                }
            }
        }
        let Chosen { right: at_usual, model, labelled } =
            best.ok_or_else(|| Error::data("dcot: there is nothing to choose from"))?;
        let (mut weight, mut most) = (usual, number(&at_usual));
        let others = WEIGHTS.iter().filter(|&&other| self.weight == Weight::Auto && other != usual);
        for &other in others {
            let part = first_layers(&labelled, labelled.dense().cols(), other.sqrt() as f32)?;
            let right = right(&part)?;
            if clearly_more(&right, &at_usual) && number(&right) > most {
                (weight, most) = (other, number(&right));
            }
        }
        let model = model.reweighted(weight);
        let rows = model.transform(x, run)?;
        Ok((model, rows))
    }
}

/// The weight for so many labels, of those there are to choose from: 40 labels of a class make reconstructions worth as
/// much as the document, fewer more. Rare classes count for what they hold (the classes are as many as equally large
/// ones would be with the same entropy).
fn usual_weight(labels: &Labels) -> f64 {
    let counts = labels.class_counts();
    let total: f64 = counts.iter().map(|&count| count as f64).sum();
    let shares = counts.iter().filter(|&&count| count > 0).map(|&count| count as f64 / total);
    let classes = (-shares.map(|share| share * share.ln()).sum::<f64>()).exp();
    let wanted = (LABELS_FOR_EQUAL * classes / total.max(1.0)).ln();
    let nearest = |a: &f64, b: &f64| (a.ln() - wanted).abs().total_cmp(&(b.ln() - wanted).abs());
    WEIGHTS.into_iter().min_by(nearest).unwrap_or(WEIGHTS[1])
}

/// Whether one choice is right more often than another by more than two standard errors of the difference; one is the
/// square root of the number of documents that only one of them gets right.
fn clearly_more(right: &[bool], than: &[bool]) -> bool {
    let only = |a: &[bool], b: &[bool]| a.iter().zip(b).filter(|&(&a, &b)| a && !b).count() as f64;
    let (won, lost) = (only(right, than), only(than, right));
    won - lost > 2.0 * (won + lost).sqrt()
}

fn number(right: &[bool]) -> usize {
    right.iter().filter(|&&good| good).count()
}

/// The best so far: which documents it gets right, its layers, and the labelled documents in them.
struct Chosen {
    right: Vec<bool>,
    model: DcotModel,
    labelled: Matrix,
}

/// The sparse part and the first dense columns, these times `factor`.
fn first_layers(x: &Matrix, width: usize, factor: f32) -> Result<Matrix> {
    let mut values = Vec::with_capacity(x.rows() * width);
    (0..x.rows()).for_each(|row| values.extend(x.row(row).dense[..width].iter().map(|value| value * factor)));
    Matrix::new(x.sparse().clone(), Dense::new(x.rows(), width, values)?, 0)
}

impl FittedProjector for DcotModel {
    fn transform(&self, x: Matrix, run: &Run) -> Result<Matrix> {
        DcotModel::transform(self, x, run)
    }

    fn save(&self, out: &mut StoreWriter) -> Result<()> {
        DcotModel::save(self, out);
        Ok(())
    }

    /// The terms stay; what is put beside them are reconstructions, not terms.
    fn feature_names(&self, before: Vec<String>) -> Vec<String> {
        before
    }

    fn n_columns(&self, before: usize) -> Result<usize> {
        let width = before + self.layers() * self.prototypes().len();
        same_columns("columns for dcot", self.columns(), before, width)
    }

    fn reconstruct(&self, x: &Matrix, run: &Run) -> Result<Option<Vec<ColumnWeights>>> {
        DcotModel::reconstruct(self, x, run).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(counts: &[usize]) -> Labels {
        let names: Vec<String> = (0..counts.len()).map(|class| format!("class {class:02}")).collect();
        let of_class = |class: usize| std::iter::repeat_n(Some(names[class].as_str()), counts[class]);
        Labels::from_single((0..counts.len()).flat_map(of_class))
    }

    #[test]
    fn the_fewer_the_labels_of_a_class_the_more_reconstructions_weigh() {
        let at = |each: usize, classes: usize| usual_weight(&labels(&vec![each; classes]));
        assert_eq!(
            [at(2, 20), at(5, 20), at(25, 20), at(50, 20), at(250, 20), at(5000, 20)],
            [8.0, 8.0, 2.0, 0.5, 0.125, 0.03125]
        );
        assert_eq!(at(25, 2), at(25, 50));
        // Thirty classes of one document each hardly count beside two large ones.
        let mut counts = vec![1; 30];
        counts.extend([1000, 1000]);
        assert_eq!(usual_weight(&labels(&counts)), usual_weight(&labels(&[1000, 1000])));
        assert!(WEIGHTS.contains(&usual_weight(&labels(&[]))));
    }

    #[test]
    fn two_standard_errors_are_clear_and_less_is_not() {
        let right = |good: std::ops::Range<usize>| -> Vec<bool> { (0..20).map(|row| good.contains(&row)).collect() };
        assert!(clearly_more(&right(0..15), &right(0..10)), "five won, none lost");
        assert!(!clearly_more(&right(0..14), &right(0..10)), "four won, none lost");
        assert!(!clearly_more(&right(4..13), &right(0..8)), "five won, four lost");
        assert!(!clearly_more(&[], &[]));
    }
}
