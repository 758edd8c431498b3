//! Where the weights of a decoder layer lie in one block of bytes.

#[cfg(test)]
mod tests;

use tilewright_tile::pipeline::Region;
use tilewright_tile::{Scalar, Stage};

use crate::format::Format;
use crate::formats::{Formats, LayerFormats};
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

/// The place of a matrix: its planes one after another, each at a multiple of 16 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slot {
    /// First byte.
    pub offset: u64,
    /// Bytes of each plane, multiples of 16; zeros after the last.
    pub planes: [u64; 4],
}

/// Rows of a tensor in one format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The first of them.
    pub first: u32,
    /// How many.
    pub rows: u32,
    /// Columns of each.
    pub columns: u32,
    /// How they are stored.
    pub format: Format,
    /// Where they lie in their layer.
    pub slot: Slot,
}

impl Piece {
    /// A whole matrix, from byte 0.
    pub fn whole([rows, columns]: [u32; 2], format: Format) -> Self {
        Self { first: 0, rows, columns, format, slot: Slot::of_matrix([rows, columns], format) }
    }
}

/// The places of a layer's tensors.
///
/// Tensors follow one another in the order of [`Tensor::ALL`], each at a multiple of 16 bytes. At the published
/// shape that leaves no gap: 15,730,944 numbers a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerPack {
    pieces: [Vec<Piece>; Tensor::ALL.len()],
    bytes: u64,
}

/// A multiple of this many bytes is where a plane may begin: the widest vector access.
const ALIGNMENT: u64 = 16;

impl LayerPack {
    /// The pack of a layer of `shape` with matrices in `format`.
    pub fn new(shape: &Shape, format: Format) -> Self {
        Self::with_vectors(shape, format, format.vectors())
    }

    /// The same with norms and biases stored as `vectors`.
    pub fn with_vectors(shape: &Shape, format: Format, vectors: Scalar) -> Self {
        Self::of(shape, &LayerFormats::all(format), vectors)
    }

    /// The pack of a layer with matrices in several formats, norms and biases stored as `vectors`.
    pub fn of(shape: &Shape, formats: &LayerFormats, vectors: Scalar) -> Self {
        let mut bytes = 0;
        let pieces = Tensor::ALL.map(|tensor| {
            let columns = tensor.extents(shape)[1];
            let mut first = 0;
            let mut place = |(rows, format): (u32, Format)| {
                let slot = Slot { offset: bytes, ..Slot::of_matrix([rows, columns], format) };
                bytes = slot.end();
                let piece = Piece { first, rows, columns, format, slot };
                first += rows;
                piece
            };
            formats.of(tensor, shape, vectors).into_iter().map(&mut place).collect()
        });
        Self { pieces, bytes }
    }

    /// The pieces of a tensor from the first row to the last. There is one, unless queries, keys and values are stored in
    /// several formats.
    pub fn pieces(&self, tensor: Tensor) -> &[Piece] {
        &self.pieces[tensor as usize]
    }

    /// The place of a tensor's first piece, from the start of its layer.
    pub fn slot(&self, tensor: Tensor) -> Slot {
        self.pieces(tensor).first().map(|piece| piece.slot).unwrap_or_default()
    }

    /// Bytes from one layer to the next.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// The packs of all layers, one after another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelPack {
    layers: Vec<(u64, LayerPack)>,
    bytes: u64,
}

impl ModelPack {
    /// The packs of a model's layers.
    pub fn new(shape: &Shape, formats: &Formats) -> Self {
        let mut bytes = 0;
        let pack = |layer| {
            let pack = LayerPack::of(shape, formats.layer(layer), formats.vectors());
            let start = bytes;
            bytes += pack.bytes();
            (start, pack)
        };
        let layers = (0..shape.layers).map(pack).collect();
        Self { layers, bytes }
    }

    /// Where a layer begins, and its pack.
    pub fn layer(&self, layer: u32) -> (u64, &LayerPack) {
        let (start, pack) = &self.layers[layer as usize];
        (*start, pack)
    }

    /// The layer and the tensor that contain byte `offset` of all layers, and how far into the tensor that is.
    pub fn tensor_at(&self, offset: u64) -> Option<(usize, Tensor, u64)> {
        let layer = self.layers.partition_point(|(start, _)| *start <= offset).checked_sub(1)?;
        let (start, pack) = &self.layers[layer];
        let within = offset - start;
        Tensor::ALL.into_iter().find_map(|tensor| {
            let pieces = pack.pieces(tensor);
            let span = pieces.first()?.slot.offset..pieces.last()?.slot.end();
            span.contains(&within).then(|| (layer, tensor, within - span.start))
        })
    }

    /// Bytes of all layers.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Slot {
    /// A matrix alone, from byte 0: the embedding, the head.
    pub fn of_matrix([rows, columns]: [u32; 2], format: Format) -> Self {
        let mut planes = [0; 4];
        for (bytes, plane) in planes.iter_mut().zip(format.planes(columns)) {
            let elements = u64::from(rows) * u64::from(plane.columns);
            *bytes = (elements * u64::from(plane.scalar.bytes())).next_multiple_of(ALIGNMENT);
        }
        Self { offset: 0, planes }
    }

    /// One past the last byte.
    pub fn end(&self) -> u64 {
        self.offset + self.planes.iter().sum::<u64>()
    }

    /// First byte and length of each plane.
    pub fn places(&self) -> impl Iterator<Item = (u64, u64)> {
        let mut next = self.offset;
        let place = move |bytes| {
            let start = next;
            next += bytes;
            (start, bytes)
        };
        self.planes.into_iter().map(place)
    }

    /// The part of `region` where the first plane lies: all of a vector.
    pub(crate) fn first(&self, region: Region) -> Region {
        region.part(self.offset, self.planes[0])
    }

    /// Binds the parameter `name` and those of further planes to a matrix of `format` that lies here in `region`.
    pub(crate) fn bind(&self, stage: Stage, name: &str, format: Format, region: Region) -> Stage {
        let planes = format.planes(0).into_iter().zip(self.places());
        planes.fold(stage, |stage, (plane, (start, bytes))| {
            stage.read(&format!("{name}{}", plane.suffix), region.part(start, bytes))
        })
    }
}
