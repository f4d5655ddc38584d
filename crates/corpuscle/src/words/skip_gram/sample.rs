//! Which words are trained on: subsampling of frequent ones, and the draw of negatives.

use rand::RngExt;

use crate::Rng;

/// Draws words with probability count^0.75 / Σ count^0.75 in constant time (A. Walker, 1977: the alias method).
#[derive(Debug)]
pub(super) struct Negatives {
    /// The chance, in 2⁻³², that a place drawn keeps its own word, and the word it otherwise gives.
    places: Vec<(u32, u32)>,
}

impl Negatives {
    pub(super) fn new(counts: &[u64]) -> Self {
        let weights: Vec<f64> = counts.iter().map(|&count| (count as f64).powf(0.75)).collect();
        let mean = weights.iter().sum::<f64>() / weights.len().max(1) as f64;
        let mut shares: Vec<f64> = weights.iter().map(|weight| weight / mean).collect();
        let mut places: Vec<(u32, u32)> = (0..counts.len() as u32).map(|word| (u32::MAX, word)).collect();
        let (mut poor, mut rich): (Vec<usize>, Vec<usize>) = (0..shares.len()).partition(|&word| shares[word] < 1.0);
        while let (Some(&giver), Some(taker)) = (rich.last(), poor.pop()) {
            places[taker] = ((shares[taker] * 4_294_967_296.0) as u32, giver as u32);
            shares[giver] -= 1.0 - shares[taker];
            if shares[giver] < 1.0 {
                rich.pop();
                poor.push(giver);
            }
        }
        Negatives { places }
    }

    #[inline]
    pub(super) fn draw(&self, rng: &mut Rng) -> u32 {
        let bits: u64 = rng.random();
        let place = (((bits >> 32) * self.places.len() as u64) >> 32) as usize;
        let (own, other) = self.places[place];
        if (bits as u32) <= own { place as u32 } else { other }
    }
}

/// The chance, in 2⁻³², that an occurrence of each word is kept: (√(f/t) + 1) · t/f for a share f of all tokens.
pub(super) fn keep_chances(counts: &[u64], subsample: f64) -> Vec<u32> {
    let total: u64 = counts.iter().sum();
    let least = subsample * total as f64;
    let chance = |&count: &u64| {
        if subsample == 0.0 {
            return u32::MAX;
        }
        let count = count as f64;
        (((count / least).sqrt() + 1.0) * least / count * 4_294_967_296.0).min(4_294_967_295.0) as u32
    };
    counts.iter().map(chance).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn negatives_come_as_often_as_they_should() {
        let counts = [1u64, 16, 81, 10_000];
        let negatives = Negatives::new(&counts);
        let mut rng = Rng::seed_from_u64(3);
        let mut seen = [0u32; 4];
        for _ in 0..200_000 {
            seen[negatives.draw(&mut rng) as usize] += 1;
        }
        let sum: f64 = counts.iter().map(|&c| (c as f64).powf(0.75)).sum();
        for (seen, &count) in seen.iter().zip(&counts) {
            let share = (count as f64).powf(0.75) / sum;
            assert!((f64::from(*seen) / 200_000.0 - share).abs() < 0.003);
        }
    }

    #[test]
    fn rare_words_are_always_kept() {
        let chances = keep_chances(&[1, 1_000_000], 1e-3);
        assert_eq!(chances[0], u32::MAX);
        assert!((f64::from(chances[1]) / 4_294_967_296.0 - 0.0326).abs() < 1e-3);
        assert_eq!(keep_chances(&[5, 6], 0.0), [u32::MAX; 2]);
    }
}
