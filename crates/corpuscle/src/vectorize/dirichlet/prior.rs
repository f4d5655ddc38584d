//! The two priors, learnt from the counts of a sample.
//!
//! T. Minka's fixed point for the Dirichlet-multinomial (2000): α_k ← α_k · Σ_d [ψ(n_dk + α_k) − ψ(α_k)] / Σ_d [ψ(n_d + Σα)
//! − ψ(Σα)], and the same for β with words in place of documents. As ψ(n + a) − ψ(a) = Σ_{i<n} 1/(a + i), one walk along a
//! histogram of counts does for all documents (H. Wallach, 2008). Each topic has an α of its own, since topics that are everywhere
//! and topics that are rare differ by orders of magnitude; all words share one β (Wallach, Mimno and McCallum 2009: an asymmetric
//! prior over topics helps, one over words does not).

use crate::wide::registers::WIDTH;

/// Priors are kept above this, so that no topic is lost for good.
const LEAST: f64 = 1e-4;
/// Fixed-point steps each time.
const STEPS: usize = 20;
/// Counts from here on are looked up by the digamma function instead of a walk.
const WALK: usize = 1 << 14;

/// How even topics are in documents, and words in topics.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Priors {
    /// α of each topic.
    pub(super) alpha: Vec<f64>,
    /// β of every word.
    pub(super) beta: f64,
}

/// ψ(n + a) − ψ(a) for every n of a histogram, summed up.
fn rise(histogram: &[u32], prior: f64) -> f64 {
    let (mut digamma, mut sum) = (0.0, 0.0);
    for (n, &times) in histogram.iter().enumerate() {
        sum += f64::from(times) * digamma;
        digamma += 1.0 / (prior + n as f64);
    }
    sum
}

/// ψ(x) for x > 0, by recurrence to x ≥ 6 and the asymptotic series.
fn digamma(mut x: f64) -> f64 {
    let mut below = 0.0;
    while x < 6.0 {
        below -= 1.0 / x;
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    below + x.ln() - 0.5 / x - square * (1.0 / 12.0 - square * (1.0 / 120.0 - square * (1.0 / 252.0 - square / 240.0)))
}

impl Priors {
    /// α from the tokens of each topic in documents, and the lengths of documents.
    pub(super) fn learn_alpha(&mut self, topics: &[Vec<u32>], lengths: &[u32]) {
        for _ in 0..STEPS {
            let total = rise(lengths, self.alpha.iter().sum());
            // Documents of at most one token say nothing about how even topics are.
            if total <= 0.0 || lengths.len() < 3 {
                return;
            }
            for (alpha, histogram) in self.alpha.iter_mut().zip(topics) {
                *alpha = (*alpha * rise(histogram, *alpha) / total).clamp(LEAST, 1e4);
            }
        }
    }

    /// β from the tokens of each word in each topic.
    pub(super) fn learn_beta(&mut self, counts: &[[i32; WIDTH]], totals: &[u64], n_words: usize) {
        let mut histogram = vec![0u32; WALK];
        let mut large = Vec::new();
        for &count in counts.iter().flatten().filter(|&&count| count > 0) {
            match histogram.get_mut(count as usize) {
                Some(times) => *times += 1,
                None => large.push(f64::from(count)),
            }
        }
        let most = histogram.iter().rposition(|&times| times > 0).unwrap_or(0);
        histogram.truncate(most + 1);
        for _ in 0..STEPS {
            let (beta, all) = (self.beta, self.beta * n_words as f64);
            let above = rise(&histogram, beta) + large.iter().map(|&n| digamma(n + beta) - digamma(beta)).sum::<f64>();
            let below: f64 = totals.iter().map(|&n| digamma(n as f64 + all) - digamma(all)).sum();
            if below <= 0.0 {
                return;
            }
            self.beta = (beta * above / (n_words as f64 * below)).clamp(LEAST, 1e2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digamma_is_right() {
        // ψ(1) = −γ, ψ(1/2) = −γ − 2 ln 2, ψ(10) = H_9 − γ.
        const EULER: f64 = 0.577_215_664_901_532_9;
        let harmonic: f64 = (1..10).map(|i| 1.0 / f64::from(i)).sum();
        for (x, value) in [(1.0, -EULER), (0.5, -EULER - 2.0 * 2f64.ln()), (10.0, harmonic - EULER)] {
            assert!((digamma(x) - value).abs() < 1e-8, "{x}");
        }
        assert!((rise(&[0, 0, 0, 2], 0.5) - 2.0 * (digamma(3.5) - digamma(0.5))).abs() < 1e-8);
    }
}
