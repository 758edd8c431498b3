//! Products of packed matrices with rows of activations, `y[m, out] = x[m, in] · Wᵀ[in, out]`.
//!
//! A [`Matrix`] is packed once into one of four formats; [`Inputs`] are rows of activations brought into the form its
//! format is multiplied with. Both have one layout on every machine, made for vectors whose lanes are outputs:
//!
//! - Thirty-two outputs make a *panel*, two vectors wide, and a panel is one stream of 64-byte lines, read from front
//!   to back. `f32` has two lines for each input, `bf16` one (outputs 0 to 15 in the low halves of its words, 16 to 31
//!   in the high halves). `int8` and `int4` go by groups along the input: a line of bf16 scales, then pairs of lines
//!   with four (`int8`) or eight (`int4`) inputs of every output.
//! - Activations are held in tiles of a few rows, input by input, so that a tile too is one stream. For the integer
//!   formats they are quantised to 8 bits, one scale for each row and group.
//!
//! **Order of reduction.** Every output is one lane of one accumulator. Floats: one FMA an input, in order. Integers:
//! the exact dot product of a group, then one FMA a group, in order. Nothing in this depends on the number of rows,
//! the tile a row is in, the thread, or the instruction set; so neither do the bits of the result.
//!
//! With the numerics of llama.cpp f32 and blocks have its order instead (`matmul/ordered.rs`, `llama.rs`).
//!
//! bf16 weights are widened and multiplied as f32: activations are never rounded to bf16.

mod blocks;
mod float;
mod inputs;
mod integer;
mod layout;
mod matrix;
mod ordered;
mod pack;
mod raw;
mod sweep;

#[cfg(test)]
mod tests;

pub use inputs::Inputs;
pub use layout::matrix_bytes;
pub use matrix::{Matrix, ReadRows};

use crate::pool::Pool;
use crate::simd::Isa;

/// `out = inputs · matrixᵀ`, row-major `[inputs.rows(), matrix.rows()]`.
///
/// # Panics
/// When `inputs` were not made for this shape and format and instruction set, or `out` has another size.
pub fn matmul(pool: &Pool, isa: Isa, matrix: &Matrix, inputs: &Inputs, out: &mut [f32]) {
    sweep::sweep(pool, isa, matrix, inputs, out, false);
}

/// `out += inputs · matrixᵀ`, each element rounded once more.
///
/// # Panics
/// As [`matmul`].
pub fn matmul_add(pool: &Pool, isa: Isa, matrix: &Matrix, inputs: &Inputs, out: &mut [f32]) {
    sweep::sweep(pool, isa, matrix, inputs, out, true);
}
