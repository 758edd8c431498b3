//! Steps: one token of one sequence, or of up to 32.

use std::collections::BTreeMap;

use tilewright_backend::execution::{DecodeRoute, SPLIT_KEYS_FROM};
use tilewright_backend::{Sequence, Step};
use tilewright_model::Refusal;

use super::Session;
use super::program::{Goal, Key};
use crate::Device;

/// Sequences of one step.
pub(crate) const MOST_SEQUENCES: usize = 32;

impl<D: Device> Session<D> {
    /// Appends one token to each sequence; logits `[steps.len(), vocab]`. The request has been checked.
    ///
    /// Sequences that need the same kernels go together: what a sequence gets does not depend on its mates.
    pub(crate) fn steps(&mut self, steps: &[Step], logits: &mut [f32]) -> Result<(), Refusal> {
        let vocab = self.config.vocab;
        let mut alike: BTreeMap<(u32, bool), Vec<usize>> = BTreeMap::new();
        for (index, step) in steps.iter().enumerate() {
            alike.entry(self.kernels_of(step.sequence)).or_default().push(index);
        }
        for (kernels, indices) in alike {
            for indices in indices.chunks(MOST_SEQUENCES) {
                let together: Vec<Step> = indices.iter().map(|&index| steps[index]).collect();
                self.step(&together, kernels, Goal::Logits)?;
                let mut rows = vec![0.0; indices.len() * vocab];
                self.machine.floats("logits", &mut rows)?;
                for (&index, row) in indices.iter().zip(rows.chunks_exact(vocab)) {
                    logits[index * vocab..][..vocab].copy_from_slice(row);
                }
                for step in together {
                    self.stepped(step.sequence);
                }
            }
        }
        Ok(())
    }

    /// Appends `token` and then the id of the greatest logit, again and again: up to `count` new ids, the last of which
    /// is not appended. Nothing follows an id of `ends`. Fewer come back where a greatest logit is not finite.
    pub(crate) fn greedy_steps(
        &mut self,
        sequence: Sequence,
        token: u32,
        count: usize,
        ends: &[u32],
    ) -> Result<Vec<u32>, Refusal> {
        let mut ids: Vec<u32> = Vec::with_capacity(count);
        while ids.len() < count && !ids.last().is_some_and(|id| ends.contains(id)) {
            let token = ids.last().copied().unwrap_or(token);
            self.step(&[Step { sequence, token }], self.kernels_of(sequence), Goal::Token)?;
            let id = self.machine.word("next", 0)?;
            let logit = f32::from_bits(self.machine.word("logits", u64::from(id))?);
            if !logit.is_finite() {
                break;
            }
            self.stepped(sequence);
            ids.push(id);
        }
        Ok(ids)
    }

    fn stepped(&mut self, sequence: Sequence) {
        if let Some(caches) = self.sequences.get_mut(&sequence) {
            caches.stepped();
        }
    }

    /// What decides which kernels a sequence's next step takes.
    fn kernels_of(&self, sequence: Sequence) -> (u32, bool) {
        let native = self.execution.decode() == DecodeRoute::Native;
        self.sequences
            .get(&sequence)
            .map_or((0, false), |caches| (caches.capacity, native && caches.len >= SPLIT_KEYS_FROM))
    }

    /// One command buffer for a token of each sequence, all of which take the same kernels.
    fn step(&mut self, steps: &[Step], (capacity, deep): (u32, bool), goal: Goal) -> Result<(), Refusal> {
        let Self { machine, sequences, .. } = self;
        let caches: Vec<_> = steps.iter().filter_map(|step| sequences.get(&step.sequence)).collect();
        let control = steps.iter().zip(&caches).flat_map(|(step, caches)| [step.token, caches.len as u32]);
        let control: Vec<u8> = control.flat_map(u32::to_le_bytes).collect();
        machine.put("control", &control)?;
        let alone = caches.len() == 1;
        let given: Vec<_> = caches
            .iter()
            .enumerate()
            .flat_map(|(n, caches)| caches.for_step(if alone { None } else { Some(n) }))
            .collect();
        machine.run(Key::step(caches.len() as u32, capacity, deep, goal), &given)
    }
}
