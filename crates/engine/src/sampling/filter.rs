//! Which ids may be drawn: top-k, then min-p, then top-p.
//!
//! Filters only choose the *support*. The draw walks it in the order of ids with weights that depend on nothing
//! but logit, maximum and temperature, so the token drawn is a function of the set, not of how it was found. Every
//! comparison is by (logit falling, id rising), a total order: equal logits never make a choice arbitrary.

use std::cmp::Ordering;

use super::exp::exp;
use super::{SamplingSet, scan};

/// An id with its logit and `exp((logit - largest) / temperature)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) id: u32,
    pub(crate) logit: f32,
    pub(crate) weight: f64,
}

/// The ids that may be drawn with their weights, by rising id. Logits of negative infinity (banned ids) are never
/// among them; the most likely id always is.
///
/// `set` has a temperature above 0.
pub(crate) fn support(logits: &[f32], set: &SamplingSet) -> Vec<Candidate> {
    let largest = f64::from(scan::max(logits));
    let temperature = set.temperature.value;

    // Negative infinity when min-p is off.
    let floor = temperature * set.min_p.value.ln();
    let passes = |c: &Candidate| f64::from(c.logit) - largest >= floor;
    let mut kept: Vec<Candidate> = match set.top_k.value {
        0 => allowed(logits).filter(passes).collect(),
        k => top_k(logits, k).into_iter().filter(passes).collect(),
    };
    weigh(&mut kept, largest, temperature);
    if set.top_p.value < 1.0 {
        top_p(&mut kept, set.top_p.value);
    }
    kept
}

/// Sets the weights, a block at a time so that the exponential vectorizes.
fn weigh(candidates: &mut [Candidate], largest: f64, temperature: f64) {
    const BLOCK: usize = 64;
    for block in candidates.chunks_mut(BLOCK) {
        let mut weights = [0.0; BLOCK];
        for (weight, c) in weights.iter_mut().zip(&*block) {
            *weight = (f64::from(c.logit) - largest) / temperature;
        }
        for weight in &mut weights {
            *weight = exp(*weight);
        }
        for (c, weight) in block.iter_mut().zip(weights) {
            c.weight = weight;
        }
    }
}

/// The `k` most likely, by rising id.
///
/// Keeps a pool of at most `2k` ids above a rising bar, so that nearly every id costs one comparison.
pub(crate) fn top_k(logits: &[f32], k: usize) -> Vec<Candidate> {
    if k >= logits.len() {
        return allowed(logits).collect();
    }
    let mut pool = Vec::with_capacity(2 * k);
    // An id of the same logit as the bar comes later than those that set it, so it cannot pass.
    let mut bar = f32::NEG_INFINITY;
    for c in allowed(logits) {
        if c.logit <= bar {
            continue;
        }
        pool.push(c);
        if pool.len() == 2 * k {
            pool.select_nth_unstable_by(k - 1, by_likelihood);
            pool.truncate(k);
            bar = pool.iter().fold(f32::INFINITY, |low, c| low.min(c.logit));
        }
    }
    if pool.len() > k {
        pool.select_nth_unstable_by(k - 1, by_likelihood);
        pool.truncate(k);
    }
    pool.sort_unstable_by_key(|c| c.id);
    pool
}

/// Keeps the smallest set of most likely candidates whose weights reach the share `p` of the sum, by rising id.
///
/// The sum is taken by rising id, the running sum by falling likelihood. A full sort is avoided by ranking the
/// most likely 256 first, and sixteen times as many whenever those do not reach the share.
fn top_p(candidates: &mut Vec<Candidate>, p: f64) {
    let needed = p * candidates.iter().map(|c| c.weight).sum::<f64>();
    let mut ranked = 0;
    let mut sum = 0.0;
    let mut batch = 256;
    while ranked < candidates.len() {
        let rest = &mut candidates[ranked..];
        let count = batch.min(rest.len());
        if count < rest.len() {
            rest.select_nth_unstable_by(count - 1, by_likelihood);
        }
        rest[..count].sort_unstable_by(by_likelihood);
        for c in &rest[..count] {
            sum += c.weight;
            ranked += 1;
            if sum >= needed {
                candidates.truncate(ranked);
                candidates.sort_unstable_by_key(|c| c.id);
                return;
            }
        }
        batch *= 16;
    }
    // Rounding alone kept the running sum below the share: everything is needed.
    candidates.sort_unstable_by_key(|c| c.id);
}

/// Most likely first, lowest id first among equals.
pub(crate) fn by_likelihood(a: &Candidate, b: &Candidate) -> Ordering {
    b.logit.partial_cmp(&a.logit).unwrap_or(Ordering::Equal).then(a.id.cmp(&b.id))
}

fn allowed(logits: &[f32]) -> impl Iterator<Item = Candidate> {
    (0..).zip(logits).filter(|(_, logit)| **logit > f32::NEG_INFINITY).map(|(id, &logit)| Candidate {
        id,
        logit,
        weight: 0.0,
    })
}

#[cfg(test)]
mod tests;
