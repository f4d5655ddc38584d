//! Which terms sprinkling draws together and apart.
//!
//! Two terms are as close as the cosine of their columns: before in the matrix itself, after in its unsprinkled
//! approximation z V'ᵀ, where the inner product of columns i and j is v'ᵢᵀ (zᵀz) v'ⱼ, so k dimensions are enough.
//! Kept are, for each of the heaviest [`MOST_TERMS`] terms, its nearest ones before and after with both cosines, and both
//! cosines of any two of them in eight bits: a byte for each pair and cosine, 1 MB for the 1000 terms of the paper.
//! Cost: Σ over documents of (its kept terms)², and m²·k for m kept terms.
//!
//! Reference: section 2.2 of the paper ("the impact of sprinkling on their revised representations"), for all frequent
//! terms instead of a few picked by hand.

use rayon::prelude::*;

use super::SprinkleModel;
use crate::matrix::small::{multiply_in_place, transposed_product};
use crate::matrix::{Dense, Matrix};
use crate::store::{StoreReader, StoreWriter};
use crate::{Error, Result, Run};

/// Terms that are looked at: those of the longest columns.
pub(super) const MOST_TERMS: usize = 2000;
/// Nearest terms kept of each, before and after.
const NEAREST: usize = 10;

/// Terms near each other before and after sprinkling.
#[derive(Debug, Clone, PartialEq)]
pub struct TermShift {
    /// Columns of the terms looked at, ascending.
    terms: Vec<u32>,
    /// Where each term's neighbours end.
    ends: Vec<u64>,
    neighbours: Vec<NearTerm>,
    /// Cosines of any two of the terms; models of earlier versions have none.
    cosines: Option<Cosines>,
}

/// Cosines between any two terms, in eight bits: the lower triangle before, then the one after, row by row without the
/// diagonal.
#[derive(Debug, Clone, PartialEq)]
struct Cosines {
    before: Vec<i8>,
    after: Vec<i8>,
}

/// What stands for a cosine of 1.
const ONE: f32 = 127.0;

/// A cosine in eight bits, rounded. A cast after the shift to positive numbers is one instruction; `round` is a call.
fn code(cosine: f32) -> i8 {
    ((cosine * ONE + (ONE + 0.5)) as i16 - ONE as i16) as i8
}

/// Where the cosine of two different terms stands in a triangle.
fn place(one: usize, other: usize) -> usize {
    let (low, high) = (one.min(other), one.max(other));
    high * (high - 1) / 2 + low
}

/// One term near another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NearTerm {
    /// Its column.
    pub column: u32,
    /// Cosine in the matrix as it came.
    pub before: f32,
    /// Cosine after sprinkling.
    pub after: f32,
}

impl TermShift {
    /// Looks at the terms of `x`, which `model` was fitted on, giving `rows`. `None` when `x` has no sparse columns.
    pub fn of(x: &Matrix, model: &SprinkleModel, rows: &Matrix, run: &Run) -> Result<Option<Self>> {
        let mut lengths = vec![0f64; x.sparse().cols()];
        for (&column, &value) in x.sparse().indices().iter().zip(x.sparse().values()) {
            lengths[column as usize] += f64::from(value) * f64::from(value);
        }
        let mut terms: Vec<u32> = (0u32..).zip(&lengths).filter(|&(_, &length)| length > 0.0).map(|(t, _)| t).collect();
        terms.sort_by(|&a, &b| lengths[b as usize].total_cmp(&lengths[a as usize]).then(a.cmp(&b)));
        terms.truncate(MOST_TERMS);
        terms.sort_unstable();
        if terms.is_empty() {
            return Ok(None);
        }
        let after = cosines(term_vectors(&terms, model, rows)?)?;
        let documents = x.sparse().select_columns(&terms);
        let columns = documents.transpose();
        let scale: Vec<f32> = terms.iter().map(|&term| lengths[term as usize].sqrt().recip() as f32).collect();
        let near = |term: usize| {
            let mut before = vec![0f32; terms.len()];
            let (holders, weights) = columns.row(term);
            for (&document, &weight) in holders.iter().zip(weights) {
                let (others, values) = documents.row(document as usize);
                others.iter().zip(values).for_each(|(&other, &value)| before[other as usize] += weight * value);
            }
            before.iter_mut().zip(&scale).for_each(|(cosine, other)| *cosine *= scale[term] * other);
            let list: Vec<NearTerm> = nearest(term, &before, after.row(term))
                .into_iter()
                .map(|other| NearTerm { column: terms[other], before: before[other], after: after.row(term)[other] })
                .collect();
            let coded = |cosines: &[f32]| cosines[..term].iter().map(|&cosine| code(cosine)).collect();
            (list, coded(&before), coded(after.row(term)))
        };
        type Found = (Vec<NearTerm>, Vec<i8>, Vec<i8>);
        let found: Vec<Found> = run.install(|| (0..terms.len()).into_par_iter().map(near).collect());
        let pairs = terms.len() * (terms.len() - 1) / 2;
        let mut cosines = Cosines { before: Vec::with_capacity(pairs), after: Vec::with_capacity(pairs) };
        let mut lists = Vec::with_capacity(found.len());
        for (list, before, after) in found {
            lists.push(list);
            cosines.before.extend(before);
            cosines.after.extend(after);
        }
        let ends = lists.iter().scan(0, |end, list| {
            *end += list.len() as u64;
            Some(*end)
        });
        Ok(Some(TermShift { ends: ends.collect(), neighbours: lists.concat(), terms, cosines: Some(cosines) }))
    }

    /// Two terms by their columns: the second as seen from the first, to within 0.004. `None` for terms that were not looked
    /// at, or in a model of an earlier version.
    pub fn pair(&self, first: u32, second: u32) -> Option<NearTerm> {
        let at = |column: u32| self.terms.binary_search(&column).ok();
        let (one, other, cosines) = (at(first)?, at(second)?, self.cosines.as_ref()?);
        if one == other {
            return Some(NearTerm { column: second, before: 1.0, after: 1.0 });
        }
        let place = place(one, other);
        let cosine = |list: &[i8]| Some(f32::from(*list.get(place)?) / ONE);
        Some(NearTerm { column: second, before: cosine(&cosines.before)?, after: cosine(&cosines.after)? })
    }

    /// The terms nearest to that of a column, before or after; `None` for a term that was not looked at.
    pub fn near(&self, column: u32) -> Option<&[NearTerm]> {
        let at = self.terms.binary_search(&column).ok()?;
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        self.neighbours.get(usize::try_from(start).ok()?..usize::try_from(self.ends[at]).ok()?)
    }

    /// The `count` pairs drawn together most and the `count` drawn apart most, as (one column, the other).
    pub fn pairs(&self, count: usize) -> [Vec<(u32, NearTerm)>; 2] {
        let mut pairs: Vec<(u32, NearTerm)> = Vec::new();
        for &term in &self.terms {
            let list = self.near(term).unwrap_or(&[]).iter();
            // A pair may be in both lists; it is named once, by its first term.
            pairs.extend(list.map(|&near| match near.column < term {
                true => (near.column, NearTerm { column: term, ..near }),
                false => (term, near),
            }));
        }
        let change = |(_, near): &(u32, NearTerm)| near.after - near.before;
        pairs.sort_by(|a, b| change(b).total_cmp(&change(a)).then((a.0, a.1.column).cmp(&(b.0, b.1.column))));
        pairs.dedup_by_key(|(term, near)| (*term, near.column));
        let together = pairs.iter().filter(|pair| change(pair) > 0.0).take(count).copied().collect();
        let apart = pairs.iter().rev().filter(|pair| change(pair) < 0.0).take(count).copied().collect();
        [together, apart]
    }

    /// Puts it into a store.
    pub fn save(&self, out: &mut StoreWriter) {
        out.put_u32("terms", &self.terms);
        out.put_u64("ends", &self.ends);
        out.put_u32("columns", &self.neighbours.iter().map(|near| near.column).collect::<Vec<_>>());
        let count = self.neighbours.len();
        out.put_f32("before", &[count], &self.neighbours.iter().map(|near| near.before).collect::<Vec<_>>());
        out.put_f32("after", &[count], &self.neighbours.iter().map(|near| near.after).collect::<Vec<_>>());
        if let Some(cosines) = &self.cosines {
            out.put_i8("pairs.before", &[cosines.before.len()], &cosines.before);
            out.put_i8("pairs.after", &[cosines.after.len()], &cosines.after);
        }
    }

    /// Takes it out of a store that has it; models of earlier versions have none.
    pub fn load(store: &StoreReader<'_>, columns: usize) -> Result<Option<Self>> {
        if !store.has("terms") {
            return Ok(None);
        }
        let terms = store.u32s("terms", None)?;
        let ends = store.u64s("ends", Some(terms.len()))?;
        let near = store.u32s("columns", None)?;
        let (before, _) = store.f32s("before", &[Some(near.len())])?;
        let (after, _) = store.f32s("after", &[Some(near.len())])?;
        let ascending = terms.is_sorted_by(|a, b| a < b) && ends.is_sorted();
        let inside = terms.iter().chain(&near).all(|&column| (column as usize) < columns);
        if !ascending || !inside || ends.last().copied().unwrap_or(0) != near.len() as u64 {
            return Err(Error::model("sprinkle: the lists of near terms are damaged"));
        }
        let neighbours = near.iter().zip(before.iter().zip(&after));
        let neighbours = neighbours.map(|(&column, (&before, &after))| NearTerm { column, before, after }).collect();
        let pairs = [Some(terms.len() * terms.len().saturating_sub(1) / 2)];
        let cosines = match store.has("pairs.before") {
            true => {
                let (before, after) = (store.i8s("pairs.before", &pairs)?.0, store.i8s("pairs.after", &pairs)?.0);
                Some(Cosines { before, after })
            }
            false => None,
        };
        Ok(Some(TermShift { terms, ends, neighbours, cosines }))
    }
}

/// The terms as columns of the unsprinkled approximation z V'ᵀ, in k dimensions, one row each: Q M with M Mᵀ = zᵀz has the inner
/// products of those columns.
pub(super) fn term_vectors(terms: &[u32], model: &SprinkleModel, rows: &Matrix) -> Result<Dense> {
    let rank = model.rank();
    let coordinates: Vec<f32> = (0..rows.rows()).flat_map(|row| rows.row(row).dense[..rank].iter().copied()).collect();
    let coordinates = Dense::new(rows.rows(), rank, coordinates)?;
    let (lengths, directions) = transposed_product(&coordinates, &coordinates, 0).symmetric_eigen()?;
    let scales: Vec<f64> = lengths.iter().map(|length| length.max(0.0).sqrt()).collect();
    let terms: Vec<usize> = terms.iter().map(|&term| term as usize).collect();
    multiply_in_place(model.basis().select_rows(&terms), &directions.scaled_columns(&scales).to_dense(rank)?)
}

/// Cosines between all rows.
fn cosines(mut vectors: Dense) -> Result<Dense> {
    for row in 0..vectors.rows() {
        let length = vectors.row(row).iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>().sqrt();
        let scale = if length > 0.0 { length.recip() as f32 } else { 0.0 };
        vectors.row_mut(row).iter_mut().for_each(|value| *value *= scale);
    }
    vectors.matmul_transposed(&vectors)
}

/// The nearest terms by either list, the term itself left out, ascending.
fn nearest(term: usize, before: &[f32], after: &[f32]) -> Vec<usize> {
    let mut found = Vec::with_capacity(2 * NEAREST);
    for cosines in [before, after] {
        let first = found.len();
        for (other, &cosine) in cosines.iter().enumerate() {
            let farthest = found[first..].last().map_or(0.0, |&last: &usize| cosines[last]);
            let full = found.len() - first == NEAREST;
            // Of equal ones the first stay, since terms come in order.
            if other == term || cosine <= if full { farthest } else { 0.0 } {
                continue;
            }
            if full {
                found.pop();
            }
            let place = found[first..].partition_point(|&nearer| cosines[nearer] >= cosine);
            found.insert(first + place, other);
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::super::SprinkleParams;
    use super::*;
    use crate::corpus::Labels;
    use crate::matrix::Csr;
    use crate::project::{Projector, Target};

    /// Terms 0 and 1 share a class and no document; 2 and 3 share documents and no class.
    fn shifted() -> TermShift {
        let run = Run::new(42, 2).unwrap();
        let documents: [&[u32]; 8] = [&[0, 4], &[1, 4], &[0, 6], &[1, 6], &[5, 7], &[5, 7], &[2, 3, 4], &[2, 3, 5]];
        let x = Csr::from_rows(8, documents.map(|terms| terms.iter().map(|&t| (t, 1.0)).collect()));
        let labels = Labels::from_single(["a", "a", "a", "a", "b", "b", "a", "b"].map(Some));
        let params = SprinkleParams { rank: 2, terms: 8.into(), ..SprinkleParams::default() };
        let x = Matrix::from(x);
        let (model, rows) = params.fit(&x, &Target::new(&labels), &run).unwrap();
        TermShift::of(&x, &model, &rows, &run).unwrap().unwrap()
    }

    #[test]
    fn terms_of_one_class_draw_together() {
        let shift = shifted();
        let near = shift.near(0).unwrap().iter().find(|near| near.column == 1).unwrap();
        assert_eq!(near.before, 0.0);
        assert!(near.after > 0.9, "{near:?}");
        let [together, apart] = shift.pairs(100);
        assert!(together.iter().any(|(term, near)| (*term, near.column) == (0, 1)));
        assert!(together.windows(2).all(|w| w[0].1.after - w[0].1.before >= w[1].1.after - w[1].1.before));
        assert!(apart.iter().all(|(_, near)| near.after < near.before));
    }

    #[test]
    fn the_cosines_are_those_of_the_written_out_columns() {
        let run = Run::new(1, 1).unwrap();
        let x = Matrix::from(Csr::from_rows(3, [vec![(0, 1.0), (1, 2.0)], vec![(1, 1.0), (2, 3.0)], vec![(0, 2.0)]]));
        let labels = Labels::from_single([Some("a"), Some("b"), Some("a")]);
        let params = SprinkleParams { rank: 2, terms: 4.into(), ..SprinkleParams::default() };
        let (model, rows) = params.fit(&x, &Target::new(&labels), &run).unwrap();
        let shift = TermShift::of(&x, &model, &rows, &run).unwrap().unwrap();
        let column = |term: usize| -> Vec<f32> {
            let entry = |row: usize| rows.row(row).dense.iter().zip(model.basis().row(term)).map(|(a, b)| a * b).sum();
            (0..3).map(entry).collect()
        };
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        let (a, b) = (column(0), column(1));
        let cosine = dot(&a, &b) / (dot(&a, &a) * dot(&b, &b)).sqrt();
        let near = shift.near(0).unwrap().iter().find(|near| near.column == 1).unwrap();
        assert!((near.after - cosine).abs() < 1e-5 && (near.before - 0.4).abs() < 1e-6, "{near:?} {cosine}");
        for pair in [shift.pair(0, 1).unwrap(), shift.pair(1, 0).unwrap()] {
            assert!((pair.after - cosine).abs() < 0.004 && (pair.before - 0.4).abs() < 0.004, "{pair:?}");
        }
        assert_eq!(shift.pair(2, 2).map(|pair| pair.after), Some(1.0));
        assert_eq!(shift.pair(0, 7), None);
    }
}
