//! I have a matrix of my own and no texts. Can I use a single method without a recipe?
//!
//! Every method is a params struct with a `fit` that takes a matrix, a [`Target`] and a [`Run`], and gives a model.
//!
//! `cargo run --release -p corpuscle --example own_matrix`
#![allow(clippy::print_stdout, reason = "an example prints what it finds")]

use corpuscle::classify::{Classifier, ClassifierModel, KnnParams};
use corpuscle::corpus::Labels;
use corpuscle::matrix::{Csr, Matrix};
use corpuscle::project::{DiscriminantParams, LsiParams, Projector, ProjectorModel, Target};
use corpuscle::{Result, Run};

/// Rows of three kinds over 30 columns: each kind likes ten columns of its own and now and then takes any other.
fn rows(count: usize) -> (Vec<u64>, Vec<u32>, Vec<f32>) {
    let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in 0..count {
        let (kind, noise) = (row % 3, row * row * 7 + 11 * row);
        let mut own: Vec<usize> = (0..4).map(|n| 10 * kind + (row / 3 * (n + 1) + n) % 10).collect();
        own.extend([noise % 30, (noise / 3 + 5) % 30, (noise / 7 + 13) % 30]);
        own.sort_unstable();
        own.dedup();
        values.extend(own.iter().map(|column| 1.0 + (column % 3) as f32));
        columns.extend(own.iter().map(|&column| column as u32));
        starts.push(columns.len() as u64);
    }
    (starts, columns, values)
}

pub(crate) fn main() -> Result<()> {
    let run = Run::new(42, 0)?;
    // The three arrays of a compressed sparse matrix, as scipy has them. They are checked and not copied.
    let (starts, columns, values) = rows(90);
    let x = Matrix::from(Csr::new(30, starts, columns, values)?);
    // Classes by number, names in your order; `None` is a row without a label. The last third has none.
    let classes = ["red", "green", "blue"].map(String::from).to_vec();
    let labels = Labels::with_classes(classes, (0..90).map(|row| (row < 60).then(|| vec![row % 3])))?;
    let target = Target::new(&labels);

    // Learns from all rows, labelled or not.
    let (lsi, z) = LsiParams { rank: 8, ..LsiParams::default() }.fit(&x, &target, &run)?;
    let kept: f64 = lsi.explained_variance_ratio().iter().sum();
    println!("lsi keeps {:.0} % of the variance in {} dimensions", 100.0 * kept, z.cols());

    // A value left to be found is found here too: by cross-validation on the labelled rows.
    let (discriminant, z) = DiscriminantParams::default().fit(&z, &target, &run)?;
    println!("discriminant: {} directions, shrinkage found: {}", z.cols(), discriminant.shrinkage());

    let knn = KnnParams { k: 5, ..KnnParams::default() }.fit(&z, &target, &run)?;

    // Any other row goes through the same models, one after the other.
    let new = Matrix::from(Csr::from_rows(30, [vec![(11, 2.0), (14, 1.0), (25, 1.0)]]));
    let new = discriminant.transform(&lsi.transform(&new, &run)?, &run)?;
    println!("scores of a new row for {:?}: {:?}", labels.classes(), knn.scores(&new, &run)?.row(0));

    let scores = knn.scores(&z.select_rows(&(60..90).collect::<Vec<_>>()), &run)?;
    let right = (0..30).filter(|&row| {
        let scores = scores.row(row);
        scores.iter().all(|score| *score <= scores[row % 3])
    });
    println!("right for {} of the 30 rows without labels", right.count());
    Ok(())
}
