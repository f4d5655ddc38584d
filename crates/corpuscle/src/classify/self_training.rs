//! Self-training: a classifier learns from its own decisions about unlabelled documents.
//!
//! **Aligned** ([`align_train`], the usual way) keeps the classes in proportion. In each round, with s the scores of the unlabelled
//! documents:
//!
//! 1. P = softmax(s / T), with the temperature T under which held-out labels are likeliest ([`temperature`]);
//! 2. five times p_ic ← p_ic · π_c / mean_i p_ic, rows brought back to 1, so that classes have the shares π_c = (n_c + α)/(n + αC) of the
//!    n labelled documents, by weight ([`prior`]); without any label, half way between equal shares and those decided so far;
//!    Where labels were not drawn by chance but one of every class was looked for ([`were_looked_for`]), those are left out of n_c and the first model's shares of the unlabelled documents stand for them;
//! 3. every document is given its likeliest class with the weight exp(−min(0, m_i − μ)² / (2 (σ/2)²)), m_i being its largest
//!    probability, μ and σ mean and deviation of those;
//! 4. a fit on the labelled documents, which keep half of the weight, and on those of each class it is surest of (whose likeliest class exceeds
//!    the second by most): a sixth of them in the first round, a sixth more in each, all in the sixth and last.
//!
//! Why the proportions: a classifier of few labels gives most documents to the classes whose words it knows best, and learning from that
//! makes it worse. Why the surest first: the first model is wrong about every third document, and what it is sure of teaches it about the
//! rest before they are taken in. Over five corpora and four draws of 100 labels, held-out training rows, bigrams beside LSI had 57.9 % with
//! everything taken in at once and α = 1, 59.6 with α as below, 61.5 with the surest first as well (`docs/RESULTS.md`).
//!
//! **Surest** ([`self_train`], as in earlier versions) takes in, over five rounds, 12 to 60 % of the documents given to each class, those
//! whose best score exceeds the second by most, with labelled documents keeping half of the weight too.
//!
//! Six fits and scorings after the first (the surest: five), every fit of a linear SVM beginning where the one before ended ([`Classifier::fit_from`](super::Classifier::fit_from)). Nothing is random; equally sure documents are taken in their order.
//!
//! References: Yarowsky, Unsupervised word sense disambiguation rivaling supervised methods, 1995; for aligned shares Berthelot
//! et al., ReMixMatch, 2020, and for the weights Chen et al., SoftMatch, 2023. We differ in aligning by repeated scaling, which reaches
//! the shares, where one division by a running mean does not, and in α: `ALGORITHMS.md` section 6 has α = 1, which takes it for true
//! that one class has 29 of 100 documents and another one because a draw of 100 has it so (`docs/RESULTS.md` has both).

use statrs::function::gamma::ln_gamma;

use crate::corpus::Labels;
use crate::matrix::{Dense, Matrix};
use crate::{Error, Result, Run};

/// Rounds after the first fit.
pub const ROUNDS: usize = 5;
/// The share of each class's unlabelled documents that the last round takes in.
const SHARE: f64 = 0.6;
/// Rounds of aligned self-training.
const ALIGNED_ROUNDS: usize = 6;
/// How often shares are brought to the prior in a round.
const ALIGNMENTS: usize = 5;
/// What counts of classes are smoothed by, at least and at most.
const LEAST_ALPHA: f64 = 0.3;
const MOST_ALPHA: f64 = 100.0;
/// How much likelier it must be, for each class, that its first label was looked for: a logarithm.
const LOOKED_FOR: f64 = 0.6;
/// Documents that weigh less than this are left out of a fit.
const LEAST_WEIGHT: f64 = 0.01;
/// The temperature of scores that nobody could try on held-out documents.
pub(super) const USUAL_TEMPERATURE: f64 = 0.3;

/// How a classifier learns from its own decisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SelfTraining {
    /// Not at all.
    #[default]
    Off,
    /// From all of them, with classes in the proportions of the labels.
    Aligned,
    /// From the surest of each class.
    Surest,
}

impl crate::params::Value for SelfTraining {
    /// `true` is the usual way.
    fn read(text: &str) -> Option<Self> {
        match text {
            "false" => Some(SelfTraining::Off),
            "true" | "aligned" => Some(SelfTraining::Aligned),
            "surest" => Some(SelfTraining::Surest),
            _ => None,
        }
    }

    fn show(&self) -> String {
        match self {
            SelfTraining::Off => "false",
            SelfTraining::Aligned => "aligned",
            SelfTraining::Surest => "surest",
        }
        .to_string()
    }

    fn form() -> crate::params::Form {
        crate::params::Form::of(crate::params::Kind::Flag).or("aligned").or("surest")
    }
}

fn check(x: &Matrix, labels: &Labels) -> Result<()> {
    if labels.is_multi_label() {
        return Err(Error::data(
            "self_training needs exactly one label per labelled document, but some have none or several; leave it out",
        ));
    }
    if labels.len() != x.rows() {
        return Err(Error::Shape { what: "labels", expected: x.rows(), found: labels.len() });
    }
    Ok(())
}

/// What unlabelled documents teach by the aligned rule: who they are, and the shares their classes are brought to.
#[derive(Debug)]
pub(crate) struct Alignment<'a> {
    labels: &'a Labels,
    weights: Option<&'a [f32]>,
    open: Vec<usize>,
    /// The weight of all labelled documents.
    labelled: f64,
    /// Labelled documents of each class, by weight.
    counts: Vec<f64>,
    prior: Vec<f64>,
}

/// Labels and weights of all documents after a round, and how many unlabelled ones are learnt from.
#[derive(Debug)]
pub(crate) struct Taught {
    pub(crate) labels: Labels,
    pub(crate) weights: Vec<f32>,
    taken: usize,
}

impl<'a> Alignment<'a> {
    pub(crate) fn new(labels: &'a Labels, weights: Option<&'a [f32]>) -> Self {
        let open = (0..labels.len()).filter(|&row| labels.of(row).is_none()).collect();
        let rows = labels.labelled_rows();
        let weight = |row: usize| weights.map_or(1.0, |weights| f64::from(weights[row]));
        let labelled = rows.iter().map(|&row| weight(row)).sum::<f64>();
        // What a class weighs in all, as a number of documents: a class that counts more is to be decided for more often.
        let mut counts = vec![0f64; labels.n_classes()];
        for &row in &rows {
            let share = weight(row) * rows.len() as f64 / labelled.max(f64::MIN_POSITIVE);
            labels.of(row).unwrap_or(&[]).iter().for_each(|&class| counts[class as usize] += share);
        }
        let prior = prior(&counts);
        Alignment { labels, weights, open, labelled, counts, prior }
    }

    /// Looks at the first scores of the unlabelled documents: where the labels are not drawn by chance, the first one of each class was
    /// looked for, and says nothing of shares ([`were_looked_for`]). What it said is then said by the scores.
    pub(crate) fn meet(&mut self, scores: &Dense, temperature: f64) {
        let classes = self.counts.len();
        let means = means(&softmax(scores, temperature), classes);
        if self.weights.is_none() && were_looked_for(&self.counts, &means) {
            let n: f64 = self.counts.iter().sum();
            let share = |(&count, mean): (&f64, &f64)| (count - 1.0 + classes as f64 * mean) / n;
            self.prior = self.counts.iter().zip(&means).map(share).collect();
        }
    }

    /// The rows of the unlabelled documents.
    pub(crate) fn unlabelled(&self) -> &[usize] {
        &self.open
    }

    /// What the scores of the unlabelled documents teach, when of each class the `share` is taken in that it is surest of; `None` when
    /// that is nothing.
    pub(crate) fn taught(&self, scores: &Dense, temperature: f64, share: f64) -> Option<Taught> {
        let (rows, classes) = (self.labels.len(), self.labels.n_classes());
        let mut shares = softmax(scores, temperature);
        align(&mut shares, classes, &self.prior, self.open.len() < rows);
        let sure = sureness(&shares, classes);
        let ratios = shares.chunks_exact(classes.max(1)).map(|row| row.iter().map(|share| share.ln()));
        let mut taken = Vec::with_capacity(self.open.len());
        let mut weights: Vec<f64> =
            (0..rows).map(|row| self.weights.map_or(1.0, |weights| f64::from(weights[row]))).collect();
        let mut weight = 0.0;
        for (place, class) in surest(ratios, classes, share) {
            let (row, sure) = (self.open[place], sure[place]);
            if sure >= LEAST_WEIGHT {
                taken.push((row, class));
                weights[row] *= sure;
                weight += weights[row];
            }
        }
        if weight <= 0.0 {
            return None;
        }
        let labelled = self.labelled;
        let factors = match labelled > 0.0 {
            true => [(labelled + weight) / (2.0 * labelled), (labelled + weight) / (2.0 * weight)],
            // Nobody has half of the weight where nobody has a label.
            false => [1.0, taken.len() as f64 / weight],
        };
        let factor = |row: usize| factors[usize::from(self.labels.of(row).is_none())];
        let weights = weights.iter().enumerate().map(|(row, weight)| (weight * factor(row)) as f32).collect();
        Some(Taught { labels: self.labels.with(&taken), weights, taken: taken.len() })
    }
}

/// Goes on from `first`, a model of the labelled documents, by the aligned rule: `fit(x, labels, weights, last)` fits anew, the last
/// time with `last` set, and `scores(model, x)` decides. Gives the last model and how many documents each round learnt from; none when
/// every document is labelled.
pub fn align_train<M>(
    x: &Matrix,
    labels: &Labels,
    weights: Option<&[f32]>,
    (first, temperature): (M, f64),
    run: &Run,
    mut fit: impl FnMut(&Matrix, &Labels, Option<&[f32]>, bool) -> Result<M>,
    scores: impl Fn(&M, &Matrix) -> Result<Dense>,
) -> Result<(M, Vec<usize>)> {
    check(x, labels)?;
    let mut alignment = Alignment::new(labels, weights);
    if alignment.open.is_empty() {
        return Ok((first, Vec::new()));
    }
    let unlabelled = x.select_rows(&alignment.open);
    let (mut model, mut counts) = (first, Vec::with_capacity(ALIGNED_ROUNDS));
    for round in 1..=ALIGNED_ROUNDS {
        run.check()?;
        let share = round as f64 / ALIGNED_ROUNDS as f64;
        let scores = scores(&model, &unlabelled)?;
        if round == 1 {
            alignment.meet(&scores, temperature);
        }
        let Some(taught) = alignment.taught(&scores, temperature, share) else {
            counts.push(0);
            break;
        };
        counts.push(taught.taken);
        model = fit(x, &taught.labels, Some(&taught.weights), round == ALIGNED_ROUNDS)?;
    }
    Ok((model, counts))
}

/// The shares of classes of which so many documents were drawn: (n_c + α)/(n + αC), the mean of what they can be when before the draw
/// all shares are as likely as in a symmetric Dirichlet distribution of the α, from 0.3 to 100, under which these counts are
/// likeliest (Good, The Estimation of Probabilities, 1965). Counts that differ no more than by chance make all shares equal; those of classes
/// that truly differ stay nearly what they are. O(classes).
fn prior(counts: &[f64]) -> Vec<f64> {
    let (n, classes) = (counts.iter().sum::<f64>(), counts.len() as f64);
    let likelihood = |alpha: f64| -> f64 {
        // A class without a label tells nothing of α by itself: its part is 0.
        let of = |&count: &f64| ln_gamma(count + alpha) - ln_gamma(alpha);
        ln_gamma(classes * alpha) - ln_gamma(n + classes * alpha)
            + counts.iter().filter(|&&count| count > 0.0).map(of).sum::<f64>()
    };
    // It rises, then falls (Levin and Reeds, 1977).
    let (mut low, mut high) = (LEAST_ALPHA.ln(), MOST_ALPHA.ln());
    for _ in 0..40 {
        let (left, right) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if likelihood(left.exp()) >= likelihood(right.exp()) { high = right } else { low = left }
    }
    let alpha = ((low + high) / 2.0).exp();
    counts.iter().map(|&count| (count + alpha) / (n + alpha * classes)).collect()
}

/// Whether one document of every class was looked for and only the others were drawn by chance, rather than all of them. The likelihoods of counts n_c
/// of n documents under the shares s_c, M(n_c; s) = n!/Π n_c! · Π s_c^{n_c}, are compared: ln(M(n_c − 1; s)/M(n_c; s)) = Σ ln(n_c/s_c) − ln(n!/(n − C)!) must be above
/// 0.6 for each of the C classes. Of labels drawn by chance it is 0 to 0.5 (classes without any are not known, and those with one have more than their share), of 100 labels of which 47 were looked
/// for 0.85 to 1 (`docs/RESULTS.md`). A class that is known and has no label was not looked for.
fn were_looked_for(counts: &[f64], shares: &[f64]) -> bool {
    let (n, classes) = (counts.iter().sum::<f64>(), counts.len() as f64);
    if counts.iter().any(|&count| count < 1.0) || n <= classes {
        return false;
    }
    let each: f64 = counts.iter().zip(shares).map(|(count, share)| (count / share.max(f64::MIN_POSITIVE)).ln()).sum();
    each + ln_gamma(n - classes + 1.0) - ln_gamma(n + 1.0) > LOOKED_FOR * classes
}

/// softmax(scores / temperature), row by row.
fn softmax(scores: &Dense, temperature: f64) -> Vec<f64> {
    let mut shares = Vec::with_capacity(scores.values().len());
    for row in 0..scores.rows() {
        let scaled = scores.row(row).iter().map(|&score| f64::from(score) / temperature);
        let most = scaled.clone().fold(f64::NEG_INFINITY, f64::max);
        let begin = shares.len();
        shares.extend(scaled.map(|score| (score - most).exp()));
        let sum: f64 = shares[begin..].iter().sum();
        shares[begin..].iter_mut().for_each(|share| *share /= sum);
    }
    shares
}

/// The mean of each column.
fn means(shares: &[f64], classes: usize) -> Vec<f64> {
    let rows = (shares.len() / classes.max(1)).max(1) as f64;
    let mut means = vec![0f64; classes];
    for row in shares.chunks_exact(classes.max(1)) {
        means.iter_mut().zip(row).for_each(|(mean, share)| *mean += share / rows);
    }
    means
}

/// Brings the mean of each column to the prior; where that is not known from labels, half way there.
fn align(shares: &mut [f64], classes: usize, prior: &[f64], is_known: bool) {
    let means = |shares: &[f64]| means(shares, classes);
    let goal: Vec<f64> = match is_known {
        true => prior.to_vec(),
        false => means(shares).iter().zip(prior).map(|(mean, prior)| (mean + prior) / 2.0).collect(),
    };
    for _ in 0..ALIGNMENTS {
        let factors: Vec<f64> =
            means(shares).iter().zip(&goal).map(|(mean, goal)| goal / mean.max(f64::MIN_POSITIVE.sqrt())).collect();
        for row in shares.chunks_exact_mut(classes) {
            row.iter_mut().zip(&factors).for_each(|(share, factor)| *share *= factor);
            let sum: f64 = row.iter().sum();
            if sum > 0.0 {
                row.iter_mut().for_each(|share| *share /= sum);
            }
        }
    }
}

/// What the decision about every row counts: less, the smaller the share of its likeliest class.
fn sureness(shares: &[f64], classes: usize) -> Vec<f64> {
    let largest: Vec<f64> = shares
        .chunks_exact(classes.max(1))
        .map(|row| row.iter().fold(0.0, |most: f64, &share| most.max(share)))
        .collect();
    let n = largest.len().max(1) as f64;
    let mean = largest.iter().sum::<f64>() / n;
    let variance = largest.iter().map(|share| (share - mean) * (share - mean)).sum::<f64>() / n;
    let half = (variance.sqrt() / 2.0).max(1e-9);
    largest.iter().map(|share| (-((share - mean).min(0.0)).powi(2) / (2.0 * half * half)).exp()).collect()
}

/// The temperature under which the labels of rows with these scores are likeliest, from 0.02 to 5; `None` without labelled rows.
pub(crate) fn temperature(scores: &Dense, labels: &Labels) -> Option<f64> {
    let rows: Vec<(usize, u32)> = (0..labels.len()).filter_map(|row| Some((row, *labels.of(row)?.first()?))).collect();
    if rows.is_empty() {
        return None;
    }
    let loss = |temperature: f64| -> f64 {
        let of = |&(row, class): &(usize, u32)| {
            let scaled = scores.row(row).iter().map(|&score| f64::from(score) / temperature);
            let most = scaled.clone().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = scaled.map(|score| (score - most).exp()).sum();
            most + sum.ln() - f64::from(scores.row(row)[class as usize]) / temperature
        };
        rows.iter().map(of).sum()
    };
    // The loss falls, then rises, in 1/T: a grid finds the valley, thirds of it the place.
    let (mut low, mut high) = (0.02f64.ln(), 5f64.ln());
    for _ in 0..40 {
        let (left, right) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if loss(left.exp()) <= loss(right.exp()) { high = right } else { low = left }
    }
    Some(((low + high) / 2.0).exp())
}

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
    check(x, labels)?;
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
        let scores = scores(&model, &unlabelled)?;
        let rows = (0..scores.rows()).map(|row| scores.row(row).iter().map(|&score| f64::from(score)));
        let taken = surest(rows, scores.cols(), SHARE * round as f64 / ROUNDS as f64);
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

/// Of each class's documents by best score the share it is surest of (whose best score exceeds the second by most), at least one, with
/// that class, ascending.
fn surest<Row: Iterator<Item = f64>>(rows: impl Iterator<Item = Row>, classes: usize, share: f64) -> Vec<(usize, u32)> {
    let mut by_class: Vec<Vec<(f64, usize)>> = vec![Vec::new(); classes];
    for (place, row) in rows.enumerate() {
        let (mut best, mut second, mut class) = (f64::NEG_INFINITY, f64::NEG_INFINITY, None);
        for (number, score) in row.enumerate() {
            if score > best {
                (second, best, class) = (best, score, Some(number));
            } else {
                second = second.max(score);
            }
        }
        if let Some(class) = class {
            by_class[class].push((best - second, place));
        }
    }
    let mut taken = Vec::new();
    for (class, mut documents) in (0u32..).zip(by_class) {
        documents.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        // A share such as 0.6 of 5 may come out a little above 3.
        let count = (share * documents.len() as f64 - 1e-9).ceil() as usize;
        taken.extend(documents[..count.min(documents.len())].iter().map(|&(_, place)| (place, class)));
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
        let surest = |scores: &Dense, share: f64| {
            let rows = (0..scores.rows()).map(|row| scores.row(row).iter().map(|&score| f64::from(score)));
            surest(rows, scores.cols(), share)
        };
        assert_eq!(surest(&scores, 0.5), [(0, 0), (3, 1), (4, 1)]);
        // One of each at least; a third of three is one of them.
        assert_eq!(surest(&scores, 1.0 / 3.0), [(0, 0), (3, 1)]);
        assert_eq!(surest(&scores, 1.0).len(), 5);
        assert!(surest(&Dense::zeros(3, 0), 0.5).is_empty());
    }

    #[test]
    fn shares_are_brought_to_the_prior() {
        // Everything leans to the first class, though half of the labels are of the second.
        let mut shares = vec![0.9, 0.1, 0.8, 0.2, 0.7, 0.3, 0.6, 0.4];
        align(&mut shares, 2, &[0.5, 0.5], true);
        let first: f64 = shares.chunks(2).map(|row| row[0]).sum::<f64>() / 4.0;
        assert!((first - 0.5).abs() < 0.02, "{shares:?}");
        let sure = sureness(&shares, 2);
        let decided = surest(shares.chunks(2).map(|row| row.iter().copied()), 2, 1.0);
        assert_eq!(decided, [(0, 0), (1, 0), (2, 1), (3, 1)]);
        assert!(sure.iter().all(|&weight| weight > 0.0 && weight <= 1.0));
        // Half way where no label tells the shares.
        let mut shares = vec![0.9, 0.1, 0.9, 0.1];
        align(&mut shares, 2, &[0.5, 0.5], false);
        assert!((shares[0] - 0.7).abs() < 1e-6, "{shares:?}");
    }

    #[test]
    fn labels_that_were_looked_for_say_nothing_of_shares() {
        // Two classes have nine tenths of the pile, twenty the rest.
        let pile: Vec<f64> = (0..22).map(|class| if class < 2 { 0.45 } else { 0.005 }).collect();
        let looked_for: Vec<f64> = (0..22).map(|class| if class < 2 { 20.0 } else { 1.0 }).collect();
        assert!(were_looked_for(&looked_for, &pile));
        // By chance four of the twenty would be there, and the rest not known.
        let drawn = [45.0, 43.0, 1.0, 1.0, 1.0, 2.0];
        let of_those = [0.45, 0.45, 0.025, 0.025, 0.025, 0.025];
        assert!(!were_looked_for(&drawn, &of_those));
        // Equal classes, whether five of each were looked for or not, in a pile that is decided unevenly.
        let uneven: Vec<f64> = (0..20).map(|class| if class % 2 == 0 { 0.07 } else { 0.03 }).collect();
        assert!(!were_looked_for(&[5.0; 20], &uneven));
        assert!(!were_looked_for(&[1.0; 20], &uneven) && !were_looked_for(&[3.0, 0.0], &[0.5, 0.5]));
        let labels = Labels::from_single((0..72).map(|row| match row {
            0..20 => Some("a"),
            20..40 => Some("b"),
            40..60 => Some(["c", "d", "e", "f", "g", "h", "i", "j", "k", "l"][row % 10]),
            _ => None,
        }));
        let mut alignment = Alignment::new(&labels, None);
        let before = alignment.prior.clone();
        let sure = Dense::from_rows(&[[9.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]; 12]);
        alignment.meet(&sure, 1.0);
        assert_ne!(alignment.prior, before);
        assert!(
            (alignment.prior.iter().sum::<f64>() - 1.0).abs() < 1e-9 && alignment.prior[0] > 0.4,
            "{:?}",
            alignment.prior
        );
        assert!(alignment.prior.iter().all(|&share| share > 0.0));
    }

    #[test]
    fn shares_that_differ_by_chance_are_equal() {
        // As even as a draw of 100 is: all shares alike, within a tenth.
        let prior = |counts: &[usize]| prior(&counts.iter().map(|&count| count as f64).collect::<Vec<_>>());
        let even = prior(&[12, 9, 11, 10, 8, 13, 10, 7, 11, 9]);
        assert!(even.iter().all(|share| (share - 0.1).abs() < 0.01), "{even:?}");
        // Classes that truly differ keep what they have; one that was never drawn gets something.
        let uneven = prior(&[700, 200, 60, 20, 10, 5, 3, 2, 0]);
        assert!((uneven[0] - 0.7).abs() < 0.01 && uneven[8] > 0.0 && uneven[8] < 0.001, "{uneven:?}");
        let halfway = prior(&[29, 20, 14, 13, 9, 9, 5, 1]);
        assert!(halfway[0] > 0.2 && halfway[0] < 0.29 && halfway[7] > 0.02 && halfway[7] < 0.07, "{halfway:?}");
        for counts in [&[0usize, 0, 0, 0][..], &[5], &[], &[1, 0], &[usize::from(u16::MAX); 300]] {
            let shares = prior(counts);
            assert!(shares.iter().all(|share| *share > 0.0));
            assert!(counts.is_empty() || (shares.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{shares:?}");
        }
        assert_eq!(prior(&[0, 0, 0, 0]), [0.25; 4]);
    }

    #[test]
    fn a_class_that_weighs_more_has_a_larger_share() {
        let labels = Labels::from_single((0..40).map(|row| (row < 30).then_some(["a", "b", "c"][row % 3])));
        let share = |weights: Option<&[f32]>| Alignment::new(&labels, weights).prior[0];
        let weights = |of: f32| -> Vec<f32> { (0..40).map(|row| if row % 3 == 0 { of } else { 1.0 }).collect() };
        assert!((share(None) - 1.0 / 3.0).abs() < 1e-9);
        assert!(share(Some(&weights(5.0))) > 0.5 && share(Some(&weights(0.0))) < 0.1);
        // Only what weights are to each other counts.
        let tenth: Vec<f32> = weights(5.0).iter().map(|weight| weight / 10.0).collect();
        assert!((share(Some(&tenth)) - share(Some(&weights(5.0)))).abs() < 1e-4);
        assert!(share(Some(&[0.0; 40])).is_finite());
    }

    #[test]
    fn the_temperature_is_where_labels_are_likeliest() {
        let labels = Labels::from_single(["a", "b", "a", "b"].map(Some));
        // One in four is wrong, so the likeliest share of the right one is 3/4: e^(1/T) = 3.
        let scores = Dense::from_rows(&[[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]);
        let found = temperature(&scores, &labels).unwrap();
        assert!((found - 1.0 / 3f64.ln()).abs() < 1e-3, "{found}");
        assert_eq!(temperature(&Dense::zeros(1, 2), &Labels::none(1)), None);
    }

    #[test]
    fn aligned_decisions_teach_words_too() {
        let (x, labels, truth) = topics();
        let run = Run::new(1, 2).unwrap();
        let params = SvmParams::default();
        let fit = |x: &Matrix, labels: &Labels, weights: Option<&[f32]>, _: bool| {
            params.fit(x, &Target::new(labels).with_weights(weights), &run)
        };
        let first = fit(&x, &labels, None, false).unwrap();
        let scores = |model: &crate::classify::SvmModel, x: &Matrix| model.scores(x, &run);
        let (model, taken) = align_train(&x, &labels, None, (first, 0.3), &run, fit, scores).unwrap();
        assert_eq!(taken.len(), ALIGNED_ROUNDS);
        assert!(taken.is_sorted() && taken[0] < 20 && taken[5] > 40, "{taken:?}");
        let scores = model.scores(&x, &run).unwrap();
        let right = (0..60).filter(|&row| (scores.row(row)[1] > scores.row(row)[0]) == (truth[row] == 1)).count();
        assert!(right >= 55, "{right} of 60");
    }
}
