//! The kernels' texts, with a model's shape as constants in front.

use std::fmt::Write;

use tilewright_backend::KvFormat;
use tilewright_model::Config;

use crate::kv::Layout;
use crate::{persistent, together};

const KV: &str = include_str!("native/kv.cuh");
const PLAIN: &str = include_str!("native/plain.cu");
const PRELUDE: &str = include_str!("native/prelude.cuh");
const WORKER: &str = include_str!("native/worker.cuh");
const ATTEND: &str = include_str!("native/attend.cuh");
const PACK: &str = include_str!("native/pack.cu");
const HOPPER: &str = include_str!("native/hopper.cuh");
const PREFILL: &str = include_str!("native/prefill.cu");
const BROAD: &str = include_str!("native/broad.cu");
const FLASH: &str = include_str!("native/flash.cu");
const BATCH: &str = include_str!("native/batch.cu");
const TOGETHER_LAYOUT: &str = include_str!("native/together.cuh");
const MATES: &str = include_str!("native/mates.cuh");
const TOGETHER: &str = include_str!("native/together.cu");
const DECODE: &str = include_str!("native/decode.cu");
const CEILINGS: &str = include_str!("native/ceilings.cu");
const CEILINGS_HOPPER: &str = include_str!("native/ceilings_hopper.cu");

/// What the bytes of a page of the KV cache are a multiple of, where the GPU says so ([`Gpu::granularity`](crate::Gpu)).
pub type Granularity = Option<u64>;

fn constants(values: &[(&str, usize)], layout: &Layout, eps: f64) -> String {
    let mut text = String::new();
    let cache = [("BLOCK_BYTES", layout.block_bytes()), ("PAGE_BYTES", layout.page_bytes())];
    for (name, value) in values.iter().chain(&cache) {
        let _ = writeln!(text, "#define {name} {value}");
    }
    let _ = writeln!(text, "#define EPS {:e}f", eps as f32);
    text
}

/// The kernels of the plain path. `wide`: weights are in f32, not in bf16. `fragments`: the KV cache lies as the persistent
/// decoder reads it.
pub fn plain(config: &Config, wide: bool, kv: KvFormat, fragments: bool, granularity: Granularity) -> String {
    let constants = constants(
        &[
            ("HIDDEN", config.hidden),
            ("HEADS", config.heads),
            ("KV_HEADS", config.kv_heads),
            ("HEAD_DIM", config.head_dim),
            ("QK_NORM", config.qk_norm.into()),
            ("QKV_BIAS", config.qkv_bias.into()),
            ("WEIGHT_BF16", (!wide).into()),
            ("LAYERS", config.layers),
            ("KV_BF16", (kv == KvFormat::Bf16).into()),
            ("KV_INT8", (kv == KvFormat::Int8).into()),
            ("FRAGMENTS", fragments.into()),
        ],
        &Layout::new(config, kv, granularity),
        config.norm_eps,
    );
    [constants.as_str(), KV, PLAIN].concat()
}

/// The kernels of the persistent decoder, for weights of 8 bits or in bf16.
pub fn persistent(config: &Config, int8: bool, granularity: Granularity) -> String {
    let constants = constants(
        &[
            ("LAYERS", config.layers),
            ("HIDDEN", config.hidden),
            ("HEADS", config.heads),
            ("KV_HEADS", config.kv_heads),
            ("INTER", config.intermediate),
            ("VOCAB", config.vocab),
            ("QK_NORM", config.qk_norm.into()),
            ("INT8", int8.into()),
            ("SLOTS", persistent::slots(config)),
        ],
        &Layout::new(config, KvFormat::Bf16, granularity),
        config.norm_eps,
    );
    [constants.as_str(), KV, PRELUDE, PACK, WORKER, ATTEND, DECODE].concat()
}

/// The kernel of the persistent decoder of up to `rows` sequences, 8, 16 or 32; weights of 8 bits or in bf16.
pub fn together(config: &Config, rows: usize, int8: bool, granularity: Granularity) -> String {
    let constants = constants(
        &[
            ("LAYERS", config.layers),
            ("HIDDEN", config.hidden),
            ("HEADS", config.heads),
            ("KV_HEADS", config.kv_heads),
            ("INTER", config.intermediate),
            ("VOCAB", config.vocab),
            ("INT8", int8.into()),
            ("ROWS", rows),
            ("SLOTS", together::slots(rows)),
            ("HELD_MOST", together::held(rows)),
        ],
        &Layout::new(config, KvFormat::Bf16, granularity),
        config.norm_eps,
    );
    [constants.as_str(), KV, PRELUDE, WORKER, ATTEND, TOGETHER_LAYOUT, MATES, TOGETHER].concat()
}

/// The kernels for prompts and batches on Hopper.
pub fn hopper(config: &Config, granularity: Granularity) -> String {
    let constants = constants(
        &[
            ("HIDDEN", config.hidden),
            ("HEADS", config.heads),
            ("KV_HEADS", config.kv_heads),
            ("HEAD_DIM", config.head_dim),
            ("INTER", config.intermediate),
            ("VOCAB", config.vocab),
            ("QK_NORM", config.qk_norm.into()),
            ("QKV_BIAS", config.qkv_bias.into()),
        ],
        &Layout::new(config, KvFormat::Bf16, granularity),
        config.norm_eps,
    );
    [constants.as_str(), KV, HOPPER, PREFILL, BROAD, FLASH, BATCH].concat()
}

/// The kernels that measure what a GPU can do at most, with Hopper's matrix units or without.
pub fn ceilings(wgmma: bool) -> String {
    if wgmma { [HOPPER, CEILINGS, CEILINGS_HOPPER].concat() } else { CEILINGS.to_owned() }
}
