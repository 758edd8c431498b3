//! The launches of an overlapped step in order.

use std::sync::Arc;

use tilewright_tile::pipeline::Region;
use tilewright_tile::{Kernel, Order, Pipeline, Rejection, ResourceKind, Stage, Verified, verify};

use super::products::VECTORS;
use super::{append, attention, candidates, choose, down, gate_up, output, qkv, vocabulary};
use crate::decode::options::Options;
use crate::decode::{rows, select};
use crate::format::Format;
use crate::layout::{LayerPack, Slot, Tensor};
use crate::shape::Shape;

/// Bytes of what both halves share.
struct Shared {
    /// Keys and values of a layer.
    cache: u64,
    /// Those of the token.
    fresh: u64,
    logits: u64,
}

impl Shared {
    fn of(shape: &Shape, options: &Options) -> Self {
        let token = 2 * u64::from(shape.kv_width()) * u64::from(options.cache.bytes());
        Self { cache: token * u64::from(shape.capacity), fresh: token, logits: u64::from(shape.vocab) * 4 }
    }
}

fn verified(kernel: Kernel) -> Result<Arc<Verified>, Rejection> {
    verify(kernel).map(Arc::new)
}

/// From the token and position in `control` to `logits` and `fresh`, the keys and values of every layer: one launch for the
/// embedding, five a layer, one for the logits.
///
/// # Errors
/// A kernel that does not fit a device at this shape.
pub fn step(name: &str, shape: &Shape, options: &Options) -> Result<Pipeline, Rejection> {
    let options = Options { sequences: 1, activations: VECTORS, ..*options };
    let mut p = Pipeline::new(name, Order::Serial);
    let pack = LayerPack::with_vectors(shape, options.weights, options.vectors);
    let layers = u64::from(shape.layers);
    let bytes = Shared::of(shape, &options);
    let matrix = Slot::of_matrix([shape.vocab, shape.hidden], options.weights);
    let norm = Slot::of_matrix([1, shape.hidden], Format::Float(options.vectors));

    let control = p.resource("control", 8, ResourceKind::Input);
    let embedding = p.resource("embedding", matrix.end(), ResourceKind::Input);
    let head = if shape.tied { embedding } else { p.resource("head", matrix.end(), ResourceKind::Input) };
    let weights = p.resource("layers", layers * pack.bytes(), ResourceKind::Input);
    let final_norm = p.resource("final_norm", norm.end(), ResourceKind::Input);
    let rotary = u64::from(shape.capacity) * u64::from(shape.pairs()) * 8;
    let rotary = p.resource("rotary", rotary, ResourceKind::Input);
    let cache = p.resource("cache", layers * bytes.cache, ResourceKind::Input);
    let fresh = p.resource("fresh", layers * bytes.fresh, ResourceKind::Output);
    let mut vector = |name: &str, width: u32| p.resource(name, u64::from(width) * 4, ResourceKind::Scratch);
    let x = vector("x", shape.hidden);
    let heads = vector("qkv", shape.qkv_width());
    let mixed = vector("mixed", shape.q_width());
    let activation = vector("activation", shape.intermediate);

    let embed = Stage::new("embedding", &verified(rows::embed(shape, &options))?).read("control", control);
    p.push(bound(embed, "embedding", embedding, matrix).write("x", x));
    let qkv = verified(qkv(shape, &options))?;
    let attention = verified(attention(shape, &options))?;
    let output = verified(output(shape, &options))?;
    let gate_up = verified(gate_up(shape, &options))?;
    let down = verified(down(shape, &options))?;
    for layer in 0..shape.layers {
        let stage = |name: &str, kernel: &Arc<Verified>| Stage::new(format!("{name}.{layer}"), kernel);
        let of = |all: Region, bytes: u64| all.part(u64::from(layer) * bytes, bytes);
        let of_layer = of(weights, pack.bytes());
        let vector = |tensor| {
            let Slot { offset, bytes, .. } = pack.slot(tensor);
            of_layer.part(offset, bytes)
        };
        let weights = |stage, tensor| bound(stage, "weights", of_layer, pack.slot(tensor));

        let mut qkv = weights(stage("qkv", &qkv), Tensor::Qkv).read("w", vector(Tensor::InputNorm));
        if shape.qkv_bias {
            qkv = qkv.read("bias", vector(Tensor::QkvBias));
        }
        p.push(qkv.read("x", x).write("y", heads));
        let mut attention = stage("attention", &attention).read("control", control).read("rotary", rotary);
        if shape.qk_norm {
            attention = attention.read("q_norm", vector(Tensor::QNorm)).read("k_norm", vector(Tensor::KNorm));
        }
        let attention = attention.read("qkv", heads).read("cache", of(cache, bytes.cache));
        p.push(attention.write("mixed", mixed).write("fresh", of(fresh, bytes.fresh)));
        p.push(weights(stage("output", &output), Tensor::Output).read("x", mixed).update("y", x));
        let gate_up = weights(stage("gate_up", &gate_up), Tensor::GateUp).read("w", vector(Tensor::PostNorm));
        p.push(gate_up.read("x", x).write("activation", activation));
        p.push(weights(stage("down", &down), Tensor::Down).read("x", activation).update("y", x));
    }
    let logits = p.resource("logits", bytes.logits, ResourceKind::Output);
    let vocabulary = Stage::new("vocabulary", &verified(vocabulary(shape, &options))?).read("w", final_norm);
    p.push(bound(vocabulary, "weights", head, matrix).read("x", x).write("y", logits));
    Ok(p)
}

/// From `fresh` and `logits` to the cache, the chosen id in `ids` at the step's position, and token and position of the
/// next step in `control`: three launches.
///
/// # Errors
/// A kernel that does not fit a device at this shape.
pub fn end(name: &str, shape: &Shape, options: &Options) -> Result<Pipeline, Rejection> {
    let options = Options { sequences: 1, activations: VECTORS, ..*options };
    let mut p = Pipeline::new(name, Order::Serial);
    let (layers, bytes) = (u64::from(shape.layers), Shared::of(shape, &options));
    let control = p.resource("control", 8, ResourceKind::State);
    let fresh = p.resource("fresh", layers * bytes.fresh, ResourceKind::Input);
    let logits = p.resource("logits", bytes.logits, ResourceKind::Input);
    let cache = p.resource("cache", layers * bytes.cache, ResourceKind::State);
    let chunks = u64::from(select::chunks(shape)) * 4;
    let best = p.resource("best", chunks, ResourceKind::Scratch);
    let at = p.resource("at", chunks, ResourceKind::Scratch);
    let ids = p.resource("ids", u64::from(shape.capacity) * 4, ResourceKind::Output);
    let append = Stage::new("append", &verified(append(shape, &options))?);
    p.push(append.read("control", control).read("fresh", fresh).write("cache", cache));
    let candidates = Stage::new("candidates", &verified(candidates(shape))?).read("logits", logits);
    p.push(candidates.write("best", best).write("at", at));
    let choose = Stage::new("choose", &verified(choose(shape))?).read("best", best).read("at", at);
    p.push(choose.update("control", control).write("ids", ids));
    Ok(p)
}

/// Binds a matrix that lies at `slot` of `region`, and its scales.
fn bound(stage: Stage, parameter: &str, region: Region, slot: Slot) -> Stage {
    let Slot { offset, bytes, scale_bytes } = slot;
    let stage = stage.read(parameter, region.part(offset, bytes));
    match scale_bytes {
        0 => stage,
        _ => stage.read(&format!("{parameter}_scales"), region.part(offset + bytes, scale_bytes)),
    }
}
