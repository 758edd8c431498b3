//! Stacked matrices in any format, read as numbers: one at a time or four neighbours of a row.

use tilewright_tile::{Builder, Scalar, Value, Vec2, Vec4, View};

use crate::format::{Format, SUPER};
use crate::parts::{nibble, six_bits, unpack};

/// Matrix, row and column.
type At<'k> = (Value<'k, i32>, Value<'k, i32>, Value<'k, i32>);

/// `[matrices, rows, columns]`; rows and columns beyond the last are zero.
#[derive(Clone, Copy)]
pub(super) enum Numbers<'k> {
    Float(View<'k, f32>),
    Pairs(View<'k, u32>),
    Int8 { codes: View<'k, i8>, scales: View<'k, f32>, group: u32 },
    Int4 { codes: View<'k, u32>, scales: View<'k, f32>, group: u32 },
    Q4K { codes: View<'k, u32>, scales: View<'k, u8>, steps: View<'k, f32> },
    Q6K { codes: View<'k, u32>, tops: View<'k, u8>, scales: View<'k, i8>, steps: View<'k, f32> },
}

impl<'k> Numbers<'k> {
    /// Declares the parameter `weights` and those of further planes.
    pub(super) fn read(k: &'k Builder, [matrices, rows, columns]: [u32; 3], format: Format) -> Self {
        const TAILS: &[usize] = &[1, 2];
        let each = |of: u32| [matrices, rows, columns / of];
        let groups = |of: u32| [matrices, rows, columns.div_ceil(of)];
        let words = |of: u32| k.read::<u32>("weights", each(of)).guarded_axes(TAILS);
        let floats =
            |name: &str, of, storage| k.read::<f32>(name, groups(of)).stored(storage).guarded_axes(TAILS);
        if !matches!(format, Format::Float(_) | Format::Int8 { .. })
            && !columns.is_multiple_of(format.step(columns))
        {
            let (name, step) = (format.name(), format.step(columns));
            k.refuse(format!("{name} weights come {step} at a time; the matrix has {columns} columns"));
        }
        match format {
            Format::Float(storage) => Self::Float(floats("weights", 1, storage)),
            Format::Pairs => Self::Pairs(words(2)),
            Format::Int8 { group, scale } => {
                let codes = k.read::<i8>("weights", each(1)).guarded_axes(TAILS);
                Self::Int8 { codes, scales: floats("weights_scales", group, scale), group }
            }
            Format::Int4 { group, scale } => {
                Self::Int4 { codes: words(8), scales: floats("weights_scales", group, scale), group }
            }
            Format::Q4K => {
                let pairs = |of: u32| [matrices, rows, columns.div_ceil(of), 2];
                let scales = k.read::<u8>("weights_scales", pairs(32)).guarded_axes(TAILS);
                let steps = k.read::<f32>("weights_steps", pairs(SUPER)).stored(Scalar::F16);
                Self::Q4K { codes: words(8), scales, steps: steps.guarded_axes(TAILS) }
            }
            Format::Q6K => Self::Q6K {
                codes: words(8),
                tops: k.read::<u8>("weights_tops", each(4)).guarded_axes(TAILS),
                scales: k.read::<i8>("weights_scales", groups(16)).guarded_axes(TAILS),
                steps: floats("weights_steps", SUPER, Scalar::F16),
            },
        }
    }

    /// One number.
    pub(super) fn at(&self, (matrix, row, column): At<'k>) -> Value<'k, f32> {
        match *self {
            Self::Float(view) => view.at((matrix, row, column)),
            Self::Pairs(view) => {
                let [even, odd] = unpack(view.at((matrix, row, column / 2)));
                (column % 2).eq(0).select(even, odd)
            }
            Self::Int8 { codes, scales, group } => {
                let scale = scales.at((matrix, row, column / group));
                codes.at((matrix, row, column)).f32() * scale
            }
            Self::Int4 { codes, scales, group } => {
                let scale = scales.at((matrix, row, column / group));
                let word = shifted(codes, (matrix, row, column));
                (nibble(word, 0).f32() - 8.0) * scale
            }
            Self::Q4K { codes, scales, steps } => {
                let [scale, offset] = scale_and_offset(scales, steps, (matrix, row, column));
                nibble(shifted(codes, (matrix, row, column)), 0).f32() * scale - offset
            }
            Self::Q6K { codes, tops, scales, steps } => {
                let scale =
                    steps.at((matrix, row, column / SUPER)) * scales.at((matrix, row, column / 16)).f32();
                let tops = tops.at((matrix, row, column / 4)).u32() >> (column % 4 * 2).u32();
                six_bits(nibble(shifted(codes, (matrix, row, column)), 0), tops, 0) * scale
            }
        }
    }

    /// Four neighbours, the first at a multiple of four.
    pub(super) fn at4(&self, k: &'k Builder, (matrix, row, column): At<'k>) -> Value<'k, Vec4<f32>> {
        match *self {
            Self::Float(view) => view.at4((matrix, row, column)),
            Self::Pairs(view) => {
                let pairs = view.at2((matrix, row, column / 2)).parts();
                let numbers: Vec<_> = pairs.into_iter().flat_map(unpack).collect();
                k.vec4([0, 1, 2, 3].map(|n| numbers[n]))
            }
            Self::Int8 { codes, scales, group } => {
                let scale = scales.at((matrix, row, column / group));
                codes.at4((matrix, row, column)).to::<Vec4<f32>>() * scale
            }
            Self::Int4 { codes, scales, group } => {
                let scale = scales.at((matrix, row, column / group));
                let word = shifted(codes, (matrix, row, column));
                k.vec4([0, 1, 2, 3].map(|n| nibble(word, n).f32() - 8.0)) * scale
            }
            Self::Q4K { codes, scales, steps } => {
                let [scale, offset] = scale_and_offset(scales, steps, (matrix, row, column));
                let word = shifted(codes, (matrix, row, column));
                k.vec4([0, 1, 2, 3].map(|n| nibble(word, n).f32())) * scale - offset
            }
            Self::Q6K { codes, tops, scales, steps } => {
                let scale =
                    steps.at((matrix, row, column / SUPER)) * scales.at((matrix, row, column / 16)).f32();
                let (word, tops) =
                    (shifted(codes, (matrix, row, column)), tops.at((matrix, row, column / 4)).u32());
                k.vec4([0, 1, 2, 3].map(|n| six_bits(nibble(word, n), tops, n))) * scale
            }
        }
    }
}

/// The word with the four bits of an element, those in the low bits.
fn shifted<'k>(codes: View<'k, u32>, (matrix, row, column): At<'k>) -> Value<'k, u32> {
    codes.at((matrix, row, column / 8)) >> (column % 8 * 4).u32()
}

/// What a number of Q4_K is multiplied with, and what is then taken off.
fn scale_and_offset<'k>(
    scales: View<'k, u8>,
    steps: View<'k, f32>,
    (matrix, row, column): At<'k>,
) -> [Value<'k, f32>; 2] {
    let in_steps = scales.at2((matrix, row, column / 32, 0)).to::<Vec2<f32>>();
    let both = steps.at2((matrix, row, column / SUPER, 0)) * in_steps;
    [both.part(0), both.part(1)]
}
