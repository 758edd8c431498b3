//! The launches of an overlapped step in order.

use std::sync::Arc;

use tilewright_tile::pipeline::Region;
use tilewright_tile::{Kernel, Order, Pipeline, Rejection, ResourceKind, Stage, Verified, verify};

use super::products::VECTORS;
use super::{attention, choose, down, gate_up, output, qkv, vocabulary};
use crate::decode::options::Options;
use crate::decode::{rows, select};
use crate::format::Format;
use crate::layout::{LayerPack, Slot, Tensor};
use crate::shape::Shape;

/// How far a step goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// To logits.
    Logits,
    /// To the next step's token and position as well.
    Token,
}

/// A step of one sequence: one launch for the embedding, five a layer, one for the logits, two to choose.
///
/// Of `options` the weights and the type of the cache count.
///
/// # Errors
/// A kernel that does not fit a device at this shape.
pub fn overlapped(name: &str, shape: &Shape, options: &Options, step: Step) -> Result<Pipeline, Rejection> {
    let options = Options { sequences: 1, activations: VECTORS, ..*options };
    let verified = |kernel: Kernel| verify(kernel).map(Arc::new);
    let mut p = Pipeline::new(name, Order::Serial);
    let pack = LayerPack::new(shape, options.weights);
    let layers = u64::from(shape.layers);
    let cache = u64::from(shape.kv_width()) * u64::from(shape.capacity) * u64::from(options.cache.bytes());
    let matrix = Slot::of_matrix([shape.vocab, shape.hidden], options.weights);
    let norm = Slot::of_matrix([1, shape.hidden], Format::Float(options.weights.vectors()));

    let control = p.resource("control", 8, ResourceKind::State);
    let embedding = p.resource("embedding", matrix.end(), ResourceKind::Input);
    let head = if shape.tied { embedding } else { p.resource("head", matrix.end(), ResourceKind::Input) };
    let weights = p.resource("layers", layers * pack.bytes(), ResourceKind::Input);
    let final_norm = p.resource("final_norm", norm.end(), ResourceKind::Input);
    let rotary = u64::from(shape.capacity) * u64::from(shape.pairs()) * 8;
    let rotary = p.resource("rotary", rotary, ResourceKind::Input);
    let keys = p.resource("keys", layers * cache, ResourceKind::State);
    let values = p.resource("values", layers * cache, ResourceKind::State);
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
        let of_layer = weights.part(u64::from(layer) * pack.bytes(), pack.bytes());
        let vector = |tensor| {
            let Slot { offset, bytes, .. } = pack.slot(tensor);
            of_layer.part(offset, bytes)
        };
        let weights = |stage, tensor| bound(stage, "weights", of_layer, pack.slot(tensor));
        let [keys, values] = [keys, values].map(|all| all.part(u64::from(layer) * cache, cache));

        let mut qkv = weights(stage("qkv", &qkv), Tensor::Qkv).read("w", vector(Tensor::InputNorm));
        if shape.qkv_bias {
            qkv = qkv.read("bias", vector(Tensor::QkvBias));
        }
        p.push(qkv.read("x", x).write("y", heads));
        let mut attention = stage("attention", &attention).read("control", control).read("rotary", rotary);
        if shape.qk_norm {
            attention = attention.read("q_norm", vector(Tensor::QNorm)).read("k_norm", vector(Tensor::KNorm));
        }
        let attention = attention.read("qkv", heads).update("keys", keys).update("values", values);
        p.push(attention.write("mixed", mixed));
        p.push(weights(stage("output", &output), Tensor::Output).read("x", mixed).update("y", x));
        let gate_up = weights(stage("gate_up", &gate_up), Tensor::GateUp).read("w", vector(Tensor::PostNorm));
        p.push(gate_up.read("x", x).write("activation", activation));
        p.push(weights(stage("down", &down), Tensor::Down).read("x", activation).update("y", x));
    }
    let logits = p.resource("logits", u64::from(shape.vocab) * 4, ResourceKind::Output);
    let vocabulary = Stage::new("vocabulary", &verified(vocabulary(shape, &options))?).read("w", final_norm);
    p.push(bound(vocabulary, "weights", head, matrix).read("x", x).write("y", logits));
    if step == Step::Token {
        let chunks = u64::from(select::chunks(shape)) * 4;
        let best = p.resource("best", chunks, ResourceKind::Scratch);
        let at = p.resource("at", chunks, ResourceKind::Scratch);
        let ids = p.resource("ids", u64::from(shape.capacity) * 4, ResourceKind::Output);
        let chunks = verified(select::argmax_chunks(shape, 1, VECTORS))?;
        p.push(
            Stage::new("argmax_chunks", &chunks).read("logits", logits).write("best", best).write("at", at),
        );
        let choose = Stage::new("choose", &verified(choose(shape))?).read("best", best).read("at", at);
        p.push(choose.update("control", control).write("ids", ids));
    }
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
