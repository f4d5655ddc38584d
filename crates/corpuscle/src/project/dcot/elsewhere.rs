//! A model of layers that were found elsewhere, from sums over documents that never were in one place.
//!
//! Layers are kept as a fit keeps them: the first factor of a compact first layer in eight bits, other factors in sixteen.
//! [`FoundLayer::kept`] gives what is left of factors then, so that what follows a layer is learnt from what it will answer.

use super::MOST_LAYERS;
use super::model::DcotModel;
use super::weights::{Layer, Weights};
use crate::matrix::{Codes, Dense, Table};
use crate::{Error, Result};

/// One layer, z = tanh(W x + b), and what of its output is put beside a document.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundLayer {
    /// W transposed, a row for each input; with `up` the first of its two factors.
    pub down: Dense,
    /// The other factor, a row for each prototype; none where W is written out.
    pub up: Option<Dense>,
    /// b.
    pub bias: Vec<f32>,
    /// What is taken from an output before it is put beside a document.
    pub centre: Vec<f32>,
    /// Directions (prototypes × directions) in which that is done; none for all of the output.
    pub directions: Option<Dense>,
}

impl FoundLayer {
    /// What a model keeps of the two factors of a layer; `first` for the one that starts from terms.
    pub fn kept(down: Dense, up: Dense, first: bool) -> (Dense, Dense) {
        let down = if first { Codes::of(&down).widened() } else { Table::new(down, false).wide().clone() };
        (down, Table::new(up, false).wide().clone())
    }

    fn into_layer(self, first: bool, exact: bool) -> Result<(Layer, Vec<f32>, Option<Table>)> {
        let weights = match self.up {
            None => Weights::Whole(self.down),
            Some(up) if up.cols() != self.down.cols() => {
                let (expected, found) = (self.down.cols(), up.cols());
                return Err(Error::Shape { what: "directions of a layer", expected, found });
            }
            Some(up) if first => Weights::Terms { down: Codes::of(&self.down), up: Table::new(up, exact) },
            Some(up) => Weights::Layer { down: Table::new(self.down, exact), up: Table::new(up, exact) },
        };
        let directions = self.directions.map(|directions| Table::new(directions, exact));
        Ok((Layer::new(weights, self.bias)?, self.centre, directions))
    }
}

impl DcotModel {
    /// A model of layers found elsewhere that reconstruct the columns `prototypes` (ascending); `length` is what each output is
    /// brought to, and `exact` keeps every bit of the directions.
    pub fn from_layers(
        layers: Vec<FoundLayer>,
        prototypes: Vec<u32>,
        noise: f64,
        length: Option<f32>,
        exact: bool,
    ) -> Result<Self> {
        if !(1..=MOST_LAYERS).contains(&layers.len()) {
            return Err(Error::data(format!("dcot: {} layers; there can be 1 to {MOST_LAYERS}", layers.len())));
        }
        let width = prototypes.len();
        let mut model = DcotModel {
            layers: Vec::new(),
            centres: Vec::new(),
            directions: Vec::new(),
            length,
            prototypes,
            noise,
            fitted: None,
        };
        for (number, found) in layers.into_iter().enumerate() {
            let (layer, centre, directions) = found.into_layer(number == 0, exact)?;
            let rows = directions.as_ref().map_or(width, |directions| directions.wide().rows());
            for (what, found) in [
                ("outputs of a layer", layer.weights.outputs()),
                ("biases of a layer", layer.bias.len()),
                ("centre of a layer", centre.len()),
                ("rows of the directions", rows),
                ("inputs of a layer", if number == 0 { width } else { layer.weights.inputs() }),
            ] {
                if found != width {
                    return Err(Error::Shape { what, expected: width, found });
                }
            }
            model.layers.push(layer);
            model.centres.push(centre);
            model.directions.push(directions);
        }
        Ok(model)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{DcotParams, Rank};
    use super::*;
    use crate::corpus::Labels;
    use crate::matrix::{Csr, Matrix};
    use crate::project::{Projector, ProjectorModel, Target};
    use crate::{Precision, Run};

    #[test]
    fn layers_put_together_are_the_model_that_was_fitted() {
        let run = Run::new(7, 1).unwrap();
        let rows =
            (0..40u32).map(|row| (0..6).map(|at| ((row * 7 + at * (row % 5 + 2)) % 12, 1.0 + at as f32)).collect());
        let sorted = rows.map(|mut row: Vec<(u32, f32)>| {
            row.sort_by_key(|entry| entry.0);
            row.dedup_by_key(|entry| entry.0);
            row
        });
        let x = Matrix::from(Csr::from_rows(12, sorted.collect::<Vec<_>>()));
        let labels = Labels::none(40);
        for (rank, precision) in [
            (Rank::Full, Precision::Full),
            (Rank::Directions(3), Precision::Full),
            (Rank::Directions(3), Precision::Compact),
        ] {
            let run = run.with_precision(precision);
            let params =
                DcotParams { prototypes: 8.into(), layers: 2.into(), rank: rank.into(), ..DcotParams::default() };
            let (fitted, z) = params.fit(&x, &Target::new(&labels), &run).unwrap();
            let take = |number: usize| {
                let layer = &fitted.layers[number];
                let (down, up) = match &layer.weights {
                    Weights::Whole(weights) => (weights.clone(), None),
                    Weights::Terms { down, up } => (down.widened(), Some(up.wide().clone())),
                    Weights::Layer { down, up } => (down.wide().clone(), Some(up.wide().clone())),
                };
                let directions = fitted.directions[number].as_ref().map(|directions| directions.wide().clone());
                FoundLayer { down, up, bias: layer.bias.clone(), centre: fitted.centres[number].clone(), directions }
            };
            let put = |layers: Vec<FoundLayer>| {
                let exact = precision == Precision::Full;
                DcotModel::from_layers(layers, fitted.prototypes.clone(), fitted.noise, fitted.length, exact)
            };
            let again = put(vec![take(0), take(1)]).unwrap().transform(&x, &run).unwrap();
            for (a, b) in again.dense().values().iter().zip(z.dense().values()) {
                assert!((a - b).abs() < 1e-3, "{a} {b}");
            }
            assert!(put(Vec::new()).is_err());
            assert!(put(vec![FoundLayer { centre: vec![0.0], ..take(0) }]).is_err());
            assert!(put(vec![take(0), FoundLayer { down: Dense::zeros(3, 8), up: None, ..take(1) }]).is_err());
        }
    }
}
