//! Whole-vocabulary scans: finiteness and the greedy choice.
//!
//! Both run in blocks whose inner loops have no branch, so that the compiler vectorizes them: a vocabulary of
//! 152 thousand takes some tens of microseconds.

use tilewright_model::{Code, Refusal};

/// Values looked at before a branch.
const BLOCK: usize = 1024;
/// Independent running maxima, enough for one 512-bit or two 256-bit vectors.
const LANES: usize = 16;

/// Refuses logits that are not all finite.
///
/// # Errors
/// `non_finite_logits` naming `step` (the index of the token in the reply) and the first such id.
pub(crate) fn check_finite(logits: &[f32], step: usize) -> Result<(), Refusal> {
    let bad = logits.chunks(BLOCK).position(|block| !block.iter().fold(true, |all, x| all & x.is_finite()));
    let Some(block) = bad else { return Ok(()) };
    let (id, value) = (block * BLOCK..)
        .zip(&logits[block * BLOCK..])
        .find(|(_, x)| !x.is_finite())
        .unwrap_or((block * BLOCK, &f32::NAN));
    let what = format!("logit of id {id} at step {step}");
    Err(Refusal::new(Code::NonFiniteLogits, what, "a finite number", value))
}

/// The index of the largest value, the lowest of equals; 0 for an empty slice. NaN is never the largest.
pub fn argmax(values: &[f32]) -> usize {
    let largest = max(values);
    values
        .chunks(BLOCK)
        .position(|block| block.iter().fold(false, |found, &x| found | (x == largest)))
        .and_then(|block| {
            let start = block * BLOCK;
            values[start..].iter().position(|&x| x == largest).map(|i| start + i)
        })
        .unwrap_or(0)
}

/// The largest value, negative infinity for an empty slice.
pub(crate) fn max(values: &[f32]) -> f32 {
    let larger = |a: f32, b: f32| if b > a { b } else { a };
    let (rows, rest) = values.as_chunks::<LANES>();
    let mut lanes = [f32::NEG_INFINITY; LANES];
    for row in rows {
        for (lane, &x) in lanes.iter_mut().zip(row) {
            *lane = larger(*lane, x);
        }
    }
    lanes.iter().chain(rest).fold(f32::NEG_INFINITY, |a, &b| larger(a, b))
}

#[cfg(test)]
mod tests;
