//! What a device holds of a checkpoint in a packed form that gives back every bit.

use serde::{Deserialize, Serialize};

/// Matrices held as pairs of bf16 numbers in a word, from which kernels rebuild f32.
///
/// It is storage: products and sums are those of f32. Packing and comparing belong to opening, which is not timed; rebuilding
/// happens in every kernel that reads such a matrix, and so within whatever is timed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Packing {
    /// What of the model it is.
    pub scopes: Scopes,
    /// Elements packed.
    pub elements: u64,
    /// Their bytes as f32.
    pub unpacked_bytes: u64,
    /// Their bytes packed.
    pub packed_bytes: u64,
    /// Elements that the device compared bit by bit, when it was opened, with what was packed: all of them, or it did not open.
    pub verified: u64,
    /// Elements that are not those of the checkpoint, for they were rounded to bf16 first; 0 where nothing was lost.
    pub rounded: u64,
}

/// Elements packed, by what they are of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scopes {
    /// The embedding and, where it is another matrix, the output matrix.
    pub vocabulary: u64,
    /// The projections of all layers.
    pub layers: u64,
}

impl Packing {
    /// The packing of elements that were all compared, of which some were rounded before; `None` where nothing is packed.
    pub fn of(scopes: Scopes, rounded: u64) -> Option<Self> {
        let elements = scopes.vocabulary + scopes.layers;
        let (unpacked_bytes, packed_bytes) = (elements * 4, elements * 2);
        let packing = Self { scopes, elements, unpacked_bytes, packed_bytes, verified: elements, rounded };
        (elements > 0).then_some(packing)
    }

    /// It on one line.
    pub fn describe(&self) -> String {
        let Scopes { vocabulary, layers } = self.scopes;
        let lost = match self.rounded {
            0 => "none of them was rounded before".to_owned(),
            rounded => format!("{rounded} of them were rounded to bf16 before"),
        };
        format!(
            "{} elements as pairs of bf16 numbers ({vocabulary} of the vocabulary, {layers} of the layers): {} bytes, {} as \
             f32; at opening, untimed, {} were packed and compared bit by bit, and {lost}; rebuilding f32 is timed",
            self.elements, self.packed_bytes, self.unpacked_bytes, self.verified
        )
    }
}
