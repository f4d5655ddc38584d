//! What each term of a document does to a score, to first order: the derivative of the score by the document's entries.
//!
//! With d^l = z^l − centre, turned onto the directions that are kept of it, a layer's block is length · d^l/‖d^l‖, so for its
//! weights w the score has the derivative (length/‖d‖)·(w − (w·u) u), u = d/‖d‖, by z^l (just w where outputs are left as they
//! come); tanh gives the factor 1 − z², and W carries it to the layer before, down to the document itself. One
//! pass forward and one back: O(stored · prototypes + layers · prototypes²), as much as representing the document twice.

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
        let off: Vec<f32> = z.iter().zip(&model.centres[number]).map(|(z, centre)| z - centre).collect();
        let block = model.columns_of(number);
        let own = weights.range(columns + block.start..columns + block.end);
        match &model.directions[number] {
            None => add_slope(&off, &own, model.length, &mut by_output),
            Some(directions) => {
                let directions = directions.wide();
                let mut along = vec![0f32; directions.cols()];
                for (row, off) in off.iter().enumerate() {
                    along.iter_mut().zip(directions.row(row)).for_each(|(to, part)| *to += off * part);
                }
                let mut slope = vec![0f32; along.len()];
                add_slope(&along, &own, model.length, &mut slope);
                for (row, to) in by_output.iter_mut().enumerate() {
                    *to += directions.row(row).iter().zip(&slope).map(|(part, slope)| part * slope).sum::<f32>();
                }
            }
        }
        // Through tanh, whose derivative is 1 − tanh².
        by_output.iter_mut().zip(z).for_each(|(to, &z)| *to *= 1.0 - z * z);
        let pulled = layer.weights.pulled(by_output);
        if number > 0 {
            by_output = (0..width).map(|input| layer.weights.slope(input, &pulled)).collect();
            continue;
        }
        let mut gradient = Dense::zeros(columns, 1);
        for &column in x.row(0).columns {
            let column = column as usize;
            gradient.row_mut(column)[0] = weights.at(column) + layer.weights.slope(column, &pulled);
        }
        return Ok(gradient);
    }
    Ok(Dense::zeros(columns, 1))
}

/// Adds the derivative of w·(length · d/‖d‖) by d; where there is no length, that of w·d.
fn add_slope(d: &[f32], w: &[f32], length: Option<f32>, to: &mut [f32]) {
    let Some(length) = length else {
        return to.iter_mut().zip(w).for_each(|(to, w)| *to += w);
    };
    let square: f64 = d.iter().map(|&d| f64::from(d) * f64::from(d)).sum();
    if square > 0.0 {
        let inner: f64 = d.iter().zip(w).map(|(&d, &w)| f64::from(d) * f64::from(w)).sum();
        let scale = f64::from(length) / square.sqrt();
        for ((to, &d), &w) in to.iter_mut().zip(d).zip(w) {
            *to += (scale * (f64::from(w) - inner / square * f64::from(d))) as f32;
        }
    }
}
