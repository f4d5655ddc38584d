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
        for stage in stages {
            counts.push(stage.model.raw_counts(stage.tokens(tokens)?, run)?.ok_or_else(|| {
                let name = stage.name;
                Error::data(format!(
                    "`{name}` cannot be updated from term counts, so a recipe with it makes no updatable model; use \
                     counts, binary or tfidf"
                ))
            })?);
        }
        Ok(Training { counts, labels: labels.clone(), weights: weights.map(<[f32]>::to_vec) })
    }

    /// Adds other documents after these. Classes numbered by name, as reading does, stay so; in any other order they
    /// keep their numbers, and new ones come behind.
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
        let by_name = self.labels.classes().is_sorted();
        self.labels = self.labels.followed_by(&other.labels);
        if by_name {
            // Random streams belong to class numbers, so only with those of one training is this the same model.
            let mut classes = self.labels.classes().to_vec();
            classes.sort_unstable();
            self.labels = self.labels.align(&classes);
        }
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
        let mut lists: Vec<Option<Vec<u32>>> = Vec::with_capacity(labelled.len());
        for (&labelled, &size) in labelled.iter().zip(&sizes) {
            let (own, after) = rest.split_at(size as usize);
            rest = after;
            if own.iter().any(|&class| class as usize >= classes.len()) {
                return Err(Error::model("a training document has a class the model does not have"));
            }
            lists.push((labelled != 0).then(|| own.to_vec()));
        }
        let labels = Labels::with_classes(classes.to_vec(), lists).map_err(|e| Error::model(e.to_string()))?;
        let weights = match store.has("weights") {
            false => None,
            true => Some(store.f32s("weights", &[Some(labelled.len())])?.0),
        };
        let mut stages = Vec::new();
        body.vectorizers(&mut stages);
        let mut counts = Vec::with_capacity(stages.len());
        for (at, stage) in stages.iter().enumerate() {
            let kept = Csr::load(&store.scope(&format!("counts{at}")))?;
            let whole = kept.values().iter().all(|&count| count >= 1.0 && count.fract() == 0.0);
            if kept.rows() != labelled.len() || kept.cols() != stage.model.n_columns() || !whole {
                return Err(Error::model(format!("the training counts of `{}` do not fit the model", stage.name)));
            }
            counts.push(kept);
        }
        Ok(Some(Training { counts, labels, weights }))
    }
}

#[cfg(test)]
mod tests {
    use crate::Run;
    use crate::corpus::Labels;
    use crate::recipe::{Corpus, Model, Recipe};
    use crate::text::WordsParams;

    const TEXTS: [&str; 8] = [
        "zebra stripes horse grass apple pear fruit middle centre core beta test release",
        "zebra horse grass",
        "apple pear fruit",
        "fruit apple juice",
        "middle centre",
        "centre core middle",
        "beta release test",
        "test release beta",
    ];

    fn corpus(texts: &[&str], classes: &[&str], rows: &[u32], run: &Run) -> Corpus {
        let classes = classes.iter().map(ToString::to_string).collect();
        let tokens = WordsParams::default().tokenize(texts, run).unwrap();
        let ids = (0..texts.len()).map(|row| row.to_string()).collect();
        let labels = Labels::from_ids(classes, rows).unwrap();
        Corpus { tokens, ids, labels, weights: None, sources: Vec::new() }
    }

    #[test]
    fn classes_in_the_order_of_their_names_stay_so() {
        let run = Run::new(3, 1).unwrap();
        let recipe = Recipe::parse("tfidf | svm").unwrap();
        let old = corpus(&TEXTS[..6], &["alpha", "mid", "zeta"], &[2, 2, 0, 0, 1, 1], &run);
        let new = corpus(&TEXTS[6..], &["beta"], &[0, 0], &run);
        let updated = recipe.fit_updatable(&old, &run).unwrap().update(&new, &run).unwrap();
        assert_eq!(updated.classes(), ["alpha", "beta", "mid", "zeta"]);
    }

    #[test]
    fn a_model_with_classes_in_any_order_is_loaded_and_updated() {
        let run = Run::new(3, 2).unwrap();
        for line in ["tfidf | svm", "binary | ig(9) | logistic", "tfidf | varnorm(2) | knn(k=2)"] {
            let recipe = Recipe::parse(line).unwrap();
            let old = corpus(&TEXTS[..6], &["zeta", "alpha", "mid"], &[0, 0, 1, 1, 2, 2], &run);
            let model = recipe.fit_updatable(&old, &run).unwrap();
            let loaded = Model::from_bytes(&model.to_bytes().unwrap(), &run).unwrap();
            assert_eq!(loaded.classes(), ["zeta", "alpha", "mid"]);
            let new = corpus(&TEXTS[6..], &["beta"], &[0, 0], &run);
            let updated = loaded.update(&new, &run).unwrap();
            let updated = Model::from_bytes(&updated.to_bytes().unwrap(), &run).unwrap();
            assert_eq!(updated.classes(), ["zeta", "alpha", "mid", "beta"]);

            let all = corpus(&TEXTS, &["zeta", "alpha", "mid", "beta"], &[0, 0, 1, 1, 2, 2, 3, 3], &run);
            let whole = recipe.fit(&all, &run).unwrap();
            // The vocabulary is that of the old documents: words of theirs only are asked about.
            let asked = ["zebra grass", "apple pear", "core", "beta test", "horse middle release"];
            let (found, expected) = (updated.predict(&asked, &run).unwrap(), whole.predict(&asked, &run).unwrap());
            assert_eq!(found.labels, expected.labels, "{line}");
            for (a, b) in found.scores.values().iter().zip(expected.scores.values()) {
                assert!((a - b).abs() < 1e-4, "{line}: {a} {b}");
            }
        }
    }
}
