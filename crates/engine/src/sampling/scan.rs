//! Whole-vocabulary scans: the device contract's own, and a refusal for what they find.

use tilewright_backend::scan::first_not_finite;
use tilewright_model::{Code, Refusal};

pub use tilewright_backend::scan::argmax;
pub(crate) use tilewright_backend::scan::max;

/// Refuses logits that are not all finite.
///
/// # Errors
/// `non_finite_logits` naming `step` (the index of the token in the reply) and the first such id.
pub(crate) fn check_finite(logits: &[f32], step: usize) -> Result<(), Refusal> {
    let Some(id) = first_not_finite(logits) else { return Ok(()) };
    let what = format!("logit of id {id} at step {step}");
    Err(Refusal::new(Code::NonFiniteLogits, what, "a finite number", logits[id]))
}

#[cfg(test)]
mod tests;
