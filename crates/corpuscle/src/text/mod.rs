//! Characters to tokens: tokenizer, stop words, stems and the lexicon.
//!
//! [`WordsParams`] says what a word is; [`WordsParams::tokenize`] turns texts into [`Tokens`]: one number per word, and
//! a [`Lexicon`] that gives the words back. Numbers follow the byte order of the words, so the result is the same at
//! any thread count, in any batches.
//!
//! Each worker interns words into a lexicon of its own (no string is made per token); stop words and stems are worked
//! out once per *distinct* word when those lexicons are merged. Time is O(bytes + distinct · log distinct), memory 4
//! bytes a token plus the lexicons.
//!
//! The same texts can be read in several ways at once ([`WordsParams::views`]): as words, as words whose negations and positions are marked,
//! as character n-grams ([`Chars`]). Ways that share a tokenizer share the reading.
//!
//! ```
//! use corpuscle::Run;
//! use corpuscle::text::{Stemmer, StopList, WordsParams};
//! let words = WordsParams {
//!     stop: Some(StopList::English.into()),
//!     stem: Some(Stemmer::from_name("porter")?),
//!     ..WordsParams::default()
//! };
//! let tokens = words.tokenize(&["The cats sat.", "A cat sits!"], &Run::new(1, 1)?)?;
//! assert_eq!(tokens.n_documents(), 2);
//! assert_eq!(tokens.words(0).collect::<Vec<_>>(), ["cat", "sat"]);
//! assert_eq!(tokens.words(1).collect::<Vec<_>>(), ["cat", "sit"]);
//! # Ok::<(), corpuscle::Error>(())
//! ```

mod builder;
mod chars;
mod classes;
mod filter;
mod intern;
mod lexicon;
mod marks;
mod merge;
mod one_text;
mod packed;
mod params;
mod reader;
mod scan;
mod stem;
mod stop;
mod strip;
mod tokens;

pub use builder::TokensBuilder;
pub use chars::{Chars, CharsParams};
pub use lexicon::Lexicon;
pub(crate) use marks::is_position;
pub(crate) use one_text::Cutter;
pub use packed::PackedTokens;
pub use params::{Tokenizer, WordsParams};
pub(crate) use reader::{Reader, UNKNOWN};
pub use stem::Stemmer;
pub use stop::{Stop, StopList};
pub use strip::Strip;
pub use tokens::Tokens;
