//! A device with scripted logits, for tests of what the engine does with them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use tilewright_backend::{Cancel, DeviceKind, KvFormat, LogitSink, Plan, Resident, Sequence, Step};
use tilewright_model::{
    Checkpoint, Code, Config, Family, GenerationConfig, Refusal, Rope, RopeScaling, StopSet, StopSource,
    Tokenizer, WeightFormat,
};

use crate::device::DeviceChoice;
use crate::{Engine, EngineParts};

/// From all ids of a sequence to the logits after the last.
type Script = dyn Fn(&[u32]) -> Vec<f32> + Send + Sync;

/// What tests see of a fake device.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch {
    /// Sequences that are alive.
    pub(crate) alive: Arc<AtomicUsize>,
    /// Tokens of each prefill call, in order.
    pub(crate) prefills: Arc<Mutex<Vec<Vec<u32>>>>,
    /// Decode steps.
    pub(crate) decodes: Arc<AtomicUsize>,
    /// A request's cancel flag is raised by the device itself in the prefill call of this index.
    pub(crate) cancel_in_prefill: Arc<Mutex<Option<usize>>>,
    /// Whether the device chooses tokens by itself, and what it was asked for each time.
    pub(crate) runs: Arc<Mutex<Option<Vec<usize>>>>,
}

impl Watch {
    pub(crate) fn alive(&self) -> usize {
        self.alive.load(Ordering::Relaxed)
    }

    pub(crate) fn decodes(&self) -> usize {
        self.decodes.load(Ordering::Relaxed)
    }

    pub(crate) fn prefills(&self) -> Vec<Vec<u32>> {
        self.prefills.lock().unwrap().clone()
    }
}

struct Fake {
    config: Config,
    plan: Plan,
    script: Arc<Script>,
    sequences: BTreeMap<Sequence, (usize, Vec<u32>)>,
    created: u64,
    watch: Watch,
}

/// An engine over a fake device of `vocab` ids, 64 positions and prefill chunks of 4.
pub(crate) fn engine(
    vocab: usize,
    stop_ids: &[u32],
    script: impl Fn(&[u32]) -> Vec<f32> + Send + Sync + 'static,
) -> (Engine, Watch) {
    build(None, vocab, stop_ids, script)
}

/// The same with the tokenizer of the story model and a head of `rows`, at least its 4,096 ids.
pub(crate) fn engine_with_text(
    rows: usize,
    script: impl Fn(&[u32]) -> Vec<f32> + Send + Sync + 'static,
) -> (Engine, Watch) {
    build(Some(tokenizer()), rows, &[END], script)
}

/// The end of a turn in the tokenizer of the story model.
pub(crate) const END: u32 = 4095;

/// The tokenizer of the story model.
pub(crate) fn tokenizer() -> Tokenizer {
    static READ: LazyLock<Tokenizer> = LazyLock::new(|| {
        let checkpoint = Checkpoint::embedded().expect("the embedded model");
        Tokenizer::from_bytes(checkpoint.tokenizer_json().expect("its tokenizer"), None).expect("valid")
    });
    READ.clone()
}

fn build(
    tokenizer: Option<Tokenizer>,
    vocab: usize,
    stop_ids: &[u32],
    script: impl Fn(&[u32]) -> Vec<f32> + Send + Sync + 'static,
) -> (Engine, Watch) {
    let watch = Watch::default();
    let fake = Fake {
        config: config(vocab),
        plan: plan(),
        script: Arc::new(script),
        sequences: BTreeMap::new(),
        created: 0,
        watch: watch.clone(),
    };
    let parts = EngineParts {
        device: DeviceChoice { kind: DeviceKind::Cpu, reason: "fake".into() },
        tokenizer,
        template: None,
        stop_set: StopSet::union([(StopSource::Config, stop_ids.to_vec())]),
        generation: GenerationConfig::default(),
        load_time: Duration::ZERO,
    };
    (Engine::from_parts(Box::new(fake), parts), watch)
}

/// Logits in which `id` is the most likely of `vocab`.
pub(crate) fn favor(id: u32, vocab: usize) -> Vec<f32> {
    let mut logits = vec![0.0; vocab];
    logits[id as usize] = 5.0;
    logits
}

/// A script that continues a prompt of `prompt` ids with `reply`, then with its last id for ever.
pub(crate) fn saying(
    vocab: usize,
    prompt: usize,
    reply: &[u32],
) -> impl Fn(&[u32]) -> Vec<f32> + Send + Sync + 'static {
    let reply = reply.to_vec();
    move |ids| favor(reply[(ids.len() - prompt).min(reply.len() - 1)], vocab)
}

impl Fake {
    fn check_room(&self, sequence: Sequence, more: usize) -> Result<(), Refusal> {
        let (room, ids) = &self.sequences[&sequence];
        if ids.len() + more > *room {
            return Err(Refusal::new(Code::ContextFull, "tokens", room, ids.len() + more));
        }
        Ok(())
    }

    fn append(&mut self, sequence: Sequence, tokens: &[u32]) -> &[u32] {
        let (_, ids) = self.sequences.get_mut(&sequence).expect("a live sequence");
        ids.extend_from_slice(tokens);
        ids
    }
}

impl Resident for Fake {
    fn config(&self) -> &Config {
        &self.config
    }

    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn create(&mut self, positions: usize) -> Result<Sequence, Refusal> {
        self.created += 1;
        let sequence = Sequence(self.created);
        self.sequences.insert(sequence, (positions, Vec::new()));
        self.watch.alive.fetch_add(1, Ordering::Relaxed);
        Ok(sequence)
    }

    fn release(&mut self, sequence: Sequence) {
        if self.sequences.remove(&sequence).is_some() {
            self.watch.alive.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn len(&self, sequence: Sequence) -> usize {
        self.sequences.get(&sequence).map_or(0, |(_, ids)| ids.len())
    }

    fn truncate(&mut self, sequence: Sequence, len: usize) {
        if let Some((_, ids)) = self.sequences.get_mut(&sequence) {
            ids.truncate(len);
        }
    }

    fn prefill(
        &mut self,
        sequence: Sequence,
        tokens: &[u32],
        logits: LogitSink<'_>,
        cancel: &Cancel,
    ) -> Result<(), Refusal> {
        self.check_room(sequence, tokens.len())?;
        let index = self.watch.prefills().len();
        self.watch.prefills.lock().unwrap().push(tokens.to_vec());
        if *self.watch.cancel_in_prefill.lock().unwrap() == Some(index) {
            cancel.cancel();
        }
        if cancel.is_cancelled() {
            return Err(Refusal::with_findings(Code::Cancelled, Vec::new()));
        }
        let script = Arc::clone(&self.script);
        match logits {
            LogitSink::None => _ = self.append(sequence, tokens),
            LogitSink::Last(row) => row.copy_from_slice(&script(self.append(sequence, tokens))),
            LogitSink::Each(each) => {
                for (i, token) in tokens.iter().enumerate() {
                    each(i, &script(self.append(sequence, &[*token])));
                }
            }
        }
        Ok(())
    }

    fn decode(&mut self, steps: &[Step], logits: &mut [f32]) -> Result<(), Refusal> {
        let script = Arc::clone(&self.script);
        for (step, row) in steps.iter().zip(logits.chunks_mut(self.config.vocab)) {
            self.check_room(step.sequence, 1)?;
            self.watch.decodes.fetch_add(1, Ordering::Relaxed);
            row.copy_from_slice(&script(self.append(step.sequence, &[step.token])));
        }
        Ok(())
    }

    fn greedy(
        &mut self,
        sequence: Sequence,
        token: u32,
        count: usize,
        ends: &[u32],
    ) -> Result<Vec<u32>, Refusal> {
        match &mut *self.watch.runs.lock().unwrap() {
            Some(runs) => runs.push(count),
            None => return Ok(Vec::new()),
        }
        self.check_room(sequence, count)?;
        let script = Arc::clone(&self.script);
        let (mut ids, mut token) = (Vec::new(), token);
        while ids.len() < count && !ids.last().is_some_and(|id| ends.contains(id)) {
            let logits = script(self.append(sequence, &[token]));
            token =
                (0..logits.len()).fold(0, |best, i| if logits[i] > logits[best] { i } else { best }) as u32;
            ids.push(token);
        }
        Ok(ids)
    }

    fn copy_kv(&self, _: Sequence, _: usize) -> (Vec<f32>, Vec<f32>) {
        (Vec::new(), Vec::new())
    }
}

fn plan() -> Plan {
    Plan {
        device: DeviceKind::Cpu,
        kernels: tilewright_backend::Kernels::Cpu { isa: "fake".into() },
        weights: WeightFormat::F32,
        kv: KvFormat::F32,
        context: 64,
        prefill_chunk: 4,
        threads: 1,
        weight_bytes: 0,
        bytes_per_token: 0,
        kv_bytes_per_position: 0,
        notes: Vec::new(),
    }
}

fn config(vocab: usize) -> Config {
    Config {
        family: Family::Qwen3,
        hidden: 32,
        layers: 1,
        heads: 1,
        kv_heads: 1,
        head_dim: 32,
        intermediate: 32,
        vocab,
        norm_eps: 1e-6,
        rope: Rope { theta: 1e4, scaling: RopeScaling::None },
        tied: true,
        qk_norm: true,
        qkv_bias: false,
        max_positions: 64,
        bos: None,
        eos: Vec::new(),
        stored: None,
    }
}
