//! Greedy steps of several sequences, chosen on the GPU where its kernels do.

use tilewright_backend::greedy::{all_or_nothing, go_on, greatest, not_finite};
use tilewright_backend::{Cancel, Checks, Greedy, Sequence, Step};
use tilewright_model::Refusal;

use super::CudaModel;
use crate::rows::Common;

impl CudaModel {
    /// As [`Resident::greedy_together`](tilewright_backend::Resident::greedy_together).
    pub(super) fn greedy_runs(
        &mut self,
        runs: &[Greedy<'_>],
        cancel: &Cancel,
    ) -> Result<Vec<Vec<u32>>, Refusal> {
        let mut checks = Checks::new(self.config.vocab);
        checks.greedy(runs, |sequence| self.held(sequence));
        checks.finish()?;
        let found = all_or_nothing(self, runs, |model| {
            let mut ids = vec![Vec::new(); runs.len()];
            loop {
                let most = model.rows.most();
                let live = runs.iter().enumerate().filter_map(|(i, run)| Some((i, run.next(&ids[i])?)));
                let (live, steps): (Vec<usize>, Vec<Step>) = live.take(most).unzip();
                // All take as many steps as the one that needs fewest.
                let Some(count) = live.iter().map(|i| runs[*i].count - ids[*i].len()).min() else {
                    return Ok(ids);
                };
                go_on(cancel)?;
                let chosen = model.choose(&steps, count)?;
                for (i, new) in live.into_iter().zip(chosen) {
                    let new = &new[..runs[i].until_end(&new)];
                    // What comes after the end need not be numbers.
                    if new.iter().any(|id| *id as usize >= model.config.vocab) {
                        return Err(not_finite(runs[i].sequence));
                    }
                    if let Some(state) = model.sequences.get_mut(&runs[i].sequence) {
                        state.len += new.len();
                    }
                    ids[i].extend_from_slice(new);
                }
            }
        });
        runs.iter().for_each(|run| self.settle(run.sequence));
        found
    }

    /// One or more greedy steps of several sequences, whose lengths stay: as many ids for each, [`u32::MAX`] for logits that are
    /// not all numbers.
    fn choose(&mut self, steps: &[Step], most: usize) -> Result<Vec<Vec<u32>>, Refusal> {
        let sequences: Vec<Sequence> = steps.iter().map(|step| step.sequence).collect();
        let most = self.reach_steps(&sequences, most.min(self.rows.window()))?;
        let (tokens, at) = self.rows_of(steps);
        let Self { rows, device, config, weights, rope, .. } = self;
        let common = Common { device, config, weights, rope: rope.address() };
        if let Some(ids) = rows.greedy(common, &at, &tokens, most)? {
            return Ok(ids);
        }
        let mut logits = vec![0.0; steps.len() * config.vocab];
        rows.step(common, &at, &tokens, &mut logits)?;
        let rows = logits.chunks(config.vocab).zip(steps);
        rows.map(|(row, step)| Ok(vec![greatest(row, step.sequence)?])).collect()
    }
}
