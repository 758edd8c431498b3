//! Steps whose ids the device chooses by itself: when, how many in a call, and what becomes of them.

use std::time::Instant;

use tilewright_backend::Greedy;
use tilewright_model::Code;

use super::Core;
use crate::Cancel;
use crate::scheduler::job::Running;

/// Steps at most: what a request that comes meanwhile waits for, and how many of its tokens a listener gets at once.
pub(in crate::scheduler) const MOST: usize = 8;

impl Core {
    /// Steps to take in one call; `None` where the host has to see logits, since the device does not choose or one of the
    /// replies that decode is not plain: all go in one sweep. A prompt that is still taken in asks for no logits.
    ///
    /// Some steps make a call only where nothing waits for the host. Between two chunks of prompts it is one: a device takes a
    /// step of few rows as long as one of many, so that more of them would keep the prompts waiting and win no time.
    pub(super) fn window(&self) -> Option<usize> {
        let most = self.window.min(MOST);
        let decoding = self.running.iter().filter(|running| running.decodes(self.one_path));
        if most < 2 || self.by_logits > 0 || !decoding.clone().all(|running| running.job.chooser.is_plain()) {
            return None;
        }
        let waits = |running: &Running| {
            !running.decodes(self.one_path)
                || running.job.ended()
                || running.job.chooser.cancel().is_cancelled()
        };
        if !self.tasks.is_empty() || self.running.iter().any(waits) {
            return Some(1);
        }
        let left = self.running.iter().map(|running| running.job.chooser.left());
        // A place that becomes free is not kept from those that wait, but for a stop string, which is found a call late.
        let steps = if self.waiting.is_empty() { left.max() } else { left.min() }.unwrap_or(1).min(most);
        let growth = self.running.iter().map(|r| (r.held, r.held + steps.min(r.job.chooser.left())));
        Some(if self.can_grow(growth) { steps } else { 1 })
    }

    /// Takes so many steps of all that decode; `false` where logits have to say more, and nothing is changed.
    pub(super) fn decode_window(&mut self, steps: usize) -> bool {
        let one_path = self.one_path;
        let runs: Vec<Greedy<'_>> = self
            .running
            .iter()
            .filter(|running| running.decodes(one_path))
            .map(|running| {
                let chooser = &running.job.chooser;
                running.lease.run(running.todo()[0], steps.min(chooser.left()), chooser.stop_ids())
            })
            .collect();
        let started = Instant::now();
        // Each reply has a flag of its own, which is looked at when the ids are there.
        let result = self.engine.resident().greedy_together(&runs, &Cancel::default());
        let time = started.elapsed();
        let rows = self.running.iter_mut().filter(|running| running.decodes(one_path));
        let messages = match result {
            Ok(found) => {
                self.load.steps += found.iter().map(Vec::len).max().unwrap_or(0) as u64;
                let tokens = self.engine.tokens();
                let mut all_good = true;
                let take = |(running, ids): (&mut Running, Vec<u32>)| {
                    // The sampler chooses among ids that stand for a token.
                    let good = ids.iter().take_while(|id| tokens.has(**id)).count();
                    all_good &= good == ids.len();
                    running.take(&ids[..good], ids.len(), time)
                };
                let messages = rows.zip(found).map(take).collect();
                if !all_good {
                    self.by_logits = 1;
                }
                messages
            }
            Err(refusal) => match refusal.code() {
                // Which reply, and at which of its tokens; the others go on.
                Code::NonFiniteLogits => {
                    self.by_logits = steps;
                    return false;
                }
                // There may be enough for a step.
                Code::OutOfMemory => return false,
                _ => rows.map(|running| running.job.fail(refusal.clone())).collect(),
            },
        };
        self.tell(messages);
        self.sweep();
        true
    }
}
