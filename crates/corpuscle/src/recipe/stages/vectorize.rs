//! Adapters of the `vectorize` room.

use std::sync::Arc;

use super::{AnyStage, StageInfo, StageKind, word_of};
use crate::matrix::{Csr, Matrix};
use crate::recipe::arguments::{Arguments, Parameter, Shown};
use crate::recipe::stage::{FittedVectorizer, Stage, Vectorizer};
use crate::store::{StoreReader, StoreWriter};
use crate::text::Tokens;
use crate::vectorize::{Bound, CountsModel, CountsParams, Norm, TfidfModel, TfidfParams};
use crate::{Result, Run};

const NORMS: &[(&str, Norm)] = &[("l2", Norm::L2), ("l1", Norm::L1), ("none", Norm::None)];

const NGRAMS: Parameter = Parameter { name: "ngrams", about: "longest run of words counted as a term (1)" };
const NGRAMS_MIN: Parameter = Parameter { name: "ngrams_min", about: "shortest run of words counted as a term (1)" };
const MIN_DF: Parameter = Parameter {
    name: "min_df",
    about: "fewest documents of a term: a count (1) or, with a point, a share such as 0.01",
};
const MAX_DF: Parameter =
    Parameter { name: "max_df", about: "most documents of a term: a count or, with a point, a share (1.0)" };
const MAX_FEATURES: Parameter = Parameter { name: "max_features", about: "keeps this many most frequent terms (all)" };

fn read_counts(arguments: &mut Arguments<'_>, counts: &mut CountsParams) -> Result<()> {
    arguments.parse("ngrams", &mut counts.ngrams)?;
    arguments.parse("ngrams_min", &mut counts.ngrams_min)?;
    arguments.read("min_df", &mut counts.min_df, read_bound)?;
    arguments.read("max_df", &mut counts.max_df, read_bound)?;
    arguments.read("max_features", &mut counts.max_features, |text| match text {
        "all" => Some(None),
        _ => text.parse().ok().map(Some),
    })
}

/// A whole number is a count of documents; a number with a point is a share of them, as in scikit-learn.
fn read_bound(text: &str) -> Option<Bound> {
    match text.parse() {
        Ok(count) => Some(Bound::Count(count)),
        Err(_) => text.parse::<f64>().ok().filter(|share| share.is_finite()).map(Bound::Share),
    }
}

fn show_bound(bound: &Bound) -> String {
    match bound {
        Bound::Count(count) => count.to_string(),
        Bound::Share(share) => format!("{share:?}"),
    }
}

fn show_counts(shown: Shown, counts: &CountsParams) -> Shown {
    let default = CountsParams::default();
    shown
        .plain("ngrams", &counts.ngrams, &default.ngrams)
        .plain("ngrams_min", &counts.ngrams_min, &default.ngrams_min)
        .add("min_df", &counts.min_df, &default.min_df, show_bound)
        .add("max_df", &counts.max_df, &default.max_df, show_bound)
        .add("max_features", &counts.max_features, &default.max_features, |most| {
            most.map_or("all".to_string(), |most| most.to_string())
        })
}

pub(super) const COUNTS: StageInfo = StageInfo {
    name: "counts",
    kind: StageKind::Vectorize,
    about: "how often each term occurs",
    parameters: &[NGRAMS, NGRAMS_MIN, MIN_DF, MAX_DF, MAX_FEATURES],
    build: |arguments| {
        let mut params = CountsParams::default();
        read_counts(arguments, &mut params)?;
        Ok(AnyStage::Vectorize(Arc::new(params)))
    },
};

pub(super) const BINARY: StageInfo = StageInfo {
    name: "binary",
    about: "whether each term occurs",
    build: |arguments| {
        let mut params = CountsParams { binary: true, ..CountsParams::default() };
        read_counts(arguments, &mut params)?;
        Ok(AnyStage::Vectorize(Arc::new(params)))
    },
    ..COUNTS
};

impl Stage for CountsParams {
    fn name(&self) -> &'static str {
        if self.binary { BINARY.name } else { COUNTS.name }
    }

    fn arguments(&self) -> Vec<(&'static str, String)> {
        show_counts(Shown::new(), self).into_arguments()
    }

    fn check(&self) -> Result<()> {
        CountsParams::check(self)
    }
}

impl Vectorizer for CountsParams {
    fn fit(&self, tokens: &Tokens, run: &Run) -> Result<(Box<dyn FittedVectorizer>, Matrix)> {
        let (model, matrix) = CountsParams::fit(self, tokens, run)?;
        Ok((Box::new(model), matrix.into()))
    }

    fn load(&self, store: &StoreReader<'_>) -> Result<Box<dyn FittedVectorizer>> {
        Ok(Box::new(CountsModel::load(store)?))
    }
}

impl FittedVectorizer for CountsModel {
    fn transform(&self, tokens: &Tokens, run: &Run) -> Result<Matrix> {
        Ok(CountsModel::transform(self, tokens, run)?.into())
    }

    fn save(&self, out: &mut StoreWriter) -> Result<()> {
        CountsModel::save(self, out)
    }

    fn feature_names(&self) -> Vec<String> {
        CountsModel::feature_names(self)
    }

    fn n_columns(&self) -> usize {
        self.n_features()
    }

    fn raw_counts(&self, tokens: &Tokens, run: &Run) -> Result<Option<Csr>> {
        CountsModel::raw_counts(self, tokens, run).map(Some)
    }

    fn refit(&self, counts: &Csr, _run: &Run) -> Result<(Box<dyn FittedVectorizer>, Matrix)> {
        let (model, matrix) = CountsModel::refit(self, counts)?;
        Ok((Box::new(model), matrix.into()))
    }
}

pub(super) const TFIDF: StageInfo = StageInfo {
    name: "tfidf",
    kind: StageKind::Vectorize,
    about: "term counts weighed by how rare the term is",
    parameters: &[
        Parameter { name: "sublinear", about: "true: 1 + log(count) instead of the count (false)" },
        NGRAMS,
        NGRAMS_MIN,
        MIN_DF,
        MAX_DF,
        MAX_FEATURES,
        Parameter { name: "binary", about: "true: 1 instead of the count (false)" },
        Parameter { name: "idf", about: "false: no weighing by rarity (true)" },
        Parameter { name: "smooth_idf", about: "false: document frequencies as they are, not plus one (true)" },
        Parameter { name: "norm", about: "l2 (default), l1 or none" },
    ],
    build: |arguments| {
        let mut params = TfidfParams::default();
        arguments.parse("sublinear", &mut params.sublinear)?;
        read_counts(arguments, &mut params.counts)?;
        arguments.parse("binary", &mut params.counts.binary)?;
        arguments.parse("idf", &mut params.use_idf)?;
        arguments.parse("smooth_idf", &mut params.smooth_idf)?;
        arguments.choice("norm", &mut params.norm, NORMS)?;
        Ok(AnyStage::Vectorize(Arc::new(params)))
    },
};

impl Stage for TfidfParams {
    fn name(&self) -> &'static str {
        TFIDF.name
    }

    fn arguments(&self) -> Vec<(&'static str, String)> {
        let default = TfidfParams::default();
        show_counts(Shown::new().plain("sublinear", &self.sublinear, &default.sublinear), &self.counts)
            .plain("binary", &self.counts.binary, &default.counts.binary)
            .plain("idf", &self.use_idf, &default.use_idf)
            .plain("smooth_idf", &self.smooth_idf, &default.smooth_idf)
            .add("norm", &self.norm, &default.norm, |value| word_of(NORMS, value))
            .into_arguments()
    }

    fn check(&self) -> Result<()> {
        TfidfParams::check(self)
    }
}

impl Vectorizer for TfidfParams {
    fn fit(&self, tokens: &Tokens, run: &Run) -> Result<(Box<dyn FittedVectorizer>, Matrix)> {
        let (model, matrix) = TfidfParams::fit(self, tokens, run)?;
        Ok((Box::new(model), matrix.into()))
    }

    fn load(&self, store: &StoreReader<'_>) -> Result<Box<dyn FittedVectorizer>> {
        Ok(Box::new(TfidfModel::load(store)?))
    }
}

impl FittedVectorizer for TfidfModel {
    fn transform(&self, tokens: &Tokens, run: &Run) -> Result<Matrix> {
        Ok(TfidfModel::transform(self, tokens, run)?.into())
    }

    fn save(&self, out: &mut StoreWriter) -> Result<()> {
        TfidfModel::save(self, out)
    }

    fn feature_names(&self) -> Vec<String> {
        TfidfModel::feature_names(self)
    }

    fn n_columns(&self) -> usize {
        self.n_features()
    }

    fn raw_counts(&self, tokens: &Tokens, run: &Run) -> Result<Option<Csr>> {
        TfidfModel::raw_counts(self, tokens, run).map(Some)
    }

    fn refit(&self, counts: &Csr, run: &Run) -> Result<(Box<dyn FittedVectorizer>, Matrix)> {
        let (model, matrix) = TfidfModel::refit(self, counts, run)?;
        Ok((Box::new(model), matrix.into()))
    }
}
