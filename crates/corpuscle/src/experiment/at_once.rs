//! Jobs that know nothing of each other, several at a time.
//!
//! What cannot be shared out within one job (a solver that visits documents in turn) leaves no worker idle that way. The threads are
//! not those of a run, which the jobs hand their own work to: not to be called from one of these, which would wait for itself.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::Result;

/// What `work(job, state)` gives for each job, in order; every thread has a `state` of its own. After an error no further job is begun,
/// and the error of the first job that has one is given.
pub(super) fn at_once<S, T: Send>(
    jobs: usize,
    threads: usize,
    state: impl Fn() -> S + Sync,
    work: impl Fn(usize, &mut S) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(jobs));
    let thread = || {
        let mut state = state();
        loop {
            let job = next.fetch_add(1, Ordering::Relaxed);
            if job >= jobs {
                return;
            }
            let result = work(job, &mut state);
            if result.is_err() {
                next.store(jobs, Ordering::Relaxed);
            }
            done.lock().unwrap_or_else(PoisonError::into_inner).push((job, result));
        }
    };
    match threads.min(jobs) {
        0 | 1 => thread(),
        threads => std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(thread)))),
    }
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|&(job, _)| job);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn results_are_in_order_at_any_number_of_threads() {
        for threads in [0, 1, 2, 8] {
            let squares = at_once(
                20,
                threads,
                || 0,
                |job, seen: &mut usize| {
                    *seen += 1;
                    Ok(job * job)
                },
            );
            assert_eq!(squares.unwrap(), (0..20).map(|job| job * job).collect::<Vec<_>>());
        }
        assert!(at_once(0, 4, || (), |_, ()| Ok(())).unwrap().is_empty());
    }

    #[test]
    fn the_first_error_is_given_and_later_jobs_are_left() {
        let begun = AtomicUsize::new(0);
        let result = at_once(
            1000,
            2,
            || (),
            |job, ()| {
                begun.fetch_add(1, Ordering::Relaxed);
                if job >= 3 { Err(Error::data(job.to_string())) } else { Ok(()) }
            },
        );
        assert!(result.unwrap_err().to_string().contains('3'));
        assert!(begun.into_inner() <= 5);
    }
}
