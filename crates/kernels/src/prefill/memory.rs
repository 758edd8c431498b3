//! The memory that the stages of a chunk share.

use tilewright_tile::pipeline::Region;
use tilewright_tile::{Pipeline, ResourceKind, Scalar, Stage};

use super::Chunk;
use super::weights::TransposedPack;
use crate::format::Format;
use crate::layout::{LayerPack, ModelPack, Piece, Slot, Tensor};
use crate::shape::Shape;

/// Regions that every prefill has. Activations are `[rows, width]`.
pub(super) struct Memory {
    pub(super) tokens: Region,
    pub(super) control: Region,
    pub(super) embedding: Weights,
    pub(super) rotary: Region,
    pub(super) layers: Region,
    pub(super) keys: Region,
    pub(super) values: Region,
    /// The residual stream.
    pub(super) x: Region,
    /// A normed row.
    pub(super) h: Region,
    /// Queries, keys and values stacked.
    pub(super) qkv: Region,
    /// Queries after norm and rotation.
    pub(super) q: Region,
    /// Output of attention.
    pub(super) mixed: Region,
    /// Product of the gated MLP.
    pub(super) activation: Region,
}

impl Memory {
    /// Declares the regions of a chunk. The layers lie in `packs`, the embedding is stored as `embedding`; the residual
    /// stream outlives the last stage when it is `wanted`.
    pub(super) fn new(
        p: &mut Pipeline,
        shape: &Shape,
        chunk: &Chunk,
        (packs, embedding): (&ModelPack, Format),
        wanted: bool,
    ) -> Self {
        let layers = u64::from(shape.layers);
        let angles = u64::from(shape.capacity) * u64::from(shape.pairs()) * 8;
        let past = cache_bytes(shape, chunk.cache) * layers;
        let stream = if wanted { ResourceKind::Output } else { ResourceKind::Scratch };
        let embedding = Weights::vocabulary(p, "embedding", shape, embedding);
        let mut add = |name: &str, bytes, kind| p.resource(name, bytes, kind);
        Self {
            tokens: add("tokens", u64::from(chunk.rows) * 4, ResourceKind::State),
            control: add("control", 8, ResourceKind::State),
            embedding,
            rotary: add("rotary", angles, ResourceKind::Input),
            layers: add("layers", packs.bytes(), ResourceKind::Input),
            keys: add("keys", past, ResourceKind::State),
            values: add("values", past, ResourceKind::State),
            x: add("x", chunk.bytes(shape.hidden), stream),
            h: add("h", chunk.bytes(shape.hidden), ResourceKind::Scratch),
            qkv: add("qkv", chunk.bytes(shape.qkv_width()), ResourceKind::Scratch),
            q: add("q", chunk.bytes(shape.q_width()), ResourceKind::Scratch),
            mixed: add("mixed", chunk.bytes(shape.q_width()), ResourceKind::Scratch),
            activation: add("activation", chunk.bytes(shape.intermediate), ResourceKind::Scratch),
        }
    }
}

/// The parts of two caches that belong to a layer.
pub(super) fn of_layer(shape: &Shape, storage: Scalar, layer: u32, caches: [Region; 2]) -> [Region; 2] {
    let bytes = cache_bytes(shape, storage);
    caches.map(|cache| cache.part(bytes * u64::from(layer), bytes))
}

/// Bytes of the keys (or values) of one layer.
pub(super) fn cache_bytes(shape: &Shape, storage: Scalar) -> u64 {
    u64::from(shape.kv_width()) * u64::from(shape.capacity) * u64::from(storage.bytes())
}

/// A matrix.
#[derive(Clone, Copy)]
pub(super) struct Weights {
    region: Region,
    slot: Slot,
    format: Format,
}

impl Weights {
    /// The embedding or the head, a resource of its own.
    pub(super) fn vocabulary(p: &mut Pipeline, name: &str, shape: &Shape, format: Format) -> Self {
        let slot = Slot::of_matrix([shape.vocab, shape.hidden], format);
        Self { region: p.resource(name, slot.end(), ResourceKind::Input), slot, format }
    }

    /// Binds the parameter `name` and those of further planes.
    pub(super) fn bind(&self, stage: Stage, name: &str) -> Stage {
        self.slot.bind(stage, name, self.format, self.region)
    }
}

/// The weights of one layer.
pub(super) struct LayerWeights<'a> {
    shape: &'a Shape,
    pack: &'a LayerPack,
    region: Region,
}

impl<'a> LayerWeights<'a> {
    /// Layer `layer` of the packs in `layers`.
    pub(super) fn new(shape: &'a Shape, packs: &'a ModelPack, layers: Region, layer: u32) -> Self {
        let (start, pack) = packs.layer(layer);
        Self { shape, pack, region: layers.part(start, pack.bytes()) }
    }

    /// A vector.
    pub(super) fn vector(&self, tensor: Tensor) -> Region {
        self.pack.slot(tensor).first(self.region)
    }

    /// The pieces of a matrix.
    pub(super) fn pieces(&self, tensor: Tensor) -> &'a [Piece] {
        self.pack.pieces(tensor)
    }

    /// Binds the parameter `weights` and those of further planes to a piece of a matrix.
    pub(super) fn bind(&self, stage: Stage, piece: &Piece) -> Stage {
        piece.slot.bind(stage, "weights", piece.format, self.region)
    }

    /// Binds what the model has of norms and bias of heads.
    pub(super) fn bind_heads(&self, stage: Stage) -> Stage {
        let stage = match self.shape.qk_norm {
            true => {
                stage.read("q_norm", self.vector(Tensor::QNorm)).read("k_norm", self.vector(Tensor::KNorm))
            }
            false => stage,
        };
        match self.shape.qkv_bias {
            true => stage.read("bias", self.vector(Tensor::QkvBias)),
            false => stage,
        }
    }
}

/// The transposed matrices of one layer.
pub(super) fn transposed(
    shape: &Shape,
    chunk: &Chunk,
    matrices: Region,
    layer: u32,
    tensor: Tensor,
) -> Region {
    let pack = TransposedPack::new(shape, chunk.activations);
    let (offset, bytes) = pack.place(tensor);
    matrices.part(pack.bytes() * u64::from(layer) + offset, bytes)
}
