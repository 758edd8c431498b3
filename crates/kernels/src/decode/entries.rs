//! What this folder puts into the catalogue.

use tilewright_tile::Scalar;

use crate::catalogue::{Entry, PipelineEntry, Variant, any_shape};
use crate::format::Format;
use crate::parts::Arithmetic;
use crate::shape::Shape;

use super::rotary::Trigonometry;
use super::{
    Attention, Goal, Layout, Options, attention, heads, megakernel, overlap, products, rotary, rows,
    sampling, select, staged,
};

/// Parts of [`Attention::SplitKeys`] in the catalogue.
const PARTS: u32 = 8;

/// Variants of a builder: `NAME => OPTIONS`.
macro_rules! variants {
    ($build:path: $($name:literal => $options:expr),* $(,)?) => {
        &[$(Variant { name: $name, build: |shape| $build(shape, &$options) }),*]
    };
}

/// Variants of a product: every format, and batches.
macro_rules! products {
    ($build:path) => {
        variants!($build:
            "f32" => Options::F32,
            "f16" => Options::F16,
            "bf16" => Options::BF16,
            "pairs" => Options::PAIRS,
            "int8" => Options::INT8,
            "int4" => Options::INT4,
            "bf16_f32" => Options::of(Format::BF16, Scalar::F32),
            "int8_f16" => Options::of(Format::INT8, Scalar::F16),
            "f32_batch2" => Options::F32.sequences(2),
            "pairs_batch4" => Options::PAIRS.sequences(4),
            "int8_batch8" => Options::INT8.sequences(8),
            "int4_batch8" => Options::INT4.sequences(8),
            "int8_batch32" => Options::INT8.sequences(32),
            "q8_0" => Options::Q8_0,
            "q4_0" => Options::Q4_0,
            "q4_k" => Options::Q4_K,
            "q6_k" => Options::Q6_K,
            "q4_k_batch8" => Options::Q4_K.sequences(8),
        )
    };
}

/// Variants of a product that reads ahead: every format.
macro_rules! ahead {
    ($build:path) => {
        variants!($build:
            "f32" => Options::F32,
            "pairs" => Options::PAIRS,
            "int8" => Options::INT8,
            "int4" => Options::INT4,
        )
    };
}

/// Variants of attention: every type, an f16 cache beside f32 vectors, and batches.
macro_rules! attentions {
    ($build:path) => {
        variants!($build:
            "f32" => Options::F32,
            "f16" => Options::F16,
            "bf16" => Options::BF16,
            "f32_cache_f16" => Options::F32.cache(Scalar::F16),
            "f32_batch4" => Options::F32.sequences(4),
            "f32_cache_f16_batch8" => Options::F32.cache(Scalar::F16).sequences(8),
        )
    };
}

/// Whether a cache of fragments is possible.
const FRAGMENTS: fn(&Shape) -> bool = |shape| overlap::lies(shape, Layout::Fragments, Scalar::Bf16);

/// Kernels of this folder.
pub const ENTRIES: &[Entry] = &[
    Entry {
        name: "decode_embed",
        summary: "The embedding rows of the tokens.",
        items: &["B9", "C21"],
        fits: any_shape,
        variants: variants!(rows::embed:
            "f32" => Options::F32,
            "f16" => Options::F16,
            "bf16" => Options::BF16,
            "pairs" => Options::PAIRS,
            "int8" => Options::INT8,
            "int4" => Options::INT4,
            "int8_batch8" => Options::INT8.sequences(8),
            "q8_0" => Options::Q8_0,
            "q4_0" => Options::Q4_0,
            "q4_k" => Options::Q4_K,
            "q6_k" => Options::Q6_K,
        ),
    },
    Entry {
        name: "decode_norm",
        summary: "RMSNorm of the residual stream, four neighbours a lane, then lanes, then SIMD groups.",
        items: &["C20", "C21", "D53", "E71"],
        fits: any_shape,
        variants: variants!(rows::norm:
            "f32" => Options::F32,
            "f16" => Options::F16,
            "bf16" => Options::BF16,
            "f32_weights_bf16" => Options::PAIRS,
            "f32_separate" => Options::F32.arithmetic(Arithmetic::Separate),
            "f32_batch4" => Options::F32.sequences(4),
        ),
    },
    Entry {
        name: "decode_qkv",
        summary: "Query, key and value projections, one SIMD group an output row.",
        items: &["C18", "C21", "F76", "F77"],
        fits: any_shape,
        variants: products!(products::qkv),
    },
    Entry {
        name: "decode_qkv_q4_k",
        summary: "Query and key projections where values are stored in another format.",
        items: &[],
        fits: any_shape,
        variants: &[Variant {
            name: "qk",
            build: |shape| products::qkv_rows(shape, &Options::Q4_K, 0..shape.q_width() + shape.kv_width()),
        }],
    },
    Entry {
        name: "decode_qkv_q6_k",
        summary: "Value projections where queries and keys are stored in another format.",
        items: &[],
        fits: any_shape,
        variants: &[Variant {
            name: "v",
            build: |shape| {
                let values = shape.q_width() + shape.kv_width()..shape.qkv_width();
                products::qkv_rows(shape, &Options::Q6_K, values)
            },
        }],
    },
    Entry {
        name: "decode_heads",
        summary: "Per-head norm and rotation of queries and keys, and the new entries of the cache.",
        items: &["C20", "C21", "E71"],
        fits: any_shape,
        variants: variants!(heads::heads:
            "f32" => Options::F32,
            "f16" => Options::F16,
            "bf16" => Options::BF16,
            "f32_cache_f16" => Options::F32.cache(Scalar::F16),
            "f32_separate" => Options::F32.arithmetic(Arithmetic::Separate),
            "f32_batch4" => Options::F32.sequences(4),
        ),
    },
    Entry {
        name: "decode_attention",
        summary: "Attention of one token, a SIMD group a head, one key after another.",
        items: &["C20", "C21"],
        fits: any_shape,
        variants: attentions!(attention::simd_per_head),
    },
    Entry {
        name: "decode_attention_key_parallel",
        summary: "Attention of one token, a threadgroup a head, keys spread over its SIMD groups.",
        items: &["C20", "D52"],
        fits: any_shape,
        variants: attentions!(attention::key_parallel),
    },
    Entry {
        name: "decode_attention_split",
        summary: "Attention of one token over stretches of keys, several threadgroups a head.",
        items: &["D52"],
        fits: any_shape,
        variants: &[
            Variant { name: "f32_parts8", build: |shape| attention::split_keys(shape, &Options::F32, PARTS) },
            Variant { name: "f16_parts8", build: |shape| attention::split_keys(shape, &Options::F16, PARTS) },
            Variant {
                name: "f32_cache_f16_parts8",
                build: |shape| attention::split_keys(shape, &Options::F32.cache(Scalar::F16), PARTS),
            },
        ],
    },
    Entry {
        name: "decode_attention_merge",
        summary: "Merges the stretches of keys of split attention.",
        items: &["D52"],
        fits: any_shape,
        variants: &[
            Variant {
                name: "f32_parts8",
                build: |shape| attention::merge_parts(shape, &Options::F32, PARTS),
            },
            Variant {
                name: "f16_parts8",
                build: |shape| attention::merge_parts(shape, &Options::F16, PARTS),
            },
        ],
    },
    Entry {
        name: "decode_output",
        summary: "Output projection of attention, added to the residual stream.",
        items: &["C18", "C21", "F76", "F77"],
        fits: any_shape,
        variants: products!(products::output),
    },
    Entry {
        name: "decode_gate_up",
        summary: "Gate and up projections and SwiGLU, one SIMD group an output row.",
        items: &["C18", "C21", "F76", "F77"],
        fits: any_shape,
        variants: products!(products::gate_up),
    },
    Entry {
        name: "decode_down",
        summary: "Down projection, added to the residual stream.",
        items: &["C18", "C21", "F76", "F77"],
        fits: any_shape,
        variants: products!(products::down),
    },
    Entry {
        name: "decode_vocabulary",
        summary: "Logits: the head's rows, one SIMD group each.",
        items: &["C18", "C19", "F77"],
        fits: any_shape,
        variants: products!(products::vocabulary),
    },
    Entry {
        name: "decode_argmax_chunks",
        summary: "The largest logit of each chunk and its lowest id.",
        items: &["C24"],
        fits: any_shape,
        variants: &[
            Variant { name: "f32", build: |shape| select::argmax_chunks(shape, 1, Scalar::F32) },
            Variant { name: "f16", build: |shape| select::argmax_chunks(shape, 1, Scalar::F16) },
            Variant { name: "f32_batch8", build: |shape| select::argmax_chunks(shape, 8, Scalar::F32) },
        ],
    },
    Entry {
        name: "decode_argmax",
        summary: "The largest of the chunks' logits: the next token.",
        items: &["C24"],
        fits: any_shape,
        variants: &[
            Variant { name: "", build: |shape| select::argmax(shape, 1) },
            Variant { name: "batch8", build: |shape| select::argmax(shape, 8) },
        ],
    },
    Entry {
        name: "decode_top_chunks",
        summary: "The largest logits of each chunk, in order.",
        items: &[],
        fits: any_shape,
        variants: &[
            Variant { name: "f32_best40", build: |shape| sampling::top_chunks(shape, 1, Scalar::F32, 40) },
            Variant { name: "f16_best40", build: |shape| sampling::top_chunks(shape, 1, Scalar::F16, 40) },
            Variant {
                name: "f32_best20_batch8",
                build: |shape| sampling::top_chunks(shape, 8, Scalar::F32, 20),
            },
        ],
    },
    Entry {
        name: "decode_top",
        summary: "The largest of the chunks' logits, in order.",
        items: &[],
        fits: any_shape,
        variants: &[
            Variant { name: "best40", build: |shape| sampling::top(shape, 1, 40) },
            Variant { name: "best20_batch8", build: |shape| sampling::top(shape, 8, 20) },
        ],
    },
    Entry {
        name: "decode_masked_softmax",
        summary: "Probabilities at a temperature of the ids a mask allows.",
        items: &[],
        fits: any_shape,
        variants: &[
            Variant { name: "f32", build: |shape| sampling::masked_softmax(shape, 1, Scalar::F32) },
            Variant { name: "f32_batch8", build: |shape| sampling::masked_softmax(shape, 8, Scalar::F32) },
        ],
    },
    Entry {
        name: "decode_megakernel",
        summary: "Token id to logits in one launch of one threadgroup, with a loop over the layers.",
        items: &["A1", "A8", "B13", "B14", "B15", "B16", "B17"],
        fits: megakernel::fits,
        variants: &[
            Variant { name: "f32", build: |shape| megakernel(shape, Scalar::F32) },
            Variant { name: "f16", build: |shape| megakernel(shape, Scalar::F16) },
            Variant { name: "bf16", build: |shape| megakernel(shape, Scalar::Bf16) },
        ],
    },
    Entry {
        name: "overlap_qkv",
        summary: "Norm and projection of queries, keys and values, weights read ahead of the launch before.",
        items: &[],
        fits: overlap::fits,
        variants: ahead!(overlap::qkv),
    },
    Entry {
        name: "overlap_attention",
        summary: "A token's heads: norm, rotation, attention, old keys and values read ahead.",
        items: &[],
        fits: any_shape,
        variants: variants!(overlap::attention:
            "f32" => Options::F32,
            "pairs" => Options::PAIRS,
            "pairs_cache_bf16" => Options::PAIRS.cache(Scalar::Bf16),
            "pairs_cache_bf16_vectors_f32" => Options::PAIRS.cache(Scalar::Bf16).vectors(Scalar::F32),
            "int8_cache_bf16" => Options::INT8.cache(Scalar::Bf16),
            "f32_cache_i8" => Options::F32.cache(Scalar::I8),
            "pairs_cache_i8_vectors_f32" => Options::PAIRS.cache(Scalar::I8).vectors(Scalar::F32),
        ),
    },
    Entry {
        name: "overlap_attention_fragments",
        summary: "The same over a cache of fragments.",
        items: &[],
        fits: FRAGMENTS,
        variants: variants!(overlap::attention:
            "pairs_cache_bf16_vectors_f32" =>
                Options::PAIRS.cache(Scalar::Bf16).vectors(Scalar::F32).layout(Layout::Fragments),
        ),
    },
    Entry {
        name: "overlap_append",
        summary: "A token's keys and values to the cache.",
        items: &[],
        fits: any_shape,
        variants: variants!(overlap::append:
            "f32" => Options::F32,
            "f32_cache_bf16" => Options::F32.cache(Scalar::Bf16),
            "f32_cache_i8" => Options::F32.cache(Scalar::I8),
        ),
    },
    Entry {
        name: "overlap_append_fragments",
        summary: "The same to a cache of fragments.",
        items: &[],
        fits: FRAGMENTS,
        variants: variants!(overlap::append:
            "f32_cache_bf16" => Options::F32.cache(Scalar::Bf16).layout(Layout::Fragments),
        ),
    },
    Entry {
        name: "overlap_output",
        summary: "Output projection on the residual stream, weights read ahead of the launch before.",
        items: &[],
        fits: any_shape,
        variants: ahead!(overlap::output),
    },
    Entry {
        name: "overlap_gate_up",
        summary: "Norm, gate and up projections and SwiGLU, weights read ahead of the launch before.",
        items: &[],
        fits: overlap::fits,
        variants: ahead!(overlap::gate_up),
    },
    Entry {
        name: "overlap_down",
        summary: "Down projection on the residual stream, weights read ahead of the launch before.",
        items: &[],
        fits: any_shape,
        variants: ahead!(overlap::down),
    },
    Entry {
        name: "overlap_vocabulary",
        summary: "Final norm and vocabulary, weights read ahead of the launch before.",
        items: &[],
        fits: overlap::fits,
        variants: ahead!(overlap::vocabulary),
    },
    Entry {
        name: "overlap_candidates",
        summary: "The best of each chunk of logits.",
        items: &[],
        fits: any_shape,
        variants: &[Variant { name: "", build: overlap::candidates }],
    },
    Entry {
        name: "overlap_choose",
        summary: "The id of the best of the chunks' candidates, and the next step's token and position.",
        items: &[],
        fits: any_shape,
        variants: &[Variant { name: "", build: overlap::choose }],
    },
    Entry {
        name: "rotary_table",
        summary: "Cosine and sine of every position and pair.",
        items: &["D54"],
        fits: any_shape,
        variants: &[
            Variant { name: "fast", build: |shape| rotary::table(shape, Trigonometry::Fast) },
            Variant { name: "precise", build: |shape| rotary::table(shape, Trigonometry::Precise) },
            Variant { name: "of_frequencies", build: rotary::table_of_frequencies },
        ],
    },
];

/// Pipelines of decode: the megakernel's, then those of stages, `NAME: OPTIONS, GOAL, SUMMARY`.
macro_rules! pipelines {
    ($($name:literal: $options:expr, $goal:expr, $summary:literal;)*) => {
        &[PipelineEntry {
            name: "decode_one_launch",
            summary: "A token to logits in one launch of one threadgroup, everything in f32.",
            items: &["A1", "B13"],
            fits: megakernel::fits,
            build: |shape| megakernel::one_launch("decode_one_launch", shape, Scalar::F32),
        }, PipelineEntry {
            name: "overlap_pairs",
            summary: "A token to logits in overlapping launches, lossless packed weights, bf16 cache.",
            items: &[],
            fits: overlap::fits,
            build: |shape| overlap::step("overlap_pairs", shape, &Options::PAIRS.cache(Scalar::Bf16)),
        }, PipelineEntry {
            name: "overlap_int8",
            summary: "A token to logits in overlapping launches, 8-bit weights, bf16 cache.",
            items: &[],
            fits: overlap::fits,
            build: |shape| overlap::step("overlap_int8", shape, &Options::INT8.cache(Scalar::Bf16)),
        }, PipelineEntry {
            name: "overlap_int8_cache_i8",
            summary: "A token to logits in overlapping launches, 8-bit weights, keys and values.",
            items: &[],
            fits: overlap::fits,
            build: |shape| overlap::step("overlap_int8_cache_i8", shape, &Options::INT8.cache(Scalar::I8)),
        }, PipelineEntry {
            name: "overlap_end",
            summary: "Logits to the next step's token, and its keys and values to a bf16 cache.",
            items: &[],
            fits: any_shape,
            build: |shape| overlap::end("overlap_end", shape, &Options::PAIRS.cache(Scalar::Bf16)),
        }, PipelineEntry {
            name: "overlap_end_cache_i8",
            summary: "Logits to the next step's token, and its keys and values to an 8-bit cache.",
            items: &[],
            fits: any_shape,
            build: |shape| overlap::end("overlap_end_cache_i8", shape, &Options::PAIRS.cache(Scalar::I8)),
        }, $(PipelineEntry {
            name: $name,
            summary: $summary,
            items: &["C21", "C22", "C23", "C24", "C27"],
            fits: any_shape,
            build: |shape: &Shape| staged($name, shape, &$options, $goal),
        }),*]
    };
}

/// Pipelines of this folder.
pub const PIPELINES: &[PipelineEntry] = pipelines! {
    "decode_f32": Options::F32, Goal::Logits, "A token to logits, everything in f32.";
    "decode_f32_token": Options::F32, Goal::Token, "A token to the next token, everything in f32.";
    "decode_f32_cache": Options::F32, Goal::Cache, "A token of the prompt into the cache, everything in f32.";
    "decode_f16": Options::F16, Goal::Logits, "A token to logits, everything in f16.";
    "decode_bf16": Options::BF16, Goal::Logits, "A token to logits, everything in bf16.";
    "decode_pairs_token": Options::PAIRS, Goal::Token, "A token to the next token, lossless packed weights.";
    "decode_int8_token": Options::INT8, Goal::Token, "A token to the next token, 8-bit weights.";
    "decode_int8_best40": Options::INT8, Goal::Best { count: 40 },
        "A token to the forty largest logits, 8-bit weights.";
    "decode_int4_token": Options::INT4, Goal::Token, "A token to the next token, 4-bit weights.";
    "decode_q8_0_token": Options::Q8_0, Goal::Token, "A token to the next token, Q8_0 blocks.";
    "decode_q4_k_token": Options::Q4_K, Goal::Token, "A token to the next token, Q4_K blocks.";
    "decode_int8_cache_f16_batch8": Options::INT8.cache(Scalar::F16).sequences(8), Goal::Token,
        "A token of each of eight sequences to their next tokens, 8-bit weights, f16 cache.";
    "decode_f32_simd_per_head": Options::F32.attention(Attention::SimdPerHead), Goal::Logits,
        "A token to logits, a SIMD group a head.";
    "decode_f32_split": Options::F32.attention(Attention::SplitKeys { parts: PARTS }), Goal::Logits,
        "A token to logits, keys split over threadgroups.";
};
