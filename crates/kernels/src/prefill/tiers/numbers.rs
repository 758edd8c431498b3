//! Stacked matrices in any format, read as numbers: one at a time or four neighbours of a row.

use tilewright_tile::{Builder, Value, Vec4, View};

use crate::format::Format;
use crate::parts::unpack;

/// Matrix, row and column.
type At<'k> = (Value<'k, i32>, Value<'k, i32>, Value<'k, i32>);

/// `[matrices, rows, columns]`; rows and columns beyond the last are zero.
#[derive(Clone, Copy)]
pub(super) enum Numbers<'k> {
    Float(View<'k, f32>),
    Pairs(View<'k, u32>),
    Int8 { codes: View<'k, i8>, scales: View<'k, f32>, group: u32 },
    Int4 { codes: View<'k, u32>, scales: View<'k, f32>, group: u32 },
}

impl<'k> Numbers<'k> {
    /// Declares the parameter `weights` and, for quantised formats, `weights_scales`.
    pub(super) fn read(k: &'k Builder, [matrices, rows, columns]: [u32; 3], format: Format) -> Self {
        const TAILS: &[usize] = &[1, 2];
        let scales = || {
            let scales = k.read::<f32>("weights_scales", [matrices, rows, format.scales(columns)]);
            scales.stored(Format::SCALE).guarded_axes(TAILS)
        };
        let words =
            |each: u32| k.read::<u32>("weights", [matrices, rows, columns / each]).guarded_axes(TAILS);
        if let Format::Pairs | Format::Int4 { .. } = format
            && !columns.is_multiple_of(format.step(columns))
        {
            let (name, step) = (format.name(), format.step(columns));
            k.refuse(format!("{name} weights come {step} at a time; the matrix has {columns} columns"));
        }
        match format {
            Format::Float(storage) => {
                let numbers = k.read::<f32>("weights", [matrices, rows, columns]).stored(storage);
                Self::Float(numbers.guarded_axes(TAILS))
            }
            Format::Pairs => Self::Pairs(words(2)),
            Format::Int8 { group } => {
                let codes = k.read::<i8>("weights", [matrices, rows, columns]).guarded_axes(TAILS);
                Self::Int8 { codes, scales: scales(), group }
            }
            Format::Int4 { group } => Self::Int4 { codes: words(8), scales: scales(), group },
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
                let word = codes.at((matrix, row, column / 8)) >> (column % 8 * 4).u32();
                ((word & 15u32).f32() - 8.0) * scale
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
                let word = codes.at((matrix, row, column / 8)) >> (column % 8 * 4).u32();
                let code = |n: u32| (word >> (4 * n) & 15u32).f32() - 8.0;
                k.vec4([0, 1, 2, 3].map(code)) * scale
            }
        }
    }
}
