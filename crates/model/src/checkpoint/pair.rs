//! The weights of the converted form: `manifest.json` and `weights.blob`.

use super::folder::Folder;
use super::weights::{Entry, WeightFile, Weights};
use crate::manifest::{BLOB, MANIFEST, Manifest, ReadManifest};
use crate::{Code, Refusal};

/// Reads the manifest of a folder.
///
/// # Errors
/// `checkpoint_not_found`, `file_unreadable`, and those of [`Manifest::read`].
pub(crate) fn manifest(folder: &Folder) -> Result<ReadManifest, Refusal> {
    let place = folder.place(MANIFEST);
    match folder.text(MANIFEST)? {
        Some(text) => Manifest::read(&text).map_err(|r| r.at(place)),
        None => Err(Refusal::new(Code::CheckpointNotFound, MANIFEST, "a file", "none").at(place)),
    }
}

/// Maps the blob and gives every tensor its place in it.
///
/// # Errors
/// `checkpoint_not_found`, `file_unreadable`, `manifest_invalid`.
pub(crate) fn weights(folder: &Folder, manifest: &ReadManifest) -> Result<Weights, Refusal> {
    let bytes = folder.bytes(BLOB)?;
    manifest.check_blob(bytes.len()).map_err(|r| r.at(folder.place(BLOB)))?;
    let size = manifest.stored.block_bytes();
    let entries = manifest.tensors.iter().map(|(name, tensor)| {
        let mut shape = tensor.shape.clone();
        if tensor.transposed {
            shape.reverse();
        }
        // Within the blob, by the check above.
        let range = tensor.offset * size..(tensor.offset + tensor.n_elements) * size;
        Entry {
            name: name.clone(),
            shape,
            stored: manifest.stored,
            transposed: tensor.transposed,
            interleaved: None,
            file: 0,
            range,
        }
    });
    Ok(Weights { entries: entries.collect(), files: vec![WeightFile { name: BLOB.to_owned(), bytes }] })
}
