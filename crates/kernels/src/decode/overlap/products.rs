//! Products that read their weights ahead: one SIMD group an output row.

use std::ops::Range;

use tilewright_tile::build;
use tilewright_tile::{Builder, Kernel, Launch, Scalar, Value, Vec4, View, kernel};

use crate::decode::options::{Concerns, Layout, Options};
use crate::layout::Tensor;
use crate::parts::{Exponential, Matrix, STRETCH, norm, silu};
use crate::shape::Shape;

/// Output rows, and SIMD groups, of a threadgroup.
const ROWS: u32 = 8;

/// Columns that are staged at once at most: what shared memory holds beside a little else.
const SEGMENT: u32 = 7 * 1024;

/// A name of a kernel of this folder.
pub(super) fn named(name: &str, options: &Options, concerns: Concerns) -> String {
    let mut name = options.kernel_name(&format!("overlap_{name}"), concerns);
    if concerns.weights && options.vectors != options.weights.vectors() {
        name.push_str(&format!("_vectors_{}", options.vectors));
    }
    name
}

/// `NAME`, with how the cache lies where it is not as usual.
pub(super) fn lying(name: &str, options: &Options) -> String {
    let pages = if options.pages.is_some() { "_pages" } else { "" };
    match options.layout {
        Layout::Rows => format!("{name}{pages}"),
        Layout::Fragments => format!("{name}_fragments{pages}"),
    }
}

/// Whether a norm's input can be staged.
pub const fn fits(shape: &Shape) -> bool {
    shape.hidden <= SEGMENT
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
    qkv_rows(shape, options, 0..shape.qkv_width())
}

/// Some rows of that, where the matrix of each format has a product of its own.
pub fn qkv_rows(shape: &Shape, options: &Options, rows: Range<u32>) -> Kernel {
    let part = shape.qkv_part(&rows);
    normed(("qkv", part), (rows, shape.qkv_width()), shape.qkv_bias, shape, options)
}

/// `logits = head·norm(x)`.
pub fn vocabulary(shape: &Shape, options: &Options) -> Kernel {
    normed(("vocabulary", ""), (0..shape.vocab, shape.vocab), false, shape, options)
}

/// `y = W·(x / rms(x) · w) (+ bias)`: some rows of `all`.
fn normed(
    (name, part): (&str, &str),
    (rows, all): (Range<u32>, u32),
    bias: bool,
    shape: &Shape,
    options: &Options,
) -> Kernel {
    let (columns, vectors) = (shape.hidden, options.vectors);
    let mut name = named(name, options, WEIGHTS);
    let (first, count) = (rows.start, rows.end - rows.start);
    name.push_str(part);
    kernel(name, launch(count), |k| {
        let x = k.read::<f32>("x", [columns]);
        let w = Gain::read(k, columns, vectors);
        let weights = matrix(k, [count, columns], count, options);
        let bias = bias.then(|| k.read::<f32>("bias", [all]).stored(vectors));
        let y = k.write::<f32>("y", [all]);
        // Where there are other rows as well, the last is no edge of a view.
        let (bias, y) = if count == all { (bias.map(guard), guard(y)) } else { (bias, y) };
        let (h, squares) = (Staged::scratch(k, columns), k.scratch("squares", [ROWS]));

        let row = row(k);
        let (ahead, w) = (weights.ahead(&[row]), w.ahead(k));
        k.launch_barrier();
        let scale = h.norm(k, (x, &w), squares, shape.norm_eps);
        let product = ahead.products(h.vector)[0] * scale;
        let at = if first == 0 { row } else { row + first };
        let result = |at| bias.map_or(product, |bias| product + bias.at([at]));
        match count != all && !count.is_multiple_of(ROWS) {
            true => k.when(k.lane().eq(0) & row.lt(count), || y.set([at], result(at))),
            false => y.set_from_lane(0, [at], result(at)),
        }
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
        let segment = columns.div_ceil(columns.div_ceil(SEGMENT)).next_multiple_of(STRETCH).min(columns);
        let input = Staged::scratch(k, segment);

        let row = row(k);
        let ahead = weights.ahead(&[row]);
        k.launch_barrier();
        let before = y.at_if(k.lane().eq(0), [row]);
        let mut sums = ahead.zeros();
        for first in (0..columns).step_by(segment as usize) {
            let end = (first + segment).min(columns);
            if first > 0 {
                k.barrier();
            }
            input.copy(k, x, first, end - first);
            sums = ahead.grown(sums, input.vector, (first, end));
        }
        y.set_from_lane(0, [row], before + sums[0].simd_sum());
    })
}

/// `activation = silu(gate·norm(x)) · (up·norm(x))`: each SIMD group takes a row of the gate and the same row of up.
pub fn gate_up(shape: &Shape, options: &Options) -> Kernel {
    let rows = shape.intermediate;
    kernel(named("gate_up", options, WEIGHTS), launch(rows), |k| {
        let x = k.read::<f32>("x", [shape.hidden]);
        let w = Gain::read(k, shape.hidden, options.vectors);
        let weights = matrix(k, Tensor::GateUp.extents(shape), rows, options);
        let activation = guard(k.write::<f32>("activation", [rows]));
        let (h, squares) = (Staged::scratch(k, shape.hidden), k.scratch("squares", [ROWS]));

        let row = row(k);
        let (ahead, w) = (weights.ahead(&[row, row + rows]), w.ahead(k));
        k.launch_barrier();
        let scale = h.norm(k, (x, &w), squares, shape.norm_eps);
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
        (x, w): (View<'k, f32>, &Gain<'k>),
        parts: View<'k, f32>,
        eps: f32,
    ) -> Value<'k, f32> {
        let columns = x.size(0);
        let squares = match w {
            Gain::Fours(w) => w.iter().fold(k.f32(0.0), |sum, &Four { inside, at, w }| {
                let x = x.at4_if(inside, [at]);
                self.vector.set4_if(inside, [at], x * w);
                x.parts().into_iter().fold(sum, |sum, x| sum.fma(x, x))
            }),
            Gain::View(w) => k.fold(k.thread_strided(columns, 1), 0.0, |sum, i| {
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

    /// Holds `count` elements of `x` from `first` on.
    fn copy(&self, k: &'k Builder, x: View<'k, f32>, first: u32, count: u32) {
        match count.is_multiple_of(4) && first.is_multiple_of(4) {
            true => k.each(fours(k, count), |i| self.vector.set4([i], x.at4([i + first]))),
            false => k.each(k.thread_strided(count, 1), |i| self.vector.set([i], x.at([i + first]))),
        }
        k.barrier();
    }
}

/// The weights of a norm: as they lie, or what each thread reads ahead of them.
enum Gain<'k> {
    View(View<'k, f32>),
    Fours(Vec<Four<'k>>),
}

/// Four neighbours of a thread, if it has them.
struct Four<'k> {
    inside: Value<'k, bool>,
    at: Value<'k, i32>,
    w: Value<'k, Vec4<f32>>,
}

impl<'k> Gain<'k> {
    fn read(k: &'k Builder, columns: u32, vectors: Scalar) -> Self {
        Self::View(k.read::<f32>("w", [columns]).stored(vectors))
    }

    fn ahead(self, k: &'k Builder) -> Self {
        let Self::View(w) = self else { return self };
        let columns = w.size(0);
        if !columns.is_multiple_of(4) {
            return self;
        }
        let each = 4 * k.threads();
        let four = |n: u32| {
            let at = k.thread() * 4 + n * each;
            let inside = at.lt(columns);
            Four { inside, at, w: w.at4_if(inside, [at]) }
        };
        Self::Fours((0..columns.div_ceil(each)).map(four).collect())
    }
}

/// The first of every four neighbours, dealt out to the threads.
fn fours(k: &Builder, columns: u32) -> build::Range<'_> {
    k.range(k.thread() * 4, columns).step(k.threads() * 4)
}

/// The type of vectors between launches.
pub(super) const VECTORS: Scalar = Scalar::F32;
