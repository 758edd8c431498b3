//! What will be done, decided from facts alone.

use tilewright_backend::{DeviceKind, Kernels, KvFormat, Plan};
use tilewright_kernels::layout::Slot;
use tilewright_kernels::{Format, Formats, ModelPack, Shape};
use tilewright_model::{Code, Config, Finding, Parameters, Refusal, StoredType, WeightFormat};

use crate::gpu::Gpu;
use crate::hopper;
use crate::options::CudaOptions;
use crate::overlap;
use crate::persistent::{Tape, objection};

/// Rows of a prefill chunk unless asked otherwise: stage by stage, and on Hopper's matrix units.
const PREFILL_CHUNK: usize = 512;
const HOPPER_CHUNK: usize = 4096;
const MAX_CHUNK: usize = 4096;
/// Memory left to the driver and to what lies between the products.
const RESERVE: u64 = 1 << 30;

/// Decides formats, chunk and context from the model, the request and the GPU. Touches nothing.
///
/// # Errors
/// `device_option_invalid` for options outside what the device or the model allows, all in one refusal;
/// `out_of_memory`, with the numbers, when weights and the context asked for do not fit the GPU.
pub fn resolve_plan(
    config: &Config,
    stored: &Parameters<StoredType>,
    options: &CudaOptions,
    gpu: &Gpu,
) -> Result<Plan, Refusal> {
    let standing = stored.standing();
    check(config, standing, options)?;
    let weights = options.weights.unwrap_or(match standing {
        StoredType::Bf16 => WeightFormat::Bf16,
        _ => WeightFormat::F32,
    });
    let kv = options.kv.unwrap_or(if weights == WeightFormat::F32 { KvFormat::F32 } else { KvFormat::Bf16 });
    let mut notes =
        vec![format!("{}, compute capability {}.{}", gpu.name, gpu.capability.0, gpu.capability.1)];
    let blocks = (weights == WeightFormat::Gguf).then(|| Formats::of_stored(stored));
    let sizes = Sizes::of(config, weights, blocks.as_ref(), kv);
    if standing.is_block() && options.weights.is_none() {
        notes.push(format!(
            "weights widened to f32 from {standing}; gguf computes on them as they are stored"
        ));
    }
    if let Some(formats) = &blocks {
        let held = |(format, bytes): (Format, u64)| format!("{} ({bytes} bytes)", format.name());
        let held: Vec<_> = formats.bytes(&Shape::new(config, 512)).into_iter().map(held).collect();
        notes.push(format!("matrices computed on as the file stores them: {}", held.join(", ")));
        notes.extend(formats.rounded(stored));
    }
    let int8 = weights == WeightFormat::Int8;
    let wanted = options.context.unwrap_or(config.max_positions);
    let least = options.context.unwrap_or(wanted.min(512)) as u64;
    let tape = || Tape::new(config, int8).bytes() as u64;
    let cramped = || {
        let all = RESERVE + sizes.weights + tape() + least * sizes.kv;
        (!int8 && all > gpu.free).then(|| "the GPU's memory does not hold the weights twice".to_owned())
    };
    let why_not = match options.persistent {
        Some(false) => Some("it is not to be used".to_owned()),
        _ => objection(config, weights, kv, gpu).or_else(cramped),
    };
    let persistent = if let Some(reason) = &why_not {
        refuse_int8(weights, reason)?;
        false
    } else {
        notes.push(if int8 {
            "weights held twice: rounded to int8 as the persistent decoder reads them, and those values in bf16 for \
             prompts and batches"
                .to_owned()
        } else {
            "weights held twice: by rows for prompts and batches, and as the persistent decoder reads them"
                .to_owned()
        });
        true
    };
    let hopper = match hopper::objection(config, weights, kv, gpu) {
        Some(reason) => {
            notes.push(format!(
                "prompts and batches stage by stage: the kernels for Hopper do not serve here, {reason}"
            ));
            false
        }
        None if options.hopper == Some(false) => {
            notes.push("prompts and batches stage by stage, as asked".to_owned());
            false
        }
        None => true,
    };
    let overlap = why_not.is_some_and(|why_not| {
        let reason = match options.overlap {
            Some(false) => Some("they are not to be used".to_owned()),
            _ => overlap::objection(config, weights, kv, hopper),
        };
        notes.push(match &reason {
            None => format!(
                "single sequences decode in launches that overlap: the persistent decoder does not serve here, {why_not}"
            ),
            Some(reason) => format!(
                "single sequences decode like several: the persistent decoder does not serve here, {why_not}; nor \
                 do launches that overlap, {reason}"
            ),
        });
        reason.is_none()
    });
    let chunk = options.prefill_chunk.unwrap_or(if hopper { HOPPER_CHUNK } else { PREFILL_CHUNK });
    let held = sizes.weights + if persistent { tape() } else { 0 };
    let free = gpu.free.saturating_sub(RESERVE + held);
    let fits = free / sizes.kv;
    if fits < least {
        return Err(Refusal::new(
            Code::OutOfMemory,
            format!("weights ({held} bytes) and KV cache ({} bytes for {least} positions)", sizes.kv * least),
            format!("at most {} bytes, which are free on the GPU", gpu.free.saturating_sub(RESERVE)),
            format!("{} bytes", held + sizes.kv * least),
        ));
    }
    let context = wanted.min(usize::try_from(fits).unwrap_or(wanted));
    if context < wanted {
        notes.push(format!(
            "context {context} instead of the model's {wanted}: the GPU's memory holds no more"
        ));
    }
    Ok(Plan {
        device: DeviceKind::Cuda(gpu.ordinal),
        kernels: Kernels::Cuda { arch: gpu.arch(), hopper, persistent, overlap },
        weights,
        kv,
        context,
        prefill_chunk: chunk.min(context),
        threads: 1,
        weight_bytes: held,
        bytes_per_token: sizes.per_token,
        kv_bytes_per_position: sizes.kv,
        notes,
    })
}

/// Whether a plan takes prompts and batches through the kernels for Hopper.
pub(crate) fn is_hopper(plan: &Plan) -> bool {
    matches!(plan.kernels, Kernels::Cuda { hopper: true, .. })
}

/// Whether a plan decodes with the persistent kernel.
pub(crate) fn is_persistent(plan: &Plan) -> bool {
    matches!(plan.kernels, Kernels::Cuda { persistent: true, .. })
}

/// Whether a plan decodes single sequences in launches that overlap.
pub(crate) fn is_overlapping(plan: &Plan) -> bool {
    matches!(plan.kernels, Kernels::Cuda { overlap: true, .. })
}

/// Only the persistent decoder has products with 8-bit weights.
fn refuse_int8(weights: WeightFormat, reason: &str) -> Result<(), Refusal> {
    let finding =
        || Finding::new("weights", "f32 or bf16 without the persistent decoder", format!("int8; {reason}"));
    Refusal::check(
        Code::DeviceOptionInvalid,
        if weights == WeightFormat::Int8 { vec![finding()] } else { Vec::new() },
    )
}

/// Refuses every option that cannot be honoured at once.
fn check(config: &Config, stored: StoredType, options: &CudaOptions) -> Result<(), Refusal> {
    let mut findings = Vec::new();
    let is_held = |format: &WeightFormat| match format {
        WeightFormat::F32 | WeightFormat::Bf16 | WeightFormat::Int8 => true,
        WeightFormat::Gguf => stored.is_block(),
        WeightFormat::F16 | WeightFormat::Int4 => false,
    };
    if let Some(format) = options.weights.filter(|format| !is_held(format)) {
        let expected = "f32, bf16 or int8 on this device, or gguf where that is how they are stored";
        findings.push(Finding::new("weights", expected, format));
    }
    if let Some(format) = options.kv.filter(|kv| !matches!(kv, KvFormat::F32 | KvFormat::Bf16)) {
        findings.push(Finding::new("KV cache", "f32 or bf16 on this device", format));
    }
    let ranges = [
        ("context", options.context, config.max_positions),
        ("prefill chunk", options.prefill_chunk, MAX_CHUNK),
    ];
    for (what, value, most) in ranges {
        if let Some(value) = value.filter(|v| *v == 0 || *v > most) {
            findings.push(Finding::new(what, format!("1 to {most}"), value));
        }
    }
    if !config.head_dim.is_multiple_of(2) || config.head_dim > 256 {
        findings.push(Finding::new("head_dim", "an even number up to 256", config.head_dim));
    }
    Refusal::check(Code::DeviceOptionInvalid, findings)
}

/// Bytes of a model.
struct Sizes {
    weights: u64,
    per_token: u64,
    kv: u64,
}

impl Sizes {
    fn of(config: &Config, weights: WeightFormat, blocks: Option<&Formats>, kv: KvFormat) -> Self {
        let element = if weights == WeightFormat::F32 { 4 } else { 2 };
        let cached = if kv == KvFormat::Bf16 { 2 } else { 4 };
        let (q, kv_width, h) = (config.q_width(), config.kv_width(), config.hidden);
        let layer = (2 * q + 2 * kv_width + 3 * config.intermediate) * h;
        let vectors = 2 * h
            + if config.qk_norm { 2 * config.head_dim } else { 0 }
            + if config.qkv_bias { q + 2 * kv_width } else { 0 };
        let kv = (2 * config.layers * kv_width * cached) as u64;
        if let Some(formats) = blocks {
            let shape = Shape::new(config, 512);
            let matrix = |format| Slot::of_matrix([shape.vocab, shape.hidden], format).end();
            let per_token = ModelPack::new(&shape, formats).bytes() + 4 * h as u64 + matrix(formats.head());
            let embedding = if config.tied { 0 } else { matrix(formats.embedding()) };
            return Self { weights: per_token + embedding, per_token, kv };
        }
        let head = (config.vocab * h * element) as u64;
        let held = (config.layers * (layer * element + 4 * vectors) + 4 * h) as u64 + head;
        // Eight bits are read as such, with a bf16 scale for 128 of them.
        let matrices = (config.layers * layer + config.vocab * h) as u64;
        let saved = if weights == WeightFormat::Int8 { matrices - matrices / 64 } else { 0 };
        Self { weights: held + if config.tied { 0 } else { head }, per_token: held - saved, kv }
    }
}

#[cfg(test)]
mod tests;
