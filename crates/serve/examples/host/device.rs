//! A device that computes nothing: its ids follow from how long a sequence is, and come after a time, or at once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use tilewright_backend::{Greedy, LogitSink, Paging, Sequence, Step};
use tilewright_engine::{
    Cancel, DeviceChoice, DeviceKind, Engine, EngineParts, Kernels, KvFormat, Plan, Refusal, Resident,
    WeightFormat,
};
use tilewright_model::{Checkpoint, Config, GenerationConfig, StopSet, Tokenizer};

/// Ids that have text and end nothing.
const IDS: std::ops::Range<u32> = 300..3000;

/// Times of a call: a step whose ids the device chooses, one with logits, and a chunk of a prompt.
#[derive(Clone, Copy, Default)]
pub(crate) struct Times {
    pub(crate) step: Duration,
    pub(crate) logits: Duration,
    pub(crate) chunk: Duration,
}

/// What the device saw.
#[derive(Clone, Copy, Default)]
pub(crate) struct Seen {
    ended: Option<Instant>,
    /// Time between two calls.
    pub(crate) idle: Duration,
    pub(crate) calls: u32,
    /// Decode steps, and those of them that brought logits to the host.
    pub(crate) steps: u32,
    pub(crate) by_logits: u32,
}

struct Device {
    config: Config,
    plan: Plan,
    times: Times,
    held: BTreeMap<Sequence, usize>,
    seen: Arc<Mutex<Seen>>,
}

impl Device {
    /// A call that takes so long: what it waited for the host before it is idle time.
    fn call<T>(&mut self, time: Duration, work: impl FnOnce(&mut Self, &mut Seen) -> T) -> T {
        let seen = Arc::clone(&self.seen);
        let mut seen = seen.lock().unwrap();
        if let Some(ended) = seen.ended {
            seen.idle += ended.elapsed();
        }
        seen.calls += 1;
        thread::sleep(time);
        let result = work(self, &mut seen);
        seen.ended = Some(Instant::now());
        result
    }

    /// Appends some ids; the one that follows.
    fn append(&mut self, sequence: Sequence, more: usize) -> u32 {
        let held = self.held.entry(sequence).or_default();
        *held += more;
        IDS.start + (*held as u32 * 37) % (IDS.end - IDS.start)
    }

    fn row(&mut self, sequence: Sequence, more: usize, logits: &mut [f32]) {
        logits.fill(0.0);
        logits[self.append(sequence, more) as usize] = 1.0;
    }
}

impl Resident for Device {
    fn config(&self) -> &Config {
        &self.config
    }

    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn create(&mut self, _: usize) -> Result<Sequence, Refusal> {
        let sequence = Sequence(self.held.keys().last().map_or(0, |last| last.0 + 1));
        self.held.insert(sequence, 0);
        Ok(sequence)
    }

    fn release(&mut self, sequence: Sequence) {
        self.held.remove(&sequence);
    }

    fn len(&self, sequence: Sequence) -> usize {
        self.held.get(&sequence).copied().unwrap_or(0)
    }

    fn truncate(&mut self, sequence: Sequence, len: usize) {
        self.held.entry(sequence).and_modify(|held| *held = len.min(*held));
    }

    fn paging(&self) -> Option<Paging> {
        Some(Paging { page: 64, bytes: 1, used: 0, most: Some(1 << 20) })
    }

    fn prefill(
        &mut self,
        sequence: Sequence,
        tokens: &[u32],
        logits: LogitSink<'_>,
        _: &Cancel,
    ) -> Result<(), Refusal> {
        let chunks = tokens.len().div_ceil(64) as u32;
        self.call(self.times.chunk * chunks, |device, _| match logits {
            LogitSink::Last(row) => device.row(sequence, tokens.len(), row),
            _ => _ = device.append(sequence, tokens.len()),
        });
        Ok(())
    }

    fn decode(&mut self, steps: &[Step], logits: &mut [f32]) -> Result<(), Refusal> {
        let vocab = self.config.vocab;
        self.call(self.times.logits, |device, seen| {
            (seen.steps, seen.by_logits) = (seen.steps + 1, seen.by_logits + 1);
            for (step, row) in steps.iter().zip(logits.chunks_mut(vocab)) {
                device.row(step.sequence, 1, row);
            }
        });
        Ok(())
    }

    fn greedy_window(&self) -> usize {
        16
    }

    fn greedy_together(&mut self, runs: &[Greedy<'_>], _: &Cancel) -> Result<Vec<Vec<u32>>, Refusal> {
        let most = runs.iter().map(|run| run.count).max().unwrap_or(0) as u32;
        let ids = |device: &mut Self, seen: &mut Seen| {
            seen.steps += most;
            let one = |run: &Greedy<'_>| (0..run.count).map(|_| device.append(run.sequence, 1)).collect();
            runs.iter().map(one).collect()
        };
        Ok(self.call(self.times.step * most, ids))
    }

    fn copy_kv(&self, _: Sequence, _: usize) -> (Vec<f32>, Vec<f32>) {
        (Vec::new(), Vec::new())
    }
}

/// An engine over such a device with the story model's tokenizer, and what the device sees.
pub(crate) fn engine(times: Times) -> (Engine, Arc<Mutex<Seen>>) {
    let checkpoint = Checkpoint::embedded().unwrap();
    let config = checkpoint.config().clone();
    let plan = Plan {
        device: DeviceKind::Cpu,
        kernels: Kernels::Cpu { isa: "none".into(), numerics: Default::default() },
        weights: WeightFormat::F32,
        kv: KvFormat::F32,
        context: 512,
        prefill_chunk: 512,
        threads: 1,
        weight_bytes: 0,
        bytes_per_token: 0,
        kv_bytes_per_position: 1,
        notes: Vec::new(),
    };
    let seen = Arc::<Mutex<Seen>>::default();
    let device = Device { config, plan, times, held: BTreeMap::new(), seen: Arc::clone(&seen) };
    let parts = EngineParts {
        device: DeviceChoice { kind: DeviceKind::Cpu, reason: "none".into() },
        tokenizer: Some(Tokenizer::from_bytes(checkpoint.tokenizer_json().unwrap(), None).unwrap()),
        template: None,
        stop_set: StopSet::default(),
        generation: GenerationConfig::default(),
        load_time: Duration::ZERO,
    };
    (Engine::from_parts(Box::new(device), parts), seen)
}
