//! The session as a resident model.

use tilewright_backend::{Cancel, Checks, LogitSink, Packing, Plan, Resident, Sequence, Step};
use tilewright_model::{Code, Config, Refusal};

use crate::{Device, Session};

impl<D: Device> Resident for Session<D> {
    fn config(&self) -> &Config {
        self.model()
    }

    fn plan(&self) -> &Plan {
        self.decided()
    }

    fn create(&mut self, positions: usize) -> Result<Sequence, Refusal> {
        let context = self.plan().context;
        if positions > context {
            let expected = format!("at most {context} positions");
            return Err(Refusal::new(Code::ContextFull, "a new sequence", expected, positions));
        }
        self.create_caches(positions)
    }

    fn release(&mut self, sequence: Sequence) {
        self.drop_caches(sequence);
    }

    fn len(&self, sequence: Sequence) -> usize {
        self.held(sequence).map_or(0, |(len, _)| len)
    }

    fn truncate(&mut self, sequence: Sequence, len: usize) {
        self.truncate_caches(sequence, len);
    }

    fn prefill(
        &mut self,
        sequence: Sequence,
        tokens: &[u32],
        mut logits: LogitSink<'_>,
        cancel: &Cancel,
    ) -> Result<(), Refusal> {
        self.checked()?;
        let mut checks = Checks::new(self.config().vocab);
        checks.prompt(sequence, self.held(sequence), tokens, &logits);
        checks.finish()?;
        self.fits_plan(sequence)?;
        self.tiles(sequence, tokens, &mut logits, cancel)
    }

    fn decode(&mut self, steps: &[Step], logits: &mut [f32]) -> Result<(), Refusal> {
        self.checked()?;
        let mut checks = Checks::new(self.config().vocab);
        checks.steps(steps, |sequence| self.held(sequence));
        checks.step_logits(logits.len(), steps.len());
        checks.finish()?;
        steps.iter().try_for_each(|step| self.fits_plan(step.sequence))?;
        self.steps(steps, logits)
    }

    fn greedy(
        &mut self,
        sequence: Sequence,
        token: u32,
        count: usize,
        ends: &[u32],
    ) -> Result<Vec<u32>, Refusal> {
        self.checked()?;
        if count == 0 {
            return Ok(Vec::new());
        }
        let mut checks = Checks::new(self.config().vocab);
        checks.append(sequence, self.held(sequence), &[token], count - 1);
        checks.finish()?;
        self.fits_plan(sequence)?;
        self.greedy_steps(sequence, token, count, ends)
    }

    fn packing(&self) -> Option<Packing> {
        self.packed()
    }

    fn dispatches(&self) -> Option<usize> {
        Some(self.last_dispatches())
    }

    fn copy_kv(&self, sequence: Sequence, layer: usize) -> (Vec<f32>, Vec<f32>) {
        self.copy_caches(sequence, layer).unwrap_or_default()
    }
}
