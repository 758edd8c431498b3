//! Our side: the CPU device in this process, timed over the same prompts as its peer.

use std::path::Path;
use std::time::Instant;

use tilewright_backend::{Cancel, LogitSink, Plan, Resident, Sequence, Step};
use tilewright_cpu::CpuOptions;
use tilewright_model::{Checkpoint, Config, Refusal, WeightFormat};

use crate::Times;
use crate::cases::Load;

/// A resident model and one sequence that every repetition begins anew.
pub(crate) struct Ours {
    model: Box<dyn Resident>,
    sequence: Sequence,
    logits: Vec<f32>,
    /// The greedy choice after the prompt.
    first: u32,
}

impl Ours {
    pub(crate) fn open(
        dir: &Path,
        weights: WeightFormat,
        threads: usize,
        context: usize,
    ) -> Result<Self, Refusal> {
        let options = CpuOptions {
            weights: Some(weights),
            threads: Some(threads),
            context: Some(context),
            ..CpuOptions::default()
        };
        let mut model = tilewright_cpu::open(&Checkpoint::open(dir)?, &options, &mut |_| {})?;
        let sequence = model.create(context)?;
        let logits = vec![0.0; model.config().vocab];
        Ok(Self { model, sequence, logits, first: 0 })
    }

    pub(crate) fn plan(&self) -> &Plan {
        self.model.plan()
    }

    /// One repetition; with `again`, only what is decoded, after the prompt of the repetition before.
    pub(crate) fn time(&mut self, load: Load, again: bool) -> Result<Times, Refusal> {
        let start = Instant::now();
        if again {
            self.model.truncate(self.sequence, load.prefill);
        } else {
            let vocab = self.logits.len();
            let prompt: Vec<u32> = (0..load.prefill).map(|i| ((1000 + 7919 * i) % vocab) as u32).collect();
            self.model.truncate(self.sequence, 0);
            let sink = LogitSink::Last(&mut self.logits);
            self.model.prefill(self.sequence, &prompt, sink, &Cancel::default())?;
            self.first = largest(&self.logits);
        }
        let middle = Instant::now();
        let mut token = self.first;
        for _ in 0..load.decode {
            self.model.decode(&[Step { sequence: self.sequence, token }], &mut self.logits)?;
            token = largest(&self.logits);
        }
        let end = Instant::now();
        Ok(Times { prefill: (middle - start).as_secs_f64(), decode: (end - middle).as_secs_f64() })
    }
}

fn largest(logits: &[f32]) -> u32 {
    let best = (0u32..).zip(logits).max_by(|(_, a), (_, b)| a.total_cmp(b));
    best.map_or(0, |(id, _)| id)
}

/// Multiply-adds of the matrices for a prompt, as operations (two each); the head works on the last row only, and
/// attention is left out.
pub(crate) fn operations(config: &Config, tokens: usize) -> f64 {
    let (q, kv) = (config.q_width(), config.kv_width());
    let layer = config.hidden * (2 * q + 2 * kv + 3 * config.intermediate);
    2.0 * (config.layers * layer * tokens + config.vocab * config.hidden) as f64
}
