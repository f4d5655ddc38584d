//! The arguments of one stage, read by the table of its parameters.

use super::registry::Parameter;
use super::syntax::{Argument, Call};
use crate::params::Params;
use crate::{Error, Result};

/// The arguments of a call, each with its name.
#[derive(Debug)]
pub(super) struct Arguments<'a> {
    recipe: &'a str,
    call: &'a Call,
    given: Vec<(String, &'a Argument)>,
    /// Out of a model's file; see [`Params::BEFORE`].
    of_file: bool,
}

impl<'a> Arguments<'a> {
    /// Gives every argument its name (the first may stand without) and refuses unknown and repeated ones.
    pub(super) fn new(recipe: &'a str, call: &'a Call, parameters: &[Parameter], of_file: bool) -> Result<Self> {
        let mut arguments = Arguments { recipe, call, given: Vec::new(), of_file };
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
            if arguments.given.iter().any(|(known, _)| *known == name) {
                return Err(arguments.fault(argument.at, format!("`{name}` is given twice")));
            }
            arguments.given.push((name, argument));
        }
        Ok(arguments)
    }

    fn fault(&self, at: usize, reason: impl Into<String>) -> Error {
        Error::BadRecipe { recipe: self.recipe.to_string(), at, reason: reason.into() }
    }

    /// The params struct with these arguments, checked. Read in the order of the table, so that what an alias means does
    /// not depend on where it stands.
    pub(super) fn read<P: Params>(&self) -> Result<P> {
        let mut params = P::default();
        for param in P::table() {
            let Some((name, argument)) = self.given.iter().find(|(name, _)| name == param.name) else {
                if let Some((_, value)) = P::BEFORE.iter().find(|(name, _)| self.of_file && *name == param.name) {
                    params.set(param.name, value)?;
                }
                continue;
            };
            param.read(&mut params, &argument.value).map_err(|reason| {
                let about = param.about;
                self.fault(argument.at, format!("`{name}` cannot be `{}`: {reason} ({about})", argument.value))
            })?;
        }
        match params.check() {
            Err(Error::BadParameter { faults, .. }) => {
                let reasons: Vec<String> = faults
                    .iter()
                    .map(|fault| format!("`{}` is {} but {}", fault.name, fault.value, fault.reason))
                    .collect();
                Err(self.fault(self.call.at, reasons.join("; ")))
            }
            other => other.map(|()| params),
        }
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
pub(super) fn nearest<'n>(word: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
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

#[cfg(test)]
mod tests {
    use super::super::registry::Registry;
    use super::super::syntax::Expression;
    use super::*;
    use crate::classify::{Framed, KnnParams, Metric};

    fn read(text: &str) -> Result<Framed<KnnParams>> {
        let Expression::Stage(call) = Expression::parse(text)? else { panic!("{text}") };
        let registry = Registry::standard();
        Arguments::new(text, &call, &registry.find("knn").unwrap().parameters, false)?.read()
    }

    #[test]
    fn arguments_are_read_by_name_or_first_by_position() {
        let knn = read("knn(7, metric=euclidean, calibrate=0)").unwrap();
        assert_eq!((knn.method.k, knn.method.metric, knn.calibrate), (7, Metric::Euclidean, 0));
    }

    #[test]
    fn mistakes_are_explained() {
        let message = |text: &str| read(text).unwrap_err().to_string();
        assert!(message("knn(mertic=cosine)").contains("did you mean `metric`"));
        assert!(message("knn(zzzzzz=1)").contains("it has k, metric"));
        assert!(message("knn(k=1, k=2)").contains("twice"));
        assert!(message("knn(k=many)").contains("a whole number"));
        assert!(message("knn(metric=near)").contains("cosine or euclidean"));
        assert!(message("knn(metric=cosine, 3)").contains("only the first"));
        let both = message("knn(k=0, calibrate=1)");
        assert!(both.contains("`k` is 0") && both.contains("`calibrate` is 1"), "{both}");
    }

    #[test]
    fn near_names_are_found() {
        assert_eq!(nearest("smv", ["svm", "knn"].into_iter()), Some("svm"));
        assert_eq!(nearest("tf-idf", ["tfidf", "counts"].into_iter()), Some("tfidf"));
        assert_eq!(nearest("quux", ["svm", "knn"].into_iter()), None);
    }
}
