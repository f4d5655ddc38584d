//! Which topics come back when the seed changes.
//!
//! Topics of two fits are matched by their words: of all pairs the one with most of its most probable words in common is taken
//! first, then the next among those left. A topic's stability is the mean share of its words that its partners have.

use super::{Topic, TopicTable, describe};

/// For each topic of `main`, by its number, the share of its `words` most probable words that its partner in another fit has, mean
/// over the other fits: 1 for a topic that always comes back, 0 for one that never does.
pub fn stability(main: &TopicTable, others: &[TopicTable], words: usize) -> Vec<f64> {
    let own = describe(main, words);
    let mut sums = vec![0f64; main.n_topics()];
    for other in others {
        let theirs = describe(other, words);
        let mut pairs: Vec<(usize, usize, usize)> = Vec::with_capacity(own.len() * theirs.len());
        for (at, topic) in own.iter().enumerate() {
            for (other, partner) in theirs.iter().enumerate() {
                pairs.push((common(topic, partner), at, other));
            }
        }
        // Most words in common first; heavier topics first among equals, as both lists are in that order.
        pairs.sort_by(|a, b| b.0.cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        let (mut matched, mut taken) = (vec![false; own.len()], vec![false; theirs.len()]);
        for (both, at, other) in pairs {
            if !matched[at] && !taken[other] {
                (matched[at], taken[other]) = (true, true);
                sums[own[at].number] += both as f64 / own[at].top.len().max(1) as f64;
            }
        }
    }
    let fits = others.len().max(1) as f64;
    sums.into_iter().map(|sum| sum / fits).collect()
}

fn common(one: &Topic, other: &Topic) -> usize {
    one.top.iter().filter(|word| other.top.iter().any(|known| known.word == word.word)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Dense;

    #[test]
    fn topics_are_matched_by_their_words() {
        let words: Vec<String> = ["a", "b", "c", "d"].map(String::from).to_vec();
        let table = |rows: &[[f32; 2]]| TopicTable::new(words.clone(), Dense::from_rows(rows), false);
        let main = table(&[[3.0, 0.0], [2.0, 0.0], [0.0, 3.0], [0.0, 2.0]]);
        let turned = table(&[[0.0, 3.0], [0.0, 2.0], [3.0, 0.0], [2.0, 0.0]]);
        assert_eq!(stability(&main, &[turned.clone(), main.clone()], 2), [1.0, 1.0]);
        let half = table(&[[0.0, 3.0], [3.0, 0.0], [0.0, 2.0], [2.0, 0.0]]);
        assert_eq!(stability(&main, &[turned, half], 2), [0.75, 0.75]);
        assert_eq!(stability(&main, &[], 2), [0.0, 0.0]);
    }
}
