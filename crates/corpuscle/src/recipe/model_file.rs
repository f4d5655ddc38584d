//! The model file: one safetensors file whose metadata say what it is and whose checksum covers every byte.
//!
//! Layout: 8 bytes header length, JSON header, arrays. The header's `__metadata__` has `format` (the version of this
//! layout), `corpuscle` (the version that wrote it), `recipe`, `classes` (a JSON list), `about` (JSON: provenance) and
//! `sha256`, the SHA-256 of the whole file with the 64 digits of the checksum itself read as zeros. The header is
//! written here, in sorted order, because the safetensors writer keeps metadata in a randomly ordered map and equal
//! models must be equal files; reading goes through the safetensors crate, which checks lengths, overlaps and holes.
//!
//! Loading allocates no more than the file's size, runs no code and has no other format to fall back on.

use std::collections::BTreeMap;

use safetensors::tensor::{Dtype, SafeTensors};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::store::{Entry, EntryView, Kind, StoreReader, StoreWriter};
use crate::{Error, Result};

/// The version of the layout this release writes. Every earlier one keeps loading.
pub const FORMAT: u32 = 2;

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

/// The bytes of a model file.
pub fn to_bytes(metadata: &Metadata, store: StoreWriter) -> Result<Vec<u8>> {
    let (header, entries) = laid_out(metadata, store)?;
    let mut bytes = Vec::with_capacity(8 + header.len() + entries.iter().map(|(_, entry)| entry.size()).sum::<usize>());
    bytes.extend_from_slice(&(header.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&header);
    for (_, entry) in entries {
        bytes.extend_from_slice(&entry.bytes);
    }
    let place = checksum_place(&bytes)?;
    let digest = checksum(&bytes, place);
    bytes[place..place + CHECKSUM_DIGITS].copy_from_slice(digest.as_bytes());
    Ok(bytes)
}

/// How many bytes the file of a model has, from a store that only [measures](StoreWriter::measuring).
pub fn size(metadata: &Metadata, store: StoreWriter) -> Result<u64> {
    let (header, entries) = laid_out(metadata, store)?;
    Ok((8 + header.len() + entries.iter().map(|(_, entry)| entry.size()).sum::<usize>()) as u64)
}

/// Arrays by name, in the order of the file.
type Arrays = Vec<(String, Entry)>;

/// The header, its checksum still zeros, and the arrays in the order of the file.
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
    Ok((text, entries))
}

/// Checks the bytes of a model file and gives its metadata and arrays.
pub fn from_bytes(bytes: &[u8]) -> Result<(Metadata, Loaded<'_>)> {
    if bytes.len() < 8 {
        return Err(Error::model(format!("{} bytes are too few to be a model", bytes.len())));
    }
    let tensors = SafeTensors::deserialize(bytes).map_err(|e| {
        Error::model(format!("not a whole safetensors file ({e}); it may be cut off, altered or of another kind"))
    })?;
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(|e| Error::model(format!("{e}")))?;
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
    let found = checksum(bytes, checksum_place(bytes)?);
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
    let arrays = tensors
        .iter()
        .map(|(name, view)| {
            let kind = match view.dtype() {
                Dtype::U8 => Kind::U8,
                Dtype::I8 => Kind::I8,
                Dtype::U32 => Kind::U32,
                Dtype::U64 => Kind::U64,
                Dtype::F32 => Kind::F32,
                Dtype::F64 => Kind::F64,
                other => {
                    return Err(Error::model(format!("array `{name}` has the type {other:?}, which no model has")));
                }
            };
            let start = view.data().as_ptr() as usize - bytes.as_ptr() as usize;
            Ok((name.to_string(), (kind, view.shape().to_vec(), &bytes[start..start + view.data().len()])))
        })
        .collect::<Result<_>>()?;
    Ok((metadata, Loaded { arrays }))
}

/// The checked arrays of a model file.
#[derive(Debug)]
pub struct Loaded<'a> {
    arrays: BTreeMap<String, (Kind, Vec<usize>, &'a [u8])>,
}

impl Loaded<'_> {
    /// The arrays, to take a model out of.
    pub fn reader(&self) -> StoreReader<'_> {
        let views = self
            .arrays
            .iter()
            .map(|(name, (kind, shape, bytes))| (name.clone(), EntryView { kind: *kind, shape, bytes }));
        StoreReader::new(views.collect())
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

fn checksum(bytes: &[u8], place: usize) -> String {
    let mut hasher = Sha256::new();
    hasher.update(&bytes[..place]);
    hasher.update([b'0'; CHECKSUM_DIGITS]);
    hasher.update(&bytes[place + CHECKSUM_DIGITS..]);
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
        to_bytes(&metadata, store).unwrap()
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
