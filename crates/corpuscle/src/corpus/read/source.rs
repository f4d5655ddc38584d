//! What there is to read: paths, folders and globs turned into a list of sources, and the format of each.

use std::path::{Path, PathBuf};

use super::fasttext::PREFIX;
use super::folders::{entries, file_name};
use super::options::{Format, ReadOptions};
use crate::{Error, Result};

/// One thing to read.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Source {
    Stdin,
    File(PathBuf),
    /// A folder whose folders are the classes.
    Folders(PathBuf),
}

impl Source {
    /// How messages call it.
    pub(super) fn name(&self) -> String {
        match self {
            Source::Stdin => "-".to_string(),
            Source::File(path) | Source::Folders(path) => path.display().to_string(),
        }
    }
}

/// Turns the caller's paths into sources, in their order; folders and globs give theirs by name.
pub(super) fn expand<P: AsRef<Path>>(paths: &[P], options: &ReadOptions) -> Result<Vec<Source>> {
    if paths.is_empty() {
        return Err(Error::data("no data given; name a file, a folder or `-` for standard input"));
    }
    let mut sources = Vec::new();
    for path in paths.iter().map(AsRef::as_ref) {
        let written = path.to_string_lossy();
        if written == "-" {
            if sources.contains(&Source::Stdin) {
                return Err(Error::data("standard input (`-`) can be read only once"));
            }
            sources.push(Source::Stdin);
        } else if path.exists() || !written.contains(['*', '?', '[']) {
            sources.extend(expand_path(path, options)?);
        } else {
            for path in expand_glob(&written)? {
                sources.extend(expand_path(&path, options)?);
            }
        }
    }
    Ok(sources)
}

fn expand_glob(pattern: &str) -> Result<Vec<PathBuf>> {
    let refuse = |reason: String| Error::input(pattern, None, reason);
    let found = glob::glob(pattern).map_err(|error| refuse(format!("not a pattern: {error}")))?;
    let mut paths = Vec::new();
    for path in found {
        paths.push(path.map_err(|error| {
            let place = error.path().to_path_buf();
            Error::io(place, error.into())
        })?);
    }
    if paths.is_empty() {
        return Err(refuse("no file matches this pattern".to_string()));
    }
    paths.sort_unstable();
    Ok(paths)
}

fn expand_path(path: &Path, options: &ReadOptions) -> Result<Vec<Source>> {
    let metadata = std::fs::metadata(path).map_err(|error| Error::io(path, error))?;
    if metadata.is_dir() { expand_folder(path, options.format) } else { Ok(vec![Source::File(path.to_path_buf())]) }
}

/// A folder per class when its folders hold files; else its data files.
fn expand_folder(folder: &Path, format: Option<Format>) -> Result<Vec<Source>> {
    let refuse = |reason: String| Err(Error::input(folder.display().to_string(), None, reason));
    let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) = entries(folder)?.into_iter().partition(|path| path.is_dir());
    // Spark and others put files such as `_SUCCESS` beside the data.
    let files: Vec<PathBuf> = files.into_iter().filter(|file| !file_name(file).starts_with('_')).collect();
    let data: Vec<PathBuf> = files.iter().filter(|file| by_name(file).is_some()).cloned().collect();
    let mut holds_files = false;
    for class in &folders {
        holds_files |= entries(class)?.iter().any(|path| path.is_file());
    }
    match format {
        Some(Format::Folders) => return Ok(vec![Source::Folders(folder.to_path_buf())]),
        Some(_) => {}
        None if holds_files && data.is_empty() => return Ok(vec![Source::Folders(folder.to_path_buf())]),
        None if holds_files => {
            let first = data.first().map(|file| file_name(file)).unwrap_or_default();
            return refuse(format!(
                "holds both data files (`{first}`) and folders of files; name the files, or ask for the format `folders`"
            ));
        }
        None => {}
    }
    // Files named as data; if there are none, texts; if there are none, whatever there is.
    let texts = || files.iter().filter(|file| suffix(file) == "txt").cloned().collect::<Vec<_>>();
    let chosen = [data, texts(), files.clone()].into_iter().find(|list| !list.is_empty()).unwrap_or_default();
    match (chosen.is_empty(), folders.first()) {
        (false, _) => Ok(chosen.into_iter().map(Source::File).collect()),
        (true, None) => refuse("is an empty folder".to_string()),
        (true, Some(inner)) => refuse(format!(
            "its folders hold no files; for a folder per class give the folder above the class folders, such as `{}`",
            inner.display()
        )),
    }
}

/// The end of a file name, in lower case, without `.gz` and `.zst`.
fn suffix(path: &Path) -> String {
    let name = file_name(path).to_lowercase();
    let name = [".gz", ".zst", ".zstd"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    name.rsplit_once('.').map(|(_, suffix)| suffix.to_string()).unwrap_or_default()
}

/// The format a file name stands for.
fn by_name(path: &Path) -> Option<Format> {
    match suffix(path).as_str() {
        "jsonl" | "ndjson" | "json" => Some(Format::JsonLines),
        "csv" => Some(Format::Csv),
        "tsv" | "tab" => Some(Format::Tsv),
        "sgm" | "sgml" => Some(Format::ReutersSgml),
        "parquet" => Some(Format::Parquet),
        "xlsx" | "xlsm" | "xlsb" | "xls" | "ods" => Some(Format::Excel),
        _ => None,
    }
}

/// Whether a source is a workbook, which is no stream of bytes that could be looked at first.
pub(super) fn is_workbook(source: &Source, options: &ReadOptions) -> bool {
    match (options.format, source) {
        (Some(format), _) => format == Format::Excel,
        (None, Source::File(path)) => by_name(path) == Some(Format::Excel),
        _ => false,
    }
}

/// The format of a source: the one asked for, or by its name, or by its first bytes. Text in no known format is a document
/// a line.
pub(super) fn detect(source: &Source, head: &[u8], options: &ReadOptions) -> Result<Format> {
    let named = match source {
        Source::File(path) => by_name(path),
        _ => None,
    };
    // Parquet cannot be anything else, whatever it is called.
    let certain = head.starts_with(b"PAR1").then_some(Format::Parquet);
    let text = (!head.contains(&0)).then_some(Format::Lines);
    options.format.or(certain).or(named).or_else(|| by_content(head, options)).or(text).ok_or_else(|| {
        let reason = "is not text, and the format cannot be told from name or content; name it (jsonl, csv, excel, …)";
        Error::input(source.name(), None, reason)
    })
}

fn by_content(head: &[u8], options: &ReadOptions) -> Option<Format> {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let mut lines = head.split(|&byte| byte == b'\n');
    let line = lines.next().unwrap_or_default();
    let next = lines.find(|line| !line.trim_ascii().is_empty());
    let lower: Vec<u8> = head.iter().take(20).map(u8::to_ascii_lowercase).collect();
    let mut starts = head.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii_start);
    match head.first()? {
        b'{' => Some(Format::JsonLines),
        // Prose and logs may begin in brackets: [urgent] …, [2026-11-19] …
        b'[' if matches!(head[1..].trim_ascii_start().first(), None | Some(b'{' | b']')) => Some(Format::JsonLines),
        _ if starts.any(|line| line.starts_with(PREFIX.as_bytes())) => Some(Format::FastText),
        _ if lower.starts_with(b"<!doctype lewis") || lower.starts_with(b"<reuters") => Some(Format::ReutersSgml),
        _ => [(b'\t', Format::Tsv), (b',', Format::Csv), (b';', Format::Csv), (b'|', Format::Csv)]
            .into_iter()
            .find(|(delimiter, _)| is_header(line, next, *delimiter, options))
            .map(|(_, format)| format),
    }
}

/// Whether a first line is names of columns: it has the name of the text, or names without spaces above a line that is cut
/// as often. Prose has commas too.
fn is_header(line: &[u8], next: Option<&[u8]>, delimiter: u8, options: &ReadOptions) -> bool {
    let count = |line: &[u8]| line.iter().filter(|&&byte| byte == delimiter).count();
    let name = |name: &[u8]| String::from_utf8_lossy(name).trim().trim_matches('"').to_string();
    let names: Vec<String> = line.split(|&byte| byte == delimiter).map(name).collect();
    let is_name = |name: &String| !name.is_empty() && (delimiter == b'\t' || !name.contains(char::is_whitespace));
    let fits = |next: &[u8]| count(next) >= names.len() - 1 || next.contains(&b'"');
    let wanted = options.text.split('+').any(|text| names.iter().any(|name| name == text));
    names.len() > 1 && names.iter().all(is_name) && (wanted || next.is_some_and(fits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_formats() {
        for (name, format) in [
            ("a.jsonl", Some(Format::JsonLines)),
            ("A.NDJSON.GZ", Some(Format::JsonLines)),
            ("a.csv.zst", Some(Format::Csv)),
            ("a.b.tab", Some(Format::Tsv)),
            ("reut2-000.sgm", Some(Format::ReutersSgml)),
            ("part.snappy.parquet", Some(Format::Parquet)),
            ("Tickets.XLSX", Some(Format::Excel)),
            ("a.txt", None),
            ("jsonl", None),
        ] {
            assert_eq!(by_name(Path::new(name)), format, "{name}");
        }
    }

    #[test]
    fn content_tells_formats() {
        for (head, format) in [
            ("\u{feff} {\"text\"", Some(Format::JsonLines)),
            ("__label__a b", Some(Format::FastText)),
            ("<!DOCTYPE lewis SYSTEM", Some(Format::ReutersSgml)),
            ("text\tlabel\nx", Some(Format::Tsv)),
            ("\"text\",label\nx", Some(Format::Csv)),
            ("first come\n__label__a b", Some(Format::FastText)),
            ("message;team\nno sound; none;desk", Some(Format::Csv)),
            ("body,team\n\"two\nlines\",desk", Some(Format::Csv)),
            ("message|team\nno sound, none|desk", Some(Format::Csv)),
            ("| a | b |\n|---|---|", None),
            ("[{\"text\": 1}]", Some(Format::JsonLines)),
            ("[\n  {\"text\"", Some(Format::JsonLines)),
            ("[urgent] no sound", None),
            ("[2026-11-19] no sound\n[2026-11-20] sound", None),
            ("Well, this is prose.\n", None),
            ("Hello,world\nhow are you", None),
            ("yes,no", None),
            ("text,label", Some(Format::Csv)),
            ("", None),
        ] {
            assert_eq!(by_content(head.as_bytes(), &ReadOptions::default()), format, "{head}");
        }
        let options = ReadOptions::default();
        assert_eq!(detect(&Source::File("a.txt".into()), b"Prose.", &options).unwrap(), Format::Lines);
        assert_eq!(detect(&Source::File("notes".into()), b"Prose.", &options).unwrap(), Format::Lines);
        assert_eq!(detect(&Source::File("a.csv".into()), b"PAR1", &options).unwrap(), Format::Parquet);
        assert_eq!(detect(&Source::Stdin, b"Prose.", &options).unwrap(), Format::Lines);
        assert!(detect(&Source::Stdin, b"\x7fELF\0\0", &options).is_err());
    }
}
