//! Made-up corpora for benchmarks: the shape of real text without its content.
//!
//! Words follow Zipf's law; each topic has a small share of words of its own, so that classifiers have something to
//! find; documents have between half and one and a half times the mean length. The same numbers give the same corpus.

use std::fmt::Write;

use corpuscle::corpus::Document;
use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The size of a made-up corpus.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Documents.
    pub documents: usize,
    /// Different words that can occur.
    pub vocabulary: usize,
    /// Topics, one per document.
    pub topics: usize,
    /// Mean words per document.
    pub words: usize,
}

impl Shape {
    /// Short documents, such as snippets and tickets.
    pub fn short(documents: usize) -> Self {
        Shape { documents, vocabulary: 100_000, topics: 20, words: 15 }
    }
}

/// The documents of a made-up corpus, one after the other.
pub fn documents(shape: Shape, seed: u64) -> impl Iterator<Item = Document> + Send {
    (0..shape.documents).map(move |number| {
        // Each document has its own stream, so that a corpus is the beginning of any larger one.
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed ^ (number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let topic = rng.random_range(0..shape.topics);
        let length = rng.random_range(shape.words.div_ceil(2)..=shape.words + shape.words / 2);
        let mut text = String::with_capacity(length * 8);
        for _ in 0..length {
            let own = rng.random_range(0..5) == 0;
            let rank = zipf(&mut rng, if own { shape.vocabulary / 50 } else { shape.vocabulary });
            // A topic's own words are every `topics`-th word of the vocabulary.
            let word = if own { (rank * shape.topics + topic) % shape.vocabulary } else { rank };
            let _ = write!(text, "{} ", Word(word));
        }
        Document::new(number.to_string(), text).labelled(format!("topic{topic}"))
    })
}

/// A rank with probability about 1/rank, by the inverse of the continuous distribution.
fn zipf(rng: &mut impl Rng, n: usize) -> usize {
    let u: f64 = rng.random();
    ((n as f64 + 1.0).powf(u) - 1.0) as usize
}

/// A number spelt as a pronounceable word.
struct Word(usize);

impl std::fmt::Display for Word {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const CONSONANTS: &[u8] = b"bcdfghjklmnprstvwz";
        const VOWELS: &[u8] = b"aeiou";
        let mut rest = self.0 + CONSONANTS.len() * VOWELS.len();
        while rest > 0 {
            let syllable = rest % (CONSONANTS.len() * VOWELS.len());
            rest /= CONSONANTS.len() * VOWELS.len();
            f.write_char(CONSONANTS[syllable % CONSONANTS.len()].into())?;
            f.write_char(VOWELS[syllable / CONSONANTS.len()].into())?;
        }
        Ok(())
    }
}

/// The most memory this process has held so far, in bytes, where the system tells.
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

/// Processor time of this process in user mode so far, of all threads; 0 where the system does not say.
pub fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(11)?.parse::<f64>().ok());
    ticks.unwrap_or(0.0) / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_corpus_is_the_beginning_of_a_larger_one() {
        let small: Vec<Document> = documents(Shape::short(50), 1).collect();
        let large: Vec<Document> = documents(Shape::short(200), 1).take(50).collect();
        assert_eq!(small, large);
        let words = small.iter().map(|document| document.text.split_whitespace().count()).sum::<usize>();
        assert!((500..1000).contains(&words), "{words}");
    }

    #[test]
    fn different_numbers_are_different_words() {
        let words: std::collections::HashSet<String> = (0..20_000).map(|n| Word(n).to_string()).collect();
        assert_eq!(words.len(), 20_000);
    }
}
