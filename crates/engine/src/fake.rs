//! A device with scripted logits, for tests of what the engine does with them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use tilewright_backend::{
    Cancel, DeviceKind, Greedy, Kernels, KvFormat, LogitSink, Paging, Plan, Resident, Sequence, Step, greedy,
};
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
    /// The prefill call of this index finds no memory.
    pub(crate) full_in_prefill: Arc<Mutex<Option<usize>>>,
    /// Whether the device chooses tokens by itself, and what it was asked for each time.
    pub(crate) runs: Arc<Mutex<Option<Vec<usize>>>>,
    /// Ids asked for of each sequence, in each call that chooses for several.
    pub(crate) windows: Arc<Mutex<Vec<Vec<usize>>>>,
}

impl Watch {
    pub(crate) fn alive(&self) -> usize {
        self.alive.load(Ordering::Relaxed)
    }

    pub(crate) fn decodes(&self) -> usize {
        self.decodes.load(Ordering::Relaxed)
    }

    pub(crate) fn windows(&self) -> Vec<Vec<usize>> {
        self.windows.lock().unwrap().clone()
    }

    pub(crate) fn prefills(&self) -> Vec<Vec<u32>> {
        self.prefills.lock().unwrap().clone()
    }
}

/// What kind of device it is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Kind {
    /// Whether memory comes in pages of 4 positions, and sequences can be forked.
    pub(crate) pages: bool,
    /// Whether ids appended one by one give other logits than those of a prompt: its script sees them [`OTHER`] higher.
    pub(crate) two_paths: bool,
    /// Steps of several sequences that it takes by itself; 0 as 1.
    pub(crate) window: usize,
    /// Pages that it says there may be.
    pub(crate) most: Option<usize>,
    /// Pages that there are.
    pub(crate) real: Option<usize>,
}

/// See [`Kind::two_paths`].
pub(crate) const OTHER: u32 = 1 << 20;

/// Positions of a page.
pub(crate) const PAGE: usize = 4;

struct Fake {
    kind: Kind,
    config: Config,
    plan: Plan,
    script: Arc<Script>,
    sequences: BTreeMap<Sequence, Held>,
    created: u64,
    watch: Watch,
}

/// A sequence: positions it was made for, ids, and its pages, which others may share.
#[derive(Default)]
struct Held {
    room: usize,
    ids: Vec<u32>,
    pages: Vec<Arc<()>>,
}

impl Held {
    fn append(&mut self, tokens: &[u32]) -> &[u32] {
        // What is written to is copied.
        self.pages.truncate(self.ids.len() / PAGE);
        self.ids.extend_from_slice(tokens);
        self.pages.resize_with(self.ids.len().div_ceil(PAGE), Arc::default);
        &self.ids
    }
}

/// An engine over a fake device of `vocab` ids, 64 positions and prefill chunks of 4.
pub(crate) fn engine(
    vocab: usize,
    stop_ids: &[u32],
    script: impl Fn(&[u32]) -> Vec<f32> + Send + Sync + 'static,
) -> (Engine, Watch) {
    build(None, vocab, stop_ids, Kind::default(), script)
}

/// The same over another kind of device, without stop ids.
pub(crate) fn engine_of(
    kind: Kind,
    vocab: usize,
    script: impl Fn(&[u32]) -> Vec<f32> + Send + Sync + 'static,
) -> (Engine, Watch) {
    build(None, vocab, &[], kind, script)
}

/// The same with the tokenizer of the story model and a head of `rows`, at least its 4,096 ids.
pub(crate) fn engine_with_text(
    rows: usize,
    script: impl Fn(&[u32]) -> Vec<f32> + Send + Sync + 'static,
) -> (Engine, Watch) {
    engine_with_text_of(Kind::default(), rows, script)
}

/// The same over another kind of device.
pub(crate) fn engine_with_text_of(
    kind: Kind,
    rows: usize,
    script: impl Fn(&[u32]) -> Vec<f32> + Send + Sync + 'static,
) -> (Engine, Watch) {
    build(Some(tokenizer()), rows, &[END], kind, script)
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
    kind: Kind,
    script: impl Fn(&[u32]) -> Vec<f32> + Send + Sync + 'static,
) -> (Engine, Watch) {
    let watch = Watch::default();
    let fake = Fake {
        kind,
        config: config(vocab),
        plan: plan(kind),
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
        let held = &self.sequences[&sequence];
        if held.ids.len() + more > held.room {
            return Err(Refusal::new(Code::ContextFull, "tokens", held.room, held.ids.len() + more));
        }
        Ok(())
    }

    /// Whether there are pages for so much more of each.
    fn check_pages(&self, growth: &[(Sequence, usize)]) -> Result<(), Refusal> {
        let (Some(real), Some(paging)) = (self.kind.real, self.paging()) else { return Ok(()) };
        let pages = |len: usize| len.div_ceil(PAGE);
        let more = growth
            .iter()
            .map(|(sequence, more)| pages(self.len(*sequence) + more) - pages(self.len(*sequence)));
        let wanted = paging.used + more.sum::<usize>();
        match wanted > real {
            true => Err(Refusal::new(Code::OutOfMemory, "pages", real, wanted)),
            false => Ok(()),
        }
    }

    fn append(&mut self, sequence: Sequence, tokens: &[u32]) -> &[u32] {
        self.sequences.get_mut(&sequence).expect("a live sequence").append(tokens)
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
        self.sequences.insert(sequence, Held { room: positions, ..Held::default() });
        self.watch.alive.fetch_add(1, Ordering::Relaxed);
        Ok(sequence)
    }

    fn release(&mut self, sequence: Sequence) {
        if self.sequences.remove(&sequence).is_some() {
            self.watch.alive.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn len(&self, sequence: Sequence) -> usize {
        self.sequences.get(&sequence).map_or(0, |held| held.ids.len())
    }

    fn truncate(&mut self, sequence: Sequence, len: usize) {
        if let Some(held) = self.sequences.get_mut(&sequence) {
            held.ids.truncate(len);
            held.pages.truncate(len.div_ceil(PAGE));
        }
    }

    fn paging(&self) -> Option<Paging> {
        let pages = self.sequences.values().flat_map(|held| &held.pages).map(Arc::as_ptr);
        let used = pages.collect::<BTreeSet<_>>().len();
        self.kind.pages.then_some(Paging { page: PAGE, bytes: PAGE as u64, used, most: self.kind.most })
    }

    fn fork(&mut self, from: Sequence, len: usize, positions: usize) -> Result<Option<Sequence>, Refusal> {
        if !self.kind.pages {
            return Ok(None);
        }
        let Held { ids, pages, .. } = &self.sequences[&from];
        let (ids, mut pages) = (ids[..len].to_vec(), pages[..len / PAGE].to_vec());
        pages.resize_with(len.div_ceil(PAGE), Arc::default);
        let fork = self.create(positions)?;
        self.sequences.insert(fork, Held { room: positions, ids, pages });
        Ok(Some(fork))
    }

    fn hidden(
        &mut self,
        sequence: Sequence,
        tokens: &[u32],
        each: &mut dyn FnMut(usize, &[f32]),
        _: &Cancel,
    ) -> Result<(), Refusal> {
        for (i, token) in tokens.iter().enumerate() {
            let len = self.append(sequence, &[*token]).len();
            each(i, &(0..self.config.hidden).map(|h| (h * len) as f32 + *token as f32).collect::<Vec<_>>());
        }
        Ok(())
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
        if *self.watch.full_in_prefill.lock().unwrap() == Some(index) {
            return Err(Refusal::new(Code::OutOfMemory, "a page", "one more", "none"));
        }
        self.check_pages(&[(sequence, tokens.len())])?;
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
        self.check_pages(&steps.iter().map(|step| (step.sequence, 1)).collect::<Vec<_>>())?;
        let script = Arc::clone(&self.script);
        let other = if self.kind.two_paths { OTHER } else { 0 };
        for (step, row) in steps.iter().zip(logits.chunks_mut(self.config.vocab)) {
            self.check_room(step.sequence, 1)?;
            self.watch.decodes.fetch_add(1, Ordering::Relaxed);
            row.copy_from_slice(&script(self.append(step.sequence, &[step.token + other])));
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

    fn greedy_window(&self) -> usize {
        self.kind.window.max(1)
    }

    fn greedy_together(&mut self, runs: &[Greedy<'_>], _: &Cancel) -> Result<Vec<Vec<u32>>, Refusal> {
        self.watch.windows.lock().unwrap().push(runs.iter().map(|run| run.count).collect());
        let script = Arc::clone(&self.script);
        let other = if self.kind.two_paths { OTHER } else { 0 };
        greedy::all_or_nothing(self, runs, |fake| {
            let one = |run: &Greedy<'_>| {
                fake.check_room(run.sequence, run.count)?;
                let mut ids = Vec::new();
                while let Some(Step { sequence, token }) = run.next(&ids) {
                    ids.push(greedy::greatest(&script(fake.append(sequence, &[token + other])), sequence)?);
                }
                Ok(ids)
            };
            runs.iter().map(one).collect()
        })
    }

    fn copy_kv(&self, _: Sequence, _: usize) -> (Vec<f32>, Vec<f32>) {
        (Vec::new(), Vec::new())
    }
}

fn plan(kind: Kind) -> Plan {
    let kernels = match kind.two_paths {
        true => Kernels::Cuda { arch: "fake".into(), hopper: true, persistent: true, overlap: false },
        false => Kernels::Cpu { isa: "fake".into(), numerics: Default::default() },
    };
    Plan {
        device: DeviceKind::Cpu,
        kernels,
        weights: WeightFormat::F32,
        kv: KvFormat::F32,
        context: 64,
        prefill_chunk: 4,
        threads: 1,
        weight_bytes: 0,
        bytes_per_token: 0,
        kv_bytes_per_position: 1,
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
