//! A folder per class, a file per document. Bytes that are not UTF-8 are read as Latin-1, as old mail and news are, unless an encoding is named.

use std::borrow::Cow;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::encoding::Encoding;
use super::input::{Input, read_error};
use super::lines::too_long;
use super::row::{Value, whole};
use super::sink::{Flow, Sink};
use crate::{Error, Result};

pub(super) fn read(folder: &Path, sink: &mut Sink) -> Flow {
    for class_folder in entries(folder)?.into_iter().filter(|path| path.is_dir()) {
        let class = file_name(&class_folder);
        for file in entries(&class_folder)? {
            sink.enter(&file.display().to_string());
            if file.is_dir() {
                let reason = "is a folder inside a class folder; give the folder whose folders hold the documents";
                return Err(sink.error(None, reason.to_string()).into());
            }
            let id = format!("{class}/{}", file_name(&file));
            match text_of(&file, sink.options.max_line, sink.options.encoding) {
                Err(error) => sink.bad_source(error)?,
                Ok(None) => sink.bad_row(None, too_long("file", sink.options.max_line))?,
                Ok(Some(text)) => {
                    let (text, class) = (Value::Text(text.into()), Value::Text(Cow::Borrowed(class.as_str())));
                    let values = [("id", Value::from(id.as_str())), ("label", class.clone()), ("text", text)];
                    let row = sink.fields.row(values.iter().cloned().chain([("labels", class)]));
                    sink.row(None, row, || whole(values.iter().cloned()))?;
                }
            }
        }
    }
    Ok(())
}

/// The text of a file; `None` when it is longer than `limit`.
fn text_of(file: &Path, limit: usize, encoding: Option<Encoding>) -> Result<Option<String>> {
    let mut bytes = Vec::new();
    let input = Input::open(file, false)?.in_utf8(encoding, &file.display().to_string())?;
    let read = input.take(limit as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| read_error(&file.display().to_string(), &error))?;
    Ok((bytes.len() <= limit).then(|| decoded(bytes)))
}

/// UTF-8 without its mark, or else Latin-1.
pub(super) fn decoded(bytes: Vec<u8>) -> String {
    match String::from_utf8(bytes) {
        Ok(text) => text.strip_prefix('\u{feff}').map(String::from).unwrap_or(text),
        Err(error) => error.as_bytes().iter().map(|&byte| char::from(byte)).collect(),
    }
}

/// The files and folders of a folder, by name, hidden ones left out.
pub(super) fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let list = std::fs::read_dir(folder).map_err(|error| Error::io(folder, error))?;
    let mut paths = Vec::new();
    for entry in list {
        let path = entry.map_err(|error| Error::io(folder, error))?.path();
        if !file_name(&path).starts_with('.') {
            paths.push(path);
        }
    }
    paths.sort_unstable();
    Ok(paths)
}

pub(super) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_not_utf8_are_latin1() {
        assert_eq!(decoded(b"caf\xe9".to_vec()), "café");
        assert_eq!(decoded("café".into()), "café");
        assert_eq!(decoded(b"\xef\xbb\xbfx".to_vec()), "x");
    }
}
