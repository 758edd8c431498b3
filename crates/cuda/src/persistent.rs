//! The persistent decoder: which shapes it takes, and how it is called. `native/decode.cu` says how it works.

use tilewright_backend::KvFormat;
use tilewright_model::{Code, Config, Finding, Refusal, WeightFormat};

use crate::gpu::Gpu;

/// Blocks, one a multiprocessor.
pub(crate) const WORKERS: usize = 128;
/// Threads of a block: eight warps that multiply, four of which three stream.
pub(crate) const THREADS: u32 = 384;
/// Bytes of a piece of the tape.
pub(crate) const CHUNK: usize = 8192;
/// Most tokens of one launch.
pub(crate) const STEPS: usize = 256;
/// Most ids that end a launch.
pub(crate) const ENDS: usize = 8;

/// Rows, columns and places of a model on the workers; mirrors the macros of `native/prelude.cuh`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tape {
    /// Chunks of a layer a worker: QKV, attention's output, gate and up, down.
    pub(crate) stages: [usize; 4],
    /// Chunks of the head, of the worker with most.
    pub(crate) head: usize,
    layers: usize,
}

impl Tape {
    pub(crate) fn new(config: &Config) -> Self {
        let columns = |n: usize| n / 256;
        let tiles = |rows: usize| rows / WORKERS / 16;
        let (h, q, i) = (config.hidden, config.q_width(), config.intermediate);
        // Eight rows of attention's output and of down make a tile of half the columns.
        let stages = [
            tiles(q + 2 * config.kv_width()) * columns(h),
            columns(q) / 2,
            tiles(2 * i) * columns(h),
            columns(i) / 2,
        ];
        let head = (config.vocab / 16).div_ceil(WORKERS) * columns(h);
        Self { stages, head, layers: config.layers }
    }

    /// Chunks of a layer.
    pub(crate) fn layer(&self) -> usize {
        self.stages.iter().sum()
    }

    /// Bytes of a worker's tape.
    pub(crate) fn stride(&self) -> usize {
        (self.layers * self.layer() + self.head) * CHUNK
    }

    /// Bytes of all tapes.
    pub(crate) fn bytes(&self) -> usize {
        self.stride() * WORKERS
    }
}

/// Bytes of dynamic shared memory: ring, activations, partial sums, and what `Shared` holds.
pub(crate) fn shared_bytes(config: &Config) -> usize {
    let widest = config.hidden.max(config.q_width()).max(config.intermediate);
    24 * CHUNK + 2 * (widest / 2 + 16) * 4 + 2 * 8 * 264 * 4 + 4096
}

/// Words of 8 bytes of the exchange buffers.
pub(crate) fn link_words(config: &Config) -> usize {
    let (q, h) = (config.q_width(), config.hidden);
    let qkv = (q + 2 * config.kv_width()) / 2;
    let partial = WORKERS * config.group() * (config.head_dim + 2);
    qkv + partial + q / 2 + h + config.intermediate / 2 + 2 * WORKERS
}

/// Why the decoder cannot take a model on a GPU, or nothing.
pub(crate) fn objection(config: &Config, weights: WeightFormat, kv: KvFormat, gpu: &Gpu) -> Option<String> {
    let shape = config.hidden == 1024
        && config.kv_heads == 8
        && config.heads == 16
        && config.head_dim == 128
        && config.intermediate == 3072
        && config.vocab.is_multiple_of(16)
        && config.vocab / 16 >= WORKERS
        && config.qk_norm
        && !config.qkv_bias;
    if gpu.capability != (9, 0) {
        Some("it is made for compute capability 9.0".to_owned())
    } else if gpu.multiprocessors < WORKERS {
        Some(format!("it wants {WORKERS} multiprocessors"))
    } else if weights != WeightFormat::Bf16 || kv != KvFormat::Bf16 {
        Some("it wants weights and KV cache in bf16".to_owned())
    } else if !shape {
        Some("it takes the shape of Qwen3-0.6B only, of any depth and vocabulary".to_owned())
    } else if gpu.shared_memory < shared_bytes(config) {
        Some(format!("it wants {} bytes of shared memory a block", shared_bytes(config)))
    } else {
        None
    }
}

/// `Params` of `native/prelude.cuh`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Params {
    pub(crate) tape: u64,
    pub(crate) tape_stride: u64,
    pub(crate) embedding: u64,
    pub(crate) norms: u64,
    pub(crate) head_norms: u64,
    pub(crate) rope: u64,
    pub(crate) kv: u64,
    pub(crate) kv_blocks: u64,
    pub(crate) link: u64,
    pub(crate) forced: u64,
    pub(crate) out: u64,
    pub(crate) logits: u64,
    pub(crate) abort_word: u64,
    pub(crate) position: u32,
    pub(crate) steps: u32,
    pub(crate) epoch: u32,
    pub(crate) fault: u32,
    pub(crate) ends: [i32; ENDS],
    pub(crate) deadline_ns: u64,
}

/// What the record of a worker that gave up says.
pub(crate) fn timeout(record: [u32; 5]) -> Refusal {
    let [_, place, worker, thread, chunk] = record;
    let waited = match place {
        1 => "the residual stream of the layer before",
        2 => "queries, keys and values",
        3 => "partial attention",
        4 => "attention",
        5 => "the residual stream after attention",
        6 => "the residual stream after the last layer",
        7 => "the best tokens",
        8 => "the product of gate and up",
        100 => "weights",
        _ => "something unknown",
    };
    let got = format!("thread {thread} of worker {worker}, at chunk {chunk}, waited in vain");
    Refusal::with_findings(
        Code::DeviceTimeout,
        vec![Finding::new(waited, "word from every worker in time", got)],
    )
}

#[cfg(test)]
mod tests;
