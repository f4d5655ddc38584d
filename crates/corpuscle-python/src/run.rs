//! Seed, threads and progress of one call; the interpreter is let go while it works.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use corpuscle::{Progress, Run};
use pyo3::exceptions::{PyRuntimeError, PyUserWarning};
use pyo3::prelude::*;

use crate::errors::raised;

/// How often signals are looked at and progress is shown.
const GLANCE: Duration = Duration::from_millis(50);

/// What a call needs beside its data.
#[pyclass(frozen, module = "corpuscle._native", name = "Run")]
pub(crate) struct Settings {
    seed: u64,
    threads: usize,
    /// Called as `progress(stage, done, total)` from the thread that made the call.
    progress: Option<Py<PyAny>>,
}

#[pymethods]
impl Settings {
    #[new]
    #[pyo3(signature = (seed, threads=0, progress=None))]
    fn new(seed: u64, threads: usize, progress: Option<Py<PyAny>>) -> Self {
        Settings { seed, threads, progress }
    }
}

/// Keeps what the library reports until the caller's thread looks.
#[derive(Default)]
struct Notice(Mutex<Noted>);

#[derive(Default, Clone)]
struct Noted {
    stage: String,
    done: u64,
    total: Option<u64>,
    warnings: Vec<String>,
}

impl Notice {
    fn with<R>(&self, look: impl FnOnce(&mut Noted) -> R) -> R {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Progress for Notice {
    fn start(&self, stage: &str, total: Option<u64>) {
        self.with(|noted| (noted.stage, noted.done, noted.total) = (stage.to_string(), 0, total));
    }

    fn advance(&self, steps: u64) {
        self.with(|noted| noted.done += steps);
    }

    fn finish(&self, _stage: &str, _seconds: f64) {}

    fn warn(&self, message: &str) {
        self.with(|noted| noted.warnings.push(message.to_string()));
    }
}

impl Settings {
    /// Does `work` on workers of its own, which end with it: a pool that outlived the call would hang in a forked process.
    /// A signal (Ctrl-C) raises the run's cancel flag.
    pub(crate) fn work<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Run) -> corpuscle::Result<T> + Send,
    ) -> PyResult<T> {
        let notice = Arc::new(Notice::default());
        let run = Run::new(self.seed, self.threads).map_err(raised)?.with_progress(notice.clone());
        let stop = run.cancel_flag();
        let glance = || {
            Python::attach(|py| {
                py.check_signals()?;
                let Some(progress) = &self.progress else { return Ok(()) };
                let noted = notice.with(|noted| noted.clone());
                if noted.stage.is_empty() {
                    return Ok(());
                }
                progress.call1(py, (noted.stage, noted.done, noted.total)).map(|_| ())
            })
        };
        let (result, raised_here) = py.detach(|| {
            let (send, receive) = channel();
            std::thread::scope(|scope| {
                let run = &run;
                scope.spawn(move || {
                    // The receiver is there until a result came.
                    let _ = send.send(run.install(|| work(run)));
                });
                let mut fault: Option<PyErr> = None;
                loop {
                    match receive.recv_timeout(GLANCE) {
                        Ok(result) => return (Some(result), fault),
                        Err(RecvTimeoutError::Disconnected) => return (None, fault),
                        Err(RecvTimeoutError::Timeout) if fault.is_none() => {
                            if let Err(error) = glance() {
                                stop.store(true, Ordering::Relaxed);
                                fault = Some(error);
                            }
                        }
                        Err(RecvTimeoutError::Timeout) => {}
                    }
                }
            })
        });
        if let Some(error) = raised_here {
            return Err(error);
        }
        for message in notice.with(|noted| std::mem::take(&mut noted.warnings)) {
            let message = std::ffi::CString::new(message.replace('\0', " ")).unwrap_or_default();
            PyErr::warn(py, &py.get_type::<PyUserWarning>(), &message, 2)?;
        }
        let result =
            result.ok_or_else(|| PyRuntimeError::new_err("the work ended without a result: please report this"));
        result?.map_err(raised)
    }

    /// A run that stays on the caller's own thread, for what is too small to be worth workers.
    pub(crate) fn single(&self) -> PyResult<Run> {
        Run::new(self.seed, 1).map_err(raised)
    }
}
