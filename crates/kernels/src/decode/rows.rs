//! Whole rows of the residual stream: the embedding and the norms.

use tilewright_tile::{Kernel, Launch, kernel};

use crate::layout::Tensor;
use crate::parts::{Matrix, norm};
use crate::shape::Shape;

use super::control::Control;
use super::options::{Concerns, Options};

/// `x = embedding[token]`.
pub fn embed(shape: &Shape, options: &Options) -> Kernel {
    let name = options.kernel_name("decode_embed", Concerns { weights: true, ..Concerns::default() });
    let step = options.weights.step(shape.hidden);
    let groups = (shape.hidden / step).div_ceil(256);
    kernel(name, Launch::grid([groups, options.sequences, 1]), |k| {
        let control = Control::read(k, shape, options.sequences);
        let embedding = Matrix::read(k, "embedding", [shape.vocab, shape.hidden], options.weights);
        let x = k.write::<f32>("x", [options.sequences, shape.hidden]).stored(options.activations);
        let (sequence, unit) = (k.group_axis(1), k.item());
        let token = control.token(sequence);

        k.when(unit.lt(shape.hidden / step), || {
            for (n, number) in embedding.numbers(token, unit).into_iter().enumerate() {
                x.set((sequence, unit * step + n), number);
            }
        });
    })
}

/// `y = x / rms(x) · w`, one threadgroup a row: the norms of layers and the final one (C18, D53).
pub fn norm(shape: &Shape, options: &Options) -> Kernel {
    let concerns = Concerns { arithmetic: true, ..Concerns::default() };
    let weights = options.vectors;
    let mut name = options.kernel_name("decode_norm", concerns);
    if weights != options.activations {
        name.push_str(&format!("_weights_{weights}"));
    }
    let (rows, width) = (options.sequences, shape.hidden);
    kernel(name, Launch::rows(rows).threads(norm::threads(width)), |k| {
        let x = k.read::<f32>("x", [rows, width]).stored(options.activations);
        let w = k.read::<f32>("w", Tensor::InputNorm.extents(shape)).stored(weights);
        let y = k.write::<f32>("y", [rows, width]).stored(options.activations);
        let row = k.group_id();

        let scale = norm::of_threadgroup(k, x.slice(row), shape.norm_eps, options.arithmetic);
        k.each(k.thread_strided(width, norm::contiguous(width)), |i| {
            y.set((row, i), x.at((row, i)) * scale * w.at((0, i)));
        });
    })
}
