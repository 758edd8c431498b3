//! A process that is spoken to in JSON, one object a line each way; some answers have numbers after them.

use std::fmt::Display;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use tilewright_model::{Code, Refusal};

/// The longest answer in JSON: logits of a large vocabulary are a few MiB.
const LONGEST_LINE: u64 = 64 << 20;
/// How long an answer may take: a large model's long run, or its long prompt in float64, takes many minutes.
const PATIENCE: Duration = Duration::from_secs(1800);
/// How long a process may take to end when nobody speaks to it any more.
const FAREWELL: Duration = Duration::from_secs(5);

/// A running process; it ends when dropped.
pub(crate) struct Process {
    name: String,
    child: Arc<Mutex<Child>>,
    /// The time that an answer may take; shorter in a test of what happens when it is over.
    pub(crate) patience: Duration,
    requests: Option<ChildStdin>,
    replies: BufReader<ChildStdout>,
}

impl Process {
    /// Starts `command`.
    ///
    /// # Errors
    /// `peer_unavailable`.
    pub(crate) fn start(name: &str, mut command: Command) -> Result<Self, Refusal> {
        let refuse = |e: &dyn Display| unavailable(name, e);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(|e| refuse(&e))?;
        let (Some(requests), Some(replies)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(refuse(&"a process without input or output"));
        };
        let replies = BufReader::with_capacity(1 << 20, replies);
        let child = Arc::new(Mutex::new(child));
        Ok(Self { name: name.to_owned(), child, patience: PATIENCE, requests: Some(requests), replies })
    }

    /// Does what waits for the process, which is ended when that takes too long.
    fn patiently<T>(&mut self, body: impl FnOnce(&mut Self) -> Result<T, Refusal>) -> Result<T, Refusal> {
        let (done, wait) = channel::<()>();
        let (child, patience) = (Arc::clone(&self.child), self.patience);
        let watch = thread::spawn(move || {
            let late = wait.recv_timeout(patience) == Err(RecvTimeoutError::Timeout);
            if late {
                // One that is gone already needs no more.
                let _ = child.lock().unwrap_or_else(PoisonError::into_inner).kill();
            }
            late
        });
        let result = body(self);
        drop(done);
        match watch.join() {
            Ok(true) => Err(self.unavailable(&format!("no answer for {patience:?}"))),
            _ => result,
        }
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// `peer_unavailable` with what it said.
    pub(crate) fn ask<T: DeserializeOwned>(&mut self, request: &serde_json::Value) -> Result<T, Refusal> {
        self.patiently(|this| this.ask_once(request))
    }

    fn ask_once<T: DeserializeOwned>(&mut self, request: &serde_json::Value) -> Result<T, Refusal> {
        let refuse = |e: &dyn Display| unavailable(&self.name, e);
        let requests = self.requests.as_mut().ok_or_else(|| refuse(&"it was closed"))?;
        match writeln!(requests, "{request}").and_then(|()| requests.flush()) {
            // It has ended; what it said last is still to be read.
            Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => {}
            written => written.map_err(|e| refuse(&e))?,
        }
        let mut line = String::new();
        if self.replies.by_ref().take(LONGEST_LINE).read_line(&mut line).map_err(|e| refuse(&e))? == 0 {
            return Err(refuse(&"it ended without an answer; its own messages are above"));
        }
        let not_json = |e| refuse(&format!("{:.60?}, which is no answer in JSON: {e}", line.trim_end()));
        let reply: serde_json::Value = serde_json::from_str(&line).map_err(not_json)?;
        if let Some(reason) = reply.get("refused") {
            return Err(refuse(&reason.as_str().map_or_else(|| reason.to_string(), str::to_owned)));
        }
        serde_json::from_value(reply).map_err(|e| refuse(&e))
    }

    /// The next `count` numbers after an answer, little-endian float64.
    ///
    /// # Errors
    /// `peer_unavailable` when it ends before.
    pub(crate) fn numbers(&mut self, count: usize) -> Result<Vec<f64>, Refusal> {
        let mut bytes = vec![0; count * size_of::<f64>()];
        self.patiently(|this| this.replies.read_exact(&mut bytes).map_err(|e| this.unavailable(&e)))?;
        Ok(bytes.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect())
    }

    /// What it did instead of answering.
    pub(crate) fn unavailable(&self, got: &dyn Display) -> Refusal {
        unavailable(&self.name, got)
    }
}

/// What a process called `name` did instead of answering, or why it was not started.
pub(super) fn unavailable(name: &str, got: &dyn Display) -> Refusal {
    Refusal::new(Code::PeerUnavailable, name, "an engine that runs this", got)
}

impl Drop for Process {
    fn drop(&mut self) {
        // Closing its input ends it, or should.
        drop(self.requests.take());
        let (begin, mut child) = (Instant::now(), self.child.lock().unwrap_or_else(PoisonError::into_inner));
        while matches!(child.try_wait(), Ok(None)) {
            if begin.elapsed() > FAREWELL.min(self.patience) {
                let _ = child.kill();
                let _ = child.wait();
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}
