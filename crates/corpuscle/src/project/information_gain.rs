//! Keeps the terms whose presence says most about the class.
//!
//! IG(t) = H(C) − P(t) H(C | t) − P(¬t) H(C | ¬t), over the labelled documents, in nats. With several labels to a
//! document it is the sum over classes of the gain about "has this class or not". A term is present where its value is
//! not 0.
//!
//! With f(n) = n ln n, and counts of documents n (all), n_t (with the term), n_c (of the class), n_tc (both):
//!
//! n · IG(t) = f(n) − Σ f(n_c) − f(n_t) − f(n − n_t) + Σ f(n_tc) + Σ f(n_c − n_tc)
//!
//! so only the classes that a term meets need work: O(non-zeros). With several labels O(terms · classes) as well.
//!
//! Y. Yang and J. Pedersen, "A comparative study on feature selection in text categorization" (1997).
//!
//! ```
//! use corpuscle::Run;
//! use corpuscle::corpus::Labels;
//! use corpuscle::matrix::{Csr, Matrix};
//! use corpuscle::project::{InformationGainParams, Projector, Target};
//! let x = Matrix::from(Csr::from_rows(2, [vec![(0, 1.0), (1, 1.0)], vec![(0, 1.0)]]));
//! let labels = Labels::from_single([Some("a"), Some("b")]);
//! let (model, kept) = InformationGainParams { terms: 1 }.fit(&x, &Target::new(&labels), &Run::new(1, 1)?)?;
//! assert_eq!(model.columns(), [1]);
//! assert_eq!(kept.cols(), 1);
//! # Ok::<(), corpuscle::Error>(())
//! ```

use serde::{Deserialize, Serialize};

use super::projector::check_columns;
use super::{Columns, GainCounts, Projector, ProjectorModel, Target, Weights};
use crate::matrix::{Dense, Matrix};
use crate::param;
use crate::params::{Checks, Param, Params};
use crate::store::{StoreReader, StoreWriter};
use crate::{Error, Result, Run};

/// Parameters of `ig`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InformationGainParams {
    /// How many terms to keep; all when there are fewer.
    pub terms: usize,
}

impl Default for InformationGainParams {
    fn default() -> Self {
        InformationGainParams { terms: 1000 }
    }
}

/// The terms kept.
#[derive(Debug, Clone, PartialEq)]
pub struct InformationGainModel {
    /// How many columns there were.
    cols: usize,
    /// Those kept, ascending.
    columns: Vec<u32>,
    /// The gain of each.
    gains: Vec<f64>,
}

impl Params for InformationGainParams {
    const NAME: &'static str = "ig";
    const ABOUT: &'static str = "keeps the terms that tell most about the label (information gain)";

    fn table() -> Vec<Param<Self>> {
        vec![param!("terms", terms, "how many terms to keep")]
    }

    fn check(&self) -> Result<()> {
        Checks::of(Self::NAME).that(self.terms > 0, "terms", &self.terms, "must be at least 1").done()
    }
}

impl Projector for InformationGainParams {
    type Model = InformationGainModel;
    const MAKES: Columns = Columns::Terms;
    const NEEDS_TERMS: bool = true;

    /// Learns from the labelled rows which terms to keep; among equal gains the first column stays.
    fn fit(&self, x: &Matrix, target: &Target<'_>, run: &Run) -> Result<(InformationGainModel, Matrix)> {
        self.check()?;
        let model = self.model_of(&GainCounts::of(x, target.labels(), run)?, run)?;
        let rows = model.transform(x, run)?;
        Ok((model, rows))
    }

    fn load(&self, store: &StoreReader<'_>) -> Result<InformationGainModel> {
        InformationGainModel::load(store)
    }

    fn needs_labels(&self) -> bool {
        true
    }
}

impl InformationGainParams {
    /// What a fit learns, from counts of the same documents made in parts.
    pub fn model_of(&self, counts: &GainCounts, run: &Run) -> Result<InformationGainModel> {
        self.check()?;
        if counts.n_labelled() == 0 {
            let n = counts.n_documents();
            return Err(Error::data(format!("`ig` needs labels; none of the {n} documents has one")));
        }
        if counts.classes().len() < 2 && !counts.is_multi_label() {
            return Err(Error::data("`ig` needs at least two classes; every labelled document has the same"));
        }
        let gains = counts.gains(run)?;
        let mut order: Vec<u32> = (0..gains.len() as u32).collect();
        order.sort_unstable_by(|&a, &b| gains[b as usize].total_cmp(&gains[a as usize]).then(a.cmp(&b)));
        order.truncate(self.terms);
        order.sort_unstable();
        let kept = order.iter().map(|&column| gains[column as usize]).collect();
        Ok(InformationGainModel { cols: counts.n_columns(), columns: order, gains: kept })
    }
}

impl ProjectorModel for InformationGainModel {
    /// The columns kept.
    fn transform(&self, x: &Matrix, run: &Run) -> Result<Matrix> {
        run.check()?;
        sparse_only(x)?;
        check_columns("columns for `ig`", self.cols, x)?;
        Ok(Matrix::from(x.sparse().select_columns(&self.columns)))
    }

    fn n_inputs(&self) -> usize {
        self.cols
    }

    fn n_columns(&self) -> usize {
        self.columns.len()
    }

    fn save(&self, out: &mut StoreWriter) -> Result<()> {
        out.put_u64("from_columns", &[self.cols as u64]);
        out.put_u32("columns", &self.columns);
        out.put_f64("gains", &[self.gains.len()], &self.gains);
        Ok(())
    }

    fn feature_names(&self, before: Vec<String>) -> Vec<String> {
        self.columns.iter().map(|&column| before.get(column as usize).cloned().unwrap_or_default()).collect()
    }

    fn is_linear(&self) -> bool {
        true
    }

    /// A term that is left out weighs nothing.
    fn gradient(&self, _x: &Matrix, weights: &Weights<'_>, _run: &Run) -> Result<Option<Dense>> {
        let mut gradient = Dense::zeros(self.cols, 1);
        for (kept, &column) in self.columns.iter().enumerate() {
            gradient.row_mut(column as usize)[0] = weights.at(kept);
        }
        Ok(Some(gradient))
    }
}

pub(super) fn sparse_only(x: &Matrix) -> Result<()> {
    match x.dense().cols() {
        0 => Ok(()),
        dense => Err(Error::data(format!(
            "`ig` chooses among terms and cannot follow a stage that makes dense columns (here {dense}); put it right \
             after counts, binary or tfidf"
        ))),
    }
}

impl InformationGainModel {
    /// The columns kept, ascending.
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// The gain of each column kept, in nats.
    pub fn gains(&self) -> &[f64] {
        &self.gains
    }

    /// Takes a model out of a store, checking it whole.
    pub fn load(store: &StoreReader<'_>) -> Result<Self> {
        let cols = store.u64s("from_columns", Some(1))?[0];
        let columns = store.u32s("columns", None)?;
        let (gains, _) = store.f64s("gains", &[Some(columns.len())])?;
        let ordered = columns.windows(2).all(|pair| pair[0] < pair[1]);
        let within = columns.last().is_none_or(|&last| u64::from(last) < cols) && cols <= u64::from(u32::MAX);
        match ordered && within {
            true => Ok(InformationGainModel { cols: cols as usize, columns, gains }),
            false => Err(Error::model("the columns of `ig` are not in order")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::Labels;
    use crate::matrix::Csr;
    use crate::store::tests::round_trip;

    #[derive(Deserialize)]
    struct Fixture {
        rows: Vec<Vec<u32>>,
        cols: usize,
        single: Vec<u32>,
        lists: Vec<Vec<String>>,
        single_gains: Vec<f64>,
        multi_gains: Vec<f64>,
    }

    fn fixture() -> (Matrix, Fixture) {
        let fixture: Fixture =
            serde_json::from_str(include_str!("../../tests/fixtures/information_gain.json")).unwrap();
        let rows = fixture.rows.iter().map(|row| row.iter().map(|&column| (column, 0.5)).collect());
        (Matrix::from(Csr::from_rows(fixture.cols, rows)), fixture)
    }

    fn run() -> Run {
        Run::new(0, 2).unwrap()
    }

    fn assert_gains(x: &Matrix, labels: &Labels, expected: &[f64]) {
        let all = InformationGainParams { terms: x.cols() + 5 }.fit(x, &Target::new(labels), &run()).unwrap().0;
        assert_eq!(all.columns().len(), x.cols());
        for (gain, expected) in all.gains().iter().zip(expected) {
            assert!((gain - expected).abs() < 1e-12, "{gain} {expected}");
        }
        let few = InformationGainParams { terms: 7 }.fit(x, &Target::new(labels), &run()).unwrap().0;
        let least = few.gains().iter().copied().fold(f64::INFINITY, f64::min);
        let better = expected.iter().filter(|&&gain| gain > least + 1e-12).count();
        assert!(few.columns().len() == 7 && better < 7);
        let picked = few.transform(x, &run()).unwrap();
        assert_eq!((picked.rows(), picked.cols()), (x.rows(), 7));
        assert_eq!(round_trip(|out| few.save(out).unwrap(), InformationGainModel::load).unwrap(), few);
    }

    #[test]
    fn gains_are_the_mutual_information_of_scikit_learn() {
        let (x, fixture) = fixture();
        let names = (0..4).map(|class| class.to_string()).collect();
        assert_gains(&x, &Labels::from_ids(names, &fixture.single).unwrap(), &fixture.single_gains);
        let lists = Labels::from_lists(fixture.lists.iter().map(|list| Some(list.as_slice())));
        assert_gains(&x, &lists, &fixture.multi_gains);
    }

    #[test]
    fn unlabelled_rows_are_passed_over_and_ties_go_to_the_first() {
        let x = Matrix::from(Csr::from_rows(3, [vec![(1, 1.0), (2, 1.0)], vec![(0, 1.0)], vec![(0, 9.0)]]));
        let labels = Labels::from_single([Some("a"), Some("b"), None]);
        let model = InformationGainParams { terms: 2 }.fit(&x, &Target::new(&labels), &run()).unwrap().0;
        assert_eq!(model.columns(), [0, 1]);
        assert!((model.gains()[0] - 2f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn what_cannot_work_is_refused_with_the_reason() {
        let x = Matrix::from(Csr::from_rows(1, [vec![(0, 1.0)], vec![]]));
        let labels = Labels::from_single([Some("a"), Some("b")]);
        let params = InformationGainParams::default();
        let none = Labels::from_single::<&str>([None, None]);
        assert!(
            params.fit(&x, &Target::new(&none), &run()).unwrap_err().to_string().contains("none of the 2 documents")
        );
        assert!(params.fit(&x, &Target::new(&labels.select(&[0])), &run()).is_err());
        assert!(params.fit(&x, &Target::new(&Labels::from_single([Some("a"), None])), &run()).is_err());
        let dense = Matrix::from(Dense::zeros(2, 1));
        assert!(
            params.fit(&dense, &Target::new(&labels), &run()).unwrap_err().to_string().contains("right after counts")
        );
        assert!(InformationGainParams { terms: 0 }.check().is_err());
        let model = params.fit(&x, &Target::new(&labels), &run()).unwrap().0;
        assert!(model.transform(&dense, &run()).is_err());
        let bad = |columns: &[u32]| {
            let change = |out: &mut StoreWriter| {
                model.save(out).unwrap();
                out.put_u32("columns", columns);
            };
            round_trip(change, InformationGainModel::load)
        };
        assert!(bad(&[0]).is_ok() && bad(&[1]).is_err() && bad(&[0, 0]).is_err());
    }
}
