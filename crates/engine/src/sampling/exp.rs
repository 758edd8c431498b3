//! The exponential of the weights.
//!
//! Written out so that a weight has the same bits on every machine (system libraries differ in the last place, and
//! a draw near a border would differ with them), and so that it vectorizes: a whole vocabulary is weighed at once.

/// 1.5 * 2^52: adding it leaves the nearest integer in the low bits.
const TO_INTEGER: f64 = 6_755_399_441_055_744.0;
/// ln 2 in two parts: the first has zeros in its last 21 bits, so that products with small integers are exact.
const LN_2_HIGH: f64 = f64::from_bits(0x3FE6_2E42_FEE0_0000);
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// Below this the result counts as 0: it would be subnormal or nearly so.
const LEAST: f64 = -708.0;

/// `e^x` for x in [-∞, 0], within two units in the last place; 0 below -708.
///
/// With `n` the integer nearest to `x / ln 2`, it is `2^n e^r`, where `r = x - n ln 2` is at most 0.35 in magnitude
/// and the Taylor series to the 13th power leaves less than rounding does.
#[inline]
pub(crate) fn exp(x: f64) -> f64 {
    let bounded = x.max(LEAST);
    let shifted = bounded * std::f64::consts::LOG2_E + TO_INTEGER;
    let n = shifted - TO_INTEGER;
    let r = (bounded - n * LN_2_HIGH) - n * LN_2_LOW;

    let mut series = 1.0 / 6_227_020_800.0;
    for inverse in [
        1.0 / 479_001_600.0,
        1.0 / 39_916_800.0,
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5_040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    ] {
        series = series * r + inverse;
    }
    // The low bits of `shifted` are n; moved into the exponent with its bias they are 2^n.
    let power = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    if x < LEAST { 0.0 } else { series * power }
}

#[cfg(test)]
mod tests;
