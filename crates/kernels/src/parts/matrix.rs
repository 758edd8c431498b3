//! A weight matrix in any format, and products of its rows with vectors.

use tilewright_tile::{Builder, Scalar, Value, Vec2, Vec4, View};

use crate::format::{Format, SUPER};

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
    Q4K { codes: View<'k, u32>, scales: View<'k, u8>, steps: View<'k, f32> },
    Q6K { codes: View<'k, u32>, tops: View<'k, u8>, scales: View<'k, i8>, steps: View<'k, f32> },
}

/// Neighbouring weights of a row as they lie in memory.
pub(super) enum Code<'k> {
    Floats(Vec<Value<'k, f32>>),
    Pairs(Vec<Value<'k, u32>>),
    Int8(Value<'k, Vec4<i8>>),
    Int4(Value<'k, u32>),
    Q4K(Value<'k, u32>),
    Q6K(Value<'k, u32>, Value<'k, Vec2<u8>>),
}

/// What makes weights of numbers: `scale · number − offset`.
#[derive(Clone, Copy)]
pub(super) struct Scaling<'k> {
    scale: Value<'k, f32>,
    offset: Option<Value<'k, f32>>,
}

/// Neighbouring weights of a row: the numbers themselves where there is no scaling.
pub(super) struct Weights<'k> {
    pub(super) numbers: Vec<Value<'k, f32>>,
    pub(super) scaling: Option<Scaling<'k>>,
}

impl<'k> Matrix<'k> {
    /// Declares the parameter `name` and those of further planes.
    pub fn read(k: &'k Builder, name: &str, [rows, columns]: [u32; 2], format: Format) -> Self {
        let of = |suffix: &str| format!("{name}{suffix}");
        let words = |each: u32| k.read::<u32>(name, [rows, columns / each]);
        let scales =
            |scale, group| k.read::<f32>(&of("_scales"), [rows, columns.div_ceil(group)]).stored(scale);
        let codes = match format {
            Format::Float(storage) => Codes::Float(k.read::<f32>(name, [rows, columns]).stored(storage)),
            Format::Pairs => Codes::Pairs(words(2)),
            Format::Int8 { group, scale } => {
                let codes = k.read::<i8>(name, [rows, columns]);
                Codes::Int8 { codes, scales: scales(scale, group), group }
            }
            Format::Int4 { group, scale } => {
                Codes::Int4 { codes: words(8), scales: scales(scale, group), group }
            }
            Format::Q4K => Codes::Q4K {
                codes: words(8),
                scales: k.read::<u8>(&of("_scales"), [rows, columns.div_ceil(32), 2]),
                steps: k.read::<f32>(&of("_steps"), [rows, columns.div_ceil(SUPER), 2]).stored(Scalar::F16),
            },
            Format::Q6K => Codes::Q6K {
                codes: words(8),
                tops: k.read::<u8>(&of("_tops"), [rows, columns / 4]),
                scales: k.read::<i8>(&of("_scales"), [rows, columns.div_ceil(16)]),
                steps: k.read::<f32>(&of("_steps"), [rows, columns.div_ceil(SUPER)]).stored(Scalar::F16),
            },
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
            Codes::Q4K { codes, scales, steps } => Codes::Q4K {
                codes: codes.guarded_axes(ROWS),
                scales: scales.guarded_axes(ROWS),
                steps: steps.guarded_axes(ROWS),
            },
            Codes::Q6K { codes, tops, scales, steps } => Codes::Q6K {
                codes: codes.guarded_axes(ROWS),
                tops: tops.guarded_axes(ROWS),
                scales: scales.guarded_axes(ROWS),
                steps: steps.guarded_axes(ROWS),
            },
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
        Weights { numbers, scaling: self.scaling(row, unit) }
    }

    pub(super) fn code(&self, row: Value<'k, i32>, unit: Value<'k, i32>) -> Code<'k> {
        let column = unit * self.step;
        match self.codes {
            Codes::Float(view) if self.step == 1 => Code::Floats(vec![view.at((row, column))]),
            Codes::Float(view) => Code::Floats(view.at4((row, column)).parts()),
            Codes::Pairs(view) => Code::Pairs(view.at2((row, unit * 2)).parts()),
            Codes::Int8 { codes, .. } => Code::Int8(codes.at4((row, column))),
            Codes::Int4 { codes, .. } => Code::Int4(codes.at((row, unit))),
            Codes::Q4K { codes, .. } => Code::Q4K(codes.at((row, unit))),
            Codes::Q6K { codes, tops, .. } => Code::Q6K(codes.at((row, unit)), tops.at2((row, unit * 2))),
        }
    }

    pub(super) fn scaling(&self, row: Value<'k, i32>, unit: Value<'k, i32>) -> Option<Scaling<'k>> {
        let group = |of: u32| unit * self.step / of;
        match self.codes {
            Codes::Float(_) | Codes::Pairs(_) => None,
            Codes::Int8 { scales, group: of, .. } | Codes::Int4 { scales, group: of, .. } => {
                Some(Scaling { scale: scales.at((row, group(of))), offset: None })
            }
            Codes::Q4K { scales, steps, .. } => {
                let in_steps = scales.at2((row, group(32), 0)).to::<Vec2<f32>>();
                let product = steps.at2((row, group(SUPER), 0)) * in_steps;
                Some(Scaling { scale: product.part(0), offset: Some(product.part(1)) })
            }
            Codes::Q6K { scales, steps, .. } => {
                let scale = steps.at((row, group(SUPER))) * scales.at((row, group(16))).f32();
                Some(Scaling { scale, offset: None })
            }
        }
    }

    /// The weights of the `unit`-th group, each in full.
    pub fn numbers(&self, row: Value<'k, i32>, unit: Value<'k, i32>) -> Vec<Value<'k, f32>> {
        let Weights { numbers, scaling } = self.weights(row, unit);
        numbers.into_iter().map(|w| scaling.map_or(w, |scaling| scaling.of(w))).collect()
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

impl<'k> Scaling<'k> {
    /// The weight that a number stands for.
    fn of(&self, number: Value<'k, f32>) -> Value<'k, f32> {
        let weight = number * self.scale;
        self.offset.map_or(weight, |offset| weight - offset)
    }
}

/// The numbers that codes stand for, without their scaling.
pub(super) fn numbers<'k>(code: &Code<'k>) -> Vec<Value<'k, f32>> {
    match code {
        Code::Floats(numbers) => numbers.clone(),
        Code::Pairs(pairs) => pairs.iter().copied().flat_map(unpack).collect(),
        Code::Int8(codes) => codes.to::<Vec4<f32>>().parts(),
        Code::Int4(word) => (0..8).map(|n| nibble(*word, n).f32() - 8.0).collect(),
        Code::Q4K(word) => (0..8).map(|n| nibble(*word, n).f32()).collect(),
        Code::Q6K(word, tops) => {
            let tops = tops.to::<Vec2<u32>>();
            let code = |n: u32| six_bits(nibble(*word, n), tops.part(n as usize / 4), n % 4);
            (0..8).map(code).collect()
        }
    }
}

/// The `n`-th four bits of a word.
pub(crate) fn nibble(word: Value<'_, u32>, n: u32) -> Value<'_, u32> {
    word >> (4 * n) & 15u32
}

/// The number of a code of six bits whose upper two are the `n`-th of a byte.
pub(crate) fn six_bits<'k>(low: Value<'k, u32>, tops: Value<'k, u32>, n: u32) -> Value<'k, f32> {
    (low | (tops >> (2 * n) & 3u32) << 4u32).f32() - 32.0
}

/// A sum with the products of some weights added; a scaling is applied to their sum.
pub(super) fn grow<'k>(sum: Value<'k, f32>, weights: &Weights<'k>, x: &[Value<'k, f32>]) -> Value<'k, f32> {
    let pairs = || weights.numbers.iter().copied().zip(x.iter().copied());
    match weights.scaling {
        None => pairs().fold(sum, |sum, (w, x)| sum.fma(w, x)),
        Some(Scaling { scale, offset }) => {
            let mut products = pairs();
            let first = products.next().map_or(sum, |(w, x)| w * x);
            let sum = sum.fma(scale, products.fold(first, |sum, (w, x)| sum.fma(w, x)));
            let Some(offset) = offset else { return sum };
            let all = x.iter().copied().reduce(|a, b| a + b);
            all.map_or(sum, |all| sum.fma(-offset, all))
        }
    }
}

/// The two f32 whose upper halves a word holds, the first in the low half (F76).
pub(crate) fn unpack(pair: Value<'_, u32>) -> [Value<'_, f32>; 2] {
    [(pair << 16u32).bitcast(), (pair & 0xffff_0000u32).bitcast()]
}
