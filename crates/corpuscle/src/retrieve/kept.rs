//! Vectors of an index's documents, kept in its folder.
//!
//! A file for each model, named after the model's checksum, in the layout of model files (whole or not at all, with a checksum of its
//! own). It says of which documents it holds the rows: a SHA-256 of the numbers under which they came in and of their lengths, which
//! any commit that adds or deletes changes and a merge of segments does not. A file that is stale or damaged is made anew; one that
//! cannot be written is done without.

use std::fs::File;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::searcher::Searcher;
use super::vectors::Vectors;
use crate::matrix::Matrix;
use crate::recipe::Model;
use crate::recipe::model_file::{self, FORMAT, Metadata, Provenance, Sealed};
use crate::store::StoreWriter;
use crate::{Error, Result, Run};

/// Digits of the model's checksum in the name of the file.
const DIGITS: usize = 16;

impl Vectors {
    /// The vectors kept in the folder of the index, or made now and kept there. A model that was never in a file has no checksum and
    /// is not kept.
    pub fn kept(folder: impl AsRef<Path>, searcher: &Searcher, model: Model, run: &Run) -> Result<Self> {
        let checksum = model.metadata().sha256.clone();
        if checksum.len() < DIGITS {
            return Self::of(searcher, model, run);
        }
        let path = folder.as_ref().join(format!("vectors-{}", &checksum[..DIGITS]));
        let key = key(&checksum, searcher);
        if let Ok(rows) = read(&path, &key)
            && rows.rows() as u64 == searcher.documents()
        {
            return Ok(Self::known(searcher, model, rows));
        }
        let vectors = Self::of(searcher, model, run)?;
        if let Err(error) = write(&path, &key, &vectors) {
            run.warn(&format!("the vectors of the documents cannot be kept with the index: {error}"));
        }
        Ok(vectors)
    }
}

/// What the rows depend on.
fn key(model: &str, searcher: &Searcher) -> String {
    let mut hasher = Sha256::new();
    hasher.update(model);
    for (number, place) in searcher.places() {
        hasher.update(number.to_le_bytes());
        hasher.update(searcher.length(place).to_le_bytes());
    }
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn read(path: &Path, key: &str) -> Result<Matrix> {
    let mut file = File::open(path).map_err(|e| Error::io(path, e))?;
    let length = file.metadata().map_err(|e| Error::io(path, e))?.len();
    let (metadata, loaded) = model_file::read(&mut file, Some(length))?;
    if metadata.classes != [key] {
        return Err(Error::model("vectors of other documents"));
    }
    Matrix::load(&loaded.reader())
}

fn write(path: &Path, key: &str, vectors: &Vectors) -> Result<()> {
    let mut store = StoreWriter::new();
    vectors.rows().save(&mut store);
    let metadata = Metadata {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION").to_string(),
        recipe: vectors.model().recipe().to_string(),
        classes: vec![key.to_string()],
        about: Provenance::default(),
        sha256: String::new(),
    };
    let sealed = Sealed::new(&metadata, store)?;
    crate::file::write_whole(path, |file| sealed.write(file).map_err(|e| Error::io(path, e)))
}
