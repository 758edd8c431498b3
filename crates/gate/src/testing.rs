//! A small model, a run of the benchmark over it, and a device that can be made wrong.

use tilewright_backend::{
    Cancel, DeviceKind, Greedy, Kernels, LogitSink, Plan, Resident, Sequence, Step, greedy,
};
use tilewright_cpu::CpuOptions;
use tilewright_model::{Checkpoint, Config, Family, Refusal, WeightFormat};

use crate::bench::{Measure, Phases, Settings, Subject, run};
use crate::programs::by_turns;
use crate::report::{DeviceCeilings, Products, Rate, Report, Workload};
use crate::seeded::{small, write};

/// A checkpoint of two layers, in a folder that lives as long as it.
pub(crate) struct Small {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) checkpoint: Checkpoint,
}

impl Small {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = Config { vocab: 96, ..small(Family::Qwen3) };
        write(&config, 7, folder.path(), &mut |_| {}).unwrap();
        let checkpoint = Checkpoint::open(folder.path()).unwrap();
        Self { folder, checkpoint }
    }

    pub(crate) fn open(&self, weights: WeightFormat, chunk: usize) -> Box<dyn Resident> {
        let options = CpuOptions {
            weights: Some(weights),
            threads: Some(1),
            context: Some(600),
            prefill_chunk: Some(chunk),
            ..CpuOptions::default()
        };
        tilewright_cpu::open(&self.checkpoint, &options, &mut |_| Ok(())).unwrap()
    }

    /// A report of `workloads`, of a device that is wrong in `fault`, if it is.
    pub(crate) fn report(
        &self,
        weights: WeightFormat,
        fault: Option<Fault>,
        phases: Phases<'_>,
    ) -> Result<Report, Refusal> {
        self.report_as(weights, fault, phases, |_| ())
    }

    /// The same under a plan that says other than what runs.
    pub(crate) fn report_as(
        &self,
        weights: WeightFormat,
        fault: Option<Fault>,
        phases: Phases<'_>,
        change: impl Fn(&mut Plan),
    ) -> Result<Report, Refusal> {
        self.report_measured((weights, fault), phases, change, &mut || Ok(recorded()))
    }

    /// The same with ceilings by `measure`.
    pub(crate) fn report_measured(
        &self,
        (weights, fault): (WeightFormat, Option<Fault>),
        phases: Phases<'_>,
        change: impl Fn(&mut Plan),
        measure: &mut Measure<'_>,
    ) -> Result<Report, Refusal> {
        let mut plan = self.open(weights, 32).plan().clone();
        change(&mut plan);
        let mut open = |chunk| {
            let model = self.open(weights, chunk);
            Ok(match fault {
                None => model,
                Some(fault) => Box::new(Faulty { model, fault, calls: 0 }) as Box<dyn Resident>,
            })
        };
        let settings = Settings {
            program: "bench".to_owned(),
            trials: 3,
            warmups: 1,
            pause: std::time::Duration::ZERO,
            // The processor's take seconds.
            ceilings: plan.device != DeviceKind::Cpu,
            remarks: Vec::new(),
        };
        let subject = Subject {
            name: "small".to_owned(),
            checkpoint: &self.checkpoint,
            folder: Some(self.folder.path()),
            plan,
            reason: format!("asked for: {GPU}"),
            reference: None,
            open: &mut open,
            ceilings: Some(measure),
        };
        run(subject, Vec::new(), Vec::new(), &settings, phases, &mut |_| ())
    }
}

/// The GPU of a plan that says it ran on one.
pub(crate) const GPU: &str = "NVIDIA of a test";

/// Ceilings of it, in numbers that a file gives back as they are.
pub(crate) fn recorded() -> DeviceCeilings {
    DeviceCeilings {
        device: "cuda:0".to_owned(),
        name: GPU.to_owned(),
        read: Rate::new(40_000_000_000, vec![10e6, 8e6, 12.5e6]),
        f32: Rate::new(600_000_000_000, vec![10e6, 12e6, 8e6]),
        bf16: Some(Products {
            instruction: "wgmma".to_owned(),
            rate: Rate::new(8_000_000_000_000, vec![12.5e6, 10e6, 10e6]),
        }),
    }
}

/// A plan says that it ran on that GPU, with kernels that take activations in bf16 or in f32.
pub(crate) fn on_gpu(hopper: bool) -> impl Fn(&mut Plan) {
    move |plan| {
        plan.device = DeviceKind::Cuda(0);
        plan.kernels = Kernels::Cuda { arch: "sm_90a".to_owned(), hopper, persistent: false, overlap: false };
    }
}

/// A workload over ids of which the fifth sequence has those of the first.
pub(crate) fn workload(name: &str, [depth, prompt, steps, sequences]: [usize; 4], given: bool) -> Workload {
    let count = depth + prompt + usize::from(given);
    Workload {
        name: name.to_owned(),
        depth,
        prompt,
        steps,
        given,
        chunk: 32,
        source: "synthetic ids".to_owned(),
        ids: by_turns(96, sequences, count),
    }
}

/// One of each kind of workload.
pub(crate) fn workloads() -> Phases<'static> {
    let first = vec![
        workload("pp40", [0, 40, 0, 1], false),
        workload("tg4 @ d8", [8, 0, 4, 1], false),
        workload("8/4", [0, 8, 3, 1], false),
        workload("context 0", [0, 0, 1, 1], true),
        workload("context 16", [16, 0, 1, 1], true),
        workload("batch 5", [4, 0, 3, 5], false),
    ];
    Phases { first, second: None }
}

/// What a device may get wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fault {
    /// One logit of every row.
    Logit,
    /// A logit that is no number.
    NotANumber,
    /// One key of the last layer.
    Key,
    /// One value of the first layer.
    Value,
    /// After so many calls, the token chosen.
    LaterToken(usize),
    /// A logit after a prompt of several chunks that comes by one call.
    WholePrompt,
    /// A token that it chooses by itself for one of several sequences.
    ChosenTogether,
}

struct Faulty {
    model: Box<dyn Resident>,
    fault: Fault,
    calls: usize,
}

impl Faulty {
    fn spoil(&mut self, logits: &mut [f32]) {
        self.calls += 1;
        match self.fault {
            Fault::Logit => logits[17] += 0.01,
            Fault::NotANumber => logits[17] = f32::NAN,
            Fault::LaterToken(calls) if self.calls > calls => logits[17] = 1e3,
            _ => {}
        }
    }
}

impl Resident for Faulty {
    fn config(&self) -> &Config {
        self.model.config()
    }

    fn plan(&self) -> &Plan {
        self.model.plan()
    }

    fn create(&mut self, positions: usize) -> Result<Sequence, Refusal> {
        self.model.create(positions)
    }

    fn release(&mut self, sequence: Sequence) {
        self.model.release(sequence);
    }

    fn len(&self, sequence: Sequence) -> usize {
        self.model.len(sequence)
    }

    fn truncate(&mut self, sequence: Sequence, len: usize) {
        self.model.truncate(sequence, len);
    }

    fn prefill(
        &mut self,
        sequence: Sequence,
        tokens: &[u32],
        logits: LogitSink<'_>,
        cancel: &Cancel,
    ) -> Result<(), Refusal> {
        match logits {
            LogitSink::Last(last) => {
                self.model.prefill(sequence, tokens, LogitSink::Last(&mut *last), cancel)?;
                self.spoil(last);
                if self.fault == Fault::WholePrompt && tokens.len() > self.model.plan().prefill_chunk {
                    last[17] += 0.01;
                }
                Ok(())
            }
            other => self.model.prefill(sequence, tokens, other, cancel),
        }
    }

    fn decode(&mut self, steps: &[Step], logits: &mut [f32]) -> Result<(), Refusal> {
        self.model.decode(steps, logits)?;
        self.spoil(logits);
        Ok(())
    }

    fn greedy_together(&mut self, runs: &[Greedy<'_>], cancel: &Cancel) -> Result<Vec<Vec<u32>>, Refusal> {
        let mut ids = greedy::by_logits(self, runs, cancel)?;
        if self.fault == Fault::ChosenTogether
            && let Some(id) = ids.last_mut().and_then(|ids| ids.last_mut())
        {
            *id ^= 1;
        }
        Ok(ids)
    }

    fn copy_kv(&self, sequence: Sequence, layer: usize) -> (Vec<f32>, Vec<f32>) {
        let (mut keys, mut values) = self.model.copy_kv(sequence, layer);
        match self.fault {
            Fault::Key if layer == 1 => keys[3] += 0.05,
            Fault::Value if layer == 0 => values[3] += 0.05,
            _ => {}
        }
        (keys, values)
    }
}
