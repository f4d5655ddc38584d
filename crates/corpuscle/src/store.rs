//! Named arrays in memory: what a fitted model is taken apart into when it is saved and built from when it is loaded.
//!
//! [`StoreWriter`] collects arrays under slash-separated names; [`StoreReader`] hands them back, each once, after checking
//! type, shape and finiteness. Neither knows about files: `recipe::model_file` turns a store into bytes and back.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Error, Result};

/// The element type of a stored array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Bytes: UTF-8 text or JSON.
    U8,
    /// Signed bytes, for weights in eight bits.
    I8,
    /// 32-bit unsigned, for column indices and class numbers.
    U32,
    /// 64-bit unsigned, for row pointers and counts.
    U64,
    /// 32-bit float.
    F32,
    /// 64-bit float.
    F64,
}

impl Kind {
    /// Bytes of one element.
    pub fn width(self) -> usize {
        match self {
            Kind::U8 | Kind::I8 => 1,
            Kind::U32 | Kind::F32 => 4,
            Kind::U64 | Kind::F64 => 8,
        }
    }
}

/// An array as little-endian bytes with its type and shape.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Element type.
    pub kind: Kind,
    /// Extent of each dimension.
    pub shape: Vec<usize>,
    /// The elements, little-endian, last dimension fastest; empty in a store that only measures.
    pub bytes: Vec<u8>,
}

impl Entry {
    /// How many bytes the elements take.
    pub fn size(&self) -> usize {
        self.shape.iter().product::<usize>() * self.kind.width()
    }
}

/// Collects the arrays of a model.
#[derive(Debug, Default)]
pub struct StoreWriter {
    entries: BTreeMap<String, Entry>,
    prefix: String,
    measures: bool,
}

impl StoreWriter {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty store that keeps the shapes of arrays and not their elements: how large a model's file will be is known
    /// without a second copy of the model.
    pub fn measuring() -> Self {
        StoreWriter { measures: true, ..Self::default() }
    }

    /// How many bytes the arrays take that `save` puts into a store.
    pub(crate) fn bytes_of(save: impl FnOnce(&mut StoreWriter) -> Result<()>) -> Result<usize> {
        let mut store = StoreWriter::measuring();
        save(&mut store)?;
        Ok(store.entries.values().map(Entry::size).sum())
    }

    /// Runs `write` with every name put under `name/`.
    pub fn scope<R>(&mut self, name: &str, write: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.prefix.len();
        self.prefix.push_str(name);
        self.prefix.push('/');
        let result = write(self);
        self.prefix.truncate(before);
        result
    }

    fn put<const N: usize>(
        &mut self,
        name: &str,
        kind: Kind,
        shape: &[usize],
        elements: impl Iterator<Item = [u8; N]>,
    ) {
        let bytes: Vec<u8> = if self.measures { Vec::new() } else { elements.flatten().collect() };
        let entry = Entry { kind, shape: shape.to_vec(), bytes };
        debug_assert!(self.measures || entry.size() == entry.bytes.len(), "{name}");
        self.entries.insert(format!("{}{name}", self.prefix), entry);
    }

    /// Stores floats.
    pub fn put_f32(&mut self, name: &str, shape: &[usize], values: &[f32]) {
        self.put(name, Kind::F32, shape, values.iter().map(|v| v.to_le_bytes()));
    }

    /// Stores doubles.
    pub fn put_f64(&mut self, name: &str, shape: &[usize], values: &[f64]) {
        self.put(name, Kind::F64, shape, values.iter().map(|v| v.to_le_bytes()));
    }

    /// Stores 32-bit numbers as a vector.
    pub fn put_u32(&mut self, name: &str, values: &[u32]) {
        self.put(name, Kind::U32, &[values.len()], values.iter().map(|v| v.to_le_bytes()));
    }

    /// Stores 64-bit numbers as a vector.
    pub fn put_u64(&mut self, name: &str, values: &[u64]) {
        self.put(name, Kind::U64, &[values.len()], values.iter().map(|v| v.to_le_bytes()));
    }

    /// Stores signed bytes.
    pub fn put_i8(&mut self, name: &str, shape: &[usize], values: &[i8]) {
        self.put(name, Kind::I8, shape, values.iter().map(|v| v.to_le_bytes()));
    }

    fn put_bytes(&mut self, name: &str, bytes: &[u8]) {
        self.put(name, Kind::U8, &[bytes.len()], bytes.iter().map(|&byte| [byte]));
    }

    /// Stores a list of strings as their bytes (`name`) and end offsets (`name.ends`).
    pub fn put_strings<S: AsRef<str>>(&mut self, name: &str, strings: impl IntoIterator<Item = S>) {
        let mut bytes = Vec::new();
        let mut ends = Vec::new();
        for string in strings {
            bytes.extend_from_slice(string.as_ref().as_bytes());
            ends.push(bytes.len() as u64);
        }
        self.put_bytes(name, &bytes);
        self.put_u64(&format!("{name}.ends"), &ends);
    }

    /// Stores plain data (parameters, counts) as JSON.
    pub fn put_json(&mut self, name: &str, value: &impl Serialize) -> Result<()> {
        let bytes = serde_json::to_vec(value).map_err(|e| Error::model(format!("cannot write {name}: {e}")))?;
        self.put_bytes(name, &bytes);
        Ok(())
    }

    /// The arrays by full name, in order.
    pub fn into_entries(self) -> BTreeMap<String, Entry> {
        self.entries
    }
}

/// An array of a loaded file, not yet trusted. Its bytes are handed out once and then gone, so that a model being loaded is
/// held once, plus its largest array.
#[derive(Debug)]
pub struct Stored {
    /// Element type.
    pub kind: Kind,
    /// Extent of each dimension.
    pub shape: Vec<usize>,
    /// The elements, little-endian; `None` once they were handed out.
    bytes: Mutex<Option<Vec<u8>>>,
}

impl Stored {
    /// An array of these bytes.
    pub fn new(kind: Kind, shape: Vec<usize>, bytes: Vec<u8>) -> Self {
        Stored { kind, shape, bytes: Mutex::new(Some(bytes)) }
    }
}

/// Hands out the arrays of a model, each once, after checking them. Every failure is an [`Error::BadModel`].
#[derive(Debug, Clone, Default)]
pub struct StoreReader<'a> {
    entries: BTreeMap<String, &'a Stored>,
    prefix: String,
}

impl<'a> StoreReader<'a> {
    /// A reader over arrays by full name.
    pub fn new(entries: BTreeMap<String, &'a Stored>) -> Self {
        StoreReader { entries, prefix: String::new() }
    }

    /// The arrays under `name/`.
    pub fn scope(&self, name: &str) -> StoreReader<'a> {
        let prefix = format!("{}{name}/", self.prefix);
        let entries = self
            .entries
            .range(prefix.clone()..)
            .take_while(|(key, _)| key.starts_with(&prefix))
            .map(|(key, stored)| (key.clone(), *stored))
            .collect();
        StoreReader { entries, prefix }
    }

    /// Whether an array of that name is there.
    pub fn has(&self, name: &str) -> bool {
        self.entries.contains_key(&format!("{}{name}", self.prefix))
    }

    /// The bytes of an array of that type and shape (`None`: any extent), with the shape found.
    fn take(&self, name: &str, kind: Kind, expected: &[Option<usize>]) -> Result<(Vec<u8>, Vec<usize>)> {
        let full = format!("{}{name}", self.prefix);
        let stored = self.entries.get(&full).ok_or_else(|| Error::model(format!("array `{full}` is missing")))?;
        if stored.kind != kind {
            return Err(Error::model(format!("array `{full}` holds {:?}, not {kind:?}", stored.kind)));
        }
        self.check_shape(name, &stored.shape, expected)?;
        let left = stored.bytes.lock().unwrap_or_else(PoisonError::into_inner).take();
        let bytes = left.ok_or_else(|| Error::model(format!("array `{full}` is asked for twice")))?;
        let length = stored.shape.iter().try_fold(kind.width(), |product, &extent| product.checked_mul(extent));
        if length != Some(bytes.len()) {
            return Err(Error::model(format!("array `{full}` has not the size its shape says")));
        }
        Ok((bytes, stored.shape.clone()))
    }

    fn check_shape(&self, name: &str, shape: &[usize], expected: &[Option<usize>]) -> Result<()> {
        let fits = shape.len() == expected.len()
            && shape.iter().zip(expected).all(|(&extent, want)| want.is_none_or(|want| want == extent));
        if fits {
            return Ok(());
        }
        let want: Vec<String> = expected.iter().map(|e| e.map_or("any".into(), |e| e.to_string())).collect();
        Err(Error::model(format!("array `{}{name}` has shape {shape:?}, not [{}]", self.prefix, want.join(", "))))
    }

    /// Finite floats of the given shape (`None`: any extent), with the shape found.
    pub fn f32s(&self, name: &str, expected: &[Option<usize>]) -> Result<(Vec<f32>, Vec<usize>)> {
        let (bytes, shape) = self.take(name, Kind::F32, expected)?;
        let values: Vec<f32> = bytes.as_chunks().0.iter().map(|&chunk| f32::from_le_bytes(chunk)).collect();
        match values.iter().all(|v| v.is_finite()) {
            true => Ok((values, shape)),
            false => Err(Error::model(format!("array `{}{name}` holds a value that is not finite", self.prefix))),
        }
    }

    /// Signed bytes of the given shape, with the shape found.
    pub fn i8s(&self, name: &str, expected: &[Option<usize>]) -> Result<(Vec<i8>, Vec<usize>)> {
        let (bytes, shape) = self.take(name, Kind::I8, expected)?;
        // Collected in place: the bytes become the array.
        Ok((bytes.into_iter().map(|byte| i8::from_le_bytes([byte])).collect(), shape))
    }

    /// Finite doubles of the given shape, with the shape found.
    pub fn f64s(&self, name: &str, expected: &[Option<usize>]) -> Result<(Vec<f64>, Vec<usize>)> {
        let (bytes, shape) = self.take(name, Kind::F64, expected)?;
        let values: Vec<f64> = bytes.as_chunks().0.iter().map(|&chunk| f64::from_le_bytes(chunk)).collect();
        match values.iter().all(|v| v.is_finite()) {
            true => Ok((values, shape)),
            false => Err(Error::model(format!("array `{}{name}` holds a value that is not finite", self.prefix))),
        }
    }

    /// A vector of 32-bit numbers, of `length` when given.
    pub fn u32s(&self, name: &str, length: Option<usize>) -> Result<Vec<u32>> {
        let (bytes, _) = self.take(name, Kind::U32, &[length])?;
        Ok(bytes.as_chunks().0.iter().map(|&chunk| u32::from_le_bytes(chunk)).collect())
    }

    /// A vector of 64-bit numbers, of `length` when given.
    pub fn u64s(&self, name: &str, length: Option<usize>) -> Result<Vec<u64>> {
        let (bytes, _) = self.take(name, Kind::U64, &[length])?;
        Ok(bytes.as_chunks().0.iter().map(|&chunk| u64::from_le_bytes(chunk)).collect())
    }

    /// A list of strings.
    pub fn strings(&self, name: &str) -> Result<Vec<String>> {
        let (bytes, _) = self.take(name, Kind::U8, &[None])?;
        let ends = self.u64s(&format!("{name}.ends"), None)?;
        let bad = || Error::model(format!("strings `{}{name}` are damaged", self.prefix));
        let mut strings = Vec::with_capacity(ends.len());
        let mut start = 0usize;
        for end in ends {
            let end = usize::try_from(end).map_err(|_| bad())?;
            let slice = bytes.get(start..end).ok_or_else(bad)?;
            strings.push(std::str::from_utf8(slice).map_err(|_| bad())?.to_string());
            start = end;
        }
        if start == bytes.len() { Ok(strings) } else { Err(bad()) }
    }

    /// Plain data stored as JSON.
    pub fn json<T: DeserializeOwned>(&self, name: &str) -> Result<T> {
        serde_json::from_slice(&self.take(name, Kind::U8, &[None])?.0)
            .map_err(|e| Error::model(format!("`{}{name}` cannot be read: {e}", self.prefix)))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Writes with `save`, then reads with `load`: the round trip every model's tests use.
    pub(crate) fn round_trip<T>(
        save: impl FnOnce(&mut StoreWriter),
        load: impl FnOnce(&StoreReader<'_>) -> Result<T>,
    ) -> Result<T> {
        let mut writer = StoreWriter::new();
        save(&mut writer);
        let stored = |(name, entry): (String, Entry)| (name, Stored::new(entry.kind, entry.shape, entry.bytes));
        let arrays: BTreeMap<String, Stored> = writer.into_entries().into_iter().map(stored).collect();
        load(&StoreReader::new(arrays.iter().map(|(name, stored)| (name.clone(), stored)).collect()))
    }

    #[test]
    fn arrays_and_strings_come_back() {
        round_trip(
            |out| {
                out.scope("a", |out| {
                    out.put_f32("x", &[2, 2], &[1.0, 2.0, 3.0, 4.0]);
                    out.put_strings("names", ["é", "", "bc"]);
                });
            },
            |store| {
                let a = store.scope("a");
                // What is refused is not used up.
                assert!(a.f32s("x", &[Some(3), None]).is_err());
                assert!(a.u32s("x", None).is_err());
                assert!(a.f32s("y", &[None]).is_err());
                assert_eq!(a.f32s("x", &[Some(2), None])?, (vec![1.0, 2.0, 3.0, 4.0], vec![2, 2]));
                assert_eq!(a.strings("names")?, ["é", "", "bc"]);
                assert!(a.f32s("x", &[Some(2), None]).unwrap_err().to_string().contains("twice"));
                Ok(())
            },
        )
        .unwrap();
    }

    #[test]
    fn a_value_that_is_not_finite_is_refused() {
        let result = round_trip(|out| out.put_f32("x", &[1], &[f32::NAN]), |store| store.f32s("x", &[None]));
        assert!(result.unwrap_err().to_string().contains("not finite"));
    }
}
