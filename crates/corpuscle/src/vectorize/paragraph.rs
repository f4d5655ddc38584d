//! Paragraph vectors: documents as vectors that predict their own words.
//!
//! `mode=dbow`: the vector d of a document predicts each of its words w against k random ones,
//!
//! log σ(d · u_w) + k · E_{n ~ count^¾} log σ(−d · u_n),
//!
//! whatever their order. `mode=dm`: the mean of d and of the vectors of a window of words predicts the word in the middle.
//! With `words=true` skip-gram vectors of words are trained on the same u, as gensim's `dbow_words` does. Q. Le and T. Mikolov, "Distributed
//! representations of sentences and documents" (2014); negative sampling for their hierarchical softmax, as everybody does.
//!
//! A new document starts at zero and is drawn along by its words for `epochs` passes with all else standing still. Its vector
//! depends on its own words alone, not on the run or on other documents; words never seen are passed over, and a document of
//! such words is all zeros. Rows are of unit length.
//!
//! Where we differ: the rows of the fitted documents are found the same way, not the vectors training ended with. Both kinds look alike
//! but do not lie in the same place, and a classifier that learns from one kind is then asked about the other. So a model has no vector of any
//! training document in its file either: 4 · words · dim bytes for dbow, twice that for dm. How training is cut, so that the
//! same seed gives the same bits at any number of threads, is in `words/skip_gram/paragraphs.rs`.
//!
//! O(tokens · dim) per pass for dbow and O(tokens · window · dim) for dm, in training and for new documents.
//!
//! ```
//! use corpuscle::{Run, text::WordsParams, vectorize::ParagraphParams};
//! let run = Run::new(1, 1)?;
//! let texts: Vec<String> = (0..200).map(|i| format!("the {} sat", ["cat", "dog"][i % 2])).collect();
//! let words = WordsParams::default();
//! let mut params = ParagraphParams::default();
//! params.training.dim = 8;
//! params.training.min_count = 1;
//! let (model, x) = params.fit(&words.tokenize(&texts, &run)?, &run)?;
//! let new = model.transform(&words.tokenize(&["the cat sat", "zebra"], &run)?, &run)?;
//! assert_eq!(new.row(0), x.row(0));
//! assert!(new.row(1).iter().all(|&value| value == 0.0));
//! # Ok::<(), corpuscle::Error>(())
//! ```

use serde::{Deserialize, Serialize};

use super::space::make_unit;
use super::{Columns, Vectorizer, VectorizerModel, WordParts};
use crate::matrix::{Dense, Matrix};
use crate::params::{Param, Params};
use crate::store::{StoreReader, StoreWriter};
use crate::text::{Lexicon, Tokens};
use crate::words::{Paragraphs, Reading, SkipGramParams};
use crate::{Result, Run, param};

/// What predicts the words of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ParagraphMode {
    /// Its vector alone.
    #[default]
    Dbow,
    /// The mean of its vector and of the words around.
    Dm,
}

crate::words!(ParagraphMode { Dbow = "dbow", Dm = "dm" });

/// Parameters of paragraph vectors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ParagraphParams {
    /// What predicts the words of a document.
    pub mode: ParagraphMode,
    /// Whether `dbow` trains vectors of words beside.
    pub words: bool,
    /// How vectors are trained; what predicts what is set by the mode.
    pub training: SkipGramParams,
}

impl Default for ParagraphParams {
    fn default() -> Self {
        let training = SkipGramParams { dim: 400, negatives: 5, min_count: 5, epochs: 20, ..SkipGramParams::default() };
        ParagraphParams { mode: ParagraphMode::default(), words: false, training }
    }
}

/// Fitted paragraph vectors.
#[derive(Debug, Clone, PartialEq)]
pub struct ParagraphModel {
    paragraphs: Paragraphs,
    training: SkipGramParams,
}

impl Params for ParagraphParams {
    const NAME: &'static str = "paragraph";
    const ABOUT: &'static str = "paragraph vectors: documents as vectors that predict their words";

    fn table() -> Vec<Param<Self>> {
        vec![
            param!("mode", mode, "what predicts a word: the document alone, or with the words around"),
            param!("dim", training.dim, "length of a vector"),
            param!("words", words, "whether dbow trains vectors of words beside, by skip-gram"),
            param!("window", training.window, "words to either side that count as context, for dm and words"),
            param!("negatives", training.negatives, "random words set against each word"),
            param!("min_count", training.min_count, "fewest occurrences of a word that is predicted"),
            param!("subsample", training.subsample, "share of all words above which a word is thinned out; 0: none"),
            param!("epochs", training.epochs, "passes over the documents, in training and for a new document"),
            param!("rate", training.rate, "the rate of the first step"),
        ]
    }

    fn check(&self) -> Result<()> {
        self.training.checks(Self::NAME).done()
    }
}

impl Vectorizer for ParagraphParams {
    type Model = ParagraphModel;
    const MAKES: Columns = Columns::Dimensions;

    fn fit(&self, tokens: &Tokens, run: &Run) -> Result<(ParagraphModel, Matrix)> {
        let (model, x) = ParagraphParams::fit(self, tokens, run)?;
        Ok((model, x.into()))
    }

    fn load(&self, store: &StoreReader<'_>) -> Result<ParagraphModel> {
        self.load_model(store)
    }
}

impl ParagraphParams {
    /// Learns vectors of words; gives the matrix of the fitted documents as well.
    pub fn fit(&self, tokens: &Tokens, run: &Run) -> Result<(ParagraphModel, Dense)> {
        self.check()?;
        let reading = match (self.mode, self.words) {
            (ParagraphMode::Dm, _) => Reading::Mean,
            (ParagraphMode::Dbow, true) => Reading::BesideWords,
            (ParagraphMode::Dbow, false) => Reading::Alone,
        };
        let paragraphs = self.training.fit_paragraphs(reading, tokens, run)?;
        let model = ParagraphModel { paragraphs, training: self.training.clone() };
        let x = model.transform(tokens, run)?;
        Ok((model, x))
    }

    fn load_model(&self, store: &StoreReader<'_>) -> Result<ParagraphModel> {
        let words = Lexicon::load("words", store)?;
        let counts = store.u64s("counts", Some(words.len()))?;
        let inputs = match self.mode {
            ParagraphMode::Dm => Dense::load(store, "inputs", Some(words.len()), Some(self.training.dim))?,
            ParagraphMode::Dbow => Dense::zeros(0, self.training.dim),
        };
        let outputs = Dense::load(store, "outputs", Some(words.len()), Some(self.training.dim))?;
        let paragraphs = Paragraphs::new(words, counts, &inputs, &outputs)?;
        Ok(ParagraphModel { paragraphs, training: self.training.clone() })
    }
}

impl ParagraphModel {
    /// The matrix of documents; words without a vector are passed over, and a document of such words is all zeros.
    pub fn transform(&self, tokens: &Tokens, run: &Run) -> Result<Dense> {
        let mut x = self.paragraphs.infer(&self.training, tokens, run)?;
        for row in 0..x.rows() {
            make_unit(x.row_mut(row));
        }
        Ok(x)
    }
}

impl VectorizerModel for ParagraphModel {
    fn transform(&self, tokens: &Tokens, run: &Run) -> Result<Matrix> {
        Ok(ParagraphModel::transform(self, tokens, run)?.into())
    }

    fn n_columns(&self) -> usize {
        self.paragraphs.dim()
    }

    fn save(&self, out: &mut StoreWriter) -> Result<()> {
        self.paragraphs.words().save("words", out);
        out.put_u64("counts", self.paragraphs.counts());
        let (inputs, outputs) = self.paragraphs.tables()?;
        if inputs.rows() > 0 {
            inputs.save("inputs", out);
        }
        outputs.save("outputs", out);
        Ok(())
    }

    /// Dimensions stand for no term.
    fn feature_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn has_word_parts(&self) -> bool {
        true
    }

    /// A word's part is what its steps have added to the vector, with its share of the negatives they met.
    fn word_parts(&self, tokens: &Tokens, weights: &[f32], run: &Run) -> Result<Option<WordParts>> {
        let (mut row, parts) = self.paragraphs.parts(&self.training, tokens, weights, run)?;
        let length = make_unit(&mut row).max(f64::MIN_POSITIVE);
        let word = |(word, part): (u32, f64)| (self.paragraphs.words().term(word).to_string(), part / length);
        Ok(Some(parts.into_iter().map(word).collect()))
    }
}
