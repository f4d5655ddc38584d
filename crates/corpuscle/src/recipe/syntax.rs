//! The recipe language: text to a tree of stages, and back.
//!
//! ```text
//! pipeline := sum ('|' sum)*                      feeds
//! sum      := product ('+' product)*              side by side
//! product  := atom ('*' number)*                  weighs
//! atom     := stage | '(' pipeline ')'
//! stage    := name [ '(' (pipeline ';')* [argument (',' argument)*] ')' ]
//! argument := value | name '=' value
//! value    := number | word | "quoted text" | range
//! range    := number '..' number ['log'] | '{' value ('|' value)* '}'
//! ```
//! Recipes before a `;` are members of a vote; of the last one the `;` may be left out, as in `vote(A; B)`.
//! A range stands for values to be searched; only `corpuscle tune` takes one.
//! Every node remembers where it stood, so that each later complaint can point at the place. Reading is linear in the
//! length; length, stages and nesting are limited so that no input can exhaust the memory or the stack.

use std::fmt;

use crate::{Error, Result};

/// Deepest nesting of parentheses that is read, and of weights on weights.
const MAX_DEPTH: usize = 64;
/// The most stages and weights of a recipe: ten times as many as anybody writes, and few enough for the stack.
const MOST_STAGES: usize = 1000;
/// The longest recipe, in bytes; lists of terms may stand in one.
const LONGEST: usize = 1 << 20;

/// A recipe as written.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// One stage.
    Stage(Call),
    /// Parts that feed each other.
    Pipe(Vec<Expression>),
    /// Representations side by side.
    Sum(Vec<Expression>),
    /// A representation and its weight.
    Weighted(Box<Expression>, f64),
}

/// A stage's name with its arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The name.
    pub name: String,
    /// Byte offset of the name.
    pub at: usize,
    /// The recipes that decide together, for a stage that takes some.
    pub members: Vec<Expression>,
    /// The arguments in the order given.
    pub arguments: Vec<Argument>,
}

/// One argument.
#[derive(Debug, Clone, PartialEq)]
pub struct Argument {
    /// The name, unless given by position.
    pub name: Option<String>,
    /// The value, without quotes; a range as it is written.
    pub value: String,
    /// Byte offset of the argument.
    pub at: usize,
    /// Whether the value is a range to be searched. Quoted text never is.
    pub is_range: bool,
}

impl Expression {
    /// Reads a recipe.
    pub fn parse(text: &str) -> Result<Self> {
        let mut parser = Parser { text, at: 0, depth: 0, stages: 0 };
        if text.len() > LONGEST {
            return Err(
                parser.fault(format!("the recipe has {} bytes, more than {LONGEST}; write a shorter one", text.len()))
            );
        }
        let expression = parser.pipeline()?;
        match parser.peek() {
            None if expression.weights() > MAX_DEPTH => {
                parser.at = expression.at();
                Err(parser.fault(format!("more than {MAX_DEPTH} weights on one another; write their product")))
            }
            None => Ok(expression),
            Some(found) => {
                Err(parser.fault(format!("expected `|`, `+`, `*` or the end of the recipe here, not `{found}`")))
            }
        }
    }

    /// The most weights that lie on one another.
    fn weights(&self) -> usize {
        let most = |parts: &[Expression]| parts.iter().map(Expression::weights).max().unwrap_or(0);
        match self {
            Expression::Stage(call) => most(&call.members),
            Expression::Pipe(parts) | Expression::Sum(parts) => most(parts),
            Expression::Weighted(part, _) => 1 + part.weights(),
        }
    }

    /// Byte offset of the first stage.
    pub fn at(&self) -> usize {
        match self {
            Expression::Stage(call) => call.at,
            Expression::Pipe(parts) | Expression::Sum(parts) => parts.first().map_or(0, Expression::at),
            Expression::Weighted(part, _) => part.at(),
        }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joined =
            |f: &mut fmt::Formatter<'_>, parts: &[Expression], between: &str, wrap: fn(&Expression) -> bool| {
                for (index, part) in parts.iter().enumerate() {
                    if index > 0 {
                        f.write_str(between)?;
                    }
                    if wrap(part) { write!(f, "({part})")? } else { write!(f, "{part}")? }
                }
                Ok(())
            };
        match self {
            Expression::Stage(call) => write!(f, "{call}"),
            Expression::Pipe(parts) => joined(f, parts, " | ", |part| {
                matches!(part, Expression::Pipe(_) | Expression::Sum(_) | Expression::Weighted(..))
            }),
            Expression::Sum(parts) => {
                joined(f, parts, " + ", |part| matches!(part, Expression::Pipe(_) | Expression::Sum(_)))
            }
            Expression::Weighted(part, weight) => match **part {
                Expression::Stage(_) | Expression::Weighted(..) => write!(f, "{part} * {weight}"),
                _ => write!(f, "({part}) * {weight}"),
            },
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if self.arguments.is_empty() && self.members.is_empty() {
            return Ok(());
        }
        f.write_str("(")?;
        for (index, member) in self.members.iter().enumerate() {
            write!(f, "{member}")?;
            // The `;` that tells a member from an argument is needed where there is one member only, or arguments follow.
            let is_last = index + 1 == self.members.len() && self.arguments.is_empty() && index > 0;
            f.write_str(match (is_last, index + 1 == self.members.len() && self.arguments.is_empty()) {
                (true, _) => "",
                (false, true) => ";",
                (false, false) => "; ",
            })?;
        }
        for (index, argument) in self.arguments.iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            if let Some(name) = &argument.name {
                write!(f, "{name}=")?;
            }
            // A text that reads like a range is told from one by its quotes.
            let plain = argument.value.chars().all(is_word) && !is_span(&argument.value);
            if argument.is_range || (plain && !argument.value.is_empty()) {
                f.write_str(&argument.value)?;
            } else {
                write!(f, "\"{}\"", argument.value.replace('\\', "\\\\").replace('"', "\\\""))?;
            }
        }
        f.write_str(")")
    }
}

/// Characters of an unquoted value. `+` joins words inside a value (`strip=headers+quotes`).
fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | ':' | '+' | '-' | '%' | '~')
}

/// Whether a value is two numbers with `..` between them. A path such as `../words.vec` is not.
fn is_span(value: &str) -> bool {
    let number = |text: &str| text.parse::<f64>().is_ok_and(f64::is_finite);
    value.split_once("..").is_some_and(|(low, high)| number(low) && number(high))
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// Stages and weights so far.
    stages: usize,
}

impl Parser<'_> {
    /// Counts a stage or a weight.
    fn one_more(&mut self) -> Result<()> {
        self.stages += 1;
        match self.stages > MOST_STAGES {
            true => Err(self.fault(format!("more than {MOST_STAGES} stages and weights; write a shorter recipe"))),
            false => Ok(()),
        }
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&mut self) -> Option<char> {
        let blank = self.rest().len() - self.rest().trim_start().len();
        self.at += blank;
        self.rest().chars().next()
    }

    fn take(&mut self, wanted: char) -> bool {
        let there = self.peek() == Some(wanted);
        if there {
            self.at += wanted.len_utf8();
        }
        there
    }

    fn fault(&self, reason: impl Into<String>) -> Error {
        Error::BadRecipe { recipe: self.text.to_string(), at: self.at, reason: reason.into() }
    }

    fn run_of(&mut self, belongs: fn(char) -> bool) -> String {
        self.peek();
        let length = self.rest().find(|c| !belongs(c)).unwrap_or(self.rest().len());
        let word = self.rest()[..length].to_string();
        self.at += length;
        word
    }

    fn list(
        &mut self,
        separator: char,
        mut item: impl FnMut(&mut Self) -> Result<Expression>,
        wrap: fn(Vec<Expression>) -> Expression,
    ) -> Result<Expression> {
        let first = item(self)?;
        let mut items = vec![first];
        while self.take(separator) {
            items.push(item(self)?);
        }
        Ok(match items.len() {
            1 => items.remove(0),
            _ => wrap(items),
        })
    }

    fn pipeline(&mut self) -> Result<Expression> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.fault(format!("parentheses are nested more than {MAX_DEPTH} deep")));
        }
        let result = self.list('|', Self::sum, Expression::Pipe);
        self.depth -= 1;
        result
    }

    fn sum(&mut self) -> Result<Expression> {
        self.list('+', Self::product, Expression::Sum)
    }

    fn product(&mut self) -> Result<Expression> {
        let mut expression = self.atom()?;
        while self.take('*') {
            self.one_more()?;
            self.peek();
            let start = self.at;
            // The sign and exponent are part of a number here; `+` between parts is not.
            let number = self.run_of(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'));
            match number.parse::<f64>() {
                Ok(weight) if weight.is_finite() => expression = Expression::Weighted(Box::new(expression), weight),
                _ => {
                    self.at = start;
                    return Err(self.fault("`*` needs a number after it, as in `scdv * 0.5`"));
                }
            }
        }
        Ok(expression)
    }

    fn atom(&mut self) -> Result<Expression> {
        match self.peek() {
            Some('(') => {
                self.at += 1;
                let inner = self.pipeline()?;
                if self.take(')') { Ok(inner) } else { Err(self.fault("expected `)` here")) }
            }
            Some(c) if c.is_ascii_alphabetic() => {
                let at = self.at;
                self.one_more()?;
                let name = self.run_of(is_name);
                let (members, arguments) = self.arguments()?;
                Ok(Expression::Stage(Call { name, at, members, arguments }))
            }
            Some(c) => Err(self.fault(format!("expected a stage here, not `{c}`"))),
            None if self.text.trim().is_empty() => Err(self.fault("the recipe is empty; try `tfidf | svm`")),
            None => Err(self.fault("expected a stage here, but the recipe ends")),
        }
    }

    /// Whether a `;` stands between here and the `)` that closes what is open; what is quoted does not count.
    fn has_members(&self) -> bool {
        let (mut open, mut quoted, mut escaped) = (0usize, false, false);
        for c in self.rest().chars() {
            match c {
                _ if escaped => escaped = false,
                '\\' if quoted => escaped = true,
                '"' => quoted = !quoted,
                _ if quoted => {}
                '(' => open += 1,
                ')' if open == 0 => return false,
                ')' => open -= 1,
                ';' if open == 0 => return true,
                _ => {}
            }
        }
        false
    }

    /// Whether `name =` comes next: an argument and not a recipe.
    fn is_named_argument(&mut self) -> bool {
        self.peek();
        let start = self.at;
        let named = !self.run_of(is_name).is_empty() && self.peek() == Some('=');
        self.at = start;
        named
    }

    /// The recipes and the arguments between parentheses.
    fn arguments(&mut self) -> Result<(Vec<Expression>, Vec<Argument>)> {
        let (mut members, mut arguments) = (Vec::new(), Vec::new());
        if !self.take('(') || self.take(')') {
            return Ok((members, arguments));
        }
        if self.has_members() {
            while !self.is_named_argument() {
                members.push(self.pipeline()?);
                let more = self.take(';');
                if self.take(')') {
                    return Ok((members, arguments));
                }
                if !more {
                    return Err(self.fault("expected `;` or `)` here"));
                }
            }
        }
        loop {
            self.peek();
            let at = self.at;
            let (first, first_is_range) = self.value()?;
            let argument = if self.take('=') {
                let (value, is_range) = self.value()?;
                Argument { name: Some(first), value, at, is_range }
            } else {
                Argument { name: None, value: first, at, is_range: first_is_range }
            };
            arguments.push(argument);
            if self.take(')') {
                return Ok((members, arguments));
            }
            if !self.take(',') {
                return Err(self.fault("expected `,` or `)` here"));
            }
        }
    }

    /// A value, and whether it is a range.
    fn value(&mut self) -> Result<(String, bool)> {
        match self.peek() {
            Some('"') => Ok((self.quoted()?, false)),
            Some('{') => Ok((self.choices()?, true)),
            _ => {
                let mut value = self.run_of(is_word);
                if value.is_empty() {
                    return Err(self.fault("expected a value here"));
                }
                let is_range = is_span(&value);
                if is_range && self.peek() == Some('l') {
                    let start = self.at;
                    if self.run_of(is_word) != "log" {
                        self.at = start;
                        return Err(self.fault("after a range, only `log` is understood: `0.01..100 log`"));
                    }
                    value.push_str(" log");
                }
                Ok((value, is_range))
            }
        }
    }

    /// `{1|3|10}`, printed without blanks.
    fn choices(&mut self) -> Result<String> {
        self.take('{');
        let mut choices = Vec::new();
        loop {
            let choice = self.run_of(is_word);
            if choice.is_empty() {
                return Err(self.fault("expected one of the values to choose from here, as in `{1|3|10}`"));
            }
            choices.push(choice);
            if self.take('}') {
                return Ok(format!("{{{}}}", choices.join("|")));
            }
            if !self.take('|') {
                return Err(self.fault("expected `|` or `}` here"));
            }
        }
    }

    fn quoted(&mut self) -> Result<String> {
        if self.take('"') {
            let mut value = String::new();
            let mut escaped = false;
            for (offset, c) in self.text[self.at..].char_indices() {
                match c {
                    _ if escaped => {
                        value.push(c);
                        escaped = false;
                    }
                    '\\' => escaped = true,
                    '"' => {
                        self.at += offset + 1;
                        return Ok(value);
                    }
                    _ => value.push(c),
                }
            }
        }
        Err(self.fault("this quoted text never ends; close it with `\"`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn printed(text: &str) -> String {
        Expression::parse(text).unwrap().to_string()
    }

    #[test]
    fn every_recipe_of_the_design_is_read_and_printed() {
        for text in [
            "words(stem=porter, stop=english) | tfidf(sublinear=true, min_df=2) | varnorm(60) | discriminant | knn(k=10, metric=cosine)",
            "words(stop=english) | scdv(dim=200, clusters=60) | svm(c=1)",
            "tfidf | dcot(prototypes=1000, noise=0.7, layers=2) | svm",
            "words(stem=porter) | binary | ig(1000) | sprinkle(rank=100, adaptive=true, msl=8) | knn(k=3, metric=euclidean)",
            "(tfidf + scdv * 0.5) | svm",
            "((tfidf | lsi(100)) + scdv) | svm",
            "words(strip=headers+quotes) | tfidf",
            "scdv(vectors=\"a file, with comma.vec\") | svm",
            "vote(tfidf | svm; words(stop=\"a; b\") | (tfidf + scdv * 2) | svm(c=3))",
            "vote(tfidf | svm;)",
            "vote(tfidf | svm; chars | tfidf | svm; calibrate=0, weights=equal)",
        ] {
            assert_eq!(printed(text), text);
        }
    }

    #[test]
    fn feeding_binds_weaker_than_side_by_side_and_weighing_tightest() {
        assert_eq!(printed("tfidf+scdv*0.5|svm"), "(tfidf + scdv * 0.5) | svm");
        assert_eq!(printed(" ( tfidf ) | svm ( ) "), "tfidf | svm");
    }

    #[test]
    fn faults_point_at_their_place() {
        let place = |text: &str| match Expression::parse(text) {
            Err(Error::BadRecipe { at, reason, .. }) => (at, reason),
            other => panic!("{other:?}"),
        };
        assert_eq!(place("tfidf | "), (8, "expected a stage here, but the recipe ends".to_string()));
        assert_eq!(place("tfidf svm").0, 6);
        assert_eq!(place("tfidf(min_df=2 | svm").0, 15);
        assert_eq!(place("tfidf * x").0, 8);
        assert_eq!(place("tfidf(\"a").0, 7);
        assert_eq!(place("vote(tfidf | svm; lsi = 3; knn)").0, 25);
        assert_eq!(place("vote(; tfidf)").0, 5);
        assert!(place(&"vote(a; ".repeat(10_000)).1.contains("nested"));
        assert!(place("").1.contains("empty"));
        assert!(place(&"(".repeat(10_000)).1.contains("nested"));
    }

    #[test]
    fn ranges_are_told_from_texts_that_look_like_them() {
        let arguments = |text: &str| match Expression::parse(text).unwrap() {
            Expression::Stage(call) => call.arguments,
            other => panic!("{other:?}"),
        };
        for (text, value) in
            [("20..120", "20..120"), ("0.01..100   log", "0.01..100 log"), ("{ 1 | 3|10 }", "{1|3|10}")]
        {
            let argument = arguments(&format!("svm(c={text})")).remove(0);
            assert!(argument.is_range && argument.value == value, "{argument:?}");
            assert_eq!(printed(&format!("svm(c={text})")), format!("svm(c={value})"));
        }
        for text in ["scdv(vectors=../words.vec)", "scdv(vectors=\"1..2\")", "words(stop=\"{a|b}\")"] {
            assert!(!arguments(text)[0].is_range);
            assert_eq!(printed(text), text);
        }
        for text in ["svm(c={})", "svm(c={1|2)", "svm(c=1..2 lin)", "svm(c={1||2})"] {
            assert!(Expression::parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,60}") {
            let _ = Expression::parse(&text);
        }

        #[test]
        fn what_is_printed_is_read_back(text in "[a-c(|+*)=,;.0-9 \"\\\\é{}]{0,40}") {
            if let Ok(expression) = Expression::parse(&text) {
                let again = expression.to_string();
                prop_assert_eq!(Expression::parse(&again).unwrap().to_string(), again);
            }
        }
    }
}
