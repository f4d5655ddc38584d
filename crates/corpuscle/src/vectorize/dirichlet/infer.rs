//! The topics of a document when the words of topics are given: a fixed point, nothing drawn.
//!
//! n_k ← Σ_w count(w) · γ_wk, γ_wk ∝ (n_k + α_k) · P(w|k), from n_k in proportion to α_k, until the shares stand still. As
//! n_k + α_k comes out of the sum over words, a step is one product of the document with the words' rows and one back:
//! O(distinct words · topics). A text without known words keeps n_k = 0 and so has the mean of the prior.

use crate::wide::by_place;
use crate::wide::registers::{Lane, Registers, WIDTH, Work, fold, on_registers};

/// Most steps, and the change of shares, summed up, at which they end.
const STEPS: usize = 100;
const TOLERANCE: f32 = 1e-3;

/// Room for one document, used again for the next.
pub(super) struct Scratch {
    /// n_k + α_k.
    weights: Vec<Lane>,
    sums: Vec<Lane>,
}

impl Scratch {
    pub(super) fn new(lanes: usize) -> Self {
        Scratch { weights: vec![[0.0; WIDTH]; lanes], sums: vec![[0.0; WIDTH]; lanes] }
    }
}

/// A document to find topics for: its words and counts, the words' rows of P(w|k), and α.
pub(super) struct Document<'a> {
    pub(super) entries: &'a [(u32, f32)],
    pub(super) words: &'a [Lane],
    pub(super) alpha: &'a [Lane],
}

/// Finds the shares of topics in a document; they add up to 1.
pub(super) fn infer<'s>(document: &Document<'_>, scratch: &'s mut Scratch) -> &'s [Lane] {
    on_registers(Settle { document, scratch });
    &scratch.weights
}

struct Settle<'a> {
    document: &'a Document<'a>,
    scratch: &'a mut Scratch,
}

impl Work for Settle<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Registers>(self, v: V) {
        let Scratch { weights, sums } = self.scratch;
        let Document { entries, words, alpha } = self.document;
        let prior = total(v, alpha);
        let tokens: f32 = entries.iter().map(|&(_, count)| count).sum();
        let (all, width) = (tokens + prior, alpha.len());
        let start = v.splat(all / prior);
        for (weights, alpha) in weights.iter_mut().zip(*alpha) {
            v.store(v.multiply(v.load(alpha), start), weights);
        }
        for _ in 0..if tokens > 0.0 { STEPS } else { 0 } {
            sums.fill([0.0; WIDTH]);
            for &(word, count) in *entries {
                let row = &words[word as usize * width..][..width];
                let scale = v.splat(count / dot(v, row, weights).max(f32::MIN_POSITIVE));
                for lane in 0..width {
                    let sum = v.add(v.load(&sums[lane]), v.multiply(scale, v.load(&row[lane])));
                    v.store(sum, &mut sums[lane]);
                }
            }
            let mut change = 0f32;
            for ((weights, sums), alpha) in weights.iter_mut().zip(sums.iter()).zip(*alpha) {
                let mut next = [0f32; WIDTH];
                v.store(v.add(v.multiply(v.load(weights), v.load(sums)), v.load(alpha)), &mut next);
                let moved: Lane = by_place(|i| (next[i] - weights[i]).abs());
                change += fold(&moved);
                *weights = next;
            }
            if change <= TOLERANCE * all {
                break;
            }
        }
        let scale = 1.0 / total(v, weights).max(f32::MIN_POSITIVE);
        weights.iter_mut().flatten().for_each(|weight| *weight *= scale);
    }
}

/// The dot product of two rows.
#[inline(always)]
pub(super) fn dot<V: Registers>(v: V, a: &[Lane], b: &[Lane]) -> f32 {
    let mut sum = v.splat(0.0);
    let b = &b[..a.len()];
    for lane in 0..a.len() {
        sum = v.add(sum, v.multiply(v.load(&a[lane]), v.load(&b[lane])));
    }
    let mut lane = [0f32; WIDTH];
    v.store(sum, &mut lane);
    fold(&lane)
}

#[inline(always)]
fn total<V: Registers>(v: V, row: &[Lane]) -> f32 {
    let sum = row.iter().fold(v.splat(0.0), |sum, lane| v.add(sum, v.load(lane)));
    let mut lane = [0f32; WIDTH];
    v.store(sum, &mut lane);
    fold(&lane)
}
