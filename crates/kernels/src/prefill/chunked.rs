//! The chunked prefill: eleven stages a layer (D45).

use std::sync::Arc;

use tilewright_tile::schedule::{Backend, ScheduleError};
use tilewright_tile::verify::{Rejection, Verified};
use tilewright_tile::{Kernel, Order, Pipeline, ResourceKind, Schedule, Stage, verify};

use super::memory::{LayerWeights, Memory, Weights, of_layer, transposed};
use super::weights::TransposedPack;
use super::{CacheWrite, Chunk, Depth, Product, matmul, rotate, rows, tensor_matmul};
use crate::attention;
use crate::decode;
use crate::format::Format;
use crate::formats::Formats;
use crate::layout::{ModelPack, Tensor};
use crate::parts::{Arithmetic, Exponential};
use crate::shape::Shape;

/// Attention of the chunked prefill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Attention {
    /// Eight queries share a tile of keys and values (D51).
    QueryTiled,
    /// Matrix products, fragments straight from device memory: 4 KiB (E61, E62).
    MatrixDirect,
    /// Matrix products, one storage for queries and then for keys and values: 19 KiB (E65).
    MatrixReused,
    /// Matrix products, queries beside a tile for keys or values: 27 KiB (E65).
    MatrixSeparate,
}

impl Attention {
    /// Every path.
    pub const ALL: [Self; 4] =
        [Self::QueryTiled, Self::MatrixDirect, Self::MatrixReused, Self::MatrixSeparate];

    const fn name(self) -> &'static str {
        match self {
            Self::QueryTiled => "query_tiled",
            Self::MatrixDirect => "matrix_direct",
            Self::MatrixReused => "matrix_reused",
            Self::MatrixSeparate => "matrix_separate",
        }
    }

    fn kernel(self, shape: &Shape, chunk: &Chunk) -> Kernel {
        match self {
            Self::QueryTiled => attention::query_tiled(shape, chunk),
            Self::MatrixDirect => attention::matrix_direct(shape, chunk),
            Self::MatrixReused => attention::matrix_reused(shape, chunk),
            Self::MatrixSeparate => attention::matrix_separate(shape, chunk),
        }
    }
}

/// What is computed in which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Rows of a chunk and storage of weights, activations and cache.
    pub chunk: Chunk,
    /// Attention.
    pub attention: Attention,
    /// Depth of a projection's tile.
    pub depth: Depth,
    /// Machinery of the projections: fragments, or tiles of 64 × 64 × 64 where it is tensor operations (E70). What has no
    /// emitter is refused by name.
    pub backend: Backend,
    /// Rounding of norms and rotation.
    pub arithmetic: Arithmetic,
    /// Exponential of SwiGLU.
    pub exponential: Exponential,
}

impl Options {
    /// The same with projections on tensor operations, 64 × 64 × 64 (E70).
    #[must_use]
    pub const fn on_tensor_operations(self) -> Self {
        Self { depth: Depth::D64, backend: Backend::TensorOps, ..self }
    }

    /// The same with another attention.
    #[must_use]
    pub const fn attention(self, attention: Attention) -> Self {
        Self { attention, ..self }
    }

    /// The beginning of pipeline names.
    fn name(&self) -> String {
        let Self { chunk, attention, depth, backend, .. } = self;
        let depth = match backend {
            Backend::TensorOps => "tensor".to_owned(),
            _ => depth.columns().to_string(),
        };
        format!("prefill_{}_{depth}_{}", attention.name(), chunk.activations)
    }

    /// Attention by lanes, 64 × 64 × 32 projections, products and sums that each round.
    pub const fn by_lanes(chunk: Chunk) -> Self {
        Self {
            chunk,
            attention: Attention::QueryTiled,
            depth: Depth::D32,
            backend: Backend::Simdgroup,
            arithmetic: Arithmetic::Separate,
            exponential: Exponential::Precise,
        }
    }

    /// Attention by matrices, 64 × 64 × 64 projections, fused products and fast exponentials (E70, E71).
    pub const fn by_matrices(chunk: Chunk) -> Self {
        Self {
            chunk,
            attention: Attention::MatrixDirect,
            depth: Depth::D64,
            backend: Backend::Simdgroup,
            arithmetic: Arithmetic::Fused,
            exponential: Exponential::Fast,
        }
    }
}

/// Why there is no such prefill.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PrefillError {
    /// A chunk too small or too large.
    #[error("a chunk of {rows} rows; it must have 1 to {}", Chunk::MOST)]
    Rows {
        /// Rows asked for.
        rows: u32,
    },
    /// A requirement on the projections that their kernels do not meet.
    #[error("projections: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Projections(Vec<ScheduleError>),
    /// Logits asked for where no residual stream was left.
    #[error("no logits after position {position}: only the last chunk of a prompt leaves a row to project")]
    NothingToProject {
        /// The next position.
        position: u32,
    },
    /// A kernel that is refused at this shape.
    #[error(transparent)]
    Kernel(#[from] Rejection),
}

/// A product of two axes of the shape.
fn product(shape: &Shape, chunk: &Chunk, tensor: Tensor) -> Product {
    let [columns, inner] = tensor.extents(shape);
    Product { rows: chunk.rows, columns, inner, storage: chunk.activations }
}

/// The verified kernels of a prefill, from which its pipelines are made.
#[derive(Clone, Debug)]
pub struct ChunkedPrefill {
    shape: Shape,
    options: Options,
    embed: Arc<Verified>,
    norm: Arc<Verified>,
    qkv: Arc<Verified>,
    heads: Arc<Verified>,
    attention: Arc<Verified>,
    output: Arc<Verified>,
    residual: Arc<Verified>,
    gate_up: Arc<Verified>,
    swiglu: Arc<Verified>,
    down: Arc<Verified>,
}

impl ChunkedPrefill {
    /// Builds and verifies the kernels.
    ///
    /// # Errors
    /// A chunk outside 1 to [`Chunk::MOST`] rows, a backend that is not emitted, a kernel that does not fit the shape.
    pub fn new(shape: &Shape, options: &Options) -> Result<Self, PrefillError> {
        let rows = options.chunk.rows;
        if rows == 0 || rows > Chunk::MOST {
            return Err(PrefillError::Rows { rows });
        }
        let this = Self::verified(shape, options)?;
        let schedule = Schedule { backend: options.backend, ..Schedule::default() };
        for kernel in [&this.qkv, &this.output, &this.gate_up, &this.down] {
            schedule.check(kernel).map_err(PrefillError::Projections)?;
        }
        Ok(this)
    }

    /// The kernels, whatever is asked of chunk and backend.
    pub(super) fn verified(shape: &Shape, options: &Options) -> Result<Self, Rejection> {
        let Options { chunk, attention, depth, backend, arithmetic, exponential } = *options;
        let accept = |kernel| verify(kernel).map(Arc::new);
        let project = |name, tensor| {
            let product = product(shape, &chunk, tensor);
            accept(match backend {
                Backend::TensorOps => tensor_matmul(name, &product),
                _ => matmul(name, &product, depth),
            })
        };
        Ok(Self {
            shape: *shape,
            options: *options,
            embed: accept(rows::embed(shape, &chunk, Format::Float(chunk.activations)))?,
            norm: accept(rows::rms_norm(shape, &chunk, arithmetic))?,
            qkv: project("qkv", Tensor::Qkv)?,
            heads: accept(rotate(shape, &chunk, arithmetic, CacheWrite::One))?,
            attention: accept(attention.kernel(shape, &chunk))?,
            output: project("output", Tensor::Output)?,
            residual: accept(rows::residual(shape, &chunk))?,
            gate_up: project("gate_up", Tensor::GateUp)?,
            swiglu: accept(rows::swiglu(shape, &chunk, exponential))?,
            down: project("down", Tensor::Down)?,
        })
    }

    /// The launches of one chunk: embedding, then eleven a layer.
    ///
    /// A chunk that others follow is needed for its keys and values only, so the last layer ends where they are written
    /// (D49); the residual stream then means nothing. The `last` chunk leaves it in `x`.
    pub fn chunk(&self, last: bool) -> Pipeline {
        let Self { shape, options: Options { chunk, .. }, .. } = self;
        let format = Format::Float(chunk.activations);
        let which = if last { "last_chunk" } else { "chunk" };
        let mut p = Pipeline::new(format!("{}_{which}", self.options.name()), Order::Serial);
        let packs = ModelPack::new(shape, &Formats::uniform(shape, format));
        let m = Memory::new(&mut p, shape, chunk, (&packs, format), last);
        let projected = p.resource("projected", chunk.bytes(shape.hidden), ResourceKind::Scratch);
        let gate_up = p.resource("gate_up", chunk.bytes(2 * shape.intermediate), ResourceKind::Scratch);
        let bytes = TransposedPack::new(shape, chunk.activations).bytes() * u64::from(shape.layers);
        let matrices = p.resource("matrices", bytes, ResourceKind::Input);

        let embed = Stage::new("embed", &self.embed).read("tokens", m.tokens).read("control", m.control);
        p.push(m.embedding.bind(embed, "embedding").write("x", m.x));
        for layer in 0..shape.layers {
            let weights = LayerWeights::new(shape, &packs, m.layers, layer);
            let [keys, values] = of_layer(shape, chunk.cache, layer, [m.keys, m.values]);
            let stage = |what: &str, kernel| Stage::new(format!("{what}.{layer}"), kernel);
            let norm = |what, tensor| {
                let stage = stage(what, &self.norm).read("x", m.x).read("w", weights.vector(tensor));
                stage.write("y", m.h)
            };
            let project = |what, kernel, tensor, a, c| {
                let b = transposed(shape, chunk, matrices, layer, tensor);
                stage(what, kernel).read("a", a).read("b", b).write("c", c)
            };
            let add = |what| stage(what, &self.residual).update("x", m.x).read("y", projected);

            p.push(norm("input_norm", Tensor::InputNorm));
            p.push(project("qkv", &self.qkv, Tensor::Qkv, m.h, m.qkv));
            let heads = stage("heads", &self.heads).read("qkv", m.qkv).read("rotary", m.rotary);
            let heads = heads.read("control", m.control).write("q", m.q);
            p.push(weights.bind_heads(heads).write("keys", keys).write("values", values));
            if !last && layer + 1 == shape.layers {
                break;
            }
            let attend = stage("attention", &self.attention).read("q", m.q).read("control", m.control);
            p.push(attend.read("keys", keys).read("values", values).write("out", m.mixed));
            p.push(project("output", &self.output, Tensor::Output, m.mixed, projected));
            p.push(add("attention_residual"));
            p.push(norm("post_norm", Tensor::PostNorm));
            p.push(project("gate_up", &self.gate_up, Tensor::GateUp, m.h, gate_up));
            p.push(stage("swiglu", &self.swiglu).read("gate_up", gate_up).write("activation", m.activation));
            p.push(project("down", &self.down, Tensor::Down, m.activation, projected));
            p.push(add("mlp_residual"));
        }
        p
    }

    /// From the residual stream of the last chunk to logits: last valid row, final norm, vocabulary.
    ///
    /// Only a last chunk leaves a residual stream; after another there is nothing to project (D47, D49).
    ///
    /// # Errors
    /// A kernel that does not fit the shape.
    pub fn logits(&self) -> Result<Pipeline, Rejection> {
        let Self { shape, options: Options { chunk, .. }, .. } = self;
        let storage = chunk.activations;
        let options = decode::Options::of(Format::Float(storage), storage);
        let accept = |kernel| verify(kernel).map(Arc::new);
        let last_row = accept(rows::last_row(shape, chunk))?;
        let norm = accept(decode::rows::norm(shape, &options))?;
        let vocabulary = accept(decode::products::vocabulary(shape, &options))?;

        let mut p = Pipeline::new(format!("prefill_logits_{storage}"), Order::Serial);
        let x = p.resource("x", chunk.bytes(shape.hidden), ResourceKind::State);
        let control = p.resource("control", 8, ResourceKind::State);
        let row = Chunk { rows: 1, ..*chunk };
        let weight = p.resource("final_norm", row.bytes(shape.hidden), ResourceKind::Input);
        let head = if shape.tied { "embedding" } else { "head" };
        let head = Weights::vocabulary(&mut p, head, shape, options.weights);
        let last = p.resource("last", row.bytes(shape.hidden), ResourceKind::Scratch);
        let h = p.resource("h", row.bytes(shape.hidden), ResourceKind::Scratch);
        let logits = p.resource("logits", row.bytes(shape.vocab), ResourceKind::Output);

        p.push(Stage::new("last_row", &last_row).read("x", x).read("control", control).write("y", last));
        p.push(Stage::new("final_norm", &norm).read("x", last).read("w", weight).write("y", h));
        let vocabulary = head.bind(Stage::new("vocabulary", &vocabulary), "weights");
        p.push(vocabulary.read("x", h).write("y", logits));
        Ok(p)
    }
}
