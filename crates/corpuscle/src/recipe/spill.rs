//! Documents whose words wait on disk: for a corpus larger than memory.
//!
//! Texts are tokenised as they are read and written to one file, a chunk after the other, at about two bytes a token
//! ([`PackedTokens`]); in memory stay labels and weights. [`Recipe::fit_spilled`](super::Recipe::fit_spilled) goes through the
//! file twice and gives the bytes that a fit in memory gives. The file has no name once it is open, so nothing is left behind
//! however the process ends (where the system does not allow that, it is removed when the documents are dropped).
//!
//! ```
//! use corpuscle::{Run, corpus::Document, recipe::{Corpus, Recipe, Spilled}};
//! let run = Run::new(42, 1)?;
//! let recipe = Recipe::parse("tfidf | svm")?;
//! let documents = || ["paper jam", "printer jam", "wrong password", "no password"].iter().enumerate().map(|(at, text)| {
//!     Ok(Document::new(at.to_string(), *text).labelled(if at < 2 { "printer" } else { "login" }))
//! });
//! let folder = std::env::temp_dir();
//! let spilled = Spilled::read(documents(), recipe.words(), &folder, &run)?;
//! let corpus = Corpus::read(documents(), recipe.words(), &run)?;
//! assert_eq!(recipe.fit_spilled(&spilled, &run)?.to_bytes()?, recipe.fit(&corpus, &run)?.to_bytes()?);
//! # Ok::<(), corpuscle::Error>(())
//! ```

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use super::data::{NO_DOCUMENTS, for_each_batch};
use crate::corpus::{Document, Labels};
use crate::text::{PackedTokens, Tokens, WordsParams};
use crate::vectorize::Chunks;
use crate::{Error, Result, Run};

/// A chunk is written when it has this much text or this many documents.
const CHUNK_BYTES: usize = 8 << 20;
const CHUNK_DOCUMENTS: usize = 1 << 16;

/// Chunks are read together up to this many tokens: larger ones share out better and are merged less often.
const TOKENS_AT_ONCE: u64 = 1 << 22;

/// Documents whose words are on disk, with labels and weights in memory.
#[derive(Debug)]
pub struct Spilled {
    /// Labels, in order.
    pub labels: Labels,
    /// Weights, when some document's is not 1.
    pub weights: Option<Vec<f32>>,
    /// Names of the data files, for the model's provenance.
    pub sources: Vec<String>,
    file: Mutex<File>,
    /// Length and tokens of every chunk, in the order of the file.
    chunks: Vec<(usize, u64)>,
    path: PathBuf,
}

impl Spilled {
    /// Reads and tokenises documents into a file in `folder`.
    pub fn read<I>(documents: I, words: &WordsParams, folder: &Path, run: &Run) -> Result<Self>
    where
        I: IntoIterator<Item = Result<Document>>,
        I::IntoIter: Send,
    {
        let (mut file, path) = open(folder)?;
        let mut chunks = Vec::new();
        let mut labels = Gathered::default();
        let mut weights: Vec<f32> = Vec::new();
        let mut texts: Vec<String> = Vec::new();
        let mut bytes = 0;
        let mut write = |texts: &mut Vec<String>| -> Result<()> {
            let packed = PackedTokens::of(&words.tokenize(texts, run)?);
            let chunk = packed.to_bytes();
            file.write_all(&chunk).map_err(|e| Error::io(folder, e))?;
            chunks.push((chunk.len(), packed.n_tokens()));
            texts.clear();
            Ok(())
        };
        for_each_batch(documents, run, |batch| {
            for document in batch {
                bytes += document.text.len();
                texts.push(document.text);
                labels.push(document.labels);
                weights.push(document.weight);
            }
            if bytes >= CHUNK_BYTES || texts.len() >= CHUNK_DOCUMENTS {
                bytes = 0;
                write(&mut texts)?;
            }
            Ok::<_, Error>(())
        })?;
        if !texts.is_empty() {
            write(&mut texts)?;
        }
        if weights.is_empty() {
            return Err(Error::data(NO_DOCUMENTS));
        }
        let weights = weights.iter().any(|&weight| weight != 1.0).then_some(weights);
        Ok(Spilled { labels: labels.finish()?, weights, sources: Vec::new(), file: Mutex::new(file), chunks, path })
    }

    /// How many bytes are on disk.
    pub fn bytes(&self) -> u64 {
        self.chunks.iter().map(|&(length, _)| length as u64).sum()
    }

    fn joined(&self, parts: &mut Vec<PackedTokens>, run: &Run) -> Result<Tokens> {
        let order: Vec<(u32, u32)> = parts
            .iter()
            .zip(0u32..)
            .flat_map(|(part, number)| (0..part.n_documents() as u32).map(move |document| (number, document)))
            .collect();
        PackedTokens::join(&std::mem::take(parts), &order, run)
    }
}

impl Drop for Spilled {
    fn drop(&mut self) {
        // Gone already where open files may lose their names.
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Chunks for Spilled {
    fn n_documents(&self) -> usize {
        self.labels.len()
    }

    fn n_tokens(&self) -> u64 {
        self.chunks.iter().map(|&(_, tokens)| tokens).sum()
    }

    fn for_each(&self, run: &Run, work: &mut dyn FnMut(&Tokens) -> Result<()>) -> Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = |e| Error::io(&self.path, e);
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        let (mut parts, mut tokens) = (Vec::new(), 0);
        for &(length, own) in &self.chunks {
            run.check()?;
            if !parts.is_empty() && tokens + own > TOKENS_AT_ONCE {
                work(&self.joined(&mut parts, run)?)?;
                tokens = 0;
            }
            let mut bytes = vec![0; length];
            file.read_exact(&mut bytes).map_err(failed)?;
            parts.push(PackedTokens::from_bytes(&bytes)?);
            tokens += own;
        }
        if !parts.is_empty() {
            work(&self.joined(&mut parts, run)?)?;
        }
        Ok(())
    }
}

/// A new file in a folder, without a name where that can be.
fn open(folder: &Path) -> Result<(File, PathBuf)> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let path = folder.join(format!(".corpuscle-{}-{number}.spill", std::process::id()));
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path);
    let file = file.map_err(|e| Error::io(&path, e))?;
    let _ = std::fs::remove_file(&path);
    Ok((file, path))
}

/// Labels as numbers while documents are read: names are kept once.
#[derive(Debug, Default)]
struct Gathered {
    numbers: HashMap<String, u32>,
    codes: Vec<u32>,
    /// How many labels each document has; none for an unlabelled one.
    sizes: Vec<Option<u32>>,
}

impl Gathered {
    fn push(&mut self, labels: Option<Vec<String>>) {
        let size = labels.as_ref().map(|labels| labels.len() as u32);
        self.sizes.push(size);
        for label in labels.into_iter().flatten() {
            let next = self.numbers.len() as u32;
            self.codes.push(*self.numbers.entry(label).or_insert(next));
        }
    }

    /// Classes in the order of their names.
    fn finish(self) -> Result<Labels> {
        let mut names: Vec<(String, u32)> = self.numbers.into_iter().collect();
        names.sort_unstable();
        let mut places = vec![0u32; names.len()];
        names.iter().zip(0u32..).for_each(|(&(_, number), place)| places[number as usize] = place);
        let mut rest = &self.codes[..];
        let rows = self.sizes.iter().map(|size| {
            let (own, after) = rest.split_at(size.unwrap_or(0) as usize);
            rest = after;
            size.map(|_| own.iter().map(|&code| places[code as usize]).collect())
        });
        Labels::with_classes(names.into_iter().map(|(name, _)| name).collect(), rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::{Corpus, Recipe};

    fn documents() -> Vec<Document> {
        let mut documents = crate::corpus::demo().unwrap().train;
        documents.iter_mut().step_by(7).for_each(|document| document.labels = None);
        documents.iter_mut().step_by(5).for_each(|document| document.weight = 0.5);
        documents
    }

    #[test]
    fn a_model_of_documents_on_disk_has_the_same_bytes() {
        let folder = tempfile::tempdir().unwrap();
        for line in
            ["words(stem=english) | tfidf(ngrams=2, min_df=2) | svm", "(counts + binary) | ig(200) | lsi(9) | logistic"]
        {
            let recipe = Recipe::parse(line).unwrap();
            for threads in [1, 2] {
                let run = Run::new(1, threads).unwrap();
                let read = || documents().into_iter().map(Ok);
                let spilled = Spilled::read(read(), recipe.words(), folder.path(), &run).unwrap();
                let corpus = Corpus::read(read(), recipe.words(), &run).unwrap();
                assert_eq!((&spilled.labels, &spilled.weights), (&corpus.labels, &corpus.weights));
                assert_eq!(spilled.n_tokens(), corpus.tokens.n_tokens() as u64);
                let whole = recipe.fit(&corpus, &run).unwrap().to_bytes().unwrap();
                assert_eq!(recipe.fit_spilled(&spilled, &run).unwrap().to_bytes().unwrap(), whole);
            }
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn several_labels_and_none() {
        let lists = [Some(vec!["b", "a"]), None, Some(vec![]), Some(vec!["c"])];
        let lists: Vec<Option<Vec<String>>> =
            lists.into_iter().map(|list| list.map(|list| list.into_iter().map(String::from).collect())).collect();
        let mut gathered = Gathered::default();
        lists.iter().for_each(|list| gathered.push(list.clone()));
        assert_eq!(gathered.finish().unwrap(), Labels::from_lists(lists.iter().map(Option::as_deref)));
    }

    #[test]
    fn what_cannot_be_done_is_refused_with_the_reason() {
        let run = Run::new(1, 1).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let read = |folder: &Path, documents: Vec<Document>| {
            Spilled::read(documents.into_iter().map(Ok), &WordsParams::default(), folder, &run)
        };
        assert!(read(folder.path(), Vec::new()).unwrap_err().to_string().contains("no documents"));
        assert!(matches!(read(&folder.path().join("gone"), documents()), Err(Error::Io { .. })));
        let spilled = read(folder.path(), documents()).unwrap();
        let said = Recipe::parse("scdv | svm").unwrap().fit_spilled(&spilled, &run).unwrap_err().to_string();
        assert!(said.contains("`scdv` needs the words of all documents in memory"), "{said}");
    }
}
