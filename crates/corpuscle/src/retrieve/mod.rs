//! Finding documents: an inverted index, language models, feedback, and the similarity of document vectors.
//!
//! An [`Index`] is a folder: tantivy keeps postings, texts and exact document lengths in it, with commits that survive an
//! interruption. A [`Searcher`] is what was committed when it was opened; it ranks by [`Ranking`], lets the best documents widen the
//! query ([`Feedback`]), and mixes in the similarity of any representation ([`Vectors`]).
//!
//! The scoring loops are ours, over tantivy's postings: its own BM25 has fixed constants and rounds lengths to a byte, and it has
//! no language models. Scores are sums over the terms of a query in their order, and equal scores are ordered by when a document
//! came in, so an answer does not depend on segments or threads.
//!
//! ```
//! use corpuscle::corpus::Document;
//! use corpuscle::retrieve::{Index, Search};
//! use corpuscle::{Run, text::WordsParams};
//! let run = Run::new(1, 1)?;
//! let folder = std::env::temp_dir().join(format!("corpuscle-doc-index-{}", std::process::id()));
//! let index = Index::create(&folder, &WordsParams::default())?;
//! let mut writer = index.writer(&run)?;
//! writer.add(Document::new("a", "the cat sat on the mat"))?;
//! writer.add(Document::new("b", "dogs and cats"))?;
//! writer.commit()?;
//! let found = index.searcher()?.search("cat", &Search::default(), None, 10, &run)?;
//! assert_eq!(found[0].id, "a");
//! # drop(index);
//! # std::fs::remove_dir_all(&folder).unwrap();
//! # Ok::<(), corpuscle::Error>(())
//! ```

mod answer;
mod duplicates;
mod feedback;
mod gone;
mod index;
mod kept;
mod nearest;
mod protocol;
mod rank;
mod search;
mod searcher;
mod segment;
mod snippet;
#[cfg(test)]
mod tests;
pub mod trec;
mod tune;
mod vectors;
mod writer;

pub use duplicates::{Group, duplicates};
pub use feedback::Feedback;
pub use index::{About, Index, Written};
pub use nearest::Nearest;
pub use protocol::{
    Collection, CollectionFigures, Representation, SearchClaim, SearchClaimTest, SearchProtocol, SearchSystem,
    SystemFigures,
};
pub use rank::{Form, Ranking};
pub use search::{Hit, Mix, Part, Search};
pub use searcher::Searcher;
pub use snippet::Snippet;
pub use tune::{Judged, Tuned, tune};
pub use vectors::Vectors;
pub use writer::Writer;
