//! Which documents to label next, with a reason for each.
//!
//! Few labels go furthest on documents that stand for many others. Documents are clustered by k-means in `lsi(100) | normalize`
//! with as many clusters as there will be labels; the largest clusters without a label come first, and of each the document of
//! least mean distance from its 20 nearest. Once there are about ten labels a class, half of a batch goes to documents
//! about which a classifier wavers most: those of the smallest margin between its two best classes.
//!
//! What does not depend on labels is made once ([`SuggestParams::prepare`], or [`SuggestParams::prepare_matrix`] where documents are
//! represented already): the representation, up to 1000 small groups of documents, how densely each document is surrounded. A batch ([`Suggester::next`]) then clusters the centres of the groups, each
//! weighing as much as it has documents, so that asking again and again costs O(groups · labels · rank) and a look at every
//! document, whatever their number. Preparing costs O(documents · groups · rank).
//!
//! References: Nguyen and Smeulders (2004), "Active learning using pre-clustering"; Lewis and Gale (1994), "A sequential
//! algorithm for training text classifiers". Where we differ: clusters are made anew as labels grow in number, and of the documents that
//! a classifier wavers about no two come from one small group, so that a batch is not fifty copies of one question.
//!
//! ```
//! use corpuscle::{Run, corpus::{self, Labels}, experiment::SuggestParams, text::WordsParams};
//! let run = Run::new(42, 0)?;
//! let texts: Vec<String> = corpus::demo()?.train.into_iter().map(|document| document.text).collect();
//! let tokens = WordsParams::default().tokenize(&texts, &run)?;
//! let suggester = SuggestParams::default().prepare(&tokens, &run)?;
//! // No document has a label yet; later calls are given those that have one by then.
//! let batch = suggester.next(&Labels::none(texts.len()), None, 5, &run)?;
//! assert_eq!(batch.len(), 5);
//! assert!(batch[0].reason.to_string().starts_with("stands for a group of "));
//! # Ok::<(), corpuscle::Error>(())
//! ```

mod doubt;
mod groups;
mod reason;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use self::groups::Groups;
use self::reason::Terms;
use crate::classify::{Classifier, ClassifierModel, SvmParams};
use crate::corpus::Labels;
use crate::matrix::Matrix;
use crate::project::{LsiParams, NormalizeParams, Projector, Target};
use crate::text::Tokens;
use crate::vectorize::{Bound, CountsParams, TfidfParams};
use crate::words::{Kmeans, KmeansParams};
use crate::{Error, Result, Run};

pub use doubt::Doubt;
pub use reason::{Reason, Suggestion};

/// From so many documents on, terms of one document alone are left out.
const MANY: usize = 100;
/// Most steps of the clustering of groups.
const STEPS: usize = 30;
/// Starts of that clustering, of which the best counts. Among few clusters one bad start costs a whole topic its label; among
/// more than [`FEW`] it costs little, and starts cost time.
const STARTS: u64 = 4;
const FEW: usize = 64;

/// How documents to label are found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SuggestParams {
    /// Dimensions that documents are clustered in.
    pub rank: usize,
    /// Most small groups that documents are gathered in beforehand.
    pub groups: usize,
    /// How many of a document's nearest say how densely it is surrounded.
    pub neighbours: usize,
    /// Labels a class from which on half of a batch goes to documents that a classifier wavers about.
    pub labels_per_class: usize,
    /// Words shown of a group.
    pub words: usize,
}

impl Default for SuggestParams {
    fn default() -> Self {
        SuggestParams { rank: 100, groups: 1000, neighbours: 20, labels_per_class: 10, words: 3 }
    }
}

/// Documents prepared for any number of batches.
#[derive(Debug)]
pub struct Suggester {
    params: SuggestParams,
    terms: Terms,
    /// tf-idf beside its LSI dimensions, both of length 1.
    x: Matrix,
    groups: Groups,
}

impl SuggestParams {
    /// Checks every value; the error names the one out of range.
    pub fn check(&self) -> Result<()> {
        for (name, value, most) in
            [("rank", self.rank, 20_000), ("groups", self.groups, 1 << 16), ("neighbours", self.neighbours, 1000)]
        {
            if value == 0 || value > most {
                return Err(Error::parameter("suggest", name, value, format!("must be from 1 to {most}")));
            }
        }
        Ok(())
    }

    /// Represents and groups documents, whose labels have no part in it.
    pub fn prepare(&self, tokens: &Tokens, run: &Run) -> Result<Suggester> {
        self.check()?;
        let quiet = run.quiet();
        let min_df = Bound::Count(if tokens.n_documents() < MANY { 1 } else { 2 });
        let tfidf = TfidfParams {
            counts: CountsParams { min_df, ..CountsParams::default() },
            sublinear: true,
            ..TfidfParams::default()
        };
        let (model, sparse) = run.stage("represent", None, || tfidf.fit(tokens, &quiet))?;
        let sparse = Matrix::from(sparse);
        let none = Labels::none(tokens.n_documents());
        let lsi = LsiParams { rank: self.rank, ..LsiParams::default() };
        let (_, z) = run.stage("lsi", None, || lsi.fit(&sparse, &Target::new(&none), &quiet))?;
        let (_, z) = NormalizeParams {}.fit(&z, &Target::new(&none), &quiet)?;
        self.prepare_matrix(&sparse.beside(&z)?, model.feature_names(), run)
    }

    /// Groups documents that are represented already: dense columns of length 1, or 0 for a document that is never asked about,
    /// beside sparse ones, one for each of `names`. Arrays are shared with `x`, not copied.
    pub fn prepare_matrix(&self, x: &Matrix, names: Vec<String>, run: &Run) -> Result<Suggester> {
        self.check()?;
        if names.len() != x.sparse().cols() {
            let (expected, found) = (x.sparse().cols(), names.len());
            return Err(Error::Shape { what: "names of the sparse columns", expected, found });
        }
        let groups = run.stage("group", None, || Groups::of(x.dense(), self, &run.quiet()))?;
        Ok(Suggester { params: self.clone(), terms: Terms::of(names, x.sparse()), x: x.clone(), groups })
    }

    /// Whether a model that has learnt from so many labels can be asked what it wavers about.
    pub fn is_enough(&self, labelled: usize, classes: usize) -> bool {
        classes > 1 && labelled >= self.labels_per_class * classes
    }
}

impl Suggester {
    /// How many documents there are.
    pub fn len(&self) -> usize {
        self.x.rows()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The next `count` documents to label, each with its reason. `labels` are those there are by now, for all documents in
    /// order; `doubt` is what a model says of them, and without it a linear SVM learns from the labels as soon as they are
    /// enough. Documents without a word that another has are never among them, so there may be fewer.
    pub fn next(&self, labels: &Labels, doubt: Option<&Doubt>, count: usize, run: &Run) -> Result<Vec<Suggestion>> {
        self.next_without(&[], labels, doubt, count, run)
    }

    /// The same without rows that were skipped: asked about already, though they have no label.
    pub fn next_without(
        &self,
        skipped: &[usize],
        labels: &Labels,
        doubt: Option<&Doubt>,
        count: usize,
        run: &Run,
    ) -> Result<Vec<Suggestion>> {
        if labels.len() != self.len() {
            return Err(Error::Shape { what: "labels of the documents", expected: self.len(), found: labels.len() });
        }
        let own = if doubt.is_none() { self.own_doubt(labels, run)? } else { None };
        let doubt = doubt.or(own.as_ref());
        let mut taken: Vec<bool> = (0..self.len()).map(|row| labels.of(row).is_some()).collect();
        for &row in skipped {
            *taken.get_mut(row).ok_or_else(|| Error::data(format!("there is no row {row} to skip")))? = true;
        }
        let mut wavered_about = Vec::new();
        if let Some(doubt) = doubt {
            if doubt.len() != self.len() {
                return Err(Error::Shape {
                    what: "documents that a model was asked about",
                    expected: self.len(),
                    found: doubt.len(),
                });
            }
            wavered_about = self.wavering(doubt, count / 2, &mut taken);
        }
        let typical = self.typical(count - wavered_about.len(), &mut taken, run)?;
        Ok(alternate(typical, wavered_about))
    }

    /// What a linear SVM says that learns from the labels, when they are enough.
    fn own_doubt(&self, labels: &Labels, run: &Run) -> Result<Option<Doubt>> {
        let classes = labels.class_counts().iter().filter(|&&count| count > 0).count();
        let labelled = labels.labelled_rows().len();
        if !self.params.is_enough(labelled, classes) {
            return Ok(None);
        }
        let quiet = run.quiet();
        let model = SvmParams::default().fit(&self.x, &Target::new(labels), &quiet)?;
        let scores = model.scores(&self.x, &quiet)?;
        Ok(Some(Doubt::of_scores(labels.classes(), &scores, labels.is_multi_label())?))
    }

    /// The documents of the smallest margins, one of a small group as long as there are others.
    fn wavering(&self, doubt: &Doubt, count: usize, taken: &mut [bool]) -> Vec<Suggestion> {
        let mut order: Vec<usize> =
            (0..self.len()).filter(|&row| !taken[row] && self.groups.of_row(row).is_some()).collect();
        order.sort_by(|&a, &b| doubt.margin(a).total_cmp(&doubt.margin(b)).then(a.cmp(&b)));
        let mut asked = vec![false; self.groups.len()];
        let mut found = Vec::with_capacity(count);
        for once_a_group in [true, false] {
            for &row in &order {
                if found.len() == count {
                    return found;
                }
                let group = self.groups.of_row(row).unwrap_or(0) as usize;
                if taken[row] || (once_a_group && asked[group]) {
                    continue;
                }
                (taken[row], asked[group]) = (true, true);
                found.push(Suggestion { row, reason: doubt.reason(row) });
            }
        }
        found
    }

    /// The documents that stand for the largest clusters without a label. When every cluster has one, those with the most documents a
    /// label.
    fn typical(&self, count: usize, taken: &mut [bool], run: &Run) -> Result<Vec<Suggestion>> {
        let asked = taken.iter().filter(|&&taken| taken).count();
        let k = (asked + count).min(self.groups.len());
        if k == 0 || count == 0 {
            return Ok(Vec::new());
        }
        let cluster_of_group = match k == self.groups.len() {
            true => (0..k as u32).collect(),
            false => self.cluster(k, run)?,
        };
        let mut clusters: Vec<Cluster> = vec![Cluster::default(); k];
        for (row, &taken) in taken.iter().enumerate() {
            let Some(group) = self.groups.of_row(row) else { continue };
            let cluster = &mut clusters[cluster_of_group[group as usize] as usize];
            cluster.rows.push(row);
            cluster.labels += usize::from(taken);
            cluster.free += usize::from(!taken);
        }
        let mut found = Vec::with_capacity(count);
        while found.len() < count {
            let open = clusters.iter_mut().filter(|cluster| cluster.free > 0);
            // The first of equals, so that the order never depends on anything but the documents.
            let Some(best) = open.reduce(|best, other| if other.comes_before(best) { other } else { best }) else {
                break;
            };
            let closest = |&&row: &&usize| (self.groups.distance(row), row);
            let free = best.rows.iter().filter(|&&row| !taken[row]);
            let Some(&row) =
                free.min_by(|a, b| closest(a).0.total_cmp(&closest(b).0).then(closest(a).1.cmp(&closest(b).1)))
            else {
                break;
            };
            let words = self.terms.heaviest(self.x.sparse(), &best.rows, self.params.words);
            let reason = Reason::Group { documents: best.rows.len(), labels: best.labels, words };
            found.push(Suggestion { row, reason });
            taken[row] = true;
            best.labels += 1;
            best.free -= 1;
        }
        Ok(found)
    }

    /// The cluster of each group.
    fn cluster(&self, k: usize, run: &Run) -> Result<Vec<u32>> {
        let params = KmeansParams { clusters: k, steps: STEPS, ..KmeansParams::default() };
        let starts = if k <= FEW { STARTS } else { 1 };
        let mut best = None::<Kmeans>;
        for start in 0..starts {
            let run = run.quiet().with_seed(run.seed().wrapping_add(start));
            let found = params.fit_weighted(self.groups.centres(), self.groups.sizes(), &run)?;
            if best.as_ref().is_none_or(|best| found.inertia < best.inertia) {
                best = Some(found);
            }
        }
        Ok(best.map(|best| best.clusters).unwrap_or_default())
    }
}

/// Documents clustered together.
#[derive(Debug, Clone, Default)]
struct Cluster {
    rows: Vec<usize>,
    /// How many of them have a label or are suggested.
    labels: usize,
    /// How many of them have not.
    free: usize,
}

impl Cluster {
    /// Whether a label here is worth more: no label yet, then more documents a label.
    fn comes_before(&self, other: &Cluster) -> bool {
        let worth = |cluster: &Cluster| (cluster.labels == 0, cluster.rows.len() as f64 / (1 + cluster.labels) as f64);
        worth(self) > worth(other)
    }
}

/// One of each in turn, so that whoever stops early has had both.
fn alternate(first: Vec<Suggestion>, second: Vec<Suggestion>) -> Vec<Suggestion> {
    let mut all = Vec::with_capacity(first.len() + second.len());
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    loop {
        let pair = [first.next(), second.next()];
        if pair.iter().all(Option::is_none) {
            return all;
        }
        all.extend(pair.into_iter().flatten());
    }
}
