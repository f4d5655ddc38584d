//! Documents as clusters of word vectors laid side by side: K parts of d numbers, one part for each cluster.
//!
//! A document is Σ_w count(w) · weight(w) · (P(c_1|w)·w⃗ ⊕ … ⊕ P(c_K|w)·w⃗), made of unit length, then thinned out: an
//! entry whose size is below p/100 · t becomes zero, where t = (|mean of the row minima| + |mean of the row maxima|)/2
//! over the labelled ones of the fitted documents, or all when none is labelled. Neither the words × K·d table nor a dense
//! documents × K·d matrix is ever held: a worker has one document at a time, and the fitted ones are made twice, once for t
//! and once for their rows.
//!
//! O(distinct words of the document · clusters of a word · d + K·d) per document.

use super::bowv::ClusterWeight;
use super::space::{Entry, WordSpace, add, length, make_unit};
use super::spread::{Counts, Spread};
use super::{TopicTable, VectorizerModel, WordParts};
use crate::matrix::{Csr, Dense, Matrix};
use crate::store::{StoreReader, StoreWriter};
use crate::text::Tokens;
use crate::{Error, Result, Run};

/// Words as shares of clusters, and how documents are made of them: a fitted SCDV or BoWV.
#[derive(Debug, Clone, PartialEq)]
pub struct CompositeModel {
    space: WordSpace,
    /// P(cluster | word); those too small to matter are left out.
    posteriors: Csr,
    kind: Kind,
    /// Smaller entries are zero.
    cut: f32,
}

/// The two composites.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Words weighed by idf.
    Scdv,
    /// Words as they are, and K more columns with the idf of each cluster's words; both parts of the same length.
    Bowv(ClusterWeight),
}

impl Kind {
    /// The stage's name.
    fn name(self) -> &'static str {
        match self {
            Kind::Scdv => "scdv",
            Kind::Bowv(_) => "bowv",
        }
    }

    /// Whether there is a column for each cluster.
    fn weighs_clusters(self) -> bool {
        self != Kind::Scdv
    }
}

/// One worker's document.
struct Scratch {
    sums: Vec<f32>,
    /// The clusters its words are in.
    touched: Vec<bool>,
    /// How many of its tokens are in each cluster.
    members: Vec<f32>,
}

impl CompositeModel {
    /// A composite whose threshold is that of the documents at `labelled`, or of all when there are none.
    pub(super) fn fit(
        space: WordSpace,
        posteriors: Csr,
        kind: Kind,
        sparsity: f64,
        tokens: &Tokens,
        labelled: &[usize],
        run: &Run,
    ) -> Result<Self> {
        let columns = space.dim().checked_mul(posteriors.cols()).and_then(|size| size.checked_add(posteriors.cols()));
        if columns.is_none_or(|columns| columns >= u32::MAX as usize) {
            return Err(Error::data("more than 4 294 967 294 columns: fewer clusters or a smaller dim are needed"));
        }
        let mut composite = CompositeModel { space, posteriors, kind, cut: 0.0 };
        if sparsity > 0.0 {
            let some = (1..tokens.n_documents()).contains(&labelled.len());
            let own = if some { Some(tokens.select(labelled)?) } else { None };
            let training = own.as_ref().unwrap_or(tokens);
            // Folds begin at 0: clusters without a word of the document are left out, and their entries are 0.
            let ends = composite.of_each(training, run, |parts| {
                let larger = |ends: (f32, f32), &value: &f32| (ends.0.min(value), ends.1.max(value));
                parts.fold((0f32, 0f32), |ends, values| values.iter().fold(ends, larger))
            })?;
            let (mut least, mut most) = (0f64, 0f64);
            for (low, high) in ends {
                least += f64::from(low);
                most += f64::from(high);
            }
            let documents = training.n_documents().max(1) as f64;
            composite.cut = (sparsity / 100.0 * (least.abs() + most.abs()) / (2.0 * documents)) as f32;
        }
        Ok(composite)
    }

    /// The words, their unit vectors and weights.
    pub fn space(&self) -> &WordSpace {
        &self.space
    }

    /// The probability of each cluster given each word.
    pub fn posteriors(&self) -> &Csr {
        &self.posteriors
    }

    /// How many columns come out.
    pub fn n_columns(&self) -> usize {
        let k = self.posteriors.cols();
        self.space.dim() * k + if self.kind.weighs_clusters() { k } else { 0 }
    }

    /// The size below which entries are zero.
    pub fn cut(&self) -> f32 {
        self.cut
    }

    /// The matrix of documents; words without a vector are passed over.
    pub fn transform(&self, tokens: &Tokens, run: &Run) -> Result<Csr> {
        let dim = self.space.dim();
        // Exact zeros are not stored either.
        let cut = self.cut.max(f32::MIN_POSITIVE);
        self.space.fill(
            tokens,
            self.n_columns(),
            run,
            || self.scratch(),
            |scratch, entries, row| {
                self.compose(scratch, entries);
                for (cluster, part) in scratch.sums.chunks(dim).enumerate() {
                    if scratch.touched.get(cluster).is_none_or(|&touched| touched) {
                        let first = (cluster * dim) as u32;
                        for (&value, column) in part.iter().zip(first..) {
                            if value.abs() >= cut {
                                row.columns.push(column);
                                row.values.push(value);
                            }
                        }
                    }
                }
                self.clear(scratch);
            },
        )
    }

    fn scratch(&self) -> Scratch {
        let k = self.posteriors.cols();
        Scratch { sums: vec![0.0; self.n_columns()], touched: vec![false; k], members: vec![0.0; k] }
    }

    /// What `of` makes of every document's values before the cut, those of clusters without a word left out.
    fn of_each<R: Send>(
        &self,
        tokens: &Tokens,
        run: &Run,
        of: impl Fn(&mut dyn Iterator<Item = &[f32]>) -> R + Sync,
    ) -> Result<Vec<R>> {
        let pieces = self.space.for_each(
            tokens,
            run,
            || self.scratch(),
            |scratch, _, entries| {
                self.compose(scratch, entries);
                let found = of(&mut self.parts(scratch));
                self.clear(scratch);
                found
            },
        )?;
        Ok(pieces.into_iter().flatten().collect())
    }

    /// The parts of a document that are not zero.
    fn parts<'s>(&self, scratch: &'s Scratch) -> impl Iterator<Item = &'s [f32]> {
        let parts = scratch.sums.chunks(self.space.dim()).enumerate();
        parts.filter(|(part, _)| scratch.touched.get(*part).is_none_or(|&touched| touched)).map(|(_, values)| values)
    }

    fn clear(&self, scratch: &mut Scratch) {
        for (part, values) in scratch.sums.chunks_mut(self.space.dim()).enumerate() {
            if scratch.touched.get(part).is_none_or(|&touched| touched) {
                values.fill(0.0);
            }
        }
        scratch.touched.fill(false);
        scratch.members.fill(0.0);
    }

    /// Sums up a document and makes it of unit length; gives what sums were multiplied with: those of vectors, those of clusters.
    fn compose(&self, scratch: &mut Scratch, entries: &[Entry]) -> [f64; 2] {
        let (dim, k) = (self.space.dim(), self.posteriors.cols());
        for entry in entries {
            let idf = self.space.idf()[entry.word as usize];
            let weight = entry.count as f32 * if self.kind == Kind::Scdv { idf } else { 1.0 };
            let vector = self.space.vector(entry.word);
            let (clusters, shares) = self.posteriors.row(entry.word as usize);
            for (&cluster, &share) in clusters.iter().zip(shares) {
                let cluster = cluster as usize;
                scratch.touched[cluster] = true;
                add(&mut scratch.sums[cluster * dim..(cluster + 1) * dim], weight * share, vector);
                if self.kind.weighs_clusters() {
                    scratch.sums[k * dim + cluster] += entry.count as f32 * share * idf;
                    scratch.members[cluster] += entry.count as f32 * share;
                }
            }
        }
        let mut scales = [1.0; 2];
        if self.kind.weighs_clusters() {
            for (weight, members) in scratch.sums[k * dim..].iter_mut().zip(&scratch.members) {
                *weight *= self.per_member(*members);
            }
            let (vectors, clusters) = scratch.sums.split_at_mut(k * dim);
            let inverse = |length: f64| if length > 0.0 { length.recip() } else { 1.0 };
            // Hundreds of vector entries would drown K weights, so both parts get the same length before the whole does.
            scales = [inverse(make_unit(vectors)), inverse(make_unit(clusters))];
        }
        let Scratch { sums, touched, .. } = scratch;
        let parts = || (0..sums.len().div_ceil(dim)).filter(|&part| touched.get(part).is_none_or(|&touched| touched));
        let range = |part: usize, all: usize| part * dim..all.min((part + 1) * dim);
        let square: f64 = parts().map(|part| length(&sums[range(part, sums.len())]).powi(2)).sum();
        if square > 0.0 {
            let scale = (1.0 / square.sqrt()) as f32;
            let all = sums.len();
            for part in (0..all.div_ceil(dim)).filter(|&part| touched.get(part).is_none_or(|&touched| touched)) {
                sums[range(part, all)].iter_mut().for_each(|value| *value *= scale);
            }
            scales = scales.map(|own| own * f64::from(scale));
        }
        scales
    }

    /// What the summed idf of a cluster with so many tokens is multiplied with.
    fn per_member(&self, members: f32) -> f32 {
        if self.kind == Kind::Bowv(ClusterWeight::Mean) && members > 0.0 { members.recip() } else { 1.0 }
    }

    /// Counts the values of documents before small ones are made zero, in `bins` bins of equal width around 0, and what is
    /// left afterwards.
    pub fn spread(&self, tokens: &Tokens, bins: usize, run: &Run) -> Result<Spread> {
        let cut = self.cut.max(f32::MIN_POSITIVE);
        let larger = |limit: f32, value: &f32| limit.max(value.abs());
        let sizes =
            self.of_each(tokens, run, |parts| parts.fold(0f32, |limit, values| values.iter().fold(limit, larger)))?;
        let limit = sizes.into_iter().fold(0f32, f32::max);
        let counts = self.of_each(tokens, run, |parts| {
            let mut counts = Counts::new(bins, limit);
            parts.for_each(|values| values.iter().for_each(|&value| counts.add(value, cut)));
            counts
        })?;
        let mut all = Counts::new(bins, limit);
        counts.iter().for_each(|counts| all.merge(counts));
        Ok(all.spread(tokens.n_documents(), self.n_columns()))
    }

    /// Takes a model out of a store, checking it whole.
    pub(super) fn load(kind: Kind, store: &StoreReader<'_>) -> Result<Self> {
        let space = WordSpace::load(store)?;
        let posteriors = Csr::load(&store.scope("posteriors"))?;
        let (cut, _) = store.f32s("cut", &[Some(1)])?;
        if posteriors.rows() != space.vectors().len() || posteriors.cols() == 0 || cut[0] < 0.0 {
            return Err(Error::model("the clusters do not fit the words"));
        }
        if space.dim().saturating_add(1).saturating_mul(posteriors.cols()) >= u32::MAX as usize {
            return Err(Error::model("clusters and word vectors make too many columns"));
        }
        Ok(CompositeModel { space, posteriors, kind, cut: cut[0] })
    }
}

impl VectorizerModel for CompositeModel {
    fn transform(&self, tokens: &Tokens, run: &Run) -> Result<Matrix> {
        Ok(CompositeModel::transform(self, tokens, run)?.into())
    }

    fn n_columns(&self) -> usize {
        CompositeModel::n_columns(self)
    }

    fn save(&self, out: &mut StoreWriter) -> Result<()> {
        self.space.save(out);
        out.scope("posteriors", |out| self.posteriors.save(out));
        out.put_f32("cut", &[1], &[self.cut]);
        Ok(())
    }

    /// Columns stand for a direction within a cluster, or for a cluster.
    fn feature_names(&self) -> Vec<String> {
        let (stage, dim, clusters) = (self.kind.name(), self.space.dim(), self.posteriors.cols());
        let name = |column: usize| match column < clusters * dim {
            true => format!("{stage} cluster {} dimension {}", column / dim, column % dim),
            false => format!("{stage} cluster {}", column - clusters * dim),
        };
        (0..CompositeModel::n_columns(self)).map(name).collect()
    }

    fn word_space(&self) -> Option<&WordSpace> {
        Some(&self.space)
    }

    /// Clusters are topics: P(w, c) = P(c|w) · P(w), P(w) by the documents that have the word, which is what idf says.
    fn topics(&self) -> Option<TopicTable> {
        let words: Vec<String> = self.space.vectors().words().iter().map(str::to_string).collect();
        let mut joint = Dense::zeros(words.len(), self.posteriors.cols());
        let rows = joint.values_mut().chunks_mut(self.posteriors.cols()).zip(self.space.idf()).enumerate();
        for (word, (row, idf)) in rows {
            let (clusters, shares) = self.posteriors.row(word);
            let documents = (1.0 - idf).exp();
            clusters.iter().zip(shares).for_each(|(&cluster, &share)| row[cluster as usize] = share * documents);
        }
        Some(TopicTable::new(words, joint, self.kind == Kind::Scdv))
    }

    /// Σ_w count(w) · P(c|w) over the known words; the mean over words for a document that has none.
    fn topic_shares(&self, tokens: &Tokens, run: &Run) -> Result<Option<Dense>> {
        let k = self.posteriors.cols();
        let mut mean = vec![0f32; k];
        (0..self.posteriors.rows()).for_each(|word| {
            let (clusters, shares) = self.posteriors.row(word);
            clusters.iter().zip(shares).for_each(|(&cluster, &share)| mean[cluster as usize] += share);
        });
        let pieces = self.space.for_each(
            tokens,
            run,
            || (),
            |(), _, entries| {
                let mut row = vec![0f32; k];
                for entry in entries {
                    let (clusters, shares) = self.posteriors.row(entry.word as usize);
                    let parts = clusters.iter().zip(shares);
                    parts.for_each(|(&cluster, &share)| row[cluster as usize] += entry.count as f32 * share);
                }
                if entries.is_empty() {
                    row.copy_from_slice(&mean);
                }
                let sum: f32 = row.iter().sum();
                row.iter_mut().for_each(|share| *share /= sum.max(f32::MIN_POSITIVE));
                row
            },
        )?;
        let values: Vec<f32> = pieces.into_iter().flatten().flatten().collect();
        Dense::new(tokens.n_documents(), k, values).map(Some)
    }

    fn spread(&self, tokens: &Tokens, bins: usize, run: &Run) -> Result<Option<Spread>> {
        CompositeModel::spread(self, tokens, bins, run).map(Some)
    }

    /// A document is a sum over its words, brought to unit length and thinned out: a word's part is what it brings to the
    /// entries that are left.
    fn word_parts(&self, tokens: &Tokens, weights: &[f32], run: &Run) -> Result<Option<WordParts>> {
        let (dim, k, cut) = (self.space.dim(), self.posteriors.cols(), self.cut.max(f32::MIN_POSITIVE));
        let parts = self.space.for_each(
            tokens,
            run,
            || self.scratch(),
            |scratch, _, entries| {
                let [vectors, clusters] = self.compose(scratch, entries);
                let left = |column: usize| if scratch.sums[column].abs() >= cut { weights[column] } else { 0.0 };
                let part = |entry: &Entry| {
                    let (count, idf) = (entry.count as f32, self.space.idf()[entry.word as usize]);
                    let weight = count * if self.kind == Kind::Scdv { idf } else { 1.0 };
                    let vector = self.space.vector(entry.word);
                    let (own, shares) = self.posteriors.row(entry.word as usize);
                    let mut sum = 0f64;
                    for (&cluster, &share) in own.iter().zip(shares) {
                        let first = cluster as usize * dim;
                        let along: f32 = vector.iter().zip(first..).map(|(value, at)| value * left(at)).sum();
                        sum += f64::from(weight * share * along) * vectors;
                        if self.kind.weighs_clusters() {
                            let each = self.per_member(scratch.members[cluster as usize]);
                            sum += f64::from(count * share * idf * each * left(k * dim + cluster as usize)) * clusters;
                        }
                    }
                    (self.space.vectors().words().term(entry.word).to_string(), sum)
                };
                let parts: WordParts = entries.iter().map(part).collect();
                self.clear(scratch);
                parts
            },
        )?;
        Ok(parts.into_iter().flatten().next())
    }
}
