//! One document as a reader hands it over.

use std::sync::Arc;

/// A document: its text, and what the data say about it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Document {
    /// The id given in the data, or one made from the row number.
    pub id: String,
    /// The text.
    pub text: String,
    /// `None`: nothing is known (unlabelled). `Some` of an empty list: known to carry none of the labels.
    pub labels: Option<Vec<String>>,
    /// How much this document counts in training; 1 unless the data say otherwise. Finite and not negative.
    pub weight: f32,
    /// The numbers of the fields in [`crate::corpus::ReadOptions::numbers`], by name, in their order. All finite.
    pub numbers: Vec<(Arc<str>, Vec<f32>)>,
    /// The whole row that the document was read from, where [`crate::corpus::ReadOptions::keep`] asked for it.
    pub row: Option<serde_json::Map<String, serde_json::Value>>,
}

impl Document {
    /// An unlabelled document of weight 1.
    pub fn new(id: impl Into<String>, text: impl Into<String>) -> Self {
        Document { id: id.into(), text: text.into(), labels: None, weight: 1.0, numbers: Vec::new(), row: None }
    }

    /// The same document with a field of numbers.
    #[must_use]
    pub fn with_numbers(mut self, field: impl Into<Arc<str>>, numbers: Vec<f32>) -> Self {
        self.numbers.push((field.into(), numbers));
        self
    }

    /// The same document with one label.
    #[must_use]
    pub fn labelled(mut self, label: impl Into<String>) -> Self {
        self.labels.get_or_insert_default().push(label.into());
        self
    }
}
