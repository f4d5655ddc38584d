//! The data set and the scikit-learn solutions of `tests/fixtures/make_linear.py`, and small helpers for tests.

use rand::Rng as _;
use serde::Deserialize;

use super::{COST_GRID, Classifier, ClassifierModel, LinearModel};
use crate::Run;
use crate::corpus::Labels;
use crate::matrix::{Csr, Dense, Matrix};
use crate::project::Target;

#[derive(Deserialize)]
pub(super) struct Fixture {
    x: Vec<Vec<f32>>,
    y: Vec<u32>,
    pub(super) weights: Vec<f32>,
    several: Vec<Vec<u32>>,
    pub(super) svm: Vec<Case>,
    pub(super) logistic: Vec<Case>,
    pub(super) probabilities: Vec<Vec<f32>>,
}

#[derive(Deserialize)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) scores: Vec<Vec<f32>>,
}

impl Fixture {
    pub(super) fn read() -> Self {
        serde_json::from_str(include_str!("../../tests/fixtures/linear.json")).unwrap()
    }

    pub(super) fn x(&self) -> Matrix {
        let row = |row: &Vec<f32>| {
            row.iter().enumerate().filter(|(_, v)| **v != 0.0).map(|(column, &v)| (column as u32, v)).collect()
        };
        Csr::from_rows(self.x[0].len(), self.x.iter().map(row)).into()
    }

    /// The labels a case was fitted with: rows it left out are unlabelled.
    pub(super) fn labels(&self, case: &str) -> Labels {
        let name = |class: &u32| format!("class {class}");
        if case == "several-labels" {
            let rows: Vec<Vec<String>> = self.several.iter().map(|row| row.iter().map(name).collect()).collect();
            return Labels::from_lists(rows.iter().map(|row| Some(row.as_slice())));
        }
        let kept = |class: &&u32| !case.starts_with("two-classes") || **class < 2;
        Labels::from_single(self.y.iter().map(|class| Some(class).filter(kept).map(name)))
    }
}

/// The largest distance between two score matrices.
pub(super) fn distance(ours: &Dense, theirs: &[Vec<f32>]) -> f32 {
    assert_eq!((ours.rows(), ours.cols()), (theirs.len(), theirs[0].len()));
    let row = |i: usize| ours.row(i).iter().zip(&theirs[i]).map(|(a, b)| (a - b).abs()).fold(0f32, f32::max);
    (0..ours.rows()).map(row).fold(0f32, f32::max)
}

pub(super) fn written_out(dense: &Dense) -> Vec<Vec<f32>> {
    (0..dense.rows()).map(|row| dense.row(row).to_vec()).collect()
}

/// A number between -1 and 1.
pub(super) fn uniform(rng: &mut crate::Rng) -> f32 {
    (rng.next_u32() as f32 / u32::MAX as f32) * 2.0 - 1.0
}

/// A random sparse matrix beside two plain dense columns and three that project out three directions; the same
/// written out as one dense matrix; and labels in `classes` classes that have to do with it.
pub(super) fn projected(n: usize, d: usize, classes: u32, seed: u64) -> (Matrix, Matrix, Labels) {
    const OUT: usize = 3;
    let mut rng = Run::new(seed, 1).unwrap().rng(0);
    // Orthonormal directions by Gram-Schmidt.
    let mut directions: Vec<Vec<f32>> = Vec::new();
    while directions.len() < OUT {
        let mut v: Vec<f32> = (0..d).map(|_| uniform(&mut rng)).collect();
        for known in &directions {
            let along: f32 = v.iter().zip(known).map(|(a, b)| a * b).sum();
            v.iter_mut().zip(known).for_each(|(v, k)| *v -= along * k);
        }
        let norm = v.iter().map(|v| v * v).sum::<f32>().sqrt();
        directions.push(v.iter().map(|v| v / norm).collect());
    }
    let (mut rows, mut dense, mut whole, mut labels) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..n {
        let class = rng.next_u32() % classes;
        let x: Vec<f32> = (0..d)
            .map(|column| {
                let signal = if column as u32 == class { 1.0 } else { 0.0 };
                if rng.next_u32().is_multiple_of(3) { signal + uniform(&mut rng) } else { signal }
            })
            .collect();
        let extra = [uniform(&mut rng), uniform(&mut rng) + class as f32 * 0.2];
        let along: Vec<f32> = directions.iter().map(|v| v.iter().zip(&x).map(|(a, b)| a * b).sum()).collect();
        let mut left = x.clone();
        for (v, a) in directions.iter().zip(&along) {
            left.iter_mut().zip(v).for_each(|(x, v)| *x -= a * v);
        }
        rows.push(x.iter().enumerate().filter(|(_, v)| **v != 0.0).map(|(c, &v)| (c as u32, v)).collect());
        dense.extend_from_slice(&extra);
        dense.extend_from_slice(&along);
        whole.extend_from_slice(&left);
        whole.extend_from_slice(&extra);
        labels.push(class);
    }
    let dense = Dense::new(n, 2 + OUT, dense).unwrap();
    let names = (0..classes).map(|class| class.to_string()).collect();
    (
        Matrix::new(Csr::from_rows(d, rows), dense, OUT).unwrap(),
        Dense::new(n, d + 2, whole).unwrap().into(),
        Labels::from_ids(names, &labels).unwrap(),
    )
}

/// A path over costs has the same bits at any thread count, ends near a fit of each cost alone (`exact`), and so has the choice
/// among them (`auto`). `fits` walks the path.
pub(super) fn check_path<P: Classifier>(
    x: &Matrix,
    target: &Target<'_>,
    exact: impl Fn(f64) -> P,
    auto: &P,
    fits: impl Fn(&Run) -> [LinearModel; COST_GRID.len()],
) where
    P::Model: std::fmt::Debug + PartialEq,
{
    let run = |threads: usize| Run::new(3, threads).unwrap();
    let first = fits(&run(1));
    assert_eq!(first, fits(&run(2)));
    assert_eq!(first, fits(&run(8)));
    let one = Run::new(1, 2).unwrap();
    for (c, warm) in COST_GRID.into_iter().zip(&first) {
        let alone = exact(c).fit(x, target, &one).unwrap().scores(x, &one).unwrap();
        let far = distance(&warm.scores(x, &one).unwrap(), &written_out(&alone));
        assert!(far < 0.15, "{auto:?} {c}: {far}");
    }
    let chosen = |threads: usize| auto.fit(x, target, &run(threads)).unwrap();
    assert_eq!(chosen(1), chosen(2));
    assert_eq!(chosen(1), chosen(8));
}
