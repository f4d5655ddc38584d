//! What a batch adds to the rows of a table, put together row by row.
//!
//! A counting sort: three walks over the additions and one over the rows they meet. Each row is then fetched once for all that is added to it, rows
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
    /// The additions as they came, each with its row.
    come: Vec<(u32, T)>,
    /// Scratch, by row of the table: how many additions, then where the next one goes; zero between batches.
    places: Vec<u32>,
}

impl<T: Copy + Default + Sync> ByRow<T> {
    /// For a table of so many rows.
    pub(super) fn new(table: usize) -> Self {
        ByRow { rows: Vec::new(), ends: Vec::new(), additions: Vec::new(), come: Vec::new(), places: vec![0; table] }
    }

    /// Adds to what comes with this batch.
    #[inline]
    pub(super) fn push(&mut self, row: u32, addition: T) {
        self.come.push((row, addition));
    }

    /// Puts what came since the last time in the place of what came before.
    pub(super) fn sort(&mut self) {
        self.rows.clear();
        self.ends.clear();
        for &(row, _) in &self.come {
            let place = &mut self.places[row as usize];
            if *place == 0 {
                self.rows.push(row);
            }
            *place += 1;
        }
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
        for &(row, addition) in &self.come {
            let place = &mut self.places[row as usize];
            self.additions[*place as usize] = addition;
            *place += 1;
        }
        self.come.clear();
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
                batch.iter().for_each(|&(row, addition)| by_row.push(row, addition));
                by_row.sort();
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
