//! The model file: one safetensors file whose metadata say what it is and whose checksum covers every byte.
//!
//! Layout: 8 bytes header length, JSON header, arrays. The header's `__metadata__` has `format` (the version of this
//! layout), `corpuscle` (the version that wrote it), `recipe`, `classes` (a JSON list), `about` (JSON: provenance) and
//! `sha256`, the SHA-256 of the whole file with the 64 digits of the checksum itself read as zeros. The header is
//! written here, in sorted order, because the safetensors writer keeps metadata in a randomly ordered map and equal
//! models must be equal files; the header is read by the safetensors crate, which checks lengths, overlaps and holes.
//!
//! The file is read once, array by array, and no array is held twice but the one being taken out. Loading allocates no more
//! than the file's size, runs no code and has no other format to fall back on.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use safetensors::tensor::Dtype;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::store::{Entry, Kind, StoreReader, StoreWriter, Stored};
use crate::{Error, Result};

/// The version of the layout this release writes. Every earlier one keeps loading.
pub const FORMAT: u32 = 3;

const CHECKSUM_KEY: &[u8] = b"\"sha256\":\"";
const CHECKSUM_DIGITS: usize = 64;

/// What the metadata of a model file say.
#[derive(Debug, Clone, PartialEq)]
pub struct Metadata {
    /// Version of the layout.
    pub format: u32,
    /// The version of Corpuscle that wrote the file.
    pub version: String,
    /// The recipe.
    pub recipe: String,
    /// The class names.
    pub classes: Vec<String>,
    /// Where the model comes from.
    pub about: Provenance,
    /// The checksum, as 64 hexadecimal digits.
    pub sha256: String,
}

/// Where a model comes from. No time and no machine: equal work gives equal bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// Documents seen in fitting.
    pub documents: usize,
    /// How many of them had labels.
    pub labelled: usize,
    /// Tokens seen in fitting.
    pub tokens: u64,
    /// The seed.
    pub seed: u64,
    /// Whether a document may have several labels.
    pub multi_label: bool,
    /// The names of the data files, without their folders.
    pub sources: Vec<String>,
}

/// A model file ready to be written: the arrays go out as they stand in the store, none is copied.
#[derive(Debug)]
pub struct Sealed {
    header: Vec<u8>,
    arrays: Arrays,
}

impl Sealed {
    /// The file of these metadata and arrays, its checksum taken.
    pub fn new(metadata: &Metadata, store: StoreWriter) -> Result<Self> {
        let (mut header, arrays) = laid_out(metadata, store)?;
        let place = checksum_place(&header)?;
        let mut hasher = Sha256::new();
        hasher.update(&header);
        arrays.iter().for_each(|(_, entry)| hasher.update(&entry.bytes));
        header[place..place + CHECKSUM_DIGITS].copy_from_slice(digits(hasher).as_bytes());
        Ok(Sealed { header, arrays })
    }

    /// Writes the file.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.header)?;
        self.arrays.iter().try_for_each(|(_, entry)| out.write_all(&entry.bytes))
    }

    /// The file's bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let arrays = self.arrays.iter().map(|(_, entry)| &entry.bytes[..]);
        std::iter::once(&self.header[..]).chain(arrays).collect::<Vec<_>>().concat()
    }
}

/// How many bytes the file of a model has, from a store that only [measures](StoreWriter::measuring).
pub fn size(metadata: &Metadata, store: StoreWriter) -> Result<u64> {
    let (header, arrays) = laid_out(metadata, store)?;
    Ok((header.len() + arrays.iter().map(|(_, entry)| entry.size()).sum::<usize>()) as u64)
}

/// Arrays by name, in the order of the file.
type Arrays = Vec<(String, Entry)>;

/// The header behind its length, its checksum still zeros, and the arrays in the order of the file.
fn laid_out(metadata: &Metadata, store: StoreWriter) -> Result<(Vec<u8>, Arrays)> {
    let mut entries: Vec<(String, Entry)> = store.into_entries().into_iter().collect();
    // Wide elements first keeps every array aligned to its element size, as safetensors asks.
    entries.sort_by(|(a, x), (b, y)| y.kind.width().cmp(&x.kind.width()).then_with(|| a.cmp(b)));
    let fault = |e: serde_json::Error| Error::model(format!("cannot write the header: {e}"));
    let mut header = Map::new();
    header.insert(
        "__metadata__".into(),
        json!({
            "about": serde_json::to_string(&metadata.about).map_err(fault)?,
            "classes": serde_json::to_string(&metadata.classes).map_err(fault)?,
            "corpuscle": metadata.version,
            "format": metadata.format.to_string(),
            "recipe": metadata.recipe,
            "sha256": "0".repeat(CHECKSUM_DIGITS),
        }),
    );
    let mut offset = 0;
    for (name, entry) in &entries {
        let end = offset + entry.size();
        let dtype = match entry.kind {
            Kind::U8 => "U8",
            Kind::I8 => "I8",
            Kind::U32 => "U32",
            Kind::U64 => "U64",
            Kind::F32 => "F32",
            Kind::F64 => "F64",
        };
        header.insert(name.clone(), json!({"dtype": dtype, "shape": entry.shape, "data_offsets": [offset, end]}));
        offset = end;
    }
    let mut text = serde_json::to_vec(&Value::Object(header)).map_err(fault)?;
    text.resize(text.len().next_multiple_of(8), b' ');
    let length = (text.len() as u64).to_le_bytes();
    Ok(([&length[..], &text].concat(), entries))
}

/// The longest header that is read: a few hundred bytes for each array, and the names of classes.
const LONGEST_HEADER: u64 = 100_000_000;

/// Reads a model file of `length` bytes once, array by array, and gives its metadata and arrays when all of it is sound. Where the
/// length is not known, as of a pipe, it is what the header says, and nothing may follow.
pub fn read(file: &mut impl Read, length: Option<u64>) -> Result<(Metadata, Loaded)> {
    if let Some(length @ ..8) = length {
        return Err(Error::model(format!("{length} bytes are too few to be a model")));
    }
    let cut = |e: io::Error| Error::model(format!("the file is cut off or cannot be read: {e}"));
    let other = |e: &dyn std::fmt::Display| {
        Error::model(format!("not a whole safetensors file ({e}); it may be cut off, altered or of another kind"))
    };
    let mut head = vec![0; 8];
    file.read_exact(&mut head).map_err(cut)?;
    // No more is set aside than the file has.
    let size = u64::from_le_bytes(head[..].try_into().unwrap_or_default());
    if size > LONGEST_HEADER.min(length.map_or(u64::MAX, |length| length - 8)) {
        return Err(other(&"its header is longer than the file or the limit"));
    }
    head.extend(exactly(file, size as usize, length.is_some()).map_err(cut)?);
    let header: safetensors::tensor::Metadata = serde_json::from_slice(&head[8..]).map_err(|e| other(&e))?;
    let whole = (header.data_len() as u64).checked_add(head.len() as u64);
    if whole.is_none() || length.is_some_and(|length| whole != Some(length)) {
        return Err(other(&"its arrays are not as long as its header says"));
    }
    let strings =
        header.metadata().as_ref().ok_or_else(|| Error::model("a safetensors file, but no Corpuscle model"))?;
    let field = |name: &str| {
        strings
            .get(name)
            .cloned()
            .ok_or_else(|| Error::model(format!("the metadata have no `{name}`; no Corpuscle model")))
    };
    let format: u32 = field("format")?.parse().map_err(|_| Error::model("the format version is no number"))?;
    if format == 0 || format > FORMAT {
        return Err(Error::model(format!(
            "written in format {format}, this version reads up to {FORMAT}; use a newer Corpuscle"
        )));
    }
    let sha256 = field("sha256")?;
    let place = checksum_place(&head)?;
    head[place..place + CHECKSUM_DIGITS].fill(b'0');
    let mut hasher = Sha256::new();
    hasher.update(&head);
    let mut arrays = BTreeMap::new();
    for name in header.offset_keys() {
        let Some(info) = header.info(&name) else { continue };
        let kind = match info.dtype {
            Dtype::U8 => Kind::U8,
            Dtype::I8 => Kind::I8,
            Dtype::U32 => Kind::U32,
            Dtype::U64 => Kind::U64,
            Dtype::F32 => Kind::F32,
            Dtype::F64 => Kind::F64,
            other => return Err(Error::model(format!("array `{name}` has the type {other:?}, which no model has"))),
        };
        let bytes = exactly(file, info.data_offsets.1 - info.data_offsets.0, length.is_some()).map_err(cut)?;
        hasher.update(&bytes);
        arrays.insert(name, Stored::new(kind, info.shape.clone(), bytes));
    }
    if file.read(&mut [0]).map_err(cut)? > 0 {
        return Err(other(&"something follows its arrays"));
    }
    let found = digits(hasher);
    if found != sha256 {
        return Err(Error::model(format!(
            "the checksum does not fit (says {sha256}, is {found}); the file was altered"
        )));
    }
    let json = |name: &str, e: serde_json::Error| Error::model(format!("the metadata field `{name}` is damaged: {e}"));
    let metadata = Metadata {
        format,
        version: field("corpuscle")?,
        recipe: field("recipe")?,
        classes: serde_json::from_str(&field("classes")?).map_err(|e| json("classes", e))?,
        about: serde_json::from_str(&field("about")?).map_err(|e| json("about", e))?,
        sha256,
    };
    Ok((metadata, Loaded { arrays }))
}

/// The next `length` bytes. Where that is only said, and not known from the size of a file, memory grows with what comes.
fn exactly(file: &mut impl Read, length: usize, known: bool) -> io::Result<Vec<u8>> {
    const AT_ONCE: usize = 16 << 20;
    let mut bytes = Vec::with_capacity(if known { length } else { length.min(AT_ONCE) });
    file.take(length as u64).read_to_end(&mut bytes)?;
    match bytes.len() == length {
        true => Ok(bytes),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// The arrays of a model file whose checksum fits.
#[derive(Debug)]
pub struct Loaded {
    arrays: BTreeMap<String, Stored>,
}

impl Loaded {
    /// The arrays, to take a model out of.
    pub fn reader(&self) -> StoreReader<'_> {
        StoreReader::new(self.arrays.iter().map(|(name, stored)| (name.clone(), stored)).collect())
    }
}

/// Where the digits of the checksum stand. Quotes inside JSON strings are escaped, so the key can stand only once.
fn checksum_place(bytes: &[u8]) -> Result<usize> {
    let header = bytes.get(..8).and_then(|length| length.try_into().ok()).map(u64::from_le_bytes);
    let end = header.and_then(|length| usize::try_from(length).ok()?.checked_add(8)).filter(|&end| end <= bytes.len());
    let head = &bytes[..end.ok_or_else(|| Error::model("the header is cut off"))?];
    memchr::memmem::find(head, CHECKSUM_KEY)
        .map(|place| place + CHECKSUM_KEY.len())
        .filter(|place| place + CHECKSUM_DIGITS <= head.len())
        .ok_or_else(|| Error::model("the metadata have no checksum; no Corpuscle model"))
}

/// A SHA-256 as hexadecimal digits.
fn digits(hasher: Sha256) -> String {
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<u8> {
        let mut store = StoreWriter::new();
        store.put_f32("w", &[2], &[1.0, -2.5]);
        store.put_strings("terms", ["a", "b\"sha256\":\""]);
        store.put_u64("n", &[7]);
        let metadata = Metadata {
            format: FORMAT,
            version: "0.0.0".into(),
            recipe: "tfidf | svm".into(),
            classes: vec!["x\"sha256\":\"".into(), "y".into()],
            about: Provenance { documents: 3, ..Provenance::default() },
            sha256: String::new(),
        };
        Sealed::new(&metadata, store).unwrap().to_bytes()
    }

    fn from_bytes(bytes: &[u8]) -> Result<(Metadata, Loaded)> {
        read(&mut &bytes[..], Some(bytes.len() as u64))
    }

    #[test]
    fn what_is_written_is_read_back() {
        let bytes = sample();
        assert_eq!(bytes, sample());
        let (metadata, loaded) = from_bytes(&bytes).unwrap();
        assert_eq!(metadata.classes, ["x\"sha256\":\"", "y"]);
        assert_eq!(metadata.about.documents, 3);
        let reader = loaded.reader();
        assert_eq!(reader.f32s("w", &[Some(2)]).unwrap().0, [1.0, -2.5]);
        assert_eq!(reader.strings("terms").unwrap()[1], "b\"sha256\":\"");
    }

    #[test]
    fn a_file_cut_at_any_byte_or_with_any_bit_flipped_is_refused() {
        let bytes = sample();
        for length in 0..bytes.len() {
            assert!(matches!(from_bytes(&bytes[..length]), Err(Error::BadModel { .. })), "cut at {length}");
        }
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << bit;
                assert!(matches!(from_bytes(&damaged), Err(Error::BadModel { .. })), "bit {bit} of byte {at}");
            }
        }
        let mut longer = bytes;
        longer.push(0);
        assert!(from_bytes(&longer).is_err());
    }
}
