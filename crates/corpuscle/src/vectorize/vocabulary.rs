//! The terms of a vectorizer, and the columns they have.
//!
//! Terms are held as a tree: words, then for each length the grams as (parent, word), so that looking up the n-grams
//! of a text needs neither strings nor more than one table access for each. Pairs of words with others between them have the columns
//! behind those of n-grams.

use rustc_hash::FxHashMap;

use super::grams::{NONE, key};
use super::params::FARTHEST;
use crate::store::{StoreReader, StoreWriter};
use crate::text::Lexicon;
use crate::{Error, Result};

/// Terms (words, or words joined by one space) in byte order, then pairs of words (`not … good`) in byte order; a term's column is its
/// place.
#[derive(Debug, Clone, PartialEq)]
pub struct Vocabulary {
    words: Lexicon,
    /// The column of each word alone, or `NONE`.
    single: Vec<u32>,
    /// Grams of two words, of three …
    levels: Vec<Nodes>,
    pairs: Option<Pairs>,
    columns: usize,
}

/// Pairs of words with others between them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pairs {
    nodes: Nodes,
    /// How many others at most.
    skip: usize,
}

impl Pairs {
    /// The pairs of a vocabulary; `None` when it has none.
    pub(super) fn new(nodes: Nodes, skip: usize) -> Option<Self> {
        (!nodes.columns.is_empty()).then_some(Pairs { nodes, skip })
    }
}

/// Between the two words of a pair.
const BETWEEN: &str = " … ";

/// The grams of one length that are a column or begin one.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Nodes {
    parents: Vec<u32>,
    words: Vec<u32>,
    columns: Vec<u32>,
    table: FxHashMap<u64, u32>,
}

impl Nodes {
    /// Adds a gram; `column` may be `NONE`.
    pub(super) fn push(&mut self, parent: u32, word: u32, column: u32) -> u32 {
        let node = self.columns.len() as u32;
        self.parents.push(parent);
        self.words.push(word);
        self.columns.push(column);
        self.table.insert(key(parent, word), node);
        node
    }
}

impl Vocabulary {
    pub(super) fn from_parts(
        words: Lexicon,
        single: Vec<u32>,
        levels: Vec<Nodes>,
        pairs: Option<Pairs>,
        columns: usize,
    ) -> Self {
        Vocabulary { words, single, levels, pairs, columns }
    }

    /// How many terms there are.
    pub fn len(&self) -> usize {
        self.columns
    }

    /// Whether there is no term.
    pub fn is_empty(&self) -> bool {
        self.columns == 0
    }

    /// The words the terms are made of.
    pub fn words(&self) -> &Lexicon {
        &self.words
    }

    /// The column of a term.
    pub fn column(&self, term: &str) -> Option<usize> {
        if let Some((first, second)) = term.split_once(BETWEEN) {
            let nodes = &self.pairs.as_ref()?.nodes;
            let node = *nodes.table.get(&key(self.words.id(first)?, self.words.id(second)?))?;
            return nodes.columns.get(node as usize).map(|&column| column as usize);
        }
        let mut words = term.split(' ').map(|word| self.words.id(word));
        let mut node = words.next()??;
        let mut column = self.single[node as usize];
        for (nodes, word) in self.levels.iter().map(Some).chain(std::iter::repeat(None)).zip(words) {
            let nodes = nodes?;
            node = *nodes.table.get(&key(node, word?))?;
            column = nodes.columns[node as usize];
        }
        (column != NONE).then_some(column as usize)
    }

    /// The terms by column.
    pub fn terms(&self) -> Vec<String> {
        let mut terms = vec![String::new(); self.columns];
        for (word, &column) in self.words.iter().zip(&self.single) {
            if column != NONE {
                terms[column as usize].push_str(word);
            }
        }
        let mut words = Vec::new();
        for (level, nodes) in self.levels.iter().enumerate() {
            for node in (0..nodes.columns.len()).filter(|&node| nodes.columns[node] != NONE) {
                words.clear();
                let mut at = node as u32;
                for nodes in self.levels[..=level].iter().rev() {
                    words.push(self.words.term(nodes.words[at as usize]));
                    at = nodes.parents[at as usize];
                }
                words.push(self.words.term(at));
                words.reverse();
                terms[nodes.columns[node] as usize] = words.join(" ");
            }
        }
        for (column, first, second) in self.pairs() {
            terms[column as usize] = format!("{first}{BETWEEN}{second}");
        }
        terms
    }

    /// Column and words of every pair.
    fn pairs(&self) -> impl Iterator<Item = (u32, &str, &str)> {
        let pair = |nodes: &Nodes, node: usize| {
            (nodes.columns[node], self.words.term(nodes.parents[node]), self.words.term(nodes.words[node]))
        };
        self.pairs
            .iter()
            .flat_map(move |Pairs { nodes, .. }| (0..nodes.columns.len()).map(move |node| pair(nodes, node)))
    }

    /// Calls `visit(column)` for every n-gram of a document that is a column; the document is in numbers of
    /// [`Vocabulary::words`], `NONE` for others.
    #[inline]
    pub(super) fn for_each(&self, document: &[u32], mut visit: impl FnMut(u32)) {
        for (at, &first) in document.iter().enumerate() {
            if first == NONE {
                continue;
            }
            let column = self.single[first as usize];
            if column != NONE {
                visit(column);
            }
            let mut node = first;
            for (nodes, &word) in self.levels.iter().zip(&document[at + 1..]) {
                match nodes.table.get(&key(node, word)) {
                    Some(&longer) => node = longer,
                    None => break,
                }
                let column = nodes.columns[node as usize];
                if column != NONE {
                    visit(column);
                }
            }
            if let Some(Pairs { nodes, skip }) = &self.pairs {
                for &second in document[at + 1..].iter().take(skip + 1) {
                    if let Some(&node) = nodes.table.get(&key(first, second)) {
                        visit(nodes.columns[node as usize]);
                    }
                }
            }
        }
    }

    /// Whether terms are single words only.
    pub(super) fn single_words(&self) -> Option<&[u32]> {
        (self.levels.is_empty() && self.pairs.is_none()).then_some(&self.single)
    }

    /// Puts the terms into a store.
    pub fn save(&self, out: &mut StoreWriter) {
        let mut terms = self.terms();
        terms.truncate(self.columns - self.pairs().count());
        out.put_strings("terms", terms);
        if let Some(Pairs { skip, .. }) = &self.pairs {
            out.put_u64("skip", &[*skip as u64]);
            out.put_strings("pairs", self.pairs().map(|(_, first, second)| format!("{first} {second}")));
        }
    }

    /// Takes terms out of a store, checking that they ascend and are words joined by single spaces.
    pub fn load(store: &StoreReader<'_>) -> Result<Self> {
        let terms = store.strings("terms")?;
        if terms.windows(2).any(|pair| pair[0] >= pair[1]) || terms.len() >= u32::MAX as usize {
            return Err(Error::model("the terms of the vocabulary are not in order"));
        }
        let mut pairs = Vec::new();
        let mut skip = 0;
        if store.has("skip") {
            pairs = store.strings("pairs")?;
            skip = usize::try_from(store.u64s("skip", Some(1))?[0]).unwrap_or(usize::MAX);
            let ordered = pairs.windows(2).all(|pair| pair[0] < pair[1]);
            if !ordered || !(1..=FARTHEST).contains(&skip) || terms.len() + pairs.len() >= u32::MAX as usize {
                return Err(Error::model("the pairs of the vocabulary are not in order"));
            }
            if pairs.iter().any(|pair| pair.split(' ').count() != 2) {
                return Err(Error::model("the vocabulary has a pair that is not two words"));
            }
        }
        if terms.iter().chain(&pairs).any(|term| term.split(' ').any(str::is_empty)) {
            return Err(Error::model("the vocabulary has an empty word"));
        }
        Ok(Self::from_terms(&terms, &pairs, skip))
    }

    /// The vocabulary of terms that ascend, and of pairs of words that do.
    fn from_terms(terms: &[String], pairs: &[String], skip: usize) -> Self {
        let mut words: Vec<&str> = terms.iter().chain(pairs).flat_map(|term| term.split(' ')).collect();
        words.sort_unstable();
        words.dedup();
        let words = Lexicon::from_sorted(words);
        let mut single = vec![NONE; words.len()];
        let mut levels: Vec<Nodes> = Vec::new();
        for (term, column) in terms.iter().zip(0u32..) {
            let mut ids = term.split(' ').filter_map(|word| words.id(word)).peekable();
            let Some(mut node) = ids.next() else { continue };
            if ids.peek().is_none() {
                single[node as usize] = column;
            }
            let mut level = 0;
            while let Some(word) = ids.next() {
                if level == levels.len() {
                    levels.push(Nodes::default());
                }
                let nodes = &mut levels[level];
                // A term comes after those it begins with, so a node that is a column is there before its children.
                let own = if ids.peek().is_none() { column } else { NONE };
                node = match nodes.table.get(&key(node, word)) {
                    Some(&known) => known,
                    None => nodes.push(node, word, own),
                };
                level += 1;
            }
        }
        let mut nodes = Nodes::default();
        for (pair, column) in pairs.iter().zip(terms.len() as u32..) {
            let ids = pair.split_once(' ').and_then(|(first, second)| words.id(first).zip(words.id(second)));
            if let Some((first, second)) = ids {
                nodes.push(first, second, column);
            }
        }
        Vocabulary { words, single, levels, pairs: Pairs::new(nodes, skip), columns: terms.len() + pairs.len() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::round_trip;

    fn vocabulary(terms: &[&str]) -> Result<Vocabulary> {
        round_trip(|out| out.put_strings("terms", terms), Vocabulary::load)
    }

    #[test]
    fn terms_and_columns_belong_together() {
        let terms = ["a", "a b", "a b c", "b c d", "c d", "d"];
        let vocabulary = vocabulary(&terms).unwrap();
        assert_eq!(vocabulary.terms(), terms);
        for (column, term) in terms.iter().enumerate() {
            assert_eq!(vocabulary.column(term), Some(column));
        }
        for absent in ["b", "b c", "x", "a b c d", "a x", "", "a "] {
            assert_eq!(vocabulary.column(absent), None, "{absent}");
        }
        assert_eq!(round_trip(|out| vocabulary.save(out), Vocabulary::load).unwrap(), vocabulary);
        let document: Vec<u32> = "a b c d".split(' ').map(|word| vocabulary.words().id(word).unwrap()).collect();
        let mut found = Vec::new();
        vocabulary.for_each(&document, |column| found.push(terms[column as usize]));
        assert_eq!(found, ["a", "a b", "a b c", "b c d", "c d", "d"]);
    }

    #[test]
    fn pairs_have_the_columns_behind_grams() {
        let given = |out: &mut StoreWriter| {
            out.put_strings("terms", ["a", "a b"]);
            out.put_strings("pairs", ["a b", "a d", "d a"]);
            out.put_u64("skip", &[2]);
        };
        let vocabulary = round_trip(given, Vocabulary::load).unwrap();
        let terms = ["a", "a b", "a … b", "a … d", "d … a"];
        assert_eq!(vocabulary.terms(), terms);
        for (column, term) in terms.iter().enumerate() {
            assert_eq!(vocabulary.column(term), Some(column));
        }
        assert_eq!((vocabulary.column("b … a"), vocabulary.column("d"), vocabulary.column("a … ")), (None, None, None));
        assert_eq!(round_trip(|out| vocabulary.save(out), Vocabulary::load).unwrap(), vocabulary);
        let document: Vec<u32> =
            "a b x d a".split(' ').map(|word| vocabulary.words().id(word).unwrap_or(NONE)).collect();
        let mut found = Vec::new();
        vocabulary.for_each(&document, |column| found.push(terms[column as usize]));
        assert_eq!(found, ["a", "a b", "a … b", "a … d", "d … a", "a"]);
        let damaged = |change: &dyn Fn(&mut StoreWriter)| {
            let both = |out: &mut StoreWriter| {
                given(out);
                change(out);
            };
            round_trip(both, Vocabulary::load)
        };
        assert!(damaged(&|out| out.put_strings("pairs", ["b a", "a b"])).is_err());
        assert!(damaged(&|out| out.put_strings("pairs", ["a b c"])).is_err());
        assert!(damaged(&|out| out.put_strings("pairs", ["a "])).is_err());
        assert!(damaged(&|out| out.put_u64("skip", &[0])).is_err());
        assert!(damaged(&|out| out.put_u64("skip", &[99])).is_err());
    }

    #[test]
    fn damaged_terms_are_refused() {
        assert!(vocabulary(&["b", "a"]).is_err());
        assert!(vocabulary(&["a", "a"]).is_err());
        assert!(vocabulary(&["", "a"]).is_err());
        assert!(vocabulary(&["a  b"]).is_err());
    }
}
