//! One token's draw: the loop that latent Dirichlet allocation spends its time in.
//!
//! p(topic) ∝ (n_word,topic + β) · (n_document,topic + α_topic) / (n_topic + β · words), all topics at once in lanes of
//! sixteen. Sixteen partial sums, one for each place in a lane, become a small tree; a uniform number goes down the tree and
//! then along its place through the lanes, without a branch that a processor could not foresee.
//! For up to some hundreds of topics that is faster than methods that look at a few topics alone, and exact.

use crate::wide::by_place;
use crate::wide::registers::{Lane, Registers, WIDTH};

/// Lanes that are looked at without a branch.
const RUN: usize = 8;

/// Draws a topic; `before` is the one the token had, or beyond all topics. `counts` and `weights` still count the token itself; its
/// topic's weight without it is `without`.
#[inline(always)]
#[allow(clippy::too_many_arguments)] // One call, in the innermost loop.
pub(super) fn draw<V: Registers>(
    v: V,
    counts: &[[i32; WIDTH]],
    weights: &[Lane],
    beta: f32,
    before: usize,
    without: f32,
    uniform: f32,
    parts: &mut [Lane],
) -> usize {
    let (mut all, smooth) = (v.splat(0.0), v.splat(beta));
    // By number and not by `zip`, whose making is a call of its own for every token where functions are not inlined across units.
    let (counts, weights) = (&counts[..parts.len()], &weights[..parts.len()]);
    for lane in 0..parts.len() {
        let part = v.multiply(v.add(v.load_counts(&counts[lane]), smooth), v.load(&weights[lane]));
        v.store(part, &mut parts[lane]);
        all = v.add(all, part);
    }
    let mut sums = [0f32; WIDTH];
    v.store(all, &mut sums);
    let (lane, place) = (before / WIDTH, before % WIDTH);
    if lane < parts.len() {
        parts[lane][place] = ((counts[lane][place] - 1) as f32 + beta) * without;
        sums[place] = parts.iter().map(|lane| lane[place]).sum();
    }
    let eight: [f32; 8] = by_place(|i| sums[i] + sums[i + 8]);
    let four: [f32; 4] = by_place(|i| eight[i] + eight[i + 4]);
    let two: [f32; 2] = by_place(|i| four[i] + four[i + 2]);
    let mut left = uniform * (two[0] + two[1]);
    let mut place = 0;
    for (sums, half) in [(&two[..], 1), (&four[..], 2), (&eight[..], 4), (&sums[..], 8)] {
        // The other one of each pair stands `half` places on. Counting instead of branching: nobody could foresee the branch.
        let beyond = usize::from(left >= sums[place]);
        left -= sums[place] * beyond as f32;
        place += half * beyond;
    }
    // Whole runs of lanes are passed over while the number is beyond them; in the last, it is counted how many it is beyond.
    let mut lane = 0;
    for run in parts.chunks(RUN) {
        let mut sum = 0.0;
        let mut beyond = 0;
        for parts in run {
            sum += parts[place];
            beyond += usize::from(left >= sum);
        }
        lane += beyond;
        if beyond < run.len() {
            break;
        }
        left -= sum;
    }
    lane.min(parts.len() - 1) * WIDTH + place
}
