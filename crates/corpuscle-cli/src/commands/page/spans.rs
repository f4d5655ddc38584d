//! Where in a text the terms of an explanation stand.
//!
//! Words, runs of words, pairs with words between them, negated words and positions mark whole words; character n-grams mark the letters
//! they are made of. A term that two views of the text know by the same name is marked once.

use std::collections::HashMap;

use corpuscle::recipe::{Contribution, Model};
use corpuscle::report::html::Span;
use corpuscle::text::{Chars, Strip, WordsParams};

/// Places that add less than this share of what the strongest adds are not marked.
const FAINTEST: f64 = 0.04;

/// Letters side by side that add so nearly the same, as a share of what the strongest adds, are marked together.
const ALIKE: f64 = 0.15;

/// What stands between the two words of a pair, and how far they can be apart.
const BETWEEN: &str = " … ";
const FARTHEST: usize = 17;

/// The places of the terms, each with what it adds. A term of several words gives each of them an equal part.
pub(in crate::commands) fn spans(model: &Model, text: &str, terms: &[Contribution]) -> anyhow::Result<Vec<Span>> {
    let mut amounts: HashMap<&str, f64> = terms.iter().map(|part| (part.term.as_str(), part.amount)).collect();
    let mut marked = Marked::new(text);
    let reading = model.recipe().words();
    for view in std::iter::once(reading).chain(&reading.views) {
        let found = match view.chars {
            Some(chars) => marked.letters(view, chars, &amounts)?,
            None => marked.words(view, &amounts)?,
        };
        found.iter().for_each(|term| {
            amounts.remove(term.as_str());
        });
    }
    Ok(marked.spans())
}

/// The words of a text and what is added to them.
struct Marked<'a> {
    text: &'a str,
    /// Each word and the byte it begins at.
    words: Vec<(usize, &'a str)>,
    /// What each word adds.
    whole: Vec<f64>,
    /// What the letters of each word add beyond that, when a term is a part of a word.
    inside: Vec<Vec<f64>>,
}

impl<'a> Marked<'a> {
    fn new(text: &'a str) -> Self {
        let words: Vec<(usize, &str)> = words(text).collect();
        Marked { text, whole: vec![0.0; words.len()], inside: vec![Vec::new(); words.len()], words }
    }

    /// Marks terms made of whole words; gives those it found.
    fn words(&mut self, view: &WordsParams, amounts: &HashMap<&str, f64>) -> anyhow::Result<Vec<String>> {
        let longest = amounts.keys().map(|term| term.matches(' ').count() + 1).max().unwrap_or(1);
        let tokens = self.tokens(view)?;
        let mut found = Vec::new();
        let mut add = |whole: &mut [f64], term: &str, places: &[usize]| {
            let Some(amount) = amounts.get(term) else { return };
            places.iter().for_each(|&place| whole[place] += amount / places.len() as f64);
            found.push(term.to_string());
        };
        for first in 0..tokens.len() {
            let mut term = String::new();
            let mut places = Vec::new();
            for length in 1..=longest.min(tokens.len() - first) {
                if length > 1 {
                    term.push(' ');
                }
                let (token, place) = &tokens[first + length - 1];
                term.push_str(token);
                places.push(*place);
                add(&mut self.whole, &term, &places);
            }
        }
        if amounts.keys().any(|term| term.contains(BETWEEN)) {
            // How far apart the model lets the words of a pair stand is not known here; where they are nearest, it does.
            let mut nearest: HashMap<String, Vec<(usize, [usize; 2])>> = HashMap::new();
            for (first, (one, place)) in tokens.iter().enumerate() {
                for (apart, (other, second)) in tokens[first + 1..].iter().take(FARTHEST).enumerate() {
                    let term = format!("{one}{BETWEEN}{other}");
                    if amounts.contains_key(term.as_str()) {
                        nearest.entry(term).or_default().push((apart, [*place, *second]));
                    }
                }
            }
            for (term, places) in nearest {
                let least = places.iter().map(|(apart, _)| *apart).min();
                let nearest = places.iter().filter(|(apart, _)| Some(*apart) == least);
                nearest.for_each(|(_, places)| add(&mut self.whole, &term, places));
            }
        }
        if view.position {
            let plain: Vec<(&str, usize)> =
                tokens.iter().map(|(token, place)| (token.trim_start_matches('¬'), *place)).collect();
            for count in 1..=plain.len().min(3) {
                let joined: Vec<&str> = plain[..count].iter().map(|(token, _)| *token).collect();
                let places: Vec<usize> = plain[..count].iter().map(|(_, place)| *place).collect();
                add(&mut self.whole, &format!("^{}", joined.join("·")), &places);
            }
            if let Some((token, place)) = plain.last() {
                add(&mut self.whole, &format!("{token}$"), &[*place]);
            }
        }
        Ok(found)
    }

    /// Every token of the view with the word it stands in.
    fn tokens(&self, view: &WordsParams) -> anyhow::Result<Vec<(String, usize)>> {
        let alone = of_words(view);
        let mut known: HashMap<&str, Vec<String>> = HashMap::new();
        let mut tokens: Vec<(String, usize)> = Vec::new();
        for (place, (_, word)) in self.words.iter().enumerate() {
            if !known.contains_key(word) {
                known.insert(word, alone.tokens_of(word)?);
            }
            tokens.extend(known[word].iter().map(|token| (token.clone(), place)));
        }
        if view.negate > 0 {
            // Whether a word is negated shows in the whole text only.
            let whole = WordsParams { negate: view.negate, ..alone }.tokens_of(self.text)?;
            let same = |(a, (b, _)): (&String, &(String, usize))| a.trim_start_matches('¬') == b;
            if whole.len() == tokens.len() && whole.iter().zip(&tokens).all(same) {
                tokens.iter_mut().zip(whole).for_each(|((token, _), whole)| *token = whole);
            }
        }
        Ok(tokens)
    }

    /// Marks the letters of character n-grams; gives the terms it found.
    fn letters(
        &mut self,
        view: &WordsParams,
        chars: Chars,
        amounts: &HashMap<&str, f64>,
    ) -> anyhow::Result<Vec<String>> {
        let alone = of_words(view);
        let mut found = Vec::new();
        for (place, (_, word)) in self.words.iter().enumerate() {
            let inside = &mut self.inside[place];
            inside.resize(word.chars().count(), 0.0);
            // Where in the word its tokens stand: `card` and `s` in `card/s`.
            let mut from = 0;
            for token in alone.tokens_of(word)? {
                let Some(at) = find(word, &token, from) else { continue };
                // Pairs of characters overlap, so the next may begin inside this one.
                from = at + 1;
                for (term, core) in chars.grams(&token) {
                    let (Some(amount), Some(core)) = (
                        amounts.get(term.as_str()),
                        token.get(..core.end).map(|end| end[..core.start].chars().count()..end.chars().count()),
                    ) else {
                        continue;
                    };
                    // The mean over the letters of a word is what the word adds.
                    let share = amount * inside.len() as f64 / core.len().max(1) as f64;
                    inside[at + core.start..at + core.end].iter_mut().for_each(|letter| *letter += share);
                    found.push(term);
                }
            }
        }
        Ok(found)
    }

    /// Places that add enough to be seen, in order.
    fn spans(&self) -> Vec<Span> {
        let letters =
            self.inside.iter().zip(&self.whole).flat_map(|(inside, whole)| inside.iter().map(move |v| v + whole));
        let most = letters.chain(self.whole.iter().copied()).map(f64::abs).fold(0.0, f64::max);
        let mut spans: Vec<Span> = Vec::new();
        for (((start, word), whole), inside) in self.words.iter().zip(&self.whole).zip(&self.inside) {
            if inside.iter().all(|&letter| letter == 0.0) {
                spans.push(Span { start: *start, end: start + word.len(), contribution: *whole });
                continue;
            }
            // Runs of letters that add about the same.
            let mut run: Vec<f64> = Vec::new();
            let mut begin = 0;
            for ((at, c), letter) in word.char_indices().zip(inside) {
                let value = whole + letter;
                let alike = run.first().is_none_or(|first| (first - value).abs() <= ALIKE * most);
                if !alike {
                    let contribution = run.iter().sum::<f64>() / run.len() as f64;
                    spans.push(Span { start: start + begin, end: start + at, contribution });
                    run.clear();
                    begin = at;
                }
                run.push(value);
                if at + c.len_utf8() == word.len() {
                    let contribution = run.iter().sum::<f64>() / run.len() as f64;
                    spans.push(Span { start: start + begin, end: start + word.len(), contribution });
                }
            }
        }
        // A text in which every word is marked shows nothing.
        let least = FAINTEST * spans.iter().map(|span| span.contribution.abs()).fold(0.0, f64::max);
        spans.retain(|span| span.contribution != 0.0 && span.contribution.abs() >= least);
        spans
    }
}

/// The same words without what is not about a word alone: what is cut from mails, negations, positions, parts.
fn of_words(view: &WordsParams) -> WordsParams {
    WordsParams { strip: Strip::default(), position: false, negate: 0, chars: None, ..view.alone() }
}

/// The character of `word` at which `token` begins, from the character `from` on, whatever the case.
fn find(word: &str, token: &str, from: usize) -> Option<usize> {
    let (word, token): (Vec<char>, Vec<char>) = (word.chars().collect(), token.chars().collect());
    let same = |a: &char, b: &char| a.to_lowercase().eq(b.to_lowercase()) || *b == '\'' && !a.is_alphanumeric();
    let begins = |at: &usize| token.iter().zip(&word[*at..]).all(|(b, a)| same(a, b));
    (from..(word.len() + 1).saturating_sub(token.len())).find(begins)
}

/// Pieces between white space without the signs around them, with the byte they begin at.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut start = 0;
    text.split_inclusive(char::is_whitespace).filter_map(move |piece| {
        let inner = piece.trim_matches(|c: char| !c.is_alphanumeric());
        let offset = start + piece.find(inner).unwrap_or(0);
        start += piece.len();
        (!inner.is_empty()).then_some((offset, inner))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use corpuscle::Run;
    use corpuscle::corpus::demo;
    use corpuscle::recipe::{Corpus, Recipe};

    #[test]
    fn words_and_pairs_of_words_are_found() -> anyhow::Result<()> {
        let run = Run::new(42, 1)?;
        let recipe = Recipe::parse("tfidf(ngrams=2) | svm(calibrate=0)")?;
        let model = recipe.fit(&Corpus::read(demo()?.train.into_iter().map(Ok), recipe.words(), &run)?, &run)?;
        let part = |term: &str, amount| Contribution { term: term.into(), amount };
        let text = "“New\tYork”, new!";
        let found = spans(&model, text, &[part("new", 1.0), part("new york", -0.5)])?;
        let marked: Vec<(&str, f64)> = found.iter().map(|s| (&text[s.start..s.end], s.contribution)).collect();
        assert_eq!(marked, [("New", 0.75), ("York", -0.25), ("new", 1.0)]);
        Ok(())
    }

    fn marked(recipe: &str, text: &str, terms: &[(&str, f64)]) -> anyhow::Result<Vec<(String, f64)>> {
        let run = Run::new(42, 1)?;
        let recipe = Recipe::parse(recipe)?;
        let model = recipe.fit(&Corpus::read(demo()?.train.into_iter().map(Ok), recipe.words(), &run)?, &run)?;
        let terms: Vec<Contribution> =
            terms.iter().map(|(term, amount)| Contribution { term: (*term).into(), amount: *amount }).collect();
        let found = spans(&model, text, &terms)?;
        Ok(found.iter().map(|s| (text[s.start..s.end].to_string(), (s.contribution * 100.0).round() / 100.0)).collect())
    }

    #[test]
    fn every_view_is_marked() -> anyhow::Result<()> {
        let own =
            |list: &[(&str, f64)]| list.iter().map(|(word, amount)| (word.to_string(), *amount)).collect::<Vec<_>>();
        let recipe = "(tfidf + (words(position=true, negate=3) | tfidf(skip=2)) + (chars | tfidf)) | svm(calibrate=0)";
        let text = "Why is it NOT a good card, card?";
        assert_eq!(marked(recipe, text, &[("¬good", 1.0), ("good", 9.0)])?, own(&[("good", 10.0)]));
        assert_eq!(
            marked(recipe, text, &[("^why·is", 1.0), ("card$", -1.0)])?,
            own(&[("Why", 0.5), ("is", 0.5), ("card", -1.0)])
        );
        let pairs = marked(recipe, text, &[("why … it", 1.0), ("is … card", 1.0)])?;
        assert_eq!(pairs, own(&[("Why", 0.5), ("is", 0.5), ("it", 0.5), ("card", 0.5)]));
        // Two letters of four have it all, so each has twice what the word has.
        let letters = marked(recipe, "Card's", &[("ca-", 1.0), ("-rd's", -1.0)])?;
        assert_eq!(letters, own(&[("Ca", 3.0), ("rd's", -1.5)]));
        assert!(marked(recipe, "", &[("ca-", 1.0)])?.is_empty());
        Ok(())
    }
}
