//! From the fields of a row to a document: every format fills the same few slots, and the rules about labels, weights
//! and filters are written once, here.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value as Json;

use super::options::{Filter, Numbers, ReadOptions};
use crate::corpus::Document;

/// A field of a row as far as documents care. Numbers and booleans are already in their text form.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) enum Value<'a> {
    #[default]
    Absent,
    Null,
    Text(Cow<'a, str>),
    List(Vec<Cow<'a, str>>),
    /// Something that is neither text nor a list of texts; says what.
    Other(&'static str),
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Value::Text(Cow::Borrowed(text))
    }
}

impl Value<'_> {
    fn equals(&self, wanted: &str) -> bool {
        match self {
            Value::Absent | Value::Null => wanted.is_empty(),
            Value::Text(text) => text == wanted,
            Value::List(items) if items.is_empty() => wanted.is_empty(),
            Value::List(items) => items.iter().any(|item| item == wanted),
            Value::Other(_) => false,
        }
    }

    fn is_known(&self) -> bool {
        !matches!(self, Value::Absent | Value::Null)
    }
}

/// The most values of a list: labels or numbers of one document. A line of commas would otherwise take fifty times its size.
pub(super) const MOST_ITEMS: usize = 1 << 20;

/// Says that a list is longer than that.
pub(super) fn too_many() -> String {
    format!("a list has more than {MOST_ITEMS} values; cut the document or its list into parts")
}

/// Every field of a row, wanted or not, as it is in the data.
pub(super) type Whole = serde_json::Map<String, Json>;

/// A whole row of fields that are texts and lists of them.
pub(super) fn whole<'a>(values: impl IntoIterator<Item = (&'a str, Value<'a>)>) -> Whole {
    let json = |value| match value {
        Value::Text(text) => Json::String(text.into_owned()),
        Value::List(items) => items.into_iter().map(Cow::into_owned).collect(),
        Value::Absent | Value::Null | Value::Other(_) => Json::Null,
    };
    values.into_iter().map(|(name, value)| (name.to_string(), json(value))).collect()
}

/// The values of the wanted fields, by slot.
pub(super) type Row<'a> = Vec<Value<'a>>;

/// What is wrong with a row one of whose texts is longer than the limit, for formats that have no lines of their own.
pub(super) fn text_too_long(row: &Row<'_>, limit: usize) -> Option<String> {
    let long = |value: &Value<'_>| matches!(value, Value::Text(text) if text.len() > limit);
    row.iter().any(long).then(|| super::lines::too_long("text", limit))
}

/// Why a row gives no document.
#[derive(Debug, PartialEq)]
pub(super) enum Fault {
    /// It lacks a field; the caller adds which fields it has.
    Missing(String),
    /// Anything else, in words.
    Reason(String),
}

/// The wanted fields, each with a slot, and what each is wanted for.
#[derive(Debug)]
pub(super) struct Fields {
    names: Vec<String>,
    text: Vec<usize>,
    /// Where to look for labels, best first.
    labels: Vec<usize>,
    id: Option<usize>,
    id_is_named: bool,
    weight: Option<usize>,
    numbers: Vec<(usize, Arc<str>, Numbers)>,
    filters: Vec<(usize, Filter)>,
    /// Fields the caller named that may be missing in some rows but not in all.
    expected: Vec<usize>,
    separator: Option<char>,
}

impl Fields {
    pub(super) fn new(options: &ReadOptions) -> Self {
        let mut fields = Fields {
            names: Vec::new(),
            text: Vec::new(),
            labels: Vec::new(),
            id: None,
            id_is_named: options.id.is_some(),
            weight: None,
            numbers: Vec::new(),
            filters: Vec::new(),
            expected: Vec::new(),
            separator: options.label_separator,
        };
        fields.text = options.text.split('+').filter_map(|name| fields.add(name)).collect();
        match &options.label {
            Some(name) => fields.labels = fields.add(name).into_iter().collect(),
            None => fields.labels = ["label", "labels"].into_iter().filter_map(|name| fields.add(name)).collect(),
        }
        fields.id = fields.add(options.id.as_deref().unwrap_or("id"));
        fields.weight = fields.add(options.weight.as_deref().unwrap_or("weight"));
        for wanted in &options.numbers {
            if let Some(slot) = fields.add(&wanted.field) {
                fields.numbers.push((slot, wanted.field.as_str().into(), wanted.clone()));
            }
        }
        for filter in &options.filters {
            if let Some(slot) = fields.add(&filter.field) {
                fields.filters.push((slot, filter.clone()));
            }
        }
        let named = options.label.iter().chain(&options.weight).chain(options.filters.iter().map(|f| &f.field));
        fields.expected = named.filter_map(|name| fields.slot(name)).collect();
        fields
    }

    fn add(&mut self, name: &str) -> Option<usize> {
        if name.is_empty() {
            return None;
        }
        Some(self.slot(name).unwrap_or_else(|| {
            self.names.push(name.to_string());
            self.names.len() - 1
        }))
    }

    /// The slot of a field that is looked for but used for nothing.
    pub(super) fn watch(&mut self, name: &str) -> usize {
        self.add(name).unwrap_or_default()
    }

    /// The slot of a field; `None` when nobody wants it.
    pub(super) fn slot(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    /// The name of a slot.
    pub(super) fn name(&self, slot: usize) -> &str {
        &self.names[slot]
    }

    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// Slots that at least one row must fill.
    pub(super) fn expected(&self) -> &[usize] {
        &self.expected
    }

    /// The slots without which no row can be a document.
    pub(super) fn required(&self) -> impl Iterator<Item = usize> + '_ {
        let numbers = self.numbers.iter().map(|(slot, ..)| *slot);
        self.text.iter().copied().chain(self.id.filter(|_| self.id_is_named)).chain(numbers)
    }

    /// A row with the given fields; those nobody wants are dropped.
    pub(super) fn row<'a>(&self, values: impl IntoIterator<Item = (&'a str, Value<'a>)>) -> Row<'a> {
        let mut row = vec![Value::Absent; self.len()];
        for (name, value) in values {
            if let Some(slot) = self.slot(name) {
                row[slot] = value;
            }
        }
        row
    }

    /// The document in a row; `None` when a filter keeps it out. `number` becomes the id of a row that has none.
    pub(super) fn document(&self, mut row: Row<'_>, number: u64) -> Result<Option<Document>, Fault> {
        if self.filters.iter().any(|(slot, filter)| row[*slot].equals(&filter.value) != filter.equal) {
            return Ok(None);
        }
        // Text last: it is moved out of the row, and its field may serve as label or id too.
        let labels = self.labels(&row)?;
        let weight = self.weight(&row)?;
        let id = self.id(&row)?.unwrap_or_else(|| number.to_string());
        let read =
            |(slot, name, of): &(usize, Arc<str>, Numbers)| Ok((Arc::clone(name), self.numbers(&row[*slot], of)?));
        let numbers = self.numbers.iter().map(read).collect::<Result<_, _>>()?;
        let text = self.text(&mut row)?;
        Ok(Some(Document { id, text, labels, weight, numbers, row: None }))
    }

    fn text(&self, row: &mut Row<'_>) -> Result<String, Fault> {
        if let Some(&slot) = self.text.iter().find(|&&slot| row[slot] == Value::Absent) {
            return Err(Fault::Missing(self.names[slot].clone()));
        }
        if self.text.iter().all(|&slot| row[slot] == Value::Null) {
            return Err(self.wrong(self.text.first(), "null", "a string is wanted"));
        }
        let mut whole = String::new();
        for slot in &self.text {
            match std::mem::take(&mut row[*slot]) {
                // One part, or the first: no copy.
                Value::Text(part) if whole.is_empty() => whole = part.into_owned(),
                Value::Text(part) if part.is_empty() => {}
                Value::Text(part) => {
                    whole.push('\n');
                    whole.push_str(&part);
                }
                Value::Absent | Value::Null => {}
                Value::List(_) => return Err(self.wrong(Some(slot), "a list", "a string is wanted")),
                Value::Other(what) => return Err(self.wrong(Some(slot), what, "a string is wanted")),
            }
        }
        Ok(whole)
    }

    fn labels(&self, row: &Row<'_>) -> Result<Option<Vec<String>>, Fault> {
        let Some(slot) = self.labels.iter().find(|&&slot| row[slot].is_known()) else {
            return Ok(None);
        };
        let kept =
            |items: &[Cow<'_, str>]| items.iter().filter(|item| !item.is_empty()).map(|i| i.to_string()).collect();
        match (&row[*slot], self.separator) {
            (Value::Text(text), _) if text.is_empty() => Ok(None),
            (Value::Text(text), Some(separator)) if text.matches(separator).count() >= MOST_ITEMS => {
                Err(Fault::Reason(too_many()))
            }
            (Value::Text(text), Some(separator)) => {
                let parts: Vec<_> = text.split(separator).map(|part| Cow::Borrowed(part.trim())).collect();
                Ok(Some(kept(&parts)))
            }
            (Value::Text(text), None) => Ok(Some(vec![text.to_string()])),
            (Value::List(items), _) => Ok(Some(kept(items))),
            (Value::Other(what), _) => Err(self.wrong(Some(slot), what, "a label or a list of labels is wanted")),
            (Value::Absent | Value::Null, _) => Ok(None),
        }
    }

    fn id(&self, row: &Row<'_>) -> Result<Option<String>, Fault> {
        let Some(slot) = self.id else { return Ok(None) };
        match &row[slot] {
            Value::Absent if self.id_is_named => Err(Fault::Missing(self.names[slot].clone())),
            Value::Absent | Value::Null => Ok(None),
            Value::Text(text) => Ok((!text.is_empty()).then(|| text.to_string())),
            Value::List(_) => Err(self.wrong(Some(&slot), "a list", "a string or a number is wanted")),
            Value::Other(what) => Err(self.wrong(Some(&slot), what, "a string or a number is wanted")),
        }
    }

    fn weight(&self, row: &Row<'_>) -> Result<f32, Fault> {
        let wanted = "a weight is a finite number, 0 or more";
        let Some(slot) = self.weight else { return Ok(1.0) };
        match &row[slot] {
            Value::Absent | Value::Null => Ok(1.0),
            Value::Text(text) if text.trim().is_empty() => Ok(1.0),
            Value::Text(text) => match text.trim().parse::<f32>() {
                // `+ 0.0` turns -0 into 0.
                Ok(weight) if weight.is_finite() && weight >= 0.0 => Ok(weight + 0.0),
                _ => Err(self.wrong(Some(&slot), &format!("`{}`", shortened(text)), wanted)),
            },
            Value::List(_) => Err(self.wrong(Some(&slot), "a list", wanted)),
            Value::Other(what) => Err(self.wrong(Some(&slot), what, wanted)),
        }
    }

    fn numbers(&self, value: &Value<'_>, of: &Numbers) -> Result<Vec<f32>, Fault> {
        let refuse = |found: &str| {
            Err(Fault::Reason(format!(
                "field `{}` is {found}; a finite number or a list of finite numbers is wanted",
                of.field
            )))
        };
        let number = |text: &str| text.trim().parse::<f32>().ok().filter(|number| number.is_finite());
        let list = match value {
            Value::Absent => return Err(Fault::Missing(of.field.clone())),
            Value::Null => return refuse("null"),
            Value::Other(what) => return refuse(what),
            Value::Text(text) if text.trim().is_empty() => return refuse("empty"),
            Value::Text(text) => std::slice::from_ref(text),
            Value::List(items) if items.is_empty() => return refuse("an empty list"),
            Value::List(items) => items,
        };
        let mut numbers = Vec::with_capacity(list.len());
        for (text, place) in list.iter().zip(1..) {
            match number(text) {
                Some(number) => numbers.push(number),
                None if list.len() == 1 => return refuse(&format!("`{}`", shortened(text))),
                None => return refuse(&format!("a list with `{}` at place {place}", shortened(text))),
            }
        }
        match of.width {
            Some(width) if width != numbers.len() => Err(Fault::Reason(format!(
                "field `{}` has {} numbers; {width} are wanted, as in the rows before or as the model has learnt",
                of.field,
                numbers.len()
            ))),
            _ => Ok(numbers),
        }
    }

    /// From the first row that has them on, every row must have as many numbers.
    pub(super) fn fix_widths(&mut self, document: &Document) {
        for ((_, _, wanted), (_, numbers)) in self.numbers.iter_mut().zip(&document.numbers) {
            wanted.width = wanted.width.or(Some(numbers.len()));
        }
    }

    fn wrong(&self, slot: Option<&usize>, found: &str, wanted: &str) -> Fault {
        let name = slot.map_or("", |&slot| self.name(slot));
        Fault::Reason(format!("field `{name}` is {found}; {wanted}"))
    }
}

/// The first characters of a text, for a message.
pub(super) fn shortened(text: &str) -> String {
    let head: String = text.chars().take(40).collect();
    if head.len() < text.len() { format!("{head}…") } else { head }
}

/// Names in backquotes, the first forty of them, for a message.
pub(super) fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut names = names.into_iter().map(|name| format!("`{}`", shortened(name)));
    let mut list = names.by_ref().take(40).collect::<Vec<_>>().join(", ");
    if names.next().is_some() {
        list.push_str(", …");
    }
    if list.is_empty() { "no field".to_string() } else { list }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list<'a>(items: &[&'a str]) -> Value<'a> {
        Value::List(items.iter().map(|&item| Cow::Borrowed(item)).collect())
    }

    fn document(options: &ReadOptions, values: &[(&'static str, Value<'static>)]) -> Result<Option<Document>, Fault> {
        let fields = Fields::new(options);
        fields.document(fields.row(values.to_vec()), 7)
    }

    #[test]
    fn labels_are_known_empty_or_unknown() {
        let options = ReadOptions::default();
        let labels = |value: (&'static str, Value<'static>)| {
            document(&options, &[("text", "x".into()), value]).unwrap().unwrap().labels
        };
        assert_eq!(labels(("label", "a|b".into())), Some(vec!["a|b".to_string()]));
        assert_eq!(labels(("labels", list(&["a", "b"]))), Some(vec!["a".to_string(), "b".to_string()]));
        assert_eq!(labels(("labels", list(&[]))), Some(vec![]));
        for unknown in [Value::Null, Value::Absent, "".into()] {
            assert_eq!(labels(("label", unknown)), None);
        }
        let cut = ReadOptions { label_separator: Some('|'), ..Default::default() };
        let cut = document(&cut, &[("text", "x".into()), ("label", "a | b|".into())]).unwrap().unwrap();
        assert_eq!(cut.labels, Some(vec!["a".to_string(), "b".to_string()]));
    }

    #[test]
    fn weights_are_finite_and_not_negative() {
        let options = ReadOptions::default();
        let weight = |text: &'static str| document(&options, &[("text", "x".into()), ("weight", text.into())]);
        assert_eq!(weight("2.5").unwrap().unwrap().weight, 2.5);
        assert_eq!(weight("").unwrap().unwrap().weight, 1.0);
        for bad in ["NaN", "inf", "-1", "1e99", "heavy"] {
            assert!(matches!(weight(bad), Err(Fault::Reason(reason)) if reason.contains(bad)), "{bad}");
        }
        assert_eq!(document(&options, &[("text", "x".into())]).unwrap().unwrap().weight, 1.0);
    }

    #[test]
    fn texts_are_joined_and_missing_ones_reported() {
        let options = ReadOptions { text: "title+text".into(), ..Default::default() };
        let text = |title: Value<'static>| document(&options, &[("title", title), ("text", "body".into())]);
        assert_eq!(text("head".into()).unwrap().unwrap().text, "head\nbody");
        assert_eq!(text(Value::Null).unwrap().unwrap().text, "body");
        assert_eq!(text("".into()).unwrap().unwrap().text, "body");
        assert_eq!(text(Value::Absent), Err(Fault::Missing("title".into())));
        assert!(matches!(text(Value::Other("an object")), Err(Fault::Reason(_))));
        let null = document(&ReadOptions::default(), &[("text", Value::Null)]);
        assert!(matches!(null, Err(Fault::Reason(reason)) if reason.contains("`text` is null")));
    }

    #[test]
    fn filters_look_into_lists_and_go_before_faults() {
        let keep = |filter: &str, value: Value<'static>| {
            let options = ReadOptions { filters: vec![filter.parse().unwrap()], ..Default::default() };
            document(&options, &[("text", "x".into()), ("f", value)]).unwrap().is_some()
        };
        assert!(keep("f=a", "a".into()) && !keep("f=a", "b".into()) && keep("f!=a", "b".into()));
        assert!(keep("f=a", list(&["b", "a"])) && !keep("f!=a", list(&["b", "a"])));
        assert!(keep("f=", Value::Null) && keep("f=", list(&[])) && !keep("f!=", Value::Absent));
        let options = ReadOptions { filters: vec!["f=a".parse().unwrap()], ..Default::default() };
        assert_eq!(document(&options, &[("f", "b".into())]), Ok(None));
    }

    #[test]
    fn numbers_are_finite_and_as_many_in_every_row() {
        let numbers = Numbers { field: "e".into(), width: None };
        let options = ReadOptions { numbers: vec![numbers.clone()], ..Default::default() };
        let read = |value: Value<'static>| document(&options, &[("text", "x".into()), ("e", value)]);
        assert_eq!(read(list(&["1", "-2.5"])).unwrap().unwrap().numbers, [("e".into(), vec![1.0, -2.5])]);
        assert_eq!(read(" 3 ".into()).unwrap().unwrap().numbers, [("e".into(), vec![3.0])]);
        for (bad, said) in [
            (Value::Null, "is null"),
            ("".into(), "is empty"),
            ("many".into(), "is `many`"),
            ("1e99".into(), "is `1e99`"),
            (list(&["1", "NaN"]), "`NaN` at place 2"),
            (list(&[]), "an empty list"),
            (Value::Other("an object"), "an object"),
        ] {
            assert!(matches!(read(bad), Err(Fault::Reason(reason)) if reason.contains(said)), "{said}");
        }
        assert_eq!(read(Value::Absent), Err(Fault::Missing("e".into())));
        let mut fields = Fields::new(&options);
        fields.fix_widths(&read(list(&["1", "2"])).unwrap().unwrap());
        let ragged = fields.document(fields.row([("text", "x".into()), ("e", "1".into())]), 1);
        assert!(matches!(ragged, Err(Fault::Reason(reason)) if reason.contains("has 1 numbers; 2 are wanted")));
    }

    #[test]
    fn an_id_is_made_up_unless_one_was_asked_for() {
        let row = [("text", Value::from("x"))];
        assert_eq!(document(&ReadOptions::default(), &row).unwrap().unwrap().id, "7");
        let named = ReadOptions { id: Some("key".into()), ..Default::default() };
        assert_eq!(document(&named, &row), Err(Fault::Missing("key".into())));
    }
}
