//! k-means: every row to the nearest of K centres, every centre the mean of its rows.
//!
//! Minimises Σ ‖x − μ_c(x)‖² by Lloyd's steps (1982) from a start by k-means++ (D. Arthur and S. Vassilvitskii, 2007),
//! where each centre is drawn with probability proportional to the squared distance from those before it. Distances
//! come from one matrix product a step, since ‖x − μ‖² = ‖x‖² − 2(x·μ − ½‖μ‖²). A centre that loses all its rows takes
//! the row farthest from its own centre. O(n · K · d) per step.
//!
//! ```
//! use corpuscle::{Run, matrix::Dense, words::KmeansParams};
//! let x = Dense::from_rows(&[[0.0], [0.2], [5.0], [5.2]]);
//! let found = KmeansParams { clusters: 2, ..KmeansParams::default() }.fit(&x, &Run::new(1, 1)?)?;
//! assert_eq!(found.clusters[0], found.clusters[1]);
//! assert_ne!(found.clusters[0], found.clusters[2]);
//! # Ok::<(), corpuscle::Error>(())
//! ```

use rand::RngExt;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::matrix::Dense;
use crate::matrix::small::tall_product;
use crate::{Error, Result, Run};

/// Parameters of k-means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KmeansParams {
    /// How many clusters.
    pub clusters: usize,
    /// Most steps.
    pub steps: usize,
    /// Stops when a step brings the sum of squared distances down by less than this share.
    pub tolerance: f64,
}

impl Default for KmeansParams {
    fn default() -> Self {
        KmeansParams { clusters: 60, steps: 100, tolerance: 1e-4 }
    }
}

/// What k-means found.
#[derive(Debug, Clone, PartialEq)]
pub struct Kmeans {
    /// The centres, a row each.
    pub centres: Dense,
    /// The cluster of each row.
    pub clusters: Vec<u32>,
    /// The sum of squared distances of rows from their centres.
    pub inertia: f64,
    /// Whether it stopped by itself.
    pub converged: bool,
}

/// Rows of a task.
const ROWS: usize = 1024;

impl KmeansParams {
    /// Checks every value; the error names the one out of range.
    pub fn check(&self) -> Result<()> {
        if self.clusters == 0 || self.clusters > 1 << 20 {
            return Err(Error::parameter("kmeans", "clusters", self.clusters, "must be from 1 to 1048576"));
        }
        if self.steps == 0 {
            return Err(Error::parameter("kmeans", "steps", 0, "must be at least 1"));
        }
        if !(self.tolerance >= 0.0 && self.tolerance < 1.0) {
            return Err(Error::parameter("kmeans", "tolerance", self.tolerance, "must be from 0 to below 1"));
        }
        Ok(())
    }

    /// Clusters the rows of `x`.
    pub fn fit(&self, x: &Dense, run: &Run) -> Result<Kmeans> {
        self.fit_rows(x, None, run)
    }

    /// The same with a weight above 0 for each row: a row of weight 3 counts as three equal rows.
    pub fn fit_weighted(&self, x: &Dense, weights: &[f32], run: &Run) -> Result<Kmeans> {
        if weights.len() != x.rows() {
            return Err(Error::Shape { what: "weights of the rows", expected: x.rows(), found: weights.len() });
        }
        if let Some(row) = weights.iter().position(|weight| !(*weight > 0.0 && weight.is_finite())) {
            return Err(Error::data(format!("row {} has the weight {}, not a number above 0", row + 1, weights[row])));
        }
        self.fit_rows(x, Some(weights), run)
    }

    fn fit_rows(&self, x: &Dense, weights: Option<&[f32]>, run: &Run) -> Result<Kmeans> {
        self.check()?;
        if x.rows() < self.clusters {
            let reason = format!("is more than the {} rows there are to cluster", x.rows());
            return Err(Error::parameter("kmeans", "clusters", self.clusters, reason));
        }
        run.install(|| {
            let norms: Vec<f32> = x.values().par_chunks(x.cols().max(1)).map(square).collect();
            let total = |distances: &[f32]| -> f64 {
                distances.iter().enumerate().map(|(row, &d)| weight(weights, row) * f64::from(d)).sum()
            };
            let mut centres = self.start(x, weights, &norms, run)?;
            let (mut clusters, mut distances) = nearest(x, &norms, &centres);
            let mut inertia = total(&distances);
            let mut converged = false;
            for _ in 0..self.steps {
                run.check()?;
                centres = means(x, weights, &mut clusters, &mut distances, self.clusters);
                let (moved, nearer) = nearest(x, &norms, &centres);
                let less = total(&nearer);
                converged = moved == clusters || inertia - less <= self.tolerance * inertia;
                (clusters, distances, inertia) = (moved, nearer, less);
                if converged {
                    break;
                }
            }
            Ok(Kmeans { centres, clusters, inertia, converged })
        })
    }

    /// k-means++.
    fn start(&self, x: &Dense, weights: Option<&[f32]>, norms: &[f32], run: &Run) -> Result<Dense> {
        let mut rng = run.rng(0x6b6d);
        let mut distances = vec![f32::INFINITY; x.rows()];
        let mut chosen = rng.random_range(0..x.rows());
        let mut centres = Dense::zeros(self.clusters, x.cols());
        for centre in 0..self.clusters {
            run.check()?;
            centres.row_mut(centre).copy_from_slice(x.row(chosen));
            let new = centres.row(centre);
            let own = square(new);
            distances.par_chunks_mut(ROWS).enumerate().for_each(|(chunk, distances)| {
                for (offset, distance) in distances.iter_mut().enumerate() {
                    let row = chunk * ROWS + offset;
                    let inner = inner(x.row(row), new);
                    *distance = distance.min((norms[row] - 2.0 * inner + own).max(0.0));
                }
            });
            let drawn_by = |(row, &distance): (usize, &f32)| weight(weights, row) * f64::from(distance);
            let total: f64 = distances.iter().enumerate().map(drawn_by).sum();
            let mut aim = rng.random::<f64>() * total;
            // Rows that are all the same leave nothing to draw by: any row will do.
            chosen = rng.random_range(0..x.rows());
            for (row, distance) in distances.iter().enumerate() {
                aim -= drawn_by((row, distance));
                if aim < 0.0 {
                    chosen = row;
                    break;
                }
            }
        }
        Ok(centres)
    }
}

impl Kmeans {
    /// The nearest centre of each row of `x`, which may be other rows than those clustered. Holds the distances of a few thousand
    /// rows at a time.
    pub fn assign(&self, x: &Dense, run: &Run) -> Result<Vec<u32>> {
        if x.cols() != self.centres.cols() {
            return Err(Error::Shape { what: "columns of the rows", expected: self.centres.cols(), found: x.cols() });
        }
        const AT_ONCE: usize = 8 * ROWS;
        let mut clusters = Vec::with_capacity(x.rows());
        for from in (0..x.rows()).step_by(AT_ONCE) {
            run.check()?;
            let rows = from..x.rows().min(from + AT_ONCE);
            let values = x.values()[from * x.cols()..rows.end * x.cols()].to_vec();
            let part = Dense::new(rows.len(), x.cols(), values)?;
            let norms: Vec<f32> = (0..part.rows()).map(|row| square(part.row(row))).collect();
            clusters.extend(run.install(|| nearest(&part, &norms, &self.centres)).0);
        }
        Ok(clusters)
    }
}

#[inline]
fn weight(weights: Option<&[f32]>, row: usize) -> f64 {
    weights.map_or(1.0, |weights| f64::from(weights[row]))
}

#[inline]
fn inner(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0f32; 16];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<16>(), b.as_chunks::<16>());
    for (a, b) in a.iter().zip(b) {
        for i in 0..16 {
            sums[i] += a[i] * b[i];
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}

fn square(row: &[f32]) -> f32 {
    inner(row, row)
}

/// The nearest centre of each row and the squared distance from it.
fn nearest(x: &Dense, norms: &[f32], centres: &Dense) -> (Vec<u32>, Vec<f32>) {
    let scores = tall_product(x, &centres.transpose());
    let halves: Vec<f32> = (0..centres.rows()).map(|centre| 0.5 * square(centres.row(centre))).collect();
    (0..x.rows())
        .into_par_iter()
        .with_min_len(ROWS)
        .map(|row| {
            let mut best = (0u32, f32::NEG_INFINITY);
            for ((&score, &half), centre) in scores.row(row).iter().zip(&halves).zip(0..) {
                if score - half > best.1 {
                    best = (centre, score - half);
                }
            }
            (best.0, (norms[row] - 2.0 * best.1).max(0.0))
        })
        .unzip()
}

/// The mean of each cluster's rows. An empty cluster takes the row farthest from its centre.
fn means(x: &Dense, weights: Option<&[f32]>, clusters: &mut [u32], distances: &mut [f32], k: usize) -> Dense {
    let mut sizes = vec![0u32; k];
    clusters.iter().for_each(|&cluster| sizes[cluster as usize] += 1);
    for empty in 0..k {
        if sizes[empty] > 0 {
            continue;
        }
        let farthest = (0..clusters.len())
            .filter(|&row| sizes[clusters[row] as usize] > 1)
            .max_by(|&a, &b| distances[a].total_cmp(&distances[b]).then(b.cmp(&a)));
        if let Some(row) = farthest {
            sizes[clusters[row] as usize] -= 1;
            clusters[row] = empty as u32;
            sizes[empty] = 1;
            distances[row] = 0.0;
        }
    }
    let mut sums = vec![0f64; k * x.cols()];
    // Columns are dealt out to tasks, so that every sum is made by one task in the order of the rows.
    const COLUMNS: usize = 32;
    let parts: Vec<Vec<f64>> = (0..x.cols().div_ceil(COLUMNS))
        .into_par_iter()
        .map(|part| {
            let columns = part * COLUMNS..x.cols().min((part + 1) * COLUMNS);
            let mut sums = vec![0f64; k * columns.len()];
            for (row, &cluster) in clusters.iter().enumerate() {
                let to = &mut sums[cluster as usize * columns.len()..][..columns.len()];
                let weight = weight(weights, row);
                let values = &x.row(row)[columns.clone()];
                to.iter_mut().zip(values).for_each(|(sum, &value)| *sum += weight * f64::from(value));
            }
            sums
        })
        .collect();
    for (part, values) in parts.iter().enumerate() {
        let width = values.len() / k.max(1);
        for cluster in 0..k {
            let at = cluster * x.cols() + part * COLUMNS;
            sums[at..at + width].copy_from_slice(&values[cluster * width..(cluster + 1) * width]);
        }
    }
    let mut mass = vec![0f64; k];
    clusters.iter().enumerate().for_each(|(row, &cluster)| mass[cluster as usize] += weight(weights, row));
    let mut centres = Dense::zeros(k, x.cols());
    for cluster in 0..k {
        let size = if mass[cluster] > 0.0 { mass[cluster] } else { 1.0 };
        for (to, sum) in centres.row_mut(cluster).iter_mut().zip(&sums[cluster * x.cols()..]) {
            *to = (sum / size) as f32;
        }
    }
    centres
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heaps(rows: usize) -> Dense {
        let mut rng = Run::new(5, 1).unwrap().rng(0);
        let values = (0..rows).flat_map(|row| {
            let (x, y) = [(0.0, 0.0), (4.0, 0.0), (0.0, 4.0)][row % 3];
            [x + rng.random::<f32>(), y + rng.random::<f32>()]
        });
        Dense::new(rows, 2, values.collect::<Vec<f32>>()).unwrap()
    }

    #[test]
    fn separate_heaps_are_found_with_the_same_bits_on_any_threads() {
        let x = heaps(3000);
        let params = KmeansParams { clusters: 3, ..KmeansParams::default() };
        let found = params.fit(&x, &Run::new(9, 1).unwrap()).unwrap();
        assert!(found.converged);
        for row in 0..x.rows() {
            assert_eq!(found.clusters[row], found.clusters[row % 3]);
        }
        assert!((found.inertia / 3000.0 - 1.0 / 6.0).abs() < 0.01);
        for threads in [2, 8] {
            assert_eq!(params.fit(&x, &Run::new(9, threads).unwrap()).unwrap(), found);
        }
    }

    #[test]
    fn a_weight_counts_as_so_many_equal_rows_and_other_rows_find_their_centre() {
        let run = Run::new(3, 2).unwrap();
        let x = Dense::from_rows(&[[0.0], [1.0], [9.0], [10.0]]);
        let params = KmeansParams { clusters: 2, ..KmeansParams::default() };
        let found = params.fit_weighted(&x, &[3.0, 1.0, 1.0, 1.0], &run).unwrap();
        let centre = found.centres.row(found.clusters[0] as usize)[0];
        assert!((centre - 0.25).abs() < 1e-6, "{centre}");
        let other = found.assign(&Dense::from_rows(&[[-1.0], [20.0]]), &run).unwrap();
        assert_eq!(other, [found.clusters[0], found.clusters[3]]);
        assert!(found.assign(&Dense::zeros(1, 2), &run).is_err());
        assert!(params.fit_weighted(&x, &[1.0], &run).is_err());
        assert!(params.fit_weighted(&x, &[1.0, 0.0, 1.0, 1.0], &run).is_err());
    }

    #[test]
    fn equal_rows_and_too_few_rows_are_no_trouble() {
        let run = Run::new(1, 1).unwrap();
        let same = Dense::new(5, 2, vec![1.0; 10]).unwrap();
        let found = KmeansParams { clusters: 3, ..KmeansParams::default() }.fit(&same, &run).unwrap();
        assert_eq!(found.inertia, 0.0);
        assert!(KmeansParams { clusters: 6, ..KmeansParams::default() }.fit(&same, &run).is_err());
        assert!(KmeansParams { clusters: 0, ..KmeansParams::default() }.check().is_err());
    }
}
