//! The GPU as a resident model.

mod greedy;
mod memory;

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use tilewright_backend::greedy::greatest;
use tilewright_backend::{Cancel, Checks, Greedy, LogitSink, Paging, Plan, Resident, Sequence, Step};
use tilewright_model::{Code, Config, Refusal};

use crate::decoder::{Decoder, Run};
use crate::device::Device;
use crate::kv::{KvCache, Store};
use crate::overlap::{self, Overlap, Place};
use crate::persistent::{ENDS, STEPS};
use crate::raw::overlap::Graph;
use crate::rope::RopeTable;
use crate::rows::{Common, Rows};
use crate::stages::{LOGIT_ROWS, Row};
use crate::weights::Weights;

/// A decoder on a GPU with its sequences.
pub struct CudaModel {
    pub(crate) config: Config,
    pub(crate) plan: Plan,
    pub(crate) weights: Weights,
    /// What takes prompts and batches.
    pub(crate) rows: Rows,
    /// Where single sequences are decoded, if the plan says so.
    pub(crate) decoder: Option<Decoder>,
    /// What decodes them instead, if the plan says so.
    pub(crate) overlap: Option<Overlap>,
    pub(crate) rope: RopeTable,
    pub(crate) sequences: BTreeMap<Sequence, State>,
    /// The next name to give.
    pub(crate) next: u64,
    /// Where the sequences' caches come from.
    pub(crate) store: Store,
    /// Last: what lies on the GPU goes before it.
    pub(crate) device: Device,
}

/// One sequence.
pub(crate) struct State {
    cache: KvCache,
    /// Positions that the cache is made for.
    capacity: usize,
    /// Positions held.
    len: usize,
    /// Positions it may come to hold.
    room: usize,
    /// A step of overlapping launches on this cache, once there was one, and where RoPE's table lay then.
    step: Option<(u64, Graph)>,
}

impl State {
    fn row(&self, position: usize) -> Row {
        Row::new(self.cache.address(), position)
    }
}

impl CudaModel {
    /// Positions a sequence holds, and those it has room for.
    fn held(&self, sequence: Sequence) -> Option<(usize, usize)> {
        self.sequences.get(&sequence).map(|state| (state.len, state.room))
    }

    /// Everything that is wrong with appending a token to `sequence`, and `more` positions after it.
    fn check_append(&self, sequence: Sequence, token: u32, more: usize) -> Result<(), Refusal> {
        let mut checks = Checks::new(self.config.vocab);
        checks.append(sequence, self.held(sequence), &[token], more);
        checks.finish()
    }

    /// Appends `token` and then the greatest logit's id, again and again: up to `count` new ids, the last of which is not
    /// yet appended. Nothing follows an id of `ends`. One launch serves many tokens.
    ///
    /// # Errors
    /// `request_invalid`, `context_full` before any work; `out_of_memory`, `non_finite_logits`, `device_timeout`, `device_failed`,
    /// and nothing is appended.
    pub fn run(
        &mut self,
        sequence: Sequence,
        token: u32,
        count: usize,
        ends: &[u32],
    ) -> Result<Vec<u32>, Refusal> {
        self.check_append(sequence, token, count.saturating_sub(1))?;
        if self.decoder.is_none() && self.overlap.is_none() {
            let run = Greedy { sequence, token, count, ends };
            return Ok(self.greedy_together(&[run], &Cancel::default())?.pop().unwrap_or_default());
        }
        let before = self.len(sequence);
        let mut ids: Vec<u32> = Vec::with_capacity(count);
        let mut logits = vec![0.0; self.config.vocab];
        while ids.len() < count && !ids.last().is_some_and(|id| ends.contains(id)) {
            let token = ids.last().copied().unwrap_or(token);
            match self.some(sequence, token, count - ids.len(), ends, &mut logits) {
                Ok(found) => ids.extend(found),
                Err(refusal) => {
                    self.truncate(sequence, before);
                    return Err(refusal);
                }
            }
        }
        Ok(ids)
    }

    /// At least one id, and as many up to `count` as one call gives.
    fn some(
        &mut self,
        sequence: Sequence,
        token: u32,
        count: usize,
        ends: &[u32],
        logits: &mut [f32],
    ) -> Result<Vec<u32>, Refusal> {
        let found = self.greedy(sequence, token, count, ends)?;
        if !found.is_empty() {
            return Ok(found);
        }
        self.decode(&[Step { sequence, token }], logits)?;
        Ok(vec![greatest(logits, sequence)?])
    }

    /// Keeps a worker of the persistent decoders away and gives launches so much time, to see what happens; `None` ends it.
    #[doc(hidden)]
    pub fn inject_fault(&mut self, fault: Option<(u32, Duration)>) {
        let worker = fault.map_or(0, |(worker, _)| worker + 1);
        let deadline = fault.map(|(_, time)| time.as_nanos() as u64);
        if let Some(decoder) = &mut self.decoder {
            (decoder.fault, decoder.deadline_ns) = (worker, deadline);
        }
        if let Some(together) = self.rows.together() {
            (together.fault, together.deadline_ns) = (worker, deadline);
        }
    }

    /// A launch of the persistent decoder.
    fn persistent(
        &mut self,
        sequence: Sequence,
        token: u32,
        steps: usize,
        ends: &[u32],
        logits: Option<&mut [f32]>,
    ) -> Result<Vec<u32>, Refusal> {
        let (Some(decoder), Some(state)) = (&mut self.decoder, self.sequences.get_mut(&sequence)) else {
            return Ok(Vec::new());
        };
        let cache = state.cache.address();
        let run = Run { cache, position: state.len, token, steps, ends, rope: self.rope.address() };
        let ids = decoder.run(&self.device, &self.weights, &run, logits)?;
        state.len += ids.len();
        Ok(ids)
    }

    /// Steps of overlapping launches: the ids chosen, none where there are no such launches.
    fn overlapped(&mut self, sequence: Sequence, token: u32, steps: usize) -> Result<Vec<u32>, Refusal> {
        let Self { overlap, sequences, device, weights, rope, store, .. } = self;
        let (Some(overlap), Some(state)) = (overlap, sequences.get_mut(&sequence)) else {
            return Ok(Vec::new());
        };
        let rope = rope.address();
        let recorded = state.step.take().filter(|(at, _)| *at == rope);
        let (_, graph) = match recorded {
            Some(recorded) => state.step.insert(recorded),
            None => {
                let (cache, capacity) = (state.cache.address(), state.capacity);
                let scales = cache + store.layout.codes() as u64;
                let graph = overlap.record(device, Place { weights, cache, scales, capacity, rope })?;
                state.step.insert((rope, graph))
            }
        };
        overlap.run(device, graph, (token, state.len), steps)
    }

    /// Greedy steps of overlapping launches, up to an id of `ends` or to logits that are no numbers.
    fn overlapped_greedy(
        &mut self,
        sequence: Sequence,
        token: u32,
        steps: usize,
        ends: &[u32],
    ) -> Result<Vec<u32>, Refusal> {
        let mut ids = self.overlapped(sequence, token, steps)?;
        let end = ids.iter().position(|id| ends.contains(id)).map_or(ids.len(), |at| at + 1);
        let numbers = ids.iter().position(|id| *id as usize >= self.config.vocab).unwrap_or(ids.len());
        ids.truncate(end.min(numbers));
        if let Some(state) = self.sequences.get_mut(&sequence) {
            state.len += ids.len();
        }
        Ok(ids)
    }

    /// Tokens of steps, and where they go.
    fn rows_of(&self, steps: &[Step]) -> (Vec<u32>, Vec<Row>) {
        let row =
            |s: &Step| Some((s.token, self.sequences.get(&s.sequence).map(|state| state.row(state.len))?));
        steps.iter().filter_map(row).unzip()
    }

    /// Everything that is wrong with a prompt for `sequence`.
    fn check_prompt(
        &self,
        sequence: Sequence,
        tokens: &[u32],
        logits: &LogitSink<'_>,
    ) -> Result<(), Refusal> {
        let mut checks = Checks::new(self.config.vocab);
        checks.prompt(sequence, self.held(sequence), tokens, logits);
        checks.finish()
    }

    /// Takes `tokens` in by chunks; `after` each the rows of the call that are ready, before they count as held.
    fn chunks(
        &mut self,
        sequence: Sequence,
        tokens: &[u32],
        every: bool,
        cancel: &Cancel,
        after: impl FnMut(&mut Self, Range<usize>) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        self.reach([(sequence, tokens.len())])?;
        let result = self.ready_chunks(sequence, tokens, every, cancel, after);
        if result.is_err() {
            self.settle(sequence);
        }
        result
    }

    /// As [`chunks`](Self::chunks), for positions that are ready to be written.
    fn ready_chunks(
        &mut self,
        sequence: Sequence,
        tokens: &[u32],
        every: bool,
        cancel: &Cancel,
        mut after: impl FnMut(&mut Self, Range<usize>) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let mut done = 0;
        for chunk in tokens.chunks(self.plan.prefill_chunk) {
            let Some(state) = self.sequences.get(&sequence) else { return Ok(()) };
            let first = state.row(state.len);
            let Self { rows, device, config, weights, rope, .. } = &mut *self;
            let common = Common { device, config, weights, rope: rope.address() };
            rows.prompt(common, chunk, first, every, cancel)?;
            after(self, done..done + chunk.len())?;
            done += chunk.len();
            if let Some(state) = self.sequences.get_mut(&sequence) {
                state.len += chunk.len();
            }
        }
        Ok(())
    }

    /// Everything that is wrong with one step each and the room for its logits.
    fn check_logits(&self, steps: &[Step], logits: &[f32]) -> Result<(), Refusal> {
        let mut checks = Checks::new(self.config.vocab);
        checks.steps(steps, |sequence| self.held(sequence));
        checks.step_logits(logits.len(), steps.len());
        checks.finish()
    }

    /// Hands the logits of `rows` ready rows to `each`, some at a time.
    fn each_row(&mut self, rows: usize, mut each: impl FnMut(usize, &[f32])) -> Result<(), Refusal> {
        let vocab = self.config.vocab;
        let mut logits = vec![0.0; LOGIT_ROWS.min(rows) * vocab];
        for first in (0..rows).step_by(LOGIT_ROWS) {
            let count = LOGIT_ROWS.min(rows - first);
            let Self { rows, device, config, weights, rope, .. } = self;
            let common = Common { device, config, weights, rope: rope.address() };
            rows.logits(common, (first, count), &mut logits[..count * vocab])?;
            for (row, logits) in logits.chunks_exact(vocab).take(count).enumerate() {
                each(first + row, logits);
            }
        }
        Ok(())
    }
}

impl Resident for CudaModel {
    fn config(&self) -> &Config {
        &self.config
    }

    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn create(&mut self, positions: usize) -> Result<Sequence, Refusal> {
        let made = self.insert(positions, 0, |model, positions| {
            model.store.create(&model.device, positions).map(Some)
        })?;
        made.ok_or_else(|| Refusal::new(Code::DeviceFailed, "a new sequence", "a cache", "none"))
    }

    fn paging(&self) -> Option<Paging> {
        self.store.paging()
    }

    fn fork(&mut self, from: Sequence, len: usize, positions: usize) -> Result<Option<Sequence>, Refusal> {
        if self.paging().is_none() || len > self.len(from).min(positions) {
            return Ok(None);
        }
        self.insert(positions, len, |model, positions| {
            let Self { sequences, store, .. } = model;
            let from = sequences.get(&from);
            from.map_or(Ok(None), |source| store.fork(&source.cache, len, positions))
        })
    }

    fn release(&mut self, sequence: Sequence) {
        if let Some(state) = self.sequences.remove(&sequence) {
            self.store.release(state.cache);
        }
    }

    fn len(&self, sequence: Sequence) -> usize {
        self.sequences.get(&sequence).map_or(0, |s| s.len)
    }

    fn truncate(&mut self, sequence: Sequence, len: usize) {
        if let Some(state) = self.sequences.get_mut(&sequence) {
            state.len = state.len.min(len);
            self.store.truncate(&mut state.cache, state.len);
        }
    }

    fn prefill(
        &mut self,
        sequence: Sequence,
        tokens: &[u32],
        mut logits: LogitSink<'_>,
        cancel: &Cancel,
    ) -> Result<(), Refusal> {
        self.check_prompt(sequence, tokens, &logits)?;
        let (every, count) = (matches!(logits, LogitSink::Each(_)), tokens.len());
        self.chunks(sequence, tokens, every, cancel, |model, rows| match &mut logits {
            LogitSink::Each(each) => model.each_row(rows.len(), |row, logits| each(rows.start + row, logits)),
            LogitSink::Last(out) if rows.end == count => {
                let Self { rows: path, device, config, weights, rope, .. } = model;
                let common = Common { device, config, weights, rope: rope.address() };
                path.logits(common, (rows.len() - 1, 1), out)
            }
            LogitSink::Last(_) | LogitSink::None => model.device.wait(),
        })
    }

    fn hidden(
        &mut self,
        sequence: Sequence,
        tokens: &[u32],
        each: &mut dyn FnMut(usize, &[f32]),
        cancel: &Cancel,
    ) -> Result<(), Refusal> {
        self.check_prompt(sequence, tokens, &LogitSink::None)?;
        self.chunks(sequence, tokens, true, cancel, |model, rows| {
            let Self { rows: path, device, config, weights, rope, .. } = model;
            let common = Common { device, config, weights, rope: rope.address() };
            let mut states = vec![0.0; rows.len() * config.hidden];
            path.hidden(common, rows.len(), &mut states)?;
            rows.zip(states.chunks(config.hidden)).for_each(|(row, state)| each(row, state));
            Ok(())
        })
    }

    fn decode(&mut self, steps: &[Step], logits: &mut [f32]) -> Result<(), Refusal> {
        if let ([step], true) = (steps, self.decoder.is_some()) {
            self.check_logits(steps, logits)?;
            self.reach([(step.sequence, 1)])?;
            return self.persistent(step.sequence, step.token, 1, &[], Some(logits)).map(drop);
        }
        if let ([step], true) = (steps, self.overlap.is_some()) {
            self.check_logits(steps, logits)?;
            self.reach([(step.sequence, 1)])?;
            self.overlapped(step.sequence, step.token, 1)?;
            if let Some(state) = self.sequences.get_mut(&step.sequence) {
                state.len += 1;
            }
            return self.overlap.as_ref().map_or(Ok(()), |overlap| overlap.logits(&self.device, logits));
        }
        self.decode_together(steps, logits)
    }

    fn decode_together(&mut self, steps: &[Step], logits: &mut [f32]) -> Result<(), Refusal> {
        self.check_logits(steps, logits)?;
        self.reach(steps.iter().map(|step| (step.sequence, 1)))?;
        let (most, vocab) = (self.rows.most(), self.config.vocab);
        for (steps, logits) in steps.chunks(most).zip(logits.chunks_mut(most * vocab)) {
            let (tokens, at) = self.rows_of(steps);
            let Self { rows, device, config, weights, rope, .. } = &mut *self;
            let common = Common { device, config, weights, rope: rope.address() };
            rows.step(common, &at, &tokens, logits)?;
            for step in steps {
                if let Some(state) = self.sequences.get_mut(&step.sequence) {
                    state.len += 1;
                }
            }
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
        let overlaps = self.overlap.is_some();
        if count == 0 || !(overlaps || self.decoder.is_some() && ends.len() <= ENDS) {
            return Ok(Vec::new());
        }
        self.check_append(sequence, token, count - 1)?;
        let steps =
            self.reach_steps(&[sequence], count.min(if overlaps { overlap::STEPS } else { STEPS }))?;
        let ids = match overlaps {
            true => self.overlapped_greedy(sequence, token, steps, ends),
            false => self.persistent(sequence, token, steps, ends, None),
        };
        self.settle(sequence);
        ids
    }

    fn greedy_together(&mut self, runs: &[Greedy<'_>], cancel: &Cancel) -> Result<Vec<Vec<u32>>, Refusal> {
        self.greedy_runs(runs, cancel)
    }

    fn greedy_window(&self) -> usize {
        self.rows.window()
    }

    fn copy_kv(&self, sequence: Sequence, layer: usize) -> (Vec<f32>, Vec<f32>) {
        self.copy_kv_from(sequence, layer, 0)
    }

    fn copy_kv_from(&self, sequence: Sequence, layer: usize, from: usize) -> (Vec<f32>, Vec<f32>) {
        match self.sequences.get(&sequence) {
            Some(state) if layer < self.config.layers => {
                let copied = self.store.copy(&self.device, &state.cache, layer, from..state.len);
                copied.unwrap_or_default()
            }
            _ => (Vec::new(), Vec::new()),
        }
    }
}
