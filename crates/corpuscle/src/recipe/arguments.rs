//! The arguments of one stage, read by name with their types checked, and written back in their shortest form.

use std::fmt::Display;
use std::str::FromStr;

use super::syntax::{Argument, Call};
use crate::{Error, Result};

/// What a parameter is, for messages and for the list of stages.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// The name.
    pub name: &'static str,
    /// What it may be and what it does, in a few words.
    pub about: &'static str,
}

/// The arguments of a call, taken one after the other; what is left over is a mistake.
#[derive(Debug)]
pub struct Arguments<'a> {
    recipe: &'a str,
    call: &'a Call,
    parameters: &'static [Parameter],
    left: Vec<(String, &'a Argument)>,
}

impl<'a> Arguments<'a> {
    /// Gives every argument its name (the first may stand without) and refuses unknown and repeated ones.
    pub fn new(recipe: &'a str, call: &'a Call, parameters: &'static [Parameter]) -> Result<Self> {
        let mut arguments = Arguments { recipe, call, parameters, left: Vec::new() };
        for (index, argument) in call.arguments.iter().enumerate() {
            let name = match (&argument.name, parameters.first()) {
                (Some(name), _) => name.clone(),
                (None, Some(first)) if index == 0 => first.name.to_string(),
                (None, Some(_)) => {
                    return Err(arguments.fault(argument.at, "only the first argument may stand without a name"));
                }
                (None, None) => {
                    return Err(arguments.fault(argument.at, format!("`{}` takes no arguments", call.name)));
                }
            };
            if !parameters.iter().any(|parameter| parameter.name == name) {
                return Err(arguments.fault(argument.at, unknown(&call.name, &name, parameters)));
            }
            if arguments.left.iter().any(|(known, _)| *known == name) {
                return Err(arguments.fault(argument.at, format!("`{name}` is given twice")));
            }
            arguments.left.push((name, argument));
        }
        Ok(arguments)
    }

    fn fault(&self, at: usize, reason: impl Into<String>) -> Error {
        Error::BadRecipe { recipe: self.recipe.to_string(), at, reason: reason.into() }
    }

    fn about(&self, name: &str) -> &'static str {
        self.parameters.iter().find(|parameter| parameter.name == name).map_or("", |parameter| parameter.about)
    }

    /// Reads `name` into `to` with `read`, when it was given.
    pub fn read<T>(&mut self, name: &str, to: &mut T, read: impl FnOnce(&str) -> Option<T>) -> Result<()> {
        let Some(index) = self.left.iter().position(|(known, _)| known == name) else { return Ok(()) };
        let (_, argument) = self.left.remove(index);
        match read(&argument.value) {
            Some(value) => *to = value,
            None => {
                let reason = format!("`{name}` cannot be `{}`: {}", argument.value, self.about(name));
                return Err(self.fault(argument.at, reason));
            }
        }
        Ok(())
    }

    /// Reads a number, `true`, `false`, or anything else with a text form.
    pub fn parse<T: FromStr>(&mut self, name: &str, to: &mut T) -> Result<()> {
        self.read(name, to, |text| text.parse().ok())
    }

    /// Reads a finite float.
    pub fn float<T: FromStr + Into<f64> + Copy>(&mut self, name: &str, to: &mut T) -> Result<()> {
        self.read(name, to, |text| text.parse::<T>().ok().filter(|&value| value.into().is_finite()))
    }

    /// Reads one of several words.
    pub fn choice<T: Copy>(&mut self, name: &str, to: &mut T, words: &[(&str, T)]) -> Result<()> {
        self.read(name, to, |text| words.iter().find(|(word, _)| *word == text).map(|&(_, value)| value))
    }

    /// Where the stage stands, for complaints about values that are read but out of range.
    pub fn place(&self) -> (String, usize) {
        (self.recipe.to_string(), self.call.at)
    }
}

fn unknown(stage: &str, name: &str, parameters: &[Parameter]) -> String {
    let names: Vec<&str> = parameters.iter().map(|parameter| parameter.name).collect();
    match nearest(name, names.iter().copied()) {
        Some(near) => format!("`{stage}` has no parameter `{name}`; did you mean `{near}`?"),
        None if names.is_empty() => format!("`{stage}` takes no arguments"),
        None => format!("`{stage}` has no parameter `{name}`; it has {}", names.join(", ")),
    }
}

/// The name closest to a misspelt one, when one is close enough to be meant.
pub fn nearest<'n>(word: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    names
        .map(|name| (edits(word, name), name))
        .filter(|&(distance, name)| distance <= 1 + name.len().min(word.len()) / 3)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, name)| name)
}

/// Edits between two words, neighbouring letters swapped counting one (optimal string alignment).
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let changed = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = changed.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

/// Collects the arguments that differ from the defaults, in the order written.
#[derive(Debug, Default)]
pub struct Shown(Vec<(&'static str, String)>);

impl Shown {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `name=value` unless it is the default.
    #[must_use]
    pub fn add<T: PartialEq>(
        mut self,
        name: &'static str,
        value: &T,
        default: &T,
        show: impl Fn(&T) -> String,
    ) -> Self {
        if value != default {
            self.0.push((name, show(value)));
        }
        self
    }

    /// The same for values with a plain text form.
    #[must_use]
    pub fn plain<T: PartialEq + Display>(self, name: &'static str, value: &T, default: &T) -> Self {
        self.add(name, value, default, T::to_string)
    }

    /// The arguments by name.
    pub fn into_arguments(self) -> Vec<(&'static str, String)> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::syntax::Expression;
    use super::*;

    const PARAMETERS: &[Parameter] =
        &[Parameter { name: "k", about: "a whole number" }, Parameter { name: "metric", about: "cosine or euclidean" }];

    fn call(text: &str) -> Call {
        match Expression::parse(text).unwrap() {
            Expression::Stage(call) => call,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn arguments_are_read_by_name_or_first_by_position() {
        let call = call("knn(7, metric=euclidean)");
        let mut arguments = Arguments::new("", &call, PARAMETERS).unwrap();
        let (mut k, mut metric) = (1usize, 0);
        arguments.parse("k", &mut k).unwrap();
        arguments.choice("metric", &mut metric, &[("cosine", 1), ("euclidean", 2)]).unwrap();
        assert_eq!((k, metric), (7, 2));
    }

    #[test]
    fn mistakes_are_explained() {
        let message = |text: &str| {
            let call = call(text);
            let result = Arguments::new(text, &call, PARAMETERS).and_then(|mut a| a.parse("k", &mut 1usize));
            result.unwrap_err().to_string()
        };
        assert!(message("knn(mertic=cosine)").contains("did you mean `metric`"));
        assert!(message("knn(zzzzzz=1)").contains("it has k, metric"));
        assert!(message("knn(k=1, k=2)").contains("twice"));
        assert!(message("knn(k=many)").contains("a whole number"));
        assert!(message("knn(metric=cosine, 3)").contains("only the first"));
    }

    #[test]
    fn near_names_are_found() {
        assert_eq!(nearest("smv", ["svm", "knn"].into_iter()), Some("svm"));
        assert_eq!(nearest("tf-idf", ["tfidf", "counts"].into_iter()), Some("tfidf"));
        assert_eq!(nearest("quux", ["svm", "knn"].into_iter()), None);
    }
}
