//! The single-threadgroup megakernel: token id to logits in one launch (B13–B17).
//!
//! One threadgroup runs the whole decoder with a loop over the layers. Activations live in one shared array whose
//! parts are used again from layer to layer; keys and values of the token stay there until every head has used them,
//! so attention reads only earlier positions from the cache, and what is written to the cache is read by the next
//! launch. Nothing waits for another threadgroup.

use std::sync::Arc;

use tilewright_tile::ir::{Access, Param};
use tilewright_tile::{
    Builder, Kernel, Launch, Order, Pipeline, Rejection, ResourceKind, Scalar, Stage, Value, View, kernel,
    verify,
};

use crate::format::Format;
use crate::layout::{LayerPack, Tensor};
use crate::parts::arithmetic::as_stored;
use crate::parts::{Arithmetic, Exponential, HeadLanes, Matrix, norm, silu, softmax};
use crate::shape::Shape;

use super::heads::{HeadScale, turn};

/// f32 numbers of shared memory: residual and normed vector, then either queries, keys and values or the SwiGLU
/// product (B14: 6,144 numbers, 24 KiB, at the published shape).
pub const fn scratch(shape: &Shape) -> u32 {
    let (attention, mlp) = (shape.qkv_width(), shape.intermediate);
    shape.hidden.saturating_mul(2).saturating_add(if attention > mlp { attention } else { mlp })
}

/// Whether the scratch of a shape fits the shared memory of every device.
pub const fn fits(shape: &Shape) -> bool {
    scratch(shape) as u64 * 4 <= tilewright_tile::verify::Limits::COMMON.shared_bytes
}

/// Logits of `token` at `position`, everything in memory stored as `storage`.
pub fn megakernel(shape: &Shape, storage: Scalar) -> Kernel {
    let &Shape { hidden, heads, kv_heads, head_dim, intermediate, vocab, capacity, .. } = shape;
    kernel(format!("decode_megakernel_{storage}"), Launch::groups(1).alone(), |k| {
        let token = k.argument("token", 0..=last(vocab)).named("token");
        let position = k.argument("position", 0..=last(capacity)).named("position");
        let embedding = k.read::<f32>("embedding", [vocab, hidden]).stored(storage);
        let weights = Layers::read(k, shape, storage);
        let final_norm = k.read::<f32>("final_norm", [hidden]).stored(storage);
        let head = (!shape.tied).then(|| k.read::<f32>("head", [vocab, hidden]).stored(storage));
        let rotary = k.read::<f32>("rotary", [capacity, shape.pairs(), 2]);
        let cache = [shape.layers, kv_heads, capacity, head_dim];
        let lanes = HeadLanes::new(k, head_dim);
        let keys = lanes.guard(k.read_write::<f32>("keys", cache).stored(storage), 4);
        let values = lanes.guard(k.read_write::<f32>("values", cache).stored(storage), 4);
        let logits = k.write::<f32>("logits", [vocab]).stored(storage);

        let shared = k.shared::<f32>("scratch", scratch(shape));
        let after = 2 * hidden;
        let x = shared.view("x", [1, hidden]);
        let h = shared.view("h", [1, hidden]).offset(hidden);
        let qkv = shared.view("qkv", [1, shape.qkv_width()]).offset(after);
        let q_and_k = shared.view("q_and_k", [heads + kv_heads, head_dim]).offset(after);
        let q = lanes.guard(shared.view("q", [heads, head_dim]).offset(after), 2);
        let mixed = shared.view("mixed", [1, shape.q_width()]).offset(after);
        let key = shared.view("key", [kv_heads, head_dim]).offset(after + shape.q_width());
        let value = shared.view("value", [kv_heads, head_dim]);
        let value = value.offset(after + shape.q_width() + shape.kv_width());
        let (key, value) = (lanes.guard(key, 2), lanes.guard(value, 2));
        let activation = shared.view("activation", [1, intermediate]).offset(after);

        let everywhere = |width: u32, put: &dyn Fn(Value<'_, i32>)| {
            k.each(k.thread_strided(width, norm::contiguous(width)), put);
            k.barrier();
        };
        let normed = |w: View<'_, f32>| {
            let scale = norm::of_simd_group(k, x.slice(0), shape.norm_eps, Arithmetic::Fused);
            everywhere(hidden, &|i| h.set((0, i), x.at((0, i)) * scale * w.at([i])));
        };

        everywhere(hidden, &|i| x.set((0, i), embedding.at((token, i))));
        k.each(0..shape.layers, |layer| {
            let w = weights.of(layer);
            normed(w.vector(Tensor::InputNorm));

            each_row(k, shape.qkv_width(), |row| {
                let sum = w.matrix(Tensor::Qkv).products(&[row], h)[0][0];
                let bias = shape.qkv_bias.then(|| w.vector(Tensor::QkvBias).at([row]));
                qkv.set_from_lane(0, (0, row), bias.map_or(sum, |bias| sum + bias));
            });

            let angles = rotary.slice(position);
            let turned = |head: Value<'_, i32>, w: Option<_>, storage| {
                let x = q_and_k.slice(head);
                let scale = w.map(|w| HeadScale::of(k, shape, Arithmetic::Fused, x, w));
                // Lanes square other elements than they turn: none turns before all have squared, and none goes on to
                // the next head before all have turned.
                k.simd_barrier();
                turn(k, Arithmetic::Fused, x, scale, angles, &|i, x| {
                    q_and_k.set((head, i), as_stored(x, storage));
                });
                k.simd_barrier();
            };
            k.each(k.simd_strided(heads + kv_heads), |head| {
                let norm = |tensor| shape.qk_norm.then(|| w.vector(tensor));
                k.when(head.lt(heads), || turned(head, norm(Tensor::QNorm), Scalar::F32));
                k.when(head.ge(heads), || turned(head, norm(Tensor::KNorm), storage));
            });
            k.barrier();

            k.each(k.simd_strided(heads), |head| {
                let kv = head / shape.group();
                let query: Vec<_> =
                    lanes.load(q, head).into_iter().map(|q| q * shape.attention_scale()).collect();
                let see =
                    |state, key: Vec<_>, value: Vec<_>| softmax::see(state, lanes.dot(&query, &key), &value);
                let [keys, values] = [keys, values].map(|cache| cache.slice(layer).slice(kv));
                let nothing = softmax::nothing(k, query.len());
                let state = k.fold(k.below(position), nothing, |state, t| {
                    see(state, lanes.load(keys, t), lanes.load(values, t))
                });
                let value = lanes.load(value, kv).into_iter().map(|v| as_stored(v, storage)).collect();
                let state = see(state, lanes.load(key, kv), value);
                lanes.store(q, head, &softmax::mean(state));
            });
            k.each(k.thread_strided(shape.kv_width(), 1), |i| {
                let (kv, d) = (i / head_dim, i % head_dim);
                keys.set((layer, kv, position, d), key.at((kv, d)));
                values.set((layer, kv, position, d), value.at((kv, d)));
            });
            k.barrier();

            let add_to_x = |row: Value<'_, i32>, sum: Value<'_, f32>| {
                k.when(k.lane().eq(0), || x.set((0, row), x.at((0, row)) + sum));
            };
            each_row(k, hidden, |row| {
                add_to_x(row, w.matrix(Tensor::Output).products(&[row], mixed)[0][0]);
            });

            normed(w.vector(Tensor::PostNorm));
            each_row(k, intermediate, |row| {
                let sums = w.matrix(Tensor::GateUp).products(&[row, row + intermediate], h);
                let swiglu = silu(sums[0][0], Exponential::Precise) * sums[1][0];
                activation.set_from_lane(0, (0, row), swiglu);
            });
            each_row(k, hidden, |row| {
                add_to_x(row, w.matrix(Tensor::Down).products(&[row], activation)[0][0]);
            });
        });
        normed(final_norm);
        let head = Matrix::of_view(k, head.unwrap_or(embedding));
        k.each(k.simd_strided(vocab), |row| {
            logits.set_from_lane(0, [row], head.products(&[row], h)[0][0]);
        });
    })
}

/// The pipeline whose only launch is the megakernel; each run gives `token` and `position`.
///
/// # Errors
/// A shape that does not fit.
pub fn one_launch(name: &str, shape: &Shape, storage: Scalar) -> Result<Pipeline, Rejection> {
    let mut pipeline = Pipeline::new(name, Order::Serial);
    let kernel = Arc::new(verify(megakernel(shape, storage))?);
    let mut stage = Stage::new("megakernel", &kernel);
    for &param in kernel.params() {
        let name = kernel.param_name(param);
        stage = match param {
            Param::Argument(argument) => {
                let range = kernel.arguments()[argument].range;
                stage.argument(name, pipeline.argument(name, range))
            }
            Param::Buffer(buffer) => {
                let buffer = &kernel.buffers()[buffer];
                let bytes = buffer.elements * u64::from(buffer.element.bytes());
                match buffer.access {
                    Access::Read => stage.read(name, pipeline.resource(name, bytes, ResourceKind::Input)),
                    Access::Write => stage.write(name, pipeline.resource(name, bytes, ResourceKind::Output)),
                    Access::ReadWrite => {
                        stage.update(name, pipeline.resource(name, bytes, ResourceKind::State))
                    }
                }
            }
        };
    }
    pipeline.push(stage);
    Ok(pipeline)
}

/// Does something for each row, one SIMD group a row, and waits for all.
fn each_row<'k>(k: &'k Builder, rows: u32, row: impl FnMut(Value<'k, i32>)) {
    k.each(k.simd_strided(rows), row);
    k.barrier();
}

fn last(count: u32) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX) - 1
}

/// The packed weights of all layers.
struct Layers<'k> {
    k: &'k Builder,
    views: Vec<(Tensor, View<'k, f32>)>,
}

/// The weights of one layer.
struct Layer<'l, 'k> {
    layers: &'l Layers<'k>,
    layer: Value<'k, i32>,
}

impl<'k> Layers<'k> {
    fn read(k: &'k Builder, shape: &Shape, storage: Scalar) -> Self {
        let pack = LayerPack::new(shape, Format::Float(storage));
        let elements = |bytes: u64| bytes / u64::from(storage.bytes());
        let buffer = k.packed::<f32>("layers", Access::Read);
        let view = |tensor: Tensor| {
            let [rows, columns] = tensor.extents(shape);
            let stride = [elements(pack.bytes()), u64::from(columns), 1];
            buffer
                .view(&format!("{tensor:?}"), [shape.layers, rows, columns])
                .strides(stride)
                .offset(elements(pack.slot(tensor).offset))
                .stored(storage)
        };
        let there = |tensor: &Tensor| tensor.extents(shape)[0] > 0;
        Self { k, views: Tensor::ALL.into_iter().filter(there).map(|t| (t, view(t))).collect() }
    }

    fn of(&self, layer: Value<'k, i32>) -> Layer<'_, 'k> {
        Layer { layers: self, layer }
    }
}

impl<'k> Layer<'_, 'k> {
    fn view(&self, tensor: Tensor) -> View<'k, f32> {
        let found = self.layers.views.iter().find(|(t, _)| *t == tensor);
        found.map_or(self.layers.views[0].1, |(_, view)| *view).slice(self.layer)
    }

    fn matrix(&self, tensor: Tensor) -> Matrix<'k> {
        Matrix::of_view(self.layers.k, self.view(tensor))
    }

    fn vector(&self, tensor: Tensor) -> View<'k, f32> {
        self.view(tensor).slice(0)
    }
}
