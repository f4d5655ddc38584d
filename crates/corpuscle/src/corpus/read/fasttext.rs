//! fastText lines: labels as `__label__NAME` words, the rest of the line is the text.
//!
//! As in fastText, a label may stand anywhere in the line; a line without one is an unlabelled document.

use std::borrow::Cow;

use super::input::Input;
use super::lines::{Line, Lines};
use super::row::{Value, whole};
use super::sink::{Flow, Sink};

pub(super) const PREFIX: &str = "__label__";

pub(super) fn read(input: Input, name: &str, sink: &mut Sink) -> Flow {
    let mut lines = Lines::new(input, name, sink.options.max_line);
    while let Some((number, line)) = lines.next()? {
        match line {
            Line::Bad(reason) => sink.bad_row(Some(number), reason)?,
            Line::Text(line) => {
                let (labels, text) = parse(line);
                if labels.contains(&"") {
                    sink.bad_row(Some(number), format!("`{PREFIX}` without a name behind it"))?;
                    continue;
                }
                let labels = match labels.is_empty() {
                    true => Value::Null,
                    false => Value::List(labels.into_iter().map(Cow::Borrowed).collect()),
                };
                let values = [("label", labels.clone()), ("labels", labels), ("text", Value::Text(text))];
                let [_, own @ ..] = &values;
                sink.row(number, sink.fields.row(values.clone()), || whole(own.iter().cloned()))?;
            }
        }
    }
    Ok(())
}

fn parse(line: &str) -> (Vec<&str>, Cow<'_, str>) {
    let mut labels = Vec::new();
    let mut rest = line.trim();
    while let Some(label) = rest.strip_prefix(PREFIX) {
        let (label, behind) = label.split_once(char::is_whitespace).unwrap_or((label, ""));
        labels.push(label);
        rest = behind.trim_start();
    }
    if !rest.contains(PREFIX) {
        return (labels, Cow::Borrowed(rest));
    }
    let mut words = Vec::new();
    for word in rest.split_whitespace() {
        match word.strip_prefix(PREFIX) {
            Some(label) => labels.push(label),
            None => words.push(word),
        }
    }
    (labels, Cow::Owned(words.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_stand_in_front_or_anywhere() {
        assert_eq!(parse("__label__a __label__b  Hello  there"), (vec!["a", "b"], "Hello  there".into()));
        assert_eq!(parse("no label"), (vec![], "no label".into()));
        assert_eq!(parse("__label__a"), (vec!["a"], "".into()));
        assert_eq!(parse("one __label__x two  my__label__"), (vec!["x"], "one two my__label__".into()));
        assert_eq!(parse("__label__ a"), (vec![""], "a".into()));
    }
}
