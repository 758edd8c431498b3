//! Where the weights of a decoder layer lie in one block of bytes.

#[cfg(test)]
mod tests;

use tilewright_tile::Scalar;

use crate::format::Format;
use crate::shape::Shape;

/// A tensor of a decoder layer, in the order in which the pack holds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tensor {
    /// RMSNorm weight before attention, `[hidden]`.
    InputNorm,
    /// Query, key and value projections stacked, `[qkv_width, hidden]`.
    Qkv,
    /// Output projection of attention, `[hidden, q_width]`.
    Output,
    /// RMSNorm weight before the MLP, `[hidden]`.
    PostNorm,
    /// Gate and up projections stacked, `[2 * intermediate, hidden]`.
    GateUp,
    /// Down projection, `[hidden, intermediate]`.
    Down,
    /// Per-head query RMSNorm weight, `[head_dim]`; only with `qk_norm`.
    QNorm,
    /// Per-head key RMSNorm weight, `[head_dim]`; only with `qk_norm`.
    KNorm,
    /// Query, key and value biases, `[qkv_width]`; only with `qkv_bias`.
    QkvBias,
}

impl Tensor {
    /// Every tensor in pack order.
    pub const ALL: [Self; 9] = [
        Self::InputNorm,
        Self::Qkv,
        Self::Output,
        Self::PostNorm,
        Self::GateUp,
        Self::Down,
        Self::QNorm,
        Self::KNorm,
        Self::QkvBias,
    ];

    /// Rows and columns; a vector is one row. `[0, 0]` where the shape has no such tensor.
    pub fn extents(self, shape: &Shape) -> [u32; 2] {
        let when = |has: bool, columns: u32| if has { [1, columns] } else { [0, 0] };
        match self {
            Self::InputNorm | Self::PostNorm => [1, shape.hidden],
            Self::Qkv => [shape.qkv_width(), shape.hidden],
            Self::Output => [shape.hidden, shape.q_width()],
            Self::GateUp => [shape.intermediate * 2, shape.hidden],
            Self::Down => [shape.hidden, shape.intermediate],
            Self::QNorm | Self::KNorm => when(shape.qk_norm, shape.head_dim),
            Self::QkvBias => when(shape.qkv_bias, shape.qkv_width()),
        }
    }

    /// Whether it is stored in the format of matrices; vectors have [`Format::vectors`].
    pub const fn is_matrix(self) -> bool {
        matches!(self, Self::Qkv | Self::Output | Self::GateUp | Self::Down)
    }
}

/// Bytes of a pack: numbers, then (for quantised matrices) their scales.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slot {
    /// First byte of the numbers.
    pub offset: u64,
    /// Length of the numbers, a multiple of 16.
    pub bytes: u64,
    /// Length of the scales, which begin at `offset + bytes`.
    pub scale_bytes: u64,
}

/// The places of a layer's tensors.
///
/// Tensors follow one another in the order of [`Tensor::ALL`], each at a multiple of 16 bytes. At the published
/// shape that leaves no gap: 15,730,944 numbers a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerPack {
    slots: [Slot; Tensor::ALL.len()],
    bytes: u64,
}

/// A multiple of this many bytes is where a tensor may begin: the widest vector access.
const ALIGNMENT: u64 = 16;

impl LayerPack {
    /// The pack of a layer of `shape` with matrices in `format`.
    pub fn new(shape: &Shape, format: Format) -> Self {
        Self::with_vectors(shape, format, format.vectors())
    }

    /// The same with norms and biases stored as `vectors`.
    pub fn with_vectors(shape: &Shape, format: Format, vectors: Scalar) -> Self {
        let mut bytes = 0;
        let slots = Tensor::ALL.map(|tensor| {
            let format = if tensor.is_matrix() { format } else { Format::Float(vectors) };
            let slot = Slot { offset: bytes, ..Slot::of_matrix(tensor.extents(shape), format) };
            bytes = slot.end().next_multiple_of(ALIGNMENT);
            slot
        });
        Self { slots, bytes }
    }

    /// The place of a tensor, from the start of its layer.
    pub const fn slot(&self, tensor: Tensor) -> Slot {
        self.slots[tensor as usize]
    }

    /// The layer and the tensor that begin at byte `offset` of all layers.
    pub fn tensor_at(&self, offset: u64) -> Option<(usize, Tensor)> {
        let (layer, within) = (offset / self.bytes, offset % self.bytes);
        let begins = |tensor: &Tensor| {
            let Slot { offset, bytes, .. } = self.slot(*tensor);
            offset == within && bytes > 0
        };
        Some((usize::try_from(layer).ok()?, Tensor::ALL.into_iter().find(begins)?))
    }

    /// Bytes from one layer to the next.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Slot {
    /// A matrix alone, from byte 0: the embedding, the head.
    pub fn of_matrix([rows, columns]: [u32; 2], format: Format) -> Self {
        let bytes = format.bytes(u64::from(rows) * u64::from(columns)).next_multiple_of(ALIGNMENT);
        let scales = u64::from(rows) * u64::from(format.scales(columns));
        Self { offset: 0, bytes, scale_bytes: scales * u64::from(Format::SCALE.bytes()) }
    }

    /// One past the last byte.
    pub const fn end(&self) -> u64 {
        self.offset + self.bytes + self.scale_bytes
    }
}
