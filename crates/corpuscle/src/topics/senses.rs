//! Words that live in several topics, and so have several senses.
//!
//! A sense of a word is a topic c with P(c|w) of at least some probability; two or more of them make a word ambiguous. Table 5 of the
//! SCDV paper shows such words with the words of their clusters. An example of a sense is a sentence with the word whose other words
//! are most in that sense's topic: the mean of their P(c|w).

use serde::Serialize;

use super::TopicTable;
use crate::Result;
use crate::text::{Cutter, WordsParams};

/// A word and its senses, most probable first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WordSenses {
    /// The word.
    pub word: String,
    /// Its senses.
    pub senses: Vec<Sense>,
}

/// One sense of a word.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sense {
    /// The topic's number.
    pub topic: usize,
    /// P(c|w).
    pub probability: f64,
    /// The topic's most probable words.
    pub words: Vec<String>,
    /// Sentences with the word in this sense, the clearest first; filled by [`examples`].
    pub examples: Vec<Example>,
}

/// A sentence with a word in one of its senses.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Example {
    /// The sentence.
    pub text: String,
    /// The mean of P(c|w) over its other words.
    pub fit: f64,
}

/// The topics of a word of probability `least` or more, with `count` words each. `None` for a word that is not known.
pub fn senses_of(table: &TopicTable, word: &str, least: f64, count: usize) -> Option<WordSenses> {
    let row = table.row_of(word)?;
    let mut topics: Vec<(usize, f64)> =
        table.topics_of(row).into_iter().enumerate().filter(|topic| topic.1 >= least).collect();
    topics.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let sense = |(topic, probability)| {
        let words = table.top_words(topic, count).into_iter().map(|(row, _)| table.words()[row].clone()).collect();
        Sense { topic, probability, words, examples: Vec::new() }
    };
    Some(WordSenses { word: word.to_string(), senses: topics.into_iter().map(sense).collect() })
}

/// The words that are most evenly in two or more topics, each at `least` or above: those of largest second probability times the
/// square root of P(w), so that words nobody meets do not come first. `count` of them, with `words` words for each sense.
pub fn most_ambiguous(table: &TopicTable, least: f64, count: usize, words: usize) -> Vec<WordSenses> {
    let mut found: Vec<(f64, usize)> = (0..table.words().len())
        .filter_map(|row| {
            let mut topics = table.topics_of(row);
            topics.sort_by(|a, b| b.total_cmp(a));
            let second = topics.get(1).copied().filter(|&second| second >= least)?;
            Some((second * table.word_weight(row).sqrt(), row))
        })
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    found.truncate(count);
    found.into_iter().filter_map(|(_, row)| senses_of(table, &table.words()[row], least, words)).collect()
}

/// Looks for sentences with the words in texts, and gives each sense the `count` clearest.
pub fn examples(
    found: &mut [WordSenses],
    table: &TopicTable,
    texts: impl IntoIterator<Item = impl AsRef<str>>,
    words: &WordsParams,
    count: usize,
) -> Result<()> {
    let rows: std::collections::HashMap<&str, usize> = table.words().iter().map(String::as_str).zip(0..).collect();
    let cutter = Cutter::new(words)?;
    for text in texts {
        for sentence in sentences(text.as_ref()) {
            let tokens = cutter.terms(sentence);
            // One or two words are no context, and hundreds no sentence.
            if !(4..=60).contains(&tokens.len()) {
                continue;
            }
            for own in found.iter_mut().filter(|own| tokens.contains(&own.word)) {
                let mut sums = vec![0f64; table.n_topics()];
                let mut known = 0.0;
                for row in
                    tokens.iter().filter(|token| **token != own.word).filter_map(|token| rows.get(token.as_str()))
                {
                    sums.iter_mut().zip(table.topics_of(*row)).for_each(|(sum, share)| *sum += share);
                    known += 1.0;
                }
                if known < 3.0 {
                    continue;
                }
                for sense in &mut own.senses {
                    let fit = sums[sense.topic] / known;
                    let at = sense.examples.partition_point(|example| example.fit >= fit);
                    let text = sentence.split_whitespace().collect::<Vec<_>>().join(" ");
                    if at < count && sense.examples.iter().all(|example| example.text != text) {
                        sense.examples.insert(at, Example { text, fit });
                        sense.examples.truncate(count);
                    }
                }
            }
        }
    }
    Ok(())
}

/// Runs of text up to `.`, `!` or `?` before white space, or an empty line.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split("\n\n").flat_map(|paragraph| {
        let mut rest = paragraph;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let mut ends =
                rest.char_indices().filter(|(_, c)| matches!(c, '.' | '!' | '?')).map(|(at, c)| at + c.len_utf8());
            let end = ends.find(|&end| rest[end..].starts_with(char::is_whitespace)).unwrap_or(rest.len());
            let (sentence, after) = rest.split_at(end);
            rest = after;
            Some(sentence.trim())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Dense;

    fn table() -> TopicTable {
        let words = ["bank", "boat", "loan", "money", "river", "shore"].map(String::from).to_vec();
        let rows = [[3., 2.], [0., 4.], [4., 0.], [4., 0.], [0., 4.], [0.1, 3.9]];
        TopicTable::new(words, Dense::from_rows(&rows), true)
    }

    #[test]
    fn a_word_in_two_topics_has_two_senses() {
        let table = table();
        let bank = senses_of(&table, "bank", 0.2, 3).unwrap();
        let shown: Vec<(usize, i32)> =
            bank.senses.iter().map(|sense| (sense.topic, (100.0 * sense.probability).round() as i32)).collect();
        assert_eq!(shown, [(0, 60), (1, 40)]);
        assert_eq!(bank.senses[0].words, ["loan", "money", "bank"]);
        assert_eq!(senses_of(&table, "zzz", 0.2, 3), None);
        let found = most_ambiguous(&table, 0.2, 9, 3);
        assert_eq!(found, [bank]);
    }

    #[test]
    fn sentences_show_the_sense() {
        let table = table();
        let mut found = most_ambiguous(&table, 0.2, 1, 3);
        let texts = [
            "The bank gave me a loan and money. A boat on the river at the bank near the shore! Bank.\n\nLoan money bank",
        ];
        examples(&mut found, &table, texts, &WordsParams::default(), 2).unwrap();
        let text = |sense: usize| found[0].senses[sense].examples.first().map(|example| example.text.as_str());
        assert_eq!(text(1), Some("A boat on the river at the bank near the shore!"));
        assert_eq!(sentences("a b. c?! d\n\ne").collect::<Vec<_>>(), ["a b.", "c?!", "d", "e"]);
    }
}
