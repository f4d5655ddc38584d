//! The words of documents as unit vectors with the weight of rarity: what SCDV and its kin start from.
//!
//! idf(w) = 1 + ln((n + 1) / (d + 1)) for n documents of which d have the word.

use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::fill::{PIECE, Rows, join};
use crate::matrix::Csr;
use crate::params::{Checks, Form, Kind, Param, Value};
use crate::store::{StoreReader, StoreWriter};
use crate::text::Tokens;
use crate::words::{SkipGramParams, WordVectors};
use crate::{Error, Key, Result, Run, param};

/// Where word vectors come from.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SpaceParams {
    /// How they are trained.
    pub training: SkipGramParams,
    /// A file to take them from instead, in any format [`WordVectors::read`] knows.
    pub vectors: Option<String>,
}

/// The word for no file.
const NONE: &str = "none";

impl Value for Option<String> {
    fn read(text: &str) -> Option<Self> {
        match text {
            NONE => Some(None),
            "" => None,
            _ => Some(Some(text.to_string())),
        }
    }

    fn show(&self) -> String {
        self.clone().unwrap_or(NONE.to_string())
    }

    fn form() -> Form {
        Form::of(Kind::Text).or(NONE)
    }
}

/// Unit vectors of words, and how rare the words are.
#[derive(Debug, Clone, PartialEq)]
pub struct WordSpace {
    vectors: WordVectors,
    idf: Vec<f32>,
}

/// A word of a document and how often it is there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) word: u32,
    pub(super) count: u32,
}

impl SpaceParams {
    pub(super) fn checks(&self, stage: &'static str) -> Checks {
        self.training.checks(stage)
    }

    /// The length of the vectors, which comes first in every table.
    pub(super) fn first_param<P: 'static>(get: fn(&P) -> &Self, get_mut: fn(&mut P) -> &mut Self) -> Param<P> {
        Self::param_of_dim().inside(get, get_mut)
    }

    fn param_of_dim() -> Param<Self> {
        param!("dim", training.dim, "length of a word vector")
    }

    /// The other parameters, as part of a method that holds them.
    pub(super) fn other_params<P: 'static>(
        get: fn(&P) -> &Self,
        get_mut: fn(&mut P) -> &mut Self,
    ) -> impl Iterator<Item = Param<P>> {
        let table: [Param<Self>; 8] = [
            param!("window", training.window, "words to either side that count as context"),
            param!("negatives", training.negatives, "random words set against each pair"),
            param!("min_count", training.min_count, "fewest occurrences of a word with a vector"),
            param!("subsample", training.subsample, "share of all words above which a word is thinned out; 0: none"),
            param!("epochs", training.epochs, "passes over the documents"),
            param!(
                "training",
                training.architecture,
                "a word predicts its context, or the other way round, or neither: words as lsi has them"
            ),
            param!(
                "deterministic",
                training.deterministic,
                "false: threads do not wait for each other, no two runs are equal"
            ),
            param!(
                "vectors",
                vectors,
                "a file of word vectors to use instead of training: word2vec, GloVe or fastText"
            ),
        ];
        table.into_iter().map(move |param| param.inside(get, get_mut))
    }

    /// Trains or reads the vectors of the words of `tokens`, makes them of length one, and weighs the words.
    pub fn fit(&self, tokens: &Tokens, run: &Run) -> Result<WordSpace> {
        // Stages that differ only in what they do with the vectors have them in common.
        let key = run.is_sharing().then(|| {
            let key = Key::of("word space").text(&format!("{self:?} {:?}", run.precision())).key(&tokens.key());
            key.numbers(std::iter::once(run.seed())).finish()
        });
        Ok(Arc::unwrap_or_clone(run.shared(
            key,
            |space: &WordSpace| 4 * space.dim() * space.idf.len(),
            || self.fit_anew(tokens, run),
        )?))
    }

    fn fit_anew(&self, tokens: &Tokens, run: &Run) -> Result<WordSpace> {
        let vectors = match &self.vectors {
            None => self.training.fit(tokens, run)?,
            Some(path) => WordVectors::read_only(path, tokens.lexicon())?,
        };
        let WordSpace { vectors, idf } = WordSpace::of(vectors, tokens);
        // Rounded before anything is learnt of them, so that clusters and documents are those of the vectors in the file.
        Ok(WordSpace { vectors: vectors.kept_at(run.precision()), idf })
    }
}

impl WordSpace {
    /// Vectors made of length one, and how rare their words are in these documents.
    pub(super) fn of(vectors: WordVectors, tokens: &Tokens) -> Self {
        let numbers = tokens.lexicon().map_to(vectors.words());
        let mut frequencies = vec![0u32; vectors.len()];
        let mut last = vec![u32::MAX; vectors.len()];
        for document in 0..tokens.n_documents() {
            for &id in tokens.document(document) {
                let word = numbers[id as usize];
                if word != u32::MAX && last[word as usize] != document as u32 {
                    last[word as usize] = document as u32;
                    frequencies[word as usize] += 1;
                }
            }
        }
        let documents = tokens.n_documents() as f64 + 1.0;
        let idf = frequencies.iter().map(|&d| ((documents / (f64::from(d) + 1.0)).ln() + 1.0) as f32).collect();
        WordSpace { vectors: vectors.normalized(), idf }
    }

    /// The words with their unit vectors.
    pub fn vectors(&self) -> &WordVectors {
        &self.vectors
    }

    /// The weight of each word.
    pub fn idf(&self) -> &[f32] {
        &self.idf
    }

    pub(super) fn dim(&self) -> usize {
        self.vectors.dim()
    }

    pub(super) fn vector(&self, word: u32) -> &[f32] {
        self.vectors.vectors().row(word as usize)
    }

    /// Calls `work(scratch, document, entries)` for every document, with its known words in order and their counts, and
    /// gives the results in order. Pieces of documents go to the workers.
    pub(super) fn for_each<S, R: Send>(
        &self,
        tokens: &Tokens,
        run: &Run,
        scratch: impl Fn() -> S + Sync + Send,
        work: impl Fn(&mut S, usize, &[Entry]) -> R + Sync,
    ) -> Result<Vec<Vec<R>>> {
        run.install(|| {
            let numbers = tokens.lexicon().map_to(self.vectors.words());
            let documents = tokens.n_documents();
            (0..documents.div_ceil(PIECE))
                .into_par_iter()
                .map_init(
                    || (scratch(), vec![0u32; self.vectors.len()], Vec::new()),
                    |(scratch, counts, entries): &mut (S, Vec<u32>, Vec<Entry>), piece| {
                        run.check()?;
                        let range = piece * PIECE..documents.min((piece + 1) * PIECE);
                        let one = |document| {
                            entries.clear();
                            for &id in tokens.document(document) {
                                let word = numbers[id as usize];
                                if word != u32::MAX {
                                    let count = &mut counts[word as usize];
                                    if *count == 0 {
                                        entries.push(Entry { word, count: 0 });
                                    }
                                    *count = count.saturating_add(1);
                                }
                            }
                            entries.sort_unstable_by_key(|entry| entry.word);
                            for entry in entries.iter_mut() {
                                entry.count = std::mem::take(&mut counts[entry.word as usize]);
                            }
                            work(scratch, document, entries)
                        };
                        Ok(range.map(one).collect())
                    },
                )
                .collect()
        })
    }

    /// The sparse matrix whose rows are what `work(scratch, entries, row)` adds.
    pub(super) fn fill<S>(
        &self,
        tokens: &Tokens,
        columns: usize,
        run: &Run,
        scratch: impl Fn() -> S + Sync + Send,
        work: impl Fn(&mut S, &[Entry], &mut Rows) + Sync,
    ) -> Result<Csr> {
        let both = || (scratch(), Rows::default());
        let pieces = self.for_each(tokens, run, both, |(scratch, row), _, entries| {
            row.columns.clear();
            row.values.clear();
            work(scratch, entries, row);
            // Copies are as long as they need to be; what grows in steps would hold up to twice that.
            Rows { columns: row.columns.clone(), values: row.values.clone(), lengths: vec![row.columns.len() as u32] }
        })?;
        run.install(|| join(columns, pieces.into_iter().flatten().collect()))
    }

    pub(super) fn save(&self, out: &mut StoreWriter) {
        self.vectors.save(out);
        out.put_f32("idf", &[self.idf.len()], &self.idf);
    }

    pub(super) fn load(store: &StoreReader<'_>) -> Result<Self> {
        let vectors = WordVectors::load(store)?;
        let (idf, _) = store.f32s("idf", &[Some(vectors.len())])?;
        if vectors.is_empty() || vectors.dim() == 0 {
            return Err(Error::model("there are no word vectors"));
        }
        Ok(WordSpace { vectors, idf })
    }
}

/// `to += scale · from`.
#[inline]
pub(super) fn add(to: &mut [f32], scale: f32, from: &[f32]) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to += scale * from;
    }
}

/// Divides by the length, unless it is 0, and gives that length.
pub(super) fn make_unit(row: &mut [f32]) -> f64 {
    let length = length(row);
    if length > 0.0 {
        row.iter_mut().for_each(|value| *value = (f64::from(*value) / length) as f32);
    }
    length
}

pub(super) fn length(row: &[f32]) -> f64 {
    let mut sums = [0f64; 8];
    let (eights, rest) = row.as_chunks::<8>();
    for eight in eights {
        for i in 0..8 {
            sums[i] += f64::from(eight[i]) * f64::from(eight[i]);
        }
    }
    let rest: f64 = rest.iter().map(|&value| f64::from(value) * f64::from(value)).sum();
    (sums.iter().sum::<f64>() + rest).sqrt()
}
