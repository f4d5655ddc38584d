//! Counts the terms of documents into a sparse matrix.

use rayon::prelude::*;

use super::Vocabulary;
use super::grams::NONE;
use crate::matrix::Csr;
use crate::text::Tokens;
use crate::{Result, Run};

/// Documents in one piece of work.
pub(super) const PIECE: usize = 512;

/// Some rows of the matrix.
#[derive(Default)]
pub(super) struct Rows {
    pub(super) columns: Vec<u32>,
    pub(super) values: Vec<f32>,
    pub(super) lengths: Vec<usize>,
}

/// Counts the terms of one document after the other: a counter for each column, and the columns of the document under way.
pub(super) struct Counter {
    counts: Vec<u32>,
    columns: Vec<u32>,
    weights: Vec<f64>,
}

impl Counter {
    /// A counter for so many columns.
    pub(super) fn new(columns: usize) -> Self {
        Counter { counts: vec![0; columns], columns: Vec::new(), weights: Vec::new() }
    }

    /// Counts a term.
    #[inline]
    pub(super) fn add(&mut self, column: u32) {
        let count = &mut self.counts[column as usize];
        if *count == 0 {
            self.columns.push(column);
        }
        *count = count.saturating_add(1);
    }

    /// Counts a term, if it is one.
    #[inline]
    pub(super) fn add_known(&mut self, column: u32) {
        if column != NONE {
            self.add(column);
        }
    }

    /// Adds the document's row to `columns` and `values`, and is ready for the next; `weigh` as in [`fill`].
    pub(super) fn finish(
        &mut self,
        weigh: impl Fn(&[u32], &[u32], &mut Vec<f64>, &mut Vec<f32>),
        columns: &mut Vec<u32>,
        values: &mut Vec<f32>,
    ) {
        self.columns.sort_unstable();
        weigh(&self.columns, &self.counts, &mut self.weights, values);
        self.columns.iter().for_each(|&column| self.counts[column as usize] = 0);
        columns.append(&mut self.columns);
    }
}

/// The matrix of `tokens`: `weigh(columns, counts, weights, values)` adds the values of a row, given its columns in
/// order. `counts` has the count of a column at its number; `weights` is empty, for scratch, and must be left so.
pub(super) fn fill(
    tokens: &Tokens,
    vocabulary: &Vocabulary,
    run: &Run,
    weigh: impl Fn(&[u32], &[u32], &mut Vec<f64>, &mut Vec<f32>) + Sync,
) -> Result<Csr> {
    run.install(|| {
        let map = tokens.lexicon().map_to(vocabulary.words());
        // For single words the way from word to column is one step.
        let direct: Option<Vec<u32>> = vocabulary.single_words().map(|single| {
            let column = |&word: &u32| if word == NONE { NONE } else { single[word as usize] };
            map.iter().map(column).collect()
        });
        let pieces = tokens.n_documents().div_ceil(PIECE);
        let scratch = || (Counter::new(vocabulary.len()), Vec::new());
        let rows: Result<Vec<Rows>> = (0..pieces)
            .into_par_iter()
            .map_init(scratch, |(counter, ids): &mut (Counter, Vec<u32>), piece| {
                run.check()?;
                let mut rows = Rows { columns: Vec::new(), values: Vec::new(), lengths: Vec::with_capacity(PIECE) };
                for document in piece * PIECE..tokens.n_documents().min((piece + 1) * PIECE) {
                    if let Some(direct) = &direct {
                        tokens.for_each(document, |word| counter.add_known(direct[word as usize]));
                    } else {
                        ids.clear();
                        tokens.for_each(document, |word| ids.push(map[word as usize]));
                        vocabulary.for_each(ids, |column| counter.add(column));
                    }
                    let before = rows.columns.len();
                    counter.finish(&weigh, &mut rows.columns, &mut rows.values);
                    rows.lengths.push(rows.columns.len() - before);
                }
                Ok(rows)
            })
            .collect();
        Ok(join(vocabulary.len(), rows?))
    })
}

/// All rows in one matrix; each piece is freed as soon as it is copied.
pub(super) fn join(cols: usize, pieces: Vec<Rows>) -> Csr {
    let mut indptr = Vec::with_capacity(1 + pieces.iter().map(|rows| rows.lengths.len()).sum::<usize>());
    let mut total = 0;
    indptr.push(0);
    for length in pieces.iter().flat_map(|rows| &rows.lengths) {
        total += length;
        indptr.push(total as u64);
    }
    let (mut indices, mut values) = (vec![0u32; total], vec![0f32; total]);
    let mut rest = (&mut indices[..], &mut values[..]);
    let mut places = Vec::with_capacity(pieces.len());
    for rows in &pieces {
        let (columns, after) = rest.0.split_at_mut(rows.columns.len());
        let (entries, tail) = rest.1.split_at_mut(rows.values.len());
        places.push((columns, entries));
        rest = (after, tail);
    }
    places.into_par_iter().zip(pieces).for_each(|((columns, entries), rows)| {
        columns.copy_from_slice(&rows.columns);
        entries.copy_from_slice(&rows.values);
    });
    Csr::from_parts(cols, indptr, indices, values)
}
