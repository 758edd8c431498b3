//! Online softmax: a weighted sum of values whose weights are `exp(score)`, kept relative to the largest score so far.

use tilewright_tile::{Builder, Value};

/// The score of a key nobody sees: low enough that its weight is zero, and no infinity whose difference is NaN.
pub const UNSEEN: f32 = -1e30;

/// The largest score, the sum of weights, and this lane's part of the weighted sum of values.
pub type State<'k> = (Value<'k, f32>, Value<'k, f32>, Vec<Value<'k, f32>>);

/// Nothing seen yet, for values of which a lane holds `parts`.
pub fn nothing(k: &Builder, parts: usize) -> State<'_> {
    (k.f32(UNSEEN), k.f32(0.0), vec![k.f32(0.0); parts])
}

/// One more key seen.
pub fn see<'k>((most, sum, mixed): State<'k>, score: Value<'k, f32>, value: &[Value<'k, f32>]) -> State<'k> {
    let next = most.max(score);
    let (old, new) = ((most - next).exp(), (score - next).exp());
    let mixed = mixed.iter().zip(value).map(|(&mixed, &value)| (mixed * old).fma(new, value)).collect();
    (next, new.fma(sum, old), mixed)
}

/// The weighted mean.
pub fn mean<'k>((_, sum, mixed): State<'k>) -> Vec<Value<'k, f32>> {
    mixed.into_iter().map(|mixed| mixed / sum).collect()
}
