//! What a device looks at before it does what it is asked.

#[cfg(test)]
mod tests;

use tilewright_model::{Code, Finding, Refusal};

use crate::{Greedy, LogitSink, Sequence, Step};

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

    /// A step of each of several sequences, of which `held` tells what they hold and have room for.
    pub fn steps(&mut self, steps: &[Step], held: impl Fn(Sequence) -> Option<(usize, usize)>) {
        for step in steps {
            self.append(step.sequence, held(step.sequence), &[step.token], 0);
        }
        self.once(steps.iter().map(|step| step.sequence));
    }

    /// Greedy steps of each of several sequences, of which `held` tells what they hold and have room for.
    pub fn greedy(&mut self, runs: &[Greedy<'_>], held: impl Fn(Sequence) -> Option<(usize, usize)>) {
        for run in runs {
            let first = &[run.token][..run.count.min(1)];
            self.append(run.sequence, held(run.sequence), first, run.count.saturating_sub(1));
        }
        self.once(runs.iter().map(|run| run.sequence));
    }

    /// That each sequence is named once.
    fn once(&mut self, sequences: impl Iterator<Item = Sequence>) {
        let mut earlier = Vec::new();
        for sequence in sequences {
            if earlier.contains(&sequence) {
                let what = format!("sequence {}", sequence.0);
                self.invalid.push(Finding::new(what, "one step", "several"));
            }
            earlier.push(sequence);
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
