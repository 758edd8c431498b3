//! Bytes of a model on the GPU.

use tilewright_backend::KvFormat;
use tilewright_kernels::layout::Slot;
use tilewright_kernels::{Formats, ModelPack, Shape};
use tilewright_model::{Config, WeightFormat};

use crate::held::{Held, Paths};
use crate::hopper::STREAM_ROWS;
use crate::persistent::Tape;

/// Bytes of weights.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sizes {
    /// All that is held.
    pub(super) weights: u64,
    /// Read for a token of a single sequence.
    pub(super) per_token: u64,
}

impl Sizes {
    /// Of a model in `weights` where `paths` serve; `formats` are those of its planes.
    pub(super) fn of(config: &Config, weights: WeightFormat, paths: Paths, formats: &Formats) -> Self {
        let held = Held::of(config, weights, paths);
        let rows = held.numbers.map(|of| Self::by_rows(config, of.bytes())).unwrap_or_default();
        let planes = if held.planes { Self::in_planes(config, formats) } else { Self::default() };
        let int8 = weights == WeightFormat::Int8;
        let tape = if paths.persistent { Tape::new(config, int8).bytes() as u64 } else { 0 };
        let per_token = match (held.planes, paths.persistent && int8) {
            (true, _) => planes.per_token,
            // Eight bits are read as such, with a bf16 scale for 128 of them.
            (false, true) => rows.per_token - matrices(config) + matrices(config) / 64,
            (false, false) => rows.per_token,
        };
        Self { weights: rows.weights + planes.weights + tape, per_token }
    }

    fn by_rows(config: &Config, element: usize) -> Self {
        let (q, kv_width, h) = (config.q_width(), config.kv_width(), config.hidden);
        let vectors = 2 * h
            + if config.qk_norm { 2 * config.head_dim } else { 0 }
            + if config.qkv_bias { q + 2 * kv_width } else { 0 };
        let vectors = (config.layers * 4 * vectors + 4 * h) as u64;
        let per_token = matrices(config) * element as u64 + vectors;
        let embedding = if config.tied { 0 } else { config.vocab * h * element };
        Self { weights: per_token + embedding as u64, per_token }
    }

    fn in_planes(config: &Config, formats: &Formats) -> Self {
        let shape = Shape::new(config, 512);
        let matrix = |format| Slot::of_matrix([shape.vocab, shape.hidden], format).end();
        let last_norm = 4 * config.hidden as u64;
        let per_token = ModelPack::new(&shape, formats).bytes() + last_norm + matrix(formats.head());
        let embedding = if config.tied { 0 } else { matrix(formats.embedding()) };
        Self { weights: per_token + embedding, per_token }
    }
}

/// Weights that a token reads: those of every layer and the head.
fn matrices(config: &Config) -> u64 {
    let (q, kv_width, h) = (config.q_width(), config.kv_width(), config.hidden);
    let layer = (2 * q + 2 * kv_width + 3 * config.intermediate) * h;
    (config.layers * layer + config.vocab * h) as u64
}

/// Bytes of a position's keys and values.
pub(super) fn kv_bytes(config: &Config, kv: KvFormat) -> u64 {
    (2 * config.layers * config.kv_heads * kv.head_bytes(config.head_dim)) as u64
}

/// At most what grows with the longest sequence beside its cache: a prompt's keys and values of a layer, partial results of
/// attention for every row of a batch, RoPE's table. Twice, since the old lies beside the new while it grows.
pub(crate) fn shared_bytes(config: &Config, positions: usize) -> u64 {
    let prompt = 2 * config.kv_heads * positions.next_multiple_of(128) * config.head_dim * 2;
    // An item of attention has at least 256 positions.
    let items = positions / 256 + 2;
    let parts = STREAM_ROWS * config.kv_heads * items * config.group() * (config.head_dim + 2) * 4;
    let rope = positions * config.head_dim * 4;
    2 * (prompt + 2 * parts + rope) as u64
}
