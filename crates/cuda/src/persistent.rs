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
/// Tiles of the head whose scales are read at once.
const SPAN: usize = 16;
/// Dims of a head.
const HEAD_DIM: usize = 128;
/// Rows of weights whose sums a worker keeps, at most.
const ROWS: usize = 256;
/// Steps of 128 columns from which on an input is too wide for registers.
const WIDE: usize = 20;
/// Bytes of shared memory a block may have.
const SHARED: usize = 227 << 10;

/// Fragments of weights that wait in a lane's registers at most: fewer where the residual stream needs more.
fn held(config: &Config) -> usize {
    if config.hidden > 1024 { 8 } else { 16 }
}
/// Most ids that end a launch.
pub(crate) const ENDS: usize = 8;

/// A worker's part of a matrix: tiles of 16 rows, and steps of 16 columns for each of its eight warps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) tiles: usize,
    pub(crate) steps: usize,
}

impl Part {
    /// Pieces of the tape.
    pub(crate) fn chunks(self, int8: bool) -> usize {
        self.tiles * self.steps / if int8 { 4 } else { 2 }
    }

    /// Pairs of scales, of rows r and r + 8.
    pub(crate) fn pairs(self) -> usize {
        self.tiles * self.steps * 8
    }

    /// Whether whole pieces of the tape hold it, and what of it must be if so much waits in registers.
    fn whole(self, int8: bool, held: usize) -> bool {
        let units = if int8 { 2 } else { 1 };
        let all = self.tiles * self.steps;
        all.is_multiple_of(2 * units) && (all / units <= held || self.steps.is_multiple_of(2 * units))
    }
}

/// Parts of a model's matrices on the workers; mirrors the macros of `native/prelude.cuh`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tape {
    /// QKV, attention's output, gate and up, down, head (of the worker with most).
    pub(crate) parts: [Part; 5],
    /// Whether weights have 8 bits.
    pub(crate) int8: bool,
    layers: usize,
}

impl Tape {
    pub(crate) fn new(config: &Config, int8: bool) -> Self {
        let group = WORKERS / config.kv_heads.min(WORKERS);
        let mid = mid_rows(config);
        let (rows, width) = (config.hidden / group / 16, config.group() * config.head_dim);
        let parts = [
            Part { tiles: (width + 2 * config.head_dim) / group / 16, steps: config.hidden / 128 },
            Part { tiles: rows, steps: width / 128 },
            Part { tiles: mid / 8, steps: config.hidden / 128 },
            Part { tiles: rows, steps: mid * group / 128 },
            Part { tiles: (config.vocab / 16).div_ceil(WORKERS), steps: config.hidden / 128 },
        ];
        Self { parts, int8, layers: config.layers }
    }

    /// Pieces of a worker's tape before a matrix of a layer, the layer counted from 0; of the head after the last.
    pub(crate) fn first(&self, layer: usize, kind: usize) -> usize {
        let chunks = |parts: &[Part]| parts.iter().map(|p| p.chunks(self.int8)).sum::<usize>();
        layer * chunks(&self.parts[..4]) + chunks(&self.parts[..kind])
    }

    /// The same of the scales.
    pub(crate) fn first_pair(&self, layer: usize, kind: usize) -> usize {
        let pairs = |parts: &[Part]| parts.iter().map(|p| p.pairs()).sum::<usize>();
        layer * pairs(&self.parts[..4]) + pairs(&self.parts[..kind])
    }

    /// Bytes of a worker's tape.
    pub(crate) fn stride(&self) -> usize {
        (self.first(self.layers, 0) + self.parts[4].chunks(self.int8)) * CHUNK
    }

    /// Pairs of scales a worker. The head's are read a span of tiles at a time.
    pub(crate) fn scale_stride(&self) -> usize {
        let head = self.parts[4];
        self.first_pair(self.layers, 0) + head.pairs() + SPAN * head.steps * 8
    }

    /// Bytes of all tapes, and of the scales.
    pub(crate) fn bytes(&self) -> usize {
        WORKERS * (self.stride() + if self.int8 { 4 * self.scale_stride() } else { 0 })
    }
}

/// Rows of gate, and of up, of a worker, with rows of zeros.
fn mid_rows(config: &Config) -> usize {
    (config.intermediate / WORKERS).next_multiple_of(8)
}

/// Bytes of dynamic shared memory besides the ring: partial sums, attention's, activations, and what `Shared` holds.
fn rest_bytes(config: &Config) -> usize {
    let width = config.group() * config.head_dim;
    let widest = Tape::new(config, false).parts.iter().map(|p| p.steps).max().unwrap_or(0);
    8 * 4 * (2 * 264 + width + widest * 16 + 8) + 2048 + 9 * width
}

/// Pieces of the ring: what the rest leaves room for, an even number.
pub(crate) fn slots(config: &Config) -> usize {
    (SHARED.saturating_sub(rest_bytes(config)) / CHUNK / 2 * 2).clamp(2, 24)
}

/// Bytes of dynamic shared memory.
pub(crate) fn shared_bytes(config: &Config) -> usize {
    slots(config) * CHUNK + rest_bytes(config)
}

/// Words of 8 bytes of the exchange buffers: those before the sums, the sums, those after.
pub(crate) fn link_words(config: &Config) -> [usize; 3] {
    let qkv = (config.q_width() + 2 * config.kv_width()) / 2;
    let partial = WORKERS * config.group() * (config.head_dim / 2 + 2);
    [qkv + partial + mid_rows(config) * WORKERS / 2, 4 * config.hidden, 2 * WORKERS]
}

/// Why the decoder cannot take a model on a GPU, or nothing.
pub(crate) fn objection(config: &Config, weights: WeightFormat, kv: KvFormat, gpu: &Gpu) -> Option<String> {
    let int8 = weights == WeightFormat::Int8;
    if gpu.capability != (9, 0) {
        Some("it is made for compute capability 9.0".to_owned())
    } else if gpu.multiprocessors < WORKERS {
        Some(format!("it wants {WORKERS} multiprocessors"))
    } else if !(int8 || weights == WeightFormat::Bf16) || kv != KvFormat::Bf16 {
        Some("it wants weights in bf16 or int8 and a KV cache in bf16".to_owned())
    } else if let Some(reason) = shape_objection(config, int8) {
        Some(reason.to_owned())
    } else if gpu.shared_memory < shared_bytes(config) {
        Some(format!("it wants {} bytes of shared memory a block", shared_bytes(config)))
    } else {
        None
    }
}

/// What of a shape the decoder cannot take, or nothing.
fn shape_objection(config: &Config, int8: bool) -> Option<&'static str> {
    let mid = config.intermediate / WORKERS;
    if config.head_dim != HEAD_DIM || config.kv_heads != 8 || !matches!(config.group(), 2 | 4) {
        Some("it wants eight key heads of 128 dims and two or four query heads for each")
    } else if config.qkv_bias {
        Some("it has no biases")
    } else if !config.hidden.is_multiple_of(512) || !(1024..=16 * ROWS).contains(&config.hidden) {
        Some("it wants a hidden size from 1,024 to 4,096, a multiple of 512")
    } else if !config.intermediate.is_multiple_of(2 * WORKERS) || 2 * mid_rows(config) > ROWS {
        Some("it wants an MLP of a width up to 16,384, a multiple of 256")
    } else if !config.vocab.is_multiple_of(16) || config.vocab / 16 < WORKERS {
        Some("it wants a vocabulary of 2,048 at least, a multiple of 16")
    } else if int8 && (!mid.is_multiple_of(8) || config.hidden / 128 > WIDE) {
        Some(
            "with weights in int8 it wants a hidden size up to 2,560 and an MLP whose width is a multiple of 1,024",
        )
    } else if !Tape::new(config, int8).parts.iter().all(|p| p.whole(int8, held(config))) {
        Some("parts of the matrices are no whole pieces")
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
    pub(crate) scales: u64,
    pub(crate) scale_stride: u64,
    pub(crate) embedding: u64,
    pub(crate) norms: u64,
    pub(crate) head_norms: u64,
    pub(crate) rope: u64,
    pub(crate) kv: u64,
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
        5 => "the residual stream after attention",
        6 => "the residual stream after the last layer",
        7 => "the best tokens",
        8 => "the product of gate and up",
        9 => "the result of attention",
        10 => "what groups add to the residual stream",
        100 => "weights",
        _ => "something unknown",
    };
    let got = format!("thread {thread} of worker {worker}, at place {chunk} of its ring, waited in vain");
    Refusal::with_findings(
        Code::DeviceTimeout,
        vec![Finding::new(waited, "word from every worker in time", got)],
    )
}

#[cfg(test)]
mod tests;
