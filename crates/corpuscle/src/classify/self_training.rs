//! Self-training: a classifier learns from its own surest decisions about unlabelled documents.
//!
//! The classifier is fitted on the labelled documents. Then, for five rounds, it decides about every unlabelled
//! document; of the documents it gives to a class the surest are taken in with that class, 12 % in the first round and
//! 12 % more in each, up to 60 %; and it is fitted anew on labelled and taken documents together. How sure it is of a
//! document is by how much the best score exceeds the second. The share is taken class by class, so that a class whose
//! scores run high cannot crowd out the others. Labelled documents keep half of the total weight, however many are
//! taken in: each of n labelled and m taken documents counts as (n + m)/2n and (n + m)/2m.
//!
//! Six fits and five times scoring. Nothing is random; equally sure documents are taken in their order.
//!
//! Reference: Yarowsky, Unsupervised word sense disambiguation rivaling supervised methods, 1995. We differ in taking a
//! share of every class and not all above a threshold, which would need probabilities.

use crate::corpus::Labels;
use crate::matrix::{Dense, Matrix};
use crate::{Error, Result, Run};

/// Rounds after the first fit.
pub const ROUNDS: usize = 5;
/// The share of each class's unlabelled documents that the last round takes in.
const SHARE: f64 = 0.6;

/// Fits with `fit(x, labels, weights, round)`, round 0 on the labelled documents alone, and decides with
/// `scores(model, x)`. Gives the last model and how many documents each round took in; none when every document is
/// labelled.
pub fn self_train<M>(
    x: &Matrix,
    labels: &Labels,
    weights: Option<&[f32]>,
    run: &Run,
    mut fit: impl FnMut(&Matrix, &Labels, Option<&[f32]>, usize) -> Result<M>,
    scores: impl Fn(&M, &Matrix) -> Result<Dense>,
) -> Result<(M, Vec<usize>)> {
    if labels.is_multi_label() {
        return Err(Error::data(
            "self_training needs exactly one label per labelled document, but some have none or several; leave it out",
        ));
    }
    if labels.len() != x.rows() {
        return Err(Error::Shape { what: "labels", expected: x.rows(), found: labels.len() });
    }
    let mut model = fit(x, labels, weights, 0)?;
    let open: Vec<usize> = (0..labels.len()).filter(|&row| labels.of(row).is_none()).collect();
    if open.is_empty() {
        return Ok((model, Vec::new()));
    }
    let unlabelled = x.select_rows(&open);
    let own = |row: usize| weights.map_or(1.0, |weights| weights[row]);
    let labelled: f64 = labels.labelled_rows().iter().map(|&row| f64::from(own(row))).sum();
    let mut counts = Vec::with_capacity(ROUNDS);
    for round in 1..=ROUNDS {
        run.check()?;
        let taken = surest(&scores(&model, &unlabelled)?, SHARE * round as f64 / ROUNDS as f64);
        let taken: Vec<(usize, u32)> = taken.into_iter().map(|(place, class)| (open[place], class)).collect();
        counts.push(taken.len());
        let weight: f64 = taken.iter().map(|&(row, _)| f64::from(own(row))).sum();
        if weight <= 0.0 {
            continue;
        }
        let total = labelled + weight;
        let factors = [total / (2.0 * labelled), total / (2.0 * weight)];
        let widened = labels.with(&taken);
        let weights: Vec<f32> = (0..x.rows())
            .map(|row| (f64::from(own(row)) * factors[usize::from(labels.of(row).is_none())]) as f32)
            .collect();
        model = fit(x, &widened, Some(&weights), round)?;
    }
    Ok((model, counts))
}

/// Of each class's documents by best score the share it is surest of, with that class, ascending.
fn surest(scores: &Dense, share: f64) -> Vec<(usize, u32)> {
    let mut by_class: Vec<Vec<(f32, usize)>> = vec![Vec::new(); scores.cols()];
    for row in 0..scores.rows() {
        let (mut best, mut second, mut class) = (f32::NEG_INFINITY, f32::NEG_INFINITY, None);
        for (number, &score) in scores.row(row).iter().enumerate() {
            if score > best {
                (second, best, class) = (best, score, Some(number));
            } else {
                second = second.max(score);
            }
        }
        if let Some(class) = class {
            by_class[class].push((best - second, row));
        }
    }
    let mut taken = Vec::new();
    for (class, mut documents) in (0u32..).zip(by_class) {
        documents.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let count = (share * documents.len() as f64).round() as usize;
        taken.extend(documents[..count].iter().map(|&(_, row)| (row, class)));
    }
    taken.sort_unstable();
    taken
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::{Classifier, ClassifierModel, SvmParams};
    use crate::matrix::Csr;
    use crate::project::Target;

    /// Two topics of six words; documents hold three words each, the two labelled ones words that others lack.
    fn topics() -> (Matrix, Labels, Vec<u32>) {
        let mut rows = Vec::new();
        let mut truth = Vec::new();
        for document in 0..60u32 {
            let topic = document % 2;
            let mut words: Vec<u32> = (0..3).map(|k| topic * 6 + (document / 2 + k * (1 + document % 3)) % 6).collect();
            words.sort_unstable();
            words.dedup();
            rows.push(words.into_iter().map(|word| (word, 0.6)).collect());
            truth.push(topic);
        }
        let names = ["a", "b"];
        let labels = Labels::from_single((0..60).map(|row| (row < 2).then(|| names[truth[row] as usize])));
        (Matrix::from(Csr::from_rows(12, rows)), labels, truth)
    }

    #[test]
    fn unlabelled_documents_teach_words_the_labelled_ones_lack() {
        let (x, labels, truth) = topics();
        let run = Run::new(1, 2).unwrap();
        let params = SvmParams::default();
        let right = |scores: &Dense| {
            (0..60).filter(|&row| (scores.row(row)[1] > scores.row(row)[0]) == (truth[row] == 1)).count()
        };
        let mut weights_seen = Vec::new();
        let (model, taken) = self_train(
            &x,
            &labels,
            None,
            &run,
            |x, labels, weights, _| {
                weights_seen.push(weights.map(<[f32]>::to_vec));
                params.fit(x, &Target::new(labels).with_weights(weights), &run)
            },
            |model, x| model.scores(x, &run),
        )
        .unwrap();
        assert_eq!(taken.len(), ROUNDS);
        assert!(taken.windows(2).all(|pair| pair[0] <= pair[1]) && taken[4] >= 34 && taken[4] <= 36, "{taken:?}");
        let plain = params.fit(&x, &Target::new(&labels), &run).unwrap();
        assert!(right(&model.scores(&x, &run).unwrap()) >= right(&plain.scores(&x, &run).unwrap()));
        // The labelled two weigh as much as all that were taken in.
        let last = weights_seen[ROUNDS].as_ref().unwrap();
        let taken = taken[4] as f32;
        assert!((last[0] + last[1] - taken * last[2]).abs() < 1e-3, "{last:?}");
    }

    #[test]
    fn without_unlabelled_documents_it_is_one_plain_fit() {
        let (x, _, truth) = topics();
        let labels = Labels::from_ids(vec!["a".into(), "b".into()], &truth).unwrap();
        let run = Run::new(1, 1).unwrap();
        let mut fits = 0;
        let fit = |x: &Matrix, labels: &Labels, weights: Option<&[f32]>, _| {
            fits += 1;
            SvmParams::default().fit(x, &Target::new(labels).with_weights(weights), &run)
        };
        let (_, taken) = self_train(&x, &labels, None, &run, fit, |model, x| model.scores(x, &run)).unwrap();
        assert!(taken.is_empty() && fits == 1);
    }

    #[test]
    fn every_class_gives_its_surest() {
        let scores = Dense::from_rows(&[[3.0, 0.0], [2.0, 0.0], [0.0, 0.1], [0.0, 0.2], [0.0, 0.2]]);
        assert_eq!(surest(&scores, 0.5), [(0, 0), (3, 1), (4, 1)]);
        assert!(surest(&Dense::zeros(3, 0), 0.5).is_empty());
    }
}
