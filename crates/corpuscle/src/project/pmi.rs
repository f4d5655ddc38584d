//! Terms lend weight to those they are found near to: smoothing by positive pointwise mutual information.
//!
//! With c_ij how often terms i and j stand within `window` words of each other, c_i = Σ_j c_ij and N = Σ c_i,
//!
//! PMI(i, j) = log(c_ij · N / (c_i · c_j)),   x' = x + weight · x S,   S_ij = PMI(i, j) / Σ_j PMI(i, j)
//!
//! over the `neighbours` terms j of largest positive PMI that are seen near i at least `min_count` times. A document then also has, in
//! small, the terms that its own are usually found among. The map is linear, and explanations are exact.
//!
//! Words are counted term by term from lists of their places, so that counts are exact, every thread has terms of its own, and no table of
//! pairs is held: O(tokens · window) time, O(tokens + threads · terms) memory. Terms of several words have no places and stay as they
//! are. Handed a matrix without its words (a stage alone, as in Python), documents are the windows: O(Σ (terms of a document)²).
//!
//! References: Church and Hanks, Word association norms, mutual information, and lexicography, 1990; Levy and Goldberg, Neural word
//! embedding as implicit matrix factorization, 2014; PMI between words joins them in the graphs of Yao, Mao and Luo (TextGCN), 2019. We
//! differ from graphs in fitting on training texts only and in keeping few neighbours.
//!
//! ```
//! use corpuscle::{Run, corpus::Labels, matrix::{Csr, Matrix}};
//! use corpuscle::project::{PmiParams, Projector, ProjectorModel, Target};
//! // Terms 0 and 1 are always found together, 2 and 3 too.
//! let x = Matrix::from(Csr::from_rows(4, (0..8u32).map(|row| vec![(row % 2 * 2, 1.0), (row % 2 * 2 + 1, 1.0)])));
//! let params = PmiParams { min_count: 1, weight: 0.5, ..PmiParams::default() };
//! let (model, _) = params.fit(&x, &Target::new(&Labels::none(8)), &Run::new(1, 1)?)?;
//! let one = Matrix::from(Csr::from_rows(4, [vec![(0, 1.0)]]));
//! assert_eq!(model.transform(&one, &Run::new(1, 1)?)?.row(0).values, [1.0, 0.5]);
//! # Ok::<(), corpuscle::Error>(())
//! ```

use std::collections::HashMap;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::projector::check_columns;
use super::{Columns, Projector, ProjectorModel, Target, Weights};
use crate::matrix::{Csr, Dense, Matrix};
use crate::param;
use crate::params::{Checks, Param, Params};
use crate::store::{StoreReader, StoreWriter};
use crate::text::Tokens;
use crate::{Error, Result, Run};

/// Parameters of `pmi`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PmiParams {
    /// Words within which terms count as near each other.
    pub window: usize,
    /// Neighbours of a term at most.
    pub neighbours: usize,
    /// What a term gives its neighbours together, of its own 1.
    pub weight: f64,
    /// How often two terms must be seen near each other.
    pub min_count: usize,
}

impl Default for PmiParams {
    fn default() -> Self {
        PmiParams { window: 20, neighbours: 10, weight: 0.3, min_count: 5 }
    }
}

impl Params for PmiParams {
    const NAME: &'static str = "pmi";
    const ABOUT: &'static str = "terms lend weight to those they are found near to";

    fn table() -> Vec<Param<Self>> {
        vec![
            param!("window", window, "words within which terms are near each other"),
            param!("neighbours", neighbours, "neighbours of a term at most, those of largest positive PMI"),
            param!("weight", weight, "what a term gives its neighbours together, of its own 1"),
            param!("min_count", min_count, "how often two terms must be seen near each other"),
        ]
    }

    fn check(&self) -> Result<()> {
        Checks::of(Self::NAME)
            .that((2..=1000).contains(&self.window), "window", &self.window, "must be from 2 to 1000")
            .that((1..=1000).contains(&self.neighbours), "neighbours", &self.neighbours, "must be from 1 to 1000")
            .that(self.weight > 0.0 && self.weight <= 10.0, "weight", &self.weight, "must be above 0 and at most 10")
            .that(self.min_count >= 1, "min_count", &self.min_count, "must be at least 1")
            .done()
    }
}

/// A fitted `pmi`: what each term gives to which.
#[derive(Debug, Clone, PartialEq)]
pub struct PmiModel {
    /// weight · S, terms × terms.
    given: Csr,
}

impl Projector for PmiParams {
    type Model = PmiModel;
    const MAKES: Columns = Columns::Same;
    const NEEDS_TERMS: bool = true;
    const WANTS_WORDS: bool = true;

    fn fit(&self, x: &Matrix, target: &Target<'_>, run: &Run) -> Result<(PmiModel, Matrix)> {
        self.check()?;
        let texts = match target.words() {
            Some(tokens) => Texts::of_words(tokens, &target.names(), self.window),
            None => Texts::of_rows(x.sparse()),
        };
        let model = PmiModel { given: self.neighbours(&texts, x.cols(), run)? };
        let smoothed = model.transform(x, run)?;
        Ok((model, smoothed))
    }

    fn load(&self, store: &StoreReader<'_>) -> Result<PmiModel> {
        let given = Csr::load(&store.scope("given"))?;
        match given.rows() == given.cols() {
            true => Ok(PmiModel { given }),
            false => Err(Error::model("pmi: what terms give each other is not square")),
        }
    }
}

/// Documents as columns in a row, and how far apart two are near each other.
struct Texts {
    /// Columns, one document after the other; words that are no column are `u32::MAX`.
    columns: Vec<u32>,
    /// Where each document begins, and the end of the last.
    offsets: Vec<u64>,
    window: usize,
}

impl Texts {
    fn of_words(tokens: &Tokens, names: &[String], window: usize) -> Self {
        let of: HashMap<&str, u32> = names.iter().map(String::as_str).zip(0u32..).collect();
        let columns: Vec<u32> = tokens.lexicon().iter().map(|word| of.get(word).copied().unwrap_or(u32::MAX)).collect();
        let columns = tokens.ids().iter().map(|&id| columns[id as usize]).collect();
        Texts { columns, offsets: tokens.offsets().to_vec(), window }
    }

    /// A document is one window.
    fn of_rows(x: &Csr) -> Self {
        Texts { columns: x.indices().to_vec(), offsets: x.indptr().to_vec(), window: usize::MAX }
    }

    /// The places of every column, column after column, and where those of each begin.
    fn places(&self, columns: usize) -> (Vec<u64>, Vec<u64>) {
        let mut begins = vec![0u64; columns + 1];
        let known = |column: &&u32| **column != u32::MAX;
        self.columns.iter().filter(known).for_each(|&column| begins[column as usize + 1] += 1);
        (0..columns).for_each(|column| begins[column + 1] += begins[column]);
        let (mut next, mut places) = (begins.clone(), vec![0u64; begins[columns] as usize]);
        for (place, &column) in self.columns.iter().enumerate().filter(|(_, column)| known(column)) {
            places[next[column as usize] as usize] = place as u64;
            next[column as usize] += 1;
        }
        (places, begins)
    }

    /// The columns near a place: in its document and within the window, on both sides.
    fn near(&self, place: usize) -> impl Iterator<Item = u32> {
        let document = self.offsets.partition_point(|&begin| begin as usize <= place);
        let (begin, end) = (self.offsets[document - 1] as usize, self.offsets[document] as usize);
        let reach = self.window.saturating_sub(1);
        let from = begin.max(place.saturating_sub(reach));
        let to = end.min(place.saturating_add(reach).saturating_add(1));
        let sides = self.columns[from..place].iter().chain(&self.columns[place + 1..to]);
        sides.copied().filter(|&column| column != u32::MAX)
    }
}

impl PmiParams {
    /// What each term gives to which. Counts are whole numbers, so their order does not matter.
    fn neighbours(&self, texts: &Texts, columns: usize, run: &Run) -> Result<Csr> {
        let (places, begins) = texts.places(columns);
        let of = |column: usize| &places[begins[column] as usize..begins[column + 1] as usize];
        let totals = || {
            (0..columns).into_par_iter().with_min_len(64).map(|column| {
                of(column)
                    .iter()
                    .map(|&place| texts.near(place as usize).filter(|&near| near as usize != column).count() as u64)
                    .sum()
            })
        };
        let totals: Vec<u64> = run.install(|| totals().collect());
        let all: u64 = totals.iter().sum();
        let row = |counts: &mut Vec<u32>, column: usize| -> Result<Vec<(u32, f32)>> {
            run.check()?;
            // One table of counts per thread, cleared through the list of what was seen: to empty all of it for every term would
            // cost terms² in all.
            let mut seen = Vec::new();
            for near in of(column).iter().flat_map(|&place| texts.near(place as usize)) {
                if near as usize != column {
                    if counts[near as usize] == 0 {
                        seen.push(near);
                    }
                    counts[near as usize] = counts[near as usize].saturating_add(1);
                }
            }
            let mut list: Vec<(f64, u32)> = Vec::new();
            for near in seen {
                let count = std::mem::take(&mut counts[near as usize]);
                if count as usize >= self.min_count {
                    let expected = totals[column] as f64 * totals[near as usize] as f64 / all as f64;
                    list.push(((f64::from(count) / expected).ln(), near));
                }
            }
            list.retain(|&(pmi, _)| pmi > 0.0);
            // Equal PMI goes by the number of the term, so that the same neighbours are kept every time.
            list.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            list.truncate(self.neighbours);
            let sum: f64 = list.iter().map(|(pmi, _)| pmi).sum();
            let mut row: Vec<(u32, f32)> =
                list.into_iter().map(|(pmi, near)| (near, (self.weight * pmi / sum) as f32)).collect();
            row.sort_unstable_by_key(|&(near, _)| near);
            Ok(row)
        };
        let rows: Vec<Vec<(u32, f32)>> = run.install(|| {
            let terms = (0..columns).into_par_iter().with_min_len(64);
            terms.map_init(|| vec![0u32; columns], row).collect::<Result<_>>()
        })?;
        Ok(Csr::from_rows(columns, rows))
    }
}

impl ProjectorModel for PmiModel {
    fn transform(&self, x: &Matrix, run: &Run) -> Result<Matrix> {
        check_columns("terms to smooth", self.given.rows(), x)?;
        let smoothed = |sums: &mut Vec<f32>, row: usize| -> Result<Vec<(u32, f32)>> {
            run.check()?;
            let (columns, values) = x.sparse().row(row);
            let mut touched: Vec<u32> = Vec::with_capacity(columns.len() * 4);
            let mut add = |column: u32, value: f32| {
                touched.push(column);
                sums[column as usize] += value;
            };
            for (&column, &value) in columns.iter().zip(values) {
                add(column, value);
                let (near, given) = self.given.row(column as usize);
                near.iter().zip(given).for_each(|(&near, given)| add(near, value * given));
            }
            touched.sort_unstable();
            touched.dedup();
            Ok(touched.into_iter().map(|column| (column, std::mem::take(&mut sums[column as usize]))).collect())
        };
        let rows: Vec<Vec<(u32, f32)>> = run.install(|| {
            let rows = (0..x.rows()).into_par_iter().with_min_len(64);
            rows.map_init(|| vec![0f32; x.cols()], smoothed).collect::<Result<_>>()
        })?;
        Ok(Csr::from_rows(x.cols(), rows).into())
    }

    fn n_inputs(&self) -> usize {
        self.given.rows()
    }

    fn n_columns(&self) -> usize {
        self.given.cols()
    }

    fn save(&self, out: &mut StoreWriter) -> Result<()> {
        out.scope("given", |out| self.given.save(out));
        Ok(())
    }

    fn is_linear(&self) -> bool {
        true
    }

    fn gradient(&self, x: &Matrix, weights: &Weights<'_>, _run: &Run) -> Result<Option<Dense>> {
        let mut gradient = Dense::zeros(self.given.rows(), 1);
        x.row(0).for_each(|column, _| {
            let (near, given) = self.given.row(column);
            let lent: f32 = near.iter().zip(given).map(|(&near, given)| given * weights.at(near as usize)).sum();
            gradient.row_mut(column)[0] = weights.at(column) + lent;
        });
        Ok(Some(gradient))
    }

    fn notes(&self) -> Vec<(&'static str, String)> {
        let with = (0..self.given.rows()).filter(|&term| !self.given.row(term).0.is_empty()).count();
        vec![("neighbours", format!("{} of {} terms have some", with, self.given.rows()))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::Labels;
    use crate::text::WordsParams;

    /// PMI of every pair by its definition.
    fn by_definition(texts: &[&str], names: &[String], window: usize) -> Vec<Vec<f64>> {
        let n = names.len();
        let mut counts = vec![vec![0f64; n]; n];
        for text in texts {
            let words: Vec<usize> =
                text.split(' ').map(|word| names.iter().position(|name| name == word).unwrap()).collect();
            for (a, &first) in words.iter().enumerate() {
                for (b, &second) in words.iter().enumerate() {
                    if a != b && a.abs_diff(b) < window && first != second {
                        counts[first][second] += 1.0;
                    }
                }
            }
        }
        let totals: Vec<f64> = counts.iter().map(|row| row.iter().sum()).collect();
        let all: f64 = totals.iter().sum();
        (0..n).map(|i| (0..n).map(|j| (counts[i][j] * all / (totals[i] * totals[j])).ln()).collect()).collect()
    }

    #[test]
    fn neighbours_are_those_of_the_definition_on_any_threads() {
        let texts = ["a b c a d", "b a c e e", "d f a", "f d c b", "e"];
        let names: Vec<String> = ["a", "b", "c", "d", "e", "f"].map(String::from).to_vec();
        let tokens = WordsParams::default().tokenize(&texts, &Run::new(1, 1).unwrap()).unwrap();
        let params = PmiParams { window: 3, neighbours: 9, weight: 1.0, min_count: 1 };
        let texts_of = Texts::of_words(&tokens, &names, params.window);
        let given = params.neighbours(&texts_of, 6, &Run::new(1, 1).unwrap()).unwrap();
        let expected = by_definition(&texts, &names, params.window);
        for (term, pmi) in expected.iter().enumerate() {
            let sum: f64 = pmi.iter().filter(|&&pmi| pmi > 0.0).sum();
            let positive: Vec<(u32, f64)> =
                (0u32..).zip(pmi).filter(|(_, pmi)| **pmi > 0.0).map(|(near, pmi)| (near, pmi / sum)).collect();
            let (near, found) = given.row(term);
            assert_eq!(near, positive.iter().map(|&(near, _)| near).collect::<Vec<_>>(), "{term}");
            assert!(found.iter().zip(&positive).all(|(found, (_, share))| (f64::from(*found) - share).abs() < 1e-6));
        }
        for threads in [2, 8] {
            assert_eq!(params.neighbours(&texts_of, 6, &Run::new(1, threads).unwrap()).unwrap(), given);
        }
    }

    #[test]
    fn odd_documents_are_smoothed_to_something() {
        let run = Run::new(1, 2).unwrap();
        let labels = Labels::none(3);
        for rows in [vec![vec![], vec![], vec![]], vec![vec![(0, 1.0)], vec![], vec![(1, 2.0), (3, 1.0)]]] {
            let x = Matrix::from(Csr::from_rows(4, rows));
            let (model, smoothed) = PmiParams::default().fit(&x, &Target::new(&labels), &run).unwrap();
            // Nothing is seen five times, so nothing is lent.
            assert_eq!(smoothed, x);
            let back = crate::store::tests::round_trip(
                |out| model.save(out).unwrap(),
                |store| PmiParams::default().load(store),
            );
            assert_eq!(back.unwrap(), model);
        }
        assert!(
            PmiParams { window: 1, weight: 0.0, ..PmiParams::default() }
                .check()
                .unwrap_err()
                .to_string()
                .contains("weight")
        );
    }
}
