//! JSON Lines, one object per line, or an array of objects. Only the wanted fields are turned into values; the rest is
//! passed over.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::array::{self, Items};
use super::guess::SAMPLE;
use super::input::Input;
use super::lines::{Line, Lines};
use super::row::{Fields, MOST_ITEMS, Row, Value, Whole, too_many};
use super::sink::{Flow, Sink};

pub(super) fn read(input: Input, name: &str, sink: &mut Sink) -> Flow {
    let is_array = array::is_array(input.head());
    if !sink.is_settled() {
        sink.settle(&if is_array { first_items(input.head()) } else { first_rows(input.head()) });
    }
    let limit = sink.options.max_line;
    if is_array {
        let mut items = Items::new(input, name, limit);
        while let Some((number, item)) = items.next()? {
            take(number, item, |number, error| (number + error.line() as u64 - 1, explain(error)), sink)?;
        }
        return Ok(());
    }
    let mut lines = Lines::new(input, name, limit);
    while let Some((number, line)) = lines.next()? {
        take(number, line, |number, error| (number, explain_in_line(error)), sink)?;
    }
    Ok(())
}

/// Takes an object that begins in line `number`; `fault` says where and why there is none.
fn take(
    number: u64,
    line: Line<'_>,
    fault: impl Fn(u64, &serde_json::Error) -> (u64, String),
    sink: &mut Sink,
) -> Flow {
    match line {
        Line::Bad(reason) => sink.bad_row(Some(number), reason),
        Line::Text(text) => match parse(text, &sink.fields) {
            Ok(row) => sink.row(number, row, || serde_json::from_str(text).unwrap_or_default()),
            Err(error) => {
                let (number, reason) = fault(number, &error);
                sink.bad_row(Some(number), reason)
            }
        },
    }
}

fn parse<'a>(line: &'a str, fields: &Fields) -> serde_json::Result<Row<'a>> {
    let mut deserializer = serde_json::Deserializer::from_str(line);
    let row = deserializer.deserialize_map(RowVisitor(fields))?;
    deserializer.end()?;
    Ok(row)
}

/// The first rows, as far as the first bytes have them whole.
fn first_rows(head: &[u8]) -> Vec<Whole> {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let lines = head.split(|&byte| byte == b'\n').take(SAMPLE);
    lines.filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

/// The first items of an array, as far as the first bytes have them whole.
fn first_items(head: &[u8]) -> Vec<Whole> {
    let mut items = Items::new(head, "", head.len());
    let mut rows = Vec::new();
    while let Ok(Some((_, item))) = items.next() {
        let row = if let Line::Text(text) = item { serde_json::from_str(text).ok() } else { None };
        rows.extend(row);
        if rows.len() == SAMPLE {
            break;
        }
    }
    rows
}

/// What the parser says, without its place.
fn explain(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let (message, _) = message.rsplit_once(" at line ").unwrap_or((&message, ""));
    if message == too_many() { message.to_string() } else { format!("not a JSON object: {message}") }
}

/// The same for an object that is a line: the parser sees one line at a time, so its line number is always 1.
fn explain_in_line(error: &serde_json::Error) -> String {
    let reason = explain(error);
    if reason == too_many() {
        return reason;
    }
    let hint = if error.is_eof() { "; each line must hold one whole JSON object" } else { "" };
    format!("{reason} (column {}){hint}", error.column())
}

struct RowVisitor<'f>(&'f Fields);

impl<'de> Visitor<'de> for RowVisitor<'_> {
    type Value = Row<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let mut row = vec![Value::Absent; self.0.len()];
        while let Some(slot) = map.next_key_seed(SlotOf(self.0))? {
            match slot {
                Some(slot) => row[slot] = map.next_value_seed(AnyValue)?,
                None => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        Ok(row)
    }
}

/// Turns a key into its slot without keeping it.
struct SlotOf<'f>(&'f Fields);

impl<'de> DeserializeSeed<'de> for SlotOf<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for SlotOf<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.slot(name))
    }
}

struct AnyValue;

impl<'de> DeserializeSeed<'de> for AnyValue {
    type Value = Value<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Value::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Value::Text(Cow::Owned(text.to_string())))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Value::Text(Cow::Borrowed(if value { "true" } else { "false" })))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Value::Text(Cow::Owned(value.to_string())))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Value::Text(Cow::Owned(value.to_string())))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        // The debug form keeps `1.0` apart from `1`, as the file does.
        Ok(Value::Text(Cow::Owned(format!("{value:?}"))))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut seq: S) -> Result<Self::Value, S::Error> {
        let mut items = Vec::new();
        let mut all_texts = true;
        while let Some(item) = seq.next_element_seed(AnyValue)? {
            match item {
                Value::Text(_) if items.len() == MOST_ITEMS => return Err(S::Error::custom(too_many())),
                Value::Text(text) => items.push(text),
                _ => all_texts = false,
            }
        }
        Ok(if all_texts { Value::List(items) } else { Value::Other("a list with more than plain values in it") })
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>().map_err(M::Error::custom)?.is_some() {}
        Ok(Value::Other("an object"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::ReadOptions;

    fn parsed(line: &str) -> Result<String, String> {
        let fields = Fields::new(&ReadOptions { label: Some("label".into()), ..Default::default() });
        parse(line, &fields).map(|row| format!("{:?}", row[1])).map_err(|error| explain_in_line(&error))
    }

    #[test]
    fn values_take_their_text_form() {
        for (json, value) in [
            (r#""a\u00e9""#, r#"Text("aé")"#),
            ("3", r#"Text("3")"#),
            ("-3", r#"Text("-3")"#),
            ("1.0", r#"Text("1.0")"#),
            ("true", r#"Text("true")"#),
            ("null", "Null"),
            (r#"["a",1]"#, r#"List(["a", "1"])"#),
            ("[[]]", r#"Other("a list with more than plain values in it")"#),
            (r#"{"a":{"b":[1]}}"#, r#"Other("an object")"#),
        ] {
            let line = format!(r#"{{"other":[{{}}],"label":{json},"text":"x"}}"#);
            assert_eq!(parsed(&line).as_deref(), Ok(value), "{json}");
        }
        assert_eq!(parsed(r#"{"label":1,"label":2}"#).as_deref(), Ok(r#"Text("2")"#));
    }

    #[test]
    fn faults_are_explained() {
        for (line, wanted) in [
            ("[1]", "expected an object"),
            ("{", "one whole JSON object"),
            (r#"{"label":}"#, "expected value (column 10)"),
            (r#"{"label":1} x"#, "trailing characters"),
            (r#"{"label":NaN}"#, "not a JSON object"),
        ] {
            let reason = parsed(line).unwrap_err();
            assert!(reason.contains(wanted), "{line}: {reason}");
        }
        let deep = format!(r#"{{"label":{}"#, "[".repeat(100_000));
        assert!(parsed(&deep).is_err());
    }
}
