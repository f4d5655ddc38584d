//! Which terms are reconstructed: the most frequent, the most telling, or a list.

use super::{DcotParams, Select, check_sparse};
use crate::corpus::Labels;
use crate::matrix::Matrix;
use crate::project::InformationGainParams;
use crate::{Error, Result, Run};

impl DcotParams {
    /// The prototype columns of `x`, ascending. `labels` are needed for [`Select::InformationGain`]; `names`, what the
    /// columns stand for, is asked for [`Select::Terms`] only. Terms of a list that are no columns are left out with a
    /// warning.
    pub fn choose(
        &self,
        x: &Matrix,
        labels: Option<&Labels>,
        names: &dyn Fn() -> Vec<String>,
        run: &Run,
    ) -> Result<Vec<u32>> {
        self.check()?;
        check_sparse(x)?;
        let count = self.prototypes.of(x.rows());
        let mut columns = match &self.select {
            Select::Frequent => {
                let mut documents = vec![0u32; x.cols()];
                x.sparse().indices().iter().for_each(|&column| documents[column as usize] += 1);
                let mut order: Vec<u32> = (0..x.cols() as u32).filter(|&c| documents[c as usize] > 0).collect();
                order.sort_unstable_by_key(|&column| (std::cmp::Reverse(documents[column as usize]), column));
                order.truncate(count);
                order
            }
            Select::InformationGain => {
                let labels = labels.ok_or_else(|| Error::data("dcot: select=information_gain needs labels"))?;
                InformationGainParams { terms: count }.fit(x, labels, run)?.columns().to_vec()
            }
            Select::Terms(terms) => named(terms, &names(), run)?,
        };
        columns.sort_unstable();
        columns.dedup();
        if columns.is_empty() {
            return Err(Error::data("dcot: the matrix has no columns to reconstruct"));
        }
        Ok(columns)
    }
}

fn named(terms: &[String], names: &[String], run: &Run) -> Result<Vec<u32>> {
    let mut columns = Vec::new();
    let mut missing: Vec<&str> = Vec::new();
    let mut numbers: Vec<u32> = (0..names.len() as u32).collect();
    numbers.sort_unstable_by(|&a, &b| names[a as usize].cmp(&names[b as usize]).then(a.cmp(&b)));
    for term in terms {
        let found = numbers.partition_point(|&column| names[column as usize] < *term);
        let same = numbers[found..].iter().take_while(|&&column| names[column as usize] == *term);
        let before = columns.len();
        columns.extend(same);
        if columns.len() == before {
            missing.push(term);
        }
    }
    if columns.is_empty() {
        let reason = "are not among the terms; write them as the recipe cuts them (lower case, stemmed or not)";
        return Err(Error::parameter("dcot", "terms", terms.join(","), reason));
    }
    if let Some(first) = missing.first() {
        run.warn(&format!(
            "dcot: {} of {} prototype terms do not occur, such as `{first}`",
            missing.len(),
            terms.len()
        ));
    }
    Ok(columns)
}
