//! A sequence on the device and the ids in it.

use tilewright_backend::{Cancel, LogitSink};
use tilewright_model::Refusal;

use crate::lease::Lease;
use crate::{Engine, Generation, Request};

/// Several generations that follow each other in one sequence.
///
/// Each prompt is the whole text so far. Ids the sequence holds already are reused: the longest common prefix is
/// kept, the rest forgotten and the prompt's remainder prefilled. Because a row's result does not depend on how rows
/// are grouped, reuse never changes a reply; on a device with other paths for replies than for prompts, what replies left
/// is taken in anew. Dropping a conversation frees its sequence.
#[derive(Debug)]
pub struct Conversation {
    engine: Engine,
    positions: usize,
    lease: Option<Lease>,
    ids: Vec<u32>,
    /// How many of them were taken in as part of a prompt, one after another from the first.
    prompted: usize,
}

impl Conversation {
    /// An empty conversation of at most `positions` ids. Nothing is allocated before the first generation.
    pub(crate) fn new(engine: &Engine, positions: usize) -> Self {
        Self { engine: engine.clone(), positions, lease: None, ids: Vec::new(), prompted: 0 }
    }

    /// The ids whose keys and values are held.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Starts the reply to a prompt, which is the whole conversation so far and not only what is new.
    ///
    /// # Errors
    /// Those of [`Engine::generate`].
    pub fn generate(&mut self, request: Request) -> Result<Generation<'_>, Refusal> {
        Generation::within(self, request)
    }

    /// The engine.
    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Ids it may hold.
    pub(crate) fn positions(&self) -> usize {
        self.positions
    }

    /// Makes the held ids a prefix of `prompt`, short of its last id, whose logits are still to be computed.
    pub(crate) fn rewind(&mut self, prompt: &[u32]) -> Result<(), Refusal> {
        let lease = match self.lease.take() {
            Some(lease) => lease,
            None => Lease::new(&self.engine, self.positions)?,
        };
        let common = self.ids.iter().zip(prompt).take_while(|(a, b)| a == b).count();
        let held = if self.engine.plan().has_one_path() { common } else { common.min(self.prompted) };
        let keep = held.min(prompt.len().saturating_sub(1));
        lease.truncate(keep);
        self.ids.truncate(keep);
        self.prompted = keep;
        self.lease = Some(lease);
        Ok(())
    }

    /// Takes in `tokens`. However the call ends, the ids held afterwards are those the device holds.
    pub(crate) fn prefill(
        &mut self,
        tokens: &[u32],
        logits: LogitSink<'_>,
        cancel: &Cancel,
    ) -> Result<(), Refusal> {
        let result = self.append(tokens, |lease| lease.prefill(tokens, logits, cancel));
        self.prompted = self.ids.len();
        result
    }

    /// Takes in one token and gives the logits after it.
    pub(crate) fn decode(&mut self, token: u32, logits: &mut [f32]) -> Result<(), Refusal> {
        self.append(&[token], |lease| lease.decode(token, logits))
    }

    /// Takes in `token` and what the device then chooses by itself: the ids chosen, all but the last taken in.
    pub(crate) fn greedy(&mut self, token: u32, count: usize, ends: &[u32]) -> Result<Vec<u32>, Refusal> {
        let Some(lease) = &self.lease else { return Ok(Vec::new()) };
        let result = lease.greedy(token, count, ends);
        self.ids.push(token);
        self.ids.extend(result.iter().flatten());
        self.ids.truncate(lease.len());
        result
    }

    /// Forgets the last `count` ids.
    pub(crate) fn forget(&mut self, count: usize) {
        let len = self.ids.len().saturating_sub(count);
        if let Some(lease) = &self.lease {
            lease.truncate(len);
        }
        self.ids.truncate(len);
        self.prompted = self.prompted.min(len);
    }

    fn append(
        &mut self,
        tokens: &[u32],
        work: impl FnOnce(&Lease) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let Some(lease) = &self.lease else { return Ok(()) };
        let result = work(lease);
        self.ids.extend_from_slice(tokens);
        self.ids.truncate(lease.len());
        result
    }
}
