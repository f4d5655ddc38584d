//! What people and programs read: tables, JSON, complaints.

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;
use comfy_table::{CellAlignment, Table, presets};
use corpuscle::Run;
use serde_json::{Map, Value};

use crate::screen::{self, Colour, painted};

/// The call itself was wrong: exit code 2.
#[derive(Debug)]
pub(crate) struct WrongCall(pub(crate) String);

impl fmt::Display for WrongCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WrongCall {}

/// Whether the reader of our output has gone away, which is no failure.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe))
}

/// Says what went wrong, on stderr.
pub(crate) fn complain(error: &anyhow::Error) {
    let mut text = String::from("corpuscle");
    for cause in error.chain().map(ToString::to_string) {
        // Many causes are already told by the error they caused.
        if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    // Nobody is left to tell when stderr is gone.
    let message = with_hints(&text);
    let _ = writeln!(io::stderr().lock(), "{}", message.replacen("corpuscle", &painted("corpuscle", Colour::Red), 1));
}

/// Phrases of the library's messages, a flag of this command that helps, and the words about it. The library knows no
/// flags: its other callers have none.
const HINTS: &[(&str, &str, &str)] = &[
    ("format cannot be told", "--input-format", "name it with --input-format"),
    ("no field `", "--text", "name fields with --text, --label, --id"),
    ("is a zip archive", "--input-format", "a workbook without its name is read with --input-format excel"),
    ("was taken for it; say which of them", "--label", "name it with --label"),
    ("has no sheet `", "--sheet", "name it with --sheet"),
    ("not UTF-8: byte 0x", "--encoding", "or name its encoding, as in --encoding windows-1252"),
    ("that are not of the encoding", "--encoding", "--encoding names it"),
    ("is longer than the limit", "--max-line", "--max-line raises it"),
    ("a weight is a finite number", "--weight", "name another field with --weight"),
    ("documents has a label, so there is nothing", "--label", "name the field with --label"),
    ("needs labels; none of the", "--label", "name the field that holds them with --label"),
    ("has not kept what an update needs", "--updatable", "train it with --updatable"),
    ("makes no updatable model", "--updatable", "or leave out --updatable"),
    ("there are no unlabelled documents", "--unlabelled", "give some with --unlabelled"),
];

/// A message of the library with the flags that help.
pub(crate) fn with_hints(message: &str) -> String {
    let mut text = message.to_string();
    for (phrase, flag, hint) in HINTS {
        if message.contains(phrase) && !message.contains(flag) {
            text.push_str("; ");
            text.push_str(hint);
        }
    }
    text
}

/// Writes one JSON object to stdout.
pub(crate) fn print_json(value: &Value) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    serde_json::to_writer_pretty(&mut stdout, value).map_err(io::Error::from)?;
    writeln!(stdout)?;
    stdout.flush()?;
    Ok(())
}

/// Writes text to stdout.
pub(crate) fn print_text(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()?;
    Ok(())
}

/// Writes a whole file or none, see [`corpuscle::file`].
pub(crate) fn write_beside(path: &Path, write: impl FnOnce(&mut File) -> anyhow::Result<()>) -> anyhow::Result<()> {
    corpuscle::file::write_whole(path, |file| write(file).with_context(|| format!("cannot write {}", path.display())))
}

/// The seconds of every stage run so far, as JSON.
pub(crate) fn seconds(run: &Run) -> Value {
    let list = run.seconds().into_iter().map(|(stage, seconds)| (stage, Value::from(round(seconds, 6))));
    Value::Object(list.collect::<Map<_, _>>())
}

/// A number cut to so many places.
pub(crate) fn round(value: f64, places: i32) -> f64 {
    let unit = 10f64.powi(places);
    (value * unit).round() / unit
}

/// A table with a heading; the columns after the first `left` are aligned to the right. On a terminal it is as wide as that:
/// what is too long in the longest of the `left` columns, or else in the last, loses its middle; where that is not enough,
/// the columns at the right are left out and named below.
pub(crate) fn table(heading: &[&str], left: usize, rows: impl IntoIterator<Item = Vec<String>>) -> String {
    table_within(screen::width(), heading, left, rows)
}

/// The same within a width.
pub(crate) fn table_within(
    width: Option<usize>,
    heading: &[&str],
    left: usize,
    rows: impl IntoIterator<Item = Vec<String>>,
) -> String {
    let mut rows: Vec<Vec<String>> = rows.into_iter().collect();
    let shown = width.map_or(heading.len(), |width| fit(&mut rows, heading, left, width));
    let (heading, left_out) = heading.split_at(shown);
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(heading.to_vec());
    for row in rows {
        table.add_row(row);
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((u16::from(index > 0) * 2, 0));
        if index >= left {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut text: Vec<String> = table.lines().map(|line| line.trim_end().to_string()).collect();
    let named: Vec<&str> = left_out.iter().copied().filter(|name| !name.is_empty()).collect();
    if !named.is_empty() {
        text.push(format!("(no room for: {})", named.join(", ")));
    }
    text.join("\n") + "\n"
}

/// The fewest characters a column of texts is cut to.
const NARROW: usize = 16;

/// Makes the table no wider than `width`, where that can be: first texts are cut, then the last columns are dropped. Returns
/// how many columns are left.
fn fit(rows: &mut [Vec<String>], heading: &[&str], left: usize, width: usize) -> usize {
    let length = |text: &str| text.chars().count();
    let mut widths: Vec<usize> = heading.iter().map(|name| length(name)).collect();
    for row in rows.iter() {
        for (widest, cell) in widths.iter_mut().zip(row) {
            *widest = length(cell).max(*widest);
        }
    }
    let room = |widths: &[usize]| widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1);
    // The last column of some tables is a remark.
    let remark = widths.len().checked_sub(1).filter(|&last| heading[last].is_empty());
    let texts = (0..left.min(widths.len())).max_by_key(|&column| widths[column]);
    for column in remark.into_iter().chain(texts) {
        let over = room(&widths).saturating_sub(width);
        widths[column] = widths[column].saturating_sub(over).max(NARROW.min(widths[column]));
    }
    let mut shown = widths.len();
    // What is compared, and the figure it is compared by, always stay.
    while shown > left + 1 && room(&widths[..shown]) > width {
        shown -= 1;
    }
    // What the dropped columns took goes back to the texts.
    if let Some(column) = texts.filter(|_| shown < widths.len()) {
        widths[column] += width.saturating_sub(room(&widths[..shown]));
    }
    for row in rows.iter_mut() {
        row.truncate(shown);
        for column in remark.into_iter().chain(texts) {
            if let Some(cell) = row.get_mut(column) {
                *cell = screen::cut(cell, widths[column]);
            }
        }
    }
    shown
}

/// Lines of `name  value`.
pub(crate) fn facts<S: AsRef<str>>(rows: &[(S, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.as_ref().chars().count()).max().unwrap_or(0);
    rows.iter().map(|(name, value)| format!("{:width$}  {value}\n", name.as_ref())).collect()
}

/// 0.8612 as `86.12 %`.
pub(crate) fn percent(fraction: f64) -> String {
    format!("{:.2} %", 100.0 * fraction)
}

/// A size in the unit that reads best.
pub(crate) fn bytes(count: u64) -> String {
    match count {
        0..1_000 => format!("{count} B"),
        1_000..1_000_000 => format!("{:.1} kB", count as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", count as f64 / 1e6),
        _ => format!("{:.2} GB", count as f64 / 1e9),
    }
}

/// A count with its digits in groups of three.
pub(crate) fn count(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_line_up() {
        let text = table(&["class", "F1"], 1, [vec!["a".into(), "1".into()], vec!["long name".into(), "10".into()]]);
        assert_eq!(text, "class      F1\na           1\nlong name  10\n");
    }

    #[test]
    fn tables_fit_their_width_where_they_can() {
        let rows = || [vec!["words | tfidf(sublinear=true) | svm".into(), "86.12 %".into(), "clearly behind".into()]];
        let lines = |width| table_within(Some(width), &["recipe", "accuracy", ""], 1, rows());
        for width in [44, 50, 60] {
            let text = lines(width);
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}:\n{text}");
            assert!(text.contains('…') && text.contains("86.12 %"), "{text}");
        }
        assert!(!lines(200).contains('…'));
        // Figures are never cut.
        assert!(lines(5).contains("86.12 %"));
        assert_eq!(table_within(None, &["recipe", "accuracy", ""], 1, rows()), lines(200));
    }

    #[test]
    fn columns_without_room_are_named() {
        let row =
            vec!["words | tfidf(sublinear=true) | svm".to_string(), "86.12 %".into(), "1.25 s".into(), "3 MB".into()];
        let heading = ["recipe", "accuracy", "train", "model"];
        let text = table_within(Some(34), &heading, 1, [row.clone()]);
        assert_eq!(text.lines().last(), Some("(no room for: model)"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 34), "{text}");
        assert!(text.contains("1.25 s"), "{text}");
        // Cutting the recipe alone is enough here.
        assert!(!table_within(Some(50), &heading, 1, [row]).contains("no room"), "{text}");
    }

    #[test]
    fn messages_of_the_library_are_given_the_flag_that_helps() {
        assert_eq!(
            with_hints("no field `x`; there is `y`"),
            "no field `x`; there is `y`; name fields with --text, --label, --id"
        );
        assert_eq!(
            with_hints("`ig` needs labels; none of the 3 documents has one"),
            "`ig` needs labels; none of the 3 documents has one; name the field that holds them with --label"
        );
        let message = "needs labels; none of the rows has any, see --label";
        assert_eq!(with_hints(message), message);
        assert_eq!(with_hints("cancelled"), "cancelled");
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(count(1234567), "1\u{202f}234\u{202f}567");
        assert_eq!(bytes(2_500_000), "2.5 MB");
        assert_eq!(percent(0.86123), "86.12 %");
    }
}
