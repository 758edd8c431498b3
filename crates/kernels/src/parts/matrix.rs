//! A weight matrix in any format, and products of its rows with vectors.

use tilewright_tile::{Builder, Value, Vec4, View};

use crate::format::Format;

/// A weight matrix `[rows, columns]`.
#[derive(Clone, Copy)]
pub struct Matrix<'k> {
    pub(super) k: &'k Builder,
    pub(super) columns: u32,
    pub(super) step: u32,
    codes: Codes<'k>,
}

#[derive(Clone, Copy)]
enum Codes<'k> {
    Float(View<'k, f32>),
    Pairs(View<'k, u32>),
    Int8 { codes: View<'k, i8>, scales: View<'k, f32>, group: u32 },
    Int4 { codes: View<'k, u32>, scales: View<'k, f32>, group: u32 },
}

/// Neighbouring weights of a row as they lie in memory.
pub(super) enum Code<'k> {
    Floats(Vec<Value<'k, f32>>),
    Pairs(Vec<Value<'k, u32>>),
    Int8(Value<'k, Vec4<i8>>),
    Int4(Value<'k, u32>),
}

/// Neighbouring weights of a row: `scale · number`, or the numbers themselves.
pub(super) struct Weights<'k> {
    pub(super) numbers: Vec<Value<'k, f32>>,
    pub(super) scale: Option<Value<'k, f32>>,
}

impl<'k> Matrix<'k> {
    /// Declares the parameter `name` and, for quantised formats, `name_scales`.
    pub fn read(k: &'k Builder, name: &str, [rows, columns]: [u32; 2], format: Format) -> Self {
        let scales = || {
            let scales = k.read::<f32>(&format!("{name}_scales"), [rows, format.scales(columns)]);
            scales.stored(Format::SCALE)
        };
        let codes = match format {
            Format::Float(storage) => Codes::Float(k.read::<f32>(name, [rows, columns]).stored(storage)),
            Format::Pairs => Codes::Pairs(k.read::<u32>(name, [rows, columns / 2])),
            Format::Int8 { group } => {
                Codes::Int8 { codes: k.read::<i8>(name, [rows, columns]), scales: scales(), group }
            }
            Format::Int4 { group } => {
                Codes::Int4 { codes: k.read::<u32>(name, [rows, columns / 8]), scales: scales(), group }
            }
        };
        let step = format.step(columns);
        if !columns.is_multiple_of(step) {
            k.refuse(format!(
                "{} weights come {step} at a time; {name} has {columns} columns",
                format.name()
            ));
        }
        Self { k, columns, step, codes }
    }

    /// Lets rows beyond the last read as zeros.
    pub fn guarded(self) -> Self {
        const ROWS: &[usize] = &[0];
        let codes = match self.codes {
            Codes::Float(view) => Codes::Float(view.guarded_axes(ROWS)),
            Codes::Pairs(view) => Codes::Pairs(view.guarded_axes(ROWS)),
            Codes::Int8 { codes, scales, group } => {
                Codes::Int8 { codes: codes.guarded_axes(ROWS), scales: scales.guarded_axes(ROWS), group }
            }
            Codes::Int4 { codes, scales, group } => {
                Codes::Int4 { codes: codes.guarded_axes(ROWS), scales: scales.guarded_axes(ROWS), group }
            }
        };
        Self { codes, ..self }
    }

    /// A matrix of floats that lies in a larger view: what is left of `view` must be `[rows, columns]`.
    pub fn of_view(k: &'k Builder, view: View<'k, f32>) -> Self {
        let columns = view.size(1);
        Self { k, columns, step: Format::F32.step(columns), codes: Codes::Float(view) }
    }

    /// The `unit`-th group of [`Format::step`] weights of a row.
    pub(super) fn weights(&self, row: Value<'k, i32>, unit: Value<'k, i32>) -> Weights<'k> {
        let numbers = numbers(&self.code(row, unit));
        Weights { numbers, scale: self.scale(row, unit) }
    }

    pub(super) fn code(&self, row: Value<'k, i32>, unit: Value<'k, i32>) -> Code<'k> {
        let column = unit * self.step;
        match self.codes {
            Codes::Float(view) if self.step == 1 => Code::Floats(vec![view.at((row, column))]),
            Codes::Float(view) => Code::Floats(view.at4((row, column)).parts()),
            Codes::Pairs(view) => Code::Pairs(view.at2((row, unit * 2)).parts()),
            Codes::Int8 { codes, .. } => Code::Int8(codes.at4((row, column))),
            Codes::Int4 { codes, .. } => Code::Int4(codes.at((row, unit))),
        }
    }

    pub(super) fn scale(&self, row: Value<'k, i32>, unit: Value<'k, i32>) -> Option<Value<'k, f32>> {
        match self.codes {
            Codes::Float(_) | Codes::Pairs(_) => None,
            Codes::Int8 { scales, group, .. } | Codes::Int4 { scales, group, .. } => {
                Some(scales.at((row, unit * self.step / group)))
            }
        }
    }

    /// The weights of the `unit`-th group, each in full.
    pub fn numbers(&self, row: Value<'k, i32>, unit: Value<'k, i32>) -> Vec<Value<'k, f32>> {
        let Weights { numbers, scale } = self.weights(row, unit);
        numbers.into_iter().map(|w| scale.map_or(w, |scale| w * scale)).collect()
    }

    /// Products of `rows` with each of the vectors `x`, `[vectors, columns]`, by a SIMD group: its lanes take
    /// neighbouring weights in turn, and each weight is read once for all vectors. `[row][vector]`, in every lane.
    pub fn products(&self, rows: &[Value<'k, i32>], x: View<'k, f32>) -> Vec<Vec<Value<'k, f32>>> {
        let (k, vectors) = (self.k, x.size(0) as usize);
        let zero = vec![vec![k.f32(0.0); vectors]; rows.len()];
        let units = k.range(k.lane(), self.columns / self.step).step(32);
        let sums = k.fold(units, zero, |sums, unit| {
            let weights: Vec<_> = rows.iter().map(|&row| self.weights(row, unit)).collect();
            let mut sums = sums;
            for vector in 0..vectors {
                let x = self.inputs(x, vector, unit);
                for (sums, weights) in sums.iter_mut().zip(&weights) {
                    sums[vector] = grow(sums[vector], weights, &x);
                }
            }
            sums
        });
        sums.into_iter().map(|row| row.into_iter().map(Value::simd_sum).collect()).collect()
    }

    /// What a group of weights is multiplied with.
    fn inputs(&self, x: View<'k, f32>, vector: usize, unit: Value<'k, i32>) -> Vec<Value<'k, f32>> {
        self.vector(x.slice(vector as u32), unit)
    }

    /// The elements of `x`, `[columns]`, that stand opposite a group of weights.
    pub(super) fn vector(&self, x: View<'k, f32>, unit: Value<'k, i32>) -> Vec<Value<'k, f32>> {
        match self.step {
            1 => vec![x.at([unit])],
            step => (0..step / 4).flat_map(|n| x.at4([unit * step + n * 4]).parts()).collect(),
        }
    }
}

/// The numbers that codes stand for, without their scale.
pub(super) fn numbers<'k>(code: &Code<'k>) -> Vec<Value<'k, f32>> {
    match code {
        Code::Floats(numbers) => numbers.clone(),
        Code::Pairs(pairs) => pairs.iter().copied().flat_map(unpack).collect(),
        Code::Int8(codes) => codes.to::<Vec4<f32>>().parts(),
        Code::Int4(word) => (0..8).map(|n: u32| (*word >> (4 * n) & 15u32).f32() - 8.0).collect(),
    }
}

/// A sum with the products of some weights added; a scale is applied to their sum.
pub(super) fn grow<'k>(sum: Value<'k, f32>, weights: &Weights<'k>, x: &[Value<'k, f32>]) -> Value<'k, f32> {
    let pairs = || weights.numbers.iter().copied().zip(x.iter().copied());
    match weights.scale {
        None => pairs().fold(sum, |sum, (w, x)| sum.fma(w, x)),
        Some(scale) => {
            let mut products = pairs();
            let first = products.next().map_or(sum, |(w, x)| w * x);
            sum.fma(scale, products.fold(first, |sum, (w, x)| sum.fma(w, x)))
        }
    }
}

/// The two f32 whose upper halves a word holds, the first in the low half (F76).
pub(crate) fn unpack(pair: Value<'_, u32>) -> [Value<'_, f32>; 2] {
    [(pair << 16u32).bitcast(), (pair & 0xffff_0000u32).bitcast()]
}
