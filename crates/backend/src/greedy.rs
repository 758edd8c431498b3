//! Greedy steps of several sequences: what is asked of a device, and how the host does it for one that gives logits.

#[cfg(test)]
mod tests;

use tilewright_model::{Code, Refusal};

use crate::scan::{argmax, first_not_finite};
use crate::{Cancel, Resident, Sequence, Step};

/// One sequence's part in greedy steps of several.
#[derive(Clone, Copy, Debug)]
pub struct Greedy<'a> {
    /// Which sequence.
    pub sequence: Sequence,
    /// The token appended first.
    pub token: u32,
    /// Ids wanted.
    pub count: usize,
    /// Ids that nothing follows.
    pub ends: &'a [u32],
}

impl Greedy<'_> {
    /// The step after `ids`; `None` when there is nothing more to do.
    pub fn next(&self, ids: &[u32]) -> Option<Step> {
        let ended = ids.last().is_some_and(|id| self.ends.contains(id));
        let token = ids.last().copied().unwrap_or(self.token);
        (ids.len() < self.count && !ended).then_some(Step { sequence: self.sequence, token })
    }

    /// How many of `ids`, chosen one after another, are before the end or are it.
    pub fn until_end(&self, ids: &[u32]) -> usize {
        ids.iter().position(|id| self.ends.contains(id)).map_or(ids.len(), |at| at + 1)
    }
}

/// [`Resident::greedy_together`] by the logits of [`Resident::decode_together`], a step at a time.
///
/// # Errors
/// Those of `greedy_together`.
pub fn by_logits<R: Resident + ?Sized>(
    model: &mut R,
    runs: &[Greedy<'_>],
    cancel: &Cancel,
) -> Result<Vec<Vec<u32>>, Refusal> {
    all_or_nothing(model, runs, |model| {
        let vocab = model.config().vocab;
        let mut ids = vec![Vec::new(); runs.len()];
        let mut logits = Vec::new();
        loop {
            let (live, steps): (Vec<usize>, Vec<Step>) =
                runs.iter().enumerate().filter_map(|(i, run)| Some((i, run.next(&ids[i])?))).unzip();
            if steps.is_empty() {
                return Ok(ids);
            }
            go_on(cancel)?;
            logits.resize(steps.len() * vocab, 0.0);
            model.decode_together(&steps, &mut logits)?;
            for (i, row) in live.into_iter().zip(logits.chunks_exact(vocab)) {
                ids[i].push(greatest(row, runs[i].sequence)?);
            }
        }
    })
}

/// Does `work`; where it is refused, the sequences hold what they held before.
///
/// # Errors
/// Those of `work`.
pub fn all_or_nothing<R: Resident + ?Sized, T>(
    model: &mut R,
    runs: &[Greedy<'_>],
    work: impl FnOnce(&mut R) -> Result<T, Refusal>,
) -> Result<T, Refusal> {
    let before: Vec<usize> = runs.iter().map(|run| model.len(run.sequence)).collect();
    let result = work(model);
    if result.is_err() {
        for (run, len) in runs.iter().zip(before) {
            model.truncate(run.sequence, len);
        }
    }
    result
}

/// Whether greedy steps go on.
///
/// # Errors
/// `cancelled`.
pub fn go_on(cancel: &Cancel) -> Result<(), Refusal> {
    match cancel.is_cancelled() {
        true => Err(Refusal::new(Code::Cancelled, "greedy steps", "not cancelled", "cancelled")),
        false => Ok(()),
    }
}

/// The id of the greatest logit, the lowest of equals.
///
/// # Errors
/// `non_finite_logits`, naming the sequence.
pub fn greatest(logits: &[f32], sequence: Sequence) -> Result<u32, Refusal> {
    match first_not_finite(logits) {
        Some(_) => Err(not_finite(sequence)),
        None => Ok(argmax(logits) as u32),
    }
}

/// What is said of a sequence with a logit that is not finite.
pub fn not_finite(sequence: Sequence) -> Refusal {
    let what = format!("logits of sequence {}", sequence.0);
    Refusal::new(Code::NonFiniteLogits, what, "finite numbers", "one that is infinite or not a number")
}
