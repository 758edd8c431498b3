//! Whole-vocabulary scans: finiteness and the greedy choice.
//!
//! They run in blocks whose inner loops have no branch, so that the compiler vectorizes them: a vocabulary of
//! 152 thousand takes some tens of microseconds.

/// Values looked at before a branch.
const BLOCK: usize = 1024;
/// Independent running maxima, enough for one 512-bit or two 256-bit vectors.
const LANES: usize = 16;

/// The index of the first value that is not finite.
pub fn first_not_finite(values: &[f32]) -> Option<usize> {
    let block =
        values.chunks(BLOCK).position(|block| !block.iter().fold(true, |all, x| all & x.is_finite()))?;
    let start = block * BLOCK;
    values[start..].iter().position(|x| !x.is_finite()).map(|i| start + i)
}

/// The index of the largest value, the lowest of equals; 0 for an empty slice. NaN is never the largest.
pub fn argmax(values: &[f32]) -> usize {
    let largest = max(values);
    values
        .chunks(BLOCK)
        .position(|block| block.iter().fold(false, |found, &x| found | (x == largest)))
        .and_then(|block| {
            let start = block * BLOCK;
            values[start..].iter().position(|&x| x == largest).map(|i| start + i)
        })
        .unwrap_or(0)
}

/// The largest value, negative infinity for an empty slice.
pub fn max(values: &[f32]) -> f32 {
    let larger = |a: f32, b: f32| if b > a { b } else { a };
    let (rows, rest) = values.as_chunks::<LANES>();
    let mut lanes = [f32::NEG_INFINITY; LANES];
    for row in rows {
        for (lane, &x) in lanes.iter_mut().zip(row) {
            *lane = larger(*lane, x);
        }
    }
    lanes.iter().chain(rest).fold(f32::NEG_INFINITY, |a, &b| larger(a, b))
}

#[cfg(test)]
mod tests;
