//! How well the model predicts a text: negative log-likelihood and perplexity.
//!
//! A text longer than a window is scored in windows. Window `w` takes in `window` ids from `w * stride` on, each
//! predicting its successor, and scores the successors that no earlier window scored. So every id but the first is
//! scored exactly once, and from the second window on each has at least `window - stride` ids before the one that
//! predicts it. With stride and window equal, the default, windows are disjoint: the cheapest, and the usual way to
//! compare formats.

use tilewright_backend::{Cancel, LogitSink};
use tilewright_model::{Code, Finding, Refusal};

use crate::Engine;
use crate::lease::Lease;
use crate::sampling::{Tokens, check_finite, log_sum_exp};

/// How to score.
#[derive(Clone, Debug, Default)]
pub struct ScoreOptions {
    /// Ids taken in for one window, at most the context. `None`: the context.
    pub window: Option<usize>,
    /// Ids from the start of a window to that of the next, at most the window. `None`: the window.
    pub stride: Option<usize>,
    /// Stops the scoring from any thread.
    pub cancel: Cancel,
}

/// The result of scoring.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// Negative natural log-likelihood of each id but the first, from a softmax in f64 over the whole vocabulary.
    pub nll: Vec<f64>,
}

impl Score {
    /// Mean nll of a token.
    pub fn mean(&self) -> f64 {
        self.nll.iter().sum::<f64>() / self.nll.len() as f64
    }

    /// `exp` of the mean.
    pub fn perplexity(&self) -> f64 {
        self.mean().exp()
    }
}

impl Engine {
    /// Scores `ids`. `progress` is told how many of how many tokens are scored, after every chunk.
    ///
    /// # Errors
    /// `request_invalid` with every bad value, `out_of_memory`, `non_finite_logits`, `cancelled`.
    pub fn score(
        &self,
        ids: &[u32],
        options: &ScoreOptions,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Score, Refusal> {
        let window = options.window.unwrap_or(self.plan().context);
        let stride = options.stride.unwrap_or(window);
        check(ids, window, stride, self.tokens(), self.plan().context)?;

        let total = ids.len() - 1;
        let lease = Lease::new(self, window.min(total))?;
        let mut nll = Vec::with_capacity(total);
        for (start, end) in windows(total, window, stride) {
            lease.truncate(0);
            let mut from = start;
            while from < end {
                // Ids that only give context come in chunks of their own, whose logits nobody computes.
                let border = if from < nll.len() { nll.len() } else { end };
                let to = border.min(from + self.plan().prefill_chunk.max(1));
                if to <= nll.len() {
                    lease.prefill(&ids[from..to], LogitSink::None, &options.cancel)?;
                } else {
                    score_chunk(&lease, ids, from, to, &options.cancel, &mut nll)?;
                }
                from = to;
                progress(nll.len(), total);
            }
        }
        Ok(Score { nll })
    }
}

/// Takes in `ids[from..to]` and appends the nll of each one's successor.
fn score_chunk(
    lease: &Lease,
    ids: &[u32],
    from: usize,
    to: usize,
    cancel: &Cancel,
    nll: &mut Vec<f64>,
) -> Result<(), Refusal> {
    let mut finite = Ok(());
    let mut each = |row: usize, logits: &[f32]| {
        let next = from + row + 1;
        if finite.is_ok() {
            finite = check_finite(logits, next);
        }
        let target = logits.get(ids[next] as usize).copied().unwrap_or(f32::NEG_INFINITY);
        nll.push(log_sum_exp(logits) - f64::from(target));
    };
    lease.prefill(&ids[from..to], LogitSink::Each(&mut each), cancel)?;
    finite
}

/// The ids of each window: from, to. Together their unscored ids are `0..total`, in order.
fn windows(total: usize, window: usize, stride: usize) -> impl Iterator<Item = (usize, usize)> {
    let more = total.saturating_sub(window).div_ceil(stride);
    (0..=more).map(move |w| (w * stride, total.min(w * stride + window)))
}

fn check(ids: &[u32], window: usize, stride: usize, tokens: &Tokens, context: usize) -> Result<(), Refusal> {
    let mut findings = Vec::new();
    if ids.len() < 2 {
        findings.push(Finding::new("ids", "at least 2, the first predicting the second", ids.len()));
    }
    if let Some(at) = ids.iter().position(|&id| !tokens.has(id)) {
        findings.push(Finding::new(format!("id at {at}"), "an id that stands for a token", ids[at]));
    }
    if !(1..=context).contains(&window) {
        findings.push(Finding::new("window", format!("from 1 to {context} (the context)"), window));
    }
    if !(1..=window.max(1)).contains(&stride) {
        findings.push(Finding::new("stride", format!("from 1 to {window} (the window)"), stride));
    }
    Refusal::check(Code::RequestInvalid, findings)
}

#[cfg(test)]
mod tests;
