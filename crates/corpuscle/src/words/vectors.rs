//! Words and their vectors.
//!
//! ```
//! use corpuscle::words::WordVectors;
//! let vectors = WordVectors::from_pairs([
//!     ("cat".to_string(), vec![1.0, 0.1]),
//!     ("dog".to_string(), vec![1.0, 0.2]),
//!     ("tax".to_string(), vec![-0.2, 1.0]),
//! ])?;
//! assert_eq!(vectors.neighbours("cat", 1)?[0].word, "dog");
//! # Ok::<(), corpuscle::Error>(())
//! ```

use crate::matrix::{Dense, Table};
use crate::store::{StoreReader, StoreWriter};
use crate::text::Lexicon;
use crate::{Error, Precision, Result};

/// Words in byte order, each with a vector of the same length.
#[derive(Debug, Clone, PartialEq)]
pub struct WordVectors {
    words: Lexicon,
    vectors: Table,
}

/// A word near another.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbour {
    /// The word.
    pub word: String,
    /// The cosine of the angle between the two vectors.
    pub cosine: f32,
}

impl WordVectors {
    /// Vectors of words, a row for each.
    pub fn new(words: Lexicon, vectors: Dense) -> Result<Self> {
        if words.len() != vectors.rows() {
            return Err(Error::Shape { what: "word vectors", expected: words.len(), found: vectors.rows() });
        }
        Ok(WordVectors { words, vectors: Table::new(vectors, true) })
    }

    /// Vectors of words in any order. A word twice, vectors of different lengths and numbers that are not finite are
    /// refused.
    pub fn from_pairs(pairs: impl IntoIterator<Item = (String, Vec<f32>)>) -> Result<Self> {
        let mut pairs: Vec<(String, Vec<f32>)> = pairs.into_iter().collect();
        pairs.sort_by(|a, b| a.0.cmp(&b.0));
        if let Some(pair) = pairs.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(Error::data(format!("the word `{}` has two vectors; leave one out", pair[0].0)));
        }
        let dim = pairs.first().map_or(0, |pair| pair.1.len());
        let mut values = Vec::with_capacity(pairs.len() * dim);
        for (word, vector) in &pairs {
            if vector.len() != dim {
                return Err(Error::Shape { what: "numbers of a word vector", expected: dim, found: vector.len() });
            }
            if !vector.iter().all(|value| value.is_finite()) {
                return Err(Error::data(format!("the vector of `{word}` has a number that is not finite")));
            }
            values.extend_from_slice(vector);
        }
        let words = Lexicon::from_sorted(pairs.iter().map(|pair| pair.0.as_str()));
        WordVectors::new(words, Dense::new(pairs.len(), dim, values)?)
    }

    /// How many words there are.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The length of a vector.
    pub fn dim(&self) -> usize {
        self.vectors().cols()
    }

    /// The words in byte order.
    pub fn words(&self) -> &Lexicon {
        &self.words
    }

    /// The vectors, a row for each word.
    pub fn vectors(&self) -> &Dense {
        self.vectors.wide()
    }

    /// The vector of a word.
    pub fn get(&self, word: &str) -> Option<&[f32]> {
        self.words.id(word).map(|id| self.vectors().row(id as usize))
    }

    /// The same words with vectors of length one; a vector of zeros stays.
    #[must_use]
    pub fn normalized(self) -> Self {
        let mut vectors = self.vectors.into_wide();
        for row in 0..vectors.rows() {
            let vector = vectors.row_mut(row);
            let length = norm(vector);
            if length > 0.0 {
                vector.iter_mut().for_each(|value| *value = (f64::from(*value) / length) as f32);
            }
        }
        WordVectors { words: self.words, vectors: Table::new(vectors, true) }
    }

    /// The same words with vectors as a model of this precision keeps them: in eight bits a value where there are many.
    #[must_use]
    pub fn kept_at(self, precision: Precision) -> Self {
        WordVectors { words: self.words, vectors: Table::at(self.vectors.into_wide(), precision) }
    }

    /// The `k` words whose vectors point most nearly the same way, nearest first; equals in byte order.
    /// O(words · dim).
    pub fn neighbours(&self, word: &str, k: usize) -> Result<Vec<Neighbour>> {
        let Some(own) = self.words.id(word) else { return Err(self.unknown(word)) };
        let vector = self.vectors().row(own as usize);
        let length = norm(vector);
        let mut list: Vec<(f64, u32)> = (0..self.len() as u32)
            .filter(|&other| other != own)
            .map(|other| {
                let row = self.vectors().row(other as usize);
                let inner: f64 = vector.iter().zip(row).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
                let lengths = length * norm(row);
                (if lengths > 0.0 { inner / lengths } else { 0.0 }, other)
            })
            .collect();
        list.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        list.truncate(k);
        Ok(list
            .into_iter()
            .map(|(cosine, id)| Neighbour { word: self.words.term(id).to_string(), cosine: cosine as f32 })
            .collect())
    }

    /// The complaint about a word that has no vector, with the words spelt most like it.
    fn unknown(&self, word: &str) -> Error {
        let mut near: Vec<(usize, &str)> = self
            .words
            .iter()
            .map(|known| (edits(word, known), known))
            .filter(|&(distance, known)| distance <= 1 + known.len().min(word.len()) / 3)
            .collect();
        near.sort_unstable();
        near.truncate(5);
        let names: Vec<String> = near.iter().map(|(_, known)| format!("`{known}`")).collect();
        Error::data(match names.is_empty() {
            true => format!("`{word}` has no vector; {} words have one", self.len()),
            false => format!("`{word}` has no vector; did you mean {}?", names.join(", ")),
        })
    }

    /// Puts words and vectors into a store.
    pub fn save(&self, out: &mut StoreWriter) {
        self.words.save("words", out);
        self.vectors.save("vectors", out);
    }

    /// Takes words and vectors out of a store, checking them whole.
    pub fn load(store: &StoreReader<'_>) -> Result<Self> {
        let words = Lexicon::load("words", store)?;
        let vectors = Table::load(store, "vectors", Some(words.len()), None)?;
        Ok(WordVectors { words, vectors })
    }
}

fn norm(vector: &[f32]) -> f64 {
    vector.iter().map(|&value| f64::from(value) * f64::from(value)).sum::<f64>().sqrt()
}

/// Letters to change, add or leave out between two words (Levenshtein).
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut before = i;
        row[0] = i + 1;
        for j in 0..b.len() {
            let changed = before + usize::from(letter != b[j]);
            before = row[j + 1];
            row[j + 1] = changed.min(before + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::round_trip;

    fn few() -> WordVectors {
        let pair = |word: &str, x: f32, y: f32| (word.to_string(), vec![x, y]);
        WordVectors::from_pairs([pair("b", 3.0, 4.0), pair("a", 1.0, 0.0), pair("d", 0.0, 0.0), pair("c", 0.0, -2.0)])
            .unwrap()
    }

    #[test]
    fn neighbours_are_nearest_first() {
        let found = few().neighbours("a", 9).unwrap();
        let words: Vec<&str> = found.iter().map(|near| near.word.as_str()).collect();
        assert_eq!(words, ["b", "c", "d"]);
        assert!((found[0].cosine - 0.6).abs() < 1e-6);
        assert_eq!(few().neighbours("a", 1).unwrap().len(), 1);
    }

    #[test]
    fn an_unknown_word_gets_suggestions() {
        let vectors =
            WordVectors::from_pairs(["printer", "paper", "password"].map(|w| (w.to_string(), vec![1.0]))).unwrap();
        let message = vectors.neighbours("prniter", 3).unwrap_err().to_string();
        assert!(message.contains("`printer`") && !message.contains("password"), "{message}");
        assert!(vectors.neighbours("zzzzzzzz", 3).unwrap_err().to_string().contains("3 words"));
    }

    #[test]
    fn vectors_survive_the_store_and_lengths_become_one() {
        let vectors = few();
        assert_eq!(round_trip(|out| vectors.save(out), WordVectors::load).unwrap(), vectors);
        let unit = vectors.normalized();
        assert_eq!(unit.get("b").unwrap(), [0.6, 0.8]);
        assert_eq!(unit.get("d").unwrap(), [0.0, 0.0]);
    }

    #[test]
    fn bad_pairs_are_refused() {
        let word = |word: &str, vector: &[f32]| (word.to_string(), vector.to_vec());
        assert!(WordVectors::from_pairs([word("a", &[1.0]), word("a", &[2.0])]).is_err());
        assert!(WordVectors::from_pairs([word("a", &[1.0]), word("b", &[2.0, 3.0])]).is_err());
        assert!(WordVectors::from_pairs([word("a", &[f32::NAN])]).is_err());
    }
}
