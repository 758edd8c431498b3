//! A text as one vector: hidden states after the final norm, pooled.

use tilewright_model::{Code, Finding, Refusal};

use crate::lease::Lease;
use crate::{Cancel, Engine};

/// How the states of all tokens become one vector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pooling {
    /// The last token's state.
    #[default]
    Last,
    /// The mean of all states, summed in f64 in their order.
    Mean,
}

/// An embedding in the making: one call of [`advance`](Self::advance) takes in one chunk.
#[derive(Debug)]
pub struct Embedding {
    ids: Vec<u32>,
    pooling: Pooling,
    lease: Lease,
    sum: Vec<f64>,
}

impl Embedding {
    /// Makes room for `ids`.
    ///
    /// # Errors
    /// `request_invalid`, `context_full`, `out_of_memory`.
    pub fn new(engine: &Engine, ids: Vec<u32>, pooling: Pooling) -> Result<Self, Refusal> {
        let mut findings = Vec::new();
        if ids.is_empty() {
            findings.push(Finding::new("input", "at least one token", "none"));
        }
        if let Some(at) = ids.iter().position(|&id| !engine.tokens().has(id)) {
            findings.push(Finding::new(
                format!("input id at {at}"),
                "an id that stands for a token",
                ids[at],
            ));
        }
        Refusal::check(Code::RequestInvalid, findings)?;
        let lease = Lease::new(engine, ids.len())?;
        Ok(Self { ids, pooling, lease, sum: vec![0.0; engine.config().hidden] })
    }

    /// Takes in at most `tokens` more; the vector, `[hidden]` and of length 1, after the last.
    ///
    /// # Errors
    /// `cancelled`, `device_option_invalid` on a device that gives no hidden states, `non_finite_logits` when a state is
    /// not finite.
    pub fn advance(&mut self, tokens: usize, cancel: &Cancel) -> Result<Option<Vec<f32>>, Refusal> {
        let from = self.lease.len();
        let to = self.ids.len().min(from + tokens.max(1));
        let (pooling, sum) = (self.pooling, &mut self.sum);
        let mut each = |_: usize, state: &[f32]| {
            for (sum, &value) in sum.iter_mut().zip(state) {
                *sum = f64::from(value) + if pooling == Pooling::Mean { *sum } else { 0.0 };
            }
        };
        self.lease.hidden(&self.ids[from..to], &mut each, cancel)?;
        if to < self.ids.len() {
            return Ok(None);
        }
        let length = self.sum.iter().map(|v| v * v).sum::<f64>().sqrt();
        if !length.is_finite() || length <= 0.0 {
            return Err(Refusal::new(
                Code::NonFiniteLogits,
                "hidden state",
                "a finite length above 0",
                length,
            ));
        }
        Ok(Some(self.sum.iter().map(|v| (v / length) as f32).collect()))
    }
}

#[cfg(test)]
mod tests;
