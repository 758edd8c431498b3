//! One reply, step by step.

use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use pyo3::prelude::*;
use tilewright_engine::{Cancel, Code, Event, Generation, ReasoningSplitter, Refusal};

use crate::refusal::raise;
use crate::report::Report;
use crate::watch::{GLANCE, limit, look, lost};

/// A reply in the making: a thread that is at most one step ahead of who asks.
#[pyclass(frozen, module = "tilewright._native")]
pub(crate) struct Reply {
    cancel: Cancel,
    worker: Mutex<Option<Worker>>,
}

struct Worker {
    steps: Receiver<Result<Vec<Event>, Refusal>>,
    splitter: ReasoningSplitter,
    thread: JoinHandle<()>,
}

/// What waiting for a moment gave.
enum Moment {
    Nothing,
    Step(Result<Report, Refusal>),
    Over,
}

impl Reply {
    pub(crate) fn start(
        mut generation: Generation<'static>,
        cancel: Cancel,
        splitter: ReasoningSplitter,
    ) -> Result<Self, Refusal> {
        // Without a place to put steps in, a step is taken when the one before has been.
        let (send, steps) = sync_channel(0);
        let work = move || {
            while let Some(step) = generation.step() {
                if send.send(step).is_err() {
                    break;
                }
            }
        };
        let none = |error| {
            Refusal::new(Code::OutOfMemory, "thread", "one more", error)
                .with_remedy("Raise the system's limit of threads, or end other programs.")
        };
        let thread = thread::Builder::new().name("reply".to_owned()).spawn(work).map_err(none)?;
        Ok(Self { cancel, worker: Mutex::new(Some(Worker { steps, splitter, thread })) })
    }

    fn worker(&self) -> MutexGuard<'_, Option<Worker>> {
        self.worker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self) -> Moment {
        let mut guard = self.worker();
        let Some(worker) = guard.as_mut() else { return Moment::Over };
        let (step, over) = match worker.steps.recv_timeout(GLANCE) {
            Err(RecvTimeoutError::Timeout) => return Moment::Nothing,
            Err(RecvTimeoutError::Disconnected) => (Err(lost()), true),
            Ok(Err(refusal)) => (Err(refusal), true),
            Ok(Ok(events)) => {
                let mut report = Report::default();
                events.into_iter().for_each(|event| report.add(event, &mut worker.splitter));
                let over = report.end.is_some();
                (Ok(report), over)
            }
        };
        if over {
            end(guard.take());
        }
        Moment::Step(step)
    }

    fn stop(&self) {
        self.cancel.cancel();
        end(self.worker().take());
    }
}

/// Lets go of the worker and waits until it has freed what it held.
fn end(worker: Option<Worker>) {
    if let Some(Worker { steps, thread, .. }) = worker {
        drop(steps);
        // A worker that panicked has freed it too.
        drop(thread.join());
    }
}

#[pymethods]
impl Reply {
    /// The next step that says something; `None` after the end. Ends the reply when it takes longer than `seconds`.
    fn next(&self, py: Python<'_>, seconds: Option<f64>) -> PyResult<Option<Report>> {
        let (began, limit) = (Instant::now(), limit(seconds));
        loop {
            let report = match py.detach(|| self.wait()) {
                Moment::Over => return Ok(None),
                Moment::Step(Err(refusal)) => return Err(raise(py, &refusal)),
                Moment::Step(Ok(report)) => Some(report),
                Moment::Nothing => None,
            };
            if let Err(error) = look(py, began, limit) {
                py.detach(|| self.stop());
                return Err(error);
            }
            if report.as_ref().is_some_and(Report::says) {
                return Ok(report);
            }
        }
    }

    /// Ends the reply within a step and frees what it held. Closing again changes nothing.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.stop());
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}
