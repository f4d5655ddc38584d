//! The results of a comparison in a file that grows line by line, so that an interrupted run goes on where it stopped.
//!
//! The first line says what the run is: checksums of the documents and of the splits, the recipes, the seed. Every other
//! line is one recipe on one split. A line counts once its end is written, so a run that was cut off in the middle of one
//! loses that line alone; a file that tells of other documents, splits, recipes or seeds is refused with the difference.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::compare::Outcome;
use super::splits::Split;
use crate::corpus::Document;
use crate::recipe::Recipe;
use crate::{Error, Result};

/// What the file is of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Header {
    /// Names the format, and tells it from any other JSON Lines.
    corpuscle_comparison: u32,
    version: String,
    seed: u64,
    documents: String,
    splits: String,
    recipes: Vec<String>,
}

/// One recipe on one split.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    split: usize,
    recipe: usize,
    outcome: Outcome,
}

/// A results file, open to be added to.
#[derive(Debug)]
pub struct ResultsFile {
    path: PathBuf,
    file: File,
    known: BTreeMap<(usize, usize), Outcome>,
}

impl ResultsFile {
    /// Starts a file, or takes up the one that is there when it is of the same run.
    pub fn open(
        path: impl AsRef<Path>,
        recipes: &[Recipe],
        documents: &[Document],
        splits: &[Split],
        seed: u64,
    ) -> Result<Self> {
        let path = path.as_ref();
        let failed = |e| Error::io(path, e);
        let header = Header {
            corpuscle_comparison: 1,
            version: env!("CARGO_PKG_VERSION").to_string(),
            seed,
            documents: checksum_of_documents(documents),
            splits: checksum_of_splits(splits),
            recipes: recipes.iter().map(ToString::to_string).collect(),
        };
        let first = line_of(&header)?;
        let found = match std::fs::read(path) {
            Ok(found) => found,
            Err(e) if e.kind() == ErrorKind::NotFound => Vec::new(),
            Err(e) => return Err(failed(e)),
        };
        let whole = found.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
        // Nothing but the beginning of this very first line may be overwritten.
        if whole == 0 && !first.as_bytes().starts_with(&found) {
            return Err(refused(path, "it is no results file of `compare`"));
        }
        let known = read_lines(path, &found[..whole], &header, splits.len())?;
        let mut file = OpenOptions::new().create(true).append(true).open(path).map_err(failed)?;
        file.set_len(whole as u64).map_err(failed)?;
        if whole == 0 {
            file.write_all(first.as_bytes()).map_err(failed)?;
        }
        // Lines are acknowledged one by one below, which is worth nothing while the file's name could still be lost.
        file.sync_all().and_then(|()| crate::file::sync_folder(path)).map_err(failed)?;
        Ok(ResultsFile { path: path.to_path_buf(), file, known })
    }

    /// How many outcomes are there.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether nothing is there yet.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// What a recipe did on a split, by their numbers, when that is known.
    pub fn get(&self, recipe: usize, split: usize) -> Option<&Outcome> {
        self.known.get(&(recipe, split))
    }

    /// Adds what a recipe did on a split; it is on the disk when this returns.
    pub fn add(&mut self, recipe: usize, split: usize, outcome: &Outcome) -> Result<()> {
        let line = line_of(&Line { split, recipe, outcome: outcome.clone() })?;
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data());
        written.map_err(|e| Error::io(&self.path, e))?;
        self.known.insert((recipe, split), outcome.clone());
        Ok(())
    }
}

fn line_of(value: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string(value).map_err(|e| Error::data(format!("a result cannot be written: {e}")))?;
    Ok(text + "\n")
}

fn refused(path: &Path, reason: &str) -> Error {
    Error::input(path.display().to_string(), None, format!("{reason}; name another file, or delete this one"))
}

fn read_lines(path: &Path, bytes: &[u8], header: &Header, splits: usize) -> Result<BTreeMap<(usize, usize), Outcome>> {
    let mut known = BTreeMap::new();
    for (index, line) in bytes.split(|&byte| byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty()) {
        if index == 0 {
            let found: Header =
                serde_json::from_slice(line).map_err(|_| refused(path, "it is no results file of `compare`"))?;
            if let Some(other) = difference(&found, header) {
                return Err(refused(path, &format!("it is of another run: {other}")));
            }
            continue;
        }
        let broken = |why: &str| Error::input(path.display().to_string(), Some(index as u64 + 1), why);
        let line: Line = serde_json::from_slice(line)
            .map_err(|e| broken(&format!("this is no result: {e}; delete the line to have it computed again")))?;
        if line.recipe >= header.recipes.len() || line.split >= splits {
            return Err(broken("this result is of a recipe or split that the run has not; delete the line"));
        }
        known.insert((line.recipe, line.split), line.outcome);
    }
    Ok(known)
}

/// What tells the run of a file from this one.
fn difference(found: &Header, own: &Header) -> Option<String> {
    if found.corpuscle_comparison != own.corpuscle_comparison || found.version != own.version {
        return Some(format!("version {} wrote it, this is {}", found.version, own.version));
    }
    if found.recipes != own.recipes {
        return Some(format!("its recipes are {}", found.recipes.join("; ")));
    }
    if found.seed != own.seed {
        return Some(format!("its seed is {}", found.seed));
    }
    if found.documents != own.documents {
        return Some("its documents are not these".into());
    }
    (found.splits != own.splits).then(|| "its splits are not these".into())
}

fn checksum_of_documents(documents: &[Document]) -> String {
    let mut hash = Sha256::new();
    // Lengths go before texts, so that no two lists of documents read the same.
    let text = |hash: &mut Sha256, text: &str| {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    };
    for document in documents {
        text(&mut hash, &document.id);
        text(&mut hash, &document.text);
        hash.update(document.weight.to_le_bytes());
        hash.update(document.labels.as_ref().map_or(u64::MAX, |labels| labels.len() as u64).to_le_bytes());
        document.labels.iter().flatten().for_each(|label| text(&mut hash, label));
        for (name, numbers) in &document.numbers {
            text(&mut hash, name);
            numbers.iter().for_each(|number| hash.update(number.to_le_bytes()));
        }
    }
    hex(hash)
}

fn checksum_of_splits(splits: &[Split]) -> String {
    let mut hash = Sha256::new();
    for rows in splits.iter().flat_map(|split| [&split.train, &split.test]) {
        hash.update((rows.len() as u64).to_le_bytes());
        rows.iter().for_each(|&row| hash.update((row as u64).to_le_bytes()));
    }
    hex(hash)
}

fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Run;
    use crate::corpus::{Labels, demo};
    use crate::experiment::{compare_with, k_folds};

    struct Setting {
        recipes: Vec<Recipe>,
        documents: Vec<Document>,
        splits: Vec<Split>,
        run: Run,
        folder: tempfile::TempDir,
    }

    fn setting() -> Setting {
        let mut documents = demo().unwrap().train;
        documents.truncate(80);
        let labels = Labels::from_lists(documents.iter().map(|document| document.labels.as_deref()));
        Setting {
            recipes: ["tfidf | svm(calibrate=0)", "binary | knn(calibrate=0)"]
                .map(|r| Recipe::parse(r).unwrap())
                .into(),
            splits: k_folds(&labels, 3, 1).unwrap(),
            documents,
            run: Run::new(1, 2).unwrap(),
            folder: tempfile::tempdir().unwrap(),
        }
    }

    impl Setting {
        fn open(&self) -> Result<ResultsFile> {
            self.open_with(&self.recipes, 1)
        }

        fn open_with(&self, recipes: &[Recipe], seed: u64) -> Result<ResultsFile> {
            ResultsFile::open(self.path(), recipes, &self.documents, &self.splits, seed)
        }

        fn path(&self) -> PathBuf {
            self.folder.path().join("results.jsonl")
        }

        /// Accuracies of all splits, and how many outcomes were computed and not read.
        fn compare(&self) -> (Vec<f64>, usize) {
            let mut file = self.open().unwrap();
            let before = file.len();
            let found =
                compare_with(&self.recipes, &self.documents, &self.splits, Some(&mut file), &self.run, |_| {}).unwrap();
            let accuracies = found.recipes.iter().flat_map(|outcomes| outcomes.splits.iter().map(|o| o.accuracy));
            (accuracies.collect(), file.len() - before)
        }
    }

    #[test]
    fn a_run_cut_off_anywhere_goes_on_where_it_stopped() {
        let setting = setting();
        let (whole, computed) = setting.compare();
        assert_eq!(computed, 6);
        let bytes = std::fs::read(setting.path()).unwrap();
        let ends: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at] == b'\n').collect();
        assert_eq!(ends.len(), 7);
        // In the middle of the first line, at its end, in the middle of a result, before its last byte, at the end.
        for (cut, left) in [(10, 6), (ends[0] + 1, 6), (ends[2] + 9, 4), (ends[4], 3), (bytes.len(), 0)] {
            std::fs::write(setting.path(), &bytes[..cut]).unwrap();
            let (again, computed) = setting.compare();
            assert_eq!((again, computed), (whole.clone(), left), "cut at {cut}");
            assert_eq!(std::fs::read(setting.path()).unwrap().iter().filter(|&&byte| byte == b'\n').count(), 7);
        }
    }

    #[test]
    fn files_of_other_runs_are_refused_and_left_alone() {
        let mut setting = setting();
        setting.open().unwrap();
        let said = |result: Result<ResultsFile>| result.unwrap_err().to_string();
        assert!(said(setting.open_with(&setting.recipes[..1], 1)).contains("its recipes are tfidf"));
        assert!(said(setting.open_with(&setting.recipes, 2)).contains("seed is 1"));
        let train = setting.splits[0].train.pop().unwrap();
        assert!(said(setting.open()).contains("splits"));
        setting.splits[0].train.push(train);
        setting.documents[3].text.push('!');
        assert!(said(setting.open()).contains("documents are not these"));
        for foreign in ["my notes", "my notes\n", "{\"a\": 1}\n"] {
            std::fs::write(setting.path(), foreign).unwrap();
            assert!(said(setting.open()).contains("no results file"));
            assert_eq!(std::fs::read_to_string(setting.path()).unwrap(), foreign);
        }
    }
}
