//! The embedded corpus: 512 short help-desk messages, always at hand for a first try, the examples and the tests.
//!
//! ```
//! let demo = corpuscle::corpus::demo()?;
//! assert!(demo.train.len() > demo.test.len());
//! # Ok::<(), corpuscle::Error>(())
//! ```

use serde::Deserialize;

use super::Document;
use crate::{Error, Result};

/// The embedded corpus as JSON Lines with the fields `id`, `split` (`train` or `test`), `label` and `text`.
pub const DEMO_JSONL: &str = include_str!("demo.jsonl");

/// The embedded corpus in its two parts.
#[derive(Debug, Clone, PartialEq)]
pub struct Demo {
    /// Messages to learn from.
    pub train: Vec<Document>,
    /// Messages to measure with.
    pub test: Vec<Document>,
}

#[derive(Deserialize)]
struct Message {
    id: String,
    split: String,
    label: String,
    text: String,
}

/// Reads the embedded corpus.
pub fn demo() -> Result<Demo> {
    let mut demo = Demo { train: Vec::new(), test: Vec::new() };
    for (line, number) in DEMO_JSONL.lines().zip(1..) {
        let bad = |reason: String| Error::input("demo.jsonl", Some(number), reason);
        let message: Message = serde_json::from_str(line).map_err(|error| bad(error.to_string()))?;
        let part = match message.split.as_str() {
            "train" => &mut demo.train,
            "test" => &mut demo.test,
            other => return Err(bad(format!("the split is `{other}`, not `train` or `test`"))),
        };
        part.push(Document::new(message.id, message.text).labelled(message.label));
    }
    Ok(demo)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_class_is_in_both_parts_and_every_id_is_its_own() {
        let demo = demo().unwrap();
        let classes = |part: &[Document]| part.iter().flat_map(|d| d.labels.clone().unwrap()).collect::<BTreeSet<_>>();
        assert!(classes(&demo.train).len() > 1);
        assert_eq!(classes(&demo.train), classes(&demo.test));
        let ids: BTreeSet<&str> = demo.train.iter().chain(&demo.test).map(|d| d.id.as_str()).collect();
        assert_eq!(ids.len(), demo.train.len() + demo.test.len());
    }
}
