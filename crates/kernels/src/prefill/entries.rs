//! What this folder puts into the catalogue.

use tilewright_tile::Scalar;

use super::batched::MAX_ROWS;
use super::chunked::{Attention, ChunkedPrefill, Options};
use super::matmul::{Depth, Product, matmul, tensor_matmul};
use super::rotate::{CacheWrite, rotate};
use super::tiers::{self, Role};
use super::{Batch, Chunk, Path, Tier, batched, rows};
use crate::catalogue::{Entry, PipelineEntry, Variant};
use crate::format::Format;
use crate::layout::Tensor;
use crate::parts::{Arithmetic, Exponential};
use crate::shape::Shape;

/// Rows of a chunk in the catalogue: the size chosen for long documents (G81), or what the cache holds.
pub(crate) const fn chunk_rows(shape: &Shape) -> u32 {
    if shape.capacity < 512 { shape.capacity } else { 512 }
}

/// A chunk of the catalogue.
pub(crate) const fn chunk(shape: &Shape, storage: Scalar) -> Chunk {
    Chunk::new(chunk_rows(shape), storage)
}

/// Rows of a run of the batched prefill in the catalogue.
const fn batch_rows(shape: &Shape) -> u32 {
    if shape.capacity < MAX_ROWS { shape.capacity } else { MAX_ROWS }
}

/// Widths that the four-wide accesses of rows and projections divide.
const fn fits(shape: &Shape) -> bool {
    shape.hidden.is_multiple_of(4) && shape.intermediate.is_multiple_of(4) && shape.head_dim.is_multiple_of(4)
}

/// A variant for each storage: `|shape, chunk| KERNEL`.
macro_rules! storages {
    ($build:expr) => {
        &[
            Variant { name: "f32", build: |shape| $build(shape, &chunk(shape, Scalar::F32)) },
            Variant { name: "f16", build: |shape| $build(shape, &chunk(shape, Scalar::F16)) },
            Variant { name: "bf16", build: |shape| $build(shape, &chunk(shape, Scalar::Bf16)) },
        ]
    };
}
pub(crate) use storages;

/// A norm in each storage, and the other arithmetic in f32.
macro_rules! norms {
    ($build:path) => {
        &[
            Variant { name: "f32", build: |s| $build(s, &chunk(s, Scalar::F32), Arithmetic::Fused) },
            Variant { name: "f16", build: |s| $build(s, &chunk(s, Scalar::F16), Arithmetic::Fused) },
            Variant { name: "bf16", build: |s| $build(s, &chunk(s, Scalar::Bf16), Arithmetic::Fused) },
            Variant {
                name: "f32_separate",
                build: |s| $build(s, &chunk(s, Scalar::F32), Arithmetic::Separate),
            },
        ]
    };
}

/// The projections of a layer at a depth.
macro_rules! projections {
    ($depth:ident: $($name:literal => $role:literal $tensor:ident $storage:ident),* $(,)?) => {
        &[$(Variant {
            name: $name,
            build: |shape| {
                let [columns, inner] = Tensor::$tensor.extents(shape);
                let product = Product { rows: chunk_rows(shape), columns, inner, storage: Scalar::$storage };
                matmul($role, &product, Depth::$depth)
            },
        }),*]
    };
}

/// The same on tensor operations.
macro_rules! tensor_projections {
    ($($name:literal => $role:literal $tensor:ident $storage:ident),* $(,)?) => {
        &[$(Variant {
            name: $name,
            build: |shape| {
                let [columns, inner] = Tensor::$tensor.extents(shape);
                let product = Product { rows: chunk_rows(shape), columns, inner, storage: Scalar::$storage };
                tensor_matmul($role, &product)
            },
        }),*]
    };
}

/// The products of a tier: `NAME => ROLE`.
macro_rules! products {
    ($tier:ident: $($name:literal => $role:ident),* $(,)?) => {
        &[$(Variant {
            name: $name,
            build: |shape| tiers::$tier(&tiers::Product::new(shape, Role::$role, batch_rows(shape), Format::INT8)),
        }),*]
    };
    ($tier:ident) => {
        products!($tier: "qkv" => Qkv, "accumulate_output" => Output, "swiglu" => GateUp, "accumulate_down" => Down)
    };
}

/// A product of each tier, in one role, with matrices in another format.
macro_rules! other_products {
    ($format:ident) => {
        other_products!($format:
            "original_qkv" => original Qkv,
            "bm64_qkv" => bm64 Qkv,
            "vecload4_accumulate_output" => vecload4 Output,
            "msl_swiglu" => msl GateUp,
            "splitk_accumulate_down" => splitk Down,
            "tensor_qkv" => tensor Qkv,
        )
    };
    (readers $format:ident) => {
        other_products!($format:
            "original_qkv" => original Qkv,
            "msl_swiglu" => msl GateUp,
            "splitk_accumulate_down" => splitk Down,
        )
    };
    ($format:ident: $($name:literal => $tier:ident $role:ident),* $(,)?) => {
        &[$(Variant {
            name: $name,
            build: |shape| {
                let format = Format::$format;
                tiers::$tier(&tiers::Product::new(shape, Role::$role, batch_rows(shape), format))
            },
        }),*]
    };
}

/// Kernels of this folder.
pub const ENTRIES: &[Entry] = &[
    Entry {
        name: "prefill_embed",
        summary: "The embedding rows of a chunk's tokens, zero in padding.",
        items: &["D46"],
        fits,
        variants: &[
            Variant { name: "f32_f32", build: |s| rows::embed(s, &chunk(s, Scalar::F32), Format::F32) },
            Variant { name: "f16_f16", build: |s| rows::embed(s, &chunk(s, Scalar::F16), Format::F16) },
            Variant { name: "bf16_bf16", build: |s| rows::embed(s, &chunk(s, Scalar::Bf16), Format::BF16) },
            Variant { name: "int8_f32", build: |s| rows::embed(s, &chunk(s, Scalar::F32), Format::INT8) },
            Variant { name: "q8_0_f32", build: |s| rows::embed(s, &chunk(s, Scalar::F32), Format::Q8_0) },
            Variant { name: "q4_0_f32", build: |s| rows::embed(s, &chunk(s, Scalar::F32), Format::Q4_0) },
            Variant { name: "q4_k_f32", build: |s| rows::embed(s, &chunk(s, Scalar::F32), Format::Q4_K) },
            Variant { name: "q6_k_f32", build: |s| rows::embed(s, &chunk(s, Scalar::F32), Format::Q6_K) },
        ],
    },
    Entry {
        name: "prefill_norm",
        summary: "RMSNorm of each row of a chunk.",
        items: &["D45", "D53", "E71"],
        fits,
        variants: norms!(rows::rms_norm),
    },
    Entry {
        name: "prefill_last_norm",
        summary: "RMSNorm of the last row that holds a token.",
        items: &["D47"],
        fits,
        variants: norms!(rows::last_norm),
    },
    Entry {
        name: "prefill_matmul_32",
        summary: "Projection of a chunk's rows by a transposed matrix in tiles of 64 x 64 x 32.",
        items: &["D43", "D44"],
        fits,
        variants: projections!(D32:
            "qkv_f32" => "qkv" Qkv F32,
            "output_f32" => "output" Output F32,
            "gate_up_f32" => "gate_up" GateUp F32,
            "down_f32" => "down" Down F32,
            "qkv_f16" => "qkv" Qkv F16,
            "qkv_bf16" => "qkv" Qkv Bf16,
        ),
    },
    Entry {
        name: "prefill_matmul_64",
        summary: "Projection of a chunk's rows by a transposed matrix in tiles of 64 x 64 x 64.",
        items: &["D44", "E70"],
        fits,
        variants: projections!(D64:
            "qkv_f32" => "qkv" Qkv F32,
            "output_f32" => "output" Output F32,
            "gate_up_f32" => "gate_up" GateUp F32,
            "down_f32" => "down" Down F32,
            "qkv_f16" => "qkv" Qkv F16,
            "qkv_bf16" => "qkv" Qkv Bf16,
        ),
    },
    Entry {
        name: "prefill_tensor_matmul",
        summary: "Projection of a chunk's rows by a transposed matrix in tiles of 64 x 64 x 64, on tensor operations.",
        items: &["D44", "E70"],
        fits,
        variants: tensor_projections!(
            "qkv_f32" => "qkv" Qkv F32,
            "output_f32" => "output" Output F32,
            "gate_up_f32" => "gate_up" GateUp F32,
            "down_f32" => "down" Down F32,
            "qkv_f16" => "qkv" Qkv F16,
            "qkv_bf16" => "qkv" Qkv Bf16,
        ),
    },
    Entry {
        name: "prefill_heads",
        summary: "Bias, per-head norm and rotation of a chunk, and its entries of the cache.",
        items: &["D45", "D46", "E71"],
        fits,
        variants: &[
            Variant { name: "f32", build: |s| heads(s, Scalar::F32, Scalar::F32, Arithmetic::Fused) },
            Variant { name: "f16", build: |s| heads(s, Scalar::F16, Scalar::F16, Arithmetic::Fused) },
            Variant { name: "bf16", build: |s| heads(s, Scalar::Bf16, Scalar::Bf16, Arithmetic::Fused) },
            Variant {
                name: "f32_separate",
                build: |s| heads(s, Scalar::F32, Scalar::F32, Arithmetic::Separate),
            },
            Variant {
                name: "f32_cache_f16_separate",
                build: |s| heads(s, Scalar::F32, Scalar::F16, Arithmetic::Separate),
            },
            Variant {
                name: "f32_mirrored_separate",
                build: |s| rotate(s, &chunk(s, Scalar::F32), Arithmetic::Separate, CacheWrite::Mirrored),
            },
        ],
    },
    Entry {
        name: "prefill_residual",
        summary: "The residual stream of a chunk plus a projection.",
        items: &["D45"],
        fits,
        variants: storages!(rows::residual),
    },
    Entry {
        name: "prefill_swiglu",
        summary: "SwiGLU of the gate and up projections of a chunk.",
        items: &["D45", "E71"],
        fits,
        variants: &[
            Variant { name: "f32", build: |s| rows::swiglu(s, &chunk(s, Scalar::F32), Exponential::Precise) },
            Variant {
                name: "f32_fast",
                build: |s| rows::swiglu(s, &chunk(s, Scalar::F32), Exponential::Fast),
            },
            Variant {
                name: "f16_fast",
                build: |s| rows::swiglu(s, &chunk(s, Scalar::F16), Exponential::Fast),
            },
            Variant {
                name: "bf16_fast",
                build: |s| rows::swiglu(s, &chunk(s, Scalar::Bf16), Exponential::Fast),
            },
        ],
    },
    Entry {
        name: "prefill_last_row",
        summary: "The last row of a chunk that holds a token.",
        items: &["D47"],
        fits,
        variants: storages!(rows::last_row),
    },
    Entry {
        name: "int8_matmul_original",
        summary: "Product of a chunk's rows with an 8-bit matrix in tiles of 32 x 32 x 32.",
        items: &[],
        fits,
        variants: products!(original),
    },
    Entry {
        name: "int8_matmul_bm64",
        summary: "Product of a chunk's rows with an 8-bit matrix in tiles of 64 x 32 x 32.",
        items: &[],
        fits,
        variants: products!(bm64: "qkv" => Qkv),
    },
    Entry {
        name: "int8_matmul_vecload4",
        summary: "Product of a chunk's rows with an 8-bit matrix in tiles of 64 x 64 x 32, four elements a load.",
        items: &[],
        fits,
        variants: products!(vecload4),
    },
    Entry {
        name: "int8_matmul_msl",
        summary: "Product of a chunk's rows with an 8-bit matrix in tiles of 64 x 64 x 16, two buffers.",
        items: &[],
        fits,
        variants: products!(msl),
    },
    Entry {
        name: "int8_matmul_splitk",
        summary: "Product of a chunk's rows with an 8-bit matrix, the inner index split among SIMD groups.",
        items: &[],
        fits,
        variants: products!(splitk),
    },
    Entry {
        name: "int8_matmul_tensor",
        summary: "Product of a chunk's rows with an 8-bit matrix in tiles of 64 x 64 x 64, on tensor operations.",
        items: &["E70"],
        fits,
        variants: products!(tensor),
    },
    Entry {
        name: "f32_matmul",
        summary: "Products of a chunk's rows with f32 matrices, one of each tier.",
        items: &[],
        fits,
        variants: other_products!(F32),
    },
    Entry {
        name: "f16_matmul",
        summary: "Products of a chunk's rows with f16 matrices, one of each tier.",
        items: &[],
        fits,
        variants: other_products!(F16),
    },
    Entry {
        name: "pairs_matmul",
        summary: "Products of a chunk's rows with lossless packed matrices, one of each tier.",
        items: &[],
        fits,
        variants: other_products!(PAIRS),
    },
    Entry {
        name: "int4_matmul",
        summary: "Products of a chunk's rows with 4-bit matrices, one of each tier.",
        items: &[],
        fits,
        variants: other_products!(INT4),
    },
    Entry {
        name: "q8_0_matmul",
        summary: "Products of a chunk's rows with Q8_0 matrices, one of each reader.",
        items: &[],
        fits,
        variants: other_products!(readers Q8_0),
    },
    Entry {
        name: "q4_0_matmul",
        summary: "Products of a chunk's rows with Q4_0 matrices, one of each reader.",
        items: &[],
        fits,
        variants: other_products!(readers Q4_0),
    },
    Entry {
        name: "q4_k_matmul",
        summary: "Products of a chunk's rows with Q4_K matrices, one of each reader.",
        items: &[],
        fits,
        variants: other_products!(readers Q4_K),
    },
    Entry {
        name: "q6_k_matmul",
        summary: "Products of a chunk's rows with Q6_K matrices, one of each reader.",
        items: &[],
        fits,
        variants: other_products!(readers Q6_K),
    },
    Entry {
        name: "q4_k_matmul_msl_qkv",
        summary: "Products with the matrix of queries and keys where values are stored in another format.",
        items: &[],
        fits,
        variants: &[Variant {
            name: "qk",
            build: |shape| {
                let columns = 0..shape.q_width() + shape.kv_width();
                tiers::msl(&tiers::Product::of_qkv(shape, columns, batch_rows(shape), Format::Q4_K))
            },
        }],
    },
    Entry {
        name: "q6_k_matmul_msl_qkv",
        summary: "Products with the matrix of values where queries and keys are stored in another format.",
        items: &[],
        fits,
        variants: &[Variant {
            name: "v",
            build: |shape| {
                let columns = shape.q_width() + shape.kv_width()..shape.qkv_width();
                tiers::msl(&tiers::Product::of_qkv(shape, columns, batch_rows(shape), Format::Q6_K))
            },
        }],
    },
];

fn heads(
    shape: &Shape,
    activations: Scalar,
    cache: Scalar,
    arithmetic: Arithmetic,
) -> tilewright_tile::Kernel {
    let chunk = Chunk { cache, ..chunk(shape, activations) };
    rotate(shape, &chunk, arithmetic, CacheWrite::One)
}

/// A chunk that others follow, or the last one.
macro_rules! chunks {
    ($name:literal, $summary:literal, $items:expr, $options:expr, $last:literal) => {
        PipelineEntry {
            name: $name,
            summary: $summary,
            items: $items,
            fits: matrix_fits,
            build: |shape| Ok(ChunkedPrefill::verified(shape, &$options(shape))?.chunk($last)),
        }
    };
}

/// A run of the batched prefill.
macro_rules! batches {
    ($name:literal, $path:ident, $tier:ident) => {
        PipelineEntry {
            name: $name,
            summary: "A run of up to 2,048 tokens to logits, 8-bit weights.",
            items: &[],
            fits: |shape| fits(shape) && Path::$path.fits(shape),
            build: |shape| batched(shape, &Batch::int8(batch_rows(shape), Path::$path, Tier::$tier)),
        }
    };
}

/// Heads that fragments divide.
const fn matrix_fits(shape: &Shape) -> bool {
    fits(shape) && shape.head_dim.is_multiple_of(8)
}

const fn by_lanes(shape: &Shape) -> Options {
    Options::by_lanes(chunk(shape, Scalar::F32))
}

const fn by_matrices(shape: &Shape) -> Options {
    Options::by_matrices(chunk(shape, Scalar::F32))
}

/// Pipelines of this folder.
pub const PIPELINES: &[PipelineEntry] = &[
    chunks!(
        "prefill_query_tiled_32_f32_chunk",
        "A chunk into the cache, attention by lanes, f32.",
        &["D45", "D49", "D51"],
        by_lanes,
        false
    ),
    chunks!(
        "prefill_query_tiled_32_f32_last_chunk",
        "The last chunk of a prompt, attention by lanes, f32.",
        &["D45", "D49", "D51"],
        by_lanes,
        true
    ),
    chunks!(
        "prefill_matrix_direct_64_f32_chunk",
        "A chunk into the cache, attention by matrices, f32.",
        &["D45", "D49", "E58", "E70", "E71"],
        by_matrices,
        false
    ),
    chunks!(
        "prefill_matrix_direct_64_f32_last_chunk",
        "The last chunk of a prompt, attention by matrices, f32.",
        &["D45", "D49", "E58", "E70", "E71"],
        by_matrices,
        true
    ),
    chunks!(
        "prefill_matrix_direct_tensor_f32_chunk",
        "A chunk into the cache, attention by matrices, projections on tensor operations, f32.",
        &["D45", "D49", "E58", "E70", "E71"],
        |shape| by_matrices(shape).on_tensor_operations(),
        false
    ),
    chunks!(
        "prefill_matrix_direct_tensor_f32_last_chunk",
        "The last chunk of a prompt, attention by matrices, projections on tensor operations, f32.",
        &["D45", "D49", "E58", "E70", "E71"],
        |shape| by_matrices(shape).on_tensor_operations(),
        true
    ),
    chunks!(
        "prefill_matrix_reused_64_f32_last_chunk",
        "The last chunk of a prompt, attention by matrices with 19 KiB, f32.",
        &["E65"],
        |shape| by_matrices(shape).attention(Attention::MatrixReused),
        true
    ),
    chunks!(
        "prefill_matrix_separate_64_f32_last_chunk",
        "The last chunk of a prompt, attention by matrices with 27 KiB, f32.",
        &["E65"],
        |shape| by_matrices(shape).attention(Attention::MatrixSeparate),
        true
    ),
    chunks!(
        "prefill_matrix_direct_64_f16_last_chunk",
        "The last chunk of a prompt, attention by matrices, f16.",
        &["D45"],
        |shape| Options::by_matrices(chunk(shape, Scalar::F16)),
        true
    ),
    chunks!(
        "prefill_matrix_direct_64_bf16_last_chunk",
        "The last chunk of a prompt, attention by matrices, bf16.",
        &["D45"],
        |shape| Options::by_matrices(chunk(shape, Scalar::Bf16)),
        true
    ),
    PipelineEntry {
        name: "prefill_logits_f32",
        summary: "From the residual stream of the last chunk to logits, f32.",
        items: &["D47", "D49"],
        fits,
        build: |shape| ChunkedPrefill::verified(shape, &by_lanes(shape))?.logits(),
    },
    batches!("int8_prefill_off_original", Off, Original),
    batches!("int8_prefill_grouped_mirror_original", GroupedMirror, Original),
    batches!("int8_prefill_grouped_original", Grouped, Original),
    batches!("int8_prefill_parametric_original", ParametricNativeDecode, Original),
    batches!("int8_prefill_grouped_bm64", Grouped, Bm64),
    batches!("int8_prefill_grouped_vecload4", Grouped, Vecload4),
    batches!("int8_prefill_grouped_msl", Grouped, Msl),
    batches!("int8_prefill_grouped_splitk", Grouped, SplitK),
    batches!("int8_prefill_grouped_tensor", Grouped, Tensor),
];
