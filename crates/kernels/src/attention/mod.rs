//! Tiled attention of many queries.

mod grouped;
mod matrix_direct;
mod matrix_staged;
mod plain;
mod query_tiled;
mod softmax;
#[cfg(test)]
mod tests;

pub use grouped::{fits as grouped_fits, grouped};
pub use matrix_direct::matrix_direct;
pub use matrix_staged::{matrix_reused, matrix_separate};
pub use plain::plain;
pub use query_tiled::query_tiled;

use tilewright_tile::Scalar;

use crate::catalogue::{Entry, Variant, any_shape};
use crate::prefill::Chunk;
use crate::prefill::entries::{chunk, storages};
use crate::shape::Shape;

/// Heads that fragments divide and shared memory holds.
const fn matrix_fits(shape: &Shape) -> bool {
    shape.head_dim.is_multiple_of(8) && shape.head_dim <= 128
}

/// f32 activations with the packed cache.
const fn packed(shape: &Shape) -> Chunk {
    Chunk { cache: Scalar::F16, ..chunk(shape, Scalar::F32) }
}

/// Kernels of this folder.
pub const ENTRIES: &[Entry] = &[
    Entry {
        name: "query_tiled_attention",
        summary: "Attention of a chunk by lanes, eight queries sharing tiles of keys and values.",
        items: &["D42", "D51"],
        fits: matrix_fits,
        variants: storages!(query_tiled),
    },
    Entry {
        name: "matrix_attention_direct",
        summary: "Attention of a chunk by matrix products, fragments straight from device memory.",
        items: &["D42", "E58", "E59", "E60", "E61", "E62", "E63", "E64", "E66", "E67", "E68"],
        fits: matrix_fits,
        variants: storages!(matrix_direct),
    },
    Entry {
        name: "matrix_attention_reused",
        summary: "Attention of a chunk by matrix products, one storage for queries and then for keys and values.",
        items: &["E65"],
        fits: matrix_fits,
        variants: storages!(matrix_reused),
    },
    Entry {
        name: "matrix_attention_separate",
        summary: "Attention of a chunk by matrix products, queries beside a tile for keys or values.",
        items: &["E65"],
        fits: matrix_fits,
        variants: storages!(matrix_separate),
    },
    Entry {
        name: "plain_attention",
        summary: "Attention of a chunk key after key, a SIMD group a query.",
        items: &[],
        fits: any_shape,
        variants: &[
            Variant { name: "f32", build: |shape| plain(shape, &chunk(shape, Scalar::F32)) },
            Variant { name: "f16", build: |shape| plain(shape, &packed(shape)) },
        ],
    },
    Entry {
        name: "grouped_attention",
        summary: "Attention of a chunk by matrix products, all query heads of a key/value head together.",
        items: &[],
        fits: grouped_fits,
        variants: &[Variant { name: "f16", build: |shape| grouped(shape, &packed(shape)) }],
    },
];
