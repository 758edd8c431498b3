//! Vectors: one kernel text, many instruction sets.
//!
//! A kernel is written once against [`Simd`], whose vectors have [`LANES`] lanes on every machine: one AVX-512
//! register, two of AVX2, four of NEON, an array in the portable version. Every operation has one meaning, down to
//! the bit (an FMA is fused everywhere, a sum over lanes has one order), so a kernel gives the same bits whichever
//! [`Isa`] runs it. Packed weights and quantised activations have one layout for the same reason.
//!
//! [`Isa`] is a proof: its values come only from detection, so holding one means that its instructions exist. The
//! implementations stand in `raw/`, one file each. In tests the same files are compiled a second time over scalar
//! models of the instructions, so that each of them runs on every machine.
//!
//! Deliberately absent: wider or narrower vectors, masks, gathers, and any operation whose result may differ between
//! instruction sets (approximate reciprocals, unfused multiply-add).

mod isa;
mod portable;
mod raw;

#[cfg(test)]
mod tests;

pub use isa::Isa;
pub use portable::Portable;
pub use raw::Entry;

/// Lanes of every vector.
pub const LANES: usize = 16;

/// Work that runs on any instruction set.
///
/// `run` and what it calls must be `#[inline(always)]`: the body is compiled inside a function that has the
/// instructions enabled, and only what is inlined there may use them. So no closure may hold an operation on vectors: the
/// compiler is free to leave it outside, where it runs twenty times slower.
pub trait Kernel {
    /// What the kernel returns.
    type Output;

    /// The kernel's text.
    fn run<S: Simd>(self, simd: S) -> Self::Output;
}

/// An instruction set, seen as operations on vectors of [`LANES`] lanes.
///
/// Integers wrap. Floats follow IEEE binary32 with round to nearest even and no contraction.
pub trait Simd: Entry + Copy + Send + Sync + 'static {
    /// Sixteen f32.
    type F32: Copy;
    /// Sixteen i32.
    type I32: Copy;
    /// Sixteen lanes of four u8.
    type U8: Copy;
    /// Sixteen i32 under way in [`dot4`](Self::dot4).
    type Sum4: Copy;

    /// Rows of activations that a float tile multiplies at a time: what the registers hold beside a vector of weights.
    const FLOAT_ROWS: usize;
    /// The most rows of a float tile whose sums fit the registers for both vectors of a panel; a tile of more takes one
    /// after the other.
    const FLOAT_PAIRS: usize;
    /// The same for a tile of int8 weights.
    const INT8_ROWS: usize;
    /// The same for a tile of int4 weights.
    const INT4_ROWS: usize;
    /// Vectors that the registers hold.
    const REGISTERS: usize;
    /// What [`dot8`](Self::dot8) adds to every weight: 128 where the instruction takes them unsigned, else 0.
    const BIAS: i32;

    /// `value` in every lane.
    fn splat(self, value: f32) -> Self::F32;
    /// Lanes from memory.
    fn load(self, from: &[f32; LANES]) -> Self::F32;
    /// Lanes to memory.
    fn store(self, value: Self::F32, to: &mut [f32; LANES]);
    /// `a + b`.
    fn add(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// `a - b`.
    fn sub(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// `a * b`.
    fn mul(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// `a / b`.
    fn div(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// `a * b + c`, rounded once.
    fn fma(self, a: Self::F32, b: Self::F32, c: Self::F32) -> Self::F32;
    /// `if a > b { a } else { b }`: `b` where either is not a number.
    fn max(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// `if a < b { a } else { b }`: `b` where either is not a number.
    fn min(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// `|a|`.
    fn abs(self, a: Self::F32) -> Self::F32;
    /// The nearest integer, ties to even; unspecified where it does not fit an i32 or `a` is not a number.
    fn round(self, a: Self::F32) -> Self::I32;
    /// The nearest f32.
    fn to_f32(self, a: Self::I32) -> Self::F32;

    /// `value` in every lane.
    fn splat_i32(self, value: i32) -> Self::I32;
    /// Lanes from memory.
    fn load_i32(self, from: &[i32; LANES]) -> Self::I32;
    /// Lanes to memory.
    fn store_i32(self, value: Self::I32, to: &mut [i32; LANES]);
    /// `a + b`.
    fn add_i32(self, a: Self::I32, b: Self::I32) -> Self::I32;
    /// `a << N`.
    fn shl<const N: u32>(self, a: Self::I32) -> Self::I32;
    /// The lanes' bits as f32.
    fn as_f32(self, a: Self::I32) -> Self::F32;
    /// The lanes saturated to i8, in lane order, as little-endian words.
    fn narrow(self, a: Self::I32) -> [u32; 4];

    /// Sixteen IEEE binary16 from memory, widened.
    fn load_f16(self, from: &[u16; LANES]) -> Self::F32;
    /// Sixteen lanes rounded to IEEE binary16.
    fn store_f16(self, value: Self::F32, to: &mut [u16; LANES]);
    /// Thirty-two bfloat16 from memory: the low halves of sixteen words, then the high halves.
    fn load_bf16_pair(self, from: &[u8; 64]) -> [Self::F32; 2];

    /// Thirty-two IEEE binary16 from memory, widened: the first sixteen, then the others.
    fn load_f16_pair(self, from: &[u8; 64]) -> [Self::F32; 2];
    /// `word >> shift & mask` of sixteen little-endian words from memory.
    fn field(self, from: &[u8; 64], shift: u32, mask: u32) -> Self::I32;

    /// Sixteen little-endian f32 from memory.
    fn load_bytes(self, from: &[u8; 64]) -> Self::F32;
    /// Sixty-four bytes from memory.
    fn load_u8(self, from: &[u8; 64]) -> Self::U8;
    /// Sixty-four bytes to memory.
    fn store_u8(self, value: Self::U8, to: &mut [u8; 64]);
    /// Sixteen little-endian f32 to memory.
    fn store_bytes(self, value: Self::F32, to: &mut [u8; 64]);
    /// The low and the high four bits of every byte.
    fn nibbles(self, a: Self::U8) -> [Self::U8; 2];
    /// `byte << shift & mask`, or `byte >> -shift & mask`; `mask` has no bit that would come from a neighbour.
    fn pick(self, a: Self::U8, shift: i32, mask: u8) -> Self::U8;
    /// `a | b`.
    fn or_u8(self, a: Self::U8, b: Self::U8) -> Self::U8;
    /// `table[byte]` for every byte, all of them below 16.
    fn look_up(self, a: Self::U8, table: &[u8; 16]) -> Self::U8;
    /// Bytes in the two vectors that [`dot8`](Self::dot8) takes them as: made once for many products.
    fn split8(self, w: Self::U8) -> [Self::U8; 2];
    /// Adds to each lane the dot product of its four `w - 128 + BIAS` with the four i8 in `x`, none of them -128.
    /// `w` is split.
    fn dot8(self, sum: Self::I32, w: [Self::U8; 2], x: i32) -> Self::I32;
    /// Begins sums of [`dot4`](Self::dot4).
    fn begin4(self, sum: Self::I32) -> Self::Sum4;
    /// Adds to each lane the dot product of its four `w`, each in 0..=15, with the four i8 in `x`. At most eight times
    /// before [`end4`](Self::end4).
    fn dot4(self, sum: Self::Sum4, w: Self::U8, x: i32) -> Self::Sum4;
    /// The sums.
    fn end4(self, sum: Self::Sum4) -> Self::I32;

    /// Asks for the cache line `ahead` bytes after `near`. Only a hint: there may be nothing there.
    fn prefetch<T>(self, near: &T, ahead: usize);

    /// The sum over lanes: halves are added until one lane is left.
    #[inline(always)]
    fn reduce_add(self, a: Self::F32) -> f32 {
        let mut lanes = [0.0; LANES];
        self.store(a, &mut lanes);
        let mut width = LANES;
        while width > 1 {
            width /= 2;
            for lane in 0..width {
                lanes[lane] += lanes[lane + width];
            }
        }
        lanes[0]
    }

    /// The greatest lane, by [`max`](Self::max) of halves.
    #[inline(always)]
    fn reduce_max(self, a: Self::F32) -> f32 {
        let mut lanes = [0.0; LANES];
        self.store(a, &mut lanes);
        let mut width = LANES;
        while width > 1 {
            width /= 2;
            for lane in 0..width {
                lanes[lane] =
                    if lanes[lane] > lanes[lane + width] { lanes[lane] } else { lanes[lane + width] };
            }
        }
        lanes[0]
    }
}
