//! Figures about labels and the model that learns along: how many labels more, agreement.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::store::{Opinion, Pile};

/// How many labels it takes to be right so often, from (labels, accuracy) along the way: errors fall as a · n⁻ᵇ, fitted to the
/// logarithms by least squares. `None` where there are too few points, no fall to speak of, or no end in sight.
pub(crate) fn labels_needed(curve: &[(usize, f64)], wanted: f64) -> Option<usize> {
    let points: Vec<(f64, f64)> = curve
        .iter()
        .filter(|(labels, accuracy)| *labels > 0 && *accuracy < 1.0)
        .map(|&(labels, accuracy)| ((labels as f64).ln(), (1.0 - accuracy).ln()))
        .collect();
    if points.len() < 4 {
        return None;
    }
    let n = points.len() as f64;
    let (mx, my) = (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
    let spread: f64 = points.iter().map(|p| (p.0 - mx).powi(2)).sum();
    let slope = points.iter().map(|p| (p.0 - mx) * (p.1 - my)).sum::<f64>() / spread;
    // No number where all points have as many labels.
    if slope.is_nan() || slope >= -0.05 {
        return None;
    }
    let needed = (((1.0 - wanted).ln() - my) / slope + mx).exp();
    (needed.is_finite() && needed < 1e6).then(|| needed.round() as usize)
}

/// Cohen's kappa (1960) of two people's answers: agreement beyond what chance would give.
pub(crate) fn kappa(pairs: &[(&[String], &[String])]) -> Option<f64> {
    let n = pairs.len() as f64;
    if pairs.is_empty() {
        return None;
    }
    let agreed = pairs.iter().filter(|(one, other)| one == other).count() as f64 / n;
    let mut ones: BTreeMap<&[String], (f64, f64)> = BTreeMap::new();
    for (one, other) in pairs {
        ones.entry(one).or_default().0 += 1.0;
        ones.entry(other).or_default().1 += 1.0;
    }
    let chance: f64 = ones.values().map(|(one, other)| one * other / (n * n)).sum();
    // Both always say the same one thing: nothing beyond chance can be told.
    (chance < 1.0).then(|| (agreed - chance) / (1.0 - chance))
}

/// How much each pair of authors agrees on the documents both have labelled.
pub(crate) fn agreement(pile: &Pile) -> Vec<Value> {
    let authors = pile.authors();
    let mut list = Vec::new();
    for (at, one) in authors.iter().enumerate() {
        for other in &authors[at + 1..] {
            let pairs: Vec<(&[String], &[String])> = pile
                .standings()
                .filter_map(|(_, standing)| {
                    let of = |author: &str| {
                        let own = |opinion: &&Opinion| opinion.author == author;
                        standing.opinions.iter().find(own)?.labels.as_deref()
                    };
                    Some((of(one)?, of(other)?))
                })
                .collect();
            if !pairs.is_empty() {
                let same = pairs.iter().filter(|(one, other)| one == other).count();
                list.push(json!({
                    "authors": [one, other], "documents": pairs.len(),
                    "agreement": same as f64 / pairs.len() as f64, "kappa": kappa(&pairs),
                }));
            }
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_law_is_followed_to_its_end() {
        let curve: Vec<(usize, f64)> = [20, 40, 80, 160].map(|n| (n, 1.0 - 0.9 * f64::powf(n as f64, -0.4))).to_vec();
        // 0.9 n^-0.4 = 0.1 at n = 9^2.5 = 243.
        assert_eq!(labels_needed(&curve, 0.9), Some(243));
        assert_eq!(labels_needed(&curve[..3], 0.9), None);
        assert_eq!(labels_needed(&[(10, 0.5), (20, 0.5), (30, 0.5), (40, 0.5)], 0.9), None);
        assert_eq!(labels_needed(&[(10, 0.8), (20, 0.7), (30, 0.6), (40, 0.5)], 0.9), None);
        assert_eq!(labels_needed(&[(10, 0.8); 5], 0.9), None);
    }

    #[test]
    fn kappa_is_agreement_beyond_chance() {
        let (a, b) = (["a".to_string()], ["b".to_string()]);
        // Cohen's table 20 5 / 10 15: agreement 0.7, chance 0.5, kappa 0.4.
        let mut pairs: Vec<(&[String], &[String])> = Vec::new();
        for (one, other, count) in [(&a, &a, 20), (&a, &b, 5), (&b, &a, 10), (&b, &b, 15)] {
            pairs.extend((0..count).map(|_| (&one[..], &other[..])));
        }
        assert!((kappa(&pairs).unwrap() - 0.4).abs() < 1e-12);
        assert_eq!((kappa(&[]), kappa(&pairs[..3])), (None, None));
    }
}
