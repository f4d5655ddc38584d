//! From scores to probabilities, losses and curvatures: softmax over all classes, or a sigmoid for each.

use crate::matrix::Dense;

/// What a document should be, and what it costs when it is not.
pub(super) enum Link<'a> {
    /// The class of each document and its price; `classes` classes in all.
    Softmax { truth: &'a [u32], prices: &'a [f32], classes: usize },
    /// Bit `l` of a document: it has the class in lane `l`. Prices by lane for documents with and without the class, to be
    /// multiplied by the document's weight.
    Sigmoid { positive: &'a [u32], weights: &'a [f32], prices: &'a [[f32; 2]] },
}

impl Link<'_> {
    /// Whether the classes of a document depend on each other.
    pub(super) fn joint(&self) -> bool {
        matches!(self, Link::Softmax { .. })
    }

    /// For one document with `scores` in tiles of `N` classes: its probabilities, the slope of its loss, and the loss
    /// (in lane 0 when the classes are joint). Lanes without a class get probability 0 and slope 0.
    #[inline(always)]
    pub(super) fn evaluate<const N: usize>(
        &self,
        document: usize,
        scores: &[[f32; N]],
        probabilities: &mut [[f32; N]],
        slopes: &mut [[f32; N]],
        losses: &mut [f64; N],
    ) {
        match self {
            Link::Softmax { truth, prices, classes } => {
                let (truth, price) = (truth[document] as usize, prices[document]);
                let real = &scores.as_flattened()[..*classes];
                let highest = real.iter().fold(f32::NEG_INFINITY, |highest, &score| highest.max(score));
                for (probability, score) in probabilities.iter_mut().zip(scores) {
                    for lane in 0..N {
                        probability[lane] = exp(score[lane] - highest);
                    }
                }
                let flat = probabilities.as_flattened_mut();
                flat[*classes..].fill(0.0);
                let sum: f32 = flat.iter().sum();
                losses[0] += f64::from(price) * (f64::from(sum).ln() + f64::from(highest - real[truth]));
                let slopes = slopes.as_flattened_mut();
                for (probability, slope) in flat.iter_mut().zip(slopes.iter_mut()) {
                    *probability /= sum;
                    *slope = price * *probability;
                }
                slopes[truth] -= price;
            }
            Link::Sigmoid { positive, weights, prices } => {
                for (lane, price) in prices.iter().enumerate() {
                    let is = positive[document] >> lane & 1 == 1;
                    let price = weights[document] * price[usize::from(!is)];
                    let score = scores[0][lane];
                    let small = exp(-score.abs());
                    let larger = 1.0 / (1.0 + small);
                    let probability = if score >= 0.0 { larger } else { small * larger };
                    probabilities[0][lane] = probability;
                    // 1 − p is the sigmoid of −score: taking the difference would cancel its digits.
                    let missing = if score >= 0.0 { small * larger } else { larger };
                    slopes[0][lane] = if is { -price * missing } else { price * probability };
                    let behind = if is { -score } else { score };
                    losses[lane] += f64::from(price * (behind.max(0.0) + (1.0 + small).ln()));
                }
            }
        }
    }

    /// Curvature of the loss in each score alone: price · p(1 − p).
    #[inline(always)]
    pub(super) fn diagonal<const N: usize>(&self, document: usize, probabilities: &[[f32; N]], out: &mut [[f32; N]]) {
        match self {
            Link::Softmax { prices, .. } => {
                for (out, p) in out.iter_mut().zip(probabilities) {
                    for lane in 0..N {
                        out[lane] = prices[document] * p[lane] * (1.0 - p[lane]);
                    }
                }
            }
            Link::Sigmoid { positive, weights, prices } => {
                for (lane, price) in prices.iter().enumerate() {
                    let is = positive[document] >> lane & 1 == 1;
                    let p = probabilities[0][lane];
                    out[0][lane] = weights[document] * price[usize::from(!is)] * p * (1.0 - p);
                }
            }
        }
    }

    /// The Hessian of the document's loss times `change` (a change of its scores), written over `out`.
    #[inline(always)]
    pub(super) fn curve<const N: usize>(
        &self,
        document: usize,
        probabilities: &[[f32; N]],
        change: &[[f32; N]],
        out: &mut [[f32; N]],
    ) {
        match self {
            Link::Softmax { prices, .. } => {
                let price = prices[document];
                let pairs = probabilities.as_flattened().iter().zip(change.as_flattened());
                let mean: f32 = pairs.map(|(p, u)| p * u).sum();
                let tiles = out.len();
                let (probabilities, change) = (&probabilities[..tiles], &change[..tiles]);
                for tile in 0..tiles {
                    let (out, p, u) = (&mut out[tile], &probabilities[tile], &change[tile]);
                    for lane in 0..N {
                        out[lane] = price * p[lane] * (u[lane] - mean);
                    }
                }
            }
            Link::Sigmoid { .. } => {
                self.diagonal(document, probabilities, out);
                for lane in 0..N {
                    out[0][lane] *= change[0][lane];
                }
            }
        }
    }
}

/// Scores turned into probabilities that add up to 1, in place.
pub(super) fn softmax_rows(scores: &mut Dense) {
    for row in 0..scores.rows() {
        let row = scores.row_mut(row);
        let highest = row.iter().fold(f32::NEG_INFINITY, |highest, &score| highest.max(score));
        row.iter_mut().for_each(|score| *score = exp(*score - highest));
        let sum: f32 = row.iter().sum();
        row.iter_mut().for_each(|value| *value /= sum);
    }
}

/// A score turned into a probability of its own.
pub(super) fn sigmoid(score: f32) -> f32 {
    let small = exp(-score.abs());
    let larger = 1.0 / (1.0 + small);
    if score >= 0.0 { larger } else { small * larger }
}

/// eˣ for x ≤ 0 to 2 units in the last place; 0 below −87. Written out because the standard library's differs in its
/// last bit from processor to processor, and because this one is computed for four classes at once.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    let clamped = x.max(-87.0);
    // x = k ln 2 + r with |r| ≤ ½ ln 2; the product k ln 2 in two parts, the first of few digits, so that it is exact.
    let k = (clamped * std::f32::consts::LOG2_E + 12_582_912.0) - 12_582_912.0;
    let r = (clamped - k * 0.693_359_4) - k * -2.121_944_4e-4;
    let series = 1.0 / 5040.0;
    let series = series * r + 1.0 / 720.0;
    let series = series * r + 1.0 / 120.0;
    let series = series * r + 1.0 / 24.0;
    let series = series * r + 1.0 / 6.0;
    let series = series * r + 0.5;
    let series = series * r + 1.0;
    let series = series * r + 1.0;
    let power = f32::from_bits(((k as i32 + 127) << 23) as u32);
    if x < -87.0 { 0.0 } else { series * power }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_is_right_to_the_last_digits() {
        for step in 0..=87_000 {
            let x = -(step as f32) / 1000.0;
            let exact = f64::from(x).exp();
            assert!((f64::from(exp(x)) - exact).abs() <= 3e-7 * exact, "{x}");
        }
        assert_eq!((exp(-100.0), exp(0.0), exp(f32::NEG_INFINITY)), (0.0, 1.0, 0.0));
    }

    #[test]
    fn slopes_and_curvatures_are_derivatives() {
        let scores = [[0.3f32, -1.2, 0.7, 0.0]];
        let sigmoid =
            Link::Sigmoid { positive: &[0b010], weights: &[2.0], prices: &[[1.0, 0.5], [3.0, 1.0], [1.0, 1.0]] };
        let softmax = Link::Softmax { truth: &[1], prices: &[2.0], classes: 3 };
        for link in [sigmoid, softmax] {
            let evaluate = |scores: &[[f32; 4]]| {
                let (mut p, mut slope, mut loss) = ([[0f32; 4]], [[0f32; 4]], [0f64; 4]);
                link.evaluate(0, scores, &mut p, &mut slope, &mut loss);
                (p, slope, loss.iter().sum::<f64>())
            };
            let (p, slope, _) = evaluate(&scores);
            for lane in 0..3 {
                let step = 1e-2f32;
                let (mut up, mut down, mut unit) = (scores, scores, [[0f32; 4]]);
                up[0][lane] += step;
                down[0][lane] -= step;
                unit[0][lane] = 1.0;
                let (up, down) = (evaluate(&up), evaluate(&down));
                assert!(((up.2 - down.2) / 0.02 - f64::from(slope[0][lane])).abs() < 1e-3);
                let mut curve = [[0f32; 4]];
                link.curve(0, &p, &unit, &mut curve);
                for (curve, (up, down)) in curve[0].iter().zip(up.1[0].iter().zip(&down.1[0])) {
                    assert!(((up - down) / (2.0 * step) - curve).abs() < 1e-3);
                }
                let mut diagonal = [[0f32; 4]];
                link.diagonal(0, &p, &mut diagonal);
                assert!((diagonal[0][lane] - curve[0][lane]).abs() < 1e-5);
            }
        }
    }
}
