//! Log-probabilities of raw logits.

use super::exp::exp;
use super::{Tokens, filter, scan};
use crate::{Alternative, Logprobs};

/// `ln Σ exp(logit)`, summed in f64 by rising id, relative to the largest so that nothing overflows.
pub(crate) fn log_sum_exp(logits: &[f32]) -> f64 {
    let largest = f64::from(scan::max(logits));
    largest + logits.iter().map(|&x| exp(f64::from(x) - largest)).sum::<f64>().ln()
}

/// The log-probability of `chosen` over all of `logits`, and of the `count` most likely of `tokens`.
pub(crate) fn logprobs(logits: &[f32], chosen: u32, count: usize, tokens: &Tokens) -> Logprobs {
    let total = log_sum_exp(logits);
    let of = |logit: f32| f64::from(logit) - total;
    let mut likely = match count {
        0 => Vec::new(),
        // As many more as could be gaps.
        _ => filter::top_k(&logits[..tokens.limit().min(logits.len())], count + tokens.gaps().len()),
    };
    likely.retain(|c| tokens.has(c.id));
    likely.sort_unstable_by(filter::by_likelihood);
    likely.truncate(count);
    Logprobs {
        chosen: logits.get(chosen as usize).map_or(f64::NEG_INFINITY, |&x| of(x)),
        top: likely.iter().map(|c| Alternative { id: c.id, logprob: of(c.logit) }).collect(),
    }
}

#[cfg(test)]
mod tests;
