//! Which field is the text and which the label, where none has the name that was expected. Judged by the first rows, at
//! most [`SAMPLE`] of those in the first block of the data, so that the same data always give the same answer; taken only
//! when just one field can be it.
//!
//! - **Text**: a field that serves nothing else and holds strings that are not all numbers. If there are several, one
//!   whose values have several words in more than half of the rows; if there are still several, one that cannot be the
//!   label.
//! - **Label**: a field that serves nothing else and has at least two values that repeat: no more different ones than half
//!   the rows that have one. Dates and times repeat too and are no label.

use std::collections::BTreeSet;

use serde_json::Value;

use super::row::Whole;

/// The most rows that are looked at.
pub(super) const SAMPLE: usize = 100;

pub(super) fn text(rows: &[Whole], taken: &[String]) -> Option<String> {
    let mut can: Vec<&str> = columns(rows, taken).into_iter().filter(|name| is_string(rows, name)).collect();
    let narrower: [fn(&[Whole], &str) -> bool; 2] = [has_phrases, |rows, name| !repeats(rows, name)];
    for narrower in narrower {
        if can.len() > 1 {
            can.retain(|name| narrower(rows, name));
        }
    }
    only(can)
}

pub(super) fn label(rows: &[Whole], taken: &[String]) -> Option<String> {
    only(columns(rows, taken).into_iter().filter(|name| repeats(rows, name)).collect())
}

fn only(names: Vec<&str>) -> Option<String> {
    match names[..] {
        [name] => Some(name.to_string()),
        _ => None,
    }
}

/// The fields that serve nothing else, in the order of the data.
fn columns<'a>(rows: &'a [Whole], taken: &[String]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for name in rows.iter().flat_map(Whole::keys) {
        if !names.contains(&name.as_str()) && !taken.contains(name) {
            names.push(name);
        }
    }
    names
}

fn known<'a>(rows: &'a [Whole], name: &str) -> Vec<&'a Value> {
    let value = |row: &'a Whole| row.get(name);
    let is_known = |value: &&Value| !value.is_null() && value.as_str().is_none_or(|text| !text.trim().is_empty());
    rows.iter().filter_map(value).filter(is_known).collect()
}

fn is_string(rows: &[Whole], name: &str) -> bool {
    let values = known(rows, name);
    let number = |value: &&Value| value.as_str().is_some_and(|text| text.trim().parse::<f64>().is_ok());
    values.iter().all(|value| value.is_string()) && !values.iter().all(number)
}

fn has_phrases(rows: &[Whole], name: &str) -> bool {
    let values = known(rows, name);
    let phrase = |value: &&&Value| value.as_str().is_some_and(|text| text.split_whitespace().nth(1).is_some());
    2 * values.iter().filter(phrase).count() > values.len()
}

fn repeats(rows: &[Whole], name: &str) -> bool {
    let values = known(rows, name);
    let plain = values.iter().all(|value| !value.is_array() && !value.is_object());
    let different = values.iter().map(ToString::to_string).collect::<BTreeSet<_>>().len();
    plain && different >= 2 && 2 * different <= values.len() && !values.iter().all(|value| is_moment(value))
}

/// Whether a value reads as a date or a time: three or more numbers, or two with a colon between, and nothing else but what stands
/// between those.
fn is_moment(value: &Value) -> bool {
    let Some(text) = value.as_str().map(str::trim) else { return false };
    let between = |c: char| matches!(c, '-' | '/' | '.' | ':' | ' ' | '+' | 'T' | 'Z');
    let numbers = text.split(between).filter(|part| !part.is_empty()).count();
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_digit() || between(c))
        && (numbers > 2 || numbers == 2 && text.contains(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(lines: &[&str]) -> Vec<Whole> {
        lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn the_only_column_of_strings_is_the_text() {
        let rows = rows(&[r#"{"n":1,"body":"hello","s":"7"}"#, r#"{"n":2,"body":"bye","s":"8"}"#]);
        assert_eq!(text(&rows, &[]).as_deref(), Some("body"));
        assert_eq!(text(&rows, &["body".to_string()]), None);
        assert_eq!(text(&[], &[]), None);
    }

    #[test]
    fn phrases_decide_between_strings_and_repeats_between_phrases() {
        let tickets = rows(&[
            r#"{"key":"A-1","message":"my screen is broken","team":"field service"}"#,
            r#"{"key":"A-2","message":"no sound at all","team":"field service"}"#,
            r#"{"key":"A-3","message":"cannot log in","team":"help desk"}"#,
            r#"{"key":"A-4","message":"forgot it","team":"help desk"}"#,
        ]);
        assert_eq!(text(&tickets, &[]).as_deref(), Some("message"));
        assert_eq!(label(&tickets, &["message".to_string()]).as_deref(), Some("team"));
        let two = rows(&[r#"{"title":"a b","body":"c d"}"#, r#"{"title":"e f","body":"g h"}"#]);
        assert_eq!(text(&two, &[]), None);
    }

    #[test]
    fn a_label_repeats_and_is_the_only_one_that_does() {
        let stars = rows(&[r#"{"s":1,"k":"x"}"#, r#"{"s":2,"k":"y"}"#, r#"{"s":1,"k":"z"}"#, r#"{"s":2,"k":"w"}"#]);
        assert_eq!(label(&stars, &[]).as_deref(), Some("s"));
        assert_eq!(label(&stars[..3], &[]), None);
        let both = rows(&[r#"{"s":1,"t":1}"#, r#"{"s":2,"t":2}"#, r#"{"s":1,"t":1}"#, r#"{"s":2,"t":2}"#]);
        assert_eq!(label(&both, &[]), None);
        let one = rows(&[r#"{"s":1}"#, r#"{"s":1}"#]);
        assert_eq!(label(&one, &[]), None);
    }

    #[test]
    fn dates_and_times_repeat_and_are_no_label() {
        for days in [["2026-01-31", "2026-02-28"], ["31.1.2026 10:15", "1.2.2026 9:00"], ["9:30", "10:00"]] {
            let row = |n: usize| serde_json::from_value(serde_json::json!({"when": days[n % 2], "n": n})).unwrap();
            let rows: Vec<Whole> = (0..6).map(row).collect();
            assert_eq!(label(&rows, &[]), None, "{days:?}");
        }
        let versions = rows(&[r#"{"v":"1.5"}"#, r#"{"v":"2.0"}"#, r#"{"v":"1.5"}"#, r#"{"v":"2.0"}"#]);
        assert_eq!(label(&versions, &[]).as_deref(), Some("v"));
    }
}
