//! What every fit and transform is handed: seed, threads, progress and the cancel flag.
//!
//! Results never depend on the number of threads: work is cut into pieces whose borders come from the data, random
//! streams belong to pieces and not to threads, and floats are summed in a fixed order.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::ThreadPool;

use crate::share::{Key, Shared};
use crate::{Error, Result};

/// The random generator used everywhere: fast, with a stream that will not change between releases.
pub type Rng = Xoshiro256PlusPlus;

/// The seed used when none is given.
pub const DEFAULT_SEED: u64 = 42;

/// How wide dense weights are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision {
    /// In as few directions and bits as do no harm.
    #[default]
    Compact,
    /// With every bit.
    Full,
}

/// Receives what a person waiting wants to see. All calls may come from any thread.
pub trait Progress: Send + Sync {
    /// A stage begins; `total` is the number of steps when it is known.
    fn start(&self, stage: &str, total: Option<u64>);
    /// `steps` more steps are done.
    fn advance(&self, steps: u64);
    /// The stage ended after `seconds`.
    fn finish(&self, stage: &str, seconds: f64);
    /// Something the person should know but that does not stop the work.
    fn warn(&self, message: &str);
}

/// Shows nothing.
#[derive(Debug, Default, Clone, Copy)]
pub struct Silent;

impl Progress for Silent {
    fn start(&self, _stage: &str, _total: Option<u64>) {}
    fn advance(&self, _steps: u64) {}
    fn finish(&self, _stage: &str, _seconds: f64) {}
    fn warn(&self, _message: &str) {}
}

/// Seed, threads, progress and cancel flag of one piece of work. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct Run {
    seed: u64,
    precision: Precision,
    pool: Arc<ThreadPool>,
    /// Whether work stays on the thread that asks for it.
    inline: bool,
    progress: Arc<dyn Progress>,
    /// Any of them that is up stops the work; the last is this run's own.
    cancel: Vec<Arc<AtomicBool>>,
    /// When the work stops by itself.
    deadline: Option<Instant>,
    seconds: Arc<Mutex<VecDeque<(String, f64)>>>,
    shared: Option<Arc<Shared>>,
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("seed", &self.seed).field("threads", &self.threads()).finish_non_exhaustive()
    }
}

impl Run {
    /// A run with `threads` workers (0: one per core) and no progress.
    pub fn new(seed: u64, threads: usize) -> Result<Self> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|i| format!("corpuscle-{i}"))
            .build()
            .map_err(|e| Error::parameter("run", "threads", threads, format!("cannot be started: {e}")))?;
        Ok(Run {
            seed,
            precision: Precision::default(),
            pool: Arc::new(pool),
            inline: false,
            progress: Arc::new(Silent),
            cancel: vec![Arc::new(AtomicBool::new(false))],
            deadline: None,
            seconds: Arc::new(Mutex::new(VecDeque::new())),
            shared: None,
        })
    }

    /// The same run, reporting to `progress`.
    #[must_use]
    pub fn with_progress(mut self, progress: Arc<dyn Progress>) -> Self {
        self.progress = progress;
        self
    }

    /// The same run without progress or warnings, for fits inside fits (cross-validation, calibration).
    #[must_use]
    pub fn quiet(&self) -> Self {
        Run { progress: Arc::new(Silent), seconds: Arc::new(Mutex::new(VecDeque::new())), ..self.clone() }
    }

    /// The same run for work too small to share out, such as one text: it stays on the thread that asks for it, which saves a hop
    /// to a worker and back, some 10 to 50 µs, for each step. A loop of rayon's over one piece runs in place; one over more goes to
    /// rayon's own pool, with the same result.
    #[must_use]
    pub(crate) fn inline(&self) -> Self {
        Run { inline: true, ..self.clone() }
    }

    /// The same run with another seed.
    #[must_use]
    pub fn with_seed(&self, seed: u64) -> Self {
        Run { seed, ..self.clone() }
    }

    /// The same run, keeping wide dense weights so.
    #[must_use]
    pub fn with_precision(&self, precision: Precision) -> Self {
        Run { precision, ..self.clone() }
    }

    /// How wide dense weights are kept.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// The same run with a memory of its own: work asked for again is done once. See [`Key`].
    #[must_use]
    pub fn sharing(&self) -> Self {
        Run { shared: Some(Arc::default()), ..self.clone() }
    }

    /// The same run, sharing: with the memory that it has, or else with one of its own.
    #[must_use]
    pub fn keep_sharing(&self) -> Self {
        if self.is_sharing() { self.clone() } else { self.sharing() }
    }

    /// Whether equal work is done once.
    pub fn is_sharing(&self) -> bool {
        self.shared.is_some()
    }

    /// What `work` gives, or gave before under the same key; without a key, or in a run that shares nothing, always
    /// done anew. `bytes` says how large a result is.
    pub fn shared<T: Send + Sync + 'static>(
        &self,
        key: Option<Key>,
        bytes: impl FnOnce(&T) -> usize,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<Arc<T>> {
        match (&self.shared, key) {
            (Some(shared), Some(key)) => shared.get_or(key, bytes, work),
            _ => Ok(Arc::new(work()?)),
        }
    }

    /// How many bytes of shared work are remembered.
    pub fn remembered_bytes(&self) -> usize {
        self.shared.as_ref().map_or(0, |shared| shared.bytes())
    }

    /// Seconds that shared work would have taken had it been done again.
    pub fn saved_seconds(&self) -> f64 {
        self.shared.as_ref().map_or(0.0, |shared| shared.saved_seconds())
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// How many workers there are.
    pub fn threads(&self) -> usize {
        if self.inline { 1 } else { self.pool.current_num_threads() }
    }

    /// Runs `work` where rayon's parallel iterators use this run's workers.
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        if self.inline { work() } else { self.pool.install(work) }
    }

    /// A random stream of its own for each `stream` number: give each class, fold or chunk its own.
    pub fn rng(&self, stream: u64) -> Rng {
        // SplitMix64's increment keeps neighbouring streams apart before `seed_from_u64` mixes them.
        Rng::seed_from_u64(self.seed ^ stream.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// The flag that stops the work at its next check when set, for a signal handler or a caller's button.
    pub fn cancel_flag(&self) -> Arc<AtomicBool> {
        self.cancel.last().cloned().unwrap_or_default()
    }

    /// The same run with a cancel flag of its own: raised, it stops this piece of work and no other on the same workers. The
    /// flags it had still stop it too.
    #[must_use]
    pub fn cancellable(&self) -> Self {
        let mut run = self.clone();
        run.cancel.push(Arc::default());
        run
    }

    /// The same run, stopped at its next check after `deadline`, or at an earlier one that it had.
    #[must_use]
    pub fn until(&self, deadline: Instant) -> Self {
        Run { deadline: Some(self.deadline.map_or(deadline, |before| before.min(deadline))), ..self.clone() }
    }

    /// `Err(Cancelled)` once the cancel flag is up or the deadline is over. Stages call it between steps.
    pub fn check(&self) -> Result<()> {
        let is_up = self.cancel.iter().any(|flag| flag.load(Ordering::Relaxed));
        let is_over = || self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if is_up || is_over() { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// Runs one named stage on this run's workers, timing it and reporting its start and end.
    pub fn stage<R: Send>(&self, name: &str, total: Option<u64>, work: impl FnOnce() -> Result<R> + Send) -> Result<R> {
        self.check()?;
        self.watch(name, total, || self.install(work))
    }

    /// Like [`Run::stage`] for work that runs on the caller's own thread and has errors of its own.
    pub fn watch<R>(&self, name: &str, total: Option<u64>, work: impl FnOnce() -> R) -> R {
        self.progress.start(name, total);
        let started = Instant::now();
        let result = work();
        let seconds = started.elapsed().as_secs_f64();
        self.progress.finish(name, seconds);
        self.add_seconds(name, seconds);
        result
    }

    /// Counts `seconds` towards the stage `name` in [`Run::seconds`].
    pub fn add_seconds(&self, name: &str, seconds: f64) {
        if let Ok(mut list) = self.seconds.lock() {
            match list.iter_mut().find(|(known, _)| known == name) {
                Some((_, sum)) => *sum += seconds,
                None => list.push_back((name.to_string(), seconds)),
            }
        }
    }

    /// The stages run so far with their wall-clock seconds, in order of first start.
    pub fn seconds(&self) -> Vec<(String, f64)> {
        self.seconds.lock().map(|list| list.iter().cloned().collect()).unwrap_or_default()
    }

    /// Reports `steps` more steps of the stage under way.
    pub fn advance(&self, steps: u64) {
        self.progress.advance(steps);
    }

    /// Tells the person something that does not stop the work.
    pub fn warn(&self, message: &str) {
        self.progress.warn(message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng as _;

    #[test]
    fn streams_are_reproducible_and_differ() {
        let run = Run::new(7, 1).unwrap();
        assert_eq!(run.rng(3).next_u64(), run.rng(3).next_u64());
        assert_ne!(run.rng(3).next_u64(), run.rng(4).next_u64());
        assert_ne!(run.rng(3).next_u64(), run.with_seed(8).rng(3).next_u64());
    }

    #[test]
    fn a_raised_flag_stops_the_next_stage() {
        let run = Run::new(0, 1).unwrap();
        run.cancel_flag().store(true, Ordering::Relaxed);
        assert!(matches!(run.stage("x", None, || Ok(())), Err(Error::Cancelled)));
    }

    #[test]
    fn a_flag_of_its_own_stops_one_piece_of_work_and_no_other() {
        let run = Run::new(0, 1).unwrap();
        let (one, other) = (run.cancellable(), run.cancellable());
        one.cancel_flag().store(true, Ordering::Relaxed);
        assert!(one.quiet().check().is_err() && other.check().is_ok() && run.check().is_ok());
        run.cancel_flag().store(true, Ordering::Relaxed);
        assert!(other.check().is_err());
    }

    #[test]
    fn a_deadline_stops_one_piece_of_work_and_no_other() {
        let run = Run::new(0, 1).unwrap();
        let (over, hour) = (Instant::now(), std::time::Duration::from_secs(3600));
        assert!(run.until(over).quiet().check().is_err() && run.check().is_ok());
        assert!(run.until(over + hour).check().is_ok());
        // The earlier one holds.
        assert!(run.until(over).until(over + hour).check().is_err());
    }

    #[test]
    fn seconds_add_up_per_stage() {
        let run = Run::new(0, 1).unwrap();
        run.add_seconds("a", 1.0);
        run.add_seconds("b", 2.0);
        run.add_seconds("a", 3.0);
        assert_eq!(run.seconds(), vec![("a".to_string(), 4.0), ("b".to_string(), 2.0)]);
    }
}
