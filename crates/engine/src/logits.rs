//! The logits of a text's positions.

use tilewright_backend::{Cancel, LogitSink};
use tilewright_model::{Code, Finding, Refusal};

use crate::Engine;
use crate::lease::Lease;

/// Which positions' logits are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Positions {
    /// The last one's.
    #[default]
    Last,
    /// Every one's.
    Every,
}

impl Engine {
    /// The logits after `ids`, `[rows, vocab]` row by row: one row, or one for each id. Raw: before penalties and
    /// temperature, rows of padding included.
    ///
    /// # Errors
    /// `request_invalid`, `context_full`, `out_of_memory`, `cancelled`.
    pub fn logits(&self, ids: &[u32], positions: Positions, cancel: &Cancel) -> Result<Vec<f32>, Refusal> {
        let mut findings = Vec::new();
        if ids.is_empty() {
            findings.push(Finding::new("ids", "at least one", "none"));
        }
        if let Some(at) = ids.iter().position(|&id| !self.tokens().has(id)) {
            findings.push(Finding::new(format!("id at {at}"), "an id that stands for a token", ids[at]));
        }
        Refusal::check(Code::RequestInvalid, findings)?;

        let vocab = self.config().vocab;
        let rows = if positions == Positions::Every { ids.len() } else { 1 };
        let lease = Lease::new(self, ids.len())?;
        let mut logits = Vec::new();
        let too_many =
            |error| Refusal::new(Code::OutOfMemory, "logits", format!("{rows} rows of {vocab}"), error);
        logits.try_reserve_exact(rows * vocab).map_err(too_many)?;
        for chunk in ids.chunks(self.plan().prefill_chunk.max(1)) {
            let last = lease.len() + chunk.len() == ids.len();
            let mut keep = |_: usize, row: &[f32]| logits.extend_from_slice(row);
            match positions {
                Positions::Every => lease.prefill(chunk, LogitSink::Each(&mut keep), cancel)?,
                Positions::Last if last => {
                    logits.resize(vocab, 0.0);
                    lease.prefill(chunk, LogitSink::Last(&mut logits), cancel)?;
                }
                Positions::Last => lease.prefill(chunk, LogitSink::None, cancel)?,
            }
        }
        Ok(logits)
    }
}

#[cfg(test)]
mod tests;
