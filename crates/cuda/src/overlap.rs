//! Single sequences in launches that overlap: the step of `kernels::decode::overlap` on the device's weights and caches.
//!
//! Kernels are compiled for a number of positions, a power of two; caches are made for such a number. A sequence's step is
//! recorded when it is first decoded alone; token and position lie on the GPU, so that the recording serves every step.

use std::collections::BTreeMap;

use cudarc::driver::CudaFunction;
use tilewright_backend::{KvFormat, Watch};
use tilewright_kernels::decode::overlap::{end, fits, lies, step_of};
use tilewright_kernels::decode::{self, Options};
use tilewright_kernels::{Format, Formats, ModelPack, Shape, Tensor};
use tilewright_model::{Code, Config, Parameters, Refusal, StoredType, WeightFormat};
use tilewright_tile::{Kernel, Pipeline, Rejection, Scalar, Verified, emit};

use crate::compile::compile_language;
use crate::device::{Buffer, Device, function};
use crate::gpu::Gpu;
use crate::held::in_fours;
use crate::kv::{Layout, PAGE};
use crate::pipeline::Launches;
use crate::raw::overlap::Graph;
use crate::weights::Weights;

/// Steps that are started at once at most.
pub(crate) const STEPS: usize = 256;
/// The fewest positions that kernels are made for.
const LEAST: usize = 512;

/// Why such steps cannot take a model, or nothing.
pub(crate) fn objection(
    config: &Config,
    weights: WeightFormat,
    kv: KvFormat,
    hopper: bool,
) -> Option<String> {
    let shape = Shape::new(config, LEAST as u32);
    let options = options(config, weights, kv, hopper);
    if !fits(&shape) || !lies(&shape, options.layout, options.cache) {
        Some("they are made for a residual stream of 7,168 numbers at most".to_owned())
    } else {
        None
    }
}

/// How a step is to compute: norms and biases are held in f32 beside every format.
fn options(config: &Config, weights: WeightFormat, kv: KvFormat, hopper: bool) -> Options {
    let cache = match kv {
        KvFormat::Bf16 => Scalar::Bf16,
        KvFormat::Int8 => Scalar::I8,
        KvFormat::F32 | KvFormat::F16 => Scalar::F32,
    };
    let layout = if hopper { decode::Layout::Fragments } else { decode::Layout::Rows };
    Options::of(uniform(config, weights), Scalar::F32).vectors(Scalar::F32).cache(cache).layout(layout)
}

/// The format of all matrices, where it is one: as they are held.
fn uniform(config: &Config, weights: WeightFormat) -> Format {
    match (weights, in_fours(config)) {
        (WeightFormat::F32, _) | (WeightFormat::Int8, false) => Format::F32,
        (WeightFormat::Int8, true) => Format::INT8,
        (_, true) => Format::PAIRS,
        (_, false) => Format::BF16,
    }
}

/// The formats of the matrices of a model whose file stores them as `stored`.
pub(crate) fn formats(config: &Config, weights: WeightFormat, stored: &Parameters<StoredType>) -> Formats {
    match weights {
        WeightFormat::Gguf => Formats::of_stored(stored),
        _ => {
            let shape = Shape::new(config, LEAST as u32);
            Formats::uniform_with(&shape, uniform(config, weights), Scalar::F32)
        }
    }
}

/// Positions of a cache for a sequence of `positions`, in a model that holds `context`: whole pages.
pub(crate) fn capacity(positions: usize, context: usize) -> usize {
    positions.max(LEAST).next_power_of_two().min(context.next_multiple_of(PAGE))
}

/// What steps work with.
pub(crate) struct Overlap {
    shape: Shape,
    options: Options,
    formats: Formats,
    packs: ModelPack,
    gpu: Gpu,
    /// By text.
    functions: BTreeMap<String, CudaFunction>,
    /// Both halves of a step, by the positions they are made for.
    halves: BTreeMap<u32, [Launches; 2]>,
    /// What lies between launches, and `control`, `logits`, `ids`.
    own: BTreeMap<String, Buffer>,
}

/// Where one step works.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) weights: &'a Weights,
    /// Where the sequence's cache lies, its scales where it has such, and its positions.
    pub(crate) cache: u64,
    pub(crate) scales: u64,
    pub(crate) capacity: usize,
    /// Where RoPE's table lies.
    pub(crate) rope: u64,
}

impl Overlap {
    /// Compiles for the shortest sequences.
    ///
    /// # Errors
    /// Those of [`reach`](Self::reach).
    pub(crate) fn new(
        device: &Device,
        config: &Config,
        gpu: &Gpu,
        (weights, kv, hopper): (WeightFormat, KvFormat, bool),
        formats: Formats,
        (context, layout): (usize, Layout),
        progress: &mut Watch<'_>,
    ) -> Result<Self, Refusal> {
        let options = options(config, weights, kv, hopper).pages(layout.page_bytes() as u64);
        let most = capacity(context, context);
        let shape = Shape::new(config, most as u32);
        let own = BTreeMap::from([("ids".to_owned(), device.zeros(most * 4)?)]);
        let mut overlap = Self {
            shape,
            options,
            packs: ModelPack::new(&shape, &formats),
            formats,
            gpu: gpu.clone(),
            functions: BTreeMap::new(),
            halves: BTreeMap::new(),
            own,
        };
        overlap.reach(device, capacity(0, context), progress)?;
        Ok(overlap)
    }

    /// Makes ready for caches of `capacity` positions.
    ///
    /// # Errors
    /// `kernel_rejected`, `kernel_uncompilable`, `out_of_memory`, `device_failed`.
    pub(crate) fn reach(
        &mut self,
        device: &Device,
        capacity: usize,
        progress: &mut Watch<'_>,
    ) -> Result<(), Refusal> {
        let shape = self.shape.with_capacity(capacity as u32);
        if self.halves.contains_key(&shape.capacity) {
            return Ok(());
        }
        let first = self.half(device, step_of("step", &shape, &self.options, &self.formats), progress)?;
        let second = self.half(device, end("end", &shape, &self.options), progress)?;
        self.halves.insert(shape.capacity, [first, second]);
        Ok(())
    }

    fn half(
        &mut self,
        device: &Device,
        pipeline: Result<Pipeline, Rejection>,
        progress: &mut Watch<'_>,
    ) -> Result<Launches, Refusal> {
        let rejected = |why: &dyn std::fmt::Display| {
            Refusal::new(Code::KernelRejected, "a step of overlapping launches", "one that fits the GPU", why)
        };
        let pipeline = pipeline.map_err(|e| rejected(&e))?.verify().map_err(|e| rejected(&e))?;
        for (_, resource) in pipeline.resources().iter() {
            let given = ["embedding", "head", "layers", "final_norm", "rotary", "cache", "cache_scales"];
            if !given.contains(&resource.name.as_str()) && !self.own.contains_key(&resource.name) {
                let buffer = device.zeros(usize::try_from(resource.bytes).unwrap_or(usize::MAX))?;
                self.own.insert(resource.name.clone(), buffer);
            }
        }
        let Self { functions, gpu, .. } = self;
        Launches::new(&pipeline, gpu.capability, |kernel| compiled(device, gpu, functions, kernel, progress))
    }

    /// Records a step.
    ///
    /// # Errors
    /// `device_failed`.
    pub(crate) fn record(&self, device: &Device, place: Place<'_>) -> Result<Graph, Refusal> {
        let halves = self.halves.get(&(place.capacity as u32)).map(<[Launches; 2]>::as_slice);
        device.record(|| {
            let mut halves = halves.unwrap_or_default().iter();
            halves.try_for_each(|half| half.start(device, |resource, at| self.address(place, resource, at)))
        })
    }

    /// Where byte `at` of a resource lies.
    fn address(&self, place: Place<'_>, resource: &str, at: u64) -> Result<u64, Refusal> {
        let Place { weights, cache, scales, rope, .. } = place;
        let start = match resource {
            "cache" => Some(cache + at),
            "cache_scales" => Some(scales + at),
            "rotary" => Some(rope + at),
            "embedding" => Some(weights.vocabulary()[0] + at),
            "head" => Some(weights.vocabulary()[1] + at),
            "final_norm" => Some(self.norm(weights, 2 * weights.layers.len()) + at),
            "layers" => {
                let found = self.packs.tensor_at(at);
                found.and_then(|(layer, tensor, within)| Some(self.tensor(weights, layer, tensor)? + within))
            }
            _ => self.own.get(resource).map(|buffer| buffer.address + at),
        };
        start.ok_or_else(|| Refusal::new(Code::KernelUnknown, "resource", resource, "none of this name"))
    }

    fn norm(&self, weights: &Weights, index: usize) -> u64 {
        weights.norms.address + index as u64 * u64::from(self.shape.hidden) * 4
    }

    fn tensor(&self, weights: &Weights, layer: usize, tensor: Tensor) -> Option<u64> {
        let (of, [qkv, output, gate_up, down]) = (weights.layers.get(layer)?, weights.of_layer(layer)?);
        let head_norm = |which: usize| {
            let at = (2 * layer + which) as u64 * u64::from(self.shape.head_dim) * 4;
            weights.head_norms.as_ref().map(|buffer| buffer.address + at)
        };
        match tensor {
            Tensor::InputNorm => Some(self.norm(weights, 2 * layer)),
            Tensor::PostNorm => Some(self.norm(weights, 2 * layer + 1)),
            Tensor::Qkv => Some(qkv),
            Tensor::Output => Some(output),
            Tensor::GateUp => Some(gate_up),
            Tensor::Down => Some(down),
            Tensor::QNorm => head_norm(0),
            Tensor::KNorm => head_norm(1),
            Tensor::QkvBias => of.qkv_bias.as_ref().map(|buffer| buffer.address),
        }
    }

    /// Appends `token` and then the greatest logit's id, `steps` times in all, of which each must have room: the ids chosen.
    /// Where a logit is no finite number an id is the vocabulary's size, and what follows means nothing.
    ///
    /// # Errors
    /// `device_failed`.
    pub(crate) fn run(
        &mut self,
        device: &Device,
        graph: &mut Graph,
        (token, position): (u32, usize),
        steps: usize,
    ) -> Result<Vec<u32>, Refusal> {
        if let Some(control) = self.own.get_mut("control") {
            device.write(control, 0, bytemuck::cast_slice(&[token, position as u32]))?;
        }
        for _ in 0..steps {
            device.replay(graph)?;
        }
        let mut ids = vec![0u32; steps];
        if let Some(all) = self.own.get("ids") {
            device.read(all, position * 4, bytemuck::cast_slice_mut(&mut ids))?;
        }
        Ok(ids)
    }

    /// The last step's logits.
    ///
    /// # Errors
    /// `device_failed`.
    pub(crate) fn logits(&self, device: &Device, out: &mut [f32]) -> Result<(), Refusal> {
        let logits = self.own.get("logits");
        logits.map_or(Ok(()), |logits| device.read(logits, 0, bytemuck::cast_slice_mut(out)))
    }
}

/// The function of a kernel, compiled unless its text was.
pub(crate) fn compiled(
    device: &Device,
    gpu: &Gpu,
    functions: &mut BTreeMap<String, CudaFunction>,
    kernel: &Verified<Kernel>,
    progress: &mut Watch<'_>,
) -> Result<CudaFunction, Refusal> {
    let text = emit::cuda(kernel);
    if let Some(known) = functions.get(&text) {
        return Ok(known.clone());
    }
    let kernels = compile_language(&text, &gpu.arch(), Some(gpu.driver), progress)?;
    let found = function(&device.module(kernels.cubin)?, kernel.name())?;
    functions.insert(text, found.clone());
    Ok(found)
}

#[cfg(test)]
mod tests;
