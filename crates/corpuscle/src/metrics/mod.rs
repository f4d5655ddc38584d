//! Every figure the papers report: how well decisions and scores agree with the true labels.
//!
//! [`Evaluation::of`] computes them all at once; each is also a small function of its own. All are fractions of 1,
//! except the coverage error, which is a number of labels, and the log loss. Documents without a label take no part.
//!
//! True labels may know classes that the model has no score for (those that [`Labels::align`] puts at the end): a
//! document of such a class counts as a mistake everywhere, and the class is reported with recall 0.
//!
//! [`Labels::align`]: crate::corpus::Labels::align

mod confusion;
mod doubt;
mod eer;
mod evaluation;
mod fscore;
mod predictions;
mod proportion;
mod ranking;
mod reliability;
mod retrieval;
mod structure;

pub use confusion::{
    ClassTally, Confusion, LabelCounts, accuracy, confusion, hamming_loss, label_counts, present_classes, tally,
};
pub use doubt::{Doubt, doubtful_labels};
pub use eer::{DetCurve, DetPoint};
pub use evaluation::{ClassScore, Evaluation, RANKS};
pub use fscore::{PrecisionRecallF1, macro_average, micro_average, weighted_average};
pub use predictions::Predictions;
pub use proportion::Proportion;
pub use ranking::{RankingScores, coverage_error, lrap, ndcg_at, ndcg_at_scdv, precision_at};
pub use reliability::{RELIABILITY_BINS, Reliability, ReliabilityBin};
pub use retrieval::{RETRIEVAL_RANKS, RetrievalFigures};
pub use structure::{LevelScore, OrdinalScores, levels, ordinal};
