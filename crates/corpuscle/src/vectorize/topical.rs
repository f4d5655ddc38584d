//! Topical word vectors: a document as the mean of its tokens' vectors, each that of its word beside that of its topic.
//!
//! `twe` (TWE-1): latent Dirichlet allocation gives every token a topic; skip-gram is trained in which a word and,
//! independently, its topic predict the words around; with unit vectors w⃗ and t⃗, a document is
//!
//! Σ_tokens idf(w) · (w⃗ ⊕ t⃗_z(w)),
//!
//! of unit length: 2 · dim columns. Y. Liu, Z. Liu, T. Chua and M. Sun, "Topical word embeddings" (2015).
//!
//! `ltsg`: topics and vectors in turns. Training is cut into `rounds`; between two of them the words of each topic become
//! (1 − blend) · P(w|k) as counted + blend · P(w|k) as the vectors predict it, and every token gets the topic that is then the most probable
//! in its document. J. Law, H. Zhuo, J. He and E. Rong, "LTSG: latent topical skip-gram for mutually learning topic model
//! and vector representations" (2017).
//!
//! What is left open, or done otherwise. Both: words and topics are trained side by side, where the authors of TWE train words first and then topics
//! over them; the topic of a token of any document, fitted or new, is the most probable one given the document
//! and not a drawn one, so a document has one row. `ltsg`: the authors' mixture of both models' views and the vectors they keep for pairs of word and topic are not
//! described where we could read it; ours has the blend above, with the vectors' view that negative sampling implies,
//! P(w|k) ∝ count(w)^¾ · exp(t_k · u_w), and documents as in `twe`. `dim` is the length of a word's vector; a topic's is as
//! long. Words without a topic or a vector are passed over; a document of such words is all zeros.
//!
//! O(tokens · sweeps · topics / 16) for topics and twice the cost of word vectors; `ltsg` a pass over tokens · topics more a round.
//!
//! ```
//! use corpuscle::{Run, params::Params, text::WordsParams, vectorize::TweParams};
//! let run = Run::new(1, 1)?;
//! let texts: Vec<String> = (0..60).map(|i| format!("{} sat", ["cat dog", "tax law"][i % 2])).collect();
//! let mut params = TweParams::default();
//! for (name, value) in [("dim", "4"), ("topics", "2"), ("sweeps", "5"), ("min_count", "1"), ("epochs", "2")] {
//!     params.set(name, value)?;
//! }
//! let (_, x) = params.fit(&WordsParams::default().tokenize(&texts, &run)?, &run)?;
//! assert_eq!((x.rows(), x.cols()), (60, 8));
//! # Ok::<(), corpuscle::Error>(())
//! ```

use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::space::{WordSpace, add, length, make_unit};
use super::{Columns, DirichletModel, DirichletParams, Vectorizer, VectorizerModel, WordParts};
use crate::matrix::{Dense, Matrix};
use crate::params::{Checks, Param, Params};
use crate::store::{StoreReader, StoreWriter};
use crate::text::Tokens;
use crate::words::{SkipGramParams, Topical};
use crate::{Error, Key, Result, Run, param};

/// Documents in one piece of work, at least.
const PIECE: usize = 64;

/// What both methods share: topics and the training of vectors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Ground {
    training: SkipGramParams,
    topics: usize,
    sweeps: usize,
}

impl Default for Ground {
    fn default() -> Self {
        let training = SkipGramParams { dim: 400, ..SkipGramParams::default() };
        let DirichletParams { topics, sweeps, .. } = DirichletParams::default();
        Ground { training, topics, sweeps }
    }
}

/// Parameters of TWE-1.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TweParams {
    ground: Ground,
}

/// Parameters of latent topical skip-gram.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LtsgParams {
    ground: Ground,
    /// Parts of training between which tokens get new topics.
    pub rounds: usize,
    /// The weight of the vectors' view of a topic's words.
    pub blend: f64,
}

impl Default for LtsgParams {
    fn default() -> Self {
        LtsgParams { ground: Ground::default(), rounds: 5, blend: 0.5 }
    }
}

/// Fitted topical word vectors.
#[derive(Debug, Clone, PartialEq)]
pub struct TopicalModel {
    space: WordSpace,
    /// A unit vector for each topic.
    topics: Dense,
    dirichlet: DirichletModel,
}

impl Ground {
    fn table<P: 'static>(get: fn(&P) -> &Self, get_mut: fn(&mut P) -> &mut Self) -> Vec<Param<P>> {
        let table: [Param<Self>; 8] = [
            param!("dim", training.dim, "length of a word's vector; a topic's is as long"),
            param!("topics", topics, "how many topics"),
            param!("sweeps", sweeps, "how often the topic of every token is drawn"),
            param!("window", training.window, "words to either side that count as context"),
            param!("negatives", training.negatives, "random words set against each pair"),
            param!("min_count", training.min_count, "fewest occurrences of a word with a vector"),
            param!("subsample", training.subsample, "share of all words above which a word is thinned out; 0: none"),
            param!("epochs", training.epochs, "passes over the documents"),
        ];
        table.into_iter().map(|param| param.inside(get, get_mut)).collect()
    }

    fn checks(&self, stage: &'static str) -> Checks {
        self.training
            .checks(stage)
            .that((1..=1 << 14).contains(&self.topics), "topics", &self.topics, "must be from 1 to 16384")
            .that((1..=1 << 20).contains(&self.sweeps), "sweeps", &self.sweeps, "must be from 1 to 1048576")
    }

    /// Topics, and the topic of every token; done once where both methods are compared.
    fn topics(&self, tokens: &Tokens, run: &Run) -> Result<(DirichletModel, Vec<u32>)> {
        let params = DirichletParams { topics: self.topics, sweeps: self.sweeps, ..DirichletParams::default() };
        let key = run.is_sharing().then(|| {
            let key = Key::of("topics of tokens").text(&format!("{params:?}")).key(&tokens.key());
            key.numbers(std::iter::once(run.seed())).finish()
        });
        let bytes =
            |(model, topics): &(DirichletModel, Vec<u32>)| 4 * (topics.len() + model.words().len() * model.n_topics());
        Ok(Arc::unwrap_or_clone(run.shared(key, bytes, || params.fit_tokens(tokens, run))?))
    }

    /// The model of trained vectors.
    fn model(&self, trained: Topical, dirichlet: DirichletModel, tokens: &Tokens) -> Result<TopicalModel> {
        let (words, mut topics) = trained.finish()?;
        (0..topics.rows()).for_each(|topic| {
            make_unit(topics.row_mut(topic));
        });
        Ok(TopicalModel { space: WordSpace::of(words, tokens), topics, dirichlet })
    }
}

impl Params for TweParams {
    const NAME: &'static str = "twe";
    const ABOUT: &'static str = "topical word vectors: words and their topics predict the words around";

    fn table() -> Vec<Param<Self>> {
        Ground::table(|params: &Self| &params.ground, |params| &mut params.ground)
    }

    fn check(&self) -> Result<()> {
        self.ground.checks(Self::NAME).done()
    }
}

impl Params for LtsgParams {
    const NAME: &'static str = "ltsg";
    const ABOUT: &'static str = "topical word vectors and topics learnt in turns, each from the other";

    fn table() -> Vec<Param<Self>> {
        let mut table = Ground::table(|params: &Self| &params.ground, |params| &mut params.ground);
        table.push(param!("rounds", rounds, "parts of training between which tokens get new topics"));
        table.push(param!("blend", blend, "weight of the vectors' view of a topic's words beside that of counts"));
        table
    }

    fn check(&self) -> Result<()> {
        let rounds = (1..=1000).contains(&self.rounds);
        let blend = (0.0..1.0).contains(&self.blend);
        self.ground
            .checks(Self::NAME)
            .that(rounds, "rounds", &self.rounds, "must be from 1 to 1000")
            .that(blend, "blend", &self.blend, "must be at least 0 and below 1")
            .done()
    }
}

impl Vectorizer for TweParams {
    type Model = TopicalModel;
    const MAKES: Columns = Columns::Dimensions;

    fn fit(&self, tokens: &Tokens, run: &Run) -> Result<(TopicalModel, Matrix)> {
        let (model, x) = TweParams::fit(self, tokens, run)?;
        Ok((model, x.into()))
    }

    fn load(&self, store: &StoreReader<'_>) -> Result<TopicalModel> {
        TopicalModel::load(store)
    }
}

impl Vectorizer for LtsgParams {
    type Model = TopicalModel;
    const MAKES: Columns = Columns::Dimensions;

    fn fit(&self, tokens: &Tokens, run: &Run) -> Result<(TopicalModel, Matrix)> {
        let (model, x) = LtsgParams::fit(self, tokens, run)?;
        Ok((model, x.into()))
    }

    fn load(&self, store: &StoreReader<'_>) -> Result<TopicalModel> {
        TopicalModel::load(store)
    }
}

impl TweParams {
    /// Learns topics and vectors; gives the matrix of the fitted documents as well.
    pub fn fit(&self, tokens: &Tokens, run: &Run) -> Result<(TopicalModel, Dense)> {
        self.check()?;
        let Ground { training, .. } = &self.ground;
        let (dirichlet, topics) = self.ground.topics(tokens, run)?;
        let mut trained = Topical::new(training, tokens, self.ground.topics, run)?;
        trained.learn(tokens, &topics, training.epochs, (0.0, 1.0), run)?;
        let model = self.ground.model(trained, dirichlet, tokens)?;
        let x = model.transform(tokens, run)?;
        Ok((model, x))
    }
}

impl LtsgParams {
    /// Learns topics and vectors in turns; gives the matrix of the fitted documents as well.
    pub fn fit(&self, tokens: &Tokens, run: &Run) -> Result<(TopicalModel, Dense)> {
        self.check()?;
        let Ground { training, .. } = &self.ground;
        let (mut dirichlet, mut topics) = self.ground.topics(tokens, run)?;
        let mut trained = Topical::new(training, tokens, self.ground.topics, run)?;
        // No round is without a pass.
        let rounds = self.rounds.min(training.epochs);
        let passes = |round: usize| training.epochs * round / rounds;
        for round in 0..rounds {
            let (from, to) = (passes(round), passes(round + 1));
            let part = (from as f64 / training.epochs as f64, (to - from) as f64 / training.epochs as f64);
            let seeded = run.with_seed(run.seed().wrapping_add(round as u64));
            trained.learn(tokens, &topics, to - from, part, &seeded)?;
            if round + 1 < rounds {
                let given = self.blended(&trained, &dirichlet, &topics, tokens)?;
                dirichlet = dirichlet.with_given(&given);
                topics = dirichlet.token_topics(tokens, run)?;
            }
        }
        let model = self.ground.model(trained, dirichlet, tokens)?;
        let x = model.transform(tokens, run)?;
        Ok((model, x))
    }

    /// P(w|k) of the words of topics, words × topics: as the tokens' topics count it, blended with what the vectors predict for
    /// words that have one.
    fn blended(&self, trained: &Topical, dirichlet: &DirichletModel, topics: &[u32], tokens: &Tokens) -> Result<Dense> {
        /// What every word counts in every topic before any is seen.
        const PRIOR: f64 = 0.01;
        let (words, width) = (dirichlet.words(), dirichlet.n_topics());
        let numbers = tokens.lexicon().map_to(words);
        let mut counts = vec![0u32; words.len() * width];
        let mut totals = vec![PRIOR * words.len() as f64; width];
        for (&id, &topic) in tokens.ids().iter().zip(topics) {
            let word = numbers[id as usize];
            if word != u32::MAX && topic != u32::MAX {
                counts[word as usize * width + topic as usize] += 1;
                totals[topic as usize] += 1.0;
            }
        }
        let predicted = trained.predicted();
        let vectors = words.map_to(trained.words());
        let mut given = Dense::zeros(words.len(), width);
        for (word, row) in given.values_mut().chunks_mut(width).enumerate() {
            for (topic, value) in row.iter_mut().enumerate() {
                let counted = (f64::from(counts[word * width + topic]) + PRIOR) / totals[topic];
                let seen = match vectors[word] {
                    u32::MAX => counted,
                    known => f64::from(predicted.row(known as usize)[topic]),
                };
                *value = ((1.0 - self.blend) * counted + self.blend * seen).max(f64::from(f32::MIN_POSITIVE)) as f32;
            }
        }
        Ok(given)
    }
}

/// A word of a document with its topic and how often they are there together.
type Entry = (u32, u32, u32);

/// The known tokens of documents: numbers of words, and topics.
struct Reader<'a> {
    tokens: &'a Tokens,
    numbers: Vec<u32>,
    topics: Vec<u32>,
}

impl Reader<'_> {
    /// The words of a document with their topics, in order.
    fn read(&self, document: usize, entries: &mut Vec<Entry>) {
        entries.clear();
        let words = self.tokens.document(document).iter().map(|&id| self.numbers[id as usize]);
        let topics = self.topics[self.tokens.offsets()[document] as usize..].iter().copied();
        let known = words.zip(topics).filter(|&(word, topic)| word != u32::MAX && topic != u32::MAX);
        entries.extend(known.map(|(word, topic)| (word, topic, 1)));
        entries.sort_unstable();
        entries.dedup_by(|later, first| {
            let same = (later.0, later.1) == (first.0, first.1);
            first.2 += if same { later.2 } else { 0 };
            same
        });
    }
}

impl TopicalModel {
    /// The matrix of documents.
    pub fn transform(&self, tokens: &Tokens, run: &Run) -> Result<Dense> {
        let reader = self.reader(tokens, run)?;
        let mut x = Dense::zeros(tokens.n_documents(), 2 * self.space.dim());
        run.install(|| {
            let rows = x.values_mut().par_chunks_mut(2 * self.space.dim()).enumerate();
            rows.with_min_len(PIECE).for_each_init(Vec::new, |entries, (document, row)| {
                reader.read(document, entries);
                entries.iter().for_each(|&entry| self.add_entry(entry, row));
                make_unit(row);
            });
        });
        run.check()?;
        Ok(x)
    }

    fn reader<'a>(&self, tokens: &'a Tokens, run: &Run) -> Result<Reader<'a>> {
        let numbers = tokens.lexicon().map_to(self.space.vectors().words());
        Ok(Reader { tokens, numbers, topics: self.dirichlet.token_topics(tokens, run)? })
    }

    /// The words, their unit vectors and weights.
    pub fn space(&self) -> &WordSpace {
        &self.space
    }

    /// A unit vector for each topic.
    pub fn topic_vectors(&self) -> &Dense {
        &self.topics
    }

    fn add_entry(&self, (word, topic, count): Entry, row: &mut [f32]) {
        let weight = count as f32 * self.space.idf()[word as usize];
        let (words, topics) = row.split_at_mut(self.space.dim());
        add(words, weight, self.space.vector(word));
        add(topics, weight, self.topics.row(topic as usize));
    }

    /// Takes a model out of a store, checking it whole.
    pub fn load(store: &StoreReader<'_>) -> Result<Self> {
        let space = WordSpace::load(store)?;
        let dirichlet = DirichletModel::load(&store.scope("dirichlet"))?;
        let topics = Dense::load(store, "topics", Some(dirichlet.n_topics()), Some(space.dim()))?;
        if topics.rows() == 0 {
            return Err(Error::model("there are no topics"));
        }
        Ok(TopicalModel { space, topics, dirichlet })
    }
}

impl VectorizerModel for TopicalModel {
    fn transform(&self, tokens: &Tokens, run: &Run) -> Result<Matrix> {
        Ok(TopicalModel::transform(self, tokens, run)?.into())
    }

    fn n_columns(&self) -> usize {
        2 * self.space.dim()
    }

    fn save(&self, out: &mut StoreWriter) -> Result<()> {
        self.space.save(out);
        self.topics.save("topics", out);
        out.scope("dirichlet", |out| self.dirichlet.save(out))
    }

    /// Dimensions stand for no term.
    fn feature_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn word_space(&self) -> Option<&WordSpace> {
        Some(&self.space)
    }

    /// A word's part is that of its vector and of its topics' vectors in the sum.
    fn word_parts(&self, tokens: &Tokens, weights: &[f32], run: &Run) -> Result<Option<WordParts>> {
        let mut entries = Vec::new();
        self.reader(tokens, run)?.read(0, &mut entries);
        let mut row = vec![0f32; 2 * self.space.dim()];
        entries.iter().for_each(|&entry| self.add_entry(entry, &mut row));
        let all = length(&row).max(f64::MIN_POSITIVE);
        let mut parts: WordParts = Vec::new();
        for same in entries.chunk_by(|a, b| a.0 == b.0) {
            row.fill(0.0);
            same.iter().for_each(|&entry| self.add_entry(entry, &mut row));
            let along: f64 = row.iter().zip(weights).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
            parts.push((self.space.vectors().words().term(same[0].0).to_string(), along / all));
        }
        Ok(Some(parts))
    }
}
