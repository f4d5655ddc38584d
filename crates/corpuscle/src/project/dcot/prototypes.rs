//! Which terms are reconstructed: the most frequent, the most telling, or a list.

use super::{DcotParams, Select, Terms};
use crate::matrix::Matrix;
use crate::params::Params;
use crate::project::{InformationGainParams, Projector, Target};
use crate::{Error, Result, Run};

/// A list of terms that starts so is the name of a file that holds them, one a line.
const FILE: char = '@';

impl DcotParams {
    /// The same with the terms that a file holds, when the list names one.
    pub(super) fn with_terms_of_file(&self) -> Result<Self> {
        let Some(path) = self.terms.0.first().and_then(|term| term.strip_prefix(FILE)) else { return Ok(self.clone()) };
        let text = std::fs::read_to_string(path).map_err(|e| Error::io(path, e))?;
        let terms: Vec<String> =
            text.lines().map(str::trim).filter(|term| !term.is_empty()).map(String::from).collect();
        if terms.is_empty() {
            return Err(Error::parameter(Self::NAME, "terms", format!("@{path}"), "names a file without terms"));
        }
        Ok(DcotParams { terms: Terms(terms), ..self.clone() })
    }

    /// The prototype columns of `x`, ascending. Named terms that are no columns are left out with a warning.
    pub(super) fn prototype_columns(&self, x: &Matrix, target: &Target<'_>, run: &Run) -> Result<Vec<u32>> {
        let count = self.count(x.rows());
        let mut columns = match self.select {
            _ if !self.terms.0.is_empty() => named(&self.terms.0, &target.names(), run)?,
            Select::Frequent => {
                let mut documents = vec![0u32; x.cols()];
                x.sparse().indices().iter().for_each(|&column| documents[column as usize] += 1);
                let mut order: Vec<u32> = (0..x.cols() as u32).filter(|&c| documents[c as usize] > 0).collect();
                order.sort_unstable_by_key(|&column| (std::cmp::Reverse(documents[column as usize]), column));
                order.truncate(count);
                order
            }
            Select::InformationGain => InformationGainParams { terms: count }.fit(x, target, run)?.0.columns().to_vec(),
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
