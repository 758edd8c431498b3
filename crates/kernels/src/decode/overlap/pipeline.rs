//! The launches of an overlapped step in order.

use std::sync::Arc;

use tilewright_tile::pipeline::Region;
use tilewright_tile::{Kernel, Order, Pipeline, Rejection, ResourceKind, Stage, Verified, verify};

use super::codes::has_scales;
use super::pages::{Layers, Pages};
use super::products::VECTORS;
use super::{append, attention, candidates, choose, down, gate_up, output, qkv_rows, vocabulary};
use crate::decode::options::Options;
use crate::decode::{rows, select};
use crate::format::Format;
use crate::formats::Formats;
use crate::layout::{ModelPack, Piece, Slot, Tensor};
use crate::shape::Shape;
use crate::verified::Kernels;

/// Bytes of what both halves share.
struct Shared {
    /// Keys and values.
    cache: Layers,
    /// Those of the token in a layer.
    fresh: u64,
    /// Scales of both, where they are codes.
    scales: Option<(Layers, u64)>,
    logits: u64,
}

impl Shared {
    fn of(shape: &Shape, options: &Options) -> Self {
        let token = 2 * u64::from(shape.kv_width()) * u64::from(options.cache.bytes());
        let pages = Pages::of(shape, options);
        let of_token = 8 * u64::from(shape.kv_heads);
        let scales = has_scales(options.cache).then(|| (pages.layers(of_token), of_token));
        Self { cache: pages.layers(token), fresh: token, scales, logits: u64::from(shape.vocab) * 4 }
    }

    /// The scales of the cache and of the token as resources of `layers` layers.
    fn scales(&self, p: &mut Pipeline, layers: u64, kinds: [ResourceKind; 2]) -> Option<[Region; 2]> {
        self.scales.map(|(cache, fresh)| {
            [
                p.resource("cache_scales", cache.bytes(layers), kinds[0]),
                p.resource("fresh_scales", layers * fresh, kinds[1]),
            ]
        })
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
    step_of(name, shape, options, &Formats::uniform_with(shape, options.weights, options.vectors))
}

/// The same for matrices in several formats, whatever `options` says of weights and vectors. A layer whose queries, keys and
/// values are in several has a launch for each.
///
/// # Errors
/// A kernel that does not fit a device at this shape.
pub fn step_of(
    name: &str,
    shape: &Shape,
    options: &Options,
    formats: &Formats,
) -> Result<Pipeline, Rejection> {
    let options = Options { sequences: 1, activations: VECTORS, vectors: formats.vectors(), ..*options };
    let mut p = Pipeline::new(name, Order::Serial);
    let packs = ModelPack::new(shape, formats);
    let layers = u64::from(shape.layers);
    let bytes = Shared::of(shape, &options);
    let matrix = |format| Slot::of_matrix([shape.vocab, shape.hidden], format);
    let [first, last] = [formats.embedding(), formats.head()].map(|format| (format, matrix(format)));
    let norm = Slot::of_matrix([1, shape.hidden], Format::Float(options.vectors));

    let control = p.resource("control", 8, ResourceKind::Input);
    let embedding = p.resource("embedding", first.1.end(), ResourceKind::Input);
    let head = if shape.tied { embedding } else { p.resource("head", last.1.end(), ResourceKind::Input) };
    let weights = p.resource("layers", packs.bytes(), ResourceKind::Input);
    let final_norm = p.resource("final_norm", norm.end(), ResourceKind::Input);
    let rotary = u64::from(shape.capacity) * u64::from(shape.pairs()) * 8;
    let rotary = p.resource("rotary", rotary, ResourceKind::Input);
    let cache = p.resource("cache", bytes.cache.bytes(layers), ResourceKind::Input);
    let fresh = p.resource("fresh", layers * bytes.fresh, ResourceKind::Output);
    let scales = bytes.scales(&mut p, layers, [ResourceKind::Input, ResourceKind::Output]);
    let mut vector = |name: &str, width: u32| p.resource(name, u64::from(width) * 4, ResourceKind::Scratch);
    let x = vector("x", shape.hidden);
    let heads = vector("qkv", shape.qkv_width());
    let mixed = vector("mixed", shape.q_width());
    let activation = vector("activation", shape.intermediate);

    let embed = verified(rows::embed(shape, &options.weights(first.0)))?;
    let embed = Stage::new("embedding", &embed).read("control", control);
    p.push(first.1.bind(embed, "embedding", first.0, embedding).write("x", x));
    let attention = verified(attention(shape, &options))?;
    let mut products = Kernels::new();
    for layer in 0..shape.layers {
        let stage = |name: &str, kernel: &Arc<Verified>| Stage::new(format!("{name}.{layer}"), kernel);
        let of = |all: Region, bytes: u64| all.part(u64::from(layer) * bytes, bytes);
        let (start, pack) = packs.layer(layer);
        let of_layer = weights.part(start, pack.bytes());
        let vector = |tensor| pack.slot(tensor).first(of_layer);
        let mut product = |name: &str, tensor: Tensor| -> Result<Vec<Stage>, Rejection> {
            let of = |(n, piece): (usize, &Piece)| {
                let name = if n == 0 { format!("{name}.{layer}") } else { format!("{name}.{layer}.{n}") };
                let options = &options.weights(piece.format);
                let kernel =
                    products.of((tensor, piece.format, [piece.first, piece.rows]), || match tensor {
                        Tensor::Output => output(shape, options),
                        Tensor::GateUp => gate_up(shape, options),
                        Tensor::Down => down(shape, options),
                        _ => qkv_rows(shape, options, piece.first..piece.first + piece.rows),
                    })?;
                Ok(piece.slot.bind(Stage::new(name, &kernel), "weights", piece.format, of_layer))
            };
            pack.pieces(tensor).iter().enumerate().map(of).collect()
        };

        for qkv in product("qkv", Tensor::Qkv)? {
            let qkv = qkv.read("w", vector(Tensor::InputNorm)).read("x", x).write("y", heads);
            p.push(if shape.qkv_bias { qkv.read("bias", vector(Tensor::QkvBias)) } else { qkv });
        }
        let mut attention = stage("attention", &attention).read("control", control).read("rotary", rotary);
        if shape.qk_norm {
            attention = attention.read("q_norm", vector(Tensor::QNorm)).read("k_norm", vector(Tensor::KNorm));
        }
        let mut attention = attention.read("qkv", heads).read("cache", bytes.cache.layer(cache, layer));
        if let (Some([cache, fresh]), Some((layers, each))) = (scales, bytes.scales) {
            attention = attention
                .read("cache_scales", layers.layer(cache, layer))
                .write("fresh_scales", of(fresh, each));
        }
        p.push(attention.write("mixed", mixed).write("fresh", of(fresh, bytes.fresh)));
        for output in product("output", Tensor::Output)? {
            p.push(output.read("x", mixed).update("y", x));
        }
        for gate_up in product("gate_up", Tensor::GateUp)? {
            p.push(gate_up.read("w", vector(Tensor::PostNorm)).read("x", x).write("activation", activation));
        }
        for down in product("down", Tensor::Down)? {
            p.push(down.read("x", activation).update("y", x));
        }
    }
    let logits = p.resource("logits", bytes.logits, ResourceKind::Output);
    let vocabulary = verified(vocabulary(shape, &options.weights(last.0)))?;
    let vocabulary = Stage::new("vocabulary", &vocabulary).read("w", final_norm);
    p.push(last.1.bind(vocabulary, "weights", last.0, head).read("x", x).write("y", logits));
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
    let cache = p.resource("cache", bytes.cache.bytes(layers), ResourceKind::State);
    let chunks = u64::from(select::chunks(shape)) * 4;
    let best = p.resource("best", chunks, ResourceKind::Scratch);
    let at = p.resource("at", chunks, ResourceKind::Scratch);
    let ids = p.resource("ids", u64::from(shape.capacity) * 4, ResourceKind::Output);
    let scales = bytes.scales(&mut p, layers, [ResourceKind::State, ResourceKind::Input]);
    let mut append = Stage::new("append", &verified(append(shape, &options))?);
    if let Some([cache, fresh]) = scales {
        append = append.read("fresh_scales", fresh).write("cache_scales", cache);
    }
    p.push(append.read("control", control).read("fresh", fresh).write("cache", cache));
    let candidates = Stage::new("candidates", &verified(candidates(shape))?).read("logits", logits);
    p.push(candidates.write("best", best).write("at", at));
    let choose = Stage::new("choose", &verified(choose(shape))?).read("best", best).read("at", at);
    p.push(choose.update("control", control).write("ids", ids));
    Ok(p)
}
