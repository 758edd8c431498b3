//! Prompts, tile by tile.

use tilewright_backend::execution::narrow_tile;
use tilewright_backend::{Cancel, LogitSink, Sequence};
use tilewright_model::{Code, Refusal};

use super::Session;
use super::program::Key;
use crate::Device;

/// Rows of the smallest tile, unless tiles are asked to be smaller.
const LEAST_ROWS: usize = 32;

/// Rows whose logits are computed together.
const LOGIT_ROWS: usize = 16;

impl<D: Device> Session<D> {
    /// Appends `tokens` in tiles of the plan's size, each in one command buffer. The request has been checked.
    pub(crate) fn tiles(
        &mut self,
        sequence: Sequence,
        tokens: &[u32],
        logits: &mut LogitSink<'_>,
        cancel: &Cancel,
    ) -> Result<(), Refusal> {
        let most = self.plan.prefill_chunk;
        let count = tokens.len().div_ceil(most);
        for (index, tile) in tokens.chunks(most).enumerate() {
            if cancel.is_cancelled() {
                return Err(Refusal::new(Code::Cancelled, "prefill", "not cancelled", "cancelled"));
            }
            self.tile(sequence, tile)?;
            match logits {
                LogitSink::Each(each) => {
                    self.row_logits(tile.len(), &mut |row, logits| each(index * most + row, logits))?;
                }
                LogitSink::Last(out) if index + 1 == count => self.machine.floats("logits", out)?,
                LogitSink::Last(_) | LogitSink::None => {}
            }
        }
        Ok(())
    }

    /// One tile: one command buffer, its logits left on the device.
    fn tile(&mut self, sequence: Sequence, tokens: &[u32]) -> Result<(), Refusal> {
        let Self { machine, sequences, plan, config, tier_is_free, .. } = self;
        let Some(caches) = sequences.get_mut(&sequence) else { return Ok(()) };
        let rows = tokens.len().next_power_of_two().max(LEAST_ROWS).min(plan.prefill_chunk);
        let words = |words: &[u32]| -> Vec<u8> { words.iter().flat_map(|word| word.to_le_bytes()).collect() };
        machine.reserve("tokens", rows as u64 * 4)?;
        // Logits of rows are computed some at a time, the last of which may lie beyond the tile.
        machine.reserve("x", (rows + LOGIT_ROWS) as u64 * config.hidden as u64 * 4)?;
        machine.put("tokens", &words(tokens))?;
        machine.put("control", &words(&[caches.len as u32, tokens.len() as u32]))?;
        caches.mirror(machine)?;
        let narrow = *tier_is_free && narrow_tile(rows);
        let key = Key::Prefill { rows: rows as u32, capacity: caches.capacity, narrow };
        machine.run(key, &caches.for_prefill())?;
        caches.filled(tokens.len());
        Ok(())
    }

    /// Hands the logits of the last tile's `rows` rows to `each`.
    fn row_logits(&mut self, rows: usize, each: &mut dyn FnMut(usize, &[f32])) -> Result<(), Refusal> {
        let (vocab, hidden) = (self.config.vocab, self.config.hidden);
        let mut logits = vec![0.0; LOGIT_ROWS * vocab];
        for first in (0..rows).step_by(LOGIT_ROWS) {
            let start = (first * hidden * 4) as u64;
            self.machine.run_from(Key::RowLogits { rows: LOGIT_ROWS as u32 }, &[], ("x", start))?;
            self.machine.floats("logits", &mut logits)?;
            for (row, logits) in logits.chunks_exact(vocab).take(LOGIT_ROWS.min(rows - first)).enumerate() {
                each(first + row, logits);
            }
        }
        Ok(())
    }
}
