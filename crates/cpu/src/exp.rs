//! The exponential function, for softmax and SiLU.
//!
//! The largest error is below one unit in the last place over the range in which the result is a normal number (a
//! test sweeps it), and the bits are the same on every instruction set.

use std::f32::consts::LOG2_E;

use crate::simd::Simd;

/// ln 2 in two parts; products of the first with exponents are exact.
const LN_2_HIGH: f32 = 0.693_359_4; // 355 / 512
const LN_2_LOW: f32 = -2.121_944_4e-4;

/// (eʳ − 1 − r) / r² for |r| ≤ ln 2 / 2 with the least largest relative error of eʳ; highest power first.
const TAIL: [f32; 5] = [0.001_381_454, 0.008_368_745, 0.041_668_39, 0.166_665_21, 0.499_999_94];

/// Below this the result would not be a normal number; it is held there, at 1.2e-38.
const LEAST: f32 = -87.336_54;
/// Above this the result would overflow; it is held there, at 2.4e38.
const MOST: f32 = 88.376_26;

/// `eˣ`, with `x` held to `LEAST..=MOST`; NaN for NaN.
#[inline(always)]
pub(crate) fn exp<S: Simd>(s: S, x: S::F32) -> S::F32 {
    // In this order of arguments a NaN passes through.
    let x = s.max(s.splat(LEAST), s.min(s.splat(MOST), x));
    let exponent = s.round(s.mul(x, s.splat(LOG2_E)));
    let whole = s.to_f32(exponent);
    let r = s.fma(whole, s.splat(-LN_2_HIGH), x);
    let r = s.fma(whole, s.splat(-LN_2_LOW), r);
    let mut tail = s.splat(TAIL[0]);
    for coefficient in &TAIL[1..] {
        tail = s.fma(tail, r, s.splat(*coefficient));
    }
    let fraction = s.add(s.fma(tail, s.mul(r, r), r), s.splat(1.0));
    let power = s.as_f32(s.shl::<23>(s.add_i32(exponent, s.splat_i32(127))));
    s.mul(fraction, power)
}

#[cfg(test)]
mod tests;
