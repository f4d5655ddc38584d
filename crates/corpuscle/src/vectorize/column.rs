//! A field of numbers of the documents as it is: a number, or a list as long for every document, such as a vector made
//! elsewhere. Words are not looked at, and nothing is learnt but the length.

use serde::{Deserialize, Serialize};

use super::{Columns, Vectorizer, VectorizerModel, WordParts};
use crate::matrix::{Dense, Matrix};
use crate::params::{Checks, Form, Kind, Param, Params, Value};
use crate::store::{StoreReader, StoreWriter};
use crate::text::Tokens;
use crate::{Error, Result, Run, param};

/// The name of a field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldName(pub String);

impl Value for FieldName {
    fn read(text: &str) -> Option<Self> {
        Some(FieldName(text.to_string()))
    }

    fn show(&self) -> String {
        self.0.clone()
    }

    fn form() -> Form {
        Form::of(Kind::Text)
    }
}

/// Parameters of fields of numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ColumnParams {
    /// The field.
    pub field: FieldName,
}

impl Default for ColumnParams {
    fn default() -> Self {
        ColumnParams { field: FieldName("embedding".to_string()) }
    }
}

/// A field of as many numbers as the training documents had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnModel {
    field: String,
    width: usize,
}

impl Params for ColumnParams {
    const NAME: &'static str = "column";
    const ABOUT: &'static str = "a field of the documents that holds a number or a list of numbers";

    fn table() -> Vec<Param<Self>> {
        vec![param!("field", field, "the field")]
    }

    fn check(&self) -> Result<()> {
        Checks::of(Self::NAME).that(!self.field.0.is_empty(), "field", &self.field.0, "must name a field").done()
    }
}

impl Vectorizer for ColumnParams {
    type Model = ColumnModel;
    const MAKES: Columns = Columns::Dimensions;

    fn field(&self) -> Option<&str> {
        Some(&self.field.0)
    }

    fn fit(&self, tokens: &Tokens, run: &Run) -> Result<(ColumnModel, Matrix)> {
        self.check()?;
        let (width, _) = tokens.field(&self.field.0).ok_or_else(|| missing(&self.field.0))?;
        let model = ColumnModel { field: self.field.0.clone(), width };
        let x = VectorizerModel::transform(&model, tokens, run)?;
        Ok((model, x))
    }

    fn load(&self, store: &StoreReader<'_>) -> Result<ColumnModel> {
        match store.u64s("width", Some(1))?[..] {
            [width] if (1..=u64::from(u32::MAX)).contains(&width) => {
                Ok(ColumnModel { field: self.field.0.clone(), width: width as usize })
            }
            _ => Err(Error::model("a column of numbers without a width")),
        }
    }
}

fn missing(field: &str) -> Error {
    Error::data(format!(
        "`column` reads the field `{field}`, which these documents have not; hand them over as rows that have it, not as \
         texts alone"
    ))
}

impl VectorizerModel for ColumnModel {
    fn transform(&self, tokens: &Tokens, _run: &Run) -> Result<Matrix> {
        let (width, values) = tokens.field(&self.field).ok_or_else(|| missing(&self.field))?;
        if width != self.width {
            return Err(Error::data(format!(
                "the field `{}` has {width} numbers; the model was trained on {}",
                self.field, self.width
            )));
        }
        Ok(Dense::new(tokens.n_documents(), width, values.to_vec())?.into())
    }

    fn n_columns(&self) -> usize {
        self.width
    }

    fn save(&self, out: &mut StoreWriter) -> Result<()> {
        out.put_u64("width", &[self.width as u64]);
        Ok(())
    }

    /// Only sparse columns have names; [`VectorizerModel::word_parts`] names these.
    fn feature_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn field(&self) -> Option<(&str, usize)> {
        Some((&self.field, self.width))
    }

    fn has_word_parts(&self) -> bool {
        true
    }

    /// A number's part is its own product with its weight: `embedding[3]`, or `price` where there is just one.
    fn word_parts(&self, tokens: &Tokens, weights: &[f32], run: &Run) -> Result<Option<WordParts>> {
        let x = VectorizerModel::transform(self, tokens, run)?;
        let name = |at: usize| if self.width == 1 { self.field.clone() } else { format!("{}[{at}]", self.field) };
        let row = x.row(0);
        let parts = row.dense.iter().zip(weights).enumerate();
        Ok(Some(parts.map(|(at, (value, weight))| (name(at), f64::from(*value) * f64::from(*weight))).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::Document;
    use crate::recipe::{Corpus, Model, Recipe};

    fn documents() -> Vec<Document> {
        let of = |i: usize| {
            let side = if i.is_multiple_of(2) { 1.0 } else { -1.0 };
            let document = Document::new(i.to_string(), format!("word{} other{}", i % 3, i % 5));
            document.labelled(["a", "b"][i % 2]).with_numbers("embedding", vec![side, 0.1 * i as f32, 0.5])
        };
        (0..40).map(of).collect()
    }

    #[test]
    fn numbers_stand_beside_words_and_decide() {
        let run = Run::new(1, 2).unwrap();
        let recipe = Recipe::parse("(tfidf + column(embedding)) | normalize | svm").unwrap();
        assert_eq!(recipe.number_fields()[0].field, "embedding");
        let documents = documents();
        let corpus = Corpus::read(documents.iter().cloned().map(Ok), recipe.words(), &run).unwrap();
        let model = recipe.fit(&corpus, &run).unwrap();
        let found = model.predict_documents(&documents, &run).unwrap();
        assert!(found.labels.iter().enumerate().all(|(row, labels)| labels == &[row as u32 % 2]));
        assert_eq!(model.number_fields()[0].width, Some(3));
        let loaded = Model::from_bytes(&model.to_bytes().unwrap(), &run).unwrap();
        assert_eq!(loaded.predict_documents(&documents, &run).unwrap().scores, found.scores);
        let (_, parts) = model.weigh_document(&documents[0], 0, Some(1), &run).unwrap();
        assert_eq!(parts[0].term, "embedding[0]");
        assert!(parts.iter().any(|part| part.term == "word0"));
        // Columns in memory make the same model.
        let texts: Vec<&str> = documents.iter().map(|document| document.text.as_str()).collect();
        let numbers = documents.iter().flat_map(|document| document.numbers[0].1.clone()).collect::<Vec<_>>();
        let given = Corpus::from_columns(&texts, corpus.labels.clone(), None, recipe.words(), &run).unwrap();
        let given = given.with_column("embedding", Dense::new(40, 3, numbers).unwrap()).unwrap();
        assert_eq!(recipe.fit(&given, &run).unwrap().to_bytes().unwrap(), model.to_bytes().unwrap());
    }

    #[test]
    fn what_is_missing_or_of_another_width_is_said() {
        let run = Run::new(1, 1).unwrap();
        let recipe = Recipe::parse("column | svm(calibrate=0)").unwrap();
        let documents = documents();
        let corpus = Corpus::read(documents.iter().cloned().map(Ok), recipe.words(), &run).unwrap();
        let model = recipe.fit(&corpus, &run).unwrap();
        let said = model.predict(&["text alone"], &run).unwrap_err().to_string();
        assert!(said.contains("field `embedding`"), "{said}");
        let other = [Document::new("1", "x").with_numbers("embedding", vec![1.0])];
        let said = model.predict_documents(&other, &run).unwrap_err().to_string();
        assert!(said.contains("has 1 numbers; the model was trained on 3"), "{said}");
        let said = recipe.fit_updatable(&corpus, &run).unwrap_err().to_string();
        assert!(said.contains("`column` cannot be updated"), "{said}");
        let ragged = documents.into_iter().chain(other).map(Ok);
        assert!(Corpus::read(ragged, recipe.words(), &run).unwrap_err().to_string().contains("document `1`"));
        assert!(Recipe::parse("column(\"\") | svm").is_err());
    }
}
