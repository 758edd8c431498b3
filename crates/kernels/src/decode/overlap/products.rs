//! Products that read their weights ahead: one SIMD group an output row.

use tilewright_tile::{Builder, Kernel, Launch, Scalar, Value, View, kernel};

use crate::decode::options::{Concerns, Options};
use crate::layout::Tensor;
use crate::parts::{Exponential, Matrix, silu};
use crate::shape::Shape;

/// Output rows, and SIMD groups, of a threadgroup.
const ROWS: u32 = 8;

/// A name of a kernel of this folder.
pub(super) fn named(name: &str, options: &Options, concerns: Concerns) -> String {
    options.kernel_name(&format!("overlap_{name}"), concerns)
}

/// The row of this SIMD group, and the parameter `weights` guarded where the last threadgroup goes beyond `rows`.
fn matrix<'k>(
    k: &'k Builder,
    extents: [u32; 2],
    rows: u32,
    options: &Options,
) -> (Value<'k, i32>, Matrix<'k>) {
    let weights = Matrix::read(k, "weights", extents, options.weights);
    let weights = if rows.is_multiple_of(ROWS) { weights } else { weights.guarded() };
    ((k.group_id() * ROWS + k.simd_group()).named("row"), weights)
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
    let [rows, columns] = extents;
    kernel(named(name, options, WEIGHTS), launch(rows), |k| {
        let x = k.read::<f32>("x", [columns]);
        let w = k.read::<f32>("w", [columns]).stored(options.weights.vectors());
        let (row, weights) = matrix(k, extents, rows, options);
        let bias = bias.then(|| guard(k.read::<f32>("bias", [rows]).stored(options.weights.vectors())));
        let y = guard(k.write::<f32>("y", [rows]));

        let ahead = weights.ahead(&[row]);
        k.launch_barrier();
        let product = ahead.normed_products(x, w, shape.norm_eps)[0];
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
        let (row, weights) = matrix(k, extents, rows, options);
        let y = guard(k.read_write::<f32>("y", [rows]));

        let ahead = weights.ahead(&[row]);
        k.launch_barrier();
        let before = y.at_if(k.lane().eq(0), [row]);
        let product = ahead.products(x)[0];
        y.set_from_lane(0, [row], before + product);
    })
}

/// `activation = silu(gate·norm(x)) · (up·norm(x))`: each SIMD group takes a row of the gate and the same row of up.
pub fn gate_up(shape: &Shape, options: &Options) -> Kernel {
    let rows = shape.intermediate;
    kernel(named("gate_up", options, WEIGHTS), launch(rows), |k| {
        let x = k.read::<f32>("x", [shape.hidden]);
        let w = k.read::<f32>("w", [shape.hidden]).stored(options.weights.vectors());
        let (row, weights) = matrix(k, Tensor::GateUp.extents(shape), rows, options);
        let activation = guard(k.write::<f32>("activation", [rows]));

        let ahead = weights.ahead(&[row, row + rows]);
        k.launch_barrier();
        let products = ahead.normed_products(x, w, shape.norm_eps);
        activation.set_from_lane(0, [row], silu(products[0], Exponential::Precise) * products[1]);
    })
}

/// The type of vectors between launches.
pub(super) const VECTORS: Scalar = Scalar::F32;
