//! An engine in a process of its own, which times one repetition for each line it is sent.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use crate::Times;
use crate::cases::Load;

/// A running peer; it ends when dropped.
pub(crate) struct Peer {
    child: Child,
    requests: Option<ChildStdin>,
    replies: BufReader<ChildStdout>,
    /// What it calls itself.
    pub(crate) version: String,
}

impl Peer {
    /// Starts `command` and waits until it has loaded its model.
    pub(crate) fn start(mut command: Command) -> anyhow::Result<Self> {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("starting a peer")?;
        let replies = BufReader::new(child.stdout.take().context("the peer has no output")?);
        let requests = child.stdin.take();
        let mut peer = Self { child, requests, replies, version: String::new() };
        peer.version = peer.reply()?["version"].as_str().context("the peer names no version")?.to_owned();
        Ok(peer)
    }

    /// One repetition; with `again`, only what is decoded, after the prompt of the repetition before.
    pub(crate) fn time(&mut self, load: Load, again: bool) -> anyhow::Result<Times> {
        let requests = self.requests.as_mut().context("the peer has no input")?;
        let Load { prefill, decode } = load;
        writeln!(requests, "{}", json!({"prefill": prefill, "decode": decode, "again": again}))?;
        let reply = self.reply()?;
        let seconds = |key: &str| reply[key].as_f64().with_context(|| format!("no {key} in {reply}"));
        Ok(Times { prefill: seconds("prefill_s")?, decode: seconds("decode_s")? })
    }

    fn reply(&mut self) -> anyhow::Result<Value> {
        let mut line = String::new();
        ensure!(self.replies.read_line(&mut line)? > 0, "the peer ended: see its messages above");
        serde_json::from_str(&line).with_context(|| format!("the peer said {line}"))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // Closing its input ends it; a peer that is gone already needs no more.
        drop(self.requests.take());
        let _ = self.child.wait();
    }
}
