//! Which document to look at next, and why that one.
//!
//! The library's [`Suggester`](corpuscle::experiment::Suggester) says which documents are worth a label; the learner keeps a batch of
//! its suggestions ready, and a choice takes the first that is free. One in five is drawn at random: those are the ones
//! accuracy is measured on, because those chosen for being hard, or typical, say nothing about the pile.

use corpuscle::Run;
use corpuscle::experiment::{Reason, Suggestion};

/// One in so many is drawn at random.
const RANDOM: usize = 5;

/// Why a document was chosen.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Why {
    /// The pile has not been looked through yet.
    Start,
    /// A label is worth much here.
    Suggested(Reason),
    /// To measure by.
    Random,
}

impl Why {
    /// One word for programs.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Why::Start => "start",
            Why::Suggested(Reason::Group { .. }) => "spread",
            Why::Suggested(Reason::Wavers { .. }) => "doubt",
            Why::Random => "random",
        }
    }

    /// The same for people.
    pub(crate) fn about(&self) -> String {
        match self {
            Why::Start => "the pile is still being looked through".to_string(),
            Why::Suggested(reason) => reason.to_string(),
            Why::Random => "drawn at random, to measure accuracy by".to_string(),
        }
    }
}

/// All places in an order of chance that depends on the seed only.
pub(crate) fn shuffled(n: usize, run: &Run) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n as u32).collect();
    // SplitMix64: enough to shuffle by, and the same on every machine.
    let mut state = run.seed() ^ 0x6c61_6265_6c21_0000;
    let mut next = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    };
    for at in (1..order.len()).rev() {
        order.swap(at, (next() % (at as u64 + 1)) as usize);
    }
    order
}

/// The next document that is free. `suggested` is none while the pile has not been looked through; `turn` counts those shown so far.
pub(crate) fn next(
    shuffled: &[u32],
    suggested: Option<&[Suggestion]>,
    turn: usize,
    free: impl Fn(u32) -> bool,
) -> Option<(u32, Why)> {
    let by_chance = || shuffled.iter().copied().find(|&place| free(place));
    let Some(suggested) = suggested else { return Some((by_chance()?, Why::Start)) };
    if turn % RANDOM != RANDOM - 1
        && let Some(found) = suggested.iter().find(|suggestion| free(suggestion.row as u32))
    {
        return Some((found.row as u32, Why::Suggested(found.reason.clone())));
    }
    // Also when people are faster than the learner, or only documents without a word are left.
    Some((by_chance()?, Why::Random))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_is_the_same_every_time_and_has_everybody() {
        let run = Run::new(7, 1).unwrap();
        let order = shuffled(100, &run);
        assert_eq!(order, shuffled(100, &run));
        assert_ne!(order, shuffled(100, &run.with_seed(8)));
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..100).collect::<Vec<u32>>());
        assert!(shuffled(0, &run).is_empty());
    }

    #[test]
    fn one_in_five_is_drawn_and_the_others_are_suggested_while_there_are_any() {
        let order = shuffled(60, &Run::new(42, 1).unwrap());
        let group = |row| Suggestion { row, reason: Reason::Group { documents: 9, labels: 0, words: Vec::new() } };
        let waver = |row| Suggestion { row, reason: Reason::Wavers { one: "a".into(), other: None } };
        let batch = [group(5), waver(6), group(7), waver(8), group(9)];
        let mut seen: Vec<u32> = Vec::new();
        let mut why = Vec::new();
        for turn in 0..10 {
            let (place, reason) = next(&order, Some(&batch), turn, |place| !seen.contains(&place)).unwrap();
            assert!(!seen.contains(&place));
            seen.push(place);
            why.push(reason.name());
        }
        assert_eq!(why[..5], ["spread", "doubt", "spread", "doubt", "random"]);
        assert!(why[6..].iter().all(|why| *why == "random"), "{why:?}");
        assert_eq!(next(&order, None, 0, |_| true).unwrap().1, Why::Start);
        assert_eq!(next(&order, Some(&batch), 0, |_| false), None);
    }
}
