//! Small groups of documents, found once: what batches are chosen from.

use rayon::prelude::*;

use super::SuggestParams;
use crate::matrix::Dense;
use crate::words::KmeansParams;
use crate::{Result, Run};

/// Rows of a group that the clustering learns from, on average: more change its centres little.
const SAMPLE: usize = 20;
/// Steps of the clustering; groups need not be settled, only small.
const STEPS: usize = 10;
/// Most documents among which the nearest of one are looked for.
const MOST: usize = 512;
/// Rows compared at once.
const ROWS: usize = 256;

/// Documents in small groups.
#[derive(Debug)]
pub(super) struct Groups {
    centres: Dense,
    /// How many documents each has.
    sizes: Vec<f32>,
    /// The group of each document; none for one without a known word.
    of_row: Vec<Option<u32>>,
    /// The mean distance of each document from its nearest.
    distances: Vec<f32>,
}

impl Groups {
    /// Groups the rows of `z`, all of length 1 or 0.
    pub(super) fn of(z: &Dense, params: &SuggestParams, run: &Run) -> Result<Self> {
        let known: Vec<usize> = (0..z.rows()).filter(|&row| z.row(row).iter().any(|&value| value != 0.0)).collect();
        let (centres, group_of) = if known.len() <= params.groups {
            (z.select_rows(&known), (0..known.len() as u32).collect())
        } else {
            // A stride takes rows from everywhere, also where files are sorted by class.
            let stride = known.len().div_ceil(SAMPLE * params.groups);
            let sample: Vec<usize> = known.iter().copied().step_by(stride).collect();
            let kmeans = KmeansParams { clusters: params.groups.min(sample.len()), steps: STEPS, tolerance: 1e-3 };
            let found = kmeans.fit(&z.select_rows(&sample), run)?;
            let group_of = found.assign(&z.select_rows(&known), run)?;
            (found.centres, group_of)
        };
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); centres.rows()];
        known.iter().zip(&group_of).for_each(|(&row, &group)| members[group as usize].push(row));
        // A group that rows outside the sample have left empty is none.
        let filled: Vec<usize> = (0..members.len()).filter(|&group| !members[group].is_empty()).collect();
        let centres = centres.select_rows(&filled);
        let members: Vec<Vec<usize>> = filled.into_iter().map(|group| std::mem::take(&mut members[group])).collect();
        let sizes = members.iter().map(|rows| rows.len() as f32).collect();
        let mut of_row = vec![None; z.rows()];
        for (group, rows) in members.iter().enumerate() {
            rows.iter().for_each(|&row| of_row[row] = Some(group as u32));
        }
        let distances = run.install(|| distances(z, &centres, &members, params.neighbours))?;
        run.check()?;
        Ok(Groups { centres, sizes, of_row, distances })
    }

    /// How many groups there are.
    pub(super) fn len(&self) -> usize {
        self.sizes.len()
    }

    pub(super) fn centres(&self) -> &Dense {
        &self.centres
    }

    pub(super) fn sizes(&self) -> &[f32] {
        &self.sizes
    }

    pub(super) fn of_row(&self, row: usize) -> Option<u32> {
        self.of_row[row]
    }

    /// The mean distance of a document from its nearest.
    pub(super) fn distance(&self, row: usize) -> f32 {
        self.distances[row]
    }
}

/// The mean distance of every document from its `count` nearest among its own group and the groups around it, at most
/// [`MOST`] documents, so that the cost stays linear in the documents.
fn distances(z: &Dense, centres: &Dense, members: &[Vec<usize>], count: usize) -> Result<Vec<f32>> {
    let near = |group: usize| -> Result<Vec<(usize, f32)>> {
        let candidates = candidates(centres, members, group, (4 * count).min(MOST));
        let around = z.select_rows(&candidates);
        let mut found = Vec::with_capacity(members[group].len());
        for rows in members[group].chunks(ROWS) {
            let products = z.select_rows(rows).matmul_transposed(&around)?;
            for (place, &row) in rows.iter().enumerate() {
                // Of rows of length 1, ‖a − b‖² = 2 − 2 a·b.
                let own = products.row(place).iter().zip(&candidates).filter(|(_, other)| **other != row);
                let mut list: Vec<f32> = own.map(|(&inner, _)| (2.0 - 2.0 * inner).max(0.0).sqrt()).collect();
                if list.len() > count {
                    list.select_nth_unstable_by(count - 1, f32::total_cmp);
                    list.truncate(count);
                }
                // A document that is alone stands for nobody.
                let mean = list.iter().sum::<f32>() / list.len() as f32;
                found.push((row, if list.is_empty() { f32::MAX } else { mean }));
            }
        }
        Ok(found)
    };
    let found: Vec<Vec<(usize, f32)>> = (0..members.len()).into_par_iter().map(near).collect::<Result<_>>()?;
    let mut distances = vec![f32::MAX; z.rows()];
    found.into_iter().flatten().for_each(|(row, distance)| distances[row] = distance);
    Ok(distances)
}

/// Documents to look for the nearest among: a group's own, and those of the groups nearest to it until there are `least`.
fn candidates(centres: &Dense, members: &[Vec<usize>], group: usize, least: usize) -> Vec<usize> {
    let own = &members[group];
    let mut list: Vec<usize> = own.iter().copied().step_by(own.len().div_ceil(MOST).max(1)).collect();
    if list.len() > least {
        return list;
    }
    let square = |other: usize| -> f32 {
        centres.row(group).iter().zip(centres.row(other)).map(|(a, b)| (a - b) * (a - b)).sum()
    };
    let mut others: Vec<(f32, usize)> =
        (0..members.len()).filter(|&other| other != group).map(|other| (square(other), other)).collect();
    others.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    for (_, other) in others {
        if list.len() > least {
            break;
        }
        list.extend(members[other].iter().take(MOST));
    }
    list.truncate(MOST);
    list
}
