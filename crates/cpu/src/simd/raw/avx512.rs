//! AVX-512 F, BW, VL, DQ and VNNI: a vector is one register.

use std::mem::transmute;

use super::arch::*;
use crate::simd::raw::ops;
use crate::simd::{LANES, Simd};

/// Proof that the instructions are enabled here.
#[derive(Clone, Copy)]
pub(crate) struct Avx512(());

impl Avx512 {
    /// # Safety
    /// Only inside a function that has the instructions enabled.
    #[inline(always)]
    pub(crate) unsafe fn enabled() -> Self {
        Self(())
    }
}

impl Simd for Avx512 {
    type F32 = __m512;
    type I32 = __m512i;
    type U8 = __m512i;
    type Sum4 = __m512i;

    const FLOAT_ROWS: usize = 12;
    const FLOAT_PAIRS: usize = 12;
    const INT8_ROWS: usize = 12;
    const INT4_ROWS: usize = 12;
    const REGISTERS: usize = 32;
    const BIAS: i32 = 128;

    ops! {
        fn splat(value: f32) -> __m512 { _mm512_set1_ps(value) }
        fn load(from: &[f32; LANES]) -> __m512 { _mm512_loadu_ps(from.as_ptr()) }
        fn store(value: __m512, to: &mut [f32; LANES]) { _mm512_storeu_ps(to.as_mut_ptr(), value) }
        fn add(a: __m512, b: __m512) -> __m512 { _mm512_add_ps(a, b) }
        fn sub(a: __m512, b: __m512) -> __m512 { _mm512_sub_ps(a, b) }
        fn mul(a: __m512, b: __m512) -> __m512 { _mm512_mul_ps(a, b) }
        fn div(a: __m512, b: __m512) -> __m512 { _mm512_div_ps(a, b) }
        fn fma(a: __m512, b: __m512, c: __m512) -> __m512 { _mm512_fmadd_ps(a, b, c) }
        fn max(a: __m512, b: __m512) -> __m512 { _mm512_max_ps(a, b) }
        fn min(a: __m512, b: __m512) -> __m512 { _mm512_min_ps(a, b) }
        fn abs(a: __m512) -> __m512 { _mm512_abs_ps(a) }
        fn round(a: __m512) -> __m512i { _mm512_cvtps_epi32(a) }
        fn to_f32(a: __m512i) -> __m512 { _mm512_cvtepi32_ps(a) }

        fn splat_i32(value: i32) -> __m512i { _mm512_set1_epi32(value) }
        fn load_i32(from: &[i32; LANES]) -> __m512i { _mm512_loadu_epi32(from.as_ptr()) }
        fn store_i32(value: __m512i, to: &mut [i32; LANES]) { _mm512_storeu_epi32(to.as_mut_ptr(), value) }
        fn add_i32(a: __m512i, b: __m512i) -> __m512i { _mm512_add_epi32(a, b) }
        fn shl<const N: u32>(a: __m512i) -> __m512i { _mm512_slli_epi32::<N>(a) }
        fn as_f32(a: __m512i) -> __m512 { _mm512_castsi512_ps(a) }
        fn narrow(a: __m512i) -> [u32; 4] { transmute(_mm512_cvtsepi32_epi8(a)) }

        fn load_f16(from: &[u16; LANES]) -> __m512 { _mm512_cvtph_ps(_mm256_loadu_si256(from.as_ptr().cast())) }
        fn store_f16(value: __m512, to: &mut [u16; LANES]) {
            _mm256_storeu_si256(to.as_mut_ptr().cast(), _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(value));
        }
        fn load_bf16_pair(from: &[u8; 64]) -> [__m512; 2] {
            let pair = _mm512_loadu_epi32(from.as_ptr().cast());
            let high = _mm512_and_si512(pair, _mm512_set1_epi32(0xffff_0000_u32 as i32));
            [_mm512_castsi512_ps(_mm512_slli_epi32::<16>(pair)), _mm512_castsi512_ps(high)]
        }

        fn load_f16_pair(from: &[u8; 64]) -> [__m512; 2] {
            let at = from.as_ptr().cast::<__m256i>();
            [_mm512_cvtph_ps(_mm256_loadu_si256(at)), _mm512_cvtph_ps(_mm256_loadu_si256(at.add(1)))]
        }
        fn field(from: &[u8; 64], shift: u32, mask: u32) -> __m512i {
            let words = _mm512_loadu_epi32(from.as_ptr().cast());
            _mm512_and_si512(_mm512_srl_epi32(words, _mm_cvtsi32_si128(shift as i32)), _mm512_set1_epi32(mask as i32))
        }

        fn load_bytes(from: &[u8; 64]) -> __m512 { _mm512_loadu_ps(from.as_ptr().cast()) }
        fn load_u8(from: &[u8; 64]) -> __m512i { _mm512_loadu_epi32(from.as_ptr().cast()) }
        fn store_u8(value: __m512i, to: &mut [u8; 64]) { _mm512_storeu_epi32(to.as_mut_ptr().cast(), value) }
        fn store_bytes(value: __m512, to: &mut [u8; 64]) { _mm512_storeu_ps(to.as_mut_ptr().cast(), value) }
        fn nibbles(a: __m512i) -> [__m512i; 2] {
            let mask = _mm512_set1_epi8(15);
            [_mm512_and_si512(a, mask), _mm512_and_si512(_mm512_srli_epi16::<4>(a), mask)]
        }
        fn pick(a: __m512i, shift: i32, mask: u8) -> __m512i {
            let count = _mm_cvtsi32_si128(shift.abs());
            let a = if shift < 0 { _mm512_srl_epi16(a, count) } else { _mm512_sll_epi16(a, count) };
            _mm512_and_si512(a, _mm512_set1_epi8(mask as i8))
        }
        fn or_u8(a: __m512i, b: __m512i) -> __m512i { _mm512_or_si512(a, b) }
        fn look_up(a: __m512i, table: &[u8; 16]) -> __m512i {
            _mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_loadu_si128(table.as_ptr().cast())), a)
        }
        fn dot8(sum: __m512i, w: [__m512i; 2], x: i32) -> __m512i { _mm512_dpbusd_epi32(sum, w[0], _mm512_set1_epi32(x)) }
        fn dot4(sum: __m512i, w: __m512i, x: i32) -> __m512i { _mm512_dpbusd_epi32(sum, w, _mm512_set1_epi32(x)) }
    }

    #[inline(always)]
    fn begin4(self, sum: __m512i) -> __m512i {
        sum
    }

    #[inline(always)]
    fn split8(self, w: __m512i) -> [__m512i; 2] {
        [w; 2]
    }

    #[inline(always)]
    fn end4(self, sum: __m512i) -> __m512i {
        sum
    }

    #[inline(always)]
    fn prefetch<T>(self, near: &T, ahead: usize) {
        // SAFETY: a prefetch reads nothing, wherever it points.
        unsafe { _mm_prefetch::<_MM_HINT_T0>((&raw const *near).cast::<i8>().wrapping_add(ahead)) }
    }
}
