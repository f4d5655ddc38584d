//! Where in a text the terms of an explanation stand.

use std::collections::HashMap;

use corpuscle::recipe::{Contribution, Model};
use corpuscle::report::html::Span;

/// Words that add less than this share of what the strongest adds are not marked.
const FAINTEST: f64 = 0.04;

/// The places of the terms, each with what it adds. A term of several words gives each of them an equal part.
pub(in crate::commands) fn spans(model: &Model, text: &str, terms: &[Contribution]) -> anyhow::Result<Vec<Span>> {
    let amounts: HashMap<&str, f64> = terms.iter().map(|part| (part.term.as_str(), part.amount)).collect();
    let longest = terms.iter().map(|part| part.term.matches(' ').count() + 1).max().unwrap_or(1);
    let mut known: HashMap<&str, Vec<String>> = HashMap::new();
    let mut spans: Vec<Span> = Vec::new();
    // Every token with the span it stands in.
    let mut tokens: Vec<(String, usize)> = Vec::new();
    for (start, word) in words(text) {
        if !known.contains_key(word) {
            known.insert(word, model.recipe().words().tokens_of(word)?);
        }
        tokens.extend(known[word].iter().map(|token| (token.clone(), spans.len())));
        spans.push(Span { start, end: start + word.len(), contribution: 0.0 });
    }
    for first in 0..tokens.len() {
        let mut term = String::new();
        for length in 1..=longest.min(tokens.len() - first) {
            if length > 1 {
                term.push(' ');
            }
            term.push_str(&tokens[first + length - 1].0);
            if let Some(amount) = amounts.get(term.as_str()) {
                for (_, span) in &tokens[first..first + length] {
                    spans[*span].contribution += amount / length as f64;
                }
            }
        }
    }
    // A text in which every word is marked shows nothing.
    let least = FAINTEST * spans.iter().map(|span| span.contribution.abs()).fold(0.0, f64::max);
    spans.retain(|span| span.contribution != 0.0 && span.contribution.abs() >= least);
    Ok(spans)
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
}
