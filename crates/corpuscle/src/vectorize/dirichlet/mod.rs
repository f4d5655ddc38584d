//! Latent Dirichlet allocation: documents as mixtures of topics, topics as distributions over words.
//!
//! Every token has a topic drawn from its document's topics, and its word is drawn from that topic's words:
//! P(w | d) = Σ_k θ_dk · φ_kw with θ_d ~ Dirichlet(α) and φ_k ~ Dirichlet(β). D. Blei, A. Ng and M. Jordan, "Latent Dirichlet
//! allocation" (2003). θ and φ are integrated out and topics of tokens drawn in turn: T. Griffiths and M. Steyvers,
//! "Finding scientific topics" (2004), over batches whose counts stand still, after D. Newman, A. Asuncion, P. Smyth and M.
//! Welling, "Distributed algorithms for topic models" (2009). α (one value a topic) and β (one for all words) are learnt.
//!
//! - φ is the mean of the counts of the last sweeps, smoothed by β.
//! - θ of a document, fitted or new, is the fixed point of its expected counts under φ: nothing is drawn, so the same text has the
//!   same row everywhere. A text without known words has the mean of the prior.
//! - Terms are single words; words in fewer than `min_df` documents are left out, since one document tells nothing about topics.
//!
//! O(tokens · topics / 16) small steps a sweep; memory of a word number and a topic for every token, and two tables of words × topics.
//!
//! ```
//! use corpuscle::{Run, text::WordsParams, vectorize::DirichletParams};
//! let run = Run::new(1, 1)?;
//! let texts: Vec<&str> = (0..40).map(|i| ["cat dog cat bird", "tax law court tax"][i % 2]).collect();
//! let tokens = WordsParams::default().tokenize(&texts, &run)?;
//! let (model, x) = DirichletParams { topics: 2, ..DirichletParams::default() }.fit(&tokens, &run)?;
//! assert_eq!((x.rows(), x.cols()), (40, 2));
//! assert!(x.row(0)[0].max(x.row(0)[1]) > 0.9 && (x.row(0)[0] - x.row(1)[0]).abs() > 0.8);
//! let topics = model.token_topics(&tokens, &run)?;
//! assert!(topics[0] == topics[1] && topics[0] != topics[4]);
//! # Ok::<(), corpuscle::Error>(())
//! ```

mod infer;
mod kernel;
mod model;
mod perplexity;
mod prior;
mod sampler;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use model::DirichletModel;
pub use perplexity::completion_perplexity;

use self::prior::Priors;
use self::sampler::{Sampler, Texts};
use super::{Bound, Columns, CountsParams, Vectorizer};
use crate::matrix::{Dense, Matrix};
use crate::params::{Param, Params};
use crate::store::StoreReader;
use crate::text::Tokens;
use crate::wide::registers::WIDTH;
use crate::{Error, Result, Run, param};

/// Sweeps whose counts are averaged at the end, at most.
const AVERAGED: usize = 20;
/// Priors are learnt anew every so many sweeps.
const LEARN_EVERY: usize = 5;
/// What priors start from: all α together, and β. On 20 Newsgroups with 80 topics, 0.1 for each topic instead takes half as many
/// sweeps again to the same perplexity, and 0.01 ends higher.
const ALPHA: f64 = 2.5;
const BETA: f64 = 0.01;

/// Parameters of latent Dirichlet allocation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DirichletParams {
    /// How many topics.
    pub topics: usize,
    /// How often the topic of every token is drawn.
    pub sweeps: usize,
    /// Words in fewer documents are left out.
    pub min_df: Bound,
    /// Words in more documents are left out.
    pub max_df: Bound,
    /// Keeps this many most frequent words.
    pub max_features: Option<usize>,
}

impl Default for DirichletParams {
    fn default() -> Self {
        DirichletParams {
            topics: 80,
            sweeps: 150,
            min_df: Bound::Count(2),
            max_df: Bound::Share(1.0),
            max_features: None,
        }
    }
}

impl Params for DirichletParams {
    const NAME: &'static str = "dirichlet";
    const ABOUT: &'static str = "the shares of topics in a document: latent Dirichlet allocation";

    fn table() -> Vec<Param<Self>> {
        vec![
            param!("topics", topics, "how many topics"),
            param!("sweeps", sweeps, "how often the topic of every token is drawn"),
            param!("min_df", min_df, "fewest documents of a word: a count or, with a point, a share such as 0.01"),
            param!("max_df", max_df, "most documents of a word: a count or, with a point, a share"),
            param!("max_features", max_features, "keeps this many most frequent words"),
        ]
    }

    fn check(&self) -> Result<()> {
        let checks = self.counts().checks(Self::NAME);
        let checks =
            checks.that((1..=1 << 14).contains(&self.topics), "topics", &self.topics, "must be from 1 to 16384");
        checks.that((1..=1 << 20).contains(&self.sweeps), "sweeps", &self.sweeps, "must be from 1 to 1048576").done()
    }
}

impl Vectorizer for DirichletParams {
    type Model = DirichletModel;
    const MAKES: Columns = Columns::Dimensions;

    fn fit(&self, tokens: &Tokens, run: &Run) -> Result<(DirichletModel, Matrix)> {
        let (model, x) = DirichletParams::fit(self, tokens, run)?;
        Ok((model, x.into()))
    }

    fn load(&self, store: &StoreReader<'_>) -> Result<DirichletModel> {
        DirichletModel::load(store)
    }
}

/// What sweeps leave behind.
struct Sampled {
    priors: Priors,
    /// The counts of the last sweeps, summed up, and how many sweeps these were.
    sums: Vec<[i32; WIDTH]>,
    samples: usize,
    /// The topic of each known token in the last sweep.
    assigned: Vec<u16>,
}

impl DirichletParams {
    fn counts(&self) -> CountsParams {
        CountsParams {
            min_df: self.min_df,
            max_df: self.max_df,
            max_features: self.max_features,
            ..CountsParams::default()
        }
    }

    /// Learns topics; gives the shares of topics in the fitted documents as well.
    pub fn fit(&self, tokens: &Tokens, run: &Run) -> Result<(DirichletModel, Dense)> {
        let (model, _) = self.learn(tokens, run)?;
        let x = model.transform(tokens, run)?;
        Ok((model, x))
    }

    /// Learns topics; gives the topic that the last sweep drew for each token as well, in the order of [`Tokens::ids`];
    /// `u32::MAX` for words that are left out.
    pub fn fit_tokens(&self, tokens: &Tokens, run: &Run) -> Result<(DirichletModel, Vec<u32>)> {
        let (model, drawn) = self.learn(tokens, run)?;
        let known = model.numbers(tokens);
        let mut drawn = drawn.into_iter();
        let topic = |id: &u32| match known[*id as usize] {
            u32::MAX => u32::MAX,
            _ => drawn.next().map_or(u32::MAX, u32::from),
        };
        Ok((model, tokens.ids().iter().map(topic).collect()))
    }

    /// The model and the topics of known tokens.
    fn learn(&self, tokens: &Tokens, run: &Run) -> Result<(DirichletModel, Vec<u16>)> {
        self.check()?;
        let documents = tokens.n_documents();
        if tokens.n_tokens() > 0 && self.min_df.of(documents) > documents as f64 {
            return Err(Error::data(format!(
                "{}: a word must be in {} documents, and there is only {documents}; topics need more documents, or min_df = 1",
                Self::NAME,
                self.min_df
            )));
        }
        let selected = super::select::select(tokens, &self.counts(), Self::NAME, run)?;
        let words = selected.vocabulary.words().clone();
        let texts = known_words(tokens, &words);
        if texts.n_documents() < self.topics {
            run.warn(&format!(
                "{}: {} topics for {} documents with known words: some topics will stay empty or say the same",
                Self::NAME,
                self.topics,
                texts.n_documents()
            ));
        }
        if texts.words.len() > i32::MAX as usize {
            return Err(Error::data(format!("{}: more than 2 147 483 647 words in all documents", Self::NAME)));
        }
        let sampled = run.stage("topics", Some(self.sweeps as u64), || self.sample(&texts, run))?;
        let Sampled { priors, sums, samples, assigned } = sampled;
        Ok((DirichletModel::new(words, self.topics, &priors, &sums, samples), assigned))
    }

    /// Sweeps over the documents.
    fn sample(&self, texts: &Texts, run: &Run) -> Result<Sampled> {
        let mut sampler = Sampler::new(texts, self.topics);
        let mut priors = Priors { alpha: vec![ALPHA / self.topics as f64; self.topics], beta: BETA };
        // Sums must not run over: a corpus of more than a hundred million words needs no mean.
        let most = (i32::MAX as usize / texts.words.len().max(1)).clamp(1, AVERAGED);
        let averaged = (self.sweeps / 5).clamp(1, most);
        let mut sums: Vec<[i32; WIDTH]> = Vec::new();
        for sweep in 0..self.sweeps {
            sampler.sweep(sweep as u64, &priors, run)?;
            if sweep % LEARN_EVERY == LEARN_EVERY - 1 {
                let (topics, lengths) = sampler.histograms();
                priors.learn_alpha(&topics, &lengths);
                priors.learn_beta(&sampler.counts, &sampler.totals, texts.n_words);
            }
            if sweep + averaged == self.sweeps {
                sums = sampler.counts.clone();
            } else if sweep + averaged > self.sweeps {
                sampler.add_to(&mut sums);
            }
            run.advance(1);
        }
        Ok(Sampled { priors, sums, samples: averaged, assigned: sampler.assigned })
    }
}

/// The known words of documents, as numbers of `words`.
fn known_words(tokens: &Tokens, words: &crate::text::Lexicon) -> Texts {
    let numbers = tokens.lexicon().map_to(words);
    let mut known = Vec::with_capacity(tokens.n_tokens());
    let mut offsets = Vec::with_capacity(tokens.n_documents() + 1);
    offsets.push(0);
    for document in 0..tokens.n_documents() {
        let ids = tokens.document(document).iter().map(|&id| numbers[id as usize]);
        known.extend(ids.filter(|&word| word != u32::MAX));
        // Documents without a known word play no part.
        if offsets.last() != Some(&(known.len() as u64)) {
            offsets.push(known.len() as u64);
        }
    }
    known.shrink_to_fit();
    Texts { words: known, offsets, n_words: words.len() }
}
