//! Chooses the vocabulary among the grams found, and puts it in order.

use std::mem;

use super::fill::{Counted, count};
use super::grams::{Grams, Level, NONE};
use super::vocabulary::{Nodes, Pairs, Vocabulary};
use super::{Bound, CountsParams, TermCounts};
use crate::text::{Lexicon, Tokens};
use crate::{Error, Result, Run};

/// A vocabulary and the document frequency of each of its columns.
pub(super) struct Selected {
    pub(super) vocabulary: Vocabulary,
    pub(super) frequencies: Vec<u32>,
    /// The column of each single word of the documents, or none.
    pub(super) columns: Vec<u32>,
}

/// Learns the vocabulary of `tokens`.
pub(super) fn select(tokens: &Tokens, params: &CountsParams, stage: &'static str, run: &Run) -> Result<Selected> {
    let least = least(params, tokens.n_documents(), tokens.n_tokens() > 0, stage)?;
    // Knowing all documents, the rare grams need not be counted.
    let grams = super::grams::find(tokens, params.ngrams, params.skip, least, run)?;
    choose(tokens.lexicon(), &grams.levels, &grams.pairs, tokens.n_documents(), least, params, stage)
}

/// The same for terms that are single words: the documents counted are kept, since their matrix is made of the same counts.
pub(super) fn select_words(
    tokens: &Tokens,
    params: &CountsParams,
    stage: &'static str,
    run: &Run,
) -> Result<(Selected, Counted)> {
    let least = least(params, tokens.n_documents(), tokens.n_tokens() > 0, stage)?;
    let mut counted = count(tokens, run)?;
    // How often a word is there matters only where the most frequent are kept.
    let counts = if params.max_features.is_some() { counted.totals() } else { vec![0; tokens.n_terms()] };
    let frequencies = mem::take(&mut counted.frequencies);
    let levels = [Level { frequencies, counts, ..Level::default() }];
    let none = Level::default();
    let selected = choose(tokens.lexicon(), &levels, &none, tokens.n_documents(), least, params, stage)?;
    Ok((selected, counted))
}

/// The vocabulary of documents already counted: what [`select`] gives for the same ones.
pub(super) fn select_of(counts: &TermCounts, params: &CountsParams, stage: &'static str) -> Result<Selected> {
    let documents = usize::try_from(counts.n_documents()).unwrap_or(usize::MAX);
    let least = least(params, documents, !counts.words().is_empty(), stage)?;
    if params.ngrams > counts.longest() {
        let reason = format!("is more than the {} words of the longest grams counted", counts.longest());
        return Err(Error::parameter(stage, "ngrams", params.ngrams, reason));
    }
    if params.skip != counts.skip() && params.skip > 0 {
        let reason = format!("is not the {} of the pairs counted", counts.skip());
        return Err(Error::parameter(stage, "skip", params.skip, reason));
    }
    let Grams { levels, pairs } = counts.grams();
    let none = Level::default();
    let pairs = if params.skip > 0 { pairs } else { &none };
    choose(counts.words(), &levels[..params.ngrams], pairs, documents, least, params, stage)
}

/// The least document frequency of a term; an error when no term can have it.
fn least(params: &CountsParams, documents: usize, some_words: bool, stage: &'static str) -> Result<f64> {
    params.checks(stage).done()?;
    if documents >= u32::MAX as usize {
        return Err(Error::data("more than 4 294 967 294 documents"));
    }
    if !some_words {
        return Err(Error::data(format!(
            "{stage}: none of the {documents} documents has a word; check which field holds the text, the tokenizer and \
             the stop words"
        )));
    }
    let (least, most) = (params.min_df.of(documents).max(1.0), params.max_df.of(documents));
    if most < least {
        let reason = format!("is {least} of {documents} documents, more than max_df = {}", params.max_df);
        return Err(Error::parameter(stage, "min_df", params.min_df, reason));
    }
    Ok(least)
}

fn choose(
    words: &Lexicon,
    levels: &[Level],
    pairs: &Level,
    documents: usize,
    least: f64,
    params: &CountsParams,
    stage: &'static str,
) -> Result<Selected> {
    let most = params.max_df.of(documents);
    let mut order = preorder(levels);
    order.retain(|&(level, _)| level + 1 >= params.ngrams_min);
    // Pairs have the columns behind those of grams.
    order.extend((0..pairs.counts.len() as u32).map(|pair| (levels.len(), pair)));
    let of = |level: usize| levels.get(level).unwrap_or(pairs);
    order.retain(|&(level, gram)| (least..=most).contains(&f64::from(of(level).frequencies[gram as usize])));
    if let Some(limit) = params.max_features.filter(|&limit| limit < order.len()) {
        keep_most_frequent(&mut order, limit, |(level, gram)| match params.binary {
            true => u64::from(of(level).frequencies[gram as usize]),
            false => of(level).counts[gram as usize],
        });
    }
    if order.is_empty() {
        return Err(nothing_left(params, stage, documents));
    }
    if order.len() >= u32::MAX as usize {
        return Err(Error::data(format!("{stage}: more than 4 294 967 294 terms; raise min_df or set max_features")));
    }
    let frequencies = order.iter().map(|&(level, gram)| of(level).frequencies[gram as usize]).collect();
    let (vocabulary, columns) = prune(words, levels, pairs, &order, params.skip);
    Ok(Selected { vocabulary, frequencies, columns })
}

fn nothing_left(params: &CountsParams, stage: &'static str, documents: usize) -> Error {
    let mut advice = format!("lower min_df = {}", params.min_df);
    if params.max_df != Bound::Share(1.0) {
        advice += &format!(", raise max_df = {}", params.max_df);
    }
    if params.ngrams_min > 1 {
        advice += &format!(", lower ngrams_min = {}", params.ngrams_min);
    }
    Error::data(format!("{stage}: no term of the {documents} documents is left; {advice}"))
}

/// Every gram as (level, number), in the byte order of the terms: each before those it begins.
fn preorder(levels: &[Level]) -> Vec<(usize, u32)> {
    fn visit(levels: &[Level], next: &mut [usize], level: usize, gram: u32, order: &mut Vec<(usize, u32)>) {
        order.push((level, gram));
        // The grams that begin with this one come next among those one word longer.
        if let Some(longer) = levels.get(level + 1) {
            while longer.parents.get(next[level + 1]) == Some(&gram) {
                next[level + 1] += 1;
                visit(levels, next, level + 1, (next[level + 1] - 1) as u32, order);
            }
        }
    }
    let mut order = Vec::with_capacity(levels.iter().map(|level| level.counts.len()).sum());
    let mut next = vec![0; levels.len()];
    for gram in 0..levels[0].counts.len() as u32 {
        visit(levels, &mut next, 0, gram, &mut order);
    }
    order
}

fn keep_most_frequent(order: &mut Vec<(usize, u32)>, limit: usize, count: impl Fn((usize, u32)) -> u64) {
    let mut places: Vec<usize> = (0..order.len()).collect();
    places.sort_unstable_by_key(|&place| (std::cmp::Reverse(count(order[place])), place));
    places.truncate(limit);
    places.sort_unstable();
    *order = places.into_iter().map(|place| order[place]).collect();
}

/// The vocabulary with the columns in `order`, where only the grams that are a column or begin one are kept; and the columns of
/// single words.
fn prune(
    lexicon: &Lexicon,
    levels: &[Level],
    pairs: &Level,
    order: &[(usize, u32)],
    skip: usize,
) -> (Vocabulary, Vec<u32>) {
    let all = levels.iter().chain([pairs]);
    let mut columns: Vec<Vec<u32>> = all.map(|level| vec![NONE; level.counts.len()]).collect();
    for (&(level, gram), column) in order.iter().zip(0..) {
        columns[level][gram as usize] = column;
    }
    let pair_columns = columns.pop().unwrap_or_default();
    let mut needed: Vec<Vec<bool>> =
        columns.iter().map(|columns| columns.iter().map(|&column| column != NONE).collect()).collect();
    for level in (1..levels.len()).rev() {
        for gram in 0..needed[level].len() {
            if needed[level][gram] {
                needed[level - 1][levels[level].parents[gram] as usize] = true;
            }
        }
    }
    let mut word_needed = needed[0].clone();
    for (level, needed) in levels.iter().zip(&needed).skip(1) {
        for (&word, &needed) in level.words.iter().zip(needed) {
            word_needed[word as usize] |= needed;
        }
    }
    for (at, _) in pair_columns.iter().enumerate().filter(|&(_, &column)| column != NONE) {
        let (first, second) = pairs.pair(at);
        word_needed[first as usize] = true;
        word_needed[second as usize] = true;
    }
    let words = numbers(&word_needed);
    let lexicon =
        Lexicon::from_sorted(lexicon.iter().zip(&word_needed).filter(|&(_, &needed)| needed).map(|(word, _)| word));
    let single =
        columns[0].iter().zip(&word_needed).filter(|&(_, &needed)| needed).map(|(&column, _)| column).collect();
    // Single words are numbered as words, the grams of the other levels among those kept.
    let mut parent_numbers = words.clone();
    let mut nodes = Vec::new();
    for level in 1..levels.len() {
        let mut kept = Nodes::default();
        for gram in (0..needed[level].len()).filter(|&gram| needed[level][gram]) {
            let parent = parent_numbers[levels[level].parents[gram] as usize];
            kept.push(parent, words[levels[level].words[gram] as usize], columns[level][gram]);
        }
        parent_numbers = numbers(&needed[level]);
        nodes.push(kept);
    }
    let mut kept = Nodes::default();
    for (at, &column) in pair_columns.iter().enumerate().filter(|&(_, &column)| column != NONE) {
        let (first, second) = pairs.pair(at);
        kept.push(words[first as usize], words[second as usize], column);
    }
    (Vocabulary::from_parts(lexicon, single, nodes, Pairs::new(kept, skip), order.len()), columns.swap_remove(0))
}

/// The place of each one kept among those kept.
pub(super) fn numbers(kept: &[bool]) -> Vec<u32> {
    let mut next = 0;
    kept.iter()
        .map(|&kept| {
            next += u32::from(kept);
            next.wrapping_sub(1)
        })
        .collect()
}
