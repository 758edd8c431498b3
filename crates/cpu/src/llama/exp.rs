//! The exponential function of softmax and SiLU.

use std::f32::consts::LOG2_E;

/// 1.5 · 2²³: added to a small number and taken off again it leaves the nearest integer.
const SHIFT: f32 = 12_582_912.0;
/// ln 2 in two parts.
const LN_2: [f32; 2] = [0.693_145_75, 1.428_606_8e-6];
/// Beyond this power of two the result is 0 or infinite.
const MOST: f32 = 192.0;

/// `eˣ`.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    let n = x.mul_add(LOG2_E, SHIFT) - SHIFT;
    let r = (-n).mul_add(LN_2[1], (-n).mul_add(LN_2[0], x));
    let square = r * r;
    let low = 0.999_999_4_f32.mul_add(r, 1.0);
    let middle = 0.166_683_96_f32.mul_add(r, 0.499_991_27);
    let high = 0.008_247_39_f32.mul_add(r, 0.041_899_767);
    let fraction = high.mul_add(square, middle).mul_add(square, low);
    // Exact in f64, so the result is rounded once, also where it is no normal number.
    let power = f64::from_bits(((n as i32).wrapping_add(1023) as u64) << 52);
    let scaled = (f64::from(fraction) * power) as f32;
    match n.abs() > MOST {
        true if n <= 0.0 => 0.0,
        true => f32::INFINITY,
        false => scaled,
    }
}
