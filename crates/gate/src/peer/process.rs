//! A process that is spoken to in JSON, one object a line each way; some answers have numbers after them.

use std::fmt::Display;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::de::DeserializeOwned;
use tilewright_model::{Code, Refusal};

/// A running process; it ends when dropped.
pub(crate) struct Process {
    name: String,
    child: Child,
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
        Ok(Self { name: name.to_owned(), child, requests: Some(requests), replies })
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// `peer_unavailable` with what it said.
    pub(crate) fn ask<T: DeserializeOwned>(&mut self, request: &serde_json::Value) -> Result<T, Refusal> {
        let refuse = |e: &dyn Display| unavailable(&self.name, e);
        let requests = self.requests.as_mut().ok_or_else(|| refuse(&"it was closed"))?;
        match writeln!(requests, "{request}").and_then(|()| requests.flush()) {
            // It has ended; what it said last is still to be read.
            Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => {}
            written => written.map_err(|e| refuse(&e))?,
        }
        let mut line = String::new();
        if self.replies.read_line(&mut line).map_err(|e| refuse(&e))? == 0 {
            return Err(refuse(&"it ended without an answer; its own messages are above"));
        }
        let reply: serde_json::Value = serde_json::from_str(&line).map_err(|e| refuse(&e))?;
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
        self.replies.read_exact(&mut bytes).map_err(|e| self.unavailable(&e))?;
        Ok(bytes.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect())
    }

    /// What it did instead of answering.
    pub(crate) fn unavailable(&self, got: &dyn Display) -> Refusal {
        unavailable(&self.name, got)
    }
}

fn unavailable(name: &str, got: &dyn Display) -> Refusal {
    Refusal::new(Code::PeerUnavailable, name, "an engine that runs this", got)
}

impl Drop for Process {
    fn drop(&mut self) {
        // Closing its input ends it; one that is gone already needs no more.
        drop(self.requests.take());
        let _ = self.child.wait();
    }
}
