//! Names of files by what they were made from.

use sha2::{Digest, Sha256};

/// A name for these parts in this order.
pub(crate) fn digest<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part.len().to_le_bytes());
        digest.update(part);
    }
    digest.finalize().iter().take(12).map(|byte| format!("{byte:02x}")).collect()
}
