//! llama.cpp's arithmetic, bit for bit.
//!
//! With [`Numerics::LlamaCpp`](tilewright_backend::Numerics) a row's logits are those of llama.cpp over the same GGUF file,
//! keys and values being of the same type in both: its build for AVX-512 with FMA, one token a batch, no flash attention. With
//! `Numerics::LlamaCppFlash` they are those with flash attention. Of more tokens a batch it takes other orders, and differs from
//! itself; so does its flash attention on several threads beyond 256 positions. A row is computed as if it were alone, so here
//! its bits do not depend on chunks, batch mates or threads. They are the same on every instruction set: where there is no FMA,
//! it is computed exactly in software, slowly.
//!
//! | what | order |
//! | --- | --- |
//! | embedding | `integer · scale`, then plus the block's minimum |
//! | RMSNorm | squares rounded to f32, summed one after the other in f64; the mean rounded to f32; `x · (1 / √(mean + ε)) · w` |
//! | activations of a product with blocks | groups of 32: scale `greatest / 127` and scale · sum as f16, integers of `x · (127 / greatest)`, ties to even ([`quantise`]) |
//! | product with blocks | eight sums, one for each four inputs of a group: an exact integer, one FMA with the product of both scales; a ninth of minima by the activations' sums; eight folded to one, plus the ninth |
//! | product with f32, keys with a query | 64 sums, input `i` in sum `i % 64`, folded to one; what is left over follows in turn ([`lanes`]). Beside keys of f16 the query is rounded to f16, and what is left over summed in f64 |
//! | RoPE | the angle multiplied from pair to pair in f32; sine and cosine of the system's library in f32; one product rounded, the other fused ([`rope`]) |
//! | softmax | scores · scale, e^x of their own ([`exp`]), sums of 16 in f64, then a product with the f32 of 1 / sum ([`attention`]) |
//! | values | 64 sums, position `i` in sum `i % 64`, folded to one; beside values of f16 weights are rounded to f16 |
//! | flash attention | position by position, by the greatest score so far; sums of values rounded to f16 after each ([`flash`]) |
//! | SwiGLU | `gate / (1 + e^−gate) · up` ([`swiglu`]) |
//!
//! *Folded*: the second half is added to the first until one is left.
//!
//! The heads of the Llama architecture, whose pairs llama.cpp keeps side by side, have their dims in that order in the sum of
//! keys with a query; in memory they are as everywhere here.

pub(crate) mod attention;
pub(crate) mod cover;
mod exp;
mod flash;
pub(crate) mod lanes;
pub(crate) mod norm;
pub(crate) mod quantise;
pub(crate) mod rope;
pub(crate) mod swiglu;

#[cfg(test)]
mod tests;
