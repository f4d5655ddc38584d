//! Documents as sequences of word numbers.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Lexicon;
use crate::{Error, Key, Result};

/// The words of a list of documents, in order, as numbers of a lexicon; beside them any fields of numbers the documents have.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tokens {
    lexicon: Arc<Lexicon>,
    ids: Vec<u32>,
    /// Document `i` is `ids[offsets[i]..offsets[i + 1]]`; the first entry is 0.
    offsets: Vec<u64>,
    fields: BTreeMap<String, Arc<Field>>,
}

/// A field of as many finite numbers in every document, one document after the other.
#[derive(Debug, PartialEq)]
struct Field {
    width: usize,
    values: Vec<f32>,
}

impl Tokens {
    pub(super) fn from_parts(lexicon: Lexicon, ids: Vec<u32>, offsets: Vec<u64>) -> Self {
        debug_assert_eq!(offsets.last().copied(), Some(ids.len() as u64));
        Tokens { lexicon: Arc::new(lexicon), ids, offsets, fields: BTreeMap::new() }
    }

    /// How many documents there are.
    pub fn n_documents(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// How many distinct words the lexicon has.
    pub fn n_terms(&self) -> usize {
        self.lexicon.len()
    }

    /// How many tokens all documents have together.
    pub fn n_tokens(&self) -> usize {
        self.ids.len()
    }

    /// The word numbers of a document.
    #[inline]
    pub fn document(&self, document: usize) -> &[u32] {
        &self.ids[self.offsets[document] as usize..self.offsets[document + 1] as usize]
    }

    /// The words of a document.
    pub fn words(&self, document: usize) -> impl ExactSizeIterator<Item = &str> {
        self.document(document).iter().map(|&id| self.lexicon.term(id))
    }

    /// The words behind the numbers.
    pub fn lexicon(&self) -> &Lexicon {
        &self.lexicon
    }

    /// The word numbers of all documents, one after the other.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Where each document begins in [`Tokens::ids`], and the end of the last.
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// The same documents with a field of `width` finite numbers each, one document after the other.
    pub fn with_field(mut self, name: &str, width: usize, values: Vec<f32>) -> Result<Self> {
        let expected = self.n_documents() * width;
        if values.len() != expected {
            return Err(Error::Shape { what: "numbers of a field", expected, found: values.len() });
        }
        if let Some(at) = values.iter().position(|value| !value.is_finite()) {
            let (document, value) = (at / width.max(1) + 1, values[at]);
            return Err(Error::data(format!(
                "document {document} has {value} in the field `{name}`; numbers are finite"
            )));
        }
        self.fields.insert(name.to_string(), Arc::new(Field { width, values }));
        Ok(self)
    }

    /// How many numbers every document has in a field, and these, one document after the other; `None` when there is no such
    /// field.
    pub fn field(&self, name: &str) -> Option<(usize, &[f32])> {
        self.fields.get(name).map(|field| (field.width, &field.values[..]))
    }

    /// The fields of the given documents, in the given order.
    fn select_fields(&self, documents: &[usize]) -> BTreeMap<String, Arc<Field>> {
        let select = |field: &Field| {
            let row = |&document: &usize| &field.values[document * field.width..(document + 1) * field.width];
            Arc::new(Field { width: field.width, values: documents.iter().flat_map(row).copied().collect() })
        };
        self.fields.iter().map(|(name, field)| (name.clone(), select(field))).collect()
    }

    /// What work on these documents depends on.
    pub fn key(&self) -> Key {
        let words = Key::of("tokens").numbers(std::iter::once(self.lexicon.len() as u64));
        let words = (0..self.lexicon.len()).fold(words, |key, id| key.text(self.lexicon.term(id as u32)));
        let documents = words.numbers(self.offsets.iter().copied()).numbers(self.ids.iter().map(|&id| u64::from(id)));
        let with_field = |key: crate::KeyWriter, (name, field): (&String, &Arc<Field>)| {
            key.text(name).numbers(field.values.iter().map(|value| u64::from(value.to_bits())))
        };
        self.fields.iter().fold(documents, with_field).finish()
    }

    /// The given documents in the given order. The lexicon stays whole and shared, so some of its words may not occur.
    pub fn select(&self, documents: &[usize]) -> Result<Self> {
        if let Some(&beyond) = documents.iter().find(|&&document| document >= self.n_documents()) {
            return Err(Error::Shape { what: "document to select", expected: self.n_documents(), found: beyond });
        }
        let length = documents.iter().map(|&document| self.document(document).len()).sum();
        let mut picked = Tokens {
            lexicon: Arc::clone(&self.lexicon),
            ids: Vec::with_capacity(length),
            offsets: Vec::with_capacity(documents.len() + 1),
            fields: self.select_fields(documents),
        };
        picked.offsets.push(0);
        for &document in documents {
            picked.ids.extend_from_slice(self.document(document));
            picked.offsets.push(picked.ids.len() as u64);
        }
        Ok(picked)
    }

    /// The words of a document (the `most` most frequent ones, in the order of their numbers), and documents made of it:
    /// the whole, then the document without each of these words.
    pub fn without_each(&self, document: usize, most: usize) -> Result<(Vec<u32>, Self)> {
        let whole = self.select(&[document])?;
        let mut words = whole.ids.clone();
        words.sort_unstable();
        let mut counted: Vec<(usize, u32)> = words.chunk_by(|a, b| a == b).map(|run| (run.len(), run[0])).collect();
        counted.sort_by_key(|&(count, word)| (std::cmp::Reverse(count), word));
        counted.truncate(most);
        let mut words: Vec<u32> = counted.into_iter().map(|(_, word)| word).collect();
        words.sort_unstable();
        let mut made = whole.clone();
        for &word in &words {
            made.ids.extend(whole.ids.iter().filter(|&&other| other != word));
            made.offsets.push(made.ids.len() as u64);
        }
        made.fields = whole.select_fields(&vec![0; words.len() + 1]);
        Ok((words, made))
    }
}

#[cfg(test)]
mod tests {
    use crate::Run;
    use crate::text::WordsParams;

    #[test]
    fn a_selection_keeps_words_and_lexicon() {
        let run = Run::new(0, 1).unwrap();
        let tokens = WordsParams::default().tokenize(&["b a", "", "c b"], &run).unwrap();
        let picked = tokens.select(&[2, 0, 2]).unwrap();
        assert_eq!(picked.n_documents(), 3);
        assert_eq!(picked.words(1).collect::<Vec<_>>(), ["b", "a"]);
        assert_eq!(picked.document(0), picked.document(2));
        assert_eq!(picked.n_terms(), 3);
        assert!(tokens.select(&[3]).is_err());
    }

    #[test]
    fn fields_go_with_their_documents() {
        let run = Run::new(0, 1).unwrap();
        let plain = WordsParams::default().tokenize(&["b a", "", "c b"], &run).unwrap();
        let tokens = plain.clone().with_field("e", 2, vec![1., 2., 3., 4., 5., 6.]).unwrap();
        assert_ne!(tokens.key(), plain.key());
        assert_eq!(tokens.select(&[2, 0]).unwrap().field("e"), Some((2, &[5., 6., 1., 2.][..])));
        assert_eq!(tokens.without_each(0, 9).unwrap().1.field("e"), Some((2, &[1., 2., 1., 2., 1., 2.][..])));
        assert_eq!(tokens.field("f"), None);
        assert!(plain.clone().with_field("e", 2, vec![1.0; 5]).is_err());
        let said = plain.with_field("e", 1, vec![1.0, f32::NAN, 2.0]).unwrap_err().to_string();
        assert!(said.contains("document 2") && said.contains("`e`"), "{said}");
    }

    #[test]
    fn words_are_taken_out_one_by_one() {
        let run = Run::new(0, 1).unwrap();
        let tokens = WordsParams::default().tokenize(&["x", "b a b c"], &run).unwrap();
        let (words, made) = tokens.without_each(1, 2).unwrap();
        assert_eq!(words.iter().map(|&word| tokens.lexicon().term(word)).collect::<Vec<_>>(), ["a", "b"]);
        let texts: Vec<String> = (0..3).map(|row| made.words(row).collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(texts, ["b a b c", "b b c", "a c"]);
        assert!(tokens.without_each(2, 2).is_err());
    }
}
