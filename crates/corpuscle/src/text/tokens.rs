//! Documents as sequences of word numbers.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use super::chars::Pieces;
use super::{Lexicon, WordsParams};
use crate::{Error, Key, Result};

/// Words that counts may add up to: four bytes of memory each.
const MOST_COUNTED: f64 = 2e9;

/// The words of a list of documents, in order, as numbers of a lexicon; beside them any fields of numbers the documents have, and
/// the same documents as other views have them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tokens {
    /// How the texts were read.
    words: Arc<WordsParams>,
    lexicon: Arc<Lexicon>,
    documents: Documents,
    fields: BTreeMap<String, Arc<Field>>,
    views: Vec<Tokens>,
}

/// Lists of numbers.
#[derive(Debug, Clone, PartialEq, Default)]
struct Lists {
    ids: Vec<u32>,
    /// List `i` is `ids[offsets[i]..offsets[i + 1]]`; the first entry is 0.
    offsets: Vec<u64>,
}

impl Lists {
    #[inline]
    fn of(&self, list: usize) -> &[u32] {
        &self.ids[self.offsets[list] as usize..self.offsets[list + 1] as usize]
    }

    fn select(&self, lists: &[usize]) -> Self {
        let length = lists.iter().map(|&list| self.of(list).len()).sum();
        let mut picked = Lists { ids: Vec::with_capacity(length), offsets: Vec::with_capacity(lists.len() + 1) };
        picked.offsets.push(0);
        for &list in lists {
            picked.ids.extend_from_slice(self.of(list));
            picked.offsets.push(picked.ids.len() as u64);
        }
        picked
    }
}

/// Documents as tokens, or as words of which each stands for several.
#[derive(Debug, Clone)]
enum Documents {
    Plain(Lists),
    Packed {
        words: Lists,
        pieces: Arc<Pieces>,
        /// Written out, for whoever needs the tokens in a row.
        whole: OnceLock<Lists>,
    },
}

impl Default for Documents {
    fn default() -> Self {
        Documents::Plain(Lists::default())
    }
}

impl PartialEq for Documents {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Documents::Plain(own), Documents::Plain(other)) => own == other,
            (Documents::Packed { words, pieces, .. }, Documents::Packed { words: others, pieces: theirs, .. }) => {
                words == others && pieces == theirs
            }
            _ => false,
        }
    }
}

impl Documents {
    /// The lists as they are kept.
    fn kept(&self) -> &Lists {
        match self {
            Documents::Plain(lists) => lists,
            Documents::Packed { words, .. } => words,
        }
    }

    /// The tokens in a row.
    fn lists(&self) -> &Lists {
        match self {
            Documents::Plain(lists) => lists,
            Documents::Packed { words, pieces, whole } => whole.get_or_init(|| {
                let ids: Vec<u32> = words.ids.iter().flat_map(|&word| pieces.of(word)).copied().collect();
                let mut offsets = Vec::with_capacity(words.offsets.len());
                let mut total = 0;
                offsets.extend(words.offsets.first());
                for document in 0..words.offsets.len().saturating_sub(1) {
                    total += words.of(document).iter().map(|&word| pieces.of(word).len() as u64).sum::<u64>();
                    offsets.push(total);
                }
                Lists { ids, offsets }
            }),
        }
    }

    fn select(&self, documents: &[usize]) -> Self {
        match self {
            Documents::Plain(lists) => Documents::Plain(lists.select(documents)),
            Documents::Packed { words, pieces, .. } => {
                Documents::Packed { words: words.select(documents), pieces: Arc::clone(pieces), whole: OnceLock::new() }
            }
        }
    }
}

/// A field of as many finite numbers in every document, one document after the other.
#[derive(Debug, PartialEq)]
struct Field {
    width: usize,
    values: Vec<f32>,
}

impl Tokens {
    pub(super) fn from_parts(words: &WordsParams, lexicon: Lexicon, ids: Vec<u32>, offsets: Vec<u64>) -> Self {
        debug_assert_eq!(offsets.last().copied(), Some(ids.len() as u64));
        let documents = Documents::Plain(Lists { ids, offsets });
        Tokens { words: Arc::new(words.alone()), lexicon: Arc::new(lexicon), documents, ..Tokens::default() }
    }

    /// Documents of which it is known how often each has each word, and not in which order: for methods that only count. A row is
    /// the columns of a document's words, ascending, and how often each is there. The word of a column is its number in ten digits,
    /// and a document has its words in the order of the columns.
    ///
    /// ```
    /// use corpuscle::{matrix::Csr, text::Tokens};
    /// let counts = Csr::from_rows(3, [vec![(2, 2.0)], vec![(0, 1.0), (2, 1.0)]]);
    /// let tokens = Tokens::of_counts(counts.cols(), (0..counts.rows()).map(|row| counts.row(row)))?;
    /// assert_eq!(tokens.words(1).collect::<Vec<_>>(), ["0000000000", "0000000002"]);
    /// assert_eq!((tokens.n_tokens(), tokens.n_terms()), (4, 2));
    /// # Ok::<(), corpuscle::Error>(())
    /// ```
    pub fn of_counts<'a>(columns: usize, rows: impl Iterator<Item = (&'a [u32], &'a [f32])> + Clone) -> Result<Self> {
        let mut numbers: Vec<Option<u32>> = vec![None; columns];
        let mut all = 0f64;
        for (words, counts) in rows.clone() {
            for (&word, &count) in words.iter().zip(counts) {
                if !(count >= 0.0 && count.fract() == 0.0 && count.is_finite()) {
                    return Err(Error::data(format!("counts are whole numbers from 0, not {count}")));
                }
                all += f64::from(count);
                if count > 0.0 {
                    let beyond = || Error::Shape { what: "column of a word", expected: columns, found: word as usize };
                    *numbers.get_mut(word as usize).ok_or_else(beyond)? = Some(0);
                }
            }
        }
        if all > MOST_COUNTED {
            return Err(Error::data(format!("the counts add up to {all:.0} words, more than {MOST_COUNTED:.0}")));
        }
        let mut lexicon = Lexicon::default();
        for (column, number) in numbers.iter_mut().enumerate() {
            if let Some(number) = number {
                *number = lexicon.len() as u32;
                lexicon.push(&format!("{column:010}"));
            }
        }
        let (mut ids, mut offsets) = (Vec::with_capacity(all as usize), vec![0]);
        for (words, counts) in rows {
            for (&word, &count) in words.iter().zip(counts) {
                ids.extend(numbers[word as usize].into_iter().flat_map(|id| std::iter::repeat_n(id, count as usize)));
            }
            offsets.push(ids.len() as u64);
        }
        Ok(Self::from_parts(&WordsParams::default(), lexicon, ids, offsets))
    }

    /// Documents made of words that each stand for several terms of the lexicon.
    pub(super) fn packed(
        words: &WordsParams,
        lexicon: Lexicon,
        ids: Vec<u32>,
        offsets: Vec<u64>,
        pieces: Pieces,
    ) -> Self {
        let own = Lists { ids, offsets };
        let documents = Documents::Packed { words: own, pieces: Arc::new(pieces), whole: OnceLock::new() };
        Tokens { words: Arc::new(words.alone()), lexicon: Arc::new(lexicon), documents, ..Tokens::default() }
    }

    /// The same with other views of the same documents.
    pub(super) fn with_views(self, views: Vec<Tokens>) -> Self {
        Tokens { views, ..self }
    }

    /// The same documents as `words` reads them: these, or one of the [views](WordsParams::views) they were read with.
    pub fn view(&self, words: &WordsParams) -> Result<&Tokens> {
        let own = |tokens: &&Tokens| *tokens.words == *words;
        std::iter::once(self).chain(&self.views).find(own).ok_or_else(|| {
            Error::data(
                "the documents were not read for every view of the recipe; read them with the words of the recipe they go into",
            )
        })
    }

    /// How many documents there are.
    pub fn n_documents(&self) -> usize {
        self.documents.kept().offsets.len().saturating_sub(1)
    }

    /// How many distinct words the lexicon has.
    pub fn n_terms(&self) -> usize {
        self.lexicon.len()
    }

    /// How many tokens all documents have together.
    pub fn n_tokens(&self) -> usize {
        match &self.documents {
            Documents::Plain(lists) => lists.ids.len(),
            Documents::Packed { words, pieces, .. } => words.ids.iter().map(|&word| pieces.of(word).len()).sum(),
        }
    }

    /// The word numbers of a document.
    #[inline]
    pub fn document(&self, document: usize) -> &[u32] {
        self.documents.lists().of(document)
    }

    /// Calls `visit` with the word numbers of a document in order, without writing out tokens that are kept as parts of words.
    #[inline]
    pub(crate) fn for_each(&self, document: usize, mut visit: impl FnMut(u32)) {
        match &self.documents {
            Documents::Plain(lists) => lists.of(document).iter().for_each(|&id| visit(id)),
            Documents::Packed { words, pieces, .. } => {
                words.of(document).iter().for_each(|&word| pieces.of(word).iter().for_each(|&id| visit(id)));
            }
        }
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
        &self.documents.lists().ids
    }

    /// Where each document begins in [`Tokens::ids`], and the end of the last.
    pub fn offsets(&self) -> &[u64] {
        &self.documents.lists().offsets
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
        let field = Arc::new(Field { width, values });
        for tokens in std::iter::once(&mut self.fields).chain(self.views.iter_mut().map(|view| &mut view.fields)) {
            tokens.insert(name.to_string(), Arc::clone(&field));
        }
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

    /// What work on these documents depends on. Views are left aside; each has a key of its own.
    pub fn key(&self) -> Key {
        let words = Key::of("tokens").numbers(std::iter::once(self.lexicon.len() as u64));
        let words = (0..self.lexicon.len()).fold(words, |key, id| key.text(self.lexicon.term(id as u32)));
        let Lists { ids, offsets } = self.documents.kept();
        let mut documents = words.numbers(offsets.iter().copied()).numbers(ids.iter().map(|&id| u64::from(id)));
        if let Documents::Packed { pieces, .. } = &self.documents {
            documents = pieces.add_to(documents);
        }
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
        let fields = self.select_fields(documents);
        let select = |tokens: &Tokens| Tokens {
            words: Arc::clone(&tokens.words),
            lexicon: Arc::clone(&tokens.lexicon),
            documents: tokens.documents.select(documents),
            fields: fields.clone(),
            views: Vec::new(),
        };
        Ok(select(self).with_views(self.views.iter().map(select).collect()))
    }

    /// The words of a document (the `most` most frequent ones, in the order of their numbers), and documents made of it:
    /// the whole, then the document without each of these words. Views lose the word too where they have it by the same name.
    pub fn without_each(&self, document: usize, most: usize) -> Result<(Vec<u32>, Self)> {
        let whole = self.select(&[document])?;
        let mut words = whole.ids().to_vec();
        words.sort_unstable();
        let mut counted: Vec<(usize, u32)> = words.chunk_by(|a, b| a == b).map(|run| (run.len(), run[0])).collect();
        counted.sort_by_key(|&(count, word)| (std::cmp::Reverse(count), word));
        counted.truncate(most);
        let mut words: Vec<u32> = counted.into_iter().map(|(_, word)| word).collect();
        words.sort_unstable();
        let fields = whole.select_fields(&vec![0; words.len() + 1]);
        let made = |tokens: &Tokens| {
            let Lists { mut ids, mut offsets } = tokens.documents.lists().clone();
            let length = ids.len();
            for &word in &words {
                let own = tokens.lexicon.id(self.lexicon.term(word));
                ids.extend_from_within(..length);
                let kept = ids.len() - length;
                let mut to = kept;
                for at in kept..ids.len() {
                    ids[to] = ids[at];
                    to += usize::from(Some(ids[at]) != own);
                }
                ids.truncate(to);
                offsets.push(to as u64);
            }
            Tokens {
                words: Arc::clone(&tokens.words),
                lexicon: Arc::clone(&tokens.lexicon),
                documents: Documents::Plain(Lists { ids, offsets }),
                fields: fields.clone(),
                views: Vec::new(),
            }
        };
        let documents = made(&whole).with_views(whole.views.iter().map(made).collect());
        Ok((words, documents))
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
