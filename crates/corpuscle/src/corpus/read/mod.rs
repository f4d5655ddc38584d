//! Reading documents: from paths to a stream of [`Document`]s.
//!
//! A thread opens the sources one after the other, finds out compression and format, and parses; where the data are
//! compressed, a second thread decompresses ahead of it. Documents come over in batches through a short queue, so that
//! reading goes on while the caller works, and no more than a few megabytes are ever held, whatever the size of the
//! data (a single line may be as long as [`ReadOptions::max_line`]).
//!
//! Every format fills the same few slots (`row`), and what is done with them is written once; a format is a loop that
//! hands rows to the `sink`. The rules are in the documentation of [`crate::corpus`].

mod array;
mod delimited;
mod encoding;
#[cfg(feature = "excel")]
mod excel;
mod fasttext;
mod folders;
mod guess;
pub(crate) mod input;
mod jsonl;
#[cfg(feature = "excel")]
mod legacy;
mod lines;
mod options;
#[cfg(feature = "parquet")]
mod parquet;
mod plain;
mod row;
mod sgml;
mod sink;
mod source;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex};

pub use self::encoding::Encoding;
use self::input::Input;
pub use self::options::{Filter, Format, Numbers, ReadOptions};
pub use self::sink::Skipped;
use self::sink::{Findings, Flow, Halt, Message, Sink};
use self::source::{Source, detect, expand, is_workbook};
use super::Document;
use crate::{Error, Result};

/// Batches that may wait for the caller.
const WAITING: usize = 4;

/// Opens the given files, folders, globs or `-` and streams their documents, in order.
///
/// Paths that are not there are told at once; everything else when the stream comes to it. Reading goes on in threads of
/// its own, a few batches ahead of the caller, and ends when the stream is dropped.
pub fn read<P: AsRef<Path>>(paths: &[P], options: &ReadOptions) -> Result<Documents> {
    options.check()?;
    let sources = expand(paths, options)?;
    let (sender, receiver) = sync_channel(WAITING);
    let stop = Arc::new(AtomicBool::new(false));
    let findings = Arc::new(Mutex::new(Findings::default()));
    let mut sink = Sink::new(options.clone(), sender, Arc::clone(&stop), Arc::clone(&findings));
    std::thread::Builder::new()
        .name("corpuscle-read".to_string())
        .spawn(move || {
            // The Parquet decoder panics on some damaged files; here they are errors like any other.
            match catch_unwind(AssertUnwindSafe(|| read_sources(&sources, &mut sink))) {
                Ok(Ok(()) | Err(Halt::Stopped)) => {}
                Ok(Err(Halt::Failed(error))) => sink.fail(error),
                Err(_) => sink.fail(sink.error(None, "the decoder broke down; is the file damaged?".to_string())),
            }
        })
        .map_err(|error| Error::data(format!("cannot start a thread to read with: {error}")))?;
    Ok(Documents { receiver: Some(receiver), batch: Vec::new().into_iter(), failed: None, findings, stop })
}

/// [`read()`], gathered into a list.
pub fn read_all<P: AsRef<Path>>(paths: &[P], options: &ReadOptions) -> Result<Vec<Document>> {
    read(paths, options)?.collect()
}

fn read_sources(sources: &[Source], sink: &mut Sink) -> Flow {
    for source in sources {
        let name = source.name();
        sink.begin(&name);
        read_source(source, &name, sink)?;
        sink.end(&name)?;
    }
    sink.finish()
}

fn read_source(source: &Source, name: &str, sink: &mut Sink) -> Flow {
    if is_workbook(source, &sink.options) {
        sink.is_of(Format::Excel);
        return read_excel(source, sink);
    }
    let input = match source {
        Source::Folders(folder) => {
            sink.is_of(Format::Folders);
            return folders::read(folder, sink);
        }
        Source::Stdin => Input::stdin()?,
        Source::File(path) => Input::open(path, true)?,
    };
    if input.head().is_empty() {
        return Ok(());
    }
    let input = input.in_utf8(sink.options.encoding, name)?;
    let format = detect(source, input.head(), &sink.options)?;
    sink.is_of(format);
    match format {
        Format::JsonLines => jsonl::read(input, name, sink),
        format @ (Format::Csv | Format::Tsv) => delimited::read(input, name, format, sink),
        Format::FastText => fasttext::read(input, name, sink),
        Format::ReutersSgml => sgml::read(input, name, sink),
        Format::Parquet => read_parquet(source, input.compressed, sink),
        Format::Lines => plain::read(input, name, sink),
        Format::Excel => read_excel(source, sink),
        Format::Folders => Err(sink
            .error(None, "is not a folder; a folder that holds a folder per class is wanted".to_string())
            .into()),
    }
}

#[cfg(feature = "excel")]
fn read_excel(source: &Source, sink: &mut Sink) -> Flow {
    match source {
        Source::Folders(_) => Err(sink.error(None, "is a folder; name a workbook".to_string()).into()),
        Source::Stdin => excel::read(None, sink),
        Source::File(path) => excel::read(Some(path), sink),
    }
}

#[cfg(not(feature = "excel"))]
fn read_excel(_source: &Source, sink: &mut Sink) -> Flow {
    let reason = "is a workbook, which this build cannot read; build it with the feature `excel`";
    Err(sink.error(None, reason.to_string()).into())
}

/// Parquet has its directory at the end, so the file must be at hand as it is.
fn read_parquet(source: &Source, compressed: bool, sink: &mut Sink) -> Flow {
    match source {
        #[cfg(feature = "parquet")]
        Source::File(path) if !compressed => parquet::read(path, sink),
        #[cfg(not(feature = "parquet"))]
        _ if !compressed => {
            let reason = "is Parquet, which this build cannot read; build it with the feature `parquet`";
            Err(sink.error(None, reason.to_string()).into())
        }
        _ => {
            let reason = "is Parquet, which can be read from an uncompressed file only, not from a pipe or an archive";
            Err(sink.error(None, reason.to_string()).into())
        }
    }
}

/// Documents as they are read. After an error, or at the end, there are no more.
#[derive(Debug)]
pub struct Documents {
    receiver: Option<Receiver<Message>>,
    batch: std::vec::IntoIter<Document>,
    /// An error that waits for the batch before it to be used.
    failed: Option<Error>,
    findings: Arc<Mutex<Findings>>,
    stop: Arc<AtomicBool>,
}

impl Documents {
    /// The bad rows left out so far; all of them once the documents are at their end.
    pub fn skipped(&self) -> Skipped {
        self.findings.lock().map(|findings| findings.skipped.clone()).unwrap_or_default()
    }

    /// The format of the first source; waits for its first documents.
    pub fn format(&mut self) -> Option<Format> {
        if self.batch.len() == 0 && self.failed.is_none() {
            self.failed = self.receive().err();
        }
        self.findings.lock().ok().and_then(|findings| findings.format)
    }

    /// What was taken for granted so far, a sentence for each: a field that was taken for the text, for instance.
    pub fn notes(&self) -> Vec<String> {
        self.findings.lock().map(|findings| findings.notes.clone()).unwrap_or_default()
    }

    /// Takes the next batch from the reading thread, or its end.
    fn receive(&mut self) -> Result<()> {
        let Some(receiver) = &self.receiver else { return Ok(()) };
        let message = receiver.recv();
        if let Ok(Message::Batch(batch)) = message {
            self.batch = batch.into_iter();
            return Ok(());
        }
        self.receiver = None;
        match message {
            Ok(Message::Failed(error)) => Err(error),
            // The thread says when it is done: silence means that a decoder broke down on damaged data.
            Err(_) => Err(Error::data("the data could not be read: a decoder broke down; is a file damaged?")),
            Ok(_) => Ok(()),
        }
    }

    /// The next documents: at most `documents` of them, ending with the one that reaches `bytes` of text. Empty at the
    /// end. An error comes after the documents before it.
    pub fn next_batch(&mut self, documents: usize, bytes: usize) -> Result<Vec<Document>> {
        let mut batch = Vec::new();
        let mut length = 0;
        while batch.len() < documents.max(1) && (length < bytes || batch.is_empty()) {
            match self.next() {
                Some(Ok(document)) => {
                    length += document.text.len();
                    batch.push(document);
                }
                Some(Err(error)) if batch.is_empty() => return Err(error),
                Some(Err(error)) => {
                    self.failed = Some(error);
                    break;
                }
                None => break,
            }
        }
        Ok(batch)
    }
}

/// Documents that are in memory already, for callers with a source of their own.
impl From<Vec<Document>> for Documents {
    fn from(documents: Vec<Document>) -> Self {
        Documents {
            receiver: None,
            batch: documents.into_iter(),
            failed: None,
            findings: Arc::default(),
            stop: Arc::default(),
        }
    }
}

impl Iterator for Documents {
    type Item = Result<Document>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(error) = self.failed.take() {
            return Some(Err(error));
        }
        loop {
            if let Some(document) = self.batch.next() {
                return Some(Ok(document));
            }
            self.receiver.as_ref()?;
            if let Err(error) = self.receive() {
                return Some(Err(error));
            }
        }
    }
}

impl Drop for Documents {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// The most bytes [`read_text`] takes, unpacked.
const MOST_TEXT: u64 = 1 << 30;

/// A whole file as text, plain or packed (gzip, zstd): for small files that are no documents, such as queries or judgements.
pub fn read_text(path: impl AsRef<std::path::Path>) -> Result<String> {
    use std::io::Read as _;
    let path = path.as_ref();
    let name = path.display().to_string();
    let mut bytes = Vec::new();
    let mut input = input::Input::open(path, false)?.in_utf8(None, &name)?.take(MOST_TEXT + 1);
    input.read_to_end(&mut bytes).map_err(|error| input::read_error(&name, &error))?;
    if bytes.len() as u64 > MOST_TEXT {
        return Err(Error::input(name, None, "is larger than 1 GB"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let line = error.as_bytes()[..error.utf8_error().valid_up_to()].iter().filter(|&&byte| byte == b'\n').count();
        Error::input(name, Some(line as u64 + 1), "is not UTF-8")
    })
}
