//! Marks of single occurrences: a negated word, and the words that a text begins and ends with.
//!
//! A negation marks the words after it, up to so many and up to the next sign between words: `¬good` is another term than `good`
//! (Das and Chen, 2001; Pang, Lee and Vaithyanathan, 2002, who go on to the sign however far it is). The list of negations is
//! English; texts of other languages have no marked words.
//!
//! Positions are terms of their own behind the words of a text: `^how`, `^how·do` and `^how·do·i` for the first word, the first two and the
//! first three, `card$` for the last one. They join no n-gram.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::merge::{MOST_WORDS, TOO_MANY_WORDS};
use super::{Lexicon, Tokenizer};
use crate::{Error, Result};

/// Before a negated word.
pub(super) const NEGATED: char = '¬';
/// Before the first words.
const FIRST: char = '^';
/// Between the first words.
const JOINED: char = '·';
/// Behind the last word.
const LAST: char = '$';

/// The bit of an occurrence that says that the word is negated here.
pub(super) const NEGATED_BIT: u32 = 1 << 31;

/// How many words from the first on are marked together.
const FIRST_WORDS: usize = 3;

/// Words that negate what follows, beside those that end in `n't`.
const NEGATIONS: &[&str] = &[
    "aint", "arent", "cannot", "cant", "couldnt", "didnt", "doesnt", "dont", "hadnt", "hardly", "hasnt", "havent",
    "isnt", "neither", "never", "no", "nobody", "none", "nor", "not", "nothing", "nowhere", "scarcely", "shouldnt",
    "wasnt", "werent", "without", "wont", "wouldnt",
];

/// What tokenizers that split at apostrophes leave of `isn't`. With the others, Don is a name.
const HALVES: &[&str] = &[
    "ain", "aren", "couldn", "didn", "doesn", "don", "hadn", "hasn", "haven", "isn", "shouldn", "wasn", "weren",
    "wouldn",
];

/// Signs that end what a negation before them is about.
const SIGNS: &[char] =
    &['.', ',', ';', ':', '!', '?', '(', ')', '[', ']', '…', '–', '—', '。', '、', '，', '；', '：', '！', '？'];

/// Whether a word, as the tokenizer gives it, negates what follows.
pub(super) fn is_negation(word: &str, tokenizer: Tokenizer) -> bool {
    let lower = word.to_ascii_lowercase();
    let has = |list: &[&str]| list.contains(&lower.as_str());
    lower.ends_with("n't") || has(NEGATIONS) || tokenizer != Tokenizer::Unicode && has(HALVES)
}

/// Whether what stands between two words ends what a negation before it is about: a sign, or an empty line.
#[inline]
pub(super) fn ends_clause(between: &str) -> bool {
    between != " " && (between.contains(SIGNS) || between.matches('\n').count() > 1)
}

/// Whether a term marks a position, and so joins no other.
pub(crate) fn is_position(term: &str) -> bool {
    term.starts_with(FIRST) || term.ends_with(LAST)
}

/// Writes a negated word.
pub(super) fn write_negated(word: &str, out: &mut String) {
    out.clear();
    out.push(NEGATED);
    out.push_str(word);
}

/// Writes the mark of the first words.
pub(super) fn write_first<'a>(words: impl IntoIterator<Item = &'a str>, out: &mut String) {
    out.clear();
    out.push(FIRST);
    for (place, word) in words.into_iter().enumerate() {
        if place > 0 {
            out.push(JOINED);
        }
        out.push_str(word);
    }
}

/// Writes the mark of the last word.
pub(super) fn write_last(word: &str, out: &mut String) {
    out.clear();
    out.push_str(word);
    out.push(LAST);
}

/// Calls `visit` with the marks of a text's positions, given its first words (three at most) and the last.
pub(super) fn positions(first: &[String], last: &str, mut visit: impl FnMut(&str)) {
    let mut mark = String::new();
    for count in 1..=first.len().min(FIRST_WORDS) {
        write_first(first[..count].iter().map(String::as_str), &mut mark);
        visit(&mark);
    }
    if !first.is_empty() {
        write_last(last, &mut mark);
        visit(&mark);
    }
}

/// What a term that is not a word is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Made {
    Negated(u32),
    First(usize, [u32; FIRST_WORDS]),
    Last(u32),
}

impl Made {
    fn term(self, lexicon: &Lexicon) -> String {
        let mut term = String::new();
        match self {
            Made::Negated(word) => write_negated(lexicon.term(word), &mut term),
            Made::First(count, words) => write_first(words[..count].iter().map(|&word| lexicon.term(word)), &mut term),
            Made::Last(word) => write_last(lexicon.term(word), &mut term),
        }
        term
    }
}

/// Documents whose negated occurrences have [`NEGATED_BIT`], with terms of their own for these and, if asked for, for positions.
pub(super) fn mark(
    lexicon: &Lexicon,
    ids: &[u32],
    offsets: &[u64],
    position: bool,
) -> Result<(Lexicon, Vec<u32>, Vec<u64>)> {
    // Numbers with the highest bit are those of terms made here, in order of first sight.
    const MADE: u32 = 1 << 31;
    let mut made: Vec<Made> = Vec::new();
    let mut known: FxHashMap<Made, u32> = FxHashMap::default();
    let mut number = |term: Made| {
        *known.entry(term).or_insert_with(|| {
            made.push(term);
            MADE | (made.len() - 1) as u32
        })
    };
    let documents = offsets.len().saturating_sub(1);
    let marks = if position { documents * (FIRST_WORDS + 1) } else { 0 };
    let mut marked = Vec::with_capacity(ids.len() + marks);
    let mut ends = Vec::with_capacity(offsets.len());
    ends.extend(offsets.first());
    for document in 0..documents {
        let words = &ids[offsets[document] as usize..offsets[document + 1] as usize];
        let plain = |word: u32| word & !NEGATED_BIT;
        marked.extend(words.iter().map(|&word| match word & NEGATED_BIT {
            0 => word,
            _ => number(Made::Negated(plain(word))),
        }));
        if let (true, Some(&last)) = (position, words.last()) {
            let mut first = [0; FIRST_WORDS];
            for (place, &word) in words.iter().take(FIRST_WORDS).enumerate() {
                first[place] = plain(word);
                marked.push(number(Made::First(place + 1, first)));
            }
            marked.push(number(Made::Last(plain(last))));
        }
        ends.push(marked.len() as u64);
    }
    if lexicon.len() + made.len() >= MOST_WORDS {
        return Err(Error::data(TOO_MANY_WORDS));
    }
    let mut terms: Vec<(String, u32)> = made.iter().map(|term| term.term(lexicon)).zip(0..).collect();
    terms.par_sort_unstable();
    let mut all = Lexicon::default();
    let (mut from_words, mut from_made) = (Vec::with_capacity(lexicon.len()), vec![0; made.len()]);
    let mut next = terms.iter().peekable();
    for word in lexicon.iter() {
        while let Some((term, made)) = next.next_if(|(term, _)| term.as_str() < word) {
            from_made[*made as usize] = all.len() as u32;
            all.push(term);
        }
        from_words.push(all.len() as u32);
        all.push(word);
    }
    for (term, made) in next {
        from_made[*made as usize] = all.len() as u32;
        all.push(term);
    }
    marked.par_iter_mut().with_min_len(1 << 16).for_each(|id| {
        *id = match *id & MADE {
            0 => from_words[*id as usize],
            _ => from_made[(*id & !MADE) as usize],
        };
    });
    Ok((all, marked, ends))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Run;
    use crate::text::{Stemmer, StopList, WordsParams};

    fn of(params: &WordsParams, text: &str) -> String {
        params.tokens_of(text).unwrap().join(" ")
    }

    #[test]
    fn the_words_after_a_negation_are_marked_up_to_a_sign() {
        let params = WordsParams { negate: 3, ..WordsParams::default() };
        for (text, expected) in [
            ("this is not a very good film at all", "this is not ¬a ¬very ¬good film at all"),
            ("I don't like it. It is bad", "i don't ¬like ¬it it is bad"),
            ("no, this is good", "no this is good"),
            ("never ever not good", "never ¬ever not ¬good"),
            ("without\n\na doubt", "without a doubt"),
            ("without\na \"doubt\"", "without ¬a ¬doubt"),
            ("Don is nice", "don is nice"),
            ("not", "not"),
            ("", ""),
        ] {
            assert_eq!(of(&params, text), expected);
        }
        let split = WordsParams { tokenizer: Tokenizer::Letters, ..params.clone() };
        assert_eq!(of(&split, "I don't like it"), "i don ¬t ¬like ¬it");
        let stem = Some(Stemmer::from_name("porter").unwrap());
        let stop = Some(StopList::English.into());
        assert_eq!(of(&WordsParams { stem, stop, ..params }, "not the liked films of all"), "¬like ¬film");
    }

    #[test]
    fn positions_are_terms_of_their_own() {
        let params = WordsParams { position: true, ..WordsParams::default() };
        assert_eq!(of(&params, "How do I pay?"), "how do i pay ^how ^how·do ^how·do·i pay$");
        assert_eq!(of(&params, "How do"), "how do ^how ^how·do do$");
        assert_eq!(of(&params, "a"), "a ^a a$");
        assert_eq!(of(&params, "!"), "");
        let both = WordsParams { negate: 2, ..params };
        assert_eq!(of(&both, "not good"), "not ¬good ^not ^not·good good$");
        let tokens = both.tokenize(&["not good"], &Run::new(0, 1).unwrap()).unwrap();
        let positions: Vec<&str> = tokens.lexicon().iter().filter(|term| is_position(term)).collect();
        assert_eq!(positions, ["^not", "^not·good", "good$"]);
    }
}
