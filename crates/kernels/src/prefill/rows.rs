//! Row by row: embedding, norm, SwiGLU, residual, and the one row that leaves a chunk.

use tilewright_tile::{Builder, Kernel, Launch, View, kernel};

use super::chunk::Chunk;
use crate::format::Format;
use crate::parts::arithmetic::as_stored;
use crate::parts::{Arithmetic, Exponential, Matrix, norm, silu};
use crate::shape::Shape;

/// Threadgroups for `units` units of each of `rows` rows: one thread a unit, rows along y.
fn by_row(rows: u32, units: u32) -> Launch {
    let threads = units.next_multiple_of(32).min(256);
    Launch::grid([units.div_ceil(threads), rows, 1]).threads(threads)
}

/// Name of a kernel with its storage and what differs from the usual.
fn name(base: &str, chunk: &Chunk, arithmetic: Arithmetic) -> String {
    let suffix = if arithmetic == Arithmetic::Separate { "_separate" } else { "" };
    let vectors = match chunk.vectors == chunk.activations {
        true => String::new(),
        false => format!("_weights_{}", chunk.vectors),
    };
    format!("{base}_{}{suffix}{vectors}", chunk.activations)
}

/// `x[row] = embedding[token[row]]`, zero in padding. The embedding is stored as `format`.
pub fn embed(shape: &Shape, chunk: &Chunk, format: Format) -> Kernel {
    let Shape { vocab, hidden, .. } = *shape;
    let Chunk { rows, activations, .. } = *chunk;
    let step = format.step(hidden);
    let units = hidden / step;
    let name = format!("prefill_embed_{}_{activations}", format.name());
    kernel(name, by_row(rows, units), |k| {
        let tokens = k.read::<i32>("tokens", [rows]);
        let embedding = Matrix::read(k, "embedding", [vocab, hidden], format);
        let control = k.read::<i32>("control", [2]);
        let x = k.write::<f32>("x", [rows, hidden]).stored(activations);

        let (_, valid) = chunk.place(shape, control);
        let (row, unit) = (k.group_axis(1), k.item());
        let token = tokens.at([row]).clamp(0, vocab - 1);
        k.when(unit.lt(units), || {
            for (n, number) in embedding.numbers(token, unit).into_iter().enumerate() {
                x.set((row, unit * step + n), row.lt(valid).select(number, 0.0));
            }
        });
    })
}

/// `y = x / rms(x) · weight`, one threadgroup a row.
///
/// Each lane sums four neighbouring squares, a SIMD group 128; then the SIMD groups' sums; the reciprocal square root
/// is precise (D53).
pub fn rms_norm(shape: &Shape, chunk: &Chunk, arithmetic: Arithmetic) -> Kernel {
    let width = shape.hidden;
    let Chunk { rows, activations, vectors, .. } = *chunk;
    let launch = Launch::rows(rows).threads(norm::threads(width));
    kernel(name("prefill_norm", chunk, arithmetic), launch, |k| {
        let x = k.read::<f32>("x", [rows, width]).stored(activations);
        let w = k.read::<f32>("w", [width]).stored(vectors);
        let y = k.write::<f32>("y", [rows, width]).stored(activations);

        norm_row(k, x.slice(k.group_id()), w, y.slice(k.group_id()), shape.norm_eps, arithmetic);
    })
}

/// The norm of the last row that holds a token, the only one that reaches the vocabulary.
pub fn last_norm(shape: &Shape, chunk: &Chunk, arithmetic: Arithmetic) -> Kernel {
    let width = shape.hidden;
    let Chunk { rows, activations, vectors, .. } = *chunk;
    let launch = Launch::rows(1).threads(norm::threads(width));
    kernel(name("prefill_last_norm", chunk, arithmetic), launch, |k| {
        let x = k.read::<f32>("x", [rows, width]).stored(activations);
        let w = k.read::<f32>("w", [width]).stored(vectors);
        let control = k.read::<i32>("control", [2]);
        let y = k.write::<f32>("y", [width]).stored(activations);

        let (_, valid) = chunk.place(shape, control);
        norm_row(k, x.slice((valid - 1).max(0)), w, y, shape.norm_eps, arithmetic);
    })
}

/// The norm of one row by a whole threadgroup; the views have one axis.
fn norm_row<'k>(
    k: &'k Builder,
    x: View<'k, f32>,
    w: View<'k, f32>,
    y: View<'k, f32>,
    eps: f32,
    arithmetic: Arithmetic,
) {
    let scale = norm::of_threadgroup(k, x, eps, arithmetic);
    k.each(k.range(k.thread() * 4, x.size(0)).step(k.threads() * 4), |i| {
        let (x, w) = (x.at4([i]), w.at4([i]));
        let part = |n: usize| as_stored(x.part(n) * scale, y.storage()) * w.part(n);
        y.set4([i], k.vec4([0, 1, 2, 3].map(part)));
    });
}

/// `activation = silu(gate) · up` of the gate and up projections side by side.
pub fn swiglu(shape: &Shape, chunk: &Chunk, exponential: Exponential) -> Kernel {
    let width = shape.intermediate;
    let Chunk { rows, activations, .. } = *chunk;
    let (fours, fast) = (width / 4, if exponential == Exponential::Fast { "_fast" } else { "" });
    kernel(format!("prefill_swiglu_{activations}{fast}"), by_row(rows, fours), |k| {
        let gate_up = k.read::<f32>("gate_up", [rows, 2, width]).stored(activations).guarded_axes(&[2]);
        let activation = k.write::<f32>("activation", [rows, width]).stored(activations).guarded_axes(&[1]);
        let (row, column) = (k.group_axis(1), k.item() * 4);

        let (gate, up) = (gate_up.at4((row, 0, column)), gate_up.at4((row, 1, column)));
        let part = |n: usize| as_stored(silu(gate.part(n), exponential), activations) * up.part(n);
        activation.set4((row, column), k.vec4([0, 1, 2, 3].map(part)));
    })
}

/// `x += y`.
pub fn residual(shape: &Shape, chunk: &Chunk) -> Kernel {
    let width = shape.hidden;
    let Chunk { rows, activations, .. } = *chunk;
    let fours = width / 4;
    kernel(format!("prefill_residual_{activations}"), by_row(rows, fours), |k| {
        let x = k.read_write::<f32>("x", [rows, width]).stored(activations).guarded_axes(&[1]);
        let y = k.read::<f32>("y", [rows, width]).stored(activations).guarded_axes(&[1]);
        let at = (k.group_axis(1), k.item() * 4);
        x.set4(at, x.at4(at) + y.at4(at));
    })
}

/// The last row that holds a token: the only one that reaches the vocabulary (D47).
pub fn last_row(shape: &Shape, chunk: &Chunk) -> Kernel {
    let width = shape.hidden;
    let Chunk { rows, activations, .. } = *chunk;
    kernel(format!("prefill_last_row_{activations}"), Launch::items(width / 4), |k| {
        let x = k.read::<f32>("x", [rows, width]).stored(activations).guarded_axes(&[1]);
        let control = k.read::<i32>("control", [2]);
        let y = k.write::<f32>("y", [width]).stored(activations).guarded();

        let (_, valid) = chunk.place(shape, control);
        let column = k.item() * 4;
        y.set4([column], x.at4(((valid - 1).max(0), column)));
    })
}
