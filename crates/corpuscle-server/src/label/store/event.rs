//! What people do, as it is written down.

use serde_json::{Value, json};

use crate::refusal::Refusal;

/// Characters of a label, an author or a note, at most.
const LONGEST_NAME: usize = 200;
const LONGEST_NOTE: usize = 10_000;
/// Labels of one document, at most.
const MOST_LABELS: usize = 1000;

/// Something done.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Act {
    /// These are its labels; an empty list says that it has none of them.
    Label(Vec<String>),
    /// Not now.
    Skip,
    /// A remark; an empty one takes the last back.
    Note(String),
    /// A class, and what it is about.
    Class(String, String),
    /// The event of that number does not hold.
    Undo(u64),
    /// What the model came to: for the curve.
    Measure(Value),
}

/// An act by somebody, not yet written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Change {
    pub(crate) author: String,
    /// The document, by its row; none for what is about all.
    pub(crate) row: Option<u32>,
    /// What is done; `None` takes back the author's last act.
    pub(crate) act: Option<Act>,
    /// Why the document was shown.
    pub(crate) why: Option<String>,
}

/// An act as it stands in the store.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    pub(crate) number: u64,
    pub(crate) time: String,
    pub(crate) author: String,
    pub(crate) row: Option<u32>,
    pub(crate) act: Act,
    pub(crate) why: Option<String>,
}

impl Act {
    /// The name of its kind in the store.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Act::Label(_) => "label",
            Act::Skip => "skip",
            Act::Note(_) => "note",
            Act::Class(..) => "class",
            Act::Undo(_) => "undo",
            Act::Measure(_) => "measure",
        }
    }

    /// What else there is to it.
    pub(crate) fn value(&self, why: Option<&str>) -> Value {
        match self {
            Act::Label(labels) => match why {
                Some(why) => json!({"labels": labels, "why": why}),
                None => json!({"labels": labels}),
            },
            Act::Skip => json!({}),
            Act::Note(note) => json!({"note": note}),
            Act::Class(name, about) => json!({"name": name, "about": about}),
            Act::Undo(number) => json!({"event": number}),
            Act::Measure(value) => value.clone(),
        }
    }

    /// The act of a row of the store; `None` for one that cannot be.
    pub(crate) fn of(kind: &str, value: Value) -> Option<(Self, Option<String>)> {
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_string);
        let act = match kind {
            "label" => {
                let list = value.get("labels")?.as_array()?;
                Act::Label(list.iter().map(|label| label.as_str().map(str::to_string)).collect::<Option<_>>()?)
            }
            "skip" => Act::Skip,
            "note" => Act::Note(text("note")?),
            "class" => Act::Class(text("name")?, text("about").unwrap_or_default()),
            "undo" => Act::Undo(value.get("event")?.as_u64()?),
            "measure" => return Some((Act::Measure(value), None)),
            _ => return None,
        };
        Some((act, text("why")))
    }

    /// Fails on names that no page could show and no file could hold.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        match self {
            Act::Label(labels) if labels.len() > MOST_LABELS => {
                Err(Refusal::bad(format!("a document has at most {MOST_LABELS} labels")))
            }
            Act::Label(labels) => {
                labels.iter().try_for_each(|label| check_name("label", label))?;
                let mut sorted: Vec<&String> = labels.iter().collect();
                sorted.sort();
                sorted.dedup();
                match sorted.len() == labels.len() {
                    true => Ok(()),
                    false => Err(Refusal::bad("a document has the same label once only")),
                }
            }
            Act::Class(name, about) => {
                check_name("label", name)?;
                check_length("description", about)
            }
            Act::Note(note) => check_length("note", note),
            Act::Skip | Act::Undo(_) | Act::Measure(_) => Ok(()),
        }
    }
}

fn check_length(what: &str, text: &str) -> Result<(), Refusal> {
    match text.chars().count() <= LONGEST_NOTE {
        true => Ok(()),
        false => Err(Refusal::bad(format!("a {what} has at most {LONGEST_NOTE} characters"))),
    }
}

/// Whether a label or an author's name can be one.
pub(crate) fn check_name(what: &str, name: &str) -> Result<(), Refusal> {
    let fits = !name.is_empty()
        && name.chars().count() <= LONGEST_NAME
        && name.trim() == name
        && !name.chars().any(char::is_control);
    match fits {
        true => Ok(()),
        false => Err(Refusal::bad(format!(
            "a {what} has 1 to {LONGEST_NAME} characters, no control characters, and no space at its ends"
        ))),
    }
}
