//! Columns of a Parquet file as texts, numbers, booleans, dates and lists of them.
//!
//! The decoder gives for each column its values and, where some are missing or lists, two numbers for each place: the definition
//! level says how much of the path down to the value is there, the repetition level at which depth of lists the place goes on
//! (Melnik et al., Dremel: Interactive Analysis of Web-Scale Datasets, VLDB 2010, section 4). O(values).

use std::borrow::Cow;
use std::fs::File;
use std::ops::Range;

use chrono::DateTime;
use parquet::basic::{ConvertedType, LogicalType, PageType, Repetition, TimeUnit, Type as Physical};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{ByteArray, DataType, Int96};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor, Type};
use serde_json::Value as Json;

use super::super::row::{MOST_ITEMS, Value};

const NOT_PLAIN: &str = "of a type that is not text, a number, a boolean, a date or a list of them";
const DAY: i64 = 24 * 60 * 60;

/// A column of the table, whatever the file keeps of it.
pub(super) struct Column {
    pub(super) name: String,
    /// The type as the file calls it.
    pub(super) title: String,
    /// How it is read; absent for structs, maps and types of number that have no text.
    plain: Option<Plain>,
}

struct Plain {
    /// Its number among the columns that are stored.
    leaf: usize,
    kind: Kind,
    /// Its lists, the outermost first.
    lists: Vec<List>,
    /// The definition level of a value that is there.
    defined: i16,
}

/// Definition levels of a list.
struct List {
    /// From here on it is there, if empty.
    defined: i16,
    /// From here on it has something in it.
    filled: i16,
}

/// What stored values mean.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Boolean,
    Signed,
    Unsigned,
    Number,
    /// Bytes that are text, or those of writers that do not mark their texts as such.
    Text,
    /// Days since 1970.
    Date,
    /// So many a second since 1970.
    Time(i64),
}

impl Column {
    /// The columns of a table, in order.
    pub(super) fn all(schema: &SchemaDescriptor) -> Vec<Column> {
        let column = |(root, field): (usize, &std::sync::Arc<Type>)| {
            let mut leaves = (0..schema.num_columns()).filter(|&leaf| schema.get_column_root_idx(leaf) == root);
            let plain = match (leaves.next(), leaves.next()) {
                (Some(leaf), None) => Plain::new(field, leaf, &schema.column(leaf)),
                _ => None,
            };
            Column { name: field.name().to_string(), title: title(field), plain }
        };
        schema.root_schema().get_fields().iter().enumerate().map(column).collect()
    }

    /// Whether its values can be said in JSON.
    pub(super) fn is_known(&self) -> bool {
        self.plain.is_some()
    }
}

fn title(field: &Type) -> String {
    let info = field.get_basic_info();
    match (info.logical_type_ref(), info.converted_type()) {
        (Some(logical), _) => format!("{logical:?}"),
        (None, ConvertedType::NONE) if field.is_primitive() => field.get_physical_type().to_string(),
        (None, ConvertedType::NONE) => "a struct".to_string(),
        (None, converted) => converted.to_string(),
    }
}

impl Plain {
    fn new(root: &Type, leaf: usize, about: &ColumnDescriptor) -> Option<Self> {
        let (mut lists, mut level) = (Vec::new(), 0);
        let mut pass = |node: &Type| match node.get_basic_info().repetition() {
            Repetition::REQUIRED => {}
            Repetition::OPTIONAL => level += 1,
            Repetition::REPEATED => {
                lists.push(List { defined: level, filled: level + 1 });
                level += 1;
            }
        };
        // A list is a group around a repeated one around its values; older writers leave the inner group out, or both.
        let mut node = root;
        pass(node);
        while node.is_group() {
            let info = node.get_basic_info();
            let is_list =
                info.logical_type_ref() == Some(&LogicalType::List) || info.converted_type() == ConvertedType::LIST;
            node = node.get_fields().first().filter(|_| is_list)?;
            pass(node);
            if node.is_group() {
                node = node.get_fields().first()?;
                pass(node);
            }
        }
        Some(Plain { leaf, kind: Kind::of(about)?, lists, defined: about.max_def_level() })
    }
}

impl Kind {
    fn of(about: &ColumnDescriptor) -> Option<Self> {
        let (logical, converted) = (about.logical_type_ref(), about.converted_type());
        let kind = match about.physical_type() {
            Physical::BOOLEAN => Kind::Boolean,
            Physical::FLOAT | Physical::DOUBLE => Kind::Number,
            Physical::INT96 => Kind::Time(1_000_000_000),
            Physical::BYTE_ARRAY if converted == ConvertedType::DECIMAL => return None,
            Physical::BYTE_ARRAY => Kind::Text,
            Physical::FIXED_LEN_BYTE_ARRAY => return None,
            Physical::INT32 | Physical::INT64 => match (logical, converted) {
                (Some(LogicalType::Timestamp(time)), _) => Kind::Time(match time.unit {
                    TimeUnit::MILLIS => 1_000,
                    TimeUnit::MICROS => 1_000_000,
                    TimeUnit::NANOS => 1_000_000_000,
                }),
                (_, ConvertedType::TIMESTAMP_MILLIS) => Kind::Time(1_000),
                (_, ConvertedType::TIMESTAMP_MICROS) => Kind::Time(1_000_000),
                (_, ConvertedType::DATE) => Kind::Date,
                (Some(LogicalType::Time(_) | LogicalType::Decimal(_)), _) => return None,
                (_, ConvertedType::TIME_MILLIS | ConvertedType::TIME_MICROS | ConvertedType::DECIMAL) => return None,
                (
                    _,
                    ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64,
                ) => Kind::Unsigned,
                _ => Kind::Signed,
            },
        };
        Some(kind)
    }
}

/// Rows of some columns, so many at a time.
pub(super) struct Rows<'a> {
    reader: &'a SerializedFileReader<File>,
    batches: Vec<Batch<'a>>,
    /// The next row group.
    group: usize,
    /// Rows of the group before that are still to come.
    left: usize,
}

impl<'a> Rows<'a> {
    pub(super) fn new(reader: &'a SerializedFileReader<File>, columns: Vec<&'a Column>) -> Self {
        Rows { reader, batches: columns.into_iter().map(Batch::new).collect(), group: 0, left: 0 }
    }

    /// Decodes the next rows, at most so many, and says how many there are: 0 after the last.
    pub(super) fn next(&mut self, most: usize) -> Result<usize, String> {
        while self.left == 0 {
            if self.group == self.reader.num_row_groups() {
                return Ok(0);
            }
            let group = self.reader.get_row_group(self.group).map_err(|error| error.to_string())?;
            self.group += 1;
            self.left = usize::try_from(group.metadata().num_rows()).map_err(|_| "a group has fewer than no rows")?;
            for batch in &mut self.batches {
                if let Some(plain) = &batch.column.plain {
                    let pages = group.get_column_page_reader(plain.leaf).map_err(|error| error.to_string())?;
                    let most = if plain.lists.is_empty() { usize::MAX } else { MOST_PLACES };
                    let about = group.metadata().column(plain.leaf).column_descr_ptr();
                    batch.values = Some(Values::new(get_column_reader(about, Box::new(BoundedPages { pages, most })))?);
                }
            }
        }
        let count = most.min(self.left);
        for batch in &mut self.batches {
            batch.decode(count)?;
        }
        self.left -= count;
        Ok(count)
    }

    /// The columns of the rows decoded last.
    pub(super) fn batches(&self) -> &[Batch<'a>] {
        &self.batches
    }
}

/// The most values of a page of lists. A run of places that all belong to one list takes a few bytes; without lists no more places are
/// unpacked than rows are asked for.
const MOST_PLACES: usize = 1 << 24;

/// Pages as the decoder may have them: it believes what a page says of itself, and makes room for it.
struct BoundedPages {
    pages: Box<dyn PageReader>,
    /// The most values of a page.
    most: usize,
}

impl Iterator for BoundedPages {
    type Item = Result<Page, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for BoundedPages {
    fn get_next_page(&mut self) -> Result<Option<Page>, ParquetError> {
        let Some(page) = self.pages.get_next_page()? else { return Ok(None) };
        let found = page.num_values() as usize;
        // Every value of a dictionary takes a byte and more.
        let most = if page.page_type() == PageType::DICTIONARY_PAGE { page.buffer().len() } else { self.most };
        match found > most {
            true => Err(ParquetError::General(format!("a page says that it has {found} values, more than {most}"))),
            false => Ok(Some(page)),
        }
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>, ParquetError> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<(), ParquetError> {
        self.pages.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool, ParquetError> {
        self.pages.at_record_boundary()
    }
}

/// Some rows of a column.
pub(super) struct Batch<'a> {
    pub(super) column: &'a Column,
    values: Option<Values>,
    definition: Vec<i16>,
    repetition: Vec<i16>,
    /// Where each row begins among the places, and where the last one ends.
    starts: Vec<usize>,
    /// The value of each place; where it has none, that of the next that has one.
    at: Vec<usize>,
}

impl<'a> Batch<'a> {
    fn new(column: &'a Column) -> Self {
        let (definition, repetition, starts, at) = Default::default();
        Batch { column, values: None, definition, repetition, starts, at }
    }

    fn decode(&mut self, count: usize) -> Result<(), String> {
        let (Some(plain), Some(values)) = (&self.column.plain, &mut self.values) else { return Ok(()) };
        self.definition.clear();
        self.repetition.clear();
        let (rows, places) = values.decode(count, &mut self.definition, &mut self.repetition)?;
        if rows < count {
            return Err(format!("the column `{}` ends before its group does", self.column.name));
        }
        self.starts.clear();
        if plain.lists.is_empty() {
            self.starts.extend(0..=places);
        } else {
            self.starts.extend((0..places).filter(|&place| self.repetition[place] == 0));
            self.starts.push(places);
        }
        if self.starts.len() != count + 1 || self.starts[0] != 0 {
            return Err(format!("the column `{}` has other rows than its group", self.column.name));
        }
        self.at.clear();
        let mut before = 0;
        for place in 0..places {
            self.at.push(before);
            before += usize::from(self.definition.get(place).is_none_or(|&level| level == plain.defined));
        }
        Ok(())
    }

    /// The field of a document.
    pub(super) fn value(&self, row: usize) -> Value<'_> {
        let (Some(plain), Some(values)) = (&self.column.plain, &self.values) else { return Value::Other(NOT_PLAIN) };
        let places = self.starts[row]..self.starts[row + 1];
        let level = self.level(plain, places.start);
        let one = |place: usize| match self.level(plain, place) == plain.defined {
            true => values.text(self.at[place], plain.kind),
            false => Value::Null,
        };
        match &plain.lists[..] {
            [] => one(places.start),
            [list, ..] if level < list.defined => Value::Null,
            [list, ..] if level < list.filled => Value::List(Vec::new()),
            [_] if places.len() > MOST_ITEMS => Value::Other("a list of more than a million values"),
            [_] => {
                let texts = places.map(|place| match one(place) {
                    Value::Text(text) => Some(text),
                    _ => None,
                });
                let texts = texts.collect::<Option<_>>();
                texts.map_or(Value::Other("a list with more than plain values in it"), Value::List)
            }
            _ => Value::Other("a list with more than plain values in it"),
        }
    }

    /// The field as it is given back.
    pub(super) fn json(&self, row: usize) -> Json {
        match (&self.column.plain, &self.values) {
            (Some(plain), Some(values)) => self.nested(plain, values, self.starts[row]..self.starts[row + 1], 0),
            _ => Json::Null,
        }
    }

    /// The places of a list at a depth, or of a value.
    fn nested(&self, plain: &Plain, values: &Values, places: Range<usize>, depth: usize) -> Json {
        let level = self.level(plain, places.start);
        let Some(list) = plain.lists.get(depth) else {
            return if level < plain.defined { Json::Null } else { values.json(self.at[places.start], plain.kind) };
        };
        if level < list.defined {
            return Json::Null;
        }
        if level < list.filled {
            return Json::Array(Vec::new());
        }
        let mut items = Vec::new();
        let mut from = places.start;
        for place in places.start + 1..=places.end {
            if place == places.end || self.repetition[place] as usize <= depth + 1 {
                items.push(self.nested(plain, values, from..place, depth + 1));
                from = place;
            }
        }
        Json::Array(items)
    }

    /// Columns without a missing value have no levels.
    fn level(&self, plain: &Plain, place: usize) -> i16 {
        self.definition.get(place).copied().unwrap_or(plain.defined)
    }
}

/// The decoder of a column of some type, and the values that it gave last.
struct Stored<T: DataType> {
    reader: ColumnReaderImpl<T>,
    values: Vec<T::T>,
}

impl<T: DataType> Stored<T> {
    fn new(reader: ColumnReaderImpl<T>) -> Self {
        Stored { reader, values: Vec::new() }
    }

    fn decode(
        &mut self,
        count: usize,
        definition: &mut Vec<i16>,
        repetition: &mut Vec<i16>,
    ) -> parquet::errors::Result<(usize, usize)> {
        self.values.clear();
        let (rows, _, places) =
            self.reader.read_records(count, Some(definition), Some(repetition), &mut self.values)?;
        Ok((rows, places))
    }
}

enum Values {
    Boolean(Stored<parquet::data_type::BoolType>),
    Int(Stored<parquet::data_type::Int32Type>),
    Long(Stored<parquet::data_type::Int64Type>),
    Nanoseconds(Stored<parquet::data_type::Int96Type>),
    Float(Stored<parquet::data_type::FloatType>),
    Double(Stored<parquet::data_type::DoubleType>),
    Bytes(Stored<parquet::data_type::ByteArrayType>),
}

impl Values {
    fn new(reader: ColumnReader) -> Result<Self, String> {
        Ok(match reader {
            ColumnReader::BoolColumnReader(reader) => Values::Boolean(Stored::new(reader)),
            ColumnReader::Int32ColumnReader(reader) => Values::Int(Stored::new(reader)),
            ColumnReader::Int64ColumnReader(reader) => Values::Long(Stored::new(reader)),
            ColumnReader::Int96ColumnReader(reader) => Values::Nanoseconds(Stored::new(reader)),
            ColumnReader::FloatColumnReader(reader) => Values::Float(Stored::new(reader)),
            ColumnReader::DoubleColumnReader(reader) => Values::Double(Stored::new(reader)),
            ColumnReader::ByteArrayColumnReader(reader) => Values::Bytes(Stored::new(reader)),
            ColumnReader::FixedLenByteArrayColumnReader(_) => {
                return Err("a group has other types than the file".into());
            }
        })
    }

    fn decode(
        &mut self,
        count: usize,
        definition: &mut Vec<i16>,
        repetition: &mut Vec<i16>,
    ) -> Result<(usize, usize), String> {
        let decoded = match self {
            Values::Boolean(stored) => stored.decode(count, definition, repetition),
            Values::Int(stored) => stored.decode(count, definition, repetition),
            Values::Long(stored) => stored.decode(count, definition, repetition),
            Values::Nanoseconds(stored) => stored.decode(count, definition, repetition),
            Values::Float(stored) => stored.decode(count, definition, repetition),
            Values::Double(stored) => stored.decode(count, definition, repetition),
            Values::Bytes(stored) => stored.decode(count, definition, repetition),
        };
        decoded.map_err(|error| error.to_string())
    }

    /// A value as text.
    fn text(&self, at: usize, kind: Kind) -> Value<'_> {
        let text = match self {
            Values::Boolean(stored) => return Value::from(if stored.values[at] { "true" } else { "false" }),
            Values::Bytes(stored) => return text(&stored.values[at]),
            Values::Float(stored) => format!("{:?}", stored.values[at]),
            Values::Double(stored) => format!("{:?}", stored.values[at]),
            Values::Int(stored) => match kind {
                Kind::Unsigned => (stored.values[at] as u32).to_string(),
                kind => whole_number(i64::from(stored.values[at]), kind),
            },
            Values::Long(stored) => match kind {
                Kind::Unsigned => (stored.values[at] as u64).to_string(),
                kind => whole_number(stored.values[at], kind),
            },
            Values::Nanoseconds(stored) => nanoseconds(&stored.values[at]),
        };
        Value::Text(Cow::Owned(text))
    }

    /// A value as JSON has it.
    fn json(&self, at: usize, kind: Kind) -> Json {
        if let Values::Boolean(stored) = self {
            return stored.values[at].into();
        }
        match (self.text(at, kind), kind) {
            (Value::Text(text), Kind::Signed | Kind::Unsigned) => serde_json::from_str(&text).unwrap_or_default(),
            // A float of four bytes in the fewest digits that tell it, as a reader of the file would write it.
            (Value::Text(text), Kind::Number) => text.parse::<f64>().map_or(Json::Null, Json::from),
            (Value::Text(text), _) => text.into_owned().into(),
            _ => Json::Null,
        }
    }
}

fn text(bytes: &ByteArray) -> Value<'_> {
    std::str::from_utf8(bytes.data()).map_or(Value::Other("bytes that are not UTF-8"), Value::from)
}

fn whole_number(number: i64, kind: Kind) -> String {
    let time = match kind {
        Kind::Date => DateTime::from_timestamp(number.saturating_mul(DAY), 0),
        Kind::Time(a_second) => {
            let rest = number.rem_euclid(a_second) * (1_000_000_000 / a_second);
            DateTime::from_timestamp(number.div_euclid(a_second), rest as u32)
        }
        _ => None,
    };
    match time.map(|time| time.naive_utc()) {
        Some(time) if kind == Kind::Date => time.date().to_string(),
        Some(time) => time.to_string(),
        // A number, or a time that the calendar does not reach.
        None => number.to_string(),
    }
}

/// Days of the Julian calendar and nanoseconds of the day, as Impala and old versions of Spark write times.
fn nanoseconds(time: &Int96) -> String {
    let nanoseconds = u64::from(time.data()[1]) << 32 | u64::from(time.data()[0]);
    let time = DateTime::from_timestamp(time.to_seconds(), (nanoseconds % 1_000_000_000) as u32);
    time.unwrap_or_default().naive_utc().to_string()
}
