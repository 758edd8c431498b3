//! GGUF's blocks, multiplied as they are.
//!
//! A matrix of blocks takes the bytes that it takes in its file, in another order. Outputs go by panels as in every format;
//! a panel is a sequence of *spans*, each of one block of every output: first the lines with the blocks' scales
//! ([`scales`]), then for every 32 inputs the integers, four inputs of an output a word:
//!
//! - lines of bytes, of nibbles (two words of each output in a line) or of pairs of bits (four words),
//! - then, where integers have more bits, lines with one bit (eight words) or two (four words) above those.
//!
//! Integers are stored without sign, some number too large. Activations are quantised to 8 bits in groups of 32 for all
//! types, so that tensors of several types can be rows of one matrix. Their scale is an f16, and so is the sum that the offset
//! of a whole group is multiplied with, as in llama.cpp, which multiplies types of 32 inputs a block by the same numbers.
//!
//! **Order of reduction.** For each scale, 16 or 32 inputs: the exact dot product of the integers, one FMA with the product
//! of both scales, and, where there is an offset, one with it and the activations' sum; in order.

mod ordered;
mod pack;
mod row;
mod scales;
mod tile;
mod widen;

#[cfg(test)]
mod tests;

use std::marker::PhantomData;

use tilewright_model::StoredType;

use super::layout::{Layout, Line};
use super::sweep::{Product, Totals};
use crate::simd::Simd;
use scales::{Bytes, Halves, Nibbles, Scales, Sixes, Split};
use tile::{Dot4, Dot8, Kind};

pub(super) use ordered::ordered;
pub(super) use pack::{pack_row, row_f32};

/// Inputs that activations are quantised together.
pub(super) const GROUP: usize = 32;

/// Words before the quantised inputs of a group: the scale, as f16 holds it; the product of the scale and the sum of all
/// integers, before either is rounded and then as f16 holds it; that of the rounded scale with the sum of the first half's, of
/// the second half's; these three with their sign changed; the sum as an integer.
pub(super) const HEADER: usize = 5;

/// Words of a group of activations.
pub(super) const WORDS: usize = HEADER + GROUP / 4;

/// How a type's blocks lie in lines.
pub(super) trait Blocks {
    /// The type.
    const STORED: StoredType;
    /// Bits of an integer in the first lines: 8, 4 or 2.
    const LOW: usize;
    /// Bits above those: 0, 1 or 2.
    const HIGH: usize;
    /// What is added to an integer to store it.
    const EXCESS: i32;
    /// The values that integers stand for, 128 too large.
    const VALUES: Option<&'static [u8; 16]>;
    /// Scales and offsets.
    type Scales: Scales;
    /// What it is multiplied as.
    type Tiles: Kind;

    /// Inputs of a span.
    const SPAN: usize = Self::STORED.block_len();
    /// Lines of the integers of 32 inputs.
    const LINES: usize = 2 * (Self::LOW + Self::HIGH);

    /// Word `W` of the integers of vector `v`.
    #[inline(always)]
    fn word<S: Simd, const W: usize>(simd: S, lines: &[Line], v: usize) -> S::U8 {
        let low = match Self::LOW {
            8 => simd.load_u8(&lines[2 * W + v]),
            4 => simd.pick(simd.load_u8(&lines[W / 2 * 2 + v]), -((W % 2 * 4) as i32), 15),
            _ => simd.pick(simd.load_u8(&lines[W / 4 * 2 + v]), -((W % 4 * 2) as i32), 3),
        };
        let top = Self::LOW as i32;
        let lines = &lines[2 * Self::LOW..];
        let integer = match Self::HIGH {
            0 => low,
            1 => {
                let bit = simd.pick(simd.load_u8(&lines[v]), top - W as i32, 1 << top);
                simd.or_u8(low, bit)
            }
            _ => {
                let bits = simd.load_u8(&lines[W / 4 * 2 + v]);
                simd.or_u8(low, simd.pick(bits, top - (W % 4 * 2) as i32, 3 << top))
            }
        };
        match Self::VALUES {
            Some(values) => simd.look_up(integer, values),
            None => integer,
        }
    }
}

/// Calls `word` of the module for words 0 to 7, each a constant: which lines and bits a word is in is then known when the loop
/// is compiled, and a shift by a constant needs no register.
macro_rules! each_word {
    ($($argument:expr),*) => {
        word::<S, B, 0>($($argument),*);
        word::<S, B, 1>($($argument),*);
        word::<S, B, 2>($($argument),*);
        word::<S, B, 3>($($argument),*);
        word::<S, B, 4>($($argument),*);
        word::<S, B, 5>($($argument),*);
        word::<S, B, 6>($($argument),*);
        word::<S, B, 7>($($argument),*);
    };
}
use each_word;

/// The sixteen values of IQ4, 128 too large.
const IQ4: [u8; 16] = [1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241];

macro_rules! types {
    ($($name:ident: $low:literal + $high:literal bits, less $excess:literal, $values:expr, $scales:ty, $tiles:ty;)*) => {
        $(
            /// The type of this name.
            pub(super) struct $name;

            impl Blocks for $name {
                const STORED: StoredType = StoredType::$name;
                const LOW: usize = $low;
                const HIGH: usize = $high;
                const EXCESS: i32 = $excess;
                const VALUES: Option<&'static [u8; 16]> = $values;
                type Scales = $scales;
                type Tiles = $tiles;
            }
        )*

        /// Calls a generic function of a type of blocks; floats are nobody's.
        macro_rules! of_type {
            ($stored:expr, $function:ident $args:tt) => {
                match $stored {
                    $(tilewright_model::StoredType::$name => $function::<blocks::$name> $args,)*
                    tilewright_model::StoredType::F64
                    | tilewright_model::StoredType::F32
                    | tilewright_model::StoredType::F16
                    | tilewright_model::StoredType::Bf16 => {}
                }
            };
        }
        pub(super) use of_type;
    };
}

types! {
    Q8_0: 8 + 0 bits, less 128, None, Halves<false>, Dot8;
    Q4_0: 4 + 0 bits, less 8, None, Halves<false>, Dot4<32, 8, 8>;
    Q4_1: 4 + 0 bits, less 0, None, Halves<true>, Dot4<32, 8, 0>;
    Q5_0: 4 + 1 bits, less 16, None, Halves<false>, Dot4<32, 4, 16>;
    Q5_1: 4 + 1 bits, less 0, None, Halves<true>, Dot4<32, 4, 0>;
    Q2K: 2 + 0 bits, less 0, None, Nibbles, Dot4<16, 4, 0>;
    Q3K: 2 + 1 bits, less 4, None, Sixes<false, 16>, Dot4<16, 4, 0>;
    Q4K: 4 + 0 bits, less 0, None, Sixes<true, 8>, Dot4<32, 8, 0>;
    Q5K: 4 + 1 bits, less 0, None, Sixes<true, 8>, Dot4<32, 4, 0>;
    Q6K: 4 + 2 bits, less 32, None, Bytes, Dot4<16, 2, 0>;
    Iq4Nl: 4 + 0 bits, less 0, Some(&IQ4), Halves<false>, Dot8;
    Iq4Xs: 4 + 0 bits, less 0, Some(&IQ4), Split, Dot8;
}

/// A type of blocks as a product.
pub(super) struct Of<B>(PhantomData<B>);

impl<B: Blocks> Product for Of<B> {
    const STREAMS: usize = 2;
    const PACKED_TILES: bool = false;
    type Tiles = B::Tiles;

    #[inline(always)]
    fn widen<S: Simd>(simd: S, part: Layout, packed: &[Line], wide: &mut [Line]) {
        widen::widen::<S, B>(simd, part, packed, wide);
    }

    #[inline(always)]
    fn row<S: Simd, const P: usize>(
        simd: S,
        layout: Layout,
        panels: [&[Line]; P],
        x: &[u32],
    ) -> Totals<S, P> {
        row::row::<S, B, P>(simd, layout, panels, x)
    }
}

/// Lines of a panel's rows of `cols` inputs.
pub(super) fn panel_lines(stored: StoredType, cols: usize) -> usize {
    // Thirty-two outputs, sixty-four bytes a line.
    stored.bytes(cols) / 2
}

/// Inputs of a part that, widened, stays in the first-level cache.
pub(super) fn part_inputs(stored: StoredType) -> usize {
    if is_dot8(stored) { 256 } else { 512 }
}

/// Whether its integers are multiplied as signed bytes.
pub(super) const fn is_dot8(stored: StoredType) -> bool {
    matches!(stored, StoredType::Q8_0 | StoredType::Iq4Nl | StoredType::Iq4Xs)
}
