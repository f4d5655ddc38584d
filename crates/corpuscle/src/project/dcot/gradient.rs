//! What each term of a document does to a score, to first order: the derivative of the score by the document's entries.
//!
//! With d^l = z^l − centre, a layer's block is length · d^l/‖d^l‖, so for its weights w the score has the derivative
//! (length/‖d‖)·(w − (w·u) u), u = d/‖d‖, by z^l; tanh gives the factor 1 − z², and W carries it to the layer before, down
//! to the document itself. One pass forward and one back: O(stored · prototypes + layers · prototypes²), as much as
//! representing the document twice.

use super::model::DcotModel;
use crate::matrix::{Dense, Matrix};
use crate::project::Weights;
use crate::{Result, Run};

/// The derivative by every column that the document `x` (one row) has; other columns are left at 0.
pub(super) fn of(model: &DcotModel, x: &Matrix, weights: &Weights<'_>, run: &Run) -> Result<Dense> {
    let raw = run.install(|| model.raw(x.sparse(), run))?;
    let raw = raw.row(0);
    let (width, columns) = (model.prototypes.len(), x.cols());
    // The derivative by the output of the layer at hand, from the last layer to the first.
    let mut by_output = vec![0f32; width];
    for (number, layer) in model.layers.iter().enumerate().rev() {
        let z = &raw[number * width..(number + 1) * width];
        let centre = &model.centres[number];
        let own = weights.range(columns + number * width..columns + (number + 1) * width);
        let square: f64 = z.iter().zip(centre).map(|(&z, &c)| f64::from(z - c) * f64::from(z - c)).sum();
        if square > 0.0 {
            let inner: f64 = z.iter().zip(centre).zip(&own).map(|((&z, &c), &w)| f64::from(z - c) * f64::from(w)).sum();
            let scale = f64::from(model.length) / square.sqrt();
            for ((to, (&z, &c)), &w) in by_output.iter_mut().zip(z.iter().zip(centre)).zip(&own) {
                *to += (scale * (f64::from(w) - inner / square * f64::from(z - c))) as f32;
            }
        }
        // Through tanh, whose derivative is 1 − tanh².
        by_output.iter_mut().zip(z).for_each(|(to, &z)| *to *= 1.0 - z * z);
        let through = |row: &[f32]| row.iter().zip(&by_output).map(|(a, b)| a * b).sum::<f32>();
        if number > 0 {
            by_output = (0..width).map(|input| through(layer.weights.row(input))).collect();
            continue;
        }
        let mut gradient = Dense::zeros(columns, 1);
        for &column in x.row(0).columns {
            let column = column as usize;
            gradient.row_mut(column)[0] = weights.at(column) + through(layer.weights.row(column));
        }
        return Ok(gradient);
    }
    Ok(Dense::zeros(columns, 1))
}
