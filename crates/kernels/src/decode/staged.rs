//! The staged decode step: eight launches a layer (C18–C27).

use std::sync::Arc;

use tilewright_tile::pipeline::Region;
use tilewright_tile::{Kernel, Order, Pipeline, Rejection, ResourceKind, Stage, Verified, verify};

use crate::format::Format;
use crate::formats::Formats;
use crate::layout::{ModelPack, Piece, Slot, Tensor};
use crate::shape::Shape;
use crate::verified;

use super::options::{Attention, Options};
use super::{attention, heads, products, rows, sampling, select};

/// How far a step goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// Keys and values only, for a token of the prompt that is not the last: no final norm, no vocabulary (C27).
    Cache,
    /// Logits.
    Logits,
    /// Logits and the id of the largest.
    Token,
    /// Logits and the largest of them in order, with their ids, for sampling.
    Best {
        /// How many.
        count: u32,
    },
}

/// The step of `options.sequences` sequences from token ids and positions in `control` to `goal`.
///
/// Launches: one for the embedding, eight a layer (nine with [`Attention::SplitKeys`]), two for the logits, two to
/// select.
///
/// # Errors
/// A kernel that does not fit a device at this shape.
pub fn staged(name: &str, shape: &Shape, options: &Options, goal: Goal) -> Result<Pipeline, Rejection> {
    staged_of(name, shape, options, &uniform(shape, options), goal)
}

/// The same for matrices in several formats, whatever `options.weights` says. A layer whose queries, keys and values are in
/// several has a product for each.
///
/// # Errors
/// A kernel that does not fit a device at this shape.
pub fn staged_of(
    name: &str,
    shape: &Shape,
    options: &Options,
    formats: &Formats,
    goal: Goal,
) -> Result<Pipeline, Rejection> {
    let options = options.vectors(formats.vectors());
    build(Plan::new(name, shape, &options, formats, (goal, Caches::One)), &options, goal)
}

/// The same for sequences that each have a cache of their own, `keys.0`, `values.0` and so on: weights are swept once for
/// all, heads and attention take two launches (three with [`Attention::SplitKeys`]) a layer for each sequence, which may
/// overlap.
///
/// # Errors
/// A kernel that does not fit a device at this shape.
pub fn together(name: &str, shape: &Shape, options: &Options, goal: Goal) -> Result<Pipeline, Rejection> {
    together_of(name, shape, options, &uniform(shape, options), goal)
}

/// The same for matrices in several formats.
///
/// # Errors
/// A kernel that does not fit a device at this shape.
pub fn together_of(
    name: &str,
    shape: &Shape,
    options: &Options,
    formats: &Formats,
    goal: Goal,
) -> Result<Pipeline, Rejection> {
    let options = options.vectors(formats.vectors());
    build(Plan::new(name, shape, &options, formats, (goal, Caches::Each)), &options, goal)
}

fn uniform(shape: &Shape, options: &Options) -> Formats {
    Formats::uniform_with(shape, options.weights, options.vectors)
}

fn build(mut plan: Plan<'_>, options: &Options, goal: Goal) -> Result<Pipeline, Rejection> {
    let each = Options { sequences: plan.each(), ..*options };
    let embedding = options.weights(plan.formats.embedding());
    let mut kernels = Kernels::new(plan.shape, (options, &embedding), &each)?;
    let m = plan.memory;
    let embed = Stage::new("embedding", &kernels.embed).read("control", m.control);
    plan.push(m.embedding.bind(embed, "embedding").write("x", m.x));
    for layer in 0..plan.shape.layers {
        plan.layer(&mut kernels, layer)?;
    }
    if goal != Goal::Cache {
        plan.logits(&kernels)?;
    }
    match goal {
        Goal::Cache | Goal::Logits => {}
        Goal::Token => plan.select()?,
        Goal::Best { count } => plan.best(count)?,
    }
    Ok(plan.pipeline)
}

fn verified(kernel: Kernel) -> Result<Arc<Verified>, Rejection> {
    verify(kernel).map(Arc::new)
}

/// The kernels of a layer, each verified once for all layers.
struct Kernels {
    embed: Arc<Verified>,
    norm: Arc<Verified>,
    heads: Arc<Verified>,
    attention: Arc<Verified>,
    merge: Option<Arc<Verified>>,
    /// By tensor, format, first row and rows.
    products: verified::Kernels<(Tensor, Format, [u32; 2])>,
}

impl Kernels {
    /// `embedding` is what the embedding is built for, `each` what heads and attention are: all sequences, or one.
    fn new(
        shape: &Shape,
        (options, embedding): (&Options, &Options),
        each: &Options,
    ) -> Result<Self, Rejection> {
        let (attention, merge) = match options.attention {
            Attention::SimdPerHead => (attention::simd_per_head(shape, each), None),
            Attention::KeyParallel => (attention::key_parallel(shape, each), None),
            Attention::SplitKeys { parts } => {
                let merge = attention::merge_parts(shape, each, parts);
                (attention::split_keys(shape, each, parts), Some(verified(merge)?))
            }
        };
        Ok(Self {
            embed: verified(rows::embed(shape, embedding))?,
            norm: verified(rows::norm(shape, options))?,
            heads: verified(heads::heads(shape, each))?,
            attention: verified(attention)?,
            merge,
            products: verified::Kernels::new(),
        })
    }

    /// The product of a piece of a matrix.
    fn product(
        &mut self,
        shape: &Shape,
        options: &Options,
        tensor: Tensor,
        piece: &Piece,
    ) -> Result<Arc<Verified>, Rejection> {
        let options = &options.weights(piece.format);
        self.products.of((tensor, piece.format, [piece.first, piece.rows]), || match tensor {
            Tensor::Output => products::output(shape, options),
            Tensor::GateUp => products::gate_up(shape, options),
            Tensor::Down => products::down(shape, options),
            _ => products::qkv_rows(shape, options, piece.first..piece.first + piece.rows),
        })
    }
}

/// A matrix that is a resource of its own.
#[derive(Clone, Copy)]
struct Weights {
    region: Region,
    slot: Slot,
    format: Format,
}

impl Weights {
    /// Binds the parameter `name` and those of further planes.
    fn bind(&self, stage: Stage, name: &str) -> Stage {
        self.slot.bind(stage, name, self.format, self.region)
    }
}

/// Who shares a cache.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Caches {
    /// All sequences.
    One,
    /// None: each sequence has its own.
    Each,
}

/// Caches, and the sequences they are for.
#[derive(Clone, Copy)]
struct Cached {
    keys: Region,
    values: Region,
}

/// The resources of a step.
#[derive(Clone, Copy)]
struct Memory {
    control: Region,
    embedding: Weights,
    head: Weights,
    layers: Region,
    final_norm: Region,
    rotary: Region,
    x: Region,
    h: Region,
    qkv: Region,
    q: Region,
    mixed: Region,
    activation: Region,
}

struct Plan<'a> {
    pipeline: Pipeline,
    shape: &'a Shape,
    options: &'a Options,
    formats: &'a Formats,
    packs: ModelPack,
    memory: Memory,
    /// One for all sequences, or one for each.
    caches: Vec<Cached>,
    split: Option<[Region; 3]>,
    logits: Option<Region>,
}

impl<'a> Plan<'a> {
    fn new(
        name: &str,
        shape: &'a Shape,
        options: &'a Options,
        formats: &'a Formats,
        (goal, caches): (Goal, Caches),
    ) -> Self {
        // Only sequences with their own caches have launches that may overlap.
        let order = if caches == Caches::One { Order::Serial } else { Order::Concurrent };
        let mut pipeline = Pipeline::new(name, order);
        let packs = ModelPack::new(shape, formats);
        let (sequences, layers) = (u64::from(options.sequences), u64::from(shape.layers));
        let rotary = u64::from(shape.capacity) * u64::from(shape.pairs()) * 8;

        let matrix = |pipeline: &mut Pipeline, name: &str, format| {
            let slot = Slot::of_matrix([shape.vocab, shape.hidden], format);
            Weights { region: pipeline.resource(name, slot.end(), ResourceKind::Input), slot, format }
        };
        let embedding = matrix(&mut pipeline, "embedding", formats.embedding());
        // Without logits there is no head.
        let head = match shape.tied || goal == Goal::Cache {
            true => embedding,
            false => matrix(&mut pipeline, "head", formats.head()),
        };
        let vector = |width: u32| sequences * u64::from(width) * u64::from(options.activations.bytes());
        let mut named = |name: &str, bytes: u64, kind| pipeline.resource(name, bytes, kind);
        let norm = Slot::of_matrix([1, shape.hidden], Format::Float(options.vectors));
        let memory = Memory {
            control: named("control", sequences * 8, ResourceKind::State),
            embedding,
            head,
            layers: named("layers", packs.bytes(), ResourceKind::Input),
            final_norm: named("final_norm", norm.end(), ResourceKind::Input),
            rotary: named("rotary", rotary, ResourceKind::Input),
            x: named("x", vector(shape.hidden), ResourceKind::Scratch),
            h: named("h", vector(shape.hidden), ResourceKind::Scratch),
            qkv: named("qkv", vector(shape.qkv_width()), ResourceKind::Scratch),
            q: named("q", vector(shape.q_width()), ResourceKind::Scratch),
            mixed: named("mixed", vector(shape.q_width()), ResourceKind::Scratch),
            activation: named("activation", vector(shape.intermediate), ResourceKind::Scratch),
        };
        let caches = match caches {
            Caches::One => {
                let bytes = layers * cache_bytes(shape, options, options.sequences);
                let mut cache = |name: &str| named(name, bytes, ResourceKind::State);
                vec![Cached { keys: cache("keys"), values: cache("values") }]
            }
            Caches::Each => {
                let bytes = layers * cache_bytes(shape, options, 1);
                let mut cache = |name: &str, n| named(&format!("{name}.{n}"), bytes, ResourceKind::State);
                let each = |n| Cached { keys: cache("keys", n), values: cache("values", n) };
                (0..options.sequences).map(each).collect()
            }
        };
        let split = match options.attention {
            Attention::SplitKeys { parts } => {
                let heads = sequences * u64::from(shape.heads) * u64::from(parts) * 4;
                let mut scratch = |name: &str, bytes| named(name, bytes, ResourceKind::Scratch);
                Some([
                    scratch("maxima", heads),
                    scratch("sums", heads),
                    scratch("mixtures", heads * u64::from(shape.head_dim)),
                ])
            }
            Attention::SimdPerHead | Attention::KeyParallel => None,
        };
        Self { pipeline, shape, options, formats, packs, memory, caches, split, logits: None }
    }

    /// Adds a launch that waits for those before.
    fn push(&mut self, stage: Stage) {
        self.pipeline.fence();
        self.pipeline.push(stage);
    }

    /// Adds launches that wait for those before, but not for each other.
    fn push_all(&mut self, stages: Vec<Stage>) {
        self.pipeline.fence();
        stages.into_iter().for_each(|stage| self.pipeline.push(stage));
    }

    /// Sequences that share a cache.
    fn each(&self) -> u32 {
        if self.caches.len() > 1 { 1 } else { self.options.sequences }
    }

    /// Where a layer lies.
    fn region(&self, layer: u32) -> Region {
        let (start, pack) = self.packs.layer(layer);
        self.memory.layers.part(start, pack.bytes())
    }

    /// A vector of a layer.
    fn vector(&self, layer: u32, tensor: Tensor) -> Region {
        self.packs.layer(layer).1.slot(tensor).first(self.region(layer))
    }

    /// The products of a matrix of a layer: one for each of its pieces.
    fn products(
        &self,
        kernels: &mut Kernels,
        layer: u32,
        name: &str,
        tensor: Tensor,
    ) -> Result<Vec<Stage>, Rejection> {
        let region = self.region(layer);
        let of = |(n, piece): (usize, &Piece)| {
            let name = if n == 0 { format!("{name}.{layer}") } else { format!("{name}.{layer}.{n}") };
            let kernel = kernels.product(self.shape, self.options, tensor, piece)?;
            Ok(piece.slot.bind(Stage::new(name, &kernel), "weights", piece.format, region))
        };
        self.packs.layer(layer).1.pieces(tensor).iter().enumerate().map(of).collect()
    }

    /// Input norm; projections; heads; attention; output and residual; post norm; gate and up; down and residual.
    fn layer(&mut self, kernels: &mut Kernels, layer: u32) -> Result<(), Rejection> {
        let m = self.memory;
        let stage = |name: &str, kernel: &Arc<Verified>| Stage::new(format!("{name}.{layer}"), kernel);
        let vector = |tensor| self.vector(layer, tensor);

        let input_norm = stage("input_norm", &kernels.norm).read("w", vector(Tensor::InputNorm));
        let bias = self.shape.qkv_bias.then(|| vector(Tensor::QkvBias));
        let post_norm = stage("post_norm", &kernels.norm).read("w", vector(Tensor::PostNorm));
        let qkv = self.products(kernels, layer, "qkv", Tensor::Qkv)?;
        let qkv = qkv.into_iter().map(|stage| {
            let stage = stage.read("x", m.h).write("y", m.qkv);
            if let Some(bias) = bias { stage.read("bias", bias) } else { stage }
        });
        let qkv = qkv.collect();
        let output = self.products(kernels, layer, "output", Tensor::Output)?;
        let gate_up = self.products(kernels, layer, "gate_up", Tensor::GateUp)?;
        let down = self.products(kernels, layer, "down", Tensor::Down)?;
        let of_caches = self.attend(kernels, layer);
        let each = |stages: Vec<Stage>, then: &dyn Fn(Stage) -> Stage| stages.into_iter().map(then).collect();

        self.push(input_norm.read("x", m.x).write("y", m.h));
        self.push_all(qkv);
        of_caches.into_iter().for_each(|stages| self.push_all(stages));
        self.push_all(each(output, &|stage| stage.read("x", m.mixed).update("y", m.x)));
        self.push(post_norm.read("x", m.x).write("y", m.h));
        self.push_all(each(gate_up, &|stage| stage.read("x", m.h).write("activation", m.activation)));
        self.push_all(each(down, &|stage| stage.read("x", m.activation).update("y", m.x)));
        Ok(())
    }

    /// What has to do with caches, for each of them: heads, attention, and where keys are split the merge.
    fn attend(&self, kernels: &Kernels, layer: u32) -> Vec<Vec<Stage>> {
        let (m, shape) = (self.memory, self.shape);
        let (each, count) = (self.each(), self.caches.len() as u64);
        let bytes = cache_bytes(shape, self.options, each);
        let vector = |tensor| self.vector(layer, tensor);
        let mut steps = vec![Vec::new(), Vec::new()];
        if kernels.merge.is_some() {
            steps.push(Vec::new());
        }
        for (n, cached) in (0..).zip(&self.caches) {
            let stage = |what: &str, kernel: &Arc<Verified>| match count {
                1 => Stage::new(format!("{what}.{layer}"), kernel),
                _ => Stage::new(format!("{what}.{layer}.{n}"), kernel),
            };
            let mine = |region: Region| region.part(n * (region.bytes / count), region.bytes / count);
            let [keys, values] =
                [cached.keys, cached.values].map(|cache| cache.part(u64::from(layer) * bytes, bytes));
            let control = mine(m.control);

            let mut heads = stage("heads", &kernels.heads).read("control", control).read("rotary", m.rotary);
            if shape.qk_norm {
                heads = heads.read("q_norm", vector(Tensor::QNorm)).read("k_norm", vector(Tensor::KNorm));
            }
            let heads = heads.read("qkv", mine(m.qkv)).write("q", mine(m.q));
            let attention = stage("attention", &kernels.attention)
                .read("q", mine(m.q))
                .read("keys", keys)
                .read("values", values)
                .read("control", control);
            let mixed = mine(m.mixed);
            steps[0].push(heads.write("keys", keys).write("values", values));
            match (self.split.map(|regions| regions.map(mine)), &kernels.merge) {
                (Some([maxima, sums, mixtures]), Some(merge)) => {
                    let split = attention.write("maxima", maxima).write("sums", sums);
                    let merge = stage("merge", merge).read("maxima", maxima).read("sums", sums);
                    steps[1].push(split.write("mixtures", mixtures));
                    steps[2].push(merge.read("mixtures", mixtures).write("mixed", mixed));
                }
                _ => steps[1].push(attention.write("mixed", mixed)),
            }
        }
        steps
    }

    /// Final norm and vocabulary.
    fn logits(&mut self, kernels: &Kernels) -> Result<(), Rejection> {
        let m = self.memory;
        let bytes = u64::from(self.options.sequences)
            * u64::from(self.shape.vocab)
            * u64::from(self.options.activations.bytes());
        let logits = self.pipeline.resource("logits", bytes, ResourceKind::Output);
        let norm = Stage::new("final_norm", &kernels.norm).read("w", m.final_norm);
        let options = self.options.weights(self.formats.head());
        let vocabulary = Stage::new("vocabulary", &verified(products::vocabulary(self.shape, &options))?);
        self.push(norm.read("x", m.x).write("y", m.h));
        self.push(m.head.bind(vocabulary, "weights").read("x", m.h).write("y", logits));
        self.logits = Some(logits);
        Ok(())
    }

    /// The id of the largest logit.
    fn select(&mut self) -> Result<(), Rejection> {
        let Some(logits) = self.logits else { return Ok(()) };
        let (shape, sequences) = (self.shape, self.options.sequences);
        let chunks = u64::from(sequences) * u64::from(select::chunks(shape)) * 4;
        let best = self.pipeline.resource("best", chunks, ResourceKind::Scratch);
        let at = self.pipeline.resource("at", chunks, ResourceKind::Scratch);
        let next = self.pipeline.resource("next", u64::from(sequences) * 4, ResourceKind::Output);
        let chunks = verified(select::argmax_chunks(shape, sequences, self.options.activations))?;
        let argmax = verified(select::argmax(shape, sequences))?;
        let chunks = Stage::new("argmax_chunks", &chunks).read("logits", logits);
        self.push(chunks.write("best", best).write("at", at));
        self.push(Stage::new("argmax", &argmax).read("best", best).read("at", at).write("next", next));
        Ok(())
    }

    /// The `count` largest logits in order.
    fn best(&mut self, count: u32) -> Result<(), Rejection> {
        let Some(logits) = self.logits else { return Ok(()) };
        let (shape, sequences) = (self.shape, self.options.sequences);
        let bytes = u64::from(sequences) * u64::from(count) * 4;
        let chunks = bytes * u64::from(select::chunks(shape));
        let best = self.pipeline.resource("best", chunks, ResourceKind::Scratch);
        let at = self.pipeline.resource("at", chunks, ResourceKind::Scratch);
        let top = self.pipeline.resource("top", bytes, ResourceKind::Output);
        let ids = self.pipeline.resource("ids", bytes, ResourceKind::Output);
        let chunks = verified(sampling::top_chunks(shape, sequences, self.options.activations, count))?;
        let chunks = Stage::new("top_chunks", &chunks).read("logits", logits);
        let merge = Stage::new("top", &verified(sampling::top(shape, sequences, count))?);
        self.push(chunks.write("best", best).write("at", at));
        self.push(merge.read("best", best).read("at", at).write("top", top).write("ids", ids));
        Ok(())
    }
}

/// Bytes of the keys (or values) of one layer of some sequences.
fn cache_bytes(shape: &Shape, options: &Options, sequences: u32) -> u64 {
    let Shape { kv_heads, capacity, head_dim, .. } = *shape;
    let heads = u64::from(sequences) * u64::from(kv_heads);
    heads * u64::from(capacity) * u64::from(head_dim) * u64::from(options.cache.bytes())
}
