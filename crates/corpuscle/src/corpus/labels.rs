//! Class names turned into numbers: none, one or several per document.
//!
//! ```
//! use corpuscle::corpus::Labels;
//! let labels = Labels::from_single([Some("spam"), None, Some("ham")]);
//! assert_eq!(labels.classes(), ["ham", "spam"]);
//! assert_eq!(labels.of(0), Some(&[1u32][..]));
//! assert_eq!(labels.of(1), None);
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hashbrown::HashMap;

use crate::{Error, Key, Result};

/// The labels of a list of documents. Classes are numbered in the order of their names, unless their order was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labels {
    classes: Vec<String>,
    /// Row `i` has the class numbers `ids[offsets[i]..offsets[i + 1]]`, ascending.
    offsets: Vec<usize>,
    ids: Vec<u32>,
    labelled: Vec<bool>,
    multi: bool,
    /// What classes are about, by their names, where somebody said so.
    descriptions: Option<Arc<BTreeMap<String, String>>>,
}

/// [`Labels`] from names that come document by document, of which none is kept twice.
///
/// ```
/// use corpuscle::corpus::LabelsBuilder;
/// let mut labels = LabelsBuilder::default();
/// labels.push(Some(["spam", "urgent"]));
/// labels.push(None::<[&str; 0]>);
/// labels.push(Some(["ham"]));
/// let labels = labels.finish();
/// assert_eq!(labels.classes(), ["ham", "spam", "urgent"]);
/// assert_eq!(labels.of(0), Some(&[1u32, 2][..]));
/// ```
#[derive(Debug, Clone)]
pub struct LabelsBuilder {
    /// Numbers in the order in which names were met.
    numbers: HashMap<String, u32>,
    labels: Labels,
}

impl Default for LabelsBuilder {
    fn default() -> Self {
        LabelsBuilder { numbers: HashMap::new(), labels: Labels::of_classes(Vec::new()) }
    }
}

impl LabelsBuilder {
    /// Adds a document: its labels, or that nothing is known of them.
    pub fn push<S: AsRef<str>>(&mut self, names: Option<impl IntoIterator<Item = S>>) {
        let LabelsBuilder { numbers, labels } = self;
        let is_labelled = names.is_some();
        let ids = names.into_iter().flatten().map(|name| {
            let next = numbers.len() as u32;
            *numbers.entry_ref(name.as_ref()).or_insert(next)
        });
        labels.push(is_labelled, ids);
    }

    /// The labels of all documents, classes in the order of their names.
    pub fn finish(self) -> Labels {
        let LabelsBuilder { numbers, labels: met } = self;
        let mut names: Vec<(String, u32)> = numbers.into_iter().collect();
        names.sort_unstable();
        let mut new = vec![0; names.len()];
        for (number, (_, old)) in (0..).zip(&names) {
            new[*old as usize] = number;
        }
        let mut labels = Labels { classes: names.into_iter().map(|(name, _)| name).collect(), ..met };
        labels.ids.iter_mut().for_each(|id| *id = new[*id as usize]);
        if labels.multi {
            for row in labels.offsets.windows(2) {
                labels.ids[row[0]..row[1]].sort_unstable();
            }
        }
        labels
    }
}

impl Labels {
    /// `documents` documents without labels, for methods that learn from none.
    pub fn none(documents: usize) -> Self {
        Self::from_lists(std::iter::repeat_n(None, documents))
    }

    /// Labels of documents that have at most one each.
    pub fn from_single<S: AsRef<str>>(rows: impl IntoIterator<Item = Option<S>>) -> Self {
        let mut builder = LabelsBuilder::default();
        rows.into_iter().for_each(|row| builder.push(row.map(|label| [label])));
        builder.finish()
    }

    /// Labels of documents with any number each; `None` is an unlabelled document. It is a multi-label set when some
    /// labelled document has not exactly one.
    pub fn from_lists<'a>(rows: impl IntoIterator<Item = Option<&'a [String]>>) -> Self {
        let mut builder = LabelsBuilder::default();
        rows.into_iter().for_each(|row| builder.push(row));
        builder.finish()
    }

    /// What work that learns from these labels depends on.
    pub fn key(&self) -> Key {
        let names = self.classes.iter().fold(Key::of("labels"), |key, name| key.text(name));
        let described = self.descriptions.iter().flat_map(|descriptions| descriptions.iter());
        described
            .fold(names, |key, (class, about)| key.text(class).text(about))
            .numbers(self.labelled.iter().map(|&labelled| u64::from(labelled)))
            .numbers(self.offsets.iter().map(|&offset| offset as u64))
            .numbers(self.ids.iter().map(|&id| u64::from(id)))
            .finish()
    }

    /// Labels from class numbers, one per document, with the classes in the order given.
    pub fn from_ids(classes: Vec<String>, ids: &[u32]) -> Result<Self> {
        Self::with_classes(classes, ids.iter().map(|&id| Some(vec![id])))
    }

    /// Labels from class numbers, any number per document (`None`: unlabelled), with the classes in the order given.
    /// Classes without a document are kept.
    pub fn with_classes(classes: Vec<String>, rows: impl IntoIterator<Item = Option<Vec<u32>>>) -> Result<Self> {
        let mut names = BTreeSet::new();
        if let Some(twice) = classes.iter().find(|name| !names.insert(name.as_str())) {
            return Err(Error::data(format!("class `{twice}` is given twice")));
        }
        let mut labels = Labels::of_classes(classes);
        for row in rows {
            if let Some(&id) = row.iter().flatten().find(|&&id| id as usize >= labels.classes.len()) {
                return Err(Error::Shape { what: "class number", expected: labels.classes.len(), found: id as usize });
            }
            labels.push(row.is_some(), row.unwrap_or_default());
        }
        Ok(labels)
    }

    fn of_classes(classes: Vec<String>) -> Self {
        Labels { classes, offsets: vec![0], ids: Vec::new(), labelled: Vec::new(), multi: false, descriptions: None }
    }

    fn push(&mut self, labelled: bool, ids: impl IntoIterator<Item = u32>) {
        let start = self.ids.len();
        self.ids.extend(ids);
        self.ids[start..].sort_unstable();
        let mut end = start;
        for at in start..self.ids.len() {
            if end == start || self.ids[at] != self.ids[end - 1] {
                self.ids[end] = self.ids[at];
                end += 1;
            }
        }
        self.ids.truncate(end);
        self.multi |= labelled && end - start != 1;
        self.offsets.push(end);
        self.labelled.push(labelled);
    }

    /// The class names, by number.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// The same labels with what classes are about, (class, description) each: a class may have no document yet, and comes behind
    /// those that have. Several descriptions of a class are put together.
    #[must_use]
    pub fn described(&self, descriptions: &[(String, String)]) -> Self {
        let mut classes = self.classes.clone();
        let mut names: BTreeSet<&str> = self.classes.iter().map(String::as_str).collect();
        let mut all: BTreeMap<String, String> = BTreeMap::new();
        for (class, about) in descriptions {
            if names.insert(class) {
                classes.push(class.clone());
            }
            let known = all.entry(class.clone()).or_default();
            if !known.is_empty() {
                known.push(' ');
            }
            known.push_str(about);
        }
        // In the order of their names where no document has fixed the numbers.
        if self.labelled_rows().is_empty() {
            classes.sort();
        }
        let mut labels = self.align(&classes);
        labels.descriptions = Some(Arc::new(all));
        labels
    }

    /// What each class is about: what was said of it, else its own name cut into words.
    pub fn descriptions(&self) -> Vec<String> {
        let said = |class: &String| self.descriptions.as_ref().and_then(|all| all.get(class).cloned());
        self.classes.iter().map(|class| said(class).unwrap_or_else(|| name_as_words(class))).collect()
    }

    /// Whether somebody said what classes are about.
    pub fn are_described(&self) -> bool {
        self.descriptions.is_some()
    }

    /// How many classes there are.
    pub fn n_classes(&self) -> usize {
        self.classes.len()
    }

    /// How many documents there are, labelled or not.
    pub fn len(&self) -> usize {
        self.labelled.len()
    }

    /// Whether there is no document.
    pub fn is_empty(&self) -> bool {
        self.labelled.is_empty()
    }

    /// Whether some labelled document has not exactly one label.
    pub fn is_multi_label(&self) -> bool {
        self.multi
    }

    /// The class numbers of a document, ascending; `None` when it is unlabelled.
    pub fn of(&self, row: usize) -> Option<&[u32]> {
        self.labelled[row].then(|| &self.ids[self.offsets[row]..self.offsets[row + 1]])
    }

    /// Whether a document has a class.
    pub fn has(&self, row: usize, class: u32) -> bool {
        self.of(row).is_some_and(|ids| ids.binary_search(&class).is_ok())
    }

    /// The rows that are labelled, ascending.
    pub fn labelled_rows(&self) -> Vec<usize> {
        (0..self.len()).filter(|&row| self.labelled[row]).collect()
    }

    /// The class of each document when every one has exactly one, else an error that says which has not.
    pub fn single(&self) -> Result<Vec<u32>> {
        (0..self.len())
            .map(|row| match self.of(row) {
                Some(&[id]) => Ok(id),
                Some(ids) => Err(Error::data(format!("document {} has {} labels, not one", row + 1, ids.len()))),
                None => Err(Error::data(format!("document {} has no label", row + 1))),
            })
            .collect()
    }

    /// How many documents each class has.
    pub fn class_counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.classes.len()];
        for &id in &self.ids {
            counts[id as usize] += 1;
        }
        counts
    }

    /// The labels of the given rows, with the same classes and the same multi-label nature.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        let mut labels = Labels::of_classes(self.classes.clone());
        for &row in rows {
            let ids = self.of(row);
            labels.push(ids.is_some(), ids.unwrap_or(&[]).to_vec());
        }
        labels.multi = self.multi;
        labels.descriptions = self.descriptions.clone();
        labels
    }

    /// The same labels with a class for each of the given rows, instead of what they had.
    #[must_use]
    pub fn with(&self, given: &[(usize, u32)]) -> Self {
        let given: BTreeMap<usize, u32> = given.iter().copied().collect();
        self.mapped(|row| match given.get(&row) {
            Some(&class) => Some(vec![class]),
            None => self.of(row).map(<[u32]>::to_vec),
        })
    }

    /// The same rows and classes with the labels of all but the given rows hidden.
    #[must_use]
    pub fn only(&self, rows: &[usize]) -> Self {
        let kept: BTreeSet<usize> = rows.iter().copied().collect();
        self.mapped(|row| self.of(row).filter(|_| kept.contains(&row)).map(<[u32]>::to_vec))
    }

    /// The same rows, classes and multi-label nature with other labels.
    fn mapped(&self, of: impl Fn(usize) -> Option<Vec<u32>>) -> Self {
        let mut labels = Labels::of_classes(self.classes.clone());
        for row in 0..self.len() {
            let ids = of(row);
            labels.push(ids.is_some(), ids.unwrap_or_default());
        }
        labels.multi = self.multi;
        labels.descriptions = self.descriptions.clone();
        labels
    }

    /// These documents, then those of `other`. Classes keep their numbers; those known to `other` only come behind, in
    /// its order.
    #[must_use]
    pub fn followed_by(&self, other: &Labels) -> Self {
        let other = other.align(&self.classes);
        let mut labels = Labels { classes: other.classes.clone(), ..self.clone() };
        for row in 0..other.len() {
            let ids = other.of(row);
            labels.push(ids.is_some(), ids.unwrap_or(&[]).to_vec());
        }
        labels.multi |= other.multi;
        labels
    }

    /// The same labels numbered by `classes` (a model's), with the labels unknown there kept at the end as further
    /// classes, so that a document of an unknown class counts as a mistake and is not lost.
    #[must_use]
    pub fn align(&self, classes: &[String]) -> Self {
        let mut all = classes.to_vec();
        let mut numbers: BTreeMap<&str, u32> = classes.iter().map(String::as_str).zip(0..).collect();
        for name in &self.classes {
            if !numbers.contains_key(name.as_str()) {
                numbers.insert(name, all.len() as u32);
                all.push(name.clone());
            }
        }
        let map: Vec<u32> = self.classes.iter().map(|name| numbers[name.as_str()]).collect();
        let mut labels = Labels::of_classes(all);
        for row in 0..self.len() {
            let ids = self.of(row);
            labels.push(ids.is_some(), ids.unwrap_or(&[]).iter().map(|&id| map[id as usize]));
        }
        labels.multi = self.multi;
        labels.descriptions = self.descriptions.clone();
        labels
    }
}

/// The words of a class's name: cut at everything that is no letter or number, and where a capital follows a small letter.
fn name_as_words(name: &str) -> String {
    let mut words = String::with_capacity(name.len() + 4);
    let mut small = false;
    for letter in name.chars() {
        let part = letter.is_alphanumeric() || matches!(letter, '\u{300}'..='\u{36f}');
        if !part || (small && letter.is_uppercase()) {
            words.push(' ');
        }
        if part {
            words.push(letter);
        }
        small = letter.is_lowercase();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn lists_make_a_multi_label_set() {
        let rows = [Some(list(&["b", "a", "b"])), Some(list(&[])), None];
        let labels = Labels::from_lists(rows.iter().map(|row| row.as_deref()));
        assert!(labels.is_multi_label());
        assert_eq!(labels.of(0), Some(&[0, 1][..]));
        assert_eq!(labels.of(1), Some(&[][..]));
        assert_eq!(labels.of(2), None);
        assert_eq!(labels.labelled_rows(), [0, 1]);
        assert!(labels.single().is_err());
        assert_eq!(labels.class_counts(), [1, 1]);
    }

    #[test]
    fn aligning_keeps_unknown_classes_at_the_end() {
        let labels = Labels::from_single([Some("a"), Some("z"), Some("c")]);
        let aligned = labels.align(&list(&["c", "d", "z"]));
        assert_eq!(aligned.classes(), ["c", "d", "z", "a"]);
        assert_eq!(aligned.single().unwrap(), [3, 2, 0]);
    }

    #[test]
    fn classes_stay_in_the_order_given() {
        let rows = [Some(vec![2, 0, 2]), None, Some(vec![])];
        let labels = Labels::with_classes(list(&["z", "empty", "a"]), rows).unwrap();
        assert_eq!(labels.classes(), ["z", "empty", "a"]);
        assert_eq!((labels.of(0), labels.of(1), labels.of(2)), (Some(&[0, 2][..]), None, Some(&[][..])));
        assert!(labels.is_multi_label());
        assert_eq!(labels.class_counts(), [1, 0, 1]);
        let single = Labels::with_classes(list(&["z", "a"]), [Some(vec![1]), None]).unwrap();
        assert!(!single.is_multi_label());
        assert!(Labels::with_classes(list(&["z", "a"]), [Some(vec![2])]).is_err());
        let twice = Labels::with_classes(list(&["z", "a", "z"]), []).unwrap_err();
        assert_eq!(twice.to_string(), "class `z` is given twice");
    }

    #[test]
    fn classes_keep_their_numbers_when_documents_follow() {
        let old = Labels::with_classes(list(&["z", "a"]), [Some(vec![0]), None, Some(vec![1])]).unwrap();
        let both = old.followed_by(&Labels::from_single([Some("b"), Some("a"), None]));
        assert_eq!(both.classes(), ["z", "a", "b"]);
        let expected = [Some(vec![0]), None, Some(vec![1]), Some(vec![2]), Some(vec![1]), None];
        assert_eq!(both, Labels::with_classes(list(&["z", "a", "b"]), expected).unwrap());
    }

    #[test]
    fn labels_are_given_and_hidden() {
        let labels = Labels::from_single([Some("a"), Some("b"), None]);
        let more = labels.with(&[(2, 0)]);
        assert_eq!((more.of(1), more.of(2)), (Some(&[1][..]), Some(&[0][..])));
        let fewer = more.only(&[2]);
        assert_eq!((fewer.labelled_rows(), fewer.n_classes()), (vec![2], 2));
    }

    #[test]
    fn a_selection_keeps_classes() {
        let labels = Labels::from_single([Some("a"), Some("b"), None]);
        let picked = labels.select(&[2, 1]);
        assert_eq!(picked.n_classes(), 2);
        assert_eq!((picked.of(0), picked.of(1)), (None, Some(&[1][..])));
    }

    #[test]
    fn names_are_cut_into_words() {
        assert_eq!(name_as_words("card_arrival"), "card arrival");
        assert_eq!(name_as_words("comp.sys.ibm-PC"), "comp sys ibm PC");
        assert_eq!(name_as_words("LostCard"), "Lost Card");
        assert_eq!(name_as_words("größe/maß"), "größe maß");
        assert_eq!(name_as_words(""), "");
    }

    #[test]
    fn classes_without_a_document_are_described() {
        let pairs = |list: &[(&str, &str)]| -> Vec<(String, String)> {
            list.iter().map(|(class, about)| (class.to_string(), about.to_string())).collect()
        };
        let none = Labels::none(3).described(&pairs(&[("z", "fish sea"), ("a", "car"), ("z", "net")]));
        assert_eq!((none.classes(), none.len()), (&list(&["a", "z"])[..], 3));
        assert_eq!(none.descriptions(), ["car", "fish sea net"]);
        assert!(none.labelled_rows().is_empty() && none.are_described());
        let some = Labels::from_single([Some("m_n"), None]).described(&pairs(&[("a", "car")]));
        assert_eq!((some.classes(), some.of(0)), (&list(&["m_n", "a"])[..], Some(&[0][..])));
        assert_eq!(some.select(&[1]).descriptions(), ["m n", "car"]);
        assert_ne!(some.key(), Labels::from_single([Some("m_n"), None]).key());
    }
}
