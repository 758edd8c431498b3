//! Rotary position embedding: pairs of a head turned by the angle of their position.

use tilewright_tile::Value;

use super::arithmetic::Arithmetic;

/// The pair `(a, b)` turned: `(a·cos − b·sin, b·cos + a·sin)`.
pub fn turn<'k>(
    arithmetic: Arithmetic,
    (a, b): (Value<'k, f32>, Value<'k, f32>),
    (cos, sin): (Value<'k, f32>, Value<'k, f32>),
) -> (Value<'k, f32>, Value<'k, f32>) {
    match arithmetic {
        Arithmetic::Separate => (a * cos - b * sin, b * cos + a * sin),
        Arithmetic::Fused => ((-(b * sin)).fma(a, cos), (a * sin).fma(b, cos)),
    }
}
