//! Columns to a Parquet file, by the crate's own column writers and not over Arrow, whose crates would take a tenth of the build.
//!
//! Every value may be missing, also a list; what is in a list may not.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};

/// Values of a column, those that are there.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Values {
    Texts(Vec<ByteArray>),
    Whole(Vec<i64>),
    Numbers(Vec<f64>),
    Flags(Vec<bool>),
    /// Numbers of four bytes.
    Floats(Vec<f32>),
    /// Whole numbers from 0 on, of four bytes.
    Indices(Vec<u32>),
}

/// Some rows of a column.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    name: String,
    pub(crate) values: Values,
    pub(crate) is_list: bool,
    /// For each place how much of it is there: 0 nothing, 1 a value or an empty list, 2 a value of a list.
    definition: Vec<i16>,
    /// For each place of lists whether the list goes on (1) or begins (0).
    repetition: Vec<i16>,
}

impl Column {
    /// Single values: which rows have one, and these.
    pub(crate) fn new(name: &str, there: impl Iterator<Item = bool>, values: Values) -> Self {
        let definition = there.map(i16::from).collect();
        Column { name: name.to_string(), values, is_list: false, definition, repetition: Vec::new() }
    }

    /// Lists: how long that of each row is, where it has one, and all their values.
    pub(crate) fn of_lists(name: &str, lengths: impl Iterator<Item = Option<usize>>, values: Values) -> Self {
        let (mut definition, mut repetition) = (Vec::new(), Vec::new());
        for length in lengths {
            repetition.push(0);
            match length {
                Some(length @ 1..) => {
                    definition.resize(definition.len() + length, 2);
                    repetition.resize(definition.len(), 1);
                }
                none => definition.push(none.is_some().into()),
            }
        }
        Column { name: name.to_string(), values, is_list: true, definition, repetition }
    }

    /// Its type: a value that may be missing, or `optional group NAME (LIST) { repeated group list { required … element } }`.
    fn schema(&self) -> Result<TypePtr> {
        let (physical, logical) = match self.values {
            Values::Texts(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Values::Whole(_) => (Physical::INT64, None),
            Values::Numbers(_) => (Physical::DOUBLE, None),
            Values::Flags(_) => (Physical::BOOLEAN, None),
            Values::Floats(_) => (Physical::FLOAT, None),
            Values::Indices(_) => (Physical::INT32, Some(LogicalType::integer(32, false))),
        };
        let value = |name: &str, repetition: Repetition| {
            let value = Type::primitive_type_builder(name, physical).with_repetition(repetition);
            value.with_logical_type(logical.clone()).build().map(Arc::new)
        };
        if !self.is_list {
            return value(&self.name, Repetition::OPTIONAL);
        }
        let repeated = Type::group_type_builder("list")
            .with_repetition(Repetition::REPEATED)
            .with_fields(vec![value("element", Repetition::REQUIRED)?])
            .build()?;
        let list = Type::group_type_builder(&self.name)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(Some(LogicalType::List))
            .with_fields(vec![Arc::new(repeated)]);
        list.build().map(Arc::new)
    }

    fn write(&self, writer: &mut SerializedColumnWriter<'_>) -> Result<usize> {
        match &self.values {
            Values::Texts(values) => self.write_as::<ByteArrayType>(values, writer),
            Values::Whole(values) => self.write_as::<Int64Type>(values, writer),
            Values::Numbers(values) => self.write_as::<DoubleType>(values, writer),
            Values::Flags(values) => self.write_as::<BoolType>(values, writer),
            Values::Floats(values) => self.write_as::<FloatType>(values, writer),
            Values::Indices(values) => {
                // The format keeps the bits of an unsigned number in a signed one.
                let signed: Vec<i32> = values.iter().map(|&value| value.cast_signed()).collect();
                self.write_as::<Int32Type>(&signed, writer)
            }
        }
    }

    fn write_as<T: DataType>(&self, values: &[T::T], writer: &mut SerializedColumnWriter<'_>) -> Result<usize> {
        let repetition = self.is_list.then_some(&self.repetition[..]);
        writer.typed::<T>().write_batch(values, Some(&self.definition), repetition)
    }
}

/// A file that is being written, a group of rows at a time.
pub(crate) struct ParquetFile<W: Write + Send>(SerializedFileWriter<W>);

impl<W: Write + Send> ParquetFile<W> {
    /// For columns of these names and types.
    pub(crate) fn new(to: W, columns: &[Column]) -> anyhow::Result<Self> {
        let fields = columns.iter().map(Column::schema).collect::<Result<_>>()?;
        let schema = Type::group_type_builder("table").with_fields(fields).build()?;
        let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
        Ok(ParquetFile(SerializedFileWriter::new(to, Arc::new(schema), Arc::new(properties))?))
    }

    /// Writes a group of rows; readers unpack a group at a time, so it should be neither small nor larger than memory.
    pub(crate) fn write(&mut self, columns: &[Column]) -> anyhow::Result<()> {
        let mut group = self.0.next_row_group()?;
        for column in columns {
            if let Some(mut writer) = group.next_column()? {
                column.write(&mut writer)?;
                writer.close()?;
            }
        }
        group.close()?;
        Ok(())
    }

    /// Completes the file.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        self.0.close()?;
        Ok(())
    }
}
