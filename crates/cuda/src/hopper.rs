//! What prompts and batches share on Hopper: which shapes its kernels take, and how they find the weights.

use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaModule};
use tilewright_backend::KvFormat;
use tilewright_model::{Config, Refusal, WeightFormat};

use crate::device::function;
use crate::gpu::{Gpu, failed};
use crate::raw::launch::allow_shared;
use crate::raw::overlap::{TensorMap, tensor_map};
use crate::weights::Weights;

/// Columns that a copy of the kernels takes: 128 bytes of bf16.
pub(crate) const DEPTH: u32 = 64;
/// Rows of weights that a copy takes.
const BOX_ROWS: u32 = 64;

/// `Chunk` of `native/prefill.cu`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk {
    pub(crate) cache: u64,
    pub(crate) start: u32,
    pub(crate) count: u32,
    pub(crate) room: u32,
    pub(crate) rest: u32,
}

/// Why the kernels cannot take a model on a GPU, or nothing.
pub(crate) fn objection(config: &Config, weights: WeightFormat, kv: KvFormat, gpu: &Gpu) -> Option<String> {
    if gpu.capability != (9, 0) {
        Some("they are made for compute capability 9.0".to_owned())
    } else if matches!(weights, WeightFormat::F32 | WeightFormat::Gguf) || kv != KvFormat::Bf16 {
        // Weights rounded to int8 lie in bf16 for them.
        Some("they want a KV cache in bf16 and no weights in f32 or blocks".to_owned())
    } else if !matches!(config.head_dim, 64 | 128) {
        Some("they want a head_dim of 64 or 128".to_owned())
    } else if config.group() * config.head_dim > 1280 {
        Some("they take up to 1,280 dims of queries a KV head".to_owned())
    } else if !config.hidden.is_multiple_of(8) || !config.intermediate.is_multiple_of(8) {
        Some("they want widths that are multiples of 8".to_owned())
    } else if config.hidden > 16384 {
        Some("they take a hidden size up to 16,384".to_owned())
    } else {
        None
    }
}

/// A map of a matrix `[rows, columns]` whose copies take `box_rows` rows.
pub(crate) fn matrix(address: u64, rows: usize, columns: usize, box_rows: u32) -> Result<TensorMap, Refusal> {
    let strides = [columns as u64 * 2];
    tensor_map(address, [columns as u64, rows as u64], &strides, [DEPTH, box_rows])
        .map_err(|e| failed("the map of a matrix", e))
}

/// A layer's weights as the copy engine finds them.
pub(crate) struct LayerMaps {
    pub(crate) qkv: TensorMap,
    pub(crate) o: TensorMap,
    pub(crate) gate_up: TensorMap,
    /// The same in boxes of 96 rows.
    pub(crate) gate_up_wide: TensorMap,
    /// Gate and up with eight rows of each in turn.
    pub(crate) paired: TensorMap,
    pub(crate) down: TensorMap,
}

/// All weights as the copy engine finds them.
pub(crate) struct WeightMaps {
    pub(crate) layers: Vec<LayerMaps>,
    pub(crate) head: TensorMap,
}

impl WeightMaps {
    pub(crate) fn new(config: &Config, weights: &Weights) -> Result<Self, Refusal> {
        let (h, q, i) = (config.hidden, config.q_width(), config.intermediate);
        let map = |address: u64, rows: usize, columns: usize| matrix(address, rows, columns, BOX_ROWS);
        let row = h as u64 * 2;
        let layers = weights.layers.iter().map(|layer| {
            let dims = [h as u64, 8, 2, i as u64 / 8];
            let strides = [row, row * i as u64, row * 8];
            Ok(LayerMaps {
                qkv: map(layer.qkv.address, q + 2 * config.kv_width(), h)?,
                o: map(layer.o.address, h, q)?,
                gate_up: map(layer.gate_up.address, 2 * i, h)?,
                gate_up_wide: matrix(layer.gate_up.address, 2 * i, h, 96)?,
                paired: tensor_map(layer.gate_up.address, dims, &strides, [DEPTH, 8, 2, 4])
                    .map_err(|e| failed("the map of a matrix", e))?,
                down: map(layer.down.address, h, i)?,
            })
        });
        let layers = layers.collect::<Result<_, Refusal>>()?;
        Ok(Self { layers, head: map(weights.head(), config.vocab, h)? })
    }
}

/// A kernel and how much shared memory it may take.
pub(crate) fn kernel(module: &Arc<CudaModule>, name: &str, shared: u32) -> Result<CudaFunction, Refusal> {
    let function = function(module, name)?;
    if shared > 48 << 10 {
        allow_shared(&function, shared).map_err(|e| failed("shared memory", e))?;
    }
    Ok(function)
}

/// Most rows that read the weights together.
pub(crate) const STREAM_ROWS: usize = 32;

/// The input of a product as the copy engine finds it, for 8, 16 or 32 rows.
pub(crate) type RowMaps = [TensorMap; 3];

/// Which of three sizes takes `rows`.
pub(crate) fn size_of_rows(rows: usize) -> usize {
    match rows {
        0..=8 => 0,
        9..=16 => 1,
        _ => 2,
    }
}

pub(crate) fn row_maps(address: u64, rows: usize, columns: usize) -> Result<RowMaps, Refusal> {
    Ok([
        matrix(address, rows, columns, 8)?,
        matrix(address, rows, columns, 16)?,
        matrix(address, rows, columns, 32)?,
    ])
}
