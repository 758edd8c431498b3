//! What a caller may ask of a GPU.

use tilewright_backend::KvFormat;
use tilewright_model::WeightFormat;

/// A request to [`open`](fn@crate::open). Whatever is `None` is decided by [`resolve_plan`](crate::resolve_plan).
#[derive(Clone, Debug, Default)]
pub struct CudaOptions {
    /// Index of the GPU.
    pub ordinal: usize,
    /// Format of every matrix: f32, bf16, int8, or gguf where it is stored in blocks. Default: bf16 for a checkpoint stored in
    /// bf16, else f32; both lossless.
    pub weights: Option<WeightFormat>,
    /// Element type of the KV cache: f32, bf16 or int8. Default: f32 beside weights in f32, else bf16.
    pub kv: Option<KvFormat>,
    /// Positions a sequence may hold. Default: what the model was made for, as far as memory allows.
    pub context: Option<usize>,
    /// Rows of a prefill chunk. Default: 512; 4,096 with the kernels for Hopper.
    pub prefill_chunk: Option<usize>,
    /// Whether single sequences may be decoded by the persistent kernel where it fits. Default: yes.
    pub persistent: Option<bool>,
    /// Whether single sequences may be decoded in launches that overlap where the persistent kernel does not serve. Default: yes.
    pub overlap: Option<bool>,
    /// Whether prompts and batches may go through the kernels for Hopper where they fit. Default: yes.
    pub hopper: Option<bool>,
    /// Whether sequences may take pages for keys and values as they grow, and share them. Default: where the GPU can.
    pub pages: Option<bool>,
}
