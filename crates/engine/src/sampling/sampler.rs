//! One request's sampler: the steps in their order.

use std::collections::BTreeMap;

use tilewright_model::Refusal;

use super::{SamplingSet, Tokens, draw, filter, penalties, philox, scan};

/// Picks the tokens of one reply.
///
/// Holds what the penalties look back on and nothing else: a pick is a function of the logits, the settings, the
/// prompt and the reply so far.
#[derive(Clone, Debug)]
pub struct Sampler {
    set: SamplingSet,
    tokens: Tokens,
    recent: Vec<u32>,
    counts: BTreeMap<u32, u32>,
    step: usize,
    scratch: Vec<f32>,
}

impl Sampler {
    /// A sampler for the reply to `prompt`, which never picks an id that is not one of `tokens`.
    pub fn new(set: SamplingSet, prompt: &[u32], tokens: Tokens) -> Self {
        Self { set, tokens, recent: prompt.to_vec(), counts: BTreeMap::new(), step: 0, scratch: Vec::new() }
    }

    /// The settings in effect.
    pub fn set(&self) -> &SamplingSet {
        &self.set
    }

    /// Picks the next token of the reply from the model's logits, `[vocab]`; ids in `banned` are never picked
    /// (the caller leaves at least one id).
    ///
    /// # Errors
    /// `non_finite_logits`, naming step and id.
    pub fn pick(&mut self, logits: &[f32], banned: &[u32]) -> Result<u32, Refusal> {
        self.pick_among(logits, banned, None)
    }

    /// The same among the ids whose bits are set in `allowed` (bit `id % 32` of word `id / 32`); `None` allows all.
    ///
    /// # Errors
    /// As [`pick`](Self::pick).
    pub fn pick_among(
        &mut self,
        logits: &[f32],
        banned: &[u32],
        allowed: Option<&[u32]>,
    ) -> Result<u32, Refusal> {
        scan::check_finite(logits, self.step)?;
        if banned.is_empty()
            && allowed.is_none()
            && let Some(id) = self.greatest(logits)
        {
            self.note(id);
            return Ok(id);
        }
        let scratch = &mut self.scratch;
        scratch.clear();
        scratch.extend_from_slice(&logits[..self.tokens.limit().min(logits.len())]);
        penalties::apply(scratch, &self.set, &self.recent, &self.counts);
        for &id in self.tokens.gaps().iter().chain(banned) {
            if let Some(logit) = scratch.get_mut(id as usize) {
                *logit = f32::NEG_INFINITY;
            }
        }
        if let Some(allowed) = allowed {
            for (id, logit) in scratch.iter_mut().enumerate() {
                if allowed.get(id / 32).is_none_or(|word| word >> (id % 32) & 1 == 0) {
                    *logit = f32::NEG_INFINITY;
                }
            }
        }

        let id = if self.set.is_greedy() {
            scan::argmax(scratch) as u32
        } else {
            let u = philox::uniform(self.set.seed.value, self.step as u64);
            draw::draw(&filter::support(scratch, &self.set), u)
        };
        self.note(id);
        Ok(id)
    }

    /// Whether a pick is the greatest logit's id whatever came before.
    pub fn is_plain(&self) -> bool {
        let set = &self.set;
        set.is_greedy()
            && set.repetition_penalty.value == 1.0
            && set.presence_penalty.value == 0.0
            && set.frequency_penalty.value == 0.0
            && set.logit_bias.is_empty()
    }

    /// The plain pick where nothing changes a logit: the greatest as it lies. `None` where its id stands for no token.
    fn greatest(&self, logits: &[f32]) -> Option<u32> {
        if !self.is_plain() {
            return None;
        }
        let id = scan::argmax(&logits[..self.tokens.limit().min(logits.len())]) as u32;
        self.tokens.has(id).then_some(id)
    }

    /// Counts a token of the reply that was picked elsewhere.
    pub fn note(&mut self, id: u32) {
        self.step += 1;
        // Only penalties look back.
        if !self.is_plain() {
            self.recent.push(id);
            *self.counts.entry(id).or_insert(0) += 1;
        }
    }
}

#[cfg(test)]
mod tests;
