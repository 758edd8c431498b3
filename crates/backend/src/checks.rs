//! What a device looks at before it does what it is asked.

#[cfg(test)]
mod tests;

use tilewright_model::{Code, Finding, Refusal};

use crate::{LogitSink, Sequence, Step};

/// Everything that is wrong with a request to a [`Resident`](crate::Resident).
#[derive(Debug)]
pub struct Checks {
    vocab: usize,
    full: Vec<Finding>,
    invalid: Vec<Finding>,
}

impl Checks {
    /// Nothing found yet, for a model with this many ids.
    pub const fn new(vocab: usize) -> Self {
        Self { vocab, full: Vec::new(), invalid: Vec::new() }
    }

    /// Appending `tokens` and `more` positions to a sequence that holds and has room for `state`.
    pub fn append(&mut self, sequence: Sequence, state: Option<(usize, usize)>, tokens: &[u32], more: usize) {
        let Some((len, room)) = state else {
            let expected = "one that was created and not released";
            self.invalid.push(Finding::new("sequence", expected, sequence.0));
            return;
        };
        if let Some((at, token)) = tokens.iter().enumerate().find(|(_, t)| **t as usize >= self.vocab) {
            self.invalid.push(Finding::new(
                format!("token {at}"),
                format!("an id below {}", self.vocab),
                token,
            ));
        }
        let wanted = tokens.len().saturating_add(more);
        if wanted > room - len {
            let what = format!("sequence {}", sequence.0);
            let got = format!("{len} and {wanted} more");
            self.full.push(Finding::new(what, format!("at most {room} positions"), got));
        }
    }

    /// A prompt for such a sequence, and room for the logits asked for.
    pub fn prompt(
        &mut self,
        sequence: Sequence,
        state: Option<(usize, usize)>,
        tokens: &[u32],
        logits: &LogitSink<'_>,
    ) {
        self.append(sequence, state, tokens, 0);
        if let LogitSink::Last(out) = logits {
            self.last_logits(out.len(), tokens.len());
        }
    }

    /// A step of each of several sequences, of which `held` tells what they hold and have room for, and `more` positions
    /// after it.
    pub fn steps(&mut self, steps: &[Step], held: impl Fn(Sequence) -> Option<(usize, usize)>, more: usize) {
        for step in steps {
            self.append(step.sequence, held(step.sequence), &[step.token], more);
        }
        self.once(steps);
    }

    /// That each sequence takes one step.
    fn once(&mut self, steps: &[Step]) {
        for (index, step) in steps.iter().enumerate() {
            if steps[..index].iter().any(|earlier| earlier.sequence == step.sequence) {
                self.invalid.push(Finding::new(
                    format!("sequence {}", step.sequence.0),
                    "one step",
                    "several",
                ));
            }
        }
    }

    /// Room for the logits of some steps.
    pub fn step_logits(&mut self, len: usize, steps: usize) {
        let wanted = steps * self.vocab;
        if len != wanted {
            self.invalid.push(Finding::new("logits", format!("{wanted} values"), len));
        }
    }

    /// Room for the logits of the last of `tokens` tokens.
    fn last_logits(&mut self, len: usize, tokens: usize) {
        self.step_logits(len, 1);
        if tokens == 0 {
            self.invalid.push(Finding::new("tokens", "at least one, whose logits are asked for", 0));
        }
    }

    /// The first refusal that has findings.
    ///
    /// # Errors
    /// `request_invalid`, else `context_full`.
    pub fn finish(self) -> Result<(), Refusal> {
        Refusal::check(Code::RequestInvalid, self.invalid)?;
        Refusal::check(Code::ContextFull, self.full)
    }
}
