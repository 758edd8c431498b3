//! What will be done, decided from facts alone.

pub(crate) mod sizes;

use tilewright_backend::{DeviceKind, Kernels, KvFormat, Plan};
use tilewright_kernels::{Format, Shape};
use tilewright_model::{Code, Config, Finding, Parameters, Refusal, StoredType, WeightFormat};

use crate::gpu::Gpu;
use crate::held::{Held, Numbers, Paths};
use crate::hopper;
use crate::kv::{Layout, PAGE};
use crate::options::CudaOptions;
use crate::overlap;
use crate::persistent::objection;
use sizes::{Sizes, kv_bytes};

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
    let formats = overlap::formats(config, weights, stored);
    if standing.is_block() && options.weights.is_none() {
        notes.push(format!(
            "weights widened to f32 from {standing}; gguf computes on them as they are stored"
        ));
    }
    if weights == WeightFormat::Gguf {
        let held = |(format, bytes): (Format, u64)| format!("{} ({bytes} bytes)", format.name());
        let held: Vec<_> = formats.bytes(&Shape::new(config, 512)).into_iter().map(held).collect();
        notes.push(format!("matrices computed on as the file stores them: {}", held.join(", ")));
        notes.extend(formats.rounded(stored));
    }
    let wanted = options.context.unwrap_or(config.max_positions);
    let least = options.context.unwrap_or(wanted.min(512)) as u64;
    let facts = Facts { config, options, gpu, weights, kv };
    let of_position = kv_bytes(config, kv);
    let sizes = |paths| Sizes::of(config, weights, paths, &formats);
    let layout = Layout::new(config, kv, gpu.granularity);
    // Keys and values come in whole pages.
    let page = layout.page_bytes() as u64;
    let least_bytes = least.div_ceil(PAGE as u64) * page;
    let fits = |bytes: u64| RESERVE + bytes + least_bytes <= gpu.free;
    let (paths, reasons) = paths_of(&facts, |paths| fits(sizes(paths).weights));
    let sizes = sizes(paths);
    notes.extend(reasons);
    let Paths { hopper, persistent, overlap } = paths;
    let chunk = options.prefill_chunk.unwrap_or(if hopper { HOPPER_CHUNK } else { PREFILL_CHUNK });
    let held = sizes.weights;
    let free = gpu.free.saturating_sub(RESERVE + held);
    let fits = free / page * PAGE as u64;
    if fits < least {
        return Err(Refusal::new(
            Code::OutOfMemory,
            format!("weights ({held} bytes) and KV cache ({least_bytes} bytes for {least} positions)"),
            format!("at most {} bytes, which are free on the GPU", gpu.free.saturating_sub(RESERVE)),
            format!("{} bytes", held + least_bytes),
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
        kv_bytes_per_position: of_position,
        notes,
    })
}

/// What the paths that serve depend on.
struct Facts<'a> {
    config: &'a Config,
    options: &'a CudaOptions,
    gpu: &'a Gpu,
    weights: WeightFormat,
    kv: KvFormat,
}

impl Facts<'_> {
    /// Why launches that overlap do not serve, where the kernels for Hopper do or not.
    fn against_overlap(&self, hopper: bool) -> Option<String> {
        match self.options.overlap {
            Some(false) => Some("they are not to be used".to_owned()),
            _ => overlap::objection(self.config, self.weights, self.kv, hopper),
        }
    }
}

/// The paths that serve, of which each `fits` memory, and why, a line each.
fn paths_of(facts: &Facts<'_>, fits: impl Fn(Paths) -> bool) -> (Paths, Vec<String>) {
    let &Facts { config, options, gpu, weights, kv } = facts;
    let (int8, mut notes) = (weights == WeightFormat::Int8, Vec::new());
    let alone = Paths { hopper: false, persistent: true, overlap: false };
    let cramped = || (!fits(alone)).then(|| "the GPU's memory does not hold the weights twice".to_owned());
    let against_persistent = match options.persistent {
        Some(false) => Some("it is not to be used".to_owned()),
        _ => objection(config, weights, kv, gpu).or_else(cramped),
    };
    let persistent = against_persistent.is_none();
    if persistent {
        notes.push(if int8 {
            "weights held twice: rounded to int8 as the persistent decoder reads them, and those values in bf16 for \
             prompts and most batches"
                .to_owned()
        } else {
            "weights held twice: by rows for prompts and most batches, and as the persistent decoder reads them"
                .to_owned()
        });
    }
    // Codes of 8 bits are widened for the kernels for Hopper, which may be more than there is room for.
    let cramped = || {
        let overlap = facts.against_overlap(true).is_none();
        let widened = Paths { hopper: true, persistent: false, overlap };
        (int8 && !persistent && !fits(widened))
            .then(|| "the GPU's memory does not hold int8 weights in bf16 as well".to_owned())
    };
    let hopper = match hopper::objection(config, weights, kv, gpu) {
        None if options.hopper == Some(false) => {
            notes.push("prompts and batches stage by stage, as asked".to_owned());
            false
        }
        reason => match reason.or_else(cramped) {
            Some(reason) => {
                notes.push(format!(
                    "prompts and batches stage by stage: the kernels for Hopper do not serve here, {reason}"
                ));
                false
            }
            None => true,
        },
    };
    let overlap = against_persistent.is_some_and(|why_not| {
        let reason = facts.against_overlap(hopper);
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
    let paths = Paths { hopper, persistent, overlap };
    if int8 && !persistent {
        let Held { planes, numbers, .. } = Held::of(config, weights, paths);
        let note = match (planes, numbers) {
            (true, None) => None,
            (true, Some(_)) => Some(
                "weights held twice: rounded to int8 for single sequences, and those values in bf16 for prompts and \
                 batches",
            ),
            (false, Some(Numbers::Bf16)) => Some("weights rounded to int8, and those values held in bf16"),
            (false, _) => {
                Some("weights rounded to int8, and those values held in f32: a width is no multiple of 4")
            }
        };
        notes.extend(note.map(str::to_owned));
    }
    (paths, notes)
}

/// The paths of a plan.
pub(crate) fn paths(plan: &Plan) -> Paths {
    match plan.kernels {
        Kernels::Cuda { hopper, persistent, overlap, .. } => Paths { hopper, persistent, overlap },
        Kernels::Cpu { .. } | Kernels::Staged(_) => {
            Paths { hopper: false, persistent: false, overlap: false }
        }
    }
}

/// Whether a plan takes prompts and batches through the kernels for Hopper.
pub(crate) fn is_hopper(plan: &Plan) -> bool {
    paths(plan).hopper
}

/// Whether a plan decodes with the persistent kernel.
pub(crate) fn is_persistent(plan: &Plan) -> bool {
    paths(plan).persistent
}

/// Whether a plan decodes single sequences in launches that overlap.
pub(crate) fn is_overlapping(plan: &Plan) -> bool {
    paths(plan).overlap
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
    if let Some(format) = options.kv.filter(|kv| *kv == KvFormat::F16) {
        findings.push(Finding::new("KV cache", "f32, bf16 or int8 on this device", format));
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

#[cfg(test)]
mod tests;
