//! From the reading flags to documents.

use std::path::Path;

use corpuscle::Run;
use corpuscle::corpus::{Document, Documents, Filter, Format, Numbers, ReadOptions, read};

use crate::args::{InputFormat, Reading};
use crate::output::WrongCall;

/// The reading flags, checked.
pub(crate) fn options(reading: &Reading) -> anyhow::Result<ReadOptions> {
    let filters = reading.filters.iter().map(|text| text.parse::<Filter>()).collect::<Result<Vec<_>, _>>()?;
    let options = ReadOptions {
        text: reading.text.clone().unwrap_or(ReadOptions::default().text),
        label: reading.label.clone(),
        id: reading.id.clone(),
        weight: reading.weight.clone(),
        filters,
        format: reading.input_format.map(|format| match format {
            InputFormat::Jsonl => Format::JsonLines,
            InputFormat::Csv => Format::Csv,
            InputFormat::Tsv => Format::Tsv,
            InputFormat::Fasttext => Format::FastText,
            InputFormat::Folders => Format::Folders,
            InputFormat::Reuters => Format::ReutersSgml,
            InputFormat::Parquet => Format::Parquet,
            InputFormat::Excel => Format::Excel,
            InputFormat::Lines => Format::Lines,
        }),
        encoding: reading.encoding.as_deref().map(str::parse).transpose()?,
        quoting: !reading.no_quotes,
        max_line: reading.max_line as usize * (1 << 20),
        label_separator: reading.label_separator,
        skip_bad: reading.skip_bad,
        sheet: reading.sheet.clone(),
        find_text: reading.text.is_none(),
        ..ReadOptions::default()
    };
    options.check()?;
    Ok(options)
}

/// The same for commands that learn from labels or measure by them.
pub(crate) fn labelled_options(reading: &Reading) -> anyhow::Result<ReadOptions> {
    Ok(ReadOptions { find_label: reading.label.is_none(), ..options(reading)? })
}

/// The same with the fields of numbers that recipes or a model read.
pub(crate) fn with_numbers(options: ReadOptions, fields: impl IntoIterator<Item = Numbers>) -> ReadOptions {
    let mut numbers: Vec<Numbers> = Vec::new();
    for field in fields {
        if !numbers.contains(&field) {
            numbers.push(field);
        }
    }
    ReadOptions { numbers, ..options }
}

/// The same without labels and without filters, which are about the labelled data.
pub(crate) fn without_labels(options: &ReadOptions) -> ReadOptions {
    // An empty name is no field at all.
    ReadOptions { label: Some(String::new()), find_label: false, filters: Vec::new(), ..options.clone() }
}

/// Opens the data, stores of labels among them.
pub(crate) fn open(data: &[String], options: &ReadOptions) -> anyhow::Result<Documents> {
    if !data.iter().any(corpuscle_server::label::is_store) {
        return Ok(read(data, options)?);
    }
    let mut all: Vec<Document> = Vec::new();
    for path in data {
        if corpuscle_server::label::is_store(path) {
            let mut documents = corpuscle_server::label::read_documents(path)?;
            // No field at all means that labels are not wanted.
            if options.label.as_deref() == Some("") {
                documents.iter_mut().for_each(|document| document.labels = None);
            }
            all.append(&mut documents);
        } else {
            for document in &mut read(std::slice::from_ref(path), options)? {
                all.push(document?);
            }
        }
    }
    Ok(all.into())
}

/// Says what was taken for granted, warns of rows that were left out, and says how many.
pub(crate) fn report_skipped(documents: &Documents, run: &Run) -> u64 {
    for note in documents.notes() {
        run.warn(&note);
    }
    let skipped = documents.skipped();
    if skipped.count > 0 {
        run.warn(&format!(
            "{} rows could not be read and were left out: {}",
            skipped.count,
            skipped.reasons.join("; ")
        ));
    }
    skipped.count
}

/// The names of data files without their folders, for a model's provenance.
pub(crate) fn names<'a>(data: impl Iterator<Item = &'a String>) -> Vec<String> {
    data.map(|path| {
        Path::new(path).file_name().map_or_else(|| path.clone(), |name| name.to_string_lossy().into_owned())
    })
    .collect()
}

/// Fails before the work starts when the output could not be written after it.
pub(crate) fn check_writable(path: &Path) -> anyhow::Result<()> {
    if path.is_dir() {
        return Err(WrongCall(format!("{} is a folder; name a file to write to", path.display())).into());
    }
    Ok(corpuscle::file::check_writable(path)?)
}
