//! What a caller may ask of the CPU device.

use tilewright_backend::{KvFormat, Numerics};
use tilewright_model::WeightFormat;

use crate::cache::PackedCache;
use crate::simd::Isa;

/// A request to [`open`](fn@crate::open). Whatever is `None` is decided by [`resolve_plan`](crate::resolve_plan).
#[derive(Clone, Debug, Default)]
pub struct CpuOptions {
    /// Format of every matrix. Default: bf16 for a checkpoint stored in bf16, else f32; both lossless.
    pub weights: Option<WeightFormat>,
    /// Element type of the KV cache. Default: f32 beside f32 weights, else f16.
    pub kv: Option<KvFormat>,
    /// Worker threads. Default: one for each core this process may use.
    pub threads: Option<usize>,
    /// Positions a sequence may hold. Default: what the model was made for, as far as memory allows.
    pub context: Option<usize>,
    /// Rows of a prefill chunk. Default: 512.
    pub prefill_chunk: Option<usize>,
    /// Whose order of sums is taken.
    pub numerics: Numerics,
    /// Instruction set. Default: the widest this machine has.
    pub isa: Option<Isa>,
    /// Where packed weights are kept between starts. Default: nowhere.
    pub cache: Option<PackedCache>,
}
