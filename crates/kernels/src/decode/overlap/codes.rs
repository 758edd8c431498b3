//! Keys and values of 8 bits: `x = scale · code`, a scale for each position of a head.

use tilewright_tile::{Builder, Scalar, Value, View};

use crate::parts::HeadLanes;

/// What the extreme of a head becomes.
const MOST: f32 = 127.0;
/// Added and taken off again it leaves the nearest whole number, ties to even, of a number up to 2²².
const WHOLE: f32 = 12_582_912.0;

/// Whether a cache holds codes with scales.
pub(super) const fn has_scales(cache: Scalar) -> bool {
    matches!(cache, Scalar::I8)
}

/// How the elements of a key or a value become codes.
#[derive(Clone, Copy)]
pub(super) struct Codes<'k> {
    /// What a code is multiplied with.
    pub(super) scale: Value<'k, f32>,
    inverse: Value<'k, f32>,
}

impl<'k> Codes<'k> {
    /// For row `row` of `heads`, `[rows, head_dim]`, by a SIMD group: the extreme becomes 127.
    pub(super) fn of(k: &'k Builder, lanes: &HeadLanes<'k>, heads: View<'k, f32>, row: u32) -> Self {
        let parts = lanes.load(heads, k.i32(row as i32));
        let most = parts.into_iter().fold(k.f32(0.0), |most, x| most.max(x.abs())).simd_max();
        // Of zeros, and of what is so small that its inverse is none, every code is zero.
        let inverse = most.gt(f32::MIN_POSITIVE * MOST).select(MOST / most, 0.0);
        Self { scale: most / MOST, inverse }
    }

    /// The code of an element.
    pub(super) fn code(&self, x: Value<'k, f32>) -> Value<'k, f32> {
        (x * self.inverse + WHOLE) - WHOLE
    }
}
