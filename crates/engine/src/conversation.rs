//! A sequence on the device and the ids in it.
//!
//! Several generations can follow each other in one conversation. A prompt that begins with ids the sequence holds
//! already reuses them: the longest common prefix is kept, the rest forgotten and the prompt's remainder prefilled.
//! Because a row's result does not depend on how rows are grouped, reuse never changes a reply.

use tilewright_backend::Sequence;
use tilewright_model::Refusal;

use crate::{Engine, Generation, Request};

/// See the [module](self). Dropping it frees the sequence.
#[derive(Debug)]
pub struct Conversation {
    engine: Engine,
    positions: usize,
    sequence: Option<Sequence>,
    ids: Vec<u32>,
}

impl Conversation {
    /// An empty conversation of at most `positions` ids. Nothing is allocated before the first generation.
    pub(crate) fn new(engine: Engine, positions: usize) -> Self {
        Self { engine, positions, sequence: None, ids: Vec::new() }
    }

    /// The ids whose keys and values are held.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Generates the reply to a prompt, which is the whole conversation so far and not only what is new.
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

    /// Positions it may hold.
    pub(crate) fn positions(&self) -> usize {
        self.positions
    }

    /// Makes the held ids a prefix of `prompt`, short of its last id, whose logits are to be computed. Returns the
    /// sequence and how many ids are held.
    pub(crate) fn rewind(&mut self, prompt: &[u32]) -> Result<(Sequence, usize), Refusal> {
        let mut resident = self.engine.resident();
        let sequence = match self.sequence {
            Some(sequence) => sequence,
            None => *self.sequence.insert(resident.create(self.positions)?),
        };
        let common = self.ids.iter().zip(prompt).take_while(|(a, b)| a == b).count();
        let keep = common.min(prompt.len().saturating_sub(1));
        resident.truncate(sequence, keep);
        self.ids.truncate(keep);
        Ok((sequence, keep))
    }

    /// Notes that `ids` were appended, as far as the device got: a cancelled or failed call leaves fewer.
    pub(crate) fn appended(&mut self, ids: &[u32]) {
        self.ids.extend_from_slice(ids);
        let held = self.sequence.map_or(0, |sequence| self.engine.resident().len(sequence));
        self.ids.truncate(held);
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        if let Some(sequence) = self.sequence {
            self.engine.resident().release(sequence);
        }
    }
}
