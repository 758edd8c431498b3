//! Products that read their weights ahead: one SIMD group an output row.

use tilewright_tile::build::Range;
use tilewright_tile::{Builder, Kernel, Launch, Scalar, Value, View, kernel};

use crate::decode::options::{Concerns, Options};
use crate::layout::Tensor;
use crate::parts::{Exponential, Matrix, norm, silu};
use crate::shape::Shape;

/// Output rows, and SIMD groups, of a threadgroup.
const ROWS: u32 = 8;

/// A name of a kernel of this folder.
pub(super) fn named(name: &str, options: &Options, concerns: Concerns) -> String {
    options.kernel_name(&format!("overlap_{name}"), concerns)
}

/// The row of this SIMD group.
fn row(k: &Builder) -> Value<'_, i32> {
    (k.group_id() * ROWS + k.simd_group()).named("row")
}

/// The parameter `weights`, guarded where the last threadgroup goes beyond `rows`.
fn matrix<'k>(k: &'k Builder, extents: [u32; 2], rows: u32, options: &Options) -> Matrix<'k> {
    let weights = Matrix::read(k, "weights", extents, options.weights);
    if rows.is_multiple_of(ROWS) { weights } else { weights.guarded() }
}

/// Guards the rows of a vector where the last threadgroup goes beyond them.
fn guard<'k>(view: View<'k, f32>) -> View<'k, f32> {
    if view.size(0).is_multiple_of(ROWS) { view } else { view.guarded() }
}

fn launch(rows: u32) -> Launch {
    Launch::groups(rows.div_ceil(ROWS)).threads(ROWS * 32)
}

const WEIGHTS: Concerns = Concerns { weights: true, cache: false, arithmetic: false };

/// `qkv = W·norm(x) (+ bias)`.
pub fn qkv(shape: &Shape, options: &Options) -> Kernel {
    normed("qkv", Tensor::Qkv.extents(shape), shape.qkv_bias, shape, options)
}

/// `logits = head·norm(x)`.
pub fn vocabulary(shape: &Shape, options: &Options) -> Kernel {
    normed("vocabulary", [shape.vocab, shape.hidden], false, shape, options)
}

/// `y = W·(x / rms(x) · w) (+ bias)`.
fn normed(name: &str, extents: [u32; 2], bias: bool, shape: &Shape, options: &Options) -> Kernel {
    let ([rows, columns], vectors) = (extents, options.weights.vectors());
    kernel(named(name, options, WEIGHTS), launch(rows), |k| {
        let x = k.read::<f32>("x", [columns]);
        let w = k.read::<f32>("w", [columns]).stored(vectors);
        let weights = matrix(k, extents, rows, options);
        let bias = bias.then(|| guard(k.read::<f32>("bias", [rows]).stored(vectors)));
        let y = guard(k.write::<f32>("y", [rows]));
        let (h, squares) = (Staged::scratch(k, columns), k.scratch("squares", [ROWS]));

        let row = row(k);
        let ahead = weights.ahead(&[row]);
        k.launch_barrier();
        let scale = h.norm(k, (x, w), squares, shape.norm_eps);
        let product = ahead.products(h.vector)[0] * scale;
        y.set_from_lane(0, [row], bias.map_or(product, |bias| product + bias.at([row])));
    })
}

/// `y = y + W·mixed`: the output projection of attention on the residual stream.
pub fn output(shape: &Shape, options: &Options) -> Kernel {
    residual("output", Tensor::Output.extents(shape), options)
}

/// `y = y + W·activation`: the down projection on the residual stream.
pub fn down(shape: &Shape, options: &Options) -> Kernel {
    residual("down", Tensor::Down.extents(shape), options)
}

fn residual(name: &str, extents: [u32; 2], options: &Options) -> Kernel {
    let [rows, columns] = extents;
    kernel(named(name, options, WEIGHTS), launch(rows), |k| {
        let x = k.read::<f32>("x", [columns]);
        let weights = matrix(k, extents, rows, options);
        let y = guard(k.read_write::<f32>("y", [rows]));
        let input = Staged::scratch(k, columns);

        let row = row(k);
        let ahead = weights.ahead(&[row]);
        k.launch_barrier();
        let before = y.at_if(k.lane().eq(0), [row]);
        input.copy(k, x);
        let product = ahead.products(input.vector)[0];
        y.set_from_lane(0, [row], before + product);
    })
}

/// `activation = silu(gate·norm(x)) · (up·norm(x))`: each SIMD group takes a row of the gate and the same row of up.
pub fn gate_up(shape: &Shape, options: &Options) -> Kernel {
    let rows = shape.intermediate;
    kernel(named("gate_up", options, WEIGHTS), launch(rows), |k| {
        let x = k.read::<f32>("x", [shape.hidden]);
        let w = k.read::<f32>("w", [shape.hidden]).stored(options.weights.vectors());
        let weights = matrix(k, Tensor::GateUp.extents(shape), rows, options);
        let activation = guard(k.write::<f32>("activation", [rows]));
        let (h, squares) = (Staged::scratch(k, shape.hidden), k.scratch("squares", [ROWS]));

        let row = row(k);
        let ahead = weights.ahead(&[row, row + rows]);
        k.launch_barrier();
        let scale = h.norm(k, (x, w), squares, shape.norm_eps);
        let products = ahead.products(h.vector);
        let (gate, up) = (products[0] * scale, products[1] * scale);
        activation.set_from_lane(0, [row], silu(gate, Exponential::Precise) * up);
    })
}

/// What the rows of a threadgroup are multiplied with, brought to shared memory once: the one wait for another launch's
/// numbers that a launch has.
struct Staged<'k> {
    /// `[columns]`.
    vector: View<'k, f32>,
}

impl<'k> Staged<'k> {
    fn scratch(k: &'k Builder, columns: u32) -> Self {
        Self { vector: k.scratch("vector", [columns]) }
    }

    /// Holds `x · w`; gives the factor `1 / rms(x)` that its products lack. SIMD groups leave their part of the sum of
    /// squares in `parts`.
    fn norm(
        &self,
        k: &'k Builder,
        (x, w): (View<'k, f32>, View<'k, f32>),
        parts: View<'k, f32>,
        eps: f32,
    ) -> Value<'k, f32> {
        let columns = x.size(0);
        let squares = match columns.is_multiple_of(4) {
            true => k.fold(fours(k, columns), 0.0, |sum, i| {
                let (x, w) = (x.at4([i]), w.at4([i]));
                self.vector.set4([i], x * w);
                x.parts().into_iter().fold(sum, |sum, x| sum.fma(x, x))
            }),
            false => k.fold(k.thread_strided(columns, 1), 0.0, |sum, i| {
                let x = x.at([i]);
                self.vector.set([i], x * w.at([i]));
                sum.fma(x, x)
            }),
        };
        parts.set_from_lane(0, [k.simd_group()], squares.simd_sum());
        k.barrier();
        let all = k.fold(0..ROWS, 0.0, |sum, n| sum + parts.at([n]));
        norm::inverse_rms(all, columns, eps)
    }

    /// Holds `x`.
    fn copy(&self, k: &'k Builder, x: View<'k, f32>) {
        let columns = x.size(0);
        match columns.is_multiple_of(4) {
            true => k.each(fours(k, columns), |i| self.vector.set4([i], x.at4([i]))),
            false => k.each(k.thread_strided(columns, 1), |i| self.vector.set([i], x.at([i]))),
        }
        k.barrier();
    }
}

/// The first of every four neighbours, dealt out to the threads.
fn fours(k: &Builder, columns: u32) -> Range<'_> {
    k.range(k.thread() * 4, columns).step(k.threads() * 4)
}

/// The type of vectors between launches.
pub(super) const VECTORS: Scalar = Scalar::F32;
