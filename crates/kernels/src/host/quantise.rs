//! From rows of f32 to codes and scales.
//!
//! A group's scale takes its greatest magnitude to the end of the codes: to 127, or (4 bits) to −8 on the side where
//! the extreme lies, so that the sixteenth code is used. Scales are rounded to their type first, and weights to multiples
//! of the rounded scale. Those of 8 bits in bf16 are rounded away from zero, as on every device, so that no code is cut.

use half::{bf16, f16};
use tilewright_tile::Scalar;

use super::put_float;

/// One byte a code.
pub(super) fn int8(numbers: &[f32], sizes: (usize, usize), codes: &mut [u8], scales: (&mut [u8], Scalar)) {
    let (mut codes, of) = (codes.iter_mut(), scales.1);
    each_group(
        numbers,
        sizes,
        scales,
        |extreme| match of {
            Scalar::Bf16 => away_from_zero(extreme.abs() / 127.0).to_f32(),
            _ => nearest(extreme.abs() / 127.0, of),
        },
        |steps| {
            let bytes = steps.iter().map(|step| step.clamp(-127.0, 127.0) as i8 as u8);
            codes.by_ref().zip(bytes).for_each(|(code, byte)| *code = byte);
        },
    );
}

/// Half a byte a code, the first in the low bits.
pub(super) fn int4(numbers: &[f32], sizes: (usize, usize), codes: &mut [u8], scales: (&mut [u8], Scalar)) {
    let (mut codes, of) = (codes.iter_mut(), scales.1);
    each_group(
        numbers,
        sizes,
        scales,
        |extreme| nearest(extreme / -8.0, of),
        |steps| {
            let nibble = |step: &f32| (step.clamp(-8.0, 7.0) + 8.0) as u8;
            let bytes =
                steps.chunks(2).map(|pair| pair.iter().rev().fold(0, |byte, step| byte << 4 | nibble(step)));
            codes.by_ref().zip(bytes).for_each(|(code, byte)| *code = byte);
        },
    );
}

/// `value` as a scale of type `of` keeps it.
fn nearest(value: f32, of: Scalar) -> f32 {
    match of {
        Scalar::F16 => f16::from_f32(value).to_f32(),
        _ => bf16::from_f32(value).to_f32(),
    }
}

/// `value` rounded to bf16 so that nothing divided by it grows.
fn away_from_zero(value: f32) -> bf16 {
    bf16::from_bits((value.to_bits().saturating_add(0xffff) >> 16) as u16)
}

/// Gives `put` the steps of each group: its numbers over its scale, which `scale_of` makes of the number of greatest
/// magnitude, rounded to whole numbers.
fn each_group(
    numbers: &[f32],
    (columns, group): (usize, usize),
    (scales, of): (&mut [u8], Scalar),
    scale_of: impl Fn(f32) -> f32,
    mut put: impl FnMut(&[f32]),
) {
    let groups = numbers.chunks(columns.max(1)).flat_map(|row| row.chunks(group.max(1)));
    let mut steps = vec![0.0; group];
    for (out, group) in scales.chunks_exact_mut(of.bytes() as usize).zip(groups) {
        let larger = |a: f32, &b: &f32| if b.abs() > a.abs() { b } else { a };
        let scale = scale_of(group.iter().fold(0.0, larger));
        put_float(out, of, scale);
        let inverse = 1.0 / scale;
        let inverse = if inverse.is_finite() { inverse } else { 0.0 };
        for (step, number) in steps.iter_mut().zip(group) {
            *step = (number * inverse).round_ties_even();
        }
        put(&steps[..group.len()]);
    }
}
