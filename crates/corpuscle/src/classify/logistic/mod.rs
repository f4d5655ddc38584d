//! Logistic regression by a truncated Newton method: softmax over all classes, or a sigmoid for each.
//!
//! Minimises ½‖W‖² + Σᵢ Cᵢ loss(W·xᵢ + b), where the loss is −log softmax(scores) of the right class (multinomial) or, class by
//! class, −log sigmoid(±score) (one-vs-rest), with Cᵢ = C · weight of the document · weight of its class. The bias b is not
//! penalised. The objectives are those of scikit-learn's `LogisticRegression` (alone, and inside `OneVsRestClassifier`); two
//! classes are one sigmoid problem there and here. One-vs-rest weighs the class's own documents, not the rest, as LIBLINEAR does.
//!
//! A pass costs O(stored values · classes); a Newton step takes two passes for each conjugate gradient step. Memory is about
//! 36 bytes a column and class and 24 bytes a document and class, one-vs-rest at most 32 classes at a time. Those 32 go on until
//! the last of them is done, so they are classes of like size: the 445 tags of Reuters on SCDV vectors, most of which a few
//! documents have, take 53 s on one thread, the SVM 78 s; in the order of their names and in narrow registers a whole training
//! took 566 s of processor time instead of 60.
//!
//! References: Lin, Weng and Keerthi (2008), "Trust region Newton method for large-scale logistic regression"; Hsia, Chiang and
//! Lin (2018), "Preconditioned conjugate gradient methods in truncated Newton frameworks"; Galli and Lin (2021), "A study on truncated
//! Newton methods for linear classification". Where we differ: several classes go side by side, and the end is a
//! bound on the objective and not the length of the gradient.
//!
//! ```
//! use corpuscle::classify::{Classifier, ClassifierModel, LogisticParams};
//! use corpuscle::project::Target;
//! use corpuscle::corpus::Labels;
//! use corpuscle::matrix::{Csr, Matrix};
//! use corpuscle::Run;
//!
//! let x = Matrix::from(Csr::from_rows(3, [vec![(0, 1.0)], vec![(1, 1.0)], vec![(2, 1.0)]]));
//! let labels = Labels::from_single([Some("ham"), Some("spam"), Some("eggs")]);
//! let run = Run::new(42, 1)?;
//! let model = LogisticParams::default().fit(&x, &Target::new(&labels), &run)?;
//! let probabilities = model.probabilities(&model.scores(&x, &run)?);
//! assert!((probabilities.row(0).iter().sum::<f32>() - 1.0).abs() < 1e-5);
//! assert!(probabilities.row(0)[1] > probabilities.row(0)[2]);
//! # Ok::<(), corpuscle::Error>(())
//! ```

mod design;
mod fit;
mod link;
mod model;
mod newton;
mod params;
#[cfg(test)]
mod tests;

pub use model::LogisticModel;
pub use params::{LogisticMulticlass, LogisticParams};
