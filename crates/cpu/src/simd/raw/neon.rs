//! NEON, with or without the dot-product extension: a vector is four registers, lanes 0 to 3 first.

use std::array::from_fn;

use half::f16;

use super::arch::*;
use crate::simd::raw::ops;
use crate::simd::{Entry, LANES, Simd};

/// Proof that the instructions are enabled here.
#[derive(Clone, Copy)]
pub(crate) struct Neon<const DOT: bool>(());

impl<const DOT: bool> Neon<DOT> {
    /// # Safety
    /// Only inside a function that has the instructions enabled.
    #[inline(always)]
    pub(crate) unsafe fn enabled() -> Self {
        Self(())
    }
}

type F = [float32x4_t; 4];
type I = [int32x4_t; 4];
type B = [uint8x16_t; 4];

/// Adds to each lane the dot product of four i8 of `w` with four of `x`, none of `x` being -128.
#[inline(always)]
unsafe fn dot<const DOT: bool>(sum: int32x4_t, w: int8x16_t, x: int8x16_t) -> int32x4_t {
    // SAFETY: the caller has the instructions enabled.
    unsafe {
        if DOT {
            return sdot(sum, w, x);
        }
        // A sum of two products is at most 2 * 128 * 127 in magnitude and fits 16 bits.
        let low = vmull_s8(vget_low_s8(w), vget_low_s8(x));
        let high = vmull_s8(vget_high_s8(w), vget_high_s8(x));
        vpadalq_s16(sum, vpaddq_s16(low, high))
    }
}

impl<const DOT: bool> Simd for Neon<DOT>
where
    Self: Entry,
{
    type F32 = F;
    type I32 = I;
    type U8 = B;
    type Sum4 = I;

    const FLOAT_ROWS: usize = 6;
    const FLOAT_PAIRS: usize = 2;
    const INT8_ROWS: usize = 2;
    const INT4_ROWS: usize = 2;
    const REGISTERS: usize = 8;
    const BIAS: i32 = 0;

    ops! {
        fn splat(value: f32) -> F { [vdupq_n_f32(value); 4] }
        fn load(from: &[f32; LANES]) -> F { from_fn(|i| vld1q_f32(from.as_ptr().add(4 * i))) }
        fn store(value: F, to: &mut [f32; LANES]) {
            for (i, register) in value.into_iter().enumerate() {
                vst1q_f32(to.as_mut_ptr().add(4 * i), register);
            }
        }
        fn add(a: F, b: F) -> F { from_fn(|i| vaddq_f32(a[i], b[i])) }
        fn sub(a: F, b: F) -> F { from_fn(|i| vsubq_f32(a[i], b[i])) }
        fn mul(a: F, b: F) -> F { from_fn(|i| vmulq_f32(a[i], b[i])) }
        fn div(a: F, b: F) -> F { from_fn(|i| vdivq_f32(a[i], b[i])) }
        fn fma(a: F, b: F, c: F) -> F { from_fn(|i| vfmaq_f32(c[i], a[i], b[i])) }
        // Selections, since the processor's own maximum hands on what is not a number.
        fn max(a: F, b: F) -> F { from_fn(|i| vbslq_f32(vcgtq_f32(a[i], b[i]), a[i], b[i])) }
        fn min(a: F, b: F) -> F { from_fn(|i| vbslq_f32(vcltq_f32(a[i], b[i]), a[i], b[i])) }
        fn abs(a: F) -> F { from_fn(|i| vabsq_f32(a[i])) }
        fn round(a: F) -> I { from_fn(|i| vcvtnq_s32_f32(a[i])) }
        fn to_f32(a: I) -> F { from_fn(|i| vcvtq_f32_s32(a[i])) }

        fn splat_i32(value: i32) -> I { [vdupq_n_s32(value); 4] }
        fn load_i32(from: &[i32; LANES]) -> I { from_fn(|i| vld1q_s32(from.as_ptr().add(4 * i))) }
        fn store_i32(value: I, to: &mut [i32; LANES]) {
            for (i, register) in value.into_iter().enumerate() {
                vst1q_s32(to.as_mut_ptr().add(4 * i), register);
            }
        }
        fn add_i32(a: I, b: I) -> I { from_fn(|i| vaddq_s32(a[i], b[i])) }
        fn shl<const N: u32>(a: I) -> I { from_fn(|i| vshlq_s32(a[i], vdupq_n_s32(N as i32))) }
        fn as_f32(a: I) -> F { from_fn(|i| vreinterpretq_f32_s32(a[i])) }
        fn narrow(a: I) -> [u32; 4] {
            let mut words = [0; 4];
            for half in 0..2 {
                let pair = vcombine_s16(vqmovn_s32(a[2 * half]), vqmovn_s32(a[2 * half + 1]));
                vst1_s8(words.as_mut_ptr().add(2 * half).cast(), vqmovn_s16(pair));
            }
            words
        }

        fn load_f16(from: &[u16; LANES]) -> F {
            let wide = from.map(|bits| f16::from_bits(bits).to_f32());
            from_fn(|i| vld1q_f32(wide.as_ptr().add(4 * i)))
        }
        fn store_f16(value: F, to: &mut [u16; LANES]) {
            let mut wide = [0.0; LANES];
            for (i, register) in value.into_iter().enumerate() {
                vst1q_f32(wide.as_mut_ptr().add(4 * i), register);
            }
            *to = wide.map(|x| f16::from_f32(x).to_bits());
        }
        fn load_bf16_pair(from: &[u8; 64]) -> [F; 2] {
            let at = from.as_ptr().cast::<i32>();
            let pair: I = from_fn(|i| vld1q_s32(at.add(4 * i)));
            let mask = vdupq_n_s32(0xffff_0000_u32 as i32);
            [
                from_fn(|i| vreinterpretq_f32_s32(vshlq_n_s32::<16>(pair[i]))),
                from_fn(|i| vreinterpretq_f32_s32(vandq_s32(pair[i], mask))),
            ]
        }

        fn load_f16_pair(from: &[u8; 64]) -> [F; 2] {
            let halves = from.as_chunks::<2>().0;
            from_fn(|vector| {
                let wide: [f32; LANES] = from_fn(|i| f16::from_le_bytes(halves[LANES * vector + i]).to_f32());
                from_fn(|i| vld1q_f32(wide.as_ptr().add(4 * i)))
            })
        }
        fn field(from: &[u8; 64], shift: u32, mask: u32) -> I {
            let at = from.as_ptr().cast::<i32>();
            // Bits that the shift brings in from the sign are not in the mask, unless nothing is shifted.
            let mask = vdupq_n_s32((mask & (u32::MAX >> shift)) as i32);
            let by = vdupq_n_s32(-(shift as i32));
            from_fn(|i| vandq_s32(vshlq_s32(vld1q_s32(at.add(4 * i)), by), mask))
        }

        fn load_bytes(from: &[u8; 64]) -> F { from_fn(|i| vld1q_f32(from.as_ptr().cast::<f32>().add(4 * i))) }
        fn load_u8(from: &[u8; 64]) -> B { from_fn(|i| vld1q_u8(from.as_ptr().add(16 * i))) }
        fn store_u8(value: B, to: &mut [u8; 64]) {
            for (i, register) in value.into_iter().enumerate() {
                vst1q_u8(to.as_mut_ptr().add(16 * i), register);
            }
        }
        fn store_bytes(value: F, to: &mut [u8; 64]) {
            for (i, register) in value.into_iter().enumerate() {
                vst1q_f32(to.as_mut_ptr().cast::<f32>().add(4 * i), register);
            }
        }
        fn nibbles(a: B) -> [B; 2] {
            [from_fn(|i| vandq_u8(a[i], vdupq_n_u8(15))), from_fn(|i| vshrq_n_u8::<4>(a[i]))]
        }
        fn pick(a: B, shift: i32, mask: u8) -> B {
            let (by, mask) = (vdupq_n_s8(shift as i8), vdupq_n_u8(mask));
            from_fn(|i| vandq_u8(vshlq_u8(a[i], by), mask))
        }
        fn or_u8(a: B, b: B) -> B { from_fn(|i| vorrq_u8(a[i], b[i])) }
        fn look_up(a: B, table: &[u8; 16]) -> B {
            let table = vld1q_u8(table.as_ptr());
            from_fn(|i| vqtbl1q_u8(table, a[i]))
        }
        fn split8(w: B) -> [B; 2] { [from_fn(|i| veorq_u8(w[i], vdupq_n_u8(128))); 2] }
        fn dot8(sum: I, w: [B; 2], x: i32) -> I {
            let x = vreinterpretq_s8_s32(vdupq_n_s32(x));
            from_fn(|i| dot::<DOT>(sum[i], vreinterpretq_s8_u8(w[0][i]), x))
        }
        fn dot4(sum: I, w: B, x: i32) -> I {
            let x = vreinterpretq_s8_s32(vdupq_n_s32(x));
            from_fn(|i| dot::<DOT>(sum[i], vreinterpretq_s8_u8(w[i]), x))
        }
    }

    #[inline(always)]
    fn begin4(self, sum: I) -> I {
        sum
    }

    #[inline(always)]
    fn end4(self, sum: I) -> I {
        sum
    }

    #[inline(always)]
    fn prefetch<T>(self, near: &T, ahead: usize) {
        // SAFETY: a prefetch reads nothing, wherever it points.
        unsafe { prefetch((&raw const *near).cast::<i8>().wrapping_add(ahead)) }
    }
}
