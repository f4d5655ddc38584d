//! Topics to look at: their words, how well these go together, the documents and labels of each, which come back with other
//! seeds, and words that live in several.
//!
//! A model's topics are those of its first stage that has some ([`Model::topics`](crate::recipe::Model::topics)): `dirichlet`, the
//! clusters of `scdv`, the dimensions of `lsi`. All of them are one [`TopicTable`], so everything here works for all.
//!
//! ```
//! use corpuscle::recipe::{Corpus, Recipe};
//! use corpuscle::topics::{Reference, describe};
//! use corpuscle::{Run, corpus::Document};
//! let run = Run::new(1, 1)?;
//! let texts = ["the cat chased the dog", "a dog and a cat", "tax law in court", "the court on tax"];
//! let documents = (0..40).map(|i| Ok(Document::new(i.to_string(), texts[i % 4])));
//! let recipe = Recipe::parse("words(stop=english) | dirichlet(2)")?;
//! let corpus = Corpus::read(documents, recipe.words(), &run)?;
//! let model = recipe.fit(&corpus, &run)?;
//! let (stage, table) = model.topics().ok_or(corpuscle::Error::data("no topics"))?;
//! let topics = describe(&table, 3);
//! assert_eq!((stage, topics.len()), ("dirichlet", 2));
//! let coherence = Reference::new(&corpus.tokens).coherence(&topics[0].words());
//! assert!(coherence.is_some_and(|coherence| coherence.npmi > 0.0));
//! # Ok::<(), corpuscle::Error>(())
//! ```

mod coherence;
mod layout;
mod over;
mod senses;
mod stability;

pub use crate::vectorize::TopicTable;
pub use coherence::{Coherence, Reference, WINDOW};
pub use layout::layout;
pub use over::{Grouped, by_label, over_field};
pub use senses::{Example, Sense, WordSenses, examples, most_ambiguous, senses_of};
pub use stability::stability;

use std::collections::HashMap;

use crate::matrix::Dense;
use crate::vectorize::DirichletParams;

/// A word of a topic.
#[derive(Debug, Clone, PartialEq)]
pub struct TopicWord {
    /// The word.
    pub word: String,
    /// P(w|c).
    pub probability: f64,
}

/// A topic as it is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Topic {
    /// Its number in the model, from 0.
    pub number: usize,
    /// P(c): its share of all tokens.
    pub weight: f64,
    /// Its most probable words, most probable first.
    pub top: Vec<TopicWord>,
}

impl Topic {
    /// Its words, without their probabilities.
    pub fn words(&self) -> Vec<&str> {
        self.top.iter().map(|word| word.word.as_str()).collect()
    }
}

/// The recipe that finds topics where nobody says another: `count` of them, or as many as `dirichlet` finds by default.
///
/// The list of SMART has contractions (`it's`, `don't`), which the English one lacks and which topics would be full of.
pub fn usual_recipe(count: Option<usize>) -> String {
    let count = count.unwrap_or(DirichletParams::default().topics);
    format!("words(stop=smart, min_length=3) | dirichlet({count})")
}

/// Every topic with its `words` most probable words, heaviest topic first.
pub fn describe(table: &TopicTable, words: usize) -> Vec<Topic> {
    let one = |number: usize| {
        let word = |(row, probability): (usize, f64)| TopicWord { word: table.words()[row].clone(), probability };
        let top = table.top_words(number, words).into_iter().map(word).collect();
        Topic { number, weight: table.weights()[number], top }
    };
    let mut topics: Vec<Topic> = (0..table.n_topics()).map(one).collect();
    topics.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.number.cmp(&b.number)));
    topics
}

/// For every topic, those `count` of its words that tell it from the others, most telling first: by P(w|c) · ln(topics / topics that
/// have the word among theirs). A word that all topics share names none of them while there are others.
pub fn names(topics: &[Topic], count: usize) -> Vec<Vec<&str>> {
    let mut shared: HashMap<&str, usize> = HashMap::new();
    topics.iter().flat_map(Topic::words).for_each(|word| *shared.entry(word).or_default() += 1);
    let all = topics.len() as f64;
    let mut found = Vec::with_capacity(topics.len());
    for topic in topics {
        let telling = |word: &TopicWord| {
            word.probability * (all / shared.get(word.word.as_str()).map_or(1.0, |&n| n as f64)).ln()
        };
        let mut words: Vec<&TopicWord> = topic.top.iter().collect();
        // Equal ones stay in the order of their probabilities.
        words.sort_by(|a, b| telling(b).total_cmp(&telling(a)));
        found.push(words.into_iter().take(count).map(|word| word.word.as_str()).collect());
    }
    found
}

/// The `count` documents that have most of a topic, as (row, share), most first.
pub fn closest_documents(shares: &Dense, topic: usize, count: usize) -> Vec<(usize, f32)> {
    let mut rows: Vec<(usize, f32)> = (0..shares.rows()).map(|row| (row, shares.row(row)[topic])).collect();
    let order = |a: &(usize, f32), b: &(usize, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
    if rows.len() > count && count > 0 {
        rows.select_nth_unstable_by(count - 1, order);
    }
    rows.truncate(count);
    rows.sort_by(order);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_topics_apart() {
        let topic = |number: usize, words: [&str; 3]| {
            let top = words.iter().zip([0.5, 0.3, 0.2]);
            let top = top.map(|(word, probability)| TopicWord { word: word.to_string(), probability }).collect();
            Topic { number, weight: 0.5, top }
        };
        let two = [topic(0, ["said", "bank", "rate"]), topic(1, ["said", "wheat", "corn"])];
        assert_eq!(names(&two, 2), [["bank", "rate"], ["wheat", "corn"]]);
        assert_eq!(names(&two, 3)[1], ["wheat", "corn", "said"]);
        // Alone, a topic is named by its most probable words; one without words has no name.
        assert_eq!(names(&two[..1], 2), [["said", "bank"]]);
        assert!(names(&[Topic { number: 0, weight: 0.0, top: Vec::new() }], 2)[0].is_empty());
    }
}
