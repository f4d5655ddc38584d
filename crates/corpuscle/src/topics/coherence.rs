//! How well the words of a topic go together, by how often they stand together in documents.
//!
//! - UMass: D. Mimno, H. Wallach, E. Talley, M. Leenders and A. McCallum, "Optimizing semantic coherence in topic models" (2011), as
//!   the SCDV paper has it: Σ_{l<m} ln((D(v_m, v_l) + 1) / D(v_l)), v_l the more probable word, D(·) documents with the words. A sum
//!   of terms that are mostly negative: nearer 0 is better, and more words make it smaller.
//! - The same as gensim's `CoherenceModel(coherence="u_mass")` counts it: the mean over pairs, with 10⁻¹² in place of the 1.
//! - NPMI: G. Bouma, "Normalized (pointwise) mutual information in collocation extraction" (2009), over windows of
//!   [`WINDOW`] words, as gensim's `coherence="c_npmi"`: the mean over pairs of ln((p_12 + ε) / (p_1 · p_2)) / −ln(p_12 + ε), from −1
//!   (never together) to 1 (always together).
//!
//! Every word has the list of the windows it is in, as ranges; a document is the window that holds it all. Counting pairs is one
//! walk along two lists.

use std::collections::HashMap;

use serde::Serialize;

use crate::text::Tokens;

/// Words of a window for NPMI.
pub const WINDOW: usize = 10;

/// What is added to a probability before its logarithm is taken.
const EPSILON: f64 = 1e-12;

/// How well the words of one topic go together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Coherence {
    /// UMass as in the SCDV paper.
    pub umass: f64,
    /// UMass as gensim counts it.
    pub umass_mean: f64,
    /// NPMI.
    pub npmi: f64,
}

/// Documents in which words are looked for: the fitted ones, or others.
#[derive(Debug)]
pub struct Reference<'a> {
    tokens: &'a Tokens,
    /// Where each word stands: (document, place), by word number.
    places: HashMap<u32, Vec<(u32, u32)>>,
    windows: Windows,
    wanted: Vec<bool>,
    indexed: bool,
}

/// The first window of each document, and how many there are in all.
#[derive(Debug)]
struct Windows {
    first: Vec<u64>,
    all: u64,
}

/// Windows or documents with a word: ranges that ascend and do not touch.
type Ranges = Vec<(u64, u64)>;

impl<'a> Reference<'a> {
    /// Documents to look words up in.
    pub fn new(tokens: &'a Tokens) -> Self {
        let mut first = Vec::with_capacity(tokens.n_documents());
        let mut all = 0;
        for document in 0..tokens.n_documents() {
            first.push(all);
            all += windows_of(tokens.document(document).len());
        }
        let windows = Windows { first, all };
        Reference { tokens, places: HashMap::new(), windows, wanted: Vec::new(), indexed: false }
    }

    /// Looks up all words of some topics at once, in one walk over the documents; without it every topic takes a walk of its own.
    #[must_use]
    pub fn with_words<'w>(mut self, words: impl IntoIterator<Item = &'w str>) -> Self {
        let mut wanted = vec![false; self.tokens.n_terms()];
        words.into_iter().filter_map(|word| self.tokens.lexicon().id(word)).for_each(|id| wanted[id as usize] = true);
        self.places = self.find(&wanted);
        (self.wanted, self.indexed) = (wanted, true);
        self
    }

    fn find(&self, wanted: &[bool]) -> HashMap<u32, Vec<(u32, u32)>> {
        let mut places: HashMap<u32, Vec<(u32, u32)>> = HashMap::new();
        for document in 0..self.tokens.n_documents() {
            for (place, &id) in self.tokens.document(document).iter().enumerate() {
                if wanted[id as usize] {
                    places.entry(id).or_default().push((document as u32, place as u32));
                }
            }
        }
        places
    }

    /// How well these words, most probable first, go together; `None` where the documents have fewer than two of them.
    pub fn coherence(&self, words: &[&str]) -> Option<Coherence> {
        let ids: Vec<Option<u32>> = words.iter().map(|word| self.tokens.lexicon().id(word)).collect();
        let own;
        let known = self.indexed && ids.iter().flatten().all(|&id| self.wanted[id as usize]);
        let places = if known {
            &self.places
        } else {
            let mut wanted = vec![false; self.tokens.n_terms()];
            ids.iter().flatten().for_each(|&id| wanted[id as usize] = true);
            own = self.find(&wanted);
            &own
        };
        let places = |id: &Option<u32>| id.and_then(|id| places.get(&id)).map_or(&[][..], Vec::as_slice);
        let documents: Vec<Ranges> = ids.iter().map(|id| documents(places(id))).collect();
        if documents.iter().filter(|documents| !documents.is_empty()).count() < 2 {
            return None;
        }
        let windows: Vec<Ranges> = ids.iter().map(|id| self.windows(places(id))).collect();
        let all = self.tokens.n_documents() as f64;
        let every = self.windows.all as f64;
        let (mut umass, mut umass_mean, mut npmi, mut pairs) = (0.0, 0.0, 0.0, 0.0);
        for m in 1..words.len() {
            for l in 0..m {
                pairs += 1.0;
                let (together, alone) = (shared(&documents[m], &documents[l]), length(&documents[l]));
                // A word that no document has says nothing about the others.
                if alone > 0.0 {
                    umass += ((together + 1.0) / alone).ln();
                    umass_mean += ((together / all + EPSILON) / (alone / all)).ln();
                }
                let (one, other) = (length(&windows[m]) / every, length(&windows[l]) / every);
                if one > 0.0 && other > 0.0 {
                    let both = shared(&windows[m], &windows[l]) / every + EPSILON;
                    // Words that are in every window are together by necessity.
                    npmi += if both < 1.0 { (both / (one * other)).ln() / -both.ln() } else { 1.0 };
                }
            }
        }
        Some(Coherence { umass, umass_mean: umass_mean / pairs, npmi: npmi / pairs })
    }

    /// The windows of a word, as gensim counts them: where a word stands twice in a window, it is gone from the windows after the
    /// first one left, until it enters again.
    fn windows(&self, places: &[(u32, u32)]) -> Ranges {
        let mut ranges: Ranges = Vec::new();
        for places in places.chunk_by(|a, b| a.0 == b.0) {
            let document = places[0].0 as usize;
            let (first, count) = (self.windows.first[document], windows_of(self.tokens.document(document).len()));
            let (mut entered, mut since) = (0, None);
            for leaves in places.iter().map(|&(_, place)| u64::from(place) + 1) {
                while let Some(&(_, place)) = places.get(entered) {
                    let enters = (u64::from(place) + 1).saturating_sub(WINDOW as u64);
                    if enters >= leaves {
                        break;
                    }
                    since = since.or(Some(enters));
                    entered += 1;
                }
                if let Some(from) = since.take().filter(|&from| from < count) {
                    push(&mut ranges, first + from, first + leaves.min(count));
                }
            }
        }
        ranges
    }
}

/// Windows of a document of so many words: one where it is no longer than a window.
fn windows_of(length: usize) -> u64 {
    (length + 1).saturating_sub(WINDOW).max(1) as u64
}

fn documents(places: &[(u32, u32)]) -> Ranges {
    let mut ranges = Vec::new();
    places.iter().for_each(|&(document, _)| push(&mut ranges, u64::from(document), u64::from(document) + 1));
    ranges
}

/// Adds a range that begins no sooner than the last one.
fn push(ranges: &mut Ranges, from: u64, to: u64) {
    match ranges.last_mut() {
        Some(last) if from <= last.1 => last.1 = last.1.max(to),
        _ => ranges.push((from, to)),
    }
}

fn length(ranges: &[(u64, u64)]) -> f64 {
    ranges.iter().map(|(from, to)| to - from).sum::<u64>() as f64
}

/// How much two lists of ranges have in common.
fn shared(a: &[(u64, u64)], b: &[(u64, u64)]) -> f64 {
    let (mut i, mut j, mut sum) = (0, 0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        sum += x.1.min(y.1).saturating_sub(x.0.max(y.0));
        if x.1 < y.1 { i += 1 } else { j += 1 }
    }
    sum as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Run;
    use crate::text::WordsParams;

    /// The figures of gensim 4.4.0 on the same topics: see `tests/fixtures/coherence/make.py`.
    #[test]
    fn coherence_is_that_of_gensim() {
        let fixture: serde_json::Value =
            serde_json::from_str(include_str!("../../tests/fixtures/coherence/coherence.json")).unwrap();
        let strings = |value: &serde_json::Value| -> Vec<String> {
            value.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_string()).collect()
        };
        let run = Run::new(0, 1).unwrap();
        let tokens = WordsParams::default().tokenize(&strings(&fixture["texts"]), &run).unwrap();
        let topics: Vec<Vec<String>> = fixture["topics"].as_array().unwrap().iter().map(strings).collect();
        let all = topics.iter().flatten().map(String::as_str);
        let (whole, plain) = (Reference::new(&tokens).with_words(all), Reference::new(&tokens));
        for (at, topic) in topics.iter().enumerate() {
            let words: Vec<&str> = topic.iter().map(String::as_str).collect();
            let found = whole.coherence(&words).unwrap();
            assert_eq!(plain.coherence(&words).unwrap(), found);
            for (value, name) in [(found.umass, "umass"), (found.umass_mean, "u_mass"), (found.npmi, "c_npmi")] {
                let expected = fixture[name][at].as_f64().unwrap();
                assert!((value - expected).abs() < 1e-9, "{name} of topic {at}: {value}, not {expected}");
            }
        }
        assert_eq!(whole.coherence(&["one"]), None);
        // Words that no document has do not go together perfectly.
        assert_eq!(whole.coherence(&["zzz", "yyy"]), None);
    }
}
