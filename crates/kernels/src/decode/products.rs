//! Matrix-vector products: one SIMD group an output row, every weight read once for all sequences.

use std::ops::Range;

use tilewright_tile::{Builder, Kernel, Launch, View, kernel};

use crate::layout::Tensor;
use crate::parts::{Exponential, Matrix, silu};
use crate::shape::Shape;

use super::options::{Concerns, Options};

/// Output rows, and SIMD groups, of a threadgroup.
const ROWS: u32 = 8;

/// What happens to a product.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Epilogue {
    /// It is stored.
    Store,
    /// A bias is added.
    Bias,
    /// It is added to what is there: the residual.
    Residual,
}

/// Whether the last threadgroup has fewer rows than SIMD groups.
const fn is_ragged(rows: u32) -> bool {
    !rows.is_multiple_of(ROWS)
}

/// The parameter `weights`, guarded where the last threadgroup goes beyond `rows`.
fn matrix<'k>(k: &'k Builder, extents: [u32; 2], rows: u32, options: &Options) -> Matrix<'k> {
    let weights = Matrix::read(k, "weights", extents, options.weights);
    if is_ragged(rows) { weights.guarded() } else { weights }
}

/// Guards the axis of output rows where the last threadgroup goes beyond them.
fn guard_rows<'k>(view: View<'k, f32>, axis: usize) -> View<'k, f32> {
    if is_ragged(view.size(axis)) { view.guarded_axes(&[axis]) } else { view }
}

/// `qkv = W·h (+ bias)`: queries, keys and values of all heads.
pub fn qkv(shape: &Shape, options: &Options) -> Kernel {
    qkv_rows(shape, options, 0..shape.qkv_width())
}

/// Some rows of that, where the matrix of each format has a product of its own.
pub fn qkv_rows(shape: &Shape, options: &Options, rows: Range<u32>) -> Kernel {
    let epilogue = if shape.qkv_bias { Epilogue::Bias } else { Epilogue::Store };
    let [all, columns] = Tensor::Qkv.extents(shape);
    let part = shape.qkv_part(&rows);
    product(("decode_qkv", part), (rows, all), columns, epilogue, options)
}

/// `x = x + W·mixed`: the output projection of attention on the residual stream.
pub fn output(shape: &Shape, options: &Options) -> Kernel {
    whole("decode_output", Tensor::Output.extents(shape), Epilogue::Residual, options)
}

/// `x = x + W·activation`: the down projection on the residual stream.
pub fn down(shape: &Shape, options: &Options) -> Kernel {
    whole("decode_down", Tensor::Down.extents(shape), Epilogue::Residual, options)
}

/// `logits = head·h`: the vocabulary projection (C19: 18,992 threadgroups at 151,936 rows).
pub fn vocabulary(shape: &Shape, options: &Options) -> Kernel {
    whole("decode_vocabulary", [shape.vocab, shape.hidden], Epilogue::Store, options)
}

fn whole(name: &str, [rows, columns]: [u32; 2], epilogue: Epilogue, options: &Options) -> Kernel {
    product((name, ""), (0..rows, rows), columns, epilogue, options)
}

/// Makes `rows` of `all` outputs; the matrix has just these.
fn product(
    (name, part): (&str, &str),
    (rows, all): (Range<u32>, u32),
    columns: u32,
    epilogue: Epilogue,
    options: &Options,
) -> Kernel {
    let mut name = options.kernel_name(name, Concerns { weights: true, ..Concerns::default() });
    if epilogue == Epilogue::Bias && options.vectors != options.weights.vectors() {
        name.push_str(&format!("_vectors_{}", options.vectors));
    }
    name.push_str(part);
    let (sequences, storage) = (options.sequences, options.activations);
    let (first, count) = (rows.start, rows.end - rows.start);
    // Where there are other rows as well, the last is no edge of a view.
    let (edge, inner) = (count == all, count != all && is_ragged(count));
    kernel(name, Launch::groups(count.div_ceil(ROWS)).threads(ROWS * 32), |k| {
        let x = k.read::<f32>("x", [sequences, columns]).stored(storage);
        let weights = matrix(k, [count, columns], count, options);
        let bias = (epilogue == Epilogue::Bias).then(|| k.read::<f32>("bias", [all]).stored(options.vectors));
        let y = match epilogue {
            Epilogue::Residual => k.read_write::<f32>("y", [sequences, all]),
            Epilogue::Store | Epilogue::Bias => k.write::<f32>("y", [sequences, all]),
        };
        let y = y.stored(storage);
        let (bias, y) = match edge {
            true => (bias.map(|bias| guard_rows(bias, 0)), guard_rows(y, 1)),
            false => (bias, y),
        };
        let row = (k.group_id() * ROWS + k.simd_group()).named("row");

        let sums = weights.products(&[row], x).remove(0);
        let writes = k.lane().eq(0);
        let writes = if inner { writes & row.lt(count) } else { writes };
        let at = if first == 0 { row } else { row + first };
        k.when(writes, || {
            for (sequence, sum) in sums.into_iter().enumerate() {
                let sum = match (bias, epilogue) {
                    (Some(bias), _) => sum + bias.at([at]),
                    (None, Epilogue::Residual) => y.at((sequence, at)) + sum,
                    (None, _) => sum,
                };
                y.set((sequence, at), sum);
            }
        });
    })
}

/// `activation = silu(gate·h) · (up·h)`: each SIMD group takes a row of the gate and the same row of up.
pub fn gate_up(shape: &Shape, options: &Options) -> Kernel {
    let name = options.kernel_name("decode_gate_up", Concerns { weights: true, ..Concerns::default() });
    let (sequences, storage, rows) = (options.sequences, options.activations, shape.intermediate);
    kernel(name, Launch::groups(rows.div_ceil(ROWS)).threads(ROWS * 32), |k| {
        let x = k.read::<f32>("x", [sequences, shape.hidden]).stored(storage);
        let weights = matrix(k, Tensor::GateUp.extents(shape), rows, options);
        let activation = guard_rows(k.write::<f32>("activation", [sequences, rows]).stored(storage), 1);
        let row = (k.group_id() * ROWS + k.simd_group()).named("row");

        let products = weights.products(&[row, row + rows], x);
        k.when(k.lane().eq(0), || {
            for (sequence, (&gate, &up)) in products[0].iter().zip(&products[1]).enumerate() {
                activation.set((sequence, row), silu(gate, Exponential::Precise) * up);
            }
        });
    })
}
