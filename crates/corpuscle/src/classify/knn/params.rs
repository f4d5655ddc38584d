//! What a person can choose about nearest neighbours.

use serde::{Deserialize, Serialize};

use crate::classify::ClassWeight;
use crate::classify::cost::about;
use crate::params::{Checks, Param, Params};
use crate::{Result, param};

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

crate::words!(Metric { Cosine = "cosine", Euclidean = "euclidean" });

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

crate::words!(Vote { Weighted = "weighted", Majority = "majority" });

/// How classes are ranked that got no vote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rest {
    /// By their nearest document, all below those with votes.
    #[default]
    Nearest,
    /// All equal: the plain vote.
    Equal,
}

crate::words!(Rest { Nearest = "nearest", Equal = "equal" });

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
    /// How classes are ranked that got no vote.
    pub rest: Rest,
    /// How classes of different sizes are weighed against each other.
    pub class_weight: ClassWeight,
}

impl Default for KnnParams {
    fn default() -> Self {
        KnnParams {
            k: 10,
            metric: Metric::Cosine,
            vote: Vote::Weighted,
            rest: Rest::Nearest,
            class_weight: ClassWeight::None,
        }
    }
}

impl Params for KnnParams {
    const NAME: &'static str = "knn";
    const ABOUT: &'static str = "votes of the nearest training documents";

    fn table() -> Vec<Param<Self>> {
        vec![
            param!("k", k, "how many neighbours vote"),
            param!("metric", metric, "how near two documents are"),
            param!("vote", vote, "weighted by nearness, or one vote each"),
            param!("rest", rest, "classes without a vote: ranked by their nearest document, or all equal"),
            param!("class_weight", class_weight, about::CLASS_WEIGHT),
        ]
    }

    fn check(&self) -> Result<()> {
        Checks::of(Self::NAME).that(self.k > 0, "k", &self.k, "must be at least 1").done()
    }
}
