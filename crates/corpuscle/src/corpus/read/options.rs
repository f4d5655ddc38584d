//! What to read and how: formats, field names and filters.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::encoding::Encoding;
use crate::{Error, Result};

/// How documents are laid out in a file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// One JSON object per line, or an array of objects.
    #[serde(rename = "jsonl")]
    JsonLines,
    /// Columns under a header line, between commas, semicolons, tabs or upright bars, whichever the header has.
    Csv,
    /// Tab-separated columns under a header line.
    Tsv,
    /// A document per line, its labels in front as `__label__NAME` words.
    FastText,
    /// A folder per class, a file per document.
    Folders,
    /// The SGML of Reuters-21578.
    #[serde(rename = "reuters")]
    ReutersSgml,
    /// Parquet columns.
    Parquet,
    /// A sheet of a workbook, columns under a header row.
    Excel,
    /// Plain text, a document per line.
    Lines,
}

impl Format {
    /// Every format, in the order of the documentation.
    pub const ALL: [Format; 9] = [
        Format::JsonLines,
        Format::Csv,
        Format::Tsv,
        Format::FastText,
        Format::Folders,
        Format::ReutersSgml,
        Format::Parquet,
        Format::Excel,
        Format::Lines,
    ];

    /// The name by which it is asked for.
    pub fn name(self) -> &'static str {
        match self {
            Format::JsonLines => "jsonl",
            Format::Csv => "csv",
            Format::Tsv => "tsv",
            Format::FastText => "fasttext",
            Format::Folders => "folders",
            Format::ReutersSgml => "reuters",
            Format::Parquet => "parquet",
            Format::Excel => "excel",
            Format::Lines => "lines",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Format::ALL.into_iter().find(|format| format.name() == name).ok_or_else(|| {
            let names: Vec<_> = Format::ALL.iter().map(|format| format.name()).collect();
            Error::parameter("read", "format", name, format!("must be one of {}", names.join(", ")))
        })
    }
}

/// Keeps the rows whose field has (or has not) a value. Written `FIELD=VALUE` or `FIELD!=VALUE`.
///
/// Numbers and booleans are compared by their text; a list has the value when one of its elements has; a field that is
/// missing, null or an empty list counts as the empty text.
///
/// ```
/// use corpuscle::corpus::Filter;
/// let filter: Filter = "split!=test".parse()?;
/// assert_eq!((filter.field.as_str(), filter.value.as_str(), filter.equal), ("split", "test", false));
/// # Ok::<(), corpuscle::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    /// The field to look at.
    pub field: String,
    /// The value it is compared with.
    pub value: String,
    /// Whether rows that have the value are kept, rather than those that have it not.
    pub equal: bool,
}

impl FromStr for Filter {
    type Err = Error;

    fn from_str(written: &str) -> Result<Self> {
        let (field, value) = written.split_once('=').unwrap_or_default();
        let (field, equal) = field.strip_suffix('!').map_or((field, true), |field| (field, false));
        if field.is_empty() {
            return Err(Error::parameter("read", "where", written, "must be FIELD=VALUE or FIELD!=VALUE"));
        }
        Ok(Filter { field: field.to_string(), value: value.to_string(), equal })
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.field, if self.equal { "=" } else { "!=" }, self.value)
    }
}

/// A field that holds a number or a list of numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Numbers {
    /// The field.
    pub field: String,
    /// How many numbers every row must have; `None`: as many as the first.
    pub width: Option<usize>,
}

/// Which fields to read and what to do with rows that are no good. A field name that is empty means no field.
///
/// ```
/// use corpuscle::corpus::ReadOptions;
/// let options = ReadOptions { text: "title+body".into(), filters: vec!["split=train".parse()?], ..Default::default() };
/// options.check()?;
/// # Ok::<(), corpuscle::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReadOptions {
    /// The field with the text; several, joined with `+`, are put together with a line break between them.
    pub text: String,
    /// The field with the label or labels; `None`: `label`, or else `labels`. When it is named, some row must have it.
    pub label: Option<String>,
    /// The field with the id; `None`: `id` where there is one. When it is named, every row must have it.
    pub id: Option<String>,
    /// The field with the weight; `None`: `weight` where there is one. When it is named, some row must have it.
    pub weight: Option<String>,
    /// Rows must pass all of them.
    pub filters: Vec<Filter>,
    /// The format; `None`: found out from name and content.
    pub format: Option<Format>,
    /// The encoding of the data; `None`: UTF-8, or UTF-16 where a mark at the beginning says so.
    pub encoding: Option<Encoding>,
    /// Counts bad rows and goes on, instead of stopping at the first.
    pub skip_bad: bool,
    /// The longest line (or file of a class folder, or SGML element), in bytes.
    pub max_line: usize,
    /// Cuts a label that is one text into several at this character.
    pub label_separator: Option<char>,
    /// Whether `"` encloses CSV and TSV fields; off, it is a character like any other.
    pub quoting: bool,
    /// The sheet of a workbook; `None`: the first.
    pub sheet: Option<String>,
    /// Fields of numbers to read into [`crate::corpus::Document::numbers`]; every row must have them.
    pub numbers: Vec<Numbers>,
    /// Keeps the whole row of every document, in [`crate::corpus::Document::row`].
    pub keep: bool,
    /// Where the first rows have no field `text`, takes the one field that can be it, if there is just one.
    pub find_text: bool,
    /// Where the first rows have no field `label` or `labels`, takes the one field that can be it, if there is just one.
    pub find_label: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions {
            text: "text".to_string(),
            label: None,
            id: None,
            weight: None,
            filters: Vec::new(),
            format: None,
            encoding: None,
            skip_bad: false,
            max_line: 64 << 20,
            label_separator: None,
            quoting: true,
            sheet: None,
            numbers: Vec::new(),
            keep: false,
            find_text: false,
            find_label: false,
        }
    }
}

impl ReadOptions {
    /// Names the first value that is out of range.
    pub fn check(&self) -> Result<()> {
        if self.text.split('+').any(str::is_empty) {
            return Err(Error::parameter("read", "text", format!("`{}`", self.text), "must be FIELD or FIELD+FIELD"));
        }
        if self.max_line == 0 || self.max_line as u64 > 1 << 40 {
            return Err(Error::parameter("read", "max_line", self.max_line, "must be between 1 byte and 1 TiB"));
        }
        if let Some(filter) = self.filters.iter().find(|filter| filter.field.is_empty()) {
            return Err(Error::parameter("read", "where", filter, "must name a field"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_written_with_an_equals_sign() {
        let filter: Filter = "a=b=c".parse().unwrap();
        assert_eq!((filter.field.as_str(), filter.value.as_str(), filter.equal), ("a", "b=c", true));
        assert_eq!("x!=".parse::<Filter>().unwrap().to_string(), "x!=");
        for bad in ["", "a", "=b", "!=b"] {
            assert!(bad.parse::<Filter>().unwrap_err().is_usage(), "{bad}");
        }
    }

    #[test]
    fn formats_go_by_their_names() {
        for format in Format::ALL {
            assert_eq!(format.name().parse::<Format>().unwrap(), format);
            assert_eq!(serde_json::to_string(&format).unwrap(), format!("\"{format}\""));
        }
        assert!("xml".parse::<Format>().unwrap_err().to_string().contains("jsonl, csv"));
    }

    #[test]
    fn options_out_of_range_are_refused() {
        assert!(ReadOptions::default().check().is_ok());
        for text in ["", "a++b", "+a"] {
            assert!(ReadOptions { text: text.into(), ..Default::default() }.check().is_err());
        }
        assert!(ReadOptions { max_line: 0, ..Default::default() }.check().is_err());
    }
}
