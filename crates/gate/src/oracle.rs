//! What a device is compared with: a forward in float64, our own or one in torch.
//!
//! Our own ([`Reference`]) runs on the processor. For prompts of many thousand tokens that takes hours; there
//! [`Remote`] stands in, a forward in another process, which is held to our own first.

mod remote;
#[cfg(test)]
mod tests;

use tilewright_model::reference::{Reference, ReferenceSequence};
use tilewright_model::tolerance::Tolerance;
use tilewright_model::{Checkpoint, Code, Refusal};

use crate::report::{Compared, OtherReference, Workload};

pub use remote::{ReferenceChoice, Remote};

/// Tokens on which another reference is held to our own.
const HELD: usize = 32;
/// What to do about another reference that does not stand.
const REMEDY: &str = "Install torch as bench/peers/README.md says and name its Python, --reference torch=PYTHON; or leave --reference out.";

/// A float64 forward.
pub trait Oracle {
    /// An empty sequence.
    fn sequence(&self) -> Box<dyn Truth + '_>;
}

/// A sequence that grows call by call.
pub trait Truth {
    /// Appends `ids`, each below `vocab`, and gives the logits of the last `rows` of them, `[rows, vocab]`.
    ///
    /// # Errors
    /// `peer_unavailable` where it lives in another process that does not answer.
    fn extend(&mut self, ids: &[u32], rows: usize) -> Result<Vec<f64>, Refusal>;

    /// Keys after norm and rotation, and values, of one KV head of one layer, each `[T, head_dim]`.
    fn kv(&self, layer: usize, head: usize) -> (&[f64], &[f64]);
}

impl Oracle for Reference {
    fn sequence(&self) -> Box<dyn Truth + '_> {
        Box::new(Reference::sequence(self))
    }
}

impl Truth for ReferenceSequence<'_> {
    fn extend(&mut self, ids: &[u32], rows: usize) -> Result<Vec<f64>, Refusal> {
        Ok(ReferenceSequence::extend(self, ids, rows))
    }

    fn kv(&self, layer: usize, head: usize) -> (&[f64], &[f64]) {
        ReferenceSequence::kv(self, layer, head)
    }
}

/// Holds another reference to our own: every logit, key and value of the first tokens of `workload`.
///
/// # Errors
/// `peer_unavailable` when they are not the same float64 forward, or it does not answer.
pub(crate) fn held(
    remote: &Remote,
    checkpoint: &Checkpoint,
    workload: &Workload,
) -> Result<OtherReference, Refusal> {
    let config = checkpoint.config();
    let ids = &workload.ids[0][..workload.given_ids().min(HELD)];
    let own = Reference::new(checkpoint)?;
    let (mut ours, mut theirs) = (own.sequence(), Oracle::sequence(remote));
    let row = Tolerance::REFERENCE;
    let of = |got: &[f64], want: &[f64]| Compared::of(got, want, row, false);
    let logits = of(&theirs.extend(ids, ids.len())?, &ours.extend(ids, ids.len()));
    let (mut keys, mut values) = (Compared::NONE, Compared::NONE);
    for (layer, head) in
        (0..config.layers).flat_map(|layer| (0..config.kv_heads).map(move |head| (layer, head)))
    {
        let (got, want) = (theirs.kv(layer, head), ours.kv(layer, head));
        (keys, values) = (keys.and(of(got.0, want.0)), values.and(of(got.1, want.1)));
    }
    let held = OtherReference {
        version: remote.version.clone(),
        place: remote.place.clone(),
        tokens: ids.len(),
        logits,
        keys,
        values,
        tolerance: row.name.to_owned(),
        rtol: row.rtol,
        atol: row.atol,
    };
    match held.passed() {
        true => Ok(held),
        false => {
            let errors = [logits, keys, values].map(|part| part.max_abs);
            let got = format!("errors of {errors:?} in logits, keys and values");
            let refusal =
                Refusal::new(Code::PeerUnavailable, "the reference", "our own forward in float64", got);
            Err(refusal.with_remedy(REMEDY))
        }
    }
}
