//! Who is near whom: a sparse symmetric matrix of affinities that sums to 1.

use rayon::prelude::*;

use crate::matrix::Dense;
use crate::{Result, Run};

/// Rows of one block of inner products.
const BLOCK: usize = 256;
/// Halvings of the search for a Gaussian's width.
const HALVINGS: usize = 60;

/// A symmetric matrix by rows.
#[derive(Debug)]
pub(super) struct Affinities {
    pub(super) offsets: Vec<usize>,
    pub(super) columns: Vec<u32>,
    pub(super) values: Vec<f64>,
}

impl Affinities {
    pub(super) fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    pub(super) fn row(&self, row: usize) -> impl Iterator<Item = (usize, f64)> {
        let range = self.offsets[row]..self.offsets[row + 1];
        self.columns[range.clone()].iter().zip(&self.values[range]).map(|(&column, &value)| (column as usize, value))
    }
}

/// Affinities of rows, each with about `perplexity` neighbours. Runs on the workers of the caller; there must be two rows.
pub(super) fn affinities(x: &Dense, perplexity: f64, run: &Run) -> Result<Affinities> {
    let n = x.rows();
    let k = ((3.0 * perplexity).ceil() as usize).clamp(1, n - 1);
    let squares: Vec<f32> = (0..n).map(|row| x.row(row).iter().map(|value| value * value).sum()).collect();
    let blocks: Vec<Vec<(u32, f64)>> =
        (0..n.div_ceil(BLOCK))
            .into_par_iter()
            .map(|block| {
                run.check()?;
                let rows: Vec<usize> = (block * BLOCK..n.min((block + 1) * BLOCK)).collect();
                let products = x.select_rows(&rows).matmul_transposed(x)?;
                let mut found = Vec::with_capacity(rows.len() * k);
                let mut distances: Vec<(f32, u32)> = Vec::with_capacity(n);
                for (at, &row) in rows.iter().enumerate() {
                    distances.clear();
                    distances.extend(products.row(at).iter().enumerate().filter(|(other, _)| *other != row).map(
                        |(other, &product)| ((squares[row] + squares[other] - 2.0 * product).max(0.0), other as u32),
                    ));
                    let order = |a: &(f32, u32), b: &(f32, u32)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
                    distances.select_nth_unstable_by(k - 1, order);
                    distances.truncate(k);
                    distances.sort_unstable_by(order);
                    found.extend(conditional(&distances, perplexity));
                }
                Ok(found)
            })
            .collect::<Result<_>>()?;
    Ok(symmetric(&blocks.concat(), n, k))
}

/// Shares of a Gaussian whose entropy is that of `perplexity` equal neighbours, over the nearest ones.
fn conditional(nearest: &[(f32, u32)], perplexity: f64) -> Vec<(u32, f64)> {
    let wanted = perplexity.min(nearest.len() as f64).ln();
    let least = nearest.first().map_or(0.0, |near| f64::from(near.0));
    // Only differences matter, and they keep the largest term at 1.
    let gaps: Vec<f64> = nearest.iter().map(|near| f64::from(near.0) - least).collect();
    let (mut low, mut high, mut beta) = (0.0f64, f64::INFINITY, 1.0f64);
    let mut shares = vec![0f64; gaps.len()];
    for _ in 0..HALVINGS {
        let (mut sum, mut weighted) = (0.0, 0.0);
        for (share, gap) in shares.iter_mut().zip(&gaps) {
            *share = (-beta * gap).exp();
            sum += *share;
            weighted += *share * gap;
        }
        shares.iter_mut().for_each(|share| *share /= sum);
        let entropy = sum.ln() + beta * weighted / sum;
        if (entropy - wanted).abs() < 1e-6 {
            break;
        }
        (low, high) = if entropy > wanted { (beta, high) } else { (low, beta) };
        // Equal distances have one entropy at any width: the bound keeps the search finite.
        beta = if high.is_finite() { (low + high) / 2.0 } else { (beta * 2.0).min(1e12) };
    }
    nearest.iter().zip(shares).map(|(near, share)| (near.1, share)).collect()
}

/// (P + Pᵀ) / 2n from `k` entries per row.
fn symmetric(entries: &[(u32, f64)], n: usize, k: usize) -> Affinities {
    let mut offsets = vec![0usize; n + 1];
    for (at, entry) in entries.iter().enumerate() {
        offsets[at / k + 1] += 1;
        offsets[entry.0 as usize + 1] += 1;
    }
    for row in 0..n {
        offsets[row + 1] += offsets[row];
    }
    let mut both = vec![(0u32, 0f64); offsets[n]];
    let mut next = offsets.clone();
    for (at, &(column, value)) in entries.iter().enumerate() {
        let row = at / k;
        for (from, to) in [(row, column as usize), (column as usize, row)] {
            both[next[from]] = (to as u32, value);
            next[from] += 1;
        }
    }
    let mut merged = Affinities { offsets: vec![0], columns: Vec::new(), values: Vec::new() };
    for row in 0..n {
        let list = &mut both[offsets[row]..offsets[row + 1]];
        list.sort_by_key(|entry| entry.0);
        let first = merged.columns.len();
        for &(column, value) in list.iter() {
            let value = value / (2 * n) as f64;
            match merged.columns.last() {
                Some(&last) if last == column && merged.columns.len() > first => {
                    if let Some(sum) = merged.values.last_mut() {
                        *sum += value;
                    }
                }
                _ => {
                    merged.columns.push(column);
                    merged.values.push(value);
                }
            }
        }
        merged.offsets.push(merged.columns.len());
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_the_entropy_asked_for() {
        let nearest: Vec<(f32, u32)> = (0..30).map(|i| (i as f32 * 0.1, i)).collect();
        let entropy: f64 = conditional(&nearest, 10.0).iter().map(|share| -share.1 * share.1.ln()).sum();
        assert!((entropy - 10f64.ln()).abs() < 1e-5, "{entropy}");
        let equal: Vec<(f32, u32)> = (0..30).map(|i| (0.5, i)).collect();
        assert!(conditional(&equal, 10.0).iter().all(|share| (share.1 - 1.0 / 30.0).abs() < 1e-9));
    }

    #[test]
    fn affinities_are_symmetric_and_sum_to_one() {
        let run = Run::new(1, 1).unwrap();
        let values: Vec<f32> = (0..40 * 3).map(|i| ((i * 37) % 101) as f32 / 101.0).collect();
        let p = affinities(&Dense::new(40, 3, values).unwrap(), 5.0, &run).unwrap();
        assert!((p.values.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        let of = |row: usize, column: usize| p.row(row).find(|entry| entry.0 == column).map(|entry| entry.1);
        for row in 0..40 {
            assert!(of(row, row).is_none());
            for (column, value) in p.row(row) {
                assert!(of(column, row).is_some_and(|other| (other - value).abs() < 1e-15));
            }
        }
    }
}
