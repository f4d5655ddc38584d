//! The models of a server: loaded, named, and loaded again when their file is replaced.
//!
//! A request takes the model that is there when it arrives and keeps it to its end, so a replacement drops nothing. A file
//! that cannot be read leaves the old model in its place; the log and the metrics say so.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;

use corpuscle::Run;
use corpuscle::recipe::{Model, Predictor};
use serde_json::json;

use super::drift::Watch;
use crate::door::Door;
use crate::refusal::Refusal;
use crate::workers::Bench;
use crate::{Error, Result};

/// Predictors a thread keeps; those of replaced models go first.
const KEPT: usize = 16;

/// A model as it was read from its file.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// Different for every reading.
    number: u64,
    /// The first digits of the file's checksum.
    pub(crate) version: String,
    pub(crate) model: Model,
    /// What single texts are predicted with; none for a representation without a classifier.
    predictor: Option<Predictor>,
    /// What it has seen of late.
    pub(crate) watch: Watch,
}

impl Loaded {
    fn read(path: &Path, run: &Run) -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let model = Model::load(path, run)?;
        let fields = model.number_fields();
        if let Some(field) = fields.first() {
            return Err(Error::Wrong(format!(
                "{}: its recipe reads the field `{}` beside the text; a server is sent texts only",
                path.display(),
                field.field
            )));
        }
        let version = model.metadata().sha256.chars().take(12).collect();
        let predictor = model.predictor(run).ok();
        let watch = Watch::new(&model);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Ok(Loaded { number, version, model, predictor, watch })
    }

    /// This thread's predictor of the model.
    pub(crate) fn predictor<'a>(&self, bench: &'a mut Bench) -> Result<&'a mut Predictor, Refusal> {
        let kept = &mut bench.predictors;
        match kept.iter().position(|(number, _)| *number == self.number) {
            // The last is the one asked for nearly always.
            Some(at) if at + 1 == kept.len() => {}
            Some(at) => kept[at..].rotate_left(1),
            None => {
                let predictor = self.predictor.as_ref().ok_or_else(|| {
                    Refusal::bad(format!("this model has no classifier: its recipe is `{}`", self.model.recipe()))
                })?;
                if kept.len() >= KEPT {
                    kept.remove(0);
                }
                kept.push((self.number, predictor.clone()));
            }
        }
        kept.last_mut().map(|(_, predictor)| predictor).ok_or_else(|| Refusal::ours("no predictor"))
    }
}

/// What a file looked like when it was read.
type Look = (Option<SystemTime>, u64, u64);

fn look(path: &Path) -> Option<Look> {
    let about = std::fs::metadata(path).ok()?;
    #[cfg(unix)]
    let number = std::os::unix::fs::MetadataExt::ino(&about);
    #[cfg(not(unix))]
    let number = 0;
    Some((about.modified().ok(), about.len(), number))
}

/// A name and the model behind it.
#[derive(Debug)]
pub(crate) struct Named {
    pub(crate) name: String,
    path: PathBuf,
    now: RwLock<Arc<Loaded>>,
    look: RwLock<Option<Look>>,
}

impl Named {
    /// The model of this moment.
    pub(crate) fn now(&self) -> Arc<Loaded> {
        Arc::clone(&self.now.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// All models, the first of which answers when none is named.
#[derive(Debug)]
pub(crate) struct Models {
    list: Vec<Named>,
    run: Run,
}

impl Models {
    /// Loads them; each is `name=path`, or a path whose file stem is the name.
    pub(crate) fn load(given: &[String], run: &Run) -> Result<Self> {
        let mut list: Vec<Named> = Vec::new();
        for text in given {
            let (name, path) = match text.split_once('=') {
                // A file whose own name has such a sign is a file first.
                Some((name, path)) if !Path::new(text).is_file() => (name.to_string(), PathBuf::from(path)),
                _ => {
                    let path = PathBuf::from(text);
                    let stem = path.file_stem().unwrap_or(path.as_os_str());
                    (stem.to_string_lossy().into_owned(), path)
                }
            };
            if name.is_empty() || list.iter().any(|known| known.name == name) {
                return Err(Error::Wrong(format!(
                    "two models cannot go by one name, `{name}`; give them names: first=a.model second=b.model"
                )));
            }
            let look = look(&path);
            let loaded = Loaded::read(&path, run)?;
            list.push(Named { name, path, now: RwLock::new(Arc::new(loaded)), look: RwLock::new(look) });
        }
        if list.is_empty() {
            return Err(Error::Wrong("there is no model to serve".into()));
        }
        Ok(Models { list, run: run.clone() })
    }

    /// The model of that name, or the first.
    pub(crate) fn get(&self, name: Option<&str>) -> Result<&Named, Refusal> {
        match name {
            None => self.list.first().ok_or_else(|| Refusal::ours("no model")),
            Some(name) => self.list.iter().find(|named| named.name == name).ok_or_else(|| {
                let names: Vec<&str> = self.list.iter().map(|named| named.name.as_str()).collect();
                Refusal::missing(format!("there is no model `{name}`; there is {}", names.join(", ")))
            }),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Named> {
        self.list.iter()
    }

    /// Looks whether documents have begun or ceased to be unlike those trained on.
    pub(crate) fn watch(&self, door: &Door) {
        for named in &self.list {
            let loaded = named.now();
            loaded.watch.look(&named.name, &loaded.version, &door.journal);
        }
    }

    /// Reads the files again that are no longer what they were. Called by one thread.
    pub(crate) fn refresh(&self, door: &Door) {
        for named in &self.list {
            let found = look(&named.path);
            let before = *named.look.read().unwrap_or_else(PoisonError::into_inner);
            // A file that is gone may be about to be replaced.
            if found.is_none() || found == before {
                continue;
            }
            *named.look.write().unwrap_or_else(PoisonError::into_inner) = found;
            let read = Loaded::read(&named.path, &self.run);
            door.metrics.reloaded(&named.name, read.is_ok());
            match read {
                Ok(loaded) => {
                    door.journal.note("reload", json!({"model": named.name, "version": loaded.version}));
                    *named.now.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(loaded);
                }
                Err(error) => {
                    door.journal.note("reload failed", json!({"model": named.name, "reason": error.to_string()}));
                }
            }
        }
    }
}
