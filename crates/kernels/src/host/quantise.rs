//! From rows of f32 to codes and scales.
//!
//! A group's scale takes its greatest magnitude to the end of the codes: to 127, or (4 bits) to −8 on the side where
//! the extreme lies, so that the sixteenth code is used. Scales are rounded to their type first, and weights to multiples
//! of the rounded scale.

use half::{bf16, f16};
use tilewright_tile::Scalar;

use super::put_float;

/// One byte a code.
pub(super) fn int8(numbers: &[f32], sizes: (usize, usize), codes: &mut [u8], scales: (&mut [u8], Scalar)) {
    let mut codes = codes.iter_mut();
    each_group(
        numbers,
        sizes,
        scales,
        |extreme| extreme.abs() / 127.0,
        |steps| {
            let bytes = steps.iter().map(|step| step.clamp(-127.0, 127.0) as i8 as u8);
            codes.by_ref().zip(bytes).for_each(|(code, byte)| *code = byte);
        },
    );
}

/// Half a byte a code, the first in the low bits.
pub(super) fn int4(numbers: &[f32], sizes: (usize, usize), codes: &mut [u8], scales: (&mut [u8], Scalar)) {
    let mut codes = codes.iter_mut();
    each_group(
        numbers,
        sizes,
        scales,
        |extreme| extreme / -8.0,
        |steps| {
            let nibble = |step: &f32| (step.clamp(-8.0, 7.0) + 8.0) as u8;
            let bytes =
                steps.chunks(2).map(|pair| pair.iter().rev().fold(0, |byte, step| byte << 4 | nibble(step)));
            codes.by_ref().zip(bytes).for_each(|(code, byte)| *code = byte);
        },
    );
}

/// Gives `put` the steps of each group: its numbers over its scale, rounded to whole numbers.
fn each_group(
    numbers: &[f32],
    (columns, group): (usize, usize),
    (scales, of): (&mut [u8], Scalar),
    scale_of: impl Fn(f32) -> f32,
    mut put: impl FnMut(&[f32]),
) {
    let groups = numbers.chunks(columns.max(1)).flat_map(|row| row.chunks(group.max(1)));
    for (out, group) in scales.chunks_exact_mut(of.bytes() as usize).zip(groups) {
        let larger = |a: f32, &b: &f32| if b.abs() > a.abs() { b } else { a };
        let wanted = scale_of(group.iter().fold(0.0, larger));
        put_float(out, of, wanted);
        let scale = match of {
            Scalar::F16 => f16::from_f32(wanted).to_f32(),
            _ => bf16::from_f32(wanted).to_f32(),
        };
        let inverse = 1.0 / scale;
        let inverse = if inverse.is_finite() { inverse } else { 0.0 };
        let steps: Vec<f32> = group.iter().map(|number| (number * inverse).round_ties_even()).collect();
        put(&steps);
    }
}
