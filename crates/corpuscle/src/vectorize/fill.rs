//! Counts the terms of documents into a sparse matrix.

use std::mem;
use std::ops::Range;

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
    pub(super) lengths: Vec<u32>,
}

/// Counts the terms of one document after the other: a counter for each column, and a bit for those of the document under way.
///
/// Bits give the columns back in order without a sort, and a term met is counted without asking whether it is the first: half of
/// the words of a document are, which no processor foresees. A second layer has a bit for each 64 of the first, so that a
/// document costs its own terms and a 4096th of the columns.
pub(super) struct Counter {
    counts: Vec<u32>,
    marks: Vec<u64>,
    groups: Vec<u64>,
    /// Counts and weights of a row, for scratch.
    row: Vec<u32>,
    weights: Vec<f64>,
}

impl Counter {
    /// A counter for so many columns.
    pub(super) fn new(columns: usize) -> Self {
        let marks = vec![0; columns.div_ceil(64)];
        let groups = vec![0; marks.len().div_ceil(64)];
        Counter { counts: vec![0; columns], marks, groups, row: Vec::new(), weights: Vec::new() }
    }

    /// Counts a term.
    #[inline]
    pub(super) fn add(&mut self, column: u32) {
        let count = &mut self.counts[column as usize];
        *count = count.saturating_add(1);
        self.marks[column as usize >> 6] |= 1 << (column & 63);
        self.groups[column as usize >> 12] |= 1 << (column >> 6 & 63);
    }

    /// Counts a term, if it is one.
    #[inline]
    pub(super) fn add_known(&mut self, column: u32) {
        if column != NONE {
            self.add(column);
        }
    }

    /// Calls `visit(column, count)` for the terms of the document in order, and is ready for the next.
    #[inline]
    pub(super) fn take(&mut self, mut visit: impl FnMut(u32, u32)) {
        for (group, groups) in self.groups.iter_mut().enumerate() {
            let mut some = mem::take(groups);
            while some != 0 {
                let word = group << 6 | some.trailing_zeros() as usize;
                some &= some - 1;
                let mut bits = mem::take(&mut self.marks[word]);
                while bits != 0 {
                    let column = word << 6 | bits.trailing_zeros() as usize;
                    bits &= bits - 1;
                    visit(column as u32, mem::take(&mut self.counts[column]));
                }
            }
        }
    }

    /// Adds the document's row to `columns` and `values`, and is ready for the next; `weigh` as in [`fill`].
    pub(super) fn finish(
        &mut self,
        weigh: impl Fn(&[u32], &[u32], &mut Vec<f64>, &mut [f32]),
        columns: &mut Vec<u32>,
        values: &mut Vec<f32>,
    ) {
        let (before, mut row) = (columns.len(), mem::take(&mut self.row));
        self.take(|column, count| {
            columns.push(column);
            row.push(count);
        });
        values.resize(columns.len(), 0.0);
        weigh(&columns[before..], &row, &mut self.weights, &mut values[before..]);
        row.clear();
        self.row = row;
    }
}

/// The words of documents counted, piece by piece, and what the whole has of each word.
pub(super) struct Counted {
    pieces: Vec<CountedRows>,
    /// In how many documents each word is.
    pub(super) frequencies: Vec<u32>,
}

#[derive(Default)]
struct CountedRows {
    words: Vec<u32>,
    counts: Vec<u32>,
    lengths: Vec<u32>,
}

/// Counts the words of every document once; [`Counted::weigh`] makes the matrix of them when it is known which words are columns.
pub(super) fn count(tokens: &Tokens, run: &Run) -> Result<Counted> {
    run.install(|| {
        let (documents, words) = (tokens.n_documents(), tokens.n_terms());
        // A stretch of documents for each thread has its own sums; whole numbers, so it is the same how many there are.
        let stretch = documents.div_ceil(rayon::current_num_threads()).next_multiple_of(PIECE).max(PIECE);
        // Two words of three are the first of their kind in their document.
        let likely = tokens.n_tokens() / documents.div_ceil(PIECE).max(1) * 2 / 3;
        let parts: Result<Vec<Counted>> = (0..documents.div_ceil(stretch))
            .into_par_iter()
            .map(|part| {
                let mut own = Counted::none(words);
                let mut counter = Counter::new(words);
                let all = part * stretch..documents.min((part + 1) * stretch);
                for first in all.clone().step_by(PIECE) {
                    run.check()?;
                    own.add(tokens, first..all.end.min(first + PIECE), likely, &mut counter);
                }
                Ok(own)
            })
            .collect();
        let mut parts = parts?.into_iter();
        let mut all = parts.next().unwrap_or_else(|| Counted::none(words));
        for part in parts {
            all.pieces.extend(part.pieces);
            all.frequencies.iter_mut().zip(part.frequencies).for_each(|(a, b)| *a += b);
        }
        Ok(all)
    })
}

impl Counted {
    fn none(words: usize) -> Self {
        Counted { pieces: Vec::new(), frequencies: vec![0; words] }
    }

    /// Counts a piece that has about `likely` different words, taken document by document.
    fn add(&mut self, tokens: &Tokens, documents: Range<usize>, likely: usize, counter: &mut Counter) {
        let mut rows = CountedRows { words: Vec::with_capacity(likely), ..CountedRows::default() };
        rows.counts.reserve(likely);
        for document in documents {
            tokens.for_each(document, |word| counter.add(word));
            let before = rows.words.len();
            counter.take(|word, count| {
                rows.words.push(word);
                rows.counts.push(count);
                self.frequencies[word as usize] += 1;
            });
            rows.lengths.push((rows.words.len() - before) as u32);
        }
        self.pieces.push(rows);
    }

    /// How often each word is there.
    pub(super) fn totals(&self) -> Vec<u64> {
        let mut totals = vec![0; self.frequencies.len()];
        for piece in &self.pieces {
            piece.words.iter().zip(&piece.counts).for_each(|(&word, &count)| totals[word as usize] += u64::from(count));
        }
        totals
    }

    /// The matrix of the documents counted; `columns` has the column of each word, or none. Columns are in the order of words, so
    /// that rows stay in order.
    pub(super) fn weigh(
        self,
        columns: &[u32],
        cols: usize,
        run: &Run,
        weigh: impl Fn(&[u32], &[u32], &mut Vec<f64>, &mut [f32]) + Sync,
    ) -> Result<Csr> {
        run.install(|| {
            let with_lengths = |piece: CountedRows| (piece.lengths_of(columns), piece);
            let pieces = self.pieces.into_par_iter().map(with_lengths).collect();
            lay_out(cols, pieces, |piece, lengths, indices, values| {
                run.check()?;
                let mut weights = Vec::new();
                piece.weigh(columns, lengths, indices, values, |columns, counts, values| {
                    weigh(columns, counts, &mut weights, values);
                });
                Ok(())
            })
        })
    }
}

impl CountedRows {
    /// How many words of each document have a column.
    fn lengths_of(&self, columns: &[u32]) -> Vec<u32> {
        let mut rest = &self.words[..];
        let length = |&length: &u32| {
            let (own, tail) = rest.split_at(length as usize);
            rest = tail;
            own.iter().map(|&word| u32::from(columns[word as usize] != NONE)).sum()
        };
        self.lengths.iter().map(length).collect()
    }

    /// Writes the rows, `kept` entries each, to their places.
    fn weigh(
        mut self,
        columns: &[u32],
        kept: &[u32],
        mut indices: &mut [u32],
        mut values: &mut [f32],
        mut weigh: impl FnMut(&[u32], &[u32], &mut [f32]),
    ) {
        let mut from = 0;
        for (&length, &kept) in self.lengths.iter().zip(kept) {
            let (own, after) = indices.split_at_mut(kept as usize);
            let (weights, tail) = values.split_at_mut(kept as usize);
            (indices, values) = (after, tail);
            let to = from + length as usize;
            let mut next = 0;
            for at in from..to {
                let column = columns[self.words[at] as usize];
                if column != NONE {
                    own[next] = column;
                    self.counts[from + next] = self.counts[at];
                    next += 1;
                }
            }
            weigh(own, &self.counts[from..from + next], weights);
            from = to;
        }
    }
}

/// The matrix of `tokens`: `weigh(columns, counts, weights, values)` writes the values of a row, given its columns in
/// order and how often each is there; `weights` is empty, for scratch, and must be left so.
pub(super) fn fill(
    tokens: &Tokens,
    vocabulary: &Vocabulary,
    run: &Run,
    weigh: impl Fn(&[u32], &[u32], &mut Vec<f64>, &mut [f32]) + Sync,
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
                    rows.lengths.push((rows.columns.len() - before) as u32);
                }
                Ok(rows)
            })
            .collect();
        join(vocabulary.len(), rows?)
    })
}

/// All rows in one matrix; each piece is freed as soon as it is copied.
pub(super) fn join(cols: usize, pieces: Vec<Rows>) -> Result<Csr> {
    let with_lengths = |mut rows: Rows| (mem::take(&mut rows.lengths), rows);
    lay_out(cols, pieces.into_iter().map(with_lengths).collect(), |rows, _, indices, values| {
        indices.copy_from_slice(&rows.columns);
        values.copy_from_slice(&rows.values);
        Ok(())
    })
}

/// The matrix of pieces of rows, each with the lengths of its rows: those say where every piece stands, so that
/// `write(piece, lengths, indices, values)` writes all of them at once, each to its place.
fn lay_out<P: Send>(
    cols: usize,
    pieces: Vec<(Vec<u32>, P)>,
    write: impl Fn(P, &[u32], &mut [u32], &mut [f32]) -> Result<()> + Sync,
) -> Result<Csr> {
    let mut indptr = Vec::with_capacity(1 + pieces.iter().map(|(lengths, _)| lengths.len()).sum::<usize>());
    let mut total = 0u64;
    indptr.push(total);
    for &length in pieces.iter().flat_map(|(lengths, _)| lengths) {
        total += u64::from(length);
        indptr.push(total);
    }
    let (mut indices, mut values) = (vec![0u32; total as usize], vec![0f32; total as usize]);
    let mut rest = (&mut indices[..], &mut values[..]);
    let mut places = Vec::with_capacity(pieces.len());
    for (lengths, piece) in pieces {
        let entries = lengths.iter().map(|&length| length as usize).sum();
        let (own_indices, later_indices) = rest.0.split_at_mut(entries);
        let (own_values, later_values) = rest.1.split_at_mut(entries);
        places.push((piece, lengths, own_indices, own_values));
        rest = (later_indices, later_values);
    }
    places.into_par_iter().try_for_each(|(piece, lengths, indices, values)| write(piece, &lengths, indices, values))?;
    Ok(Csr::from_parts(cols, indptr, indices, values))
}
