//! Linear support vector machines by dual coordinate descent, or Newton's method where columns are few.
//!
//! For each class, w minimises ½‖w‖² + Σᵢ Cᵢ ξᵢᵖ with ξᵢ = max(0, 1 − yᵢ w·xᵢ), p = 2 (squared hinge, the default) or 1 (hinge), the
//! bias being the weight of a constant feature; or all classes together in one problem (Crammer-Singer). The objectives
//! are those of LIBLINEAR and of scikit-learn's `LinearSVC`, with Cᵢ = C · weight of the document · weight of its class
//! (one-vs-rest weighs the class's own documents, not the rest).
//!
//! A pass over the documents costs O(stored values · classes); 10 to 30 passes are usual. Memory is 4 bytes a column and class
//! and 4 bytes a document and class.
//!
//! References: Hsieh, Chang, Lin, Keerthi and Sundararajan (2008), "A dual coordinate descent method for large-scale
//! linear SVM"; Keerthi, Sundararajan, Chang, Hsieh and Lin (2008), "A sequential dual method for large scale
//! multi-class linear SVMs"; Crammer and Singer (2001).
//!
//! Where we differ: several classes are solved side by side, over one copy of the documents (see `lanes`); the
//! documents are shuffled once in memory and then visited in shuffled blocks; and a solver stops by the duality gap,
//! which bounds how far the objective is from its minimum, where LIBLINEAR stops by the largest gradient. Many documents
//! in few dense columns (after `discriminant`) are solved for their weights instead (see `primal`). `nb=true` scales terms by what naive
//! Bayes knows of them (see `naive_bayes`).
//!
//! ```
//! use corpuscle::classify::{Classifier, ClassifierModel, SvmParams};
//! use corpuscle::project::Target;
//! use corpuscle::corpus::Labels;
//! use corpuscle::matrix::{Csr, Matrix};
//! use corpuscle::Run;
//!
//! let x = Matrix::from(Csr::from_rows(3, [vec![(0, 1.0)], vec![(1, 1.0)], vec![(0, 1.0), (2, 1.0)]]));
//! let labels = Labels::from_single([Some("ham"), Some("spam"), None]);
//! let run = Run::new(42, 1)?;
//! let model = SvmParams::default().fit(&x, &Target::new(&labels), &run)?;
//! let scores = model.scores(&x, &run)?;
//! assert!(scores.row(2)[0] > scores.row(2)[1]);
//! assert!(model.converged());
//! # Ok::<(), corpuscle::Error>(())
//! ```

mod bias;
mod crammer_singer;
mod fit;
mod model;
mod naive_bayes;
mod one_vs_rest;
mod params;
mod primal;
#[cfg(test)]
mod tests;

pub use model::SvmModel;
pub use params::{Loss, Multiclass, SvmParams};
