//! A sequence on the device for as long as somebody holds it.

use tilewright_backend::{Cancel, Greedy, LogitSink, Sequence, Step};
use tilewright_model::Refusal;

use crate::Engine;

/// Frees its sequence when dropped. Each call holds the device for its own duration only.
#[derive(Debug)]
pub(crate) struct Lease {
    engine: Engine,
    sequence: Sequence,
}

impl Lease {
    /// A sequence with room for `positions` ids.
    pub(crate) fn new(engine: &Engine, positions: usize) -> Result<Self, Refusal> {
        let sequence = engine.resident().create(positions)?;
        Ok(Self { engine: engine.clone(), sequence })
    }

    /// A sequence with room for `positions` ids that begins with this one's first `len`, on devices that can share them.
    pub(crate) fn fork(&self, len: usize, positions: usize) -> Result<Option<Self>, Refusal> {
        let forked = self.engine.resident().fork(self.sequence, len, positions)?;
        Ok(forked.map(|sequence| Self { engine: self.engine.clone(), sequence }))
    }

    /// This sequence's part in a step of several.
    pub(crate) fn step(&self, token: u32) -> Step {
        Step { sequence: self.sequence, token }
    }

    /// This sequence's part in greedy steps of several.
    pub(crate) fn run<'a>(&self, token: u32, count: usize, ends: &'a [u32]) -> Greedy<'a> {
        Greedy { sequence: self.sequence, token, count, ends }
    }

    /// Appends `tokens` and gives each one's hidden state: [`Resident::hidden`](tilewright_backend::Resident::hidden).
    pub(crate) fn hidden(
        &self,
        tokens: &[u32],
        each: &mut dyn FnMut(usize, &[f32]),
        cancel: &Cancel,
    ) -> Result<(), Refusal> {
        self.engine.resident().hidden(self.sequence, tokens, each, cancel)
    }

    /// Ids it holds.
    pub(crate) fn len(&self) -> usize {
        self.engine.resident().len(self.sequence)
    }

    /// Forgets the ids from `len` on.
    pub(crate) fn truncate(&self, len: usize) {
        self.engine.resident().truncate(self.sequence, len);
    }

    /// Appends `tokens`.
    pub(crate) fn prefill(
        &self,
        tokens: &[u32],
        logits: LogitSink<'_>,
        cancel: &Cancel,
    ) -> Result<(), Refusal> {
        self.engine.resident().prefill(self.sequence, tokens, logits, cancel)
    }

    /// A run of tokens on the device: [`Resident::greedy`](tilewright_backend::Resident::greedy).
    pub(crate) fn greedy(&self, token: u32, count: usize, ends: &[u32]) -> Result<Vec<u32>, Refusal> {
        self.engine.resident().greedy(self.sequence, token, count, ends)
    }

    /// Appends one token and gives the logits after it.
    pub(crate) fn decode(&self, token: u32, logits: &mut [f32]) -> Result<(), Refusal> {
        self.engine.resident().decode(&[Step { sequence: self.sequence, token }], logits)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.engine.resident().release(self.sequence);
    }
}
