//! What a batch adds to the rows of a table, put together row by row.
//!
//! A counting sort: two walks over the additions and one over the rows they meet. Each row is then fetched once for all that is added to it, rows
//! are shared out between threads, and every row takes its additions in the order in which they came, so that sums do
//! not depend on who does them. O(additions + rows met · log rows met), whatever the size of the table.

use rayon::prelude::*;

use crate::wide::registers::Lane;

/// Additions by row; what each consists of is the caller's.
#[derive(Debug)]
pub(super) struct ByRow<T> {
    /// The rows that are met, in ascending order.
    rows: Vec<u32>,
    /// Where the additions of each end.
    ends: Vec<usize>,
    additions: Vec<T>,
    /// Scratch, by row of the table: how many additions, then where the next one goes; zero between batches.
    places: Vec<u32>,
}

impl<T: Copy + Default + Sync> ByRow<T> {
    /// For a table of so many rows.
    pub(super) fn new(table: usize) -> Self {
        ByRow { rows: Vec::new(), ends: Vec::new(), additions: Vec::new(), places: vec![0; table] }
    }

    /// Takes the additions of a batch, each with its row, in place of those of the last.
    pub(super) fn sort(&mut self, additions: impl Iterator<Item = (u32, T)> + Clone) {
        self.rows.clear();
        self.ends.clear();
        // `for_each` and not a loop: iterators within iterators are then loops within loops.
        additions.clone().for_each(|(row, _)| {
            let place = &mut self.places[row as usize];
            if *place == 0 {
                self.rows.push(row);
            }
            *place += 1;
        });
        self.rows.sort_unstable();
        let mut end = 0;
        for &row in &self.rows {
            let place = &mut self.places[row as usize];
            let start = end;
            end += *place;
            *place = start;
            self.ends.push(end as usize);
        }
        self.additions.clear();
        self.additions.resize(end as usize, T::default());
        additions.for_each(|(row, addition)| {
            let place = &mut self.places[row as usize];
            self.additions[*place as usize] = addition;
            *place += 1;
        });
        for &row in &self.rows {
            self.places[row as usize] = 0;
        }
    }

    /// Calls `add` with every row that is met, of `lanes` lanes, and all that is added to it.
    pub(super) fn add_to(&self, table: &mut [Lane], lanes: usize, add: impl Fn(&mut [Lane], &[T]) + Sync) {
        let (mut rest, mut next, mut start) = (table, 0, 0);
        let mut shares = Vec::with_capacity(self.rows.len());
        for (&row, &end) in self.rows.iter().zip(&self.ends) {
            let (own, after) = rest[(row as usize - next) * lanes..].split_at_mut(lanes);
            shares.push((own, &self.additions[start..end]));
            (rest, next, start) = (after, row as usize + 1, end);
        }
        shares.into_par_iter().with_min_len(32).for_each(|(row, additions)| add(row, additions));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_row_takes_its_additions_in_order(batches in prop::collection::vec(prop::collection::vec((0u32..9, 0i32..100), 0..60), 1..4)) {
            let mut by_row = ByRow::new(9);
            for batch in batches {
                by_row.sort(batch.iter().copied());
                let mut table = vec![Lane::default(); 18];
                // What came is spelled out in the digits of a number.
                let add = |row: &mut [Lane], additions: &[i32]| {
                    for &addition in additions {
                        row[1][3] = row[1][3] * 0.5 + addition as f32;
                    }
                };
                by_row.add_to(&mut table, 2, add);
                let mut plain = [0f32; 9];
                for (row, addition) in batch {
                    plain[row as usize] = plain[row as usize] * 0.5 + addition as f32;
                }
                for (row, plain) in plain.into_iter().enumerate() {
                    prop_assert_eq!(table[2 * row + 1][3], plain);
                }
            }
        }
    }
}
