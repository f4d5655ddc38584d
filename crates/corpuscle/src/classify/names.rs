//! What the names of classes say about documents: supervision that costs nothing.
//!
//! The words of each class's name (`card_arrival`, or a description that was given) are looked up among the terms and expanded through
//! the denoising layer of [`dcot`](crate::project::DcotParams) with noise p: with X the terms of all documents, S = XᵀX and D its diagonal,
//! the name q brings the terms r = S ((1 − p) S + p D)⁻¹ q to mind. What every class brings to mind tells nothing, so a term's mean
//! over classes is taken off: v_c = max(0, r_c − mean r), brought to unit length. A document's score for a class is x·v_c, standardised over
//! the documents.
//!
//! By Woodbury's identity r = Xᵀ (I + (1 − p)/p · X D⁻¹ Xᵀ)⁻¹ X D⁻¹ q / p, so no layer is written out: conjugate gradients take
//! some ten products with X for sixteen classes at a time, O(stored values · classes) in all.
//!
//! Where we differ from `ALGORITHMS.md` section 6: there a term is kept when it is 1.5 times as strong as for any other class, which leaves
//! little of 77 names that share their words (`card_arrival`, `lost_or_stolen_card`): 21 % of banking77's training rows came out right by
//! that rule, 43 % by this one; search snippets 63 and 65 %, 20 Newsgroups 59 and 65 %.
//!
//! A class none of whose words is known has no vector and scores as the mean.

use rayon::prelude::*;

use super::LinearModel;
use crate::corpus::Labels;
use crate::matrix::gram::{ShiftedGram, Workspace};
use crate::matrix::{Csr, Dense, LANES, Lane, Matrix};
use crate::project::ClassWords;
use crate::{Error, Result, Run};

/// The noise of the layer: nearly all words are gone, so that the rest is inferred from each alone.
const NOISE: f64 = 0.99;
/// Terms kept for a class before the mean is taken off, and after.
const MOST_TERMS: usize = 4000;
const KEPT_TERMS: usize = 400;
/// The solver's tolerance and most steps; a rough answer has the same order of terms.
const TOLERANCE: f64 = 1e-3;
const MOST_STEPS: usize = 40;
/// Documents of each class that are taken as labelled by their name, and what they count, beside documents that are labelled.
const HINTS: usize = 15;
const HINT_WEIGHT: f32 = 0.3;
/// The share of a class's equal part of the documents that is taken when nothing is labelled.
const HINT_SHARE: f64 = 0.9;
/// The root mean square length of a document's scores, where its terms have length 1.
const LENGTH: f64 = 0.7;

/// The terms that the names of classes bring to mind, and how documents score by them.
#[derive(Debug, Clone)]
pub struct ClassNames {
    /// For each class its terms as (column, weight), by column, of unit length; none where no word of its name is known.
    terms: Vec<Vec<(u32, f32)>>,
    /// Mean and deviation of the documents' scores.
    means: Vec<f32>,
    deviations: Vec<f32>,
}

impl ClassNames {
    /// Expands names, given as the words of each class; words struck out do not come back. `names` is what the sparse columns of `x` stand for. `None` when fewer than two
    /// classes have a known word.
    pub fn fit(x: &Matrix, names: &[String], words: &[ClassWords], run: &Run) -> Result<Option<Self>> {
        let sparse = x.sparse();
        if names.len() != sparse.cols() {
            return Ok(None);
        }
        let by_columns = sparse.transpose();
        let n = sparse.rows() as f64;
        let mut places: std::collections::BTreeMap<&str, Vec<u32>> = words
            .iter()
            .flat_map(|own| own.words.iter().chain(&own.struck))
            .map(|word| (word.as_str(), Vec::new()))
            .collect();
        for (column, name) in (0u32..).zip(names) {
            if let Some(columns) = places.get_mut(name.as_str()) {
                columns.push(column);
            }
        }
        let rarity = |column: u32| {
            let documents = by_columns.row(column as usize).0.len() as f64;
            if documents == 0.0 { 0.0 } else { ((1.0 + n) / (1.0 + documents)).ln() + 1.0 }
        };
        let seeds: Vec<Vec<(u32, f64)>> = words
            .iter()
            .map(|ClassWords { words, .. }| {
                let mut seed: std::collections::BTreeMap<u32, f64> = std::collections::BTreeMap::new();
                for &column in words.iter().filter_map(|word| places.get(word.as_str())).flatten() {
                    *seed.entry(column).or_default() += rarity(column);
                }
                let length = seed.values().map(|value| value * value).sum::<f64>().sqrt();
                seed.into_iter()
                    .filter(|(_, value)| *value > 0.0)
                    .map(|(column, value)| (column, value / length))
                    .collect()
            })
            .collect();
        if seeds.iter().filter(|seed| !seed.is_empty()).count() < 2 {
            return Ok(None);
        }
        let mut terms = run.install(|| expand(sparse, &by_columns, &seeds, run))?;
        for (terms, own) in terms.iter_mut().zip(words) {
            let struck: Vec<u32> =
                own.struck.iter().filter_map(|word| places.get(word.as_str())).flatten().copied().collect();
            terms.retain(|(column, _)| !struck.contains(column));
        }
        let mut found = ClassNames { means: vec![0.0; terms.len()], deviations: vec![1.0; terms.len()], terms };
        let scores = found.raw_scores(sparse, run);
        for class in 0..found.terms.len() {
            let column = (0..scores.rows()).map(|row| f64::from(scores.row(row)[class]));
            let mean = column.clone().sum::<f64>() / n.max(1.0);
            let variance = column.map(|score| (score - mean) * (score - mean)).sum::<f64>() / n.max(1.0);
            found.means[class] = mean as f32;
            found.deviations[class] = variance.sqrt().max(1e-9) as f32;
        }
        Ok(Some(found))
    }

    /// The terms of each class, the strongest first: (column, weight).
    pub fn terms(&self) -> Vec<Vec<(u32, f32)>> {
        let sorted = |terms: &Vec<(u32, f32)>| {
            let mut terms = terms.clone();
            terms.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            terms
        };
        self.terms.iter().map(sorted).collect()
    }

    /// Class by class its terms with their weights, over all columns.
    fn table(&self, columns: usize) -> Dense {
        let mut table = Dense::zeros(columns, self.terms.len());
        for (class, terms) in self.terms.iter().enumerate() {
            for &(column, weight) in terms {
                table.row_mut(column as usize)[class] = weight;
            }
        }
        table
    }

    fn raw_scores(&self, sparse: &Csr, run: &Run) -> Dense {
        let (table, classes) = (self.table(sparse.cols()), self.terms.len());
        let mut scores = Dense::zeros(sparse.rows(), classes);
        run.install(|| {
            scores.values_mut().par_chunks_mut(classes).enumerate().with_min_len(64).for_each(|(row, out)| {
                let (columns, values) = sparse.row(row);
                for (&column, &value) in columns.iter().zip(values) {
                    out.iter_mut().zip(table.row(column as usize)).for_each(|(sum, weight)| *sum += value * weight);
                }
            });
        });
        scores
    }

    /// The standardised score of every document for every class.
    pub fn scores(&self, x: &Matrix, run: &Run) -> Dense {
        let mut scores = self.raw_scores(x.sparse(), run);
        for row in 0..scores.rows() {
            for (score, (mean, deviation)) in
                scores.row_mut(row).iter_mut().zip(self.means.iter().zip(&self.deviations))
            {
                *score = (*score - mean) / deviation;
            }
        }
        scores
    }

    /// What a column of scores is multiplied with beside the documents' own columns.
    fn scale(&self) -> f32 {
        (LENGTH / (self.terms.len().max(1) as f64).sqrt()) as f32
    }

    /// The documents with a column for each class beside their own; columns that count negatively stay last.
    pub fn beside(&self, x: &Matrix, scores: &Dense) -> Result<Matrix> {
        let (dense, scale) = (x.dense(), self.scale());
        let positive = dense.cols() - x.negative();
        let mut values = Vec::with_capacity(x.rows() * (dense.cols() + scores.cols()));
        for row in 0..x.rows() {
            values.extend_from_slice(&dense.row(row)[..positive]);
            values.extend(scores.row(row).iter().map(|score| score * scale));
            values.extend_from_slice(&dense.row(row)[positive..]);
        }
        Matrix::new(x.sparse().clone(), Dense::new(x.rows(), dense.cols() + scores.cols(), values)?, x.negative())
    }

    /// The weights over the documents' own columns that score as `linear` does over those and the classes' columns.
    pub fn folded(&self, linear: &LinearModel, x: &Matrix) -> Result<LinearModel> {
        let (classes, width) = (linear.n_classes(), self.terms.len());
        if linear.n_inputs() != x.cols() + width {
            return Err(Error::Shape {
                what: "columns of names",
                expected: x.cols() + width,
                found: linear.n_inputs(),
            });
        }
        let first = x.sparse().cols() + x.dense().cols() - x.negative();
        let all = linear.weights();
        let kept = (0..first).chain(first + width..all.rows()).flat_map(|row| all.row(row).iter().copied());
        let mut weights = Dense::new(x.cols(), classes, kept.collect::<Vec<f32>>())?;
        let mut bias = linear.bias().to_vec();
        for (class, terms) in self.terms.iter().enumerate() {
            let by = self.scale() / self.deviations[class];
            let of = all.row(first + class).to_vec();
            for &(column, weight) in terms {
                weights.row_mut(column as usize).iter_mut().zip(&of).for_each(|(to, of)| *to += of * by * weight);
            }
            bias.iter_mut().zip(&of).for_each(|(to, of)| *to -= of * by * self.means[class]);
        }
        LinearModel::new(weights, bias)
    }

    /// The unlabelled documents that names are surest of, each with its class and what it counts.
    pub fn hints(&self, scores: &Dense, labels: &Labels) -> (Vec<(usize, u32)>, f32) {
        let open: Vec<usize> = (0..labels.len()).filter(|&row| labels.of(row).is_none()).collect();
        let none = open.len() == labels.len();
        let most = match none {
            true => ((HINT_SHARE * open.len() as f64 / self.terms.len() as f64) as usize).max(3),
            false => HINTS,
        };
        let mut by_class: Vec<Vec<(f32, usize)>> = vec![Vec::new(); self.terms.len()];
        for row in open {
            let mut best = (f32::NEG_INFINITY, None);
            for (class, &score) in scores.row(row).iter().enumerate() {
                if score > best.0 && !self.terms[class].is_empty() {
                    best = (score, Some(class));
                }
            }
            if let (score, Some(class)) = best
                && score > 0.0
            {
                by_class[class].push((score, row));
            }
        }
        let mut hints = Vec::new();
        for (class, mut documents) in (0u32..).zip(by_class) {
            documents.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            hints.extend(documents.iter().take(most).map(|&(_, row)| (row, class)));
        }
        hints.sort_unstable();
        (hints, if none { 1.0 } else { HINT_WEIGHT })
    }
}

/// The terms each seed brings to mind beyond what all of them do.
fn expand(x: &Csr, by_columns: &Csr, seeds: &[Vec<(u32, f64)>], run: &Run) -> Result<Vec<Vec<(u32, f32)>>> {
    let columns = x.cols();
    let squares: Vec<f32> = (0..columns)
        .into_par_iter()
        .map(|column| {
            by_columns.row(column).1.iter().map(|&value| f64::from(value) * f64::from(value)).sum::<f64>() as f32
        })
        .collect();
    let inverse: Vec<f32> = squares.iter().map(|&square| if square > 0.0 { 1.0 / square } else { 0.0 }).collect();
    let no_means = vec![0f32; columns];
    let gram = ShiftedGram::new(x, by_columns, &no_means, &inverse, ((1.0 - NOISE) / NOISE) as f32);
    // Of each panel the strongest terms of its classes and the sum over them, so that nothing of classes × columns is kept.
    type Panel = (Vec<Vec<(u32, f32)>>, Vec<f32>);
    let panel = |seeds: &[Vec<(u32, f64)>]| -> Result<Panel> {
        let mut work = Workspace::default();
        // b = X D⁻¹ q: only documents with a word of the name have an entry.
        let fill = |sides: &mut [Lane]| {
            for (lane, seed) in seeds.iter().enumerate() {
                for &(column, value) in seed {
                    let scale = (value * f64::from(inverse[column as usize])) as f32;
                    let (rows, values) = by_columns.row(column as usize);
                    rows.iter().zip(values).for_each(|(&row, &of)| sides[row as usize].0[lane] += scale * of);
                }
            }
        };
        gram.solve_panel(fill, TOLERANCE, MOST_STEPS, &mut work, run)?;
        let mut sum = vec![0f32; columns];
        let class = |lane: usize| {
            let brought =
                work.columns.iter().zip(&squares).map(|(columns, square)| (columns.0[lane] * square).max(0.0));
            let mut terms: Vec<(u32, f32)> = (0u32..).zip(brought).filter(|(_, value)| *value > 0.0).collect();
            terms.iter().for_each(|&(column, value)| sum[column as usize] += value);
            keep_strongest(&mut terms, MOST_TERMS);
            terms
        };
        let strongest = (0..seeds.len()).map(class).collect();
        Ok((strongest, sum))
    };
    let panels: Vec<Panel> = seeds.par_chunks(LANES).map(panel).collect::<Result<_>>()?;
    let classes = seeds.iter().filter(|seed| !seed.is_empty()).count().max(1) as f32;
    let mut mean = vec![0f32; columns];
    let mut strongest = Vec::with_capacity(seeds.len());
    for (terms, sum) in panels {
        mean.iter_mut().zip(&sum).for_each(|(mean, &value)| *mean += value / classes);
        strongest.extend(terms);
    }
    for terms in &mut strongest {
        terms.iter_mut().for_each(|(column, value)| *value -= mean[*column as usize]);
        terms.retain(|(_, value)| *value > 0.0);
        keep_strongest(terms, KEPT_TERMS);
        let length = terms.iter().map(|(_, value)| f64::from(*value) * f64::from(*value)).sum::<f64>().sqrt() as f32;
        terms.iter_mut().for_each(|(_, value)| *value /= length);
    }
    Ok(strongest)
}

/// The strongest terms, by column.
fn keep_strongest(terms: &mut Vec<(u32, f32)>, most: usize) {
    terms.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    terms.truncate(most);
    terms.sort_unstable_by_key(|&(column, _)| column);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two topics; each name is a word of a third of its topic's documents, whose other words the rest have too.
    fn pile() -> (Matrix, Vec<String>) {
        let names = ["fish", "net", "sea", "car", "road", "wheel", "the"].map(String::from).to_vec();
        let rows = (0..60u32).map(|document| {
            let topic = document % 2 * 3;
            let mut words = vec![(topic + 1, 0.6), (topic + 2, 0.6), (6, 0.4)];
            match document % 3 {
                0 => words.insert(0, (topic, 0.6)),
                1 => drop(words.remove(0)),
                _ => drop(words.remove(1)),
            }
            words
        });
        (Matrix::from(Csr::from_rows(7, rows)), names)
    }

    fn words(of: &[&[&str]]) -> Vec<ClassWords> {
        let own = |words: &&[&str]| words.iter().map(ToString::to_string).collect();
        of.iter().map(|words| ClassWords { words: own(words), struck: Vec::new() }).collect()
    }

    #[test]
    fn a_name_brings_its_topic_to_mind() {
        let (x, names) = pile();
        let run = Run::new(1, 2).unwrap();
        let found = ClassNames::fit(&x, &names, &words(&[&["fish"], &["car", "unknown"]]), &run).unwrap().unwrap();
        let terms = found.terms();
        let strongest: Vec<&str> = terms[0].iter().map(|&(column, _)| names[column as usize].as_str()).collect();
        assert_eq!(strongest[0], "fish");
        assert!(strongest.contains(&"net") && strongest.contains(&"sea"), "{strongest:?}");
        assert!(!strongest.contains(&"the") && !strongest.contains(&"road"), "{strongest:?}");
        let scores = found.scores(&x, &run);
        for row in 0..60 {
            assert_eq!(scores.row(row)[1] > scores.row(row)[0], row % 2 == 1, "document {row}");
        }
        let (hints, weight) = found.hints(&scores, &Labels::none(60));
        assert!(hints.iter().all(|&(row, class)| row as u32 % 2 == class) && weight == 1.0);
        for threads in [1, 8] {
            let run = Run::new(1, threads).unwrap();
            let again = ClassNames::fit(&x, &names, &words(&[&["fish"], &["car", "unknown"]]), &run).unwrap().unwrap();
            assert_eq!(again.scores(&x, &run), scores);
        }
    }

    #[test]
    fn names_that_nobody_uses_say_nothing() {
        let (x, names) = pile();
        let run = Run::new(1, 1).unwrap();
        assert!(ClassNames::fit(&x, &names, &words(&[&["c01"], &["c02"]]), &run).unwrap().is_none());
        assert!(ClassNames::fit(&x, &names, &words(&[&["fish"], &[]]), &run).unwrap().is_none());
        let three = ClassNames::fit(&x, &names, &words(&[&["fish"], &["c02"], &["car"]]), &run).unwrap().unwrap();
        let scores = three.scores(&x, &run);
        assert!(scores.values().iter().all(|score| score.is_finite()));
        assert!(three.hints(&scores, &Labels::none(60)).0.iter().all(|&(_, class)| class != 1));
    }

    #[test]
    fn weights_are_folded_back_to_the_terms() {
        let (x, names) = pile();
        let run = Run::new(1, 1).unwrap();
        let found = ClassNames::fit(&x, &names, &words(&[&["fish"], &["car"]]), &run).unwrap().unwrap();
        let dense = Dense::new(60, 2, (0..120).map(|n| n as f32 * 0.01).collect::<Vec<_>>()).unwrap();
        let x = Matrix::new(x.sparse().clone(), dense, 1).unwrap();
        let wide = found.beside(&x, &found.scores(&x, &run)).unwrap();
        assert_eq!((wide.cols(), wide.negative()), (x.cols() + 2, 1));
        let weights = Dense::new(11, 2, (0..22).map(|n| (n as f32 * 0.37).sin()).collect::<Vec<_>>()).unwrap();
        let linear = LinearModel::new(weights, vec![0.1, -0.2]).unwrap();
        let folded = found.folded(&linear, &x).unwrap();
        let (before, after) = (linear.scores(&wide, &run).unwrap(), folded.scores(&x, &run).unwrap());
        for (a, b) in before.values().iter().zip(after.values()) {
            assert!((a - b).abs() < 1e-4, "{a} {b}");
        }
    }
}
