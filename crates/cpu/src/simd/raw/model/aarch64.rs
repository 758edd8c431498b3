//! Scalar models of the Arm instructions used, after their published descriptions.
#![expect(non_camel_case_types, reason = "the names of the intrinsics' types")]

use std::array::from_fn;

use bytemuck::cast;

pub(super) type float32x4_t = [f32; 4];
pub(super) type int32x4_t = [i32; 4];
pub(super) type uint32x4_t = [u32; 4];
pub(super) type int16x4_t = [i16; 4];
pub(super) type int16x8_t = [i16; 8];
pub(super) type int8x8_t = [i8; 8];
pub(super) type int8x16_t = [i8; 16];
pub(super) type uint8x16_t = [u8; 16];

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

/// SSHL: to the left by a positive count, to the right by a negative one.
fn shift(x: i32, by: i32) -> i32 {
    if by >= 0 { x << by } else { x >> -by }
}

/// FCVTNS: nearest even, saturated, zero for what is not a number.
fn to_i32(x: f32) -> i32 {
    x.round_ties_even() as i32
}

/// SDOT: four i8 products added to each i32, wrapping.
fn dot(sum: int32x4_t, a: int8x16_t, b: int8x16_t) -> int32x4_t {
    from_fn(|lane| {
        (4 * lane..4 * lane + 4).fold(sum[lane], |s, i| s.wrapping_add(i32::from(a[i]) * i32::from(b[i])))
    })
}

model! {
    fn vdupq_n_f32(x: f32) -> float32x4_t = [x; 4];
    fn vdupq_n_s32(x: i32) -> int32x4_t = [x; 4];
    fn vdupq_n_u8(x: u8) -> uint8x16_t = [x; 16];
    fn vdupq_n_s8(x: i8) -> int8x16_t = [x; 16];
    fn vshlq_u8(a: uint8x16_t, by: int8x16_t) -> uint8x16_t =
        from_fn(|i| if by[i] < 0 { a[i] >> -by[i] } else { a[i] << by[i] });
    fn vorrq_u8(a: uint8x16_t, b: uint8x16_t) -> uint8x16_t = from_fn(|i| a[i] | b[i]);
    fn vqtbl1q_u8(table: uint8x16_t, a: uint8x16_t) -> uint8x16_t =
        from_fn(|i| table.get(usize::from(a[i])).copied().unwrap_or(0));
    fn vld1q_f32(at: *const f32) -> float32x4_t = load(at);
    fn vld1q_s32(at: *const i32) -> int32x4_t = load(at);
    fn vld1q_u8(at: *const u8) -> uint8x16_t = load(at);
    fn vst1q_f32(at: *mut f32, a: float32x4_t) = store(at, a);
    fn vst1q_s32(at: *mut i32, a: int32x4_t) = store(at, a);
    fn vst1q_u8(at: *mut u8, a: uint8x16_t) = store(at, a);
    fn vst1_s8(at: *mut i8, a: int8x8_t) = store(at, a);
    fn vreinterpretq_f32_s32(a: int32x4_t) -> float32x4_t = cast(a);
    fn vreinterpretq_s8_s32(a: int32x4_t) -> int8x16_t = cast(a);
    fn vreinterpretq_s8_u8(a: uint8x16_t) -> int8x16_t = cast(a);

    fn vaddq_f32(a: float32x4_t, b: float32x4_t) -> float32x4_t = from_fn(|i| a[i] + b[i]);
    fn vsubq_f32(a: float32x4_t, b: float32x4_t) -> float32x4_t = from_fn(|i| a[i] - b[i]);
    fn vmulq_f32(a: float32x4_t, b: float32x4_t) -> float32x4_t = from_fn(|i| a[i] * b[i]);
    fn vdivq_f32(a: float32x4_t, b: float32x4_t) -> float32x4_t = from_fn(|i| a[i] / b[i]);
    fn vfmaq_f32(a: float32x4_t, b: float32x4_t, c: float32x4_t) -> float32x4_t =
        from_fn(|i| b[i].mul_add(c[i], a[i]));
    fn vabsq_f32(a: float32x4_t) -> float32x4_t = a.map(f32::abs);
    fn vcgtq_f32(a: float32x4_t, b: float32x4_t) -> uint32x4_t = from_fn(|i| if a[i] > b[i] { u32::MAX } else { 0 });
    fn vcltq_f32(a: float32x4_t, b: float32x4_t) -> uint32x4_t = from_fn(|i| if a[i] < b[i] { u32::MAX } else { 0 });
    fn vbslq_f32(mask: uint32x4_t, a: float32x4_t, b: float32x4_t) -> float32x4_t =
        from_fn(|i| f32::from_bits(mask[i] & a[i].to_bits() | !mask[i] & b[i].to_bits()));
    fn vcvtnq_s32_f32(a: float32x4_t) -> int32x4_t = a.map(to_i32);
    fn vcvtq_f32_s32(a: int32x4_t) -> float32x4_t = a.map(|x| x as f32);

    fn vaddq_s32(a: int32x4_t, b: int32x4_t) -> int32x4_t = from_fn(|i| a[i].wrapping_add(b[i]));
    fn vandq_s32(a: int32x4_t, b: int32x4_t) -> int32x4_t = from_fn(|i| a[i] & b[i]);
    fn vshlq_s32(a: int32x4_t, by: int32x4_t) -> int32x4_t = from_fn(|i| shift(a[i], by[i]));
    fn vshlq_n_s32<const N: i32>(a: int32x4_t) -> int32x4_t = a.map(|x| x << N);
    fn vqmovn_s32(a: int32x4_t) -> int16x4_t = a.map(|x| x.clamp(-32768, 32767) as i16);
    fn vqmovn_s16(a: int16x8_t) -> int8x8_t = a.map(|x| x.clamp(-128, 127) as i8);
    fn vcombine_s16(low: int16x4_t, high: int16x4_t) -> int16x8_t = cast([low, high]);

    fn vandq_u8(a: uint8x16_t, b: uint8x16_t) -> uint8x16_t = from_fn(|i| a[i] & b[i]);
    fn veorq_u8(a: uint8x16_t, b: uint8x16_t) -> uint8x16_t = from_fn(|i| a[i] ^ b[i]);
    fn vshrq_n_u8<const N: i32>(a: uint8x16_t) -> uint8x16_t = a.map(|x| x >> N);
    fn vget_low_s8(a: int8x16_t) -> int8x8_t = from_fn(|i| a[i]);
    fn vget_high_s8(a: int8x16_t) -> int8x8_t = from_fn(|i| a[8 + i]);
    fn vmull_s8(a: int8x8_t, b: int8x8_t) -> int16x8_t = from_fn(|i| i16::from(a[i]) * i16::from(b[i]));
    fn vpaddq_s16(a: int16x8_t, b: int16x8_t) -> int16x8_t = from_fn(|i| {
        let from = if i < 4 { a } else { b };
        from[2 * (i % 4)].wrapping_add(from[2 * (i % 4) + 1])
    });
    fn vpadalq_s16(sum: int32x4_t, a: int16x8_t) -> int32x4_t =
        from_fn(|i| sum[i].wrapping_add(i32::from(a[2 * i]) + i32::from(a[2 * i + 1])));

    fn sdot(sum: int32x4_t, a: int8x16_t, b: int8x16_t) -> int32x4_t = dot(sum, a, b);
    fn prefetch(_at: *const i8) = ();
}
