//! Where topics stand on a map: near each other when their words are alike.
//!
//! Hellinger distances of P(w|c), brought into the plane by classical scaling (W. Torgerson, 1952): the two leading eigenvectors of the
//! doubly centred squared distances, by power iteration. O(words · topics²), as one product of a matrix with itself.

use super::TopicTable;
use crate::Result;
use crate::matrix::Dense;

/// Steps of power iteration; maps need no digits.
const STEPS: usize = 300;

/// A place in the plane for every topic, by its number.
pub fn layout(table: &TopicTable) -> Result<Vec<(f64, f64)>> {
    let topics = table.n_topics();
    let mut roots = Dense::zeros(table.words().len(), topics);
    for (row, values) in roots.values_mut().chunks_mut(topics.max(1)).enumerate() {
        values.iter_mut().enumerate().for_each(|(topic, value)| *value = table.word_in(row, topic).sqrt() as f32);
    }
    let alike = roots.transposed_matmul(&roots)?;
    // 1 − Σ √(p·q) is the squared Hellinger distance.
    let mut centred: Vec<f64> = alike.values().iter().map(|&value| -0.5 * (1.0 - f64::from(value)).max(0.0)).collect();
    let count = topics.max(1) as f64;
    let means: Vec<f64> = centred.chunks(topics.max(1)).map(|row| row.iter().sum::<f64>() / count).collect();
    let mean = means.iter().sum::<f64>() / count;
    for (at, value) in centred.iter_mut().enumerate() {
        *value += mean - means[at / topics] - means[at % topics];
    }
    let x = leading(&mut centred, topics);
    let y = leading(&mut centred, topics);
    Ok(x.into_iter().zip(y).collect())
}

/// The leading eigenvector times the root of its eigenvalue, which is taken out of the matrix.
fn leading(matrix: &mut [f64], size: usize) -> Vec<f64> {
    // Any start that is not at a right angle to the answer will do.
    let mut vector: Vec<f64> = (0..size).map(|at| 1.0 + (at as f64 * 0.754_877_666).fract()).collect();
    let mut value = 0.0;
    for _ in 0..STEPS {
        let next: Vec<f64> =
            matrix.chunks(size.max(1)).map(|row| row.iter().zip(&vector).map(|(a, b)| a * b).sum()).collect();
        let length = next.iter().map(|x: &f64| x * x).sum::<f64>().sqrt();
        if length.is_nan() || length <= 1e-12 {
            return vec![0.0; size];
        }
        (vector, value) = (next.into_iter().map(|x| x / length).collect(), length);
    }
    for (at, entry) in matrix.iter_mut().enumerate() {
        *entry -= value * vector[at / size] * vector[at % size];
    }
    vector.into_iter().map(|x| x * value.sqrt()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn like_topics_stand_together() {
        let words = (0..6).map(|i| format!("w{i}")).collect();
        let rows = [[4., 4., 0.], [4., 3., 0.], [1., 2., 0.], [0., 1., 4.], [0., 0., 4.], [0., 0., 3.]];
        let table = TopicTable::new(words, Dense::from_rows(&rows), false);
        let at = layout(&table).unwrap();
        let apart = |a: usize, b: usize| (at[a].0 - at[b].0).hypot(at[a].1 - at[b].1);
        assert!(apart(0, 1) < 0.5 * apart(0, 2) && apart(0, 1) < 0.5 * apart(1, 2));
        let one = TopicTable::new(vec!["a".into()], Dense::from_rows(&[[1.0]]), false);
        assert_eq!(layout(&one).unwrap(), [(0.0, 0.0)]);
    }
}
