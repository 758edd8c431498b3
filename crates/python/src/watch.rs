//! Work with the interpreter unlocked, while the thread that asked for it looks after signals.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::exceptions::PyTimeoutError;
use pyo3::prelude::*;
use tilewright_engine::{Cancel, Code, Refusal};

use crate::refusal::ok;

/// How often signals are looked after.
pub(crate) const GLANCE: Duration = Duration::from_millis(30);

/// Does `work` in a thread of its own. A signal that raises (Ctrl-C) raises `cancel`; the exception comes when the work
/// has ended, which for work that heeds the flag is within a step. So does a time that passes; what is done too late is
/// refused also when it was done before anyone looked.
///
/// # Errors
/// What the signal raised, `TimeoutError` after `limit`, or the refusal of the work.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    cancel: &Cancel,
    limit: Option<Duration>,
    work: impl FnOnce() -> Result<T, Refusal> + Send,
) -> PyResult<T> {
    let result = py.detach(|| {
        thread::scope(|scope| {
            let (send, done) = channel();
            // Nobody receives once a signal has raised.
            scope.spawn(move || drop(send.send(work())));
            awaited(&done, cancel, limit)
        })
    })?;
    ok(py, result)
}

/// As [`watched`], but the exception comes at once: work that heeds the flag only now and then goes on to that moment by
/// itself, and what it made is dropped.
///
/// # Errors
/// What the signal raised, or the refusal of the work.
pub(crate) fn abandonable<T: Send + 'static>(
    py: Python<'_>,
    cancel: &Cancel,
    work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> PyResult<T> {
    let result = py.detach(|| {
        let (send, done) = channel();
        thread::spawn(move || drop(send.send(work())));
        awaited(&done, cancel, None)
    })?;
    ok(py, result)
}

/// Waits for a result and looks after signals meanwhile; one that raises, or the end of the time, raises `cancel`.
fn awaited<T>(
    done: &Receiver<Result<T, Refusal>>,
    cancel: &Cancel,
    limit: Option<Duration>,
) -> PyResult<Result<T, Refusal>> {
    let began = Instant::now();
    loop {
        let result = match done.recv_timeout(GLANCE) {
            Ok(Err(refusal)) => return Ok(Err(refusal)),
            Ok(result) => Some(result),
            Err(RecvTimeoutError::Disconnected) => return Ok(Err(lost())),
            Err(RecvTimeoutError::Timeout) => None,
        };
        if let Err(error) = Python::attach(|py| look(py, began, limit)) {
            cancel.cancel();
            return Err(error);
        }
        if let Some(result) = result {
            return Ok(result);
        }
    }
}

/// Signals, and the time.
///
/// # Errors
/// What the signal raised, or `TimeoutError`.
pub(crate) fn look(py: Python<'_>, began: Instant, limit: Option<Duration>) -> PyResult<()> {
    py.check_signals()?;
    match limit {
        Some(limit) if began.elapsed() >= limit => {
            Err(PyTimeoutError::new_err(format!("not done within {:.3} s", limit.as_secs_f64())))
        }
        _ => Ok(()),
    }
}

/// A number of seconds; none for what is no time.
pub(crate) fn limit(seconds: Option<f64>) -> Option<Duration> {
    seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
}

/// A thread that ended without an answer.
pub(crate) fn lost() -> Refusal {
    Refusal::new(Code::DeviceFailed, "work", "an end of it", "none: its thread ended")
}
