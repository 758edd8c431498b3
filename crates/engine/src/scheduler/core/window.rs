//! Several steps in one call, on a device that chooses ids by itself: when, how many, and what becomes of their ids.

use std::time::Instant;

use tilewright_backend::Greedy;
use tilewright_model::Code;

use super::Core;
use crate::Cancel;

/// Steps at most: what a request that comes meanwhile waits for, and how many of its tokens a listener gets at once.
pub(in crate::scheduler) const MOST: usize = 8;

impl Core {
    /// Steps to take in one call; 1 where the host has to see logits, or where something is not to wait.
    pub(super) fn window(&self) -> usize {
        let most = self.window.min(MOST);
        let plain = self.running.iter().all(|running| {
            let draft = &running.job.draft;
            running.decodes(self.one_path) && draft.is_plain() && !draft.cancel().is_cancelled()
        });
        if most < 2 || !plain || self.by_logits > 0 || !self.tasks.is_empty() {
            return 1;
        }
        let left = self.running.iter().map(|running| running.job.draft.left());
        // A place that becomes free is not kept from those that wait.
        let steps = if self.waiting.is_empty() { left.max() } else { left.min() }.unwrap_or(1).min(most);
        let growth = self.running.iter().map(|r| (r.held, r.held + steps.min(r.job.draft.left())));
        if self.can_grow(growth) { steps } else { 1 }
    }

    /// Takes so many steps of all that run; `false` where logits have to say more, and nothing is changed.
    pub(super) fn decode_window(&mut self, steps: usize) -> bool {
        let runs: Vec<Greedy<'_>> = self
            .running
            .iter()
            .map(|running| {
                let draft = &running.job.draft;
                running.lease.run(running.todo()[0], steps.min(draft.left()), draft.stop_ids())
            })
            .collect();
        let started = Instant::now();
        // Each reply has a flag of its own, which is looked at when the ids are there.
        let result = self.engine.resident().greedy_together(&runs, &Cancel::default());
        let time = started.elapsed();
        match result {
            Ok(found) => {
                self.load.steps += found.iter().map(Vec::len).max().unwrap_or(0) as u64;
                let tokens = self.engine.tokens();
                for (running, ids) in self.running.iter_mut().zip(found) {
                    // The sampler chooses among ids that stand for a token.
                    let good = ids.iter().take_while(|id| tokens.has(**id)).count();
                    if good < ids.len() {
                        self.by_logits = 1;
                    }
                    self.load.completion_tokens += running.take(&ids[..good], ids.len(), time) as u64;
                }
            }
            Err(refusal) => match refusal.code() {
                // Which reply, and at which of its tokens; the others go on.
                Code::NonFiniteLogits => {
                    self.by_logits = steps;
                    return false;
                }
                // There may be enough for a step.
                Code::OutOfMemory => return false,
                _ => self.running.iter_mut().for_each(|running| running.job.fail(refusal.clone())),
            },
        }
        self.sweep();
        true
    }
}
