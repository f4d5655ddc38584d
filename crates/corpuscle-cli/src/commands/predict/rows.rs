//! Rows of named values, written as CSV, TSV, JSON Lines, fastText lines or Parquet.

use std::io::{self, BufWriter, Write};

use corpuscle::Run;
use corpuscle::corpus::Document;
use corpuscle::recipe::Model;
use serde_json::{Map, Value};

use super::table;
use crate::args::{Predict, RowFormat};

/// What the predicted columns are called: names that the data do not have.
pub(super) struct Names {
    pub(super) label: String,
    pub(super) probability: Option<String>,
    pub(super) top: Option<String>,
    pub(super) abstained: Option<String>,
    pub(super) novelty: Option<String>,
}

impl Names {
    /// Says so where a name is not the usual one. `batch` is the first documents.
    pub(super) fn beside(batch: &[Document], model: &Model, args: &Predict, run: &Run) -> Self {
        let taken =
            |name: &str| batch.iter().any(|document| document.row.as_ref().is_some_and(|r| r.contains_key(name)));
        let free = |usual: &str, other: &str| {
            let numbered = (2..).map(|n| format!("{other}_{n}"));
            let mut names = [usual.to_string(), other.to_string()].into_iter().chain(numbered);
            let name = names.find(|name| !taken(name)).unwrap_or_default();
            if name != usual {
                run.warn(&format!("the data have a column `{usual}` of their own; what is predicted is in `{name}`"));
            }
            name
        };
        Names {
            label: free(if model.is_multi_label() { "labels" } else { "label" }, "predicted"),
            probability: (args.proba && args.top.is_none()).then(|| free("probability", "predicted_probability")),
            top: args.top.map(|_| free("top", "predicted_top")),
            abstained: args.abstain.map(|_| free("abstained", "predicted_abstained")),
            novelty: args.novelty.then(|| free("novelty", "predicted_novelty")),
        }
    }

    /// All columns of the first documents, in order.
    pub(super) fn columns(&self, batch: &[Document], keep: bool) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        if !keep {
            names.push("id".to_string());
        }
        for name in batch.iter().filter_map(|document| document.row.as_ref()).flat_map(Map::keys) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names.push(self.label.clone());
        names.extend([&self.probability, &self.top, &self.abstained, &self.novelty].into_iter().flatten().cloned());
        names
    }
}

/// Rows on their way to a file or standard output.
pub(super) enum Rows {
    Delimited {
        to: BufWriter<Box<dyn Write + Send>>,
        delimiter: char,
        columns: Vec<String>,
    },
    Lines(BufWriter<Box<dyn Write + Send>>),
    FastText {
        to: BufWriter<Box<dyn Write + Send>>,
        label: String,
    },
    /// All rows: the type of a column is that of all its values.
    Parquet {
        to: Box<dyn Write + Send>,
        columns: Vec<String>,
        rows: Vec<Map<String, Value>>,
    },
}

impl Rows {
    pub(super) fn open(
        format: RowFormat,
        columns: Vec<String>,
        label: &str,
        to: Box<dyn Write + Send>,
    ) -> io::Result<Self> {
        if format == RowFormat::Parquet {
            return Ok(Rows::Parquet { to, columns, rows: Vec::new() });
        }
        let mut to = BufWriter::with_capacity(1 << 16, to);
        Ok(match format {
            RowFormat::Jsonl => Rows::Lines(to),
            RowFormat::Fasttext => Rows::FastText { to, label: label.to_string() },
            _ => {
                let delimiter = if format == RowFormat::Csv { ',' } else { '\t' };
                write_cells(&mut to, delimiter, columns.iter().map(String::as_str))?;
                Rows::Delimited { to, delimiter, columns }
            }
        })
    }

    pub(super) fn write(&mut self, row: Map<String, Value>) -> anyhow::Result<()> {
        match self {
            Rows::Lines(to) => {
                serde_json::to_writer(&mut *to, &row).map_err(io::Error::from)?;
                writeln!(to)?;
            }
            Rows::FastText { to, label } => {
                let labels = labels_of(row.get(label.as_str()));
                writeln!(to, "{}", labels.join(" "))?;
            }
            Rows::Delimited { to, delimiter, columns } => {
                if let Some(other) = row.keys().find(|name| !columns.contains(name)) {
                    anyhow::bail!(
                        "a row has a field `{other}`, which none of the first rows had, so it has no column; write --format jsonl"
                    );
                }
                let cells: Vec<String> =
                    columns.iter().map(|name| row.get(name).map(cell).unwrap_or_default()).collect();
                write_cells(to, *delimiter, cells.iter().map(String::as_str))?;
            }
            Rows::Parquet { columns, rows, .. } => {
                let new: Vec<String> = row.keys().filter(|name| !columns.contains(name)).cloned().collect();
                columns.extend(new);
                rows.push(row);
            }
        }
        Ok(())
    }

    pub(super) fn finish(self) -> anyhow::Result<()> {
        match self {
            Rows::Lines(mut to) | Rows::FastText { mut to, .. } | Rows::Delimited { mut to, .. } => Ok(to.flush()?),
            Rows::Parquet { to, columns, rows } => table::write(to, &columns, &rows),
        }
    }
}

fn labels_of(value: Option<&Value>) -> Vec<String> {
    let name = |value: &Value| value.as_str().map(|name| format!("__label__{}", name.replace(' ', "_")));
    match value {
        Some(Value::Array(list)) => list.iter().filter_map(name).collect(),
        Some(value) => name(value).into_iter().collect(),
        None => Vec::new(),
    }
}

/// A value in a cell: lists of texts with a bar between them, other lists and objects as JSON.
pub(super) fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(list) if list.iter().all(Value::is_string) => {
            list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("|")
        }
        other => other.to_string(),
    }
}

fn write_cells<'a>(to: &mut impl Write, delimiter: char, cells: impl Iterator<Item = &'a str>) -> io::Result<()> {
    let cells: Vec<String> = cells.map(|cell| quoted(cell, delimiter)).collect();
    writeln!(to, "{}", cells.join(&delimiter.to_string()))
}

/// A cell in quotes when it needs them.
fn quoted(cell: &str, delimiter: char) -> String {
    if cell.contains([delimiter, '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_fit_cells() {
        for (value, text) in [
            (json!(null), ""),
            (json!("a b"), "a b"),
            (json!(1.5), "1.5"),
            (json!(["a", "b"]), "a|b"),
            (json!([1, 2]), "[1,2]"),
            (json!({"a": null}), r#"{"a":null}"#),
        ] {
            assert_eq!(cell(&value), text);
        }
        assert_eq!(quoted("a,\"b\"", ','), r#""a,""b""""#);
        assert_eq!(quoted("a,b", '\t'), "a,b");
    }
}
