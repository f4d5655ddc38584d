//! Work that several fits have in common, done once.
//!
//! Recipes compared on one split often begin alike: the same tf-idf matrix, the same word vectors, the same singular
//! vectors. A [`Run`](crate::Run) made by [`Run::sharing`](crate::Run::sharing) remembers what its stages made, under
//! a key of everything that went into it (the words of the documents, the stages so far with their arguments, the seed,
//! labels where a stage learns from them), and hands it out again when the same is asked for. Keys are SHA-256 of the
//! contents, so a hit is the same work and not work that looks alike.
//!
//! At most a gigabyte is remembered, matrices and the models that made them. What goes first is what is cheapest to do
//! again for the room it takes and was not asked for of late (GreedyDual-Size: Cao and Irani, Cost-Aware WWW Proxy Caching
//! Algorithms, USITS 1997): word vectors that took minutes outlast matrices that took a second and are ten times as large.
//! The seconds spent on a remembered result are counted as saved for whoever is handed it, so that the time of a recipe can
//! be told as if it had done everything itself.
//!
//! ```
//! use corpuscle::{Key, Run};
//! let run = Run::new(42, 1)?.sharing();
//! let mut times = 0;
//! for _ in 0..2 {
//!     let key = run.is_sharing().then(|| Key::of("sum").text("1 + 1").finish());
//!     let sum = run.shared(key, |_| 4, || {
//!         times += 1;
//!         Ok(1 + 1)
//!     })?;
//!     assert_eq!(*sum, 2);
//! }
//! assert_eq!(times, 1);
//! # Ok::<(), corpuscle::Error>(())
//! ```

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use sha2::{Digest, Sha256};

use crate::Result;

/// Most bytes that are remembered.
const BUDGET: usize = 1 << 30;

/// What a piece of work depends on, as a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key([u8; 32]);

/// A [`Key`] being made.
#[derive(Debug, Clone)]
pub struct KeyWriter(Sha256);

impl Key {
    /// Starts the key of a kind of work.
    pub fn of(kind: &str) -> KeyWriter {
        KeyWriter(Sha256::new()).text(kind)
    }
}

impl KeyWriter {
    /// Adds a text; its length goes in first, so that neighbouring texts cannot run into each other.
    #[must_use]
    pub fn text(mut self, text: &str) -> Self {
        self.0.update((text.len() as u64).to_le_bytes());
        self.0.update(text);
        self
    }

    /// Adds numbers.
    #[must_use]
    pub fn numbers(mut self, numbers: impl ExactSizeIterator<Item = u64>) -> Self {
        self.0.update((numbers.len() as u64).to_le_bytes());
        let mut buffer = Vec::with_capacity(8192);
        for number in numbers {
            buffer.extend_from_slice(&number.to_le_bytes());
            if buffer.len() == 8192 {
                self.0.update(&buffer);
                buffer.clear();
            }
        }
        self.0.update(&buffer);
        self
    }

    /// Adds what other work depends on.
    #[must_use]
    pub fn key(mut self, key: &Key) -> Self {
        self.0.update(key.0);
        self
    }

    /// The key.
    pub fn finish(self) -> Key {
        Key(self.0.finalize().into())
    }
}

struct Entry {
    value: Arc<dyn Any + Send + Sync>,
    seconds: f64,
    bytes: usize,
    /// Seconds a byte, and what those that went before were worth at the time of the last use.
    worth: f64,
}

#[derive(Default)]
struct Entries {
    by_key: HashMap<Key, Entry>,
    bytes: usize,
    /// What the last one that went was worth: it rises, so that what is not asked for falls behind.
    gone: f64,
}

impl Entries {
    fn insert(&mut self, key: Key, mut entry: Entry) {
        // What never fits is not to push everything else out.
        if entry.bytes > BUDGET {
            return;
        }
        self.bytes += entry.bytes;
        entry.worth = entry.worth_after(self.gone);
        if let Some(before) = self.by_key.insert(key, entry) {
            self.bytes -= before.bytes;
        }
        while self.bytes > BUDGET {
            let least = self.by_key.iter().min_by(|a, b| a.1.worth.total_cmp(&b.1.worth)).map(|(key, _)| *key);
            let Some(gone) = least.and_then(|key| self.by_key.remove(&key)) else { break };
            self.bytes -= gone.bytes;
            self.gone = gone.worth;
        }
    }

    fn used(&mut self, key: &Key) -> Option<&Entry> {
        let entry = self.by_key.get_mut(key)?;
        entry.worth = entry.worth_after(self.gone);
        Some(entry)
    }
}

impl Entry {
    fn worth_after(&self, gone: f64) -> f64 {
        gone + self.seconds / self.bytes.max(1) as f64
    }
}

/// Results under their keys.
#[derive(Default)]
pub(crate) struct Shared {
    entries: Mutex<Entries>,
    saved: Mutex<f64>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("saved", &self.saved_seconds()).finish_non_exhaustive()
    }
}

impl Shared {
    pub(crate) fn get_or<T: Send + Sync + 'static>(
        &self,
        key: Key,
        bytes: impl FnOnce(&T) -> usize,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<Arc<T>> {
        // No panic can leave the map half-changed, so a poisoned lock is still good.
        let known = |shared: &Self| -> Option<(Arc<T>, f64)> {
            let mut entries = shared.entries.lock().unwrap_or_else(PoisonError::into_inner);
            let entry = entries.used(&key)?;
            Some((Arc::clone(&entry.value).downcast().ok()?, entry.seconds))
        };
        if let Some((value, seconds)) = known(self) {
            *self.saved.lock().unwrap_or_else(PoisonError::into_inner) += seconds;
            return Ok(value);
        }
        let (started, saved) = (Instant::now(), self.saved_seconds());
        let value = Arc::new(work()?);
        // What this work was itself handed counts as part of it.
        let seconds = started.elapsed().as_secs_f64() + self.saved_seconds() - saved;
        let entry = Entry {
            value: Arc::clone(&value) as Arc<dyn Any + Send + Sync>,
            seconds,
            bytes: bytes(&value),
            worth: 0.0,
        };
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).insert(key, entry);
        Ok(value)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).bytes
    }

    pub(crate) fn saved_seconds(&self) -> f64 {
        *self.saved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Run;

    #[test]
    fn keys_tell_contents_apart() {
        let key = |a: &str, b: &str| Key::of("x").text(a).text(b).finish();
        assert_eq!(key("ab", "c"), key("ab", "c"));
        assert_ne!(key("ab", "c"), key("a", "bc"));
        let numbers = |list: &[u64]| Key::of("x").numbers(list.iter().copied()).finish();
        assert_ne!(numbers(&[1, 2]), numbers(&[2, 1]));
        assert_eq!(numbers(&vec![3; 5000]), numbers(&vec![3; 5000]));
    }

    #[test]
    fn failures_are_not_remembered_and_other_types_not_mixed_up() {
        let run = Run::new(1, 1).unwrap().sharing();
        let key = Some(Key::of("x").finish());
        assert!(run.shared::<u32>(key, |_| 4, || Err(crate::Error::Cancelled)).is_err());
        assert_eq!(*run.shared(key, |_| 4, || Ok(1u32)).unwrap(), 1);
        assert_eq!(*run.shared(key, |_| 4, || Ok(2u32)).unwrap(), 1);
        assert_eq!(*run.shared(key, |_| 4, || Ok("b")).unwrap(), "b");
        assert_eq!(*run.shared(None, |_| 4, || Ok(7u32)).unwrap(), 7);
    }

    #[test]
    fn what_is_cheap_for_its_size_and_not_asked_for_makes_room() {
        let mut entries = Entries::default();
        let key = |name: &str| Key::of(name).finish();
        let add = |entries: &mut Entries, name: &str, seconds: f64, bytes: usize| {
            entries.insert(key(name), Entry { value: Arc::new(()), seconds, bytes, worth: 0.0 });
        };
        add(&mut entries, "word vectors", 100.0, BUDGET / 16);
        add(&mut entries, "matrix", 1.0, BUDGET / 2);
        add(&mut entries, "whole", 1e6, BUDGET + 1);
        assert!(entries.used(&key("whole")).is_none() && entries.used(&key("matrix")).is_some());
        add(&mut entries, "next matrix", 1.5, BUDGET / 2);
        assert!(entries.used(&key("matrix")).is_none() && entries.used(&key("word vectors")).is_some());
        // However dear, what nobody asks for goes in the end.
        for number in 0..2000 {
            add(&mut entries, &number.to_string(), 1.0 + f64::from(number), BUDGET / 2);
        }
        assert!(entries.used(&key("word vectors")).is_none());
        assert!(entries.bytes <= BUDGET);
        assert_eq!(entries.bytes, entries.by_key.values().map(|entry| entry.bytes).sum::<usize>());
    }
}
