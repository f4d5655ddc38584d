//! Tokens as tantivy takes them: our own, joined by a character that no word holds.
//!
//! Texts are cut into words by the rules of recipes, in parallel and interned; tantivy only takes them apart again, which is a search
//! for one byte and makes no string per token.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

/// Between two tokens: the unit separator of ASCII.
pub(super) const SEPARATOR: char = '\u{1f}';

/// Takes a text apart at the separator.
#[derive(Debug, Clone, Default)]
pub(super) struct Separated {
    token: Token,
}

/// The tokens of one text.
pub(super) struct Stream<'a> {
    rest: std::str::Split<'a, char>,
    token: &'a mut Token,
}

impl Tokenizer for Separated {
    type TokenStream<'a> = Stream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Stream<'a> {
        self.token.reset();
        Stream { rest: text.split(SEPARATOR), token: &mut self.token }
    }
}

impl TokenStream for Stream<'_> {
    fn advance(&mut self) -> bool {
        let Some(word) = self.rest.find(|word| !word.is_empty()) else { return false };
        self.token.text.clear();
        self.token.text.push_str(word);
        self.token.position = self.token.position.wrapping_add(1);
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}
