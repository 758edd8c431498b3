//! Packed weights kept between starts.
//!
//! Quantising is nearly all of what a start takes, and its result depends on the checkpoint's content and on this
//! program alone. So it is kept in a file, one for each content, format and way of packing:
//!
//! | part | bytes |
//! | --- | --- |
//! | key ([`Key`]) | 72: what the file holds |
//! | for each matrix, in the order of assembly: checksums | 16 for each piece of 1 MiB (XXH3) |
//! | and the matrix, as it lies in memory | as many as this format and shape take |
//!
//! Nothing in a file is believed. The key has to be the one wanted, byte for byte; sizes and offsets follow from the
//! checkpoint, never from the file; every piece is compared with its checksum as it is read. A file that fails any of
//! this is replaced, and the plan's notes say so. It appears under its name whole (written aside, then renamed), so
//! neither a full disk nor two processes at once can leave half of one; a crash can, and then a checksum fails.
//!
//! The file is read, not mapped: weights have to lie in huge pages to be swept at full speed, and copying them there
//! from the page cache takes a fraction of the time of one prompt. Figures are in `docs/weights.md`.

mod key;
mod restore;
mod store;

use std::io;
use std::path::{Path, PathBuf};

use tilewright_backend::{Plan, Progress, Stage, Watch};
use tilewright_model::{Checkpoint, Refusal, WeightFormat};
use twox_hash::XxHash3_128;

use crate::load::pack;
use crate::pool::Pool;
use crate::simd::Isa;
use crate::weights::Weights;
use key::Key;
use restore::Unusable;

/// Bytes that have a checksum of their own: few enough to be in the processor's cache still when they are hashed.
const PIECE: usize = 1 << 20;

/// Where packed weights are kept between starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedCache {
    /// The folder. It is made when there is something to put into it.
    pub folder: PathBuf,
    /// Weights that take fewer bytes are not kept.
    pub least_bytes: u64,
}

impl PackedCache {
    /// Whether weights packed as `plan` says are kept. Formats that hold what is stored exactly are not: packing them
    /// is no slower than reading the checkpoint, and a file would be as large again.
    pub(crate) fn keeps(&self, plan: &Plan) -> bool {
        matches!(plan.weights, WeightFormat::Int8 | WeightFormat::Int4)
            && plan.weight_bytes >= self.least_bytes
    }
}

/// Weights from the cache in `folder`, or packed and put there; and what to tell about it.
///
/// # Errors
/// Those of packing and of `progress`. Whatever is wrong with the cache is told and costs time, nothing else.
pub(crate) fn load(
    folder: &Path,
    checkpoint: &Checkpoint,
    format: WeightFormat,
    (isa, pool): (Isa, &Pool),
    progress: &mut Watch<'_>,
) -> Result<(Weights, Vec<String>), Refusal> {
    progress(Progress { stage: Stage::Identify, done: 0, total: 1 })?;
    let key = Key::of(checkpoint.digest(), format, (isa, pool))?;
    progress(Progress { stage: Stage::Identify, done: 1, total: 1 })?;
    let path = folder.join(key.file_name());
    let place = path.display();
    let mut notes = Vec::new();

    let parameters = checkpoint.parameters();
    match restore::restore(&path, &key, &parameters, pool, progress) {
        Ok(weights) => return Ok((weights, vec![format!("packed weights read from {place}")])),
        Err(Unusable::Refused(refusal)) => return Err(refusal),
        Err(Unusable::Absent) => {}
        Err(Unusable::Damaged(what)) => {
            notes.push(format!("warning: {place} is not usable, {what}; weights were packed again"));
        }
    }
    let weights = pack(checkpoint, format, (isa, pool), progress)?;
    // Packing takes seconds, in which the file may have been written to.
    if checkpoint.digest() != key.digest() {
        notes.push(
            "warning: the checkpoint changed while it was read; packed weights are not kept".to_owned(),
        );
        return Ok((weights, notes));
    }
    let mut ended = None;
    let mut told = |at| {
        progress(at).map_err(|refusal| {
            ended = Some(refusal);
            io::Error::other("nobody waits for it")
        })
    };
    let stored = store::store(&path, &key, &weights, pool, &mut told);
    if let Some(refusal) = ended {
        return Err(refusal);
    }
    notes.push(match stored {
        Ok(()) => format!("packed weights kept in {place} for the next start"),
        Err(error) => format!("warning: packed weights could not be kept in {place}: {error}"),
    });
    Ok((weights, notes))
}

/// The checksum of one piece.
fn checksum(piece: &[u8]) -> [u8; 16] {
    XxHash3_128::oneshot(piece).to_le_bytes()
}
