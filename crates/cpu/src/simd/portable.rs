//! The vector operations on arrays: the definition the other instruction sets are compared with.

use std::array::from_fn;

use half::{bf16, f16};

use super::{LANES, Simd};

/// Plain Rust, for machines without a supported instruction set.
#[derive(Clone, Copy, Debug)]
pub struct Portable;

impl Simd for Portable {
    type F32 = [f32; LANES];
    type I32 = [i32; LANES];
    type U8 = [u8; 64];
    type Sum4 = [i32; LANES];

    const FLOAT_ROWS: usize = 2;
    const FLOAT_PAIRS: usize = 2;
    const INT8_ROWS: usize = 2;
    const INT4_ROWS: usize = 2;
    const REGISTERS: usize = 8;
    const BIAS: i32 = 0;

    #[inline(always)]
    fn splat(self, value: f32) -> Self::F32 {
        [value; LANES]
    }
    #[inline(always)]
    fn load(self, from: &[f32; LANES]) -> Self::F32 {
        *from
    }
    #[inline(always)]
    fn store(self, value: Self::F32, to: &mut [f32; LANES]) {
        *to = value;
    }
    #[inline(always)]
    fn add(self, a: Self::F32, b: Self::F32) -> Self::F32 {
        from_fn(|i| a[i] + b[i])
    }
    #[inline(always)]
    fn sub(self, a: Self::F32, b: Self::F32) -> Self::F32 {
        from_fn(|i| a[i] - b[i])
    }
    #[inline(always)]
    fn mul(self, a: Self::F32, b: Self::F32) -> Self::F32 {
        from_fn(|i| a[i] * b[i])
    }
    #[inline(always)]
    fn div(self, a: Self::F32, b: Self::F32) -> Self::F32 {
        from_fn(|i| a[i] / b[i])
    }
    #[inline(always)]
    fn fma(self, a: Self::F32, b: Self::F32, c: Self::F32) -> Self::F32 {
        from_fn(|i| a[i].mul_add(b[i], c[i]))
    }
    #[inline(always)]
    fn max(self, a: Self::F32, b: Self::F32) -> Self::F32 {
        from_fn(|i| if a[i] > b[i] { a[i] } else { b[i] })
    }
    #[inline(always)]
    fn min(self, a: Self::F32, b: Self::F32) -> Self::F32 {
        from_fn(|i| if a[i] < b[i] { a[i] } else { b[i] })
    }
    #[inline(always)]
    fn abs(self, a: Self::F32) -> Self::F32 {
        a.map(f32::abs)
    }
    #[inline(always)]
    fn round(self, a: Self::F32) -> Self::I32 {
        a.map(|x| x.round_ties_even() as i32)
    }
    #[inline(always)]
    fn to_f32(self, a: Self::I32) -> Self::F32 {
        a.map(|x| x as f32)
    }

    #[inline(always)]
    fn splat_i32(self, value: i32) -> Self::I32 {
        [value; LANES]
    }
    #[inline(always)]
    fn load_i32(self, from: &[i32; LANES]) -> Self::I32 {
        *from
    }
    #[inline(always)]
    fn store_i32(self, value: Self::I32, to: &mut [i32; LANES]) {
        *to = value;
    }
    #[inline(always)]
    fn add_i32(self, a: Self::I32, b: Self::I32) -> Self::I32 {
        from_fn(|i| a[i].wrapping_add(b[i]))
    }
    #[inline(always)]
    fn shl<const N: u32>(self, a: Self::I32) -> Self::I32 {
        a.map(|x| x << N)
    }
    #[inline(always)]
    fn as_f32(self, a: Self::I32) -> Self::F32 {
        a.map(|x| f32::from_bits(x as u32))
    }
    #[inline(always)]
    fn narrow(self, a: Self::I32) -> [u32; 4] {
        from_fn(|word| u32::from_le_bytes(from_fn(|byte| a[4 * word + byte].clamp(-128, 127) as u8)))
    }

    #[inline(always)]
    fn load_f16(self, from: &[u16; LANES]) -> Self::F32 {
        from.map(|bits| f16::from_bits(bits).to_f32())
    }
    #[inline(always)]
    fn store_f16(self, value: Self::F32, to: &mut [u16; LANES]) {
        *to = value.map(|x| f16::from_f32(x).to_bits());
    }
    #[inline(always)]
    fn load_bf16_pair(self, from: &[u8; 64]) -> [Self::F32; 2] {
        from_fn(|half| {
            from_fn(|i| {
                let at = 4 * i + 2 * half;
                bf16::from_le_bytes([from[at], from[at + 1]]).to_f32()
            })
        })
    }

    #[inline(always)]
    fn load_f16_pair(self, from: &[u8; 64]) -> [Self::F32; 2] {
        let halves = from.as_chunks::<2>().0;
        from_fn(|vector| from_fn(|i| f16::from_le_bytes(halves[LANES * vector + i]).to_f32()))
    }
    #[inline(always)]
    fn field(self, from: &[u8; 64], shift: u32, mask: u32) -> Self::I32 {
        let words = from.as_chunks::<4>().0;
        from_fn(|i| (u32::from_le_bytes(words[i]) >> shift & mask) as i32)
    }

    #[inline(always)]
    fn load_bytes(self, from: &[u8; 64]) -> Self::F32 {
        from_fn(|i| f32::from_le_bytes(from_fn(|byte| from[4 * i + byte])))
    }
    #[inline(always)]
    fn load_u8(self, from: &[u8; 64]) -> Self::U8 {
        *from
    }
    #[inline(always)]
    fn store_u8(self, value: Self::U8, to: &mut [u8; 64]) {
        *to = value;
    }
    #[inline(always)]
    fn store_bytes(self, value: Self::F32, to: &mut [u8; 64]) {
        to.as_chunks_mut().0.iter_mut().zip(value).for_each(|(to, x)| *to = x.to_le_bytes());
    }
    #[inline(always)]
    fn nibbles(self, a: Self::U8) -> [Self::U8; 2] {
        [a.map(|byte| byte & 15), a.map(|byte| byte >> 4)]
    }
    #[inline(always)]
    fn pick(self, a: Self::U8, shift: i32, mask: u8) -> Self::U8 {
        a.map(|byte| (if shift < 0 { byte >> -shift } else { byte << shift }) & mask)
    }
    #[inline(always)]
    fn or_u8(self, a: Self::U8, b: Self::U8) -> Self::U8 {
        from_fn(|i| a[i] | b[i])
    }
    #[inline(always)]
    fn look_up(self, a: Self::U8, table: &[u8; 16]) -> Self::U8 {
        a.map(|byte| table[usize::from(byte & 15)])
    }
    #[inline(always)]
    fn split8(self, w: Self::U8) -> [Self::U8; 2] {
        [w; 2]
    }
    #[inline(always)]
    fn dot8(self, sum: Self::I32, [w, _]: [Self::U8; 2], x: i32) -> Self::I32 {
        dot(sum, w.map(|w| i32::from(w) - 128), x)
    }
    #[inline(always)]
    fn begin4(self, sum: Self::I32) -> Self::Sum4 {
        sum
    }
    #[inline(always)]
    fn dot4(self, sum: Self::Sum4, w: Self::U8, x: i32) -> Self::Sum4 {
        dot(sum, w.map(i32::from), x)
    }
    #[inline(always)]
    fn end4(self, sum: Self::Sum4) -> Self::I32 {
        sum
    }

    #[inline(always)]
    fn prefetch<T>(self, _near: &T, _ahead: usize) {}
}

/// Adds to each lane the dot product of its four `w` with the four i8 in `x`.
#[inline(always)]
fn dot(sum: [i32; LANES], w: [i32; 64], x: i32) -> [i32; LANES] {
    let x = x.to_le_bytes().map(|byte| i32::from(byte as i8));
    from_fn(|i| (0..4).fold(sum[i], |sum, byte| sum.wrapping_add(w[4 * i + byte] * x[byte])))
}
