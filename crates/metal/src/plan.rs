//! What will be done, decided from facts alone.

#[cfg(test)]
mod tests;

use tilewright_backend::execution::{
    Attention, ByRole, ExecutionPlan, ExecutionRequest, Gemm, KvContract, Linked, NARROW_TILE_ROWS,
};
use tilewright_backend::{Kernels, KvFormat, Plan};
use tilewright_kernels::layout::Slot;
use tilewright_kernels::prefill::tiers::{Product, Role};
use tilewright_kernels::prefill::{Chunk, Tier, batched};
use tilewright_kernels::{Format, Formats, ModelPack, Shape, attention};
use tilewright_model::{Code, Config, Finding, Parameters, Refusal, StoredType, WeightFormat};
use tilewright_tile::{Kernel, Scalar, verify};

use crate::{Facts, MetalOptions};

/// The most rows of a tile of a prompt.
pub(crate) const MOST_ROWS: usize = batched::MAX_ROWS as usize;
/// The fewest positions a cache is made for, and the most.
const LEAST_POSITIONS: usize = 512;
const MOST_POSITIONS: usize = 65_536;

/// Positions of the cache that is made for a sequence of `positions`: a power of two, so that few kernels are compiled.
pub(crate) fn capacity(positions: usize) -> usize {
    positions.max(LEAST_POSITIONS).next_power_of_two()
}

/// How kernels store the matrices of a model, whose file stores them as `stored`.
pub(crate) fn formats(weights: WeightFormat, shape: &Shape, stored: &Parameters<StoredType>) -> Formats {
    let format = match weights {
        WeightFormat::F32 => Format::F32,
        WeightFormat::Bf16 => Format::PAIRS,
        WeightFormat::F16 => Format::F16,
        WeightFormat::Int8 => Format::INT8,
        WeightFormat::Int4 => Format::INT4,
        WeightFormat::Gguf => return Formats::of_stored(stored),
    };
    Formats::uniform(shape, format)
}

/// Decides formats, kernels, tiles and context from the model, the request and the device. Touches nothing.
///
/// # Errors
/// `device_option_invalid` for options outside what the device or the model allows, all in one refusal;
/// `metaldispatch_buffer_alloc_failed` when one buffer cannot hold the layers, `out_of_memory` when weights and the
/// context asked for do not fit the device, both with the numbers.
pub fn resolve_plan(
    config: &Config,
    stored: &Parameters<StoredType>,
    options: &MetalOptions,
    facts: &Facts,
) -> Result<Plan, Refusal> {
    let standing = stored.standing();
    check(config, standing, options)?;
    let usual = if standing.is_block() { WeightFormat::Gguf } else { WeightFormat::Int8 };
    let weights = options.weights.unwrap_or(usual);
    let mut notes = vec![facts.name.clone()];
    if weights == WeightFormat::Int8 && options.weights.is_none() {
        notes.push(format!("weights rounded to int8 from {standing}; ask for f32 or bf16 to keep more"));
    }
    let request = request(config, options);
    let shape = Shape::new(config, LEAST_POSITIONS as u32);
    let formats = formats(weights, &shape, stored);
    if weights == WeightFormat::Gguf {
        let held = |(format, bytes): (Format, u64)| format!("{} ({bytes} bytes)", format.name());
        let held: Vec<_> = formats.bytes(&shape).into_iter().map(held).collect();
        notes.push(format!("matrices computed on as the file stores them: {}", held.join(", ")));
        notes.extend(formats.rounded(stored));
    }
    let packed = formats.packed(&shape);
    let elements = packed.vocabulary + packed.layers;
    if elements > 0 {
        let (pairs, plain) = (2 * elements, 4 * elements);
        notes.push(format!(
            "{elements} weights held as pairs of bf16 numbers, rebuilt by every kernel that reads them: {pairs} bytes instead \
             of {plain} as f32"
        ));
    }
    let execution = ExecutionPlan::resolve(request, &linked(&shape, &formats, facts));
    notes.extend(execution.differences(request));
    if options.gemm.is_none() {
        notes.push(format!(
            "products of at most {NARROW_TILE_ROWS} rows of a prompt take the narrow tile, that of original"
        ));
    }
    let kv = kv_format(execution.kv_contract());
    if let Some(asked) = options.kv.filter(|asked| *asked != kv) {
        let expected = format!("{kv}, which this attention needs");
        return Err(Refusal::new(Code::DeviceOptionInvalid, "KV cache", expected, asked));
    }
    let sizes = Sizes::of(&shape, &formats, execution.kv_contract());
    if sizes.layers > facts.largest_buffer {
        let expected = format!("at most {} bytes, the device's largest buffer", facts.largest_buffer);
        return Err(Refusal::new(Code::BufferAllocFailed, "the layers' weights", expected, sizes.layers));
    }
    let most = config.max_positions.min(MOST_POSITIONS);
    let context = fit(options.context, most, &sizes, facts)?;
    if context < config.max_positions && options.context.is_none() {
        notes.push(format!("context {context} instead of the model's {}", config.max_positions));
    }
    Ok(Plan {
        device: facts.kind,
        kernels: Kernels::Staged(execution),
        weights,
        kv,
        context,
        prefill_chunk: options.prefill_chunk.unwrap_or(MOST_ROWS).min(context),
        threads: 1,
        weight_bytes: sizes.weights,
        bytes_per_token: sizes.per_token,
        kv_bytes_per_position: sizes.kv,
        notes,
    })
}

/// What is asked for of the kernels: an attention asked for by name, else one with the cache asked for, else the usual.
fn request(config: &Config, options: &MetalOptions) -> ExecutionRequest {
    let usual = ExecutionRequest::usual(config);
    let packed = usual.attention.kv_contract() == KvContract::PackedF16;
    let attention = options.attention.unwrap_or(match options.kv {
        Some(KvFormat::F32) => Attention::Off,
        Some(KvFormat::F16) if !packed => Attention::ParametricNativeDecode,
        _ => usual.attention,
    });
    ExecutionRequest { attention, gemm: options.gemm.unwrap_or(usual.gemm) }
}

/// The type of the cache that decoding reads.
const fn kv_format(contract: KvContract) -> KvFormat {
    match contract {
        KvContract::NaturalF32 | KvContract::Mirrored => KvFormat::F32,
        KvContract::PackedF16 => KvFormat::F16,
    }
}

/// Refuses every option that cannot be honoured at once.
fn check(config: &Config, stored: StoredType, options: &MetalOptions) -> Result<(), Refusal> {
    let mut findings = Vec::new();
    if options.weights == Some(WeightFormat::Gguf) && !stored.is_block() {
        let expected = "f32, bf16, f16, int8 or int4, or gguf where that is how they are stored";
        findings.push(Finding::new("weights", expected, WeightFormat::Gguf));
    }
    if let Some(format) = options.kv.filter(|kv| !matches!(kv, KvFormat::F32 | KvFormat::F16)) {
        findings.push(Finding::new("KV cache", "f32 or f16 on this device", format));
    }
    let ranges = [
        ("context", options.context, config.max_positions.min(MOST_POSITIONS)),
        ("prefill chunk", options.prefill_chunk, MOST_ROWS),
    ];
    for (what, value, most) in ranges {
        if let Some(value) = value.filter(|value| *value == 0 || *value > most) {
            findings.push(Finding::new(what, format!("1 to {most}"), value));
        }
    }
    Refusal::check(Code::DeviceOptionInvalid, findings)
}

/// The kernels there are for a model on a device: those that the verifier accepts at its shape and the device has room
/// for, in every format that matrices are stored in.
pub fn linked(shape: &Shape, formats: &Formats, facts: &Facts) -> Linked {
    let distinct = formats.distinct();
    let fits = |kernel: Kernel| {
        let has_room = kernel.shared_bytes() <= facts.threadgroup_memory;
        has_room && (facts.tensor_operations || !kernel.has_tiles()) && verify(kernel).is_ok()
    };
    let packed = Chunk { cache: Scalar::F16, ..Chunk::new(LEAST_POSITIONS as u32, Scalar::F32) };
    let product = |tier: Tier, role| {
        let kernel = |format| tier.kernel(&Product::new(shape, role, packed.rows, format));
        distinct.iter().all(|format| fits(kernel(*format)))
    };
    let tier = |tier| ByRole {
        qkv: product(tier, Role::Qkv),
        accum: product(tier, Role::Output) && product(tier, Role::Down),
        swiglu: product(tier, Role::GateUp),
    };
    Linked {
        grouped: attention::grouped_fits(shape) && fits(attention::grouped(shape, &packed)),
        parametric_native_decode: fits(attention::plain(shape, &packed)),
        bm64: product(Tier::Bm64, Role::Qkv),
        vecload4: tier(Tier::Vecload4),
        msl_parity: tier(Tier::Msl),
        splitk: tier(Tier::SplitK),
        tensor_ops: tier(Tier::Tensor),
    }
}

/// The kernels' name of a tier.
pub(crate) const fn tier(gemm: Gemm) -> Tier {
    match gemm {
        Gemm::Original => Tier::Original,
        Gemm::Bm64 => Tier::Bm64,
        Gemm::Vecload4 => Tier::Vecload4,
        Gemm::MslParity => Tier::Msl,
        Gemm::SplitK => Tier::SplitK,
        Gemm::TensorOps => Tier::Tensor,
    }
}

/// Bytes of a model.
struct Sizes {
    weights: u64,
    layers: u64,
    per_token: u64,
    /// Of one position.
    kv: u64,
}

impl Sizes {
    fn of(shape: &Shape, formats: &Formats, contract: KvContract) -> Self {
        let vocabulary = |format| Slot::of_matrix([shape.vocab, shape.hidden], format).end();
        let norm = Slot::of_matrix([1, shape.hidden], Format::Float(formats.vectors())).end();
        let layers = ModelPack::new(shape, formats).bytes();
        let per_token = layers + norm + vocabulary(formats.head());
        let element = match contract {
            KvContract::NaturalF32 => 4,
            KvContract::PackedF16 => 2,
            KvContract::Mirrored => 6,
        };
        Self {
            weights: per_token + if shape.tied { 0 } else { vocabulary(formats.embedding()) },
            layers,
            per_token,
            kv: 2 * u64::from(shape.layers) * u64::from(shape.kv_width()) * element,
        }
    }
}

/// The context: as asked when its cache fits, else refused; unasked, the most that fits. A cache is as long as
/// [`capacity`] says.
fn fit(asked: Option<usize>, most: usize, sizes: &Sizes, facts: &Facts) -> Result<usize, Refusal> {
    let wanted = asked.unwrap_or(most);
    let Some(memory) = facts.memory else { return Ok(wanted) };
    let fits = |positions: usize| sizes.weights + sizes.kv * capacity(positions) as u64 <= memory;
    if fits(wanted) {
        return Ok(wanted);
    }
    let smaller =
        (9..16).rev().map(|bits| 1 << bits).find(|&positions| positions < wanted && fits(positions));
    match (asked, smaller) {
        (None, Some(positions)) => Ok(positions),
        _ => {
            let least = if asked.is_some() { wanted } else { LEAST_POSITIONS };
            let cache = sizes.kv * capacity(least) as u64;
            Err(Refusal::new(
                Code::OutOfMemory,
                format!(
                    "weights ({} bytes) and KV cache ({cache} bytes for {least} positions)",
                    sizes.weights
                ),
                format!("at most {memory} bytes, which the device may use"),
                format!("{} bytes", sizes.weights + cache),
            ))
        }
    }
}
