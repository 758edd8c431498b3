//! The CPU device as a resident model.

use std::collections::BTreeMap;

use tilewright_backend::{Cancel, Checks, LogitSink, Paging, Plan, Resident, Sequence, Step};
use tilewright_model::{Code, Config, Refusal};

use crate::attention::Load;
use crate::forward::{Decoder, Keep, Span};
use crate::kv::{Count, KvCache, Layout, SEGMENT};

/// Bytes of logits computed at once when every row's are asked for.
const LOGIT_BYTES: usize = 16 << 20;

/// A decoder with its sequences, whose keys and values are of type `E`.
pub(crate) struct CpuModel<E: Load> {
    decoder: Decoder,
    plan: Plan,
    sequences: BTreeMap<Sequence, State<E>>,
    /// The next name to give.
    next: u64,
    /// Segments in memory.
    segments: Count,
}

/// One sequence.
struct State<E: Load> {
    cache: KvCache<E>,
    /// Positions held.
    len: usize,
    /// Positions it may come to hold.
    room: usize,
}

impl<E: Load> CpuModel<E> {
    pub(crate) fn new(decoder: Decoder, plan: Plan) -> Self {
        Self { decoder, plan, sequences: BTreeMap::new(), next: 0, segments: Count::default() }
    }

    /// Positions a sequence holds, and those it has room for.
    fn held(&self, sequence: Sequence) -> Option<(usize, usize)> {
        self.sequences.get(&sequence).map(|state| (state.len, state.room))
    }

    /// Names a sequence.
    fn insert(&mut self, state: State<E>) -> Result<Sequence, Refusal> {
        let context = self.plan.context;
        if state.room > context {
            let expected = format!("at most {context} positions");
            return Err(Refusal::new(Code::ContextFull, "a new sequence", expected, state.room));
        }
        let name = Sequence(self.next);
        self.next += 1;
        self.sequences.insert(name, state);
        Ok(name)
    }

    /// Hands the logits of `rows` ready rows to `each`, some at a time.
    fn each_row(&mut self, rows: usize, mut each: impl FnMut(usize, &[f32])) {
        let vocab = self.config().vocab;
        let step = (LOGIT_BYTES / (4 * vocab)).max(1);
        let mut logits = vec![0.0; step.min(rows) * vocab];
        for first in (0..rows).step_by(step) {
            let count = step.min(rows - first);
            self.decoder.logits(first..first + count, &mut logits[..count * vocab]);
            for (row, logits) in logits.chunks_exact(vocab).take(count).enumerate() {
                each(first + row, logits);
            }
        }
    }
}

impl<E: Load> Resident for CpuModel<E> {
    fn config(&self) -> &Config {
        self.decoder.config()
    }

    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn create(&mut self, positions: usize) -> Result<Sequence, Refusal> {
        let cache = KvCache::new(Layout::new(self.config()), self.segments.clone());
        self.insert(State { cache, len: 0, room: positions })
    }

    fn paging(&self) -> Option<Paging> {
        let bytes = SEGMENT as u64 * self.plan.kv_bytes_per_position;
        Some(Paging { page: SEGMENT, bytes, used: self.segments.get(), most: None })
    }

    fn fork(&mut self, from: Sequence, len: usize, positions: usize) -> Result<Option<Sequence>, Refusal> {
        let Some(source) = self.sequences.get(&from).filter(|state| len <= state.len.min(positions)) else {
            return Ok(None);
        };
        let cache = source.cache.fork(len)?;
        self.insert(State { cache, len, room: positions }).map(Some)
    }

    fn release(&mut self, sequence: Sequence) {
        self.sequences.remove(&sequence);
    }

    fn len(&self, sequence: Sequence) -> usize {
        self.sequences.get(&sequence).map_or(0, |s| s.len)
    }

    fn truncate(&mut self, sequence: Sequence, len: usize) {
        if let Some(state) = self.sequences.get_mut(&sequence) {
            state.len = state.len.min(len);
            state.cache.truncate(state.len);
        }
    }

    fn prefill(
        &mut self,
        sequence: Sequence,
        tokens: &[u32],
        mut logits: LogitSink<'_>,
        cancel: &Cancel,
    ) -> Result<(), Refusal> {
        let mut checks = Checks::new(self.config().vocab);
        checks.prompt(sequence, self.held(sequence), tokens, &logits);
        checks.finish()?;

        let chunks = tokens.len().div_ceil(self.plan.prefill_chunk);
        for (index, chunk) in tokens.chunks(self.plan.prefill_chunk).enumerate() {
            let keep = match &logits {
                LogitSink::Each(_) => Keep::All,
                LogitSink::Last(_) if index + 1 == chunks => Keep::Last,
                LogitSink::Last(_) | LogitSink::None => Keep::None,
            };
            let Some(state) = self.sequences.get_mut(&sequence) else { return Ok(()) };
            state.cache.reach(state.len, state.len + chunk.len())?;
            let span = Span { cache: &mut state.cache, position: state.len, tokens: chunk };
            let rows = self.decoder.run(&mut [span], keep, cancel)?;
            state.len += chunk.len();
            match &mut logits {
                LogitSink::Each(each) => {
                    let first = index * self.plan.prefill_chunk;
                    self.each_row(rows, |row, logits| each(first + row, logits));
                }
                LogitSink::Last(out) if keep == Keep::Last => self.decoder.logits(0..1, out),
                LogitSink::Last(_) | LogitSink::None => {}
            }
        }
        Ok(())
    }

    fn decode(&mut self, steps: &[Step], logits: &mut [f32]) -> Result<(), Refusal> {
        let mut checks = Checks::new(self.config().vocab);
        checks.steps(steps, |sequence| self.held(sequence));
        checks.step_logits(logits.len(), steps.len());
        checks.finish()?;
        if steps.is_empty() {
            return Ok(());
        }
        // The map lends its values one at a time, so the sequences of this step leave it while they are worked on.
        let mut states: Vec<(Sequence, State<E>)> =
            steps.iter().filter_map(|s| Some((s.sequence, self.sequences.remove(&s.sequence)?))).collect();
        let result = self.step(steps, &mut states, logits);
        self.sequences.extend(states);
        result
    }

    fn hidden(
        &mut self,
        sequence: Sequence,
        tokens: &[u32],
        each: &mut dyn FnMut(usize, &[f32]),
        cancel: &Cancel,
    ) -> Result<(), Refusal> {
        let mut checks = Checks::new(self.config().vocab);
        checks.append(sequence, self.held(sequence), tokens, 0);
        checks.finish()?;
        let size = self.plan.prefill_chunk;
        for (index, chunk) in tokens.chunks(size).enumerate() {
            let Some(state) = self.sequences.get_mut(&sequence) else { return Ok(()) };
            state.cache.reach(state.len, state.len + chunk.len())?;
            let span = Span { cache: &mut state.cache, position: state.len, tokens: chunk };
            self.decoder.run(&mut [span], Keep::All, cancel)?;
            state.len += chunk.len();
            self.decoder.hidden(&mut |row, values| each(index * size + row, values));
        }
        Ok(())
    }

    fn copy_kv(&self, sequence: Sequence, layer: usize) -> (Vec<f32>, Vec<f32>) {
        match self.sequences.get(&sequence) {
            Some(state) if layer < self.config().layers => state.cache.copy(layer, state.len),
            _ => (Vec::new(), Vec::new()),
        }
    }
}

impl<E: Load> CpuModel<E> {
    /// Appends each step's token to its state.
    fn step(
        &mut self,
        steps: &[Step],
        states: &mut [(Sequence, State<E>)],
        logits: &mut [f32],
    ) -> Result<(), Refusal> {
        for (_, state) in states.iter_mut() {
            state.cache.reach(state.len, state.len + 1)?;
        }
        let mut spans: Vec<Span<'_, E>> = states
            .iter_mut()
            .zip(steps)
            .map(|((_, state), step)| Span {
                cache: &mut state.cache,
                position: state.len,
                tokens: std::slice::from_ref(&step.token),
            })
            .collect();
        let rows = self.decoder.run(&mut spans, Keep::All, &Cancel::default())?;
        self.decoder.logits(0..rows, logits);
        states.iter_mut().for_each(|(_, state)| state.len += 1);
        Ok(())
    }
}
