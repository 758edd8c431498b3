//! What a caller may ask for.

use tilewright_backend::KvFormat;
use tilewright_backend::execution::{Attention, Gemm};
use tilewright_model::WeightFormat;

/// A request to open a session. Whatever is `None` is decided by [`resolve_plan`](crate::resolve_plan).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MetalOptions {
    /// Format of every matrix. Default: int8.
    pub weights: Option<WeightFormat>,
    /// Element type of the KV cache that decoding reads: f32 or f16. Default: that of the attention.
    pub kv: Option<KvFormat>,
    /// Positions a sequence may hold. Default: what the model was made for, as far as memory and the device's most allow.
    pub context: Option<usize>,
    /// Rows of a tile of a prompt, 1 to 2,048. Default: 2,048.
    pub prefill_chunk: Option<usize>,
    /// Attention of a prompt. Default: by the width of the heads.
    pub attention: Option<Attention>,
    /// Tier of the products of a prompt. Default: MSL parity.
    pub gemm: Option<Gemm>,
}
