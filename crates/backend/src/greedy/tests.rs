//! Greedy steps by logits over a device whose logits are a function of what a sequence holds.

use std::collections::BTreeMap;

use tilewright_model::{Config, Family, Rope, RopeScaling, WeightFormat};

use super::*;
use crate::{Checks, DeviceKind, Kernels, KvFormat, LogitSink, Plan};

const VOCAB: usize = 11;

/// After so many ids a logit is no number.
const BROKEN: usize = 9;

struct Scripted {
    config: Config,
    plan: Plan,
    sequences: BTreeMap<Sequence, Vec<u32>>,
    /// Ids a sequence may hold.
    room: usize,
    /// Rows of each step.
    steps: Vec<usize>,
    /// Raises its flag in the step of this index.
    cancels: Option<(usize, Cancel)>,
}

impl Scripted {
    /// Sequence `n` holds `n` ids.
    fn new(sequences: u64) -> Self {
        let config = Config {
            family: Family::Qwen3,
            hidden: 32,
            layers: 1,
            heads: 1,
            kv_heads: 1,
            head_dim: 32,
            intermediate: 32,
            vocab: VOCAB,
            norm_eps: 1e-6,
            rope: Rope { theta: 1e4, scaling: RopeScaling::None },
            tied: true,
            qk_norm: true,
            qkv_bias: false,
            max_positions: 16,
            bos: None,
            eos: Vec::new(),
            stored: None,
        };
        let plan = Plan {
            device: DeviceKind::Cpu,
            kernels: Kernels::Cpu { isa: "scripted".into(), numerics: Default::default() },
            weights: WeightFormat::F32,
            kv: KvFormat::F32,
            context: 16,
            prefill_chunk: 1,
            threads: 1,
            weight_bytes: 0,
            bytes_per_token: 0,
            kv_bytes_per_position: 1,
            notes: Vec::new(),
        };
        let sequences = (0..sequences).map(|n| (Sequence(n), (0..n as u32).collect())).collect();
        Self { config, plan, sequences, room: 16, steps: Vec::new(), cancels: None }
    }

    fn lengths(&self) -> Vec<usize> {
        self.sequences.values().map(Vec::len).collect()
    }
}

/// Two ids are the greatest: the lower is chosen.
fn logits(ids: &[u32]) -> Vec<f32> {
    let next = ids.iter().fold(3, |sum, id| (5 * sum + id) % VOCAB as u32) as usize;
    let mut logits = vec![-1.0; VOCAB];
    logits[next] = 2.0;
    logits[VOCAB - 1] = if ids.len() > BROKEN { f32::INFINITY } else { 2.0 };
    logits
}

/// What single steps choose.
fn alone(mut ids: Vec<u32>, run: &Greedy<'_>) -> Vec<u32> {
    let mut chosen = Vec::new();
    while let Some(step) = run.next(&chosen) {
        ids.push(step.token);
        chosen.push(argmax(&logits(&ids)) as u32);
    }
    chosen
}

impl Resident for Scripted {
    fn config(&self) -> &Config {
        &self.config
    }

    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn create(&mut self, _: usize) -> Result<Sequence, Refusal> {
        unreachable!("sequences are there")
    }

    fn release(&mut self, sequence: Sequence) {
        self.sequences.remove(&sequence);
    }

    fn len(&self, sequence: Sequence) -> usize {
        self.sequences.get(&sequence).map_or(0, Vec::len)
    }

    fn truncate(&mut self, sequence: Sequence, len: usize) {
        if let Some(ids) = self.sequences.get_mut(&sequence) {
            ids.truncate(len);
        }
    }

    fn prefill(&mut self, _: Sequence, _: &[u32], _: LogitSink<'_>, _: &Cancel) -> Result<(), Refusal> {
        unreachable!("prompts are there")
    }

    fn decode(&mut self, steps: &[Step], out: &mut [f32]) -> Result<(), Refusal> {
        let mut checks = Checks::new(VOCAB);
        checks.steps(steps, |sequence| self.sequences.get(&sequence).map(|ids| (ids.len(), self.room)));
        checks.step_logits(out.len(), steps.len());
        checks.finish()?;
        if let Some((at, cancel)) = &self.cancels
            && *at == self.steps.len()
        {
            cancel.cancel();
        }
        self.steps.push(steps.len());
        for (step, row) in steps.iter().zip(out.chunks_mut(VOCAB)) {
            let ids = self.sequences.get_mut(&step.sequence).unwrap();
            ids.push(step.token);
            row.copy_from_slice(&logits(ids));
        }
        Ok(())
    }

    fn copy_kv(&self, _: Sequence, _: usize) -> (Vec<f32>, Vec<f32>) {
        (Vec::new(), Vec::new())
    }
}

fn run(sequence: u64, count: usize, ends: &[u32]) -> Greedy<'_> {
    Greedy { sequence: Sequence(sequence), token: 7, count, ends }
}

#[test]
fn ids_are_those_of_single_steps_and_no_step_is_taken_for_one_that_has_ended() {
    let mut model = Scripted::new(4);
    let held: Vec<Vec<u32>> = model.sequences.values().cloned().collect();
    let third = alone(held[2].clone(), &run(2, 5, &[]))[2];
    let ends = [third];
    let runs = [run(0, 5, &[]), run(1, 2, &[]), run(2, 5, &ends), run(3, 0, &[])];
    let ids = model.greedy_together(&runs, &Cancel::default()).unwrap();
    for ((ids, held), run) in ids.iter().zip(held).zip(&runs) {
        assert_eq!(ids, &alone(held, run), "{run:?}");
    }
    assert_eq!(ids[2].last(), Some(&third));
    let lengths: Vec<usize> = ids.iter().enumerate().map(|(n, ids)| n + ids.len()).collect();
    assert_eq!(model.lengths(), lengths, "the last id of each is not appended");
    let rows = |step: usize| ids.iter().filter(|ids| ids.len() > step).count();
    assert_eq!(model.steps, (0..5).map(rows).collect::<Vec<_>>());
}

#[test]
fn a_logit_that_is_no_number_is_refused_by_name_and_every_sequence_is_as_it_was() {
    let mut model = Scripted::new(3);
    let refusal = model.greedy_together(&[run(0, 5, &[]), run(2, 8, &[])], &Cancel::default()).unwrap_err();
    assert_eq!(refusal.code(), Code::NonFiniteLogits);
    assert!(refusal.to_string().contains("sequence 2"), "{refusal}");
    assert_eq!(model.lengths(), [0, 1, 2]);
    // One that ends before it is not refused.
    let ids = model.greedy_together(&[run(0, 5, &[]), run(2, 7, &[])], &Cancel::default()).unwrap();
    assert_eq!(ids.iter().map(Vec::len).collect::<Vec<_>>(), [5, 7]);
}

#[test]
fn cancelled_steps_append_nothing() {
    let mut model = Scripted::new(2);
    let cancel = Cancel::default();
    model.cancels = Some((2, cancel.clone()));
    let refusal = model.greedy_together(&[run(0, 6, &[]), run(1, 6, &[])], &cancel).unwrap_err();
    assert_eq!((refusal.code(), model.steps.len()), (Code::Cancelled, 3));
    assert_eq!(model.lengths(), [0, 1]);
}

#[test]
fn a_sequence_that_runs_full_is_named_twice_or_unknown_leaves_all_as_they_were() {
    let mut model = Scripted::new(6);
    model.room = 6;
    for (runs, code) in [
        ([run(1, 3, &[]), run(5, 2, &[])], Code::ContextFull),
        ([run(1, 3, &[]), run(1, 3, &[])], Code::RequestInvalid),
        ([run(1, 3, &[]), run(99, 3, &[])], Code::RequestInvalid),
    ] {
        let refusal = model.greedy_together(&runs, &Cancel::default()).unwrap_err();
        assert_eq!(refusal.code(), code, "{runs:?}");
        assert_eq!(model.lengths(), [0, 1, 2, 3, 4, 5], "{runs:?}");
    }
    assert_eq!(model.steps, [2], "the full one took a step before it was full");
}
