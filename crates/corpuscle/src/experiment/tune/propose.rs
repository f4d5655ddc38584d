//! Where to look next: first evenly, then near the best.
//!
//! The first point has the defaults. Then come those of a Halton sequence (1960), shifted by the seed (Cranley and
//! Patterson, 1976), which cover any number of dimensions more evenly than chance. Refinement draws points around the
//! best one from a box that shrinks while nothing better is found and reaches as far as before once something is.

use rand::Rng as _;
use rustc_hash::FxHashSet;

use super::space::{Range, Space};
use crate::{Rng, Run};

const PRIMES: [u64; 16] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53];
/// Half the width of the first box around the best point, and what is left of it after each failure.
const WIDEST: f64 = 0.25;
const SHRINK: f64 = 0.8;
const NARROWEST: f64 = 0.01;
/// Points drawn before a space counts as searched through.
const DRAWS: usize = 200;

/// Proposes points not tried before.
#[derive(Debug)]
pub(super) struct Proposer<'a> {
    space: &'a Space,
    rng: Rng,
    shift: Vec<f64>,
    tried: FxHashSet<Vec<String>>,
    drawn: u64,
    width: f64,
}

impl<'a> Proposer<'a> {
    pub(super) fn new(space: &'a Space, run: &Run) -> Self {
        let mut rng = run.rng(0);
        let shift = space.dimensions().iter().map(|_| unit(&mut rng)).collect();
        Proposer { space, rng, shift, tried: FxHashSet::default(), drawn: 0, width: WIDEST }
    }

    /// The defaults.
    pub(super) fn first(&mut self) -> Vec<f64> {
        let point = self.space.start();
        self.tried.insert(self.space.values(&point));
        point
    }

    /// The next point of the even cover; `None` when nothing new is found.
    pub(super) fn explore(&mut self) -> Option<Vec<f64>> {
        self.new_point(|own| {
            own.drawn += 1;
            let place = |(&prime, &shift): (&u64, &f64)| (halton(own.drawn, prime) + shift).fract();
            PRIMES.iter().zip(&own.shift).map(place).collect()
        })
    }

    /// A new point near `best`; `None` when nothing new is found.
    pub(super) fn refine(&mut self, best: &[f64]) -> Option<Vec<f64>> {
        // A box too narrow to hold anything new is as good as searched through: look further again.
        self.new_point(|own| own.near(best)).or_else(|| {
            self.width = 1.0;
            self.new_point(|own| own.near(best))
        })
    }

    /// Says whether the last refinement found something better.
    pub(super) fn learn(&mut self, better: bool) {
        self.width = if better { WIDEST.max(self.width) } else { (self.width * SHRINK).max(NARROWEST) };
    }

    fn near(&mut self, best: &[f64]) -> Vec<f64> {
        let count = best.len();
        // One dimension moves for sure, each other one half of the time.
        let sure = (unit(&mut self.rng) * count as f64) as usize;
        let mut point = best.to_vec();
        for (index, dimension) in self.space.dimensions().iter().enumerate() {
            if index != sure && unit(&mut self.rng) < 0.5 {
                continue;
            }
            let step = 2.0 * unit(&mut self.rng) - 1.0;
            point[index] = match dimension.range {
                // Listed values have no order to be near in.
                Range::Choice(_) => (step + 1.0) / 2.0,
                _ => reflect(best[index] + self.width * step),
            };
        }
        point
    }

    fn new_point(&mut self, mut draw: impl FnMut(&mut Self) -> Vec<f64>) -> Option<Vec<f64>> {
        for _ in 0..DRAWS {
            let point = draw(self);
            if self.tried.insert(self.space.values(&point)) {
                return Some(point);
            }
        }
        None
    }
}

fn unit(rng: &mut Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// Brings what went over an end of 0 … 1 back inside.
fn reflect(u: f64) -> f64 {
    let u = u.abs();
    if u > 1.0 { (2.0 - u).max(0.0) } else { u }
}

/// The digits of `index` in base `prime`, mirrored at the point.
fn halton(mut index: u64, prime: u64) -> f64 {
    let mut unit = 1.0;
    let mut sum = 0.0;
    while index > 0 {
        unit /= prime as f64;
        sum += unit * (index % prime) as f64;
        index /= prime;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halton_is_the_known_sequence() {
        let of = |prime| (1..5).map(|index| halton(index, prime)).collect::<Vec<f64>>();
        assert_eq!(of(2), [0.5, 0.25, 0.75, 0.125]);
        assert!(of(3).iter().zip([1.0 / 3.0, 2.0 / 3.0, 1.0 / 9.0, 4.0 / 9.0]).all(|(a, b)| (a - b).abs() < 1e-12));
    }

    #[test]
    fn nothing_is_proposed_twice_and_small_spaces_come_to_an_end() {
        let space = Space::parse("tfidf(sublinear={true|false}) | knn(k=1..4)").unwrap();
        let run = Run::new(3, 1).unwrap();
        let mut proposer = Proposer::new(&space, &run);
        let best = proposer.first();
        let mut seen = vec![space.values(&best)];
        for step in 0.. {
            let next = if step < 3 { proposer.explore() } else { proposer.refine(&best) };
            proposer.learn(false);
            let Some(point) = next else { break };
            assert!(!seen.contains(&space.values(&point)));
            seen.push(space.values(&point));
        }
        assert_eq!(seen.len(), 8);
    }

    #[test]
    fn refinement_closes_in() {
        let space = Space::parse("tfidf | svm(c=0.001..1000 log)").unwrap();
        let run = Run::new(3, 1).unwrap();
        let mut proposer = Proposer::new(&space, &run);
        let score = |point: &[f64]| -(point[0] - 0.371).abs();
        let mut best = proposer.first();
        for step in 0..40 {
            let Some(point) = (if step < 8 { proposer.explore() } else { proposer.refine(&best) }) else { break };
            let better = score(&point) > score(&best);
            if step >= 8 {
                proposer.learn(better);
            }
            if better {
                best = point;
            }
        }
        assert!(score(&best) > -0.01, "{best:?}");
    }
}
