//! What was fitted, as the bytes of a checked file: what pickling keeps.

use corpuscle::recipe::model_file::{self, FORMAT, Loaded, Metadata, Provenance, Sealed};
use corpuscle::store::StoreWriter;
use corpuscle::{DEFAULT_SEED, Result, Run};
use pyo3::PyResult;

use crate::errors::raised;

/// Arrays with the text that says how they were made.
pub(crate) fn to_bytes(recipe: String, about: Provenance, store: StoreWriter) -> Result<Vec<u8>> {
    let metadata = Metadata {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION").to_string(),
        recipe,
        classes: Vec::new(),
        about,
        sha256: String::new(),
    };
    Ok(Sealed::new(&metadata, store)?.to_bytes())
}

/// What [`to_bytes`] made, checked.
pub(crate) fn from_bytes(bytes: &[u8]) -> Result<(Metadata, Loaded)> {
    model_file::read(&mut &bytes[..], Some(bytes.len() as u64))
}

/// Builds something of its bytes on the caller's thread.
pub(crate) fn built<T: Send>(read: impl FnOnce(&Run) -> Result<T> + Send) -> PyResult<T> {
    let run = Run::new(DEFAULT_SEED, 1).map_err(raised)?;
    run.install(|| read(&run)).map_err(raised)
}
