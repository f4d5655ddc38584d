//! What a person can choose about nearest neighbours.

use serde::{Deserialize, Serialize};

use super::KnnModel;
use crate::classify::ClassWeight;
use crate::corpus::Labels;
use crate::matrix::Matrix;
use crate::{Error, Result, Run};

/// How near two documents are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Metric {
    /// ⟨x, y⟩ / (‖x‖ ‖y‖), larger is nearer; 0 when either has length 0.
    #[default]
    Cosine,
    /// ‖x − y‖, smaller is nearer.
    Euclidean,
}

/// How much each neighbour's vote counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Vote {
    /// By nearness: max(cosine, 0), or 1 / (distance + 10⁻⁶).
    #[default]
    Weighted,
    /// One neighbour, one vote.
    Majority,
}

/// Parameters of nearest neighbours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KnnParams {
    /// How many neighbours vote; all documents when there are fewer.
    pub k: usize,
    /// How near two documents are.
    pub metric: Metric,
    /// How much each neighbour's vote counts.
    pub vote: Vote,
    /// How classes of different sizes are weighed against each other.
    pub class_weight: ClassWeight,
}

impl Default for KnnParams {
    fn default() -> Self {
        KnnParams { k: 10, metric: Metric::Cosine, vote: Vote::Weighted, class_weight: ClassWeight::None }
    }
}

impl KnnParams {
    /// Names the first value out of its range.
    pub fn check(&self) -> Result<()> {
        match self.k {
            0 => Err(Error::parameter("knn", "k", 0, "must be at least 1")),
            _ => Ok(()),
        }
    }

    /// Keeps the labelled documents of positive weight, ready to be searched. O(stored values).
    pub fn fit(&self, x: &Matrix, labels: &Labels, weights: Option<&[f32]>, run: &Run) -> Result<KnnModel> {
        self.check()?;
        KnnModel::fit(self.clone(), x, labels, weights, run)
    }
}
