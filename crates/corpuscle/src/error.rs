//! The one error type of the library: every failure says what was wrong, where, and what to do next.

use std::path::{Path, PathBuf};

/// What the library returns when it can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Every way in which a call can fail.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be opened, read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file, or `-` for standard input or output.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },

    /// Input that was read but makes no sense: a bad row, a truncated archive, a missing field.
    #[error("{path}{}: {reason}", line.map(|l| format!(":{l}")).unwrap_or_default())]
    BadInput {
        /// The file, or `-` for standard input.
        path: String,
        /// The line (or row, from 1) where it went wrong, when the format has lines.
        line: Option<u64>,
        /// What was wrong and what would be right.
        reason: String,
    },

    /// Parameters out of their range.
    #[error("{stage}: {}", faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    BadParameter {
        /// The stage or command the parameters belong to.
        stage: &'static str,
        /// Every parameter that is out of range.
        faults: Vec<ParameterFault>,
    },

    /// A recipe that cannot be read or cannot work.
    #[error("{}", show_place(recipe, *at, reason))]
    BadRecipe {
        /// The recipe as it was given.
        recipe: String,
        /// Byte offset of the fault.
        at: usize,
        /// What is wrong there, and a suggestion where there is one.
        reason: String,
    },

    /// A model file that is damaged, foreign or of a newer version.
    #[error("model file refused: {reason}")]
    BadModel {
        /// What was found.
        reason: String,
    },

    /// A search index that is damaged, foreign, of a newer version, or being written to.
    #[error("index refused: {reason}")]
    BadIndex {
        /// What was found and what to do.
        reason: String,
    },

    /// Data that are well formed but cannot be learnt from or measured.
    #[error("{reason}")]
    BadData {
        /// What is missing and what would help.
        reason: String,
    },

    /// Two things that should have the same size do not.
    #[error("{what}: expected {expected}, found {found}")]
    Shape {
        /// What was being compared.
        what: &'static str,
        /// The size that was needed.
        expected: usize,
        /// The size that was there.
        found: usize,
    },

    /// The run's cancel flag was raised.
    #[error("cancelled")]
    Cancelled,
}

/// A parameter out of its range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} = {value} {reason}")]
pub struct ParameterFault {
    /// The parameter.
    pub name: &'static str,
    /// The value given.
    pub value: String,
    /// What is allowed, as a clause: "must be above 0".
    pub reason: String,
}

impl Error {
    /// An [`Error::Io`] at `path`.
    pub fn io(path: impl AsRef<Path>, source: std::io::Error) -> Self {
        Error::Io { path: path.as_ref().to_path_buf(), source }
    }

    /// An [`Error::BadData`].
    pub fn data(reason: impl Into<String>) -> Self {
        Error::BadData { reason: reason.into() }
    }

    /// An [`Error::BadModel`].
    pub fn model(reason: impl Into<String>) -> Self {
        Error::BadModel { reason: reason.into() }
    }

    /// An [`Error::BadIndex`].
    pub fn index(reason: impl Into<String>) -> Self {
        Error::BadIndex { reason: reason.into() }
    }

    /// An [`Error::BadParameter`].
    pub fn parameter(stage: &'static str, name: &'static str, value: impl ToString, reason: impl Into<String>) -> Self {
        let fault = ParameterFault { name, value: value.to_string(), reason: reason.into() };
        Error::BadParameter { stage, faults: vec![fault] }
    }

    /// An [`Error::BadInput`].
    pub fn input(path: impl Into<String>, line: Option<u64>, reason: impl Into<String>) -> Self {
        Error::BadInput { path: path.into(), line, reason: reason.into() }
    }

    /// Whether the caller asked for something impossible (exit code 2), rather than the work having failed (1).
    pub fn is_usage(&self) -> bool {
        matches!(self, Error::BadRecipe { .. } | Error::BadParameter { .. })
    }
}

/// The most characters of a recipe that a message shows on either side of the fault.
const SHOWN: usize = 500;

/// The recipe with a caret under the fault, then the reason; of a long recipe the part around the fault.
fn show_place(recipe: &str, at: usize, reason: &str) -> String {
    let (before, behind) = recipe.split_at_checked(at.min(recipe.len())).unwrap_or(("", recipe));
    let from = before.char_indices().rev().nth(SHOWN - 1).map_or(0, |(from, _)| from);
    let to = behind.char_indices().nth(SHOWN).map_or(behind.len(), |(to, _)| to);
    let start = if from > 0 { "…" } else { "" };
    let end = if to < behind.len() { "…" } else { "" };
    let before = format!("{start}{}", &before[from..]);
    let column = before.chars().count();
    format!("cannot use this recipe\n  {before}{}{end}\n  {}^ {reason}", &behind[..to], " ".repeat(column))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recipe_error_points_at_the_place() {
        let error = Error::BadRecipe { recipe: "tfidf | smv".into(), at: 8, reason: "no stage `smv`".into() };
        assert_eq!(error.to_string(), "cannot use this recipe\n  tfidf | smv\n          ^ no stage `smv`");
        assert!(error.is_usage());
    }

    #[test]
    fn of_a_long_recipe_the_place_is_shown() {
        let recipe = format!("{}smv{}", "é".repeat(10_000), "x".repeat(10_000));
        let error = Error::BadRecipe { recipe, at: 20_000, reason: "no stage `smv`".into() };
        let expected = format!(
            "cannot use this recipe\n  …{}smv{}…\n  {}^ no stage `smv`",
            "é".repeat(500),
            "x".repeat(497),
            " ".repeat(501)
        );
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn a_bad_row_names_file_line_and_reason() {
        let error = Error::input("a.jsonl", Some(7), "no field `text`");
        assert_eq!(error.to_string(), "a.jsonl:7: no field `text`");
    }
}
