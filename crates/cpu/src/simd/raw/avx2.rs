//! AVX2, FMA and F16C, with or without AVX-VNNI: a vector is two registers, lanes 0 to 7 first.

use super::arch::*;
use crate::simd::raw::ops;
use crate::simd::{Entry, LANES, Simd};

/// Proof that the instructions are enabled here.
#[derive(Clone, Copy)]
pub(crate) struct Avx2<const VNNI: bool>(());

impl<const VNNI: bool> Avx2<VNNI> {
    /// # Safety
    /// Only inside a function that has the instructions enabled.
    #[inline(always)]
    pub(crate) unsafe fn enabled() -> Self {
        Self(())
    }
}

type F = [__m256; 2];
type I = [__m256i; 2];

impl<const VNNI: bool> Simd for Avx2<VNNI>
where
    Self: Entry,
{
    type F32 = F;
    type I32 = I;
    type U8 = I;
    /// The sums, and what is still in pairs of i16 beside them; VNNI leaves the pairs alone.
    type Sum4 = [I; 2];

    const FLOAT_ROWS: usize = 6;
    const FLOAT_PAIRS: usize = 2;
    const INT8_ROWS: usize = if VNNI { 6 } else { 4 };
    const INT4_ROWS: usize = 6;
    const REGISTERS: usize = 8;
    const BIAS: i32 = if VNNI { 128 } else { 0 };

    ops! {
        fn splat(value: f32) -> F { [_mm256_set1_ps(value); 2] }
        fn load(from: &[f32; LANES]) -> F {
            [_mm256_loadu_ps(from.as_ptr()), _mm256_loadu_ps(from.as_ptr().add(8))]
        }
        fn store(value: F, to: &mut [f32; LANES]) {
            _mm256_storeu_ps(to.as_mut_ptr(), value[0]);
            _mm256_storeu_ps(to.as_mut_ptr().add(8), value[1]);
        }
        fn add(a: F, b: F) -> F { [_mm256_add_ps(a[0], b[0]), _mm256_add_ps(a[1], b[1])] }
        fn sub(a: F, b: F) -> F { [_mm256_sub_ps(a[0], b[0]), _mm256_sub_ps(a[1], b[1])] }
        fn mul(a: F, b: F) -> F { [_mm256_mul_ps(a[0], b[0]), _mm256_mul_ps(a[1], b[1])] }
        fn div(a: F, b: F) -> F { [_mm256_div_ps(a[0], b[0]), _mm256_div_ps(a[1], b[1])] }
        fn fma(a: F, b: F, c: F) -> F { [_mm256_fmadd_ps(a[0], b[0], c[0]), _mm256_fmadd_ps(a[1], b[1], c[1])] }
        fn max(a: F, b: F) -> F { [_mm256_max_ps(a[0], b[0]), _mm256_max_ps(a[1], b[1])] }
        fn min(a: F, b: F) -> F { [_mm256_min_ps(a[0], b[0]), _mm256_min_ps(a[1], b[1])] }
        fn abs(a: F) -> F {
            let mask = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fff_ffff));
            [_mm256_and_ps(a[0], mask), _mm256_and_ps(a[1], mask)]
        }
        fn round(a: F) -> I { [_mm256_cvtps_epi32(a[0]), _mm256_cvtps_epi32(a[1])] }
        fn to_f32(a: I) -> F { [_mm256_cvtepi32_ps(a[0]), _mm256_cvtepi32_ps(a[1])] }

        fn splat_i32(value: i32) -> I { [_mm256_set1_epi32(value); 2] }
        fn load_i32(from: &[i32; LANES]) -> I {
            let at = from.as_ptr().cast::<__m256i>();
            [_mm256_loadu_si256(at), _mm256_loadu_si256(at.add(1))]
        }
        fn store_i32(value: I, to: &mut [i32; LANES]) {
            let at = to.as_mut_ptr().cast::<__m256i>();
            _mm256_storeu_si256(at, value[0]);
            _mm256_storeu_si256(at.add(1), value[1]);
        }
        fn add_i32(a: I, b: I) -> I { [_mm256_add_epi32(a[0], b[0]), _mm256_add_epi32(a[1], b[1])] }
        fn shl<const N: u32>(a: I) -> I {
            let count = _mm_cvtsi32_si128(N as i32);
            [_mm256_sll_epi32(a[0], count), _mm256_sll_epi32(a[1], count)]
        }
        fn as_f32(a: I) -> F { [_mm256_castsi256_ps(a[0]), _mm256_castsi256_ps(a[1])] }
        fn narrow(a: I) -> [u32; 4] {
            // Packing works within halves of a register: the permutation brings the lanes back into order.
            let words = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi32(a[0], a[1]));
            let bytes = _mm256_packs_epi16(words, words);
            let low = _mm_cvtsi128_si64(_mm256_castsi256_si128(bytes)) as u64;
            let high = _mm_cvtsi128_si64(_mm256_extracti128_si256::<1>(bytes)) as u64;
            [low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32]
        }

        fn load_f16(from: &[u16; LANES]) -> F {
            let at = from.as_ptr().cast::<__m128i>();
            [_mm256_cvtph_ps(_mm_loadu_si128(at)), _mm256_cvtph_ps(_mm_loadu_si128(at.add(1)))]
        }
        fn store_f16(value: F, to: &mut [u16; LANES]) {
            let at = to.as_mut_ptr().cast::<__m128i>();
            _mm_storeu_si128(at, _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(value[0]));
            _mm_storeu_si128(at.add(1), _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(value[1]));
        }
        fn load_bf16_pair(from: &[u8; 64]) -> [F; 2] {
            let at = from.as_ptr().cast::<__m256i>();
            let pair = [_mm256_loadu_si256(at), _mm256_loadu_si256(at.add(1))];
            let mask = _mm256_set1_epi32(0xffff_0000_u32 as i32);
            let high = [_mm256_and_si256(pair[0], mask), _mm256_and_si256(pair[1], mask)];
            [
                [
                    _mm256_castsi256_ps(_mm256_slli_epi32::<16>(pair[0])),
                    _mm256_castsi256_ps(_mm256_slli_epi32::<16>(pair[1])),
                ],
                [_mm256_castsi256_ps(high[0]), _mm256_castsi256_ps(high[1])],
            ]
        }

        fn load_f16_pair(from: &[u8; 64]) -> [F; 2] {
            let at = from.as_ptr().cast::<__m128i>();
            [
                [_mm256_cvtph_ps(_mm_loadu_si128(at)), _mm256_cvtph_ps(_mm_loadu_si128(at.add(1)))],
                [_mm256_cvtph_ps(_mm_loadu_si128(at.add(2))), _mm256_cvtph_ps(_mm_loadu_si128(at.add(3)))],
            ]
        }
        fn field(from: &[u8; 64], shift: u32, mask: u32) -> I {
            let at = from.as_ptr().cast::<__m256i>();
            let (count, mask) = (_mm_cvtsi32_si128(shift as i32), _mm256_set1_epi32(mask as i32));
            [
                _mm256_and_si256(_mm256_srl_epi32(_mm256_loadu_si256(at), count), mask),
                _mm256_and_si256(_mm256_srl_epi32(_mm256_loadu_si256(at.add(1)), count), mask),
            ]
        }

        fn load_bytes(from: &[u8; 64]) -> F {
            let at = from.as_ptr().cast::<f32>();
            [_mm256_loadu_ps(at), _mm256_loadu_ps(at.add(8))]
        }
        fn load_u8(from: &[u8; 64]) -> I {
            let at = from.as_ptr().cast::<__m256i>();
            [_mm256_loadu_si256(at), _mm256_loadu_si256(at.add(1))]
        }
        fn store_u8(value: I, to: &mut [u8; 64]) {
            let at = to.as_mut_ptr().cast::<__m256i>();
            _mm256_storeu_si256(at, value[0]);
            _mm256_storeu_si256(at.add(1), value[1]);
        }
        fn store_bytes(value: F, to: &mut [u8; 64]) {
            let at = to.as_mut_ptr().cast::<f32>();
            _mm256_storeu_ps(at, value[0]);
            _mm256_storeu_ps(at.add(8), value[1]);
        }
        fn nibbles(a: I) -> [I; 2] {
            let mask = _mm256_set1_epi8(15);
            [
                [_mm256_and_si256(a[0], mask), _mm256_and_si256(a[1], mask)],
                [
                    _mm256_and_si256(_mm256_srli_epi16::<4>(a[0]), mask),
                    _mm256_and_si256(_mm256_srli_epi16::<4>(a[1]), mask),
                ],
            ]
        }
        fn pick(a: I, shift: i32, mask: u8) -> I {
            let (count, mask) = (_mm_cvtsi32_si128(shift.abs()), _mm256_set1_epi8(mask as i8));
            let a = if shift < 0 {
                [_mm256_srl_epi16(a[0], count), _mm256_srl_epi16(a[1], count)]
            } else {
                [_mm256_sll_epi16(a[0], count), _mm256_sll_epi16(a[1], count)]
            };
            [_mm256_and_si256(a[0], mask), _mm256_and_si256(a[1], mask)]
        }
        fn or_u8(a: I, b: I) -> I { [_mm256_or_si256(a[0], b[0]), _mm256_or_si256(a[1], b[1])] }
        fn look_up(a: I, table: &[u8; 16]) -> I {
            let table = _mm256_broadcastsi128_si256(_mm_loadu_si128(table.as_ptr().cast()));
            [_mm256_shuffle_epi8(table, a[0]), _mm256_shuffle_epi8(table, a[1])]
        }
        fn split8(w: I) -> [I; 2] {
            if VNNI {
                return [w; 2];
            }
            // The magnitude of the weight, and the weight.
            let flip = _mm256_set1_epi8(-128);
            let w = [_mm256_xor_si256(w[0], flip), _mm256_xor_si256(w[1], flip)];
            [[_mm256_abs_epi8(w[0]), _mm256_abs_epi8(w[1])], w]
        }
        fn dot8(sum: I, w: [I; 2], x: i32) -> I {
            let (x, ones) = (_mm256_set1_epi32(x), _mm256_set1_epi16(1));
            let [magnitude, w] = w;
            if VNNI {
                return [_mm256_dpbusd_avx_epi32(sum[0], w[0], x), _mm256_dpbusd_avx_epi32(sum[1], w[1], x)];
            }
            // |w| times x with the sign of w: sums of two products then fit 16 bits.
            let p0 = _mm256_maddubs_epi16(magnitude[0], _mm256_sign_epi8(x, w[0]));
            let p1 = _mm256_maddubs_epi16(magnitude[1], _mm256_sign_epi8(x, w[1]));
            [
                _mm256_add_epi32(sum[0], _mm256_madd_epi16(p0, ones)),
                _mm256_add_epi32(sum[1], _mm256_madd_epi16(p1, ones)),
            ]
        }
        fn begin4(sum: I) -> [I; 2] { [sum, [_mm256_set1_epi32(0); 2]] }
        fn dot4(sum: [I; 2], w: I, x: i32) -> [I; 2] {
            let ([sum, pairs], x) = (sum, _mm256_set1_epi32(x));
            if VNNI {
                let sum = [_mm256_dpbusd_avx_epi32(sum[0], w[0], x), _mm256_dpbusd_avx_epi32(sum[1], w[1], x)];
                return [sum, pairs];
            }
            // Eight sums of two products, each at most 15 * 128 in magnitude, stay within 16 bits.
            let products = [_mm256_maddubs_epi16(w[0], x), _mm256_maddubs_epi16(w[1], x)];
            [sum, [_mm256_add_epi16(pairs[0], products[0]), _mm256_add_epi16(pairs[1], products[1])]]
        }
        fn end4(sum: [I; 2]) -> I {
            let ([sum, pairs], ones) = (sum, _mm256_set1_epi16(1));
            if VNNI {
                return sum;
            }
            [
                _mm256_add_epi32(sum[0], _mm256_madd_epi16(pairs[0], ones)),
                _mm256_add_epi32(sum[1], _mm256_madd_epi16(pairs[1], ones)),
            ]
        }
    }

    #[inline(always)]
    fn prefetch<T>(self, near: &T, ahead: usize) {
        // SAFETY: a prefetch reads nothing, wherever it points.
        unsafe { _mm_prefetch::<_MM_HINT_T0>((&raw const *near).cast::<i8>().wrapping_add(ahead)) }
    }
}
