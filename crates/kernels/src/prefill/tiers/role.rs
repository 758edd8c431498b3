//! What a product is for: where its sizes come from and what becomes of its tile.

use std::ops::Range;

use tilewright_tile::{Builder, Value, View};

use super::numbers::Numbers;
use crate::format::Format;
use crate::layout::Tensor;
use crate::parts::{Exponential, silu};
use crate::shape::Shape;

/// The four products of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Queries, keys and values: `out = c`.
    Qkv,
    /// Output projection of attention: `out += c`.
    Output,
    /// Gate and up projections: `out = silu(gate) · up`.
    GateUp,
    /// Down projection: `out += c`.
    Down,
}

impl Role {
    /// All four.
    pub const ALL: [Self; 4] = [Self::Qkv, Self::Output, Self::GateUp, Self::Down];

    /// The matrix.
    pub const fn tensor(self) -> Tensor {
        match self {
            Self::Qkv => Tensor::Qkv,
            Self::Output => Tensor::Output,
            Self::GateUp => Tensor::GateUp,
            Self::Down => Tensor::Down,
        }
    }

    /// The name used in kernel names.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Qkv => "qkv",
            Self::Output => "accumulate_output",
            Self::GateUp => "swiglu",
            Self::Down => "accumulate_down",
        }
    }

    /// Matrices stacked in the tensor that meet in one output.
    const fn parts(self) -> u32 {
        match self {
            Self::GateUp => 2,
            Self::Qkv | Self::Output | Self::Down => 1,
        }
    }
}

/// Sizes of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Product {
    /// What it is for.
    pub role: Role,
    /// Rows of the chunk.
    pub rows: u32,
    /// Columns of the output that it makes.
    pub columns: u32,
    /// Columns of the output before those and after them, where matrices of other formats make others.
    pub beside: [u32; 2],
    /// What these columns are called in the kernel's name.
    pub part: &'static str,
    /// Columns of `a`.
    pub inner: u32,
    /// How the matrix is stored.
    pub format: Format,
}

impl Product {
    /// The product of a role for a chunk of `rows` rows.
    pub fn new(shape: &Shape, role: Role, rows: u32, format: Format) -> Self {
        let [outputs, inner] = role.tensor().extents(shape);
        Self { role, rows, columns: outputs / role.parts(), beside: [0; 2], part: "", inner, format }
    }

    /// The product of some of the queries, keys and values, of which the matrix has just these.
    pub fn of_qkv(shape: &Shape, columns: Range<u32>, rows: u32, format: Format) -> Self {
        let whole = Self::new(shape, Role::Qkv, rows, format);
        let beside = [columns.start, whole.columns - columns.end];
        Self { columns: columns.end - columns.start, beside, part: shape.qkv_part(&columns), ..whole }
    }

    /// Columns of the whole output.
    const fn width(&self) -> u32 {
        self.beside[0] + self.columns + self.beside[1]
    }

    /// The name of its kernel of a tier.
    pub(super) fn kernel_name(&self, tier: &str) -> String {
        format!("{}_matmul_{tier}_{}{}", self.format.name(), self.role.name(), self.part)
    }
}

/// The device views of a product and the part of it that a threadgroup computes.
pub(super) struct Operands<'k> {
    product: Product,
    a: View<'k, f32>,
    numbers: Numbers<'k>,
    out: View<'k, f32>,
    /// First row of the part.
    row: Value<'k, i32>,
    /// First output column of the part.
    column: Value<'k, i32>,
    /// Rows of matrices in the part: output columns times stacked matrices.
    width: u32,
}

/// Threadgroups for parts of `rows` rows and `width` matrix rows.
pub(super) const fn groups(product: &Product, rows: u32, width: u32) -> [u32; 3] {
    [product.columns.div_ceil(width / product.role.parts()), product.rows.div_ceil(rows), 1]
}

impl<'k> Operands<'k> {
    /// Declares the views; the threadgroup's part has `rows` rows and `width` matrix rows.
    pub(super) fn declare(k: &'k Builder, product: &Product, rows: u32, width: u32) -> Self {
        let Product { role, rows: all, columns, inner, format, .. } = *product;
        let parts = role.parts();
        let a = k.read::<f32>("a", [all, inner]).guarded();
        let numbers = Numbers::read(k, [parts, columns, inner], format);
        let out = match role {
            Role::Qkv | Role::GateUp => k.write::<f32>("out", [all, product.width()]),
            Role::Output | Role::Down => k.read_write::<f32>("out", [all, product.width()]),
        };
        let (row, column) = (k.group_axis(1) * rows, k.group_axis(0) * (width / parts));
        Self { product: *product, a, numbers, out: out.guarded(), row, column, width }
    }

    /// Matrix and row in it of row `n` of the part: gates first, then ups.
    fn matrix_row(&self, n: Value<'k, i32>) -> (Value<'k, i32>, Value<'k, i32>) {
        let each = self.width / self.product.role.parts();
        (n / each, self.column + n % each)
    }

    /// Brings columns `at..at + depth` of the part's rows of `a` into `tile[rows, depth]`, one at a time.
    pub(super) fn stage_a(&self, k: &'k Builder, at: Value<'k, i32>, tile: View<'k, f32>) {
        let (rows, depth) = (tile.size(0), tile.size(1));
        k.each(k.thread_strided(rows * depth, 1), |i| {
            tile.set((i / depth, i % depth), self.a.at((self.row + i / depth, at + i % depth)));
        });
    }

    /// The same, four at a time.
    pub(super) fn stage_a4(&self, k: &'k Builder, at: Value<'k, i32>, tile: View<'k, f32>) {
        crate::prefill::chunk::stage(k, (tile.size(0), tile.size(1)), self.a, [self.row, at], tile);
    }

    /// Brings columns `at..at + depth` of the part's matrix rows into `tile[width, depth]`, as numbers, one at a time.
    pub(super) fn stage_w(&self, k: &'k Builder, at: Value<'k, i32>, tile: View<'k, f32>) {
        let depth = tile.size(1);
        k.each(k.thread_strided(self.width * depth, 1), |i| {
            let (n, column) = (i / depth, at + i % depth);
            let (matrix, row) = self.matrix_row(n);
            tile.set((n, i % depth), self.numbers.at((matrix, row, column)));
        });
    }

    /// The same, four at a time.
    pub(super) fn stage_w4(&self, k: &'k Builder, at: Value<'k, i32>, tile: View<'k, f32>) {
        let fours = tile.size(1) / 4;
        k.each(k.thread_strided(self.width * fours, 1), |i| {
            let (n, column) = (i / fours, at + i % fours * 4);
            let (matrix, row) = self.matrix_row(n);
            tile.set4((n, i % fours * 4), self.numbers.at4(k, (matrix, row, column)));
        });
    }

    /// Does what the role asks with the finished part: `sum(r, n)` gives its elements `n..n + 4` of row `r`.
    pub(super) fn finish(
        &self,
        k: &'k Builder,
        rows: u32,
        sum: impl Fn(Value<'k, i32>, Value<'k, i32>) -> Value<'k, tilewright_tile::Vec4<f32>>,
    ) {
        let each = self.width / self.product.role.parts();
        let fours = each / 4;
        k.each(k.thread_strided(rows * fours, 1), |i| {
            let (r, n) = (i / fours, i % fours * 4);
            let (row, column) = (self.row + r, self.column + n);
            let [before, after] = self.product.beside;
            let at = (row, if before == 0 { column } else { column + before });
            let c = sum(r, n);
            let result = match self.product.role {
                Role::Qkv => c,
                Role::Output | Role::Down => self.out.at4(at) + c,
                Role::GateUp => {
                    let up = sum(r, n + each);
                    k.vec4([0, 1, 2, 3].map(|p| silu(c.part(p), Exponential::Precise) * up.part(p)))
                }
            };
            // Where other columns follow, the last is no edge of the view.
            match after > 0 && !self.product.columns.is_multiple_of(each) {
                true => self.out.set4_if(column.lt(self.product.columns), at, result),
                false => self.out.set4(at, result),
            }
        });
    }
}
