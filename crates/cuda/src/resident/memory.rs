//! Sequences and the memory of their keys and values.

use std::collections::BTreeMap;

use tilewright_backend::Sequence;
use tilewright_model::{Code, Refusal};

use super::{CudaModel, State};
use crate::kv::KvCache;
use crate::kv::layout::PAGE;
use crate::overlap::capacity;
use crate::rows::Common;

/// Lengths for which what all sequences share is made are multiples of this: it is made anew, and what was recorded with it, for
/// every greater one.
const STEP: usize = 1024;

impl CudaModel {
    /// Allows so many pages of keys and values, to see what happens when there are no more.
    #[doc(hidden)]
    pub fn limit_pages(&mut self, most: usize) {
        self.store.limit(most);
    }

    /// A new sequence with room for `positions`, whose cache `make` gives for some positions: none where it gives none.
    pub(super) fn insert(
        &mut self,
        positions: usize,
        len: usize,
        make: impl FnOnce(&mut Self, usize) -> Result<Option<KvCache>, Refusal>,
    ) -> Result<Option<Sequence>, Refusal> {
        let context = self.plan.context;
        if positions > context {
            return Err(Refusal::new(
                Code::ContextFull,
                "a new sequence",
                format!("at most {context} positions"),
                positions,
            ));
        }
        let shared = positions.next_multiple_of(STEP).min(context);
        self.rope.reach(&self.device, &self.config, shared)?;
        let Self { rows, device, config, weights, rope, .. } = self;
        rows.reach(Common { device, config, weights, rope: rope.address() }, shared)?;
        let capacity = match &mut self.overlap {
            Some(overlap) => {
                let capacity = capacity(positions, context);
                overlap.reach(&self.device, capacity, &mut |_| Ok(()))?;
                capacity
            }
            None => positions,
        };
        let Some(cache) = make(self, capacity)? else { return Ok(None) };
        let name = Sequence(self.next);
        self.next += 1;
        self.sequences.insert(name, State { cache, capacity, len, room: positions, step: None });
        Ok(Some(name))
    }

    /// Makes the next positions of sequences ready to be written, so many of each.
    ///
    /// # Errors
    /// `out_of_memory`, and all is as it was; `device_failed`.
    pub(super) fn reach(
        &mut self,
        growth: impl IntoIterator<Item = (Sequence, usize)>,
    ) -> Result<(), Refusal> {
        let growth: BTreeMap<Sequence, usize> = growth.into_iter().collect();
        let Self { sequences, store, .. } = self;
        let wants = sequences
            .iter_mut()
            .filter_map(|(name, state)| Some((&mut state.cache, state.len..state.len + growth.get(name)?)));
        store.reach(wants)
    }

    /// Makes room for `steps` more positions of each, or, where there is no memory for a page more, for as many as the pages
    /// that they have still take: how many.
    pub(super) fn reach_steps(&mut self, of: &[Sequence], steps: usize) -> Result<usize, Refusal> {
        match self.reach(of.iter().map(|sequence| (*sequence, steps))) {
            Err(refusal) if refusal.code() == Code::OutOfMemory && steps > 1 => {
                let left = |sequence| self.held(sequence).map_or(1, |(len, _)| PAGE - len % PAGE) % PAGE;
                let fewer = of.iter().map(|sequence| left(*sequence)).min().unwrap_or(1).clamp(1, steps - 1);
                self.reach(of.iter().map(|sequence| (*sequence, fewer))).map(|()| fewer)
            }
            result => result.map(|()| steps),
        }
    }

    /// Gives back what was made ready for a sequence and not used.
    pub(super) fn settle(&mut self, sequence: Sequence) {
        if let Some(state) = self.sequences.get_mut(&sequence) {
            self.store.truncate(&mut state.cache, state.len);
        }
    }
}
