//! What an updatable model keeps of its training documents: term counts, labels and weights, and no text.
//!
//! Every stage after the vocabulary can be fitted again from them exactly, so an update adds the counts of new documents
//! and fits the recipe anew. 8 bytes for each different term of a document, 12 for each document and 4 for each label.

use super::fitted::Fitted;
use crate::corpus::Labels;
use crate::matrix::Csr;
use crate::store::{StoreReader, StoreWriter};
use crate::text::Tokens;
use crate::{Error, Result, Run};

/// Training documents as counts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Training {
    /// For every vectorizer of the recipe, in order, the counts of all documents.
    pub(super) counts: Vec<Csr>,
    /// The labels of the documents.
    pub(super) labels: Labels,
    /// Their weights, when some is not 1.
    pub(super) weights: Option<Vec<f32>>,
}

impl Training {
    /// Takes from documents what an update will need.
    pub(super) fn of(
        body: &Fitted,
        tokens: &Tokens,
        labels: &Labels,
        weights: Option<&[f32]>,
        run: &Run,
    ) -> Result<Self> {
        let mut stages = Vec::new();
        body.vectorizers(&mut stages);
        let mut counts = Vec::with_capacity(stages.len());
        for (name, stage) in stages {
            counts.push(stage.raw_counts(tokens, run)?.ok_or_else(|| {
                Error::data(format!(
                    "`{name}` cannot be updated from term counts, so a recipe with it makes no updatable model; leave out \
                     --updatable, or use counts, binary or tfidf"
                ))
            })?);
        }
        Ok(Training { counts, labels: labels.clone(), weights: weights.map(<[f32]>::to_vec) })
    }

    /// Adds other documents after these.
    pub(super) fn append(&mut self, other: &Training) -> Result<()> {
        for (counts, more) in self.counts.iter_mut().zip(&other.counts) {
            counts.append_rows(more)?;
        }
        if self.weights.is_some() || other.weights.is_some() {
            let ones = |training: &Training| vec![1.0; training.labels.len()];
            let mut weights = self.weights.take().unwrap_or_else(|| ones(self));
            weights.extend(other.weights.clone().unwrap_or_else(|| ones(other)));
            self.weights = Some(weights);
        }
        let lists: Vec<Option<Vec<String>>> = [&self.labels, &other.labels].into_iter().flat_map(names).collect();
        self.labels = Labels::from_lists(lists.iter().map(|list| list.as_deref()));
        Ok(())
    }

    /// Puts the documents into a store.
    pub(super) fn save(&self, out: &mut StoreWriter) {
        for (at, counts) in self.counts.iter().enumerate() {
            out.scope(&format!("counts{at}"), |out| counts.save(out));
        }
        let rows = 0..self.labels.len();
        out.put_u32("labelled", &rows.clone().map(|row| u32::from(self.labels.of(row).is_some())).collect::<Vec<_>>());
        let lists = || rows.clone().map(|row| self.labels.of(row).unwrap_or(&[]));
        out.put_u32("sizes", &lists().map(|list| list.len() as u32).collect::<Vec<_>>());
        out.put_u32("classes", &lists().flatten().copied().collect::<Vec<_>>());
        if let Some(weights) = &self.weights {
            out.put_f32("weights", &[weights.len()], weights);
        }
    }

    /// Takes documents out of a store that has them, checking them whole.
    pub(super) fn load(store: &StoreReader<'_>, body: &Fitted, classes: &[String]) -> Result<Option<Self>> {
        if !store.has("labelled") {
            return Ok(None);
        }
        let labelled = store.u32s("labelled", None)?;
        let sizes = store.u32s("sizes", Some(labelled.len()))?;
        let total = sizes.iter().map(|&size| u64::from(size)).sum::<u64>();
        let all = store.u32s("classes", usize::try_from(total).ok())?;
        let mut rest = &all[..];
        let mut lists: Vec<Option<Vec<String>>> = Vec::with_capacity(labelled.len());
        for (&labelled, &size) in labelled.iter().zip(&sizes) {
            let (own, after) = rest.split_at(size as usize);
            rest = after;
            let own: Option<Vec<String>> = own.iter().map(|&class| classes.get(class as usize).cloned()).collect();
            let own = own.ok_or_else(|| Error::model("a training document has a class the model does not have"))?;
            lists.push((labelled != 0).then_some(own));
        }
        let labels = Labels::from_lists(lists.iter().map(|list| list.as_deref()));
        if labels.classes() != classes {
            return Err(Error::model("the training documents have other classes than the model"));
        }
        let weights = match store.has("weights") {
            false => None,
            true => Some(store.f32s("weights", &[Some(labelled.len())])?.0),
        };
        let mut stages = Vec::new();
        body.vectorizers(&mut stages);
        let mut counts = Vec::with_capacity(stages.len());
        for (at, (name, stage)) in stages.iter().enumerate() {
            let kept = Csr::load(&store.scope(&format!("counts{at}")))?;
            let whole = kept.values().iter().all(|&count| count >= 1.0 && count.fract() == 0.0);
            if kept.rows() != labelled.len() || kept.cols() != stage.n_columns() || !whole {
                return Err(Error::model(format!("the training counts of `{name}` do not fit the model")));
            }
            counts.push(kept);
        }
        Ok(Some(Training { counts, labels, weights }))
    }
}

/// The labels of each document by name.
fn names(labels: &Labels) -> impl Iterator<Item = Option<Vec<String>>> + '_ {
    (0..labels.len()).map(|row| {
        labels.of(row).map(|list| list.iter().map(|&class| labels.classes()[class as usize].clone()).collect())
    })
}
