//! How much memory a piece of work takes at its peak, where the system can tell.
//!
//! A thread of its own reads the resident size of the process from `/proc/self/status` every few milliseconds while the work is
//! under way; the growth over what was resident before is the work's own. Nothing is written anywhere, so other watchers of the
//! process are not disturbed. Memory that earlier work gave back to the allocator and that is used again does not count, and a
//! peak shorter than the pause can be missed, so the figure is a lower bound. Elsewhere than on Linux there is none.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

/// The time between two looks: short against fits worth measuring, long against a look (some 20 µs).
const PAUSE: Duration = Duration::from_millis(5);

/// A piece of work under way.
#[derive(Debug)]
pub(super) struct Peak {
    before: Option<u64>,
    highest: Arc<AtomicU64>,
    stopped: Arc<AtomicBool>,
    watcher: Option<(mpsc::Sender<()>, JoinHandle<()>)>,
}

impl Peak {
    /// Starts to watch.
    pub(super) fn start() -> Self {
        let before = resident();
        let highest = Arc::new(AtomicU64::new(before.unwrap_or(0)));
        let stopped = Arc::new(AtomicBool::new(false));
        let mut peak = Peak { before, highest: Arc::clone(&highest), stopped: Arc::clone(&stopped), watcher: None };
        if before.is_some() {
            let (stop, wait) = mpsc::channel();
            let watch = move || {
                // Waiting on the channel ends at once when the work does.
                while !stopped.load(Ordering::Relaxed)
                    && wait.recv_timeout(PAUSE) == Err(mpsc::RecvTimeoutError::Timeout)
                {
                    highest.fetch_max(resident().unwrap_or(0), Ordering::Relaxed);
                }
            };
            let spawned = std::thread::Builder::new().name("corpuscle-memory".into()).spawn(watch);
            peak.watcher = spawned.ok().map(|watcher| (stop, watcher));
        }
        peak
    }

    /// Bytes that the process grew by at most since the start; ends the watch.
    pub(super) fn growth(mut self) -> Option<u64> {
        self.stop();
        let highest = self.highest.load(Ordering::Relaxed).max(resident()?);
        Some(highest.saturating_sub(self.before?))
    }

    fn stop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        if let Some((stop, watcher)) = self.watcher.take() {
            drop(stop);
            // A watcher that is gone has nothing more to say.
            let _ = watcher.join();
        }
    }
}

impl Drop for Peak {
    fn drop(&mut self) {
        self.stop();
    }
}

fn resident() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_array_is_seen_where_the_system_can_tell_even_when_it_is_gone() {
        let peak = Peak::start();
        let array = vec![1u8; 64 << 20];
        assert_eq!(array.iter().map(|&byte| u64::from(byte)).sum::<u64>(), 64 << 20);
        // Longer than a pause, on a machine that may be busy.
        std::thread::sleep(20 * PAUSE);
        drop(array);
        // Other tests run at the same time and may give memory back, so only the order of size is sure.
        if let Some(growth) = peak.growth() {
            assert!(growth > 16 << 20, "{growth}");
        }
    }
}
