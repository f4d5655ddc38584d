//! Exact nearest neighbours: the classes of the k documents most like a new one.
//!
//! With neighbours i of a document, document weights sᵢ, votes vᵢ ([`Vote`]) and class weights c_l ([`ClassWeight`]):
//!
//! - one label each: score(l) = c_l Σ_{i in l} sᵢ vᵢ, divided by its sum over the classes;
//! - several labels: score(l) = c_l p / (c_l p + 1 − p), where p = Σ_{i has l} sᵢ vᵢ / Σᵢ sᵢ vᵢ is the share of the votes.
//!
//! Both lie in 0 … 1. Classes that got no vote are still ranked (unless [`Rest::Equal`] asks for the plain vote), by scores below 0: the cosine of their nearest document
//! less that of the k-th neighbour (or, for distances, d_k / d − 1). Without that all of them would be equal, and an
//! equal error rate would be that of a coin wherever the right class got no vote. A document without a neighbour of
//! positive vote (an empty one, under the cosine) scores 0 everywhere. Equal distances are settled in favour of the
//! document that was given first.
//!
//! Search is exact (Yang 1994 for kNN on text; no approximate index): rare columns through an inverted index, common
//! columns and dense parts through blocked matrix products in `f32`, and what is within rounding of the k-th best
//! again in `f64`. Cost per query: the postings of its rare columns, one product with the common and dense columns, and
//! k inner products; memory is that of the documents, laid out twice, and a block of scores per worker. On 20
//! Newsgroups the neighbours are those scikit-learn's brute force finds.
//!
//! We differ from scikit-learn in that `distance` votes are 1 / (d + 10⁻⁶) instead of 1 / d with a special case at 0,
//! and in that cosine votes are the cosines.
//!
//! ```
//! use corpuscle::Run;
//! use corpuscle::classify::{Classifier, ClassifierModel, KnnParams};
//! use corpuscle::project::Target;
//! use corpuscle::corpus::Labels;
//! use corpuscle::matrix::{Csr, Matrix};
//! let run = Run::new(42, 1)?;
//! let x = Matrix::from(Csr::from_rows(2, [vec![(0, 1.0)], vec![(0, 2.0), (1, 1.0)], vec![(1, 1.0)]]));
//! let labels = Labels::from_single(["a", "a", "b"].map(Some));
//! let mut model = KnnParams { k: 2, ..KnnParams::default() }.fit(&x, &Target::new(&labels), &run)?;
//! let new = Matrix::from(Csr::from_rows(2, [vec![(1, 3.0)]]));
//! assert_eq!(model.neighbours(&new, 2, &run)?.of(0).0, [2, 1]);
//! assert!(model.scores(&new, &run)?.row(0)[1] > 0.5);
//! model.add(&new, &Labels::from_single(["c"].map(Some)), None, &run)?;
//! assert_eq!(model.classes(), ["a", "b", "c"]);
//! # Ok::<(), corpuscle::Error>(())
//! ```

mod index;
mod model;
mod near;
mod params;
mod search;
#[cfg(test)]
mod tests;

pub use model::{KnnModel, Neighbours};
pub use near::NearDocument;
pub use params::{KnnParams, Metric, Rest, Vote};

#[cfg(doc)]
use super::ClassWeight;
