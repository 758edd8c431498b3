//! From rows of f32 to the lines of a panel.
//!
//! Integer weights are quantised by group. `int8`: the scale takes the greatest magnitude to 127. `int4`: the scale is
//! the one of several candidates with the least square error, and may be negative, since there is one more step below
//! zero than above. Scales are rounded to bf16 first and weights are rounded to multiples of the rounded scale.

use half::bf16;

use super::layout::{Format, GROUP8, Layout, Line};
use crate::simd::{Isa, Kernel, LANES, Simd};

/// Packs up to a panel of rows, `[_, cols]`, into zeroed lines. What stays zero is multiplied by a zero, or belongs
/// to outputs there are not.
pub(super) fn pack(isa: Isa, layout: Layout, rows: &[f32], lines: &mut [Line]) {
    for (row, weights) in rows.chunks(layout.cols).enumerate() {
        match layout.format {
            Format::F32 => {
                for (pair, w) in lines.as_chunks_mut::<2>().0.iter_mut().zip(weights) {
                    put_word(&mut pair[row / LANES], row % LANES, w.to_bits());
                }
            }
            Format::Bf16 => {
                for (line, w) in lines.iter_mut().zip(weights) {
                    put_half(line, row, bf16::from_f32(*w));
                }
            }
            Format::Int8 | Format::Int4 => isa.run(PackRow { layout, row, weights, lines }),
            // Blocks are packed as they are, not from floats.
            Format::Blocks(_) => {}
        }
    }
}

/// Word `at` of a line.
fn put_word(line: &mut Line, at: usize, word: u32) {
    line.as_chunks_mut().0[at] = word.to_le_bytes();
}

/// The bfloat16 of row `row` in a line that holds one for every row of a panel.
fn put_half(line: &mut Line, row: usize, value: bf16) {
    line.as_chunks_mut::<2>().0[row % LANES * 2 + row / LANES] = value.to_le_bytes();
}

/// Quantises one row into its place in a panel.
struct PackRow<'a> {
    layout: Layout,
    row: usize,
    weights: &'a [f32],
    lines: &'a mut [Line],
}

impl Kernel for PackRow<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { layout, row, weights, mut lines } = self;
        for (words, weights) in layout.group_words().zip(weights.chunks(layout.group())) {
            let mut group = [0.0; GROUP8];
            group[..weights.len()].copy_from_slice(weights);
            let vectors = &group.as_chunks::<LANES>().0[..weights.len().div_ceil(LANES)];
            let mut integers = [[0; 4]; GROUP8 / LANES];
            let (scale, pairs) = if layout.format == Format::Int8 {
                (quantize8(simd, vectors, &mut integers), words)
            } else {
                (quantize4(simd, vectors, &mut integers), words / 2)
            };
            let (head, rest) = lines.split_at_mut(1 + 2 * pairs);
            let (scales, pairs) = head.split_at_mut(1);
            put_half(&mut scales[0], row, scale);
            let pairs = pairs.as_chunks_mut::<2>().0.iter_mut();
            let words = integers.as_flattened();
            if layout.format == Format::Int8 {
                pairs.zip(words).for_each(|(pair, word)| {
                    put_word(&mut pair[row / LANES], row % LANES, word ^ 0x8080_8080);
                });
            } else {
                pairs.zip(words.as_chunks().0).for_each(|(pair, [low, high])| {
                    put_word(&mut pair[row / LANES], row % LANES, low | high << 4);
                });
            }
            lines = rest;
        }
    }
}

/// `value` rounded to bf16 away from zero, so that nothing scaled by it grows.
fn round_up(value: f32) -> bf16 {
    bf16::from_bits((value.to_bits().saturating_add(0xffff) >> 16) as u16)
}

/// Signed bytes, and their scale.
#[inline(always)]
fn quantize8<S: Simd>(simd: S, vectors: &[[f32; LANES]], out: &mut [[u32; 4]]) -> bf16 {
    let mut greatest = simd.splat(0.0);
    for vector in vectors {
        greatest = simd.max(simd.abs(simd.load(vector)), greatest);
    }
    let scale = round_up(simd.reduce_max(greatest) / 127.0);
    let inverse = simd.splat(inverse(scale));
    for (out, vector) in out.iter_mut().zip(vectors) {
        *out = simd.narrow(simd.round(simd.mul(simd.load(vector), inverse)));
    }
    scale
}

/// `1 / scale`, or 0 where that is not a number to calculate with: then all weights are 0.
fn inverse(scale: bf16) -> f32 {
    let inverse = 1.0 / scale.to_f32();
    if inverse.is_finite() { inverse } else { 0.0 }
}

/// The extreme weight is tried at each of these multiples of the scale.
const REACHES: [f32; 16] =
    [-8.0, 8.0, -7.5, 7.5, -7.0, 7.0, -8.5, 8.5, -6.5, 6.5, -9.0, 9.0, -6.0, 6.0, -9.5, 9.5];

/// Bytes in 0..=15, which stand for -8..=7, and their scale.
#[inline(always)]
fn quantize4<S: Simd>(simd: S, vectors: &[[f32; LANES]], out: &mut [[u32; 4]]) -> bf16 {
    let (mut high, mut low) = (simd.splat(0.0), simd.splat(0.0));
    for vector in vectors {
        high = simd.max(simd.load(vector), high);
        low = simd.max(simd.sub(simd.splat(0.0), simd.load(vector)), low);
    }
    let (high, low) = (simd.reduce_max(high), simd.reduce_max(low));
    let extreme = if high > low { high } else { -low };
    let mut best = (f32::INFINITY, bf16::ZERO);
    for reach in REACHES {
        let scale = bf16::from_f32(extreme / reach);
        let error = error4(simd, vectors, scale);
        if error < best.0 {
            best = (error, scale);
        }
    }
    for (out, vector) in out.iter_mut().zip(vectors) {
        let steps = steps4(simd, simd.load(vector), simd.splat(inverse(best.1)));
        *out = simd.narrow(simd.add_i32(simd.round(steps), simd.splat_i32(8)));
    }
    best.1
}

/// Weights as multiples of the scale, within what can be stored, not rounded.
#[inline(always)]
fn steps4<S: Simd>(simd: S, weights: S::F32, inverse: S::F32) -> S::F32 {
    simd.max(simd.min(simd.mul(weights, inverse), simd.splat(7.0)), simd.splat(-8.0))
}

/// The sum of squares of what rounding with `scale` loses.
#[inline(always)]
fn error4<S: Simd>(simd: S, vectors: &[[f32; LANES]], scale: bf16) -> f32 {
    let (factor, inverse) = (simd.splat(-scale.to_f32()), simd.splat(inverse(scale)));
    let mut sum = simd.splat(0.0);
    for vector in vectors {
        let weights = simd.load(vector);
        let steps = simd.to_f32(simd.round(steps4(simd, weights, inverse)));
        let lost = simd.fma(steps, factor, weights);
        sum = simd.fma(lost, lost, sum);
    }
    simd.reduce_add(sum)
}
