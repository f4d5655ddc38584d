//! Tokens to matrix: counts, presence and tf-idf of words and word n-grams, and documents made of word vectors.
//!
//! [`CountsParams::fit`] and [`TfidfParams::fit`] learn a vocabulary and give the matrix of the fitted documents with
//! it; the model's `transform` does the same for others. Columns are in byte order of the terms, whatever the number
//! of threads. What they learn can also be counted on parts of the documents and merged: [`TermCounts`].
//!
//! ```
//! use corpuscle::Run;
//! use corpuscle::text::WordsParams;
//! use corpuscle::vectorize::TfidfParams;
//! let run = Run::new(1, 1)?;
//! let words = WordsParams::default();
//! let (model, x) = TfidfParams::default().fit(&words.tokenize(&["red apple", "green apple"], &run)?, &run)?;
//! assert_eq!(model.feature_names(), ["apple", "green", "red"]);
//! assert_eq!((x.rows(), x.cols(), x.nnz()), (2, 3, 4));
//! let other = model.transform(&words.tokenize(&["apple apple pie"], &run)?, &run)?;
//! assert_eq!(other.row(0), (&[0u32][..], &[1.0f32][..]));
//! # Ok::<(), corpuscle::Error>(())
//! ```

mod average;
mod bowv;
mod chunks;
mod column;
mod composite;
mod concepts;
mod counts;
mod dirichlet;
mod fill;
mod grams;
mod paragraph;
#[cfg(test)]
mod paragraph_tests;
mod params;
mod row_maker;
mod scdv;
mod select;
mod space;
#[cfg(test)]
mod space_tests;
mod spread;
mod term_counts;
mod tfidf;
mod topic_table;
mod topical;
#[cfg(test)]
mod topical_tests;
mod vectorizer;
mod vocabulary;

pub use average::{AverageModel, AverageParams, Weighting};
pub use bowv::{BowvParams, ClusterWeight};
pub use chunks::Chunks;
pub use column::{ColumnModel, ColumnParams, FieldName};
pub use composite::CompositeModel;
pub use concepts::{ConceptsModel, ConceptsParams};
pub use counts::CountsModel;
pub use dirichlet::{DirichletModel, DirichletParams, completion_perplexity};
pub use paragraph::{ParagraphMode, ParagraphModel, ParagraphParams};
pub use params::{BinaryParams, Bound, CountsParams, Norm, TfidfParams};
pub use row_maker::RowMaker;
pub use scdv::ScdvParams;
pub use space::{SpaceParams, WordSpace};
pub use spread::Spread;
pub use term_counts::TermCounts;
pub use tfidf::TfidfModel;
pub use topic_table::TopicTable;
pub use topical::{LtsgParams, TopicalModel, TweParams};
pub use vectorizer::{Columns, Vectorizer, VectorizerModel, WordParts};
pub use vocabulary::Vocabulary;
