//! A model resident on a device.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tilewright_model::{Code, Config, Refusal};

use crate::greedy::{self, Greedy};
use crate::{Packing, Plan};

/// A flag that stops work between two steps, from any thread.
#[derive(Clone, Debug, Default)]
pub struct Cancel {
    flag: Arc<AtomicBool>,
    /// What also stops it.
    above: Option<Arc<Cancel>>,
}

impl Cancel {
    /// Asks the work to stop at the next boundary (a decode step, a layer of prefill).
    pub fn cancel(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// A flag of its own that this one raises too.
    pub fn child(&self) -> Self {
        Self { flag: Arc::default(), above: Some(Arc::new(self.clone())) }
    }

    /// Whether it has been asked to stop.
    pub fn is_cancelled(&self) -> bool {
        self.flag.load(Ordering::Relaxed) || self.above.as_ref().is_some_and(|above| above.is_cancelled())
    }
}

/// Names a sequence of a [`Resident`]. Never reused within one resident.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sequence(pub u64);

/// One sequence's part in a decode step.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Which sequence.
    pub sequence: Sequence,
    /// The token appended to it.
    pub token: u32,
}

/// How a device that takes memory for keys and values as sequences grow does so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paging {
    /// Positions of a page.
    pub page: usize,
    /// Bytes of a page.
    pub bytes: u64,
    /// Pages in memory; one that several sequences share counts once.
    pub used: usize,
    /// Pages that there may be, where the device has a memory of its own.
    pub most: Option<usize>,
}

/// What prefill is to do with logits.
pub enum LogitSink<'a> {
    /// Compute none (a chunk that more will follow).
    None,
    /// The last row's logits, `[vocab]`.
    Last(&'a mut [f32]),
    /// Every row's, handed over one at a time with the row's index within the call.
    Each(&'a mut dyn FnMut(usize, &[f32])),
}

/// A model on a device: weights resident across calls, sequences with their own KV cache.
///
/// Results of a row do not depend on how rows are grouped into calls, chunks or batches, nor on the number of
/// threads: every implementation keeps one order of reduction for each output element.
pub trait Resident: Send {
    /// The model's shape.
    fn config(&self) -> &Config;

    /// What was decided at open.
    fn plan(&self) -> &Plan;

    /// Starts an empty sequence with room for `positions` tokens.
    ///
    /// # Errors
    /// `context_full` above the plan's context, `out_of_memory`.
    fn create(&mut self, positions: usize) -> Result<Sequence, Refusal>;

    /// Frees a sequence; unknown ones are ignored, so that closing twice is harmless.
    fn release(&mut self, sequence: Sequence);

    /// Tokens held by a sequence; 0 for an unknown one.
    fn len(&self, sequence: Sequence) -> usize;

    /// Forgets every position from `len` on.
    fn truncate(&mut self, sequence: Sequence, len: usize);

    /// Appends `tokens` to a sequence, in chunks of the plan's size. Checks `cancel` between layers; after a
    /// cancelled call the sequence holds a whole number of finished chunks.
    ///
    /// # Errors
    /// `context_full` before any work when they do not fit, `cancelled`.
    fn prefill(
        &mut self,
        sequence: Sequence,
        tokens: &[u32],
        logits: LogitSink<'_>,
        cancel: &Cancel,
    ) -> Result<(), Refusal>;

    /// Appends one token to each of several sequences in one sweep over the weights.
    ///
    /// `logits` is `[steps.len(), vocab]`, row-major.
    ///
    /// # Errors
    /// `context_full` before any work.
    fn decode(&mut self, steps: &[Step], logits: &mut [f32]) -> Result<(), Refusal>;

    /// As [`decode`](Self::decode), always by the path that serves several sequences, so that a row's bits do not depend
    /// on whether it has company. Only a device with a path of its own for single sequences tells the two apart.
    ///
    /// # Errors
    /// As `decode`.
    fn decode_together(&mut self, steps: &[Step], logits: &mut [f32]) -> Result<(), Refusal> {
        self.decode(steps, logits)
    }

    /// What it holds packed without loss and compared when it was opened; `None` on a device that packs nothing so.
    fn packing(&self) -> Option<Packing> {
        None
    }

    /// Launches of the last command buffer, on a device that counts them.
    fn dispatches(&self) -> Option<usize> {
        None
    }

    /// How memory for keys and values grows; `None` on a device that takes it all when a sequence is created.
    fn paging(&self) -> Option<Paging> {
        None
    }

    /// A new sequence with room for `positions` tokens that begins with the first `len` tokens of `from`: pages are
    /// shared until one of the two writes to them. `None` on a device that cannot share, and where `from` is unknown or
    /// shorter than `len`.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    fn fork(&mut self, _from: Sequence, _len: usize, _positions: usize) -> Result<Option<Sequence>, Refusal> {
        Ok(None)
    }

    /// Appends `tokens` and hands over each one's hidden state after the final norm, `[hidden]`, with its index within the
    /// call.
    ///
    /// # Errors
    /// Those of [`prefill`](Self::prefill); `device_option_invalid` on a device that does not give them.
    fn hidden(
        &mut self,
        _sequence: Sequence,
        _tokens: &[u32],
        _each: &mut dyn FnMut(usize, &[f32]),
        _cancel: &Cancel,
    ) -> Result<(), Refusal> {
        Err(Refusal::new(
            Code::DeviceOptionInvalid,
            "hidden states",
            "a device that gives them: cpu, cuda",
            self.plan().device,
        ))
    }

    /// Appends `token`, then the id of its greatest logit (the lowest of equals), and so on: the ids found, at most
    /// `count`, the last of which is not yet appended. Nothing follows an id of `ends`.
    ///
    /// A device that can do this without the host between two tokens gives ids; it may give fewer, or none, as when a
    /// logit is not a number: [`decode`](Self::decode) then says more. One that cannot gives none, and appends nothing.
    ///
    /// # Errors
    /// `context_full` before any work.
    fn greedy(
        &mut self,
        _sequence: Sequence,
        _token: u32,
        _count: usize,
        _ends: &[u32],
    ) -> Result<Vec<u32>, Refusal> {
        Ok(Vec::new())
    }

    /// Greedy steps of several sequences: each run appends its token, then the id of the greatest logit (the lowest of
    /// equals), and so on. Gives every run's ids in turn, `count` of them or up to the first that is one of its `ends`.
    ///
    /// The last id of a run is not yet appended: its sequence has become as much longer as it got ids, and what a device
    /// computed beyond that is forgotten. Ids are those that the logits of [`decode_together`](Self::decode_together) name,
    /// step by step, whatever runs beside. A call that is refused leaves every sequence as it was.
    ///
    /// # Errors
    /// `context_full`; `cancelled`, for which `cancel` is looked at whenever the host has its turn; `non_finite_logits` for a
    /// logit that is not finite before a run's end, naming the sequence.
    fn greedy_together(&mut self, runs: &[Greedy<'_>], cancel: &Cancel) -> Result<Vec<Vec<u32>>, Refusal> {
        greedy::by_logits(self, runs, cancel)
    }

    /// Steps that [`greedy_together`](Self::greedy_together) takes at most before the host has its turn: 1 on a device whose ids
    /// the host chooses, where asking for more at once gains nothing.
    fn greedy_window(&self) -> usize {
        1
    }

    /// Copies the keys (after norm and RoPE) and values of one layer, each `[kv_heads, len, head_dim]`, as f32.
    fn copy_kv(&self, sequence: Sequence, layer: usize) -> (Vec<f32>, Vec<f32>);

    /// As [`copy_kv`](Self::copy_kv), of the positions from `from` on alone: `[kv_heads, len - from, head_dim]`.
    fn copy_kv_from(&self, sequence: Sequence, layer: usize, from: usize) -> (Vec<f32>, Vec<f32>) {
        let (len, width) = (self.len(sequence), self.config().head_dim);
        let (keys, values) = self.copy_kv(sequence, layer);
        let late = |all: Vec<f32>| match from {
            0 => all,
            _ => all
                .chunks_exact((len * width).max(1))
                .flat_map(|head| head.get(from * width..).unwrap_or_default())
                .copied()
                .collect(),
        };
        (late(keys), late(values))
    }
}
