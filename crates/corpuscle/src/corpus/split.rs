//! Splits that keep the share of every label: folds for cross-validation, held-out parts, training parts of a given size.
//!
//! Single labels are dealt out class by class after a shuffle. Several labels per document use iterative
//! stratification (Sechidis, Tsoumakas and Vlahavas, 2011): the rarest label that is still to be dealt goes first, each
//! of its documents to the fold that wants it most. O(labels · classes) for the folds of a corpus.
//!
//! ```
//! use corpuscle::corpus::{Labels, folds};
//! let labels = Labels::from_single(["a", "b"].iter().cycle().take(20).map(Some));
//! let folds = folds(&labels, 5, 42)?;
//! assert!(folds.iter().all(|fold| fold.len() == 4));
//! # Ok::<(), corpuscle::Error>(())
//! ```

use rand::SeedableRng;
use rand::seq::SliceRandom;

use super::Labels;
use crate::{Error, Result, Rng};

/// Cuts the labelled rows into `k` stratified folds; each fold lists its rows ascending. Unlabelled rows are in none.
pub fn folds(labels: &Labels, k: usize, seed: u64) -> Result<Vec<Vec<usize>>> {
    deal(labels, &enough(labels, k)?, &vec![1.0 / k as f64; k], seed)
}

/// Cuts the labelled rows into `k` folds that are runs of neighbouring rows of each class, for rows whose order means
/// something: those of one source (a thread, a query, a day) stay together, so none is tested with the help of the others,
/// which is how new documents come. For rows in random order it is a random fold like any other. Documents with several
/// labels go by their first.
///
/// ```
/// use corpuscle::corpus::{Labels, blocks};
/// let labels = Labels::from_single(["a", "a", "b", "a", "a", "b"].map(Some));
/// assert_eq!(blocks(&labels, 2)?, [[0, 1, 2], [3, 4, 5]]);
/// # Ok::<(), corpuscle::Error>(())
/// ```
pub fn blocks(labels: &Labels, k: usize) -> Result<Vec<Vec<usize>>> {
    let rows = enough(labels, k)?;
    let class =
        |row: usize| labels.of(row).and_then(<[u32]>::first).map_or(labels.n_classes(), |&class| class as usize);
    let mut counts = vec![0usize; labels.n_classes() + 1];
    rows.iter().for_each(|&row| counts[class(row)] += 1);
    let mut seen = vec![0usize; counts.len()];
    let mut folds = vec![Vec::new(); k];
    for &row in &rows {
        let class = class(row);
        // Classes smaller than the number of folds start at different ones, lest the first gets them all.
        let turn = if counts[class] < k { class } else { 0 };
        folds[(seen[class] * k / counts[class] + turn) % k].push(row);
        seen[class] += 1;
    }
    Ok(folds)
}

/// The labelled rows, when there are enough of them for so many folds.
fn enough(labels: &Labels, k: usize) -> Result<Vec<usize>> {
    let rows = labels.labelled_rows();
    if k < 2 || rows.len() < k {
        return Err(Error::data(format!("{k} folds need at least 2 and at most {} labelled documents", rows.len())));
    }
    Ok(rows)
}

/// Cuts the labelled rows into a part with about `share` of every label and the rest.
pub fn hold_out(labels: &Labels, share: f64, seed: u64) -> Result<(Vec<usize>, Vec<usize>)> {
    let rows = labels.labelled_rows();
    if !(share > 0.0 && share < 1.0) {
        return Err(Error::parameter("split", "share", share, "must be between 0 and 1"));
    }
    let mut parts = deal(labels, &rows, &[share, 1.0 - share], seed)?;
    let rest = parts.pop().unwrap_or_default();
    Ok((parts.pop().unwrap_or_default(), rest))
}

/// The rows of `0..n` that are not in the ascending list `fold` but in the ascending list `rows`.
pub fn without(rows: &[usize], fold: &[usize]) -> Vec<usize> {
    rows.iter().copied().filter(|row| fold.binary_search(row).is_err()).collect()
}

fn deal(labels: &Labels, rows: &[usize], shares: &[f64], seed: u64) -> Result<Vec<Vec<usize>>> {
    let mut rng = Rng::seed_from_u64(seed);
    let mut order = rows.to_vec();
    order.shuffle(&mut rng);
    let mut parts = vec![Vec::new(); shares.len()];
    if labels.is_multi_label() {
        deal_iteratively(labels, &order, shares, &mut parts);
    } else {
        deal_by_class(labels, &order, shares, &mut parts);
    }
    for part in &mut parts {
        part.sort_unstable();
    }
    Ok(parts)
}

/// Class after class, each document to the part that is furthest behind its share: of this class, then of all.
fn deal_by_class(labels: &Labels, order: &[usize], shares: &[f64], parts: &mut [Vec<usize>]) {
    let mut by_class: Vec<Vec<usize>> = vec![Vec::new(); labels.n_classes()];
    for &row in order {
        if let Some(&[class]) = labels.of(row) {
            by_class[class as usize].push(row);
        }
    }
    for rows in by_class {
        let mut given = vec![0usize; shares.len()];
        for (dealt, row) in rows.into_iter().enumerate() {
            let behind = |part: usize| {
                let of_class = (dealt + 1) as f64 * shares[part] - given[part] as f64;
                (of_class, -(parts[part].len() as f64) / shares[part])
            };
            let part = best(shares.len(), behind);
            given[part] += 1;
            parts[part].push(row);
        }
    }
}

fn deal_iteratively(labels: &Labels, order: &[usize], shares: &[f64], parts: &mut [Vec<usize>]) {
    let classes = labels.n_classes();
    let mut remaining: Vec<Vec<usize>> = vec![Vec::new(); classes];
    for &row in order {
        for &class in labels.of(row).unwrap_or(&[]) {
            remaining[class as usize].push(row);
        }
    }
    let mut counts: Vec<usize> = remaining.iter().map(Vec::len).collect();
    let mut wanted: Vec<Vec<f64>> =
        shares.iter().map(|share| counts.iter().map(|&count| count as f64 * share).collect()).collect();
    let mut room: Vec<f64> = shares.iter().map(|share| order.len() as f64 * share).collect();
    let mut dealt = vec![false; labels.len()];
    while let Some(class) = (0..classes).filter(|&class| counts[class] > 0).min_by_key(|&class| counts[class]) {
        for row in std::mem::take(&mut remaining[class]) {
            if std::mem::replace(&mut dealt[row], true) {
                continue;
            }
            let part = best(shares.len(), |part| (wanted[part][class], room[part]));
            for &other in labels.of(row).unwrap_or(&[]) {
                wanted[part][other as usize] -= 1.0;
                counts[other as usize] -= 1;
            }
            room[part] -= 1.0;
            parts[part].push(row);
        }
    }
    // Documents that carry none of the labels fill the room that is left.
    for &row in order.iter().filter(|&&row| !dealt[row]) {
        let part = best(shares.len(), |part| (room[part], 0.0));
        room[part] -= 1.0;
        parts[part].push(row);
    }
}

/// The part with the largest key; the first of equals.
fn best(parts: usize, key: impl Fn(usize) -> (f64, f64)) -> usize {
    let mut winner = 0;
    for part in 1..parts {
        let (a, b) = (key(part), key(winner));
        if a.0 > b.0 + 1e-9 || ((a.0 - b.0).abs() <= 1e-9 && a.1 > b.1 + 1e-9) {
            winner = part;
        }
    }
    winner
}

#[cfg(test)]
mod tests {
    use super::*;

    fn multi(n: usize) -> Labels {
        let rows: Vec<Option<Vec<String>>> = (0..n)
            .map(|i| {
                let mut row = Vec::new();
                if i % 2 == 0 {
                    row.push("even".to_string());
                }
                if i % 5 == 0 {
                    row.push("five".to_string());
                }
                if i % 20 == 0 {
                    row.push("rare".to_string());
                }
                Some(row)
            })
            .collect();
        Labels::from_lists(rows.iter().map(|row| row.as_deref()))
    }

    #[test]
    fn folds_share_out_every_label() {
        for labels in [multi(200), Labels::from_single((0..200).map(|i| Some(["a", "b", "c"][(i % 7) % 3])))] {
            let folds = folds(&labels, 5, 1).unwrap();
            let mut all: Vec<usize> = folds.concat();
            all.sort_unstable();
            assert_eq!(all, (0..200).collect::<Vec<_>>());
            for fold in &folds {
                assert!((39..=41).contains(&fold.len()), "{}", fold.len());
                for (count, whole) in labels.select(fold).class_counts().iter().zip(labels.class_counts()) {
                    assert!((*count as f64 - whole as f64 / 5.0).abs() <= 1.0);
                }
            }
        }
    }

    #[test]
    fn the_seed_decides_and_unlabelled_rows_stay_out() {
        let labels = Labels::from_single(
            (0..50).map(|i| (i % 10 != 0).then_some("ab".split_at(i % 2).0.len())).map(|l| l.map(|l| l.to_string())),
        );
        let first = folds(&labels, 3, 9).unwrap();
        assert_eq!(first, folds(&labels, 3, 9).unwrap());
        assert_ne!(first, folds(&labels, 3, 10).unwrap());
        assert!(first.concat().iter().all(|row| row % 10 != 0));
    }

    #[test]
    fn a_held_out_part_has_its_share() {
        let (held, rest) = hold_out(&multi(400), 0.25, 3).unwrap();
        assert!((95..=105).contains(&held.len()), "{}", held.len());
        assert_eq!(held.len() + rest.len(), 400);
        assert!(hold_out(&multi(40), 0.0, 3).is_err());
        assert_eq!(without(&[1, 2, 5, 9], &[2, 9]), [1, 5]);
    }
}
