//! Scalar models of the Intel instructions used, after their published descriptions.
#![expect(non_camel_case_types, reason = "the names of the intrinsics' types")]

use std::array::from_fn;

use bytemuck::cast;
use half::f16;

pub(super) type __m128i = [u8; 16];
pub(super) type __m256 = [f32; 8];
pub(super) type __m256i = [u8; 32];
pub(super) type __m512 = [f32; 16];
pub(super) type __m512i = [u8; 64];

pub(super) const _MM_FROUND_TO_NEAREST_INT: i32 = 0;
pub(super) const _MM_HINT_T0: i32 = 3;

/// A register from memory.
fn load<T, R>(at: *const T) -> R {
    // SAFETY: the instructions modelled read as much as their register holds, at an address the caller vouches for.
    unsafe { at.cast::<R>().read_unaligned() }
}

/// A register to memory.
fn store<T, R>(at: *mut T, value: R) {
    // SAFETY: as for `load`.
    unsafe { at.cast::<R>().write_unaligned(value) }
}

/// Functions of whole registers, unsafe like the intrinsics they stand for.
macro_rules! model {
    ($(fn $name:ident $(<const $n:ident: $nty:ty>)? ($($arg:ident: $ty:ty),*) $(-> $ret:ty)? = $body:expr;)*) => {
        $(#[inline(never)] pub(super) unsafe fn $name $(<const $n: $nty>)? ($($arg: $ty),*) $(-> $ret)? { $body })*
    };
}

/// Applies `f` to the lanes of one, two or three registers.
fn map<A, R: Copy, const N: usize>(a: [A; N], f: impl Fn(A) -> R) -> [R; N] {
    a.map(f)
}
fn map2<A: Copy, B: Copy, R, const N: usize>(a: [A; N], b: [B; N], f: impl Fn(A, B) -> R) -> [R; N] {
    from_fn(|i| f(a[i], b[i]))
}

/// VMAXPS and VMINPS: the second operand where the comparison fails.
fn greater(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}
fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// VCVTPS2DQ: nearest even, the "integer indefinite" where it does not fit.
fn to_i32(x: f32) -> i32 {
    let nearest = x.round_ties_even();
    if (-2_147_483_648.0..2_147_483_648.0).contains(&nearest) { nearest as i32 } else { i32::MIN }
}

fn f16_bits(x: f32) -> u16 {
    f16::from_f32(x).to_bits()
}
fn f16_value(bits: u16) -> f32 {
    f16::from_bits(bits).to_f32()
}

/// VPDPBUSD: four u8 times i8 added to each i32, wrapping.
fn dpbusd<const L: usize, const B: usize>(sum: [i32; L], a: [u8; B], b: [i8; B]) -> [i32; L] {
    from_fn(|lane| {
        (4 * lane..4 * lane + 4).fold(sum[lane], |s, i| s.wrapping_add(i32::from(a[i]) * i32::from(b[i])))
    })
}

/// VPMADDUBSW: pairs of u8 times i8, summed with saturation.
fn maddubs(a: [u8; 32], b: [i8; 32]) -> [i16; 16] {
    from_fn(|pair| {
        let product = |i: usize| i32::from(a[i]) * i32::from(b[i]);
        (product(2 * pair) + product(2 * pair + 1)).clamp(-32768, 32767) as i16
    })
}

/// VPMADDWD: pairs of i16, multiplied and summed.
fn maddwd(a: [i16; 16], b: [i16; 16]) -> [i32; 8] {
    from_fn(|pair| {
        let product = |i: usize| i32::from(a[i]) * i32::from(b[i]);
        product(2 * pair).wrapping_add(product(2 * pair + 1))
    })
}

/// VPACKSSDW and VPACKSSWB on 256 bits: each half of the result holds the saturated half of `a`, then that of `b`.
fn packs_32(a: [i32; 8], b: [i32; 8]) -> [i16; 16] {
    from_fn(|i| {
        let from = if i % 8 < 4 { a } else { b };
        from[i / 8 * 4 + i % 4].clamp(-32768, 32767) as i16
    })
}
fn packs_16(a: [i16; 16], b: [i16; 16]) -> [i8; 32] {
    from_fn(|i| {
        let from = if i % 16 < 8 { a } else { b };
        from[i / 16 * 8 + i % 8].clamp(-128, 127) as i8
    })
}

/// VPSHUFB: within each 16 bytes the byte of `a` that the low four bits of `b` name; zero where the high bit of `b` is set.
fn shuffle<const N: usize>(a: [u8; N], b: [u8; N]) -> [u8; N] {
    from_fn(|i| if b[i] & 128 == 0 { a[i / 16 * 16 + usize::from(b[i] & 15)] } else { 0 })
}

/// VPSIGNB: `a` with the sign of `b`, zero where `b` is.
fn sign(a: i8, b: i8) -> i8 {
    a.wrapping_mul(b.signum())
}

model! {
    fn _mm512_set1_ps(x: f32) -> __m512 = [x; 16];
    fn _mm512_set1_epi32(x: i32) -> __m512i = cast([x; 16]);
    fn _mm512_set1_epi8(x: i8) -> __m512i = cast([x; 64]);
    fn _mm512_loadu_ps(at: *const f32) -> __m512 = load(at);
    fn _mm512_storeu_ps(at: *mut f32, a: __m512) = store(at, a);
    fn _mm512_loadu_epi32(at: *const i32) -> __m512i = load(at);
    fn _mm512_storeu_epi32(at: *mut i32, a: __m512i) = store(at, a);
    fn _mm512_castsi512_ps(a: __m512i) -> __m512 = cast(a);
    fn _mm512_add_ps(a: __m512, b: __m512) -> __m512 = map2(a, b, |a, b| a + b);
    fn _mm512_sub_ps(a: __m512, b: __m512) -> __m512 = map2(a, b, |a, b| a - b);
    fn _mm512_mul_ps(a: __m512, b: __m512) -> __m512 = map2(a, b, |a, b| a * b);
    fn _mm512_div_ps(a: __m512, b: __m512) -> __m512 = map2(a, b, |a, b| a / b);
    fn _mm512_max_ps(a: __m512, b: __m512) -> __m512 = map2(a, b, greater);
    fn _mm512_min_ps(a: __m512, b: __m512) -> __m512 = map2(a, b, smaller);
    fn _mm512_abs_ps(a: __m512) -> __m512 = map(a, f32::abs);
    fn _mm512_fmadd_ps(a: __m512, b: __m512, c: __m512) -> __m512 = from_fn(|i| a[i].mul_add(b[i], c[i]));
    fn _mm512_cvtps_epi32(a: __m512) -> __m512i = cast(map(a, to_i32));
    fn _mm512_cvtepi32_ps(a: __m512i) -> __m512 = map(cast::<_, [i32; 16]>(a), |x| x as f32);
    fn _mm512_cvtsepi32_epi8(a: __m512i) -> __m128i =
        cast(map(cast::<_, [i32; 16]>(a), |x| x.clamp(-128, 127) as i8));
    fn _mm512_cvtph_ps(a: __m256i) -> __m512 = map(cast::<_, [u16; 16]>(a), f16_value);
    fn _mm512_cvtps_ph<const ROUND: i32>(a: __m512) -> __m256i = cast(map(a, f16_bits));
    fn _mm512_add_epi32(a: __m512i, b: __m512i) -> __m512i =
        cast(map2(cast::<_, [i32; 16]>(a), cast::<_, [i32; 16]>(b), i32::wrapping_add));
    fn _mm512_and_si512(a: __m512i, b: __m512i) -> __m512i = map2(a, b, |a, b| a & b);
    fn _mm512_slli_epi32<const N: u32>(a: __m512i) -> __m512i = cast(map(cast::<_, [i32; 16]>(a), |x| x << N));
    fn _mm512_sll_epi16(a: __m512i, count: __m128i) -> __m512i =
        cast(map(cast::<_, [u16; 32]>(a), |x| x << cast::<_, [u64; 2]>(count)[0]));
    fn _mm512_srl_epi16(a: __m512i, count: __m128i) -> __m512i =
        cast(map(cast::<_, [u16; 32]>(a), |x| x >> cast::<_, [u64; 2]>(count)[0]));
    fn _mm512_srl_epi32(a: __m512i, count: __m128i) -> __m512i =
        cast(map(cast::<_, [u32; 16]>(a), |x| x >> cast::<_, [u64; 2]>(count)[0]));
    fn _mm512_or_si512(a: __m512i, b: __m512i) -> __m512i = map2(a, b, |a, b| a | b);
    fn _mm512_broadcast_i32x4(a: __m128i) -> __m512i = cast([a; 4]);
    fn _mm512_shuffle_epi8(a: __m512i, b: __m512i) -> __m512i = shuffle(a, b);
    fn _mm512_srli_epi16<const N: u32>(a: __m512i) -> __m512i = cast(map(cast::<_, [u16; 32]>(a), |x| x >> N));
    fn _mm512_dpbusd_epi32(sum: __m512i, a: __m512i, b: __m512i) -> __m512i =
        cast(dpbusd::<16, 64>(cast(sum), a, cast(b)));

    fn _mm256_set1_ps(x: f32) -> __m256 = [x; 8];
    fn _mm256_set1_epi32(x: i32) -> __m256i = cast([x; 8]);
    fn _mm256_set1_epi16(x: i16) -> __m256i = cast([x; 16]);
    fn _mm256_set1_epi8(x: i8) -> __m256i = cast([x; 32]);
    fn _mm256_loadu_ps(at: *const f32) -> __m256 = load(at);
    fn _mm256_storeu_ps(at: *mut f32, a: __m256) = store(at, a);
    fn _mm256_loadu_si256(at: *const __m256i) -> __m256i = load(at);
    fn _mm256_storeu_si256(at: *mut __m256i, a: __m256i) = store(at, a);
    fn _mm256_castsi256_ps(a: __m256i) -> __m256 = cast(a);
    fn _mm256_castsi256_si128(a: __m256i) -> __m128i = from_fn(|i| a[i]);
    fn _mm256_extracti128_si256<const HALF: i32>(a: __m256i) -> __m128i = from_fn(|i| a[16 * HALF as usize + i]);
    fn _mm256_add_ps(a: __m256, b: __m256) -> __m256 = map2(a, b, |a, b| a + b);
    fn _mm256_sub_ps(a: __m256, b: __m256) -> __m256 = map2(a, b, |a, b| a - b);
    fn _mm256_mul_ps(a: __m256, b: __m256) -> __m256 = map2(a, b, |a, b| a * b);
    fn _mm256_div_ps(a: __m256, b: __m256) -> __m256 = map2(a, b, |a, b| a / b);
    fn _mm256_max_ps(a: __m256, b: __m256) -> __m256 = map2(a, b, greater);
    fn _mm256_min_ps(a: __m256, b: __m256) -> __m256 = map2(a, b, smaller);
    fn _mm256_and_ps(a: __m256, b: __m256) -> __m256 =
        map2(a, b, |a, b| f32::from_bits(a.to_bits() & b.to_bits()));
    fn _mm256_fmadd_ps(a: __m256, b: __m256, c: __m256) -> __m256 = from_fn(|i| a[i].mul_add(b[i], c[i]));
    fn _mm256_cvtps_epi32(a: __m256) -> __m256i = cast(map(a, to_i32));
    fn _mm256_cvtepi32_ps(a: __m256i) -> __m256 = map(cast::<_, [i32; 8]>(a), |x| x as f32);
    fn _mm256_cvtph_ps(a: __m128i) -> __m256 = map(cast::<_, [u16; 8]>(a), f16_value);
    fn _mm256_cvtps_ph<const ROUND: i32>(a: __m256) -> __m128i = cast(map(a, f16_bits));
    fn _mm256_add_epi32(a: __m256i, b: __m256i) -> __m256i =
        cast(map2(cast::<_, [i32; 8]>(a), cast::<_, [i32; 8]>(b), i32::wrapping_add));
    fn _mm256_add_epi16(a: __m256i, b: __m256i) -> __m256i =
        cast(map2(cast::<_, [i16; 16]>(a), cast::<_, [i16; 16]>(b), i16::wrapping_add));
    fn _mm256_and_si256(a: __m256i, b: __m256i) -> __m256i = map2(a, b, |a, b| a & b);
    fn _mm256_xor_si256(a: __m256i, b: __m256i) -> __m256i = map2(a, b, |a, b| a ^ b);
    fn _mm256_abs_epi8(a: __m256i) -> __m256i = map(a, |x| (x as i8).unsigned_abs());
    fn _mm256_sign_epi8(a: __m256i, b: __m256i) -> __m256i = map2(a, b, |a, b| sign(a as i8, b as i8) as u8);
    fn _mm256_sll_epi32(a: __m256i, count: __m128i) -> __m256i =
        cast(map(cast::<_, [i32; 8]>(a), |x| x << cast::<_, [u64; 2]>(count)[0]));
    fn _mm256_slli_epi32<const N: i32>(a: __m256i) -> __m256i = cast(map(cast::<_, [i32; 8]>(a), |x| x << N));
    fn _mm256_srli_epi16<const N: i32>(a: __m256i) -> __m256i = cast(map(cast::<_, [u16; 16]>(a), |x| x >> N));
    fn _mm256_sll_epi16(a: __m256i, count: __m128i) -> __m256i =
        cast(map(cast::<_, [u16; 16]>(a), |x| x << cast::<_, [u64; 2]>(count)[0]));
    fn _mm256_srl_epi16(a: __m256i, count: __m128i) -> __m256i =
        cast(map(cast::<_, [u16; 16]>(a), |x| x >> cast::<_, [u64; 2]>(count)[0]));
    fn _mm256_srl_epi32(a: __m256i, count: __m128i) -> __m256i =
        cast(map(cast::<_, [u32; 8]>(a), |x| x >> cast::<_, [u64; 2]>(count)[0]));
    fn _mm256_or_si256(a: __m256i, b: __m256i) -> __m256i = map2(a, b, |a, b| a | b);
    fn _mm256_broadcastsi128_si256(a: __m128i) -> __m256i = cast([a; 2]);
    fn _mm256_shuffle_epi8(a: __m256i, b: __m256i) -> __m256i = shuffle(a, b);
    fn _mm256_maddubs_epi16(a: __m256i, b: __m256i) -> __m256i = cast(maddubs(a, cast(b)));
    fn _mm256_madd_epi16(a: __m256i, b: __m256i) -> __m256i = cast(maddwd(cast(a), cast(b)));
    fn _mm256_packs_epi32(a: __m256i, b: __m256i) -> __m256i = cast(packs_32(cast(a), cast(b)));
    fn _mm256_packs_epi16(a: __m256i, b: __m256i) -> __m256i = cast(packs_16(cast(a), cast(b)));
    fn _mm256_permute4x64_epi64<const ORDER: i32>(a: __m256i) -> __m256i =
        cast::<[u64; 4], _>(from_fn(|i| cast::<_, [u64; 4]>(a)[(ORDER as usize >> (2 * i)) & 3]));
    fn _mm256_dpbusd_avx_epi32(sum: __m256i, a: __m256i, b: __m256i) -> __m256i =
        cast(dpbusd::<8, 32>(cast(sum), a, cast(b)));

    fn _mm_loadu_si128(at: *const __m128i) -> __m128i = load(at);
    fn _mm_storeu_si128(at: *mut __m128i, a: __m128i) = store(at, a);
    fn _mm_cvtsi32_si128(x: i32) -> __m128i = cast([x, 0, 0, 0]);
    fn _mm_cvtsi128_si64(a: __m128i) -> i64 = cast::<_, [i64; 2]>(a)[0];
    fn _mm_prefetch<const HINT: i32>(_at: *const i8) = ();
}
