//! A folder with the demo corpus in files, and the command to run in it.

use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    /// A folder with `demo.jsonl` in it.
    pub(crate) fn new() -> Self {
        let place = Self::empty();
        place.write("demo.jsonl", corpuscle::corpus::DEMO_JSONL);
        place
    }

    pub(crate) fn empty() -> Self {
        Place { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    pub(crate) fn files(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::cargo_bin("corpuscle").unwrap();
        command.current_dir(self.folder.path()).args(arguments);
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs what must succeed and gives its standard output.
    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.ok(arguments)).unwrap()
    }

    /// Runs what must fail with that exit code, and gives what it said. Whatever fails must not have panicked.
    pub(crate) fn fails(&self, code: i32, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(!said.contains("panicked"), "{said}");
        assert!(!said.trim().is_empty(), "{arguments:?} failed without a word");
        said
    }

    /// Trains a model on the demo corpus's training part.
    pub(crate) fn train(&self, recipe: &str, model: &str) -> Value {
        self.json(&["train", "demo.jsonl", "--where", "split=train", "--recipe", recipe, "-o", model, "--json", "-q"])
    }
}

/// The folder with the real corpora, when this checkout has it beside it.
pub(crate) fn shared_data() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: no ../shared/data beside the project");
    None
}
