//! Fitted nearest neighbours: the documents, their labels and weights; votes, additions and the store.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::search::{Groups, Index};
use super::{KnnParams, Metric, NearDocument, Rest, Vote};
use crate::classify::{Classifier, ClassifierModel, check_weights};
use crate::corpus::Labels;
use crate::matrix::{Dense, Matrix, Row};
use crate::params::Params;
use crate::project::Target;
use crate::store::{StoreReader, StoreWriter};
use crate::{Error, Result, Run};

/// Keeps 1 / distance finite between a document and its copy; far above rounding for rows of length about 1.
const NEAR: f32 = 1e-6;

/// Labelled documents, ready to be searched.
#[derive(Debug, Clone)]
pub struct KnnModel {
    params: KnnParams,
    index: Index,
    classes: Vec<String>,
    multi: bool,
    /// Document `i` has the classes `ids[offsets[i]..offsets[i + 1]]`.
    offsets: Vec<u64>,
    ids: Vec<u32>,
    weights: Vec<f32>,
    /// The number of each document among all that were handed over, labelled or not.
    rows: Vec<u32>,
    /// How many were handed over.
    handed: u32,
}

/// The nearest documents of every query, best first.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbours {
    per_query: usize,
    rows: Vec<u32>,
    values: Vec<f32>,
}

impl Neighbours {
    /// How many neighbours each query has.
    pub fn per_query(&self) -> usize {
        self.per_query
    }

    /// How many queries there are (0 when no neighbour was to be found).
    pub fn len(&self) -> usize {
        self.rows.len().checked_div(self.per_query).unwrap_or(0)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// One query's neighbours: their row numbers among all documents handed to `fit` and then to `add`, and their
    /// cosines or distances.
    pub fn of(&self, query: usize) -> (&[u32], &[f32]) {
        let range = query * self.per_query..(query + 1) * self.per_query;
        (&self.rows[range.clone()], &self.values[range])
    }
}

/// What is stored as JSON beside the arrays.
#[derive(Serialize, Deserialize)]
struct Header {
    params: KnnParams,
    multi_label: bool,
    handed: u32,
}

impl Classifier for KnnParams {
    type Model = KnnModel;

    /// Keeps the labelled documents of positive weight, ready to be searched. O(stored values).
    fn fit(&self, x: &Matrix, target: &Target<'_>, run: &Run) -> Result<KnnModel> {
        self.check()?;
        let labels = target.labels();
        let mut model = KnnModel {
            index: Index::new(x.select_rows(&[]), self.metric, run)?,
            params: self.clone(),
            classes: labels.classes().to_vec(),
            multi: labels.is_multi_label(),
            offsets: vec![0],
            ids: Vec::new(),
            weights: Vec::new(),
            rows: Vec::new(),
            handed: 0,
        };
        model.add(x, labels, target.weights(), run)?;
        match model.rows.is_empty() {
            true => Err(Error::data("knn needs at least one labelled document; none of those given has a label")),
            false => Ok(model),
        }
    }

    fn load(&self, store: &StoreReader<'_>, run: &Run) -> Result<KnnModel> {
        KnnModel::load(store, run)
    }
}

impl KnnModel {
    /// Adds the labelled documents of positive weight; classes that are new go behind the known ones. The model is
    /// then the same as one fitted on all documents at once, but for the order of the classes.
    pub fn add(&mut self, x: &Matrix, labels: &Labels, weights: Option<&[f32]>, run: &Run) -> Result<()> {
        self.index.check_make(x)?;
        if x.rows() != labels.len() {
            return Err(Error::Shape { what: "labels", expected: x.rows(), found: labels.len() });
        }
        check_weights(weights, x.rows())?;
        let handed = u32::try_from(x.rows()).ok().and_then(|rows| self.handed.checked_add(rows));
        let handed = handed.ok_or_else(|| Error::data("knn holds at most 4 294 967 295 documents"))?;
        let weight = |row: usize| weights.map_or(1.0, |weights| weights[row]);
        // A document that counts nothing must not take a neighbour's place.
        let kept: Vec<usize> = labels.labelled_rows().into_iter().filter(|&row| weight(row) > 0.0).collect();
        let labels = labels.align(&self.classes);
        self.index.add(x.select_rows(&kept), run)?;
        for &row in &kept {
            self.ids.extend_from_slice(labels.of(row).unwrap_or(&[]));
            self.offsets.push(self.ids.len() as u64);
            self.weights.push(weight(row));
            self.rows.push(self.handed + row as u32);
        }
        self.multi |= labels.is_multi_label();
        self.classes = labels.classes().to_vec();
        self.handed = handed;
        Ok(())
    }

    /// The parameters.
    pub fn params(&self) -> &KnnParams {
        &self.params
    }

    /// The class names, by number.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// How many documents can be neighbours.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none; never so for a fitted model.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The `k` nearest documents of every row of `x`, or all when there are fewer.
    pub fn neighbours(&self, x: &Matrix, k: usize, run: &Run) -> Result<Neighbours> {
        if k == 0 {
            return Err(Error::parameter("knn", "k", 0, "must be at least 1"));
        }
        let found = self.index.search(x, k, run)?;
        Ok(Neighbours {
            per_query: k.min(self.len()),
            rows: found.iter().map(|&(_, document)| self.rows[document as usize]).collect(),
            values: found.iter().map(|&(value, _)| value).collect(),
        })
    }

    fn vote(&self, found: &[(f32, u32)], class_weights: &[f64], votes: &mut [f64], out: &mut [f32]) {
        votes.fill(0.0);
        let mut sum = 0f64;
        for &(value, document) in found {
            let document = document as usize;
            let vote = match (self.params.vote, self.params.metric) {
                (Vote::Majority, _) => 1.0,
                (Vote::Weighted, Metric::Cosine) => value.max(0.0),
                (Vote::Weighted, Metric::Euclidean) => 1.0 / (value + NEAR),
            };
            let vote = f64::from(vote) * f64::from(self.weights[document]);
            sum += vote;
            for &class in self.of(document) {
                votes[class as usize] += vote;
            }
        }
        if sum <= 0.0 {
            return;
        }
        if self.multi {
            for ((out, &votes), &weight) in out.iter_mut().zip(votes.iter()).zip(class_weights) {
                let share = (votes / sum).min(1.0);
                *out = (weight * share / (weight * share + 1.0 - share)) as f32;
            }
        } else {
            votes.iter_mut().zip(class_weights).for_each(|(votes, weight)| *votes *= weight);
            let sum: f64 = votes.iter().sum();
            out.iter_mut().zip(votes.iter()).for_each(|(out, &votes)| *out = (votes / sum) as f32);
        }
    }

    /// Classes without a vote get scores below 0, by how much nearer their nearest document would have to be to vote.
    fn rank_without_votes(&self, found: &[(f32, u32)], nearest: &[f32], votes: &[f64], out: &mut [f32]) {
        let Some(&(last, _)) = found.last() else { return };
        for ((out, &votes), &nearest) in out.iter_mut().zip(votes).zip(nearest) {
            if votes <= 0.0 {
                let short = match self.params.metric {
                    Metric::Cosine => nearest - last,
                    Metric::Euclidean => (last + NEAR) / (nearest + NEAR) - 1.0,
                };
                *out = short.clamp(-2.0, 0.0);
            }
        }
    }

    /// The classes of a document by its number among all that were handed over; `None` when it is not among the
    /// neighbours (it has no label).
    pub fn labels_of(&self, row: u32) -> Option<&[u32]> {
        self.rows.binary_search(&row).ok().map(|document| self.of(document))
    }

    pub(super) fn document(&self, document: usize) -> Row<'_> {
        self.index.x().row(document)
    }

    pub(super) fn check_columns(&self, x: &Matrix) -> Result<()> {
        self.index.check_make(x)
    }

    pub(super) fn of(&self, document: usize) -> &[u32] {
        &self.ids[self.offsets[document] as usize..self.offsets[document + 1] as usize]
    }

    fn class_counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.classes.len()];
        for &id in &self.ids {
            counts[id as usize] += 1;
        }
        counts
    }

    /// Takes a model out of a store, checking it whole. Memory is bounded by what the store holds.
    pub fn load(store: &StoreReader<'_>, run: &Run) -> Result<Self> {
        let Header { params, multi_label: multi, handed } = store.json("knn")?;
        params.check().map_err(|e| Error::model(e.to_string()))?;
        let x = Matrix::load(&store.scope("documents"))?;
        let classes = store.strings("classes")?;
        let offsets = store.u64s("offsets", Some(x.rows() + 1))?;
        let ids = store.u32s("ids", None)?;
        let (weights, _) = store.f32s("weights", &[Some(x.rows())])?;
        let rows = store.u32s("rows", Some(x.rows()))?;
        let whole = offsets.first() == Some(&0)
            && offsets.last() == Some(&(ids.len() as u64))
            && offsets.windows(2).all(|pair| pair[0] <= pair[1]);
        // Cut by cut only once the offsets are known to ascend within the list.
        let labelled = whole
            && offsets.windows(2).all(|pair| {
                let ids = &ids[pair[0] as usize..pair[1] as usize];
                ids.windows(2).all(|pair| pair[0] < pair[1])
                    && ids.last().is_none_or(|&last| (last as usize) < classes.len())
                    && (multi || ids.len() == 1)
            });
        if !labelled {
            return Err(Error::model("knn: the documents' classes are damaged"));
        }
        if rows.is_empty() || !rows.windows(2).all(|pair| pair[0] < pair[1]) || rows.last() >= Some(&handed) {
            return Err(Error::model("knn: the documents' row numbers are damaged"));
        }
        if weights.iter().any(|&weight| weight <= 0.0) {
            return Err(Error::model("knn: a document has a weight that is not positive"));
        }
        if classes.iter().collect::<std::collections::BTreeSet<_>>().len() != classes.len() {
            return Err(Error::model("knn: a class is named twice"));
        }
        let index = Index::new(x, params.metric, run)?;
        Ok(KnnModel { params, index, classes, multi, offsets, ids, weights, rows, handed })
    }
}

impl ClassifierModel for KnnModel {
    /// The score of every document for every class (documents × classes), by the votes of its neighbours.
    fn scores(&self, x: &Matrix, run: &Run) -> Result<Dense> {
        let k = self.params.k.min(self.len());
        let groups = Groups { count: self.classes.len(), offsets: &self.offsets, ids: &self.ids };
        let found = self.index.search_groups(x, k, Some(groups), run)?;
        let class_weights = self.params.class_weight.of_counts(self.len(), &self.class_counts());
        let classes = self.classes.len();
        let mut scores = Dense::zeros(x.rows(), classes);
        if classes > 0 && k > 0 {
            run.install(|| {
                let found = found.nearest.par_chunks(k).zip(found.groups.par_chunks(classes + 1));
                let rows = scores.values_mut().par_chunks_mut(classes).zip(found).with_min_len(64);
                rows.for_each_init(
                    || vec![0f64; classes],
                    |votes, (out, (found, nearest))| {
                        self.vote(found, &class_weights, votes, out);
                        if self.params.rest == Rest::Nearest {
                            self.rank_without_votes(found, nearest, votes, out);
                        }
                    },
                );
            });
        }
        Ok(scores)
    }

    fn n_classes(&self) -> usize {
        self.classes.len()
    }

    fn n_inputs(&self) -> usize {
        self.index.columns()
    }

    /// The index is not stored: it is built again from the documents.
    fn save(&self, out: &mut StoreWriter) -> Result<()> {
        let header = Header { params: self.params.clone(), multi_label: self.multi, handed: self.handed };
        out.put_json("knn", &header)?;
        out.scope("documents", |out| self.index.x().save(out));
        out.put_strings("classes", &self.classes);
        out.put_u64("offsets", &self.offsets);
        out.put_u32("ids", &self.ids);
        out.put_f32("weights", &[self.weights.len()], &self.weights);
        out.put_u32("rows", &self.rows);
        Ok(())
    }

    /// The share of the votes; where no neighbour votes (an empty document), each class has its share of the documents kept.
    fn own_probabilities(&self, scores: &Dense) -> Option<Dense> {
        let counts = self.class_counts();
        let total = if self.multi { self.len() } else { counts.iter().sum() };
        let priors: Vec<f32> = counts.iter().map(|&count| (count as f64 / total.max(1) as f64) as f32).collect();
        let mut votes = scores.clone();
        for row in 0..votes.rows() {
            let row = votes.row_mut(row);
            if row.iter().all(|&vote| vote <= 0.0) {
                row.copy_from_slice(&priors);
            }
            // Scores below 0 only rank the classes that got no vote.
            row.iter_mut().for_each(|vote| *vote = vote.max(0.0));
        }
        Some(votes)
    }

    fn usual_threshold(&self) -> f32 {
        0.5
    }

    fn nearest(&self, x: &Matrix, count: usize, run: &Run) -> Result<Option<Vec<Vec<NearDocument>>>> {
        self.near_documents(x, count, run).map(Some)
    }

    fn leaning(&self, x: &Matrix, class: u32, against: Option<u32>, run: &Run) -> Result<Option<Vec<f64>>> {
        self.leanings(x, class, against, run).map(Some)
    }

    fn leaning_gradient(&self, x: &Matrix, class: u32, against: Option<u32>, run: &Run) -> Result<Option<Dense>> {
        self.gradient_of_leaning(x, class, against, run).map(Some)
    }

    fn notes(&self) -> Vec<(&'static str, String)> {
        vec![("neighbours", format!("{} documents kept", self.len()))]
    }
}
