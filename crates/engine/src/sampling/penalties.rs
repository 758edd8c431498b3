//! Penalties and bias: the steps that change single logits, in their order.

use std::collections::{BTreeMap, BTreeSet};

use super::SamplingSet;

/// Changes the logits of the ids that penalties and bias speak of.
///
/// `recent` is prompt and reply so far, `counts` how often each id is in the reply. Sums are made in f64 and
/// rounded once.
pub(crate) fn apply(logits: &mut [f32], set: &SamplingSet, recent: &[u32], counts: &BTreeMap<u32, u32>) {
    repetition(logits, set, recent);
    occurrence(logits, set, counts);
    bias(logits, set);
}

/// Repetition: a positive logit is divided, a negative one multiplied, once for each distinct id of the window.
fn repetition(logits: &mut [f32], set: &SamplingSet, recent: &[u32]) {
    let penalty = set.repetition_penalty.value;
    if penalty == 1.0 {
        return;
    }
    let window = set.repeat_last_n.value.unwrap_or(recent.len()).min(recent.len());
    let ids: BTreeSet<u32> = recent[recent.len() - window..].iter().copied().collect();
    for id in ids {
        change(logits, id, |x| if x > 0.0 { x / penalty } else { x * penalty });
    }
}

/// Presence and frequency, over the reply only.
fn occurrence(logits: &mut [f32], set: &SamplingSet, counts: &BTreeMap<u32, u32>) {
    let (presence, frequency) = (set.presence_penalty.value, set.frequency_penalty.value);
    if presence == 0.0 && frequency == 0.0 {
        return;
    }
    for (&id, &count) in counts {
        change(logits, id, |x| x - presence - frequency * f64::from(count));
    }
}

fn bias(logits: &mut [f32], set: &SamplingSet) {
    for (&id, &bias) in &set.logit_bias {
        change(logits, id, |x| x + bias);
    }
}

/// Changes one logit, kept finite so that no later step meets an infinity that is not a ban.
fn change(logits: &mut [f32], id: u32, new: impl FnOnce(f64) -> f64) {
    if let Some(logit) = logits.get_mut(id as usize) {
        *logit = (new(f64::from(*logit)) as f32).clamp(f32::MIN, f32::MAX);
    }
}

#[cfg(test)]
mod tests;
