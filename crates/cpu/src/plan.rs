//! What will be done, decided from facts alone.

use tilewright_backend::{DeviceKind, Kernels, KvFormat, Plan};
use tilewright_model::{
    Code, Config, Finding, LayerParameters, Parameters, Refusal, StoredType, WeightFormat,
};

use crate::host::Host;
use crate::llama::cover;
use crate::matmul::matrix_bytes;
use crate::options::CpuOptions;

/// The formats in which this device holds matrices. (Its layouts would hold f16 as f32; no plan asks for that.)
pub const FORMATS: [WeightFormat; 4] =
    [WeightFormat::F32, WeightFormat::Bf16, WeightFormat::Int8, WeightFormat::Int4];

/// Rows of a prefill chunk unless asked otherwise: enough that weights are read seldom, few enough that the
/// activations of a chunk stay in the outer cache.
const PREFILL_CHUNK: usize = 512;

/// The most threads and rows a plan accepts; more is a slip of the keyboard.
const MAX_THREADS: usize = 1024;
const MAX_CHUNK: usize = 65_536;

/// Decides formats, threads, chunk and context from the model, the request and the machine. Touches nothing.
///
/// # Errors
/// `device_option_invalid` for options outside their range, all in one refusal, and for what the numerics asked for do not
/// cover; `out_of_memory`, with the numbers, when
/// weights and the context asked for do not fit what the machine has left.
pub fn resolve_plan(
    config: &Config,
    tensors: &Parameters<StoredType>,
    options: &CpuOptions,
    host: &Host,
) -> Result<Plan, Refusal> {
    let stored = tensors.standing();
    check_ranges(config, stored, options)?;
    let mut notes = Vec::new();
    let as_stored = match stored {
        StoredType::Bf16 => WeightFormat::Bf16,
        stored if stored.is_block() => WeightFormat::Gguf,
        _ => WeightFormat::F32,
    };
    if !options.numerics.is_native() {
        cover::check(config, tensors, (options.weights, as_stored), (options.numerics, options.kv))?;
    }
    let weights = options.weights.unwrap_or(as_stored);
    match (options.weights, weights) {
        (Some(_), _) => {}
        (None, WeightFormat::Gguf) => {
            notes.push("weights kept in gguf: each tensor as its file stores it".into())
        }
        (None, weights) => notes.push(format!(
            "weights kept in {weights}, which holds {stored} exactly; int8 and int4 are smaller and faster"
        )),
    }
    let kv = options.kv.unwrap_or(match weights {
        WeightFormat::F32 => KvFormat::F32,
        _ => KvFormat::F16,
    });
    let sizes = Sizes::of(config, weights, tensors, kv);
    let (context, note) = fit_context(config, &sizes, options.context, host.available)?;
    notes.extend(note);
    let chunk = options.prefill_chunk.unwrap_or(PREFILL_CHUNK).min(context);
    Ok(Plan {
        device: DeviceKind::Cpu,
        kernels: Kernels::Cpu {
            isa: options.isa.unwrap_or(host.isa).to_string(),
            numerics: options.numerics,
        },
        weights,
        kv,
        context,
        prefill_chunk: chunk,
        threads: options.threads.unwrap_or(host.cores),
        weight_bytes: sizes.weights,
        bytes_per_token: sizes.per_token,
        kv_bytes_per_position: sizes.kv,
        notes,
    })
}

/// Refuses every option outside its range at once.
fn check_ranges(config: &Config, stored: StoredType, options: &CpuOptions) -> Result<(), Refusal> {
    let ranges = [
        ("threads", options.threads, MAX_THREADS),
        ("context", options.context, config.max_positions),
        ("prefill chunk", options.prefill_chunk, MAX_CHUNK),
    ];
    let outside = |value: usize, most: usize| value == 0 || value > most;
    let mut findings: Vec<Finding> = ranges
        .iter()
        .filter_map(|(what, value, most)| Some((what, (*value)?, *most)))
        .filter(|(_, value, most)| outside(*value, *most))
        .map(|(what, value, most)| Finding::new(*what, format!("1 to {most}"), value))
        .collect();
    let is_held = |format: &WeightFormat| {
        FORMATS.contains(format) || (*format == WeightFormat::Gguf && stored.is_block())
    };
    if let Some(format) = options.weights.filter(|format| !is_held(format)) {
        let expected = "f32, bf16, int8 or int4 on this device, or gguf where that is how they are stored";
        findings.push(Finding::new("weights", expected, format));
    }
    if let Some(format) = options.kv.filter(|kv| !matches!(kv, KvFormat::F32 | KvFormat::F16)) {
        findings.push(Finding::new("KV cache", "f32 or f16 on this device", format));
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
    fn of(config: &Config, weights: WeightFormat, tensors: &Parameters<StoredType>, kv: KvFormat) -> Self {
        let packed = |rows: usize, cols: usize| matrix_bytes(weights, rows, cols) as u64;
        let matrix = |rows: usize, cols: usize, stored: StoredType| match weights {
            WeightFormat::Gguf => stored.bytes(rows * cols) as u64,
            _ => packed(rows, cols),
        };
        let (h, i, q, kv_width) = (config.hidden, config.intermediate, config.q_width(), config.kv_width());
        let matrices = |layer: &LayerParameters<StoredType>| {
            if weights != WeightFormat::Gguf {
                return packed(q + 2 * kv_width, h) + packed(h, q) + packed(2 * i, h) + packed(h, i);
            }
            matrix(q, h, layer.q)
                + matrix(kv_width, h, layer.k)
                + matrix(kv_width, h, layer.v)
                + matrix(h, q, layer.o)
                + matrix(i, h, layer.gate)
                + matrix(i, h, layer.up)
                + matrix(h, i, layer.down)
        };
        let vectors = 2 * config.hidden
            + if config.qk_norm { 2 * config.head_dim } else { 0 }
            + if config.qkv_bias { q + 2 * kv_width } else { 0 };
        let embedding = matrix(config.vocab, h, tensors.embedding);
        let head = tensors.head.map_or(embedding, |stored| matrix(config.vocab, h, stored));
        let layers = tensors.layers.iter().map(matrices).sum::<u64>() + (config.layers * 4 * vectors) as u64;
        let per_token = layers + 4 * config.hidden as u64 + head;
        Self {
            weights: per_token + if config.tied { 0 } else { embedding },
            per_token,
            kv: (2 * config.layers * config.kv_heads * kv.head_bytes(config.head_dim)) as u64,
        }
    }
}

/// The context: as asked when it fits, else refused; unasked, what the model was made for, cut to what fits.
fn fit_context(
    config: &Config,
    sizes: &Sizes,
    asked: Option<usize>,
    available: Option<u64>,
) -> Result<(usize, Option<String>), Refusal> {
    let Some(available) = available else {
        return Ok((asked.unwrap_or(config.max_positions), None));
    };
    let fits = available.saturating_sub(sizes.weights) / sizes.kv;
    let wanted = asked.unwrap_or(config.max_positions);
    if wanted as u64 <= fits {
        return Ok((wanted, None));
    }
    // Below this a context chosen for the caller would be of no use.
    let least = asked.unwrap_or(wanted.min(512));
    if fits < least as u64 {
        let needed = sizes.weights + sizes.kv * least as u64;
        return Err(Refusal::new(
            Code::OutOfMemory,
            format!(
                "weights ({} bytes) and KV cache ({} bytes for {least} positions)",
                sizes.weights,
                sizes.kv * least as u64
            ),
            format!("at most {available} bytes, which are available"),
            format!("{needed} bytes"),
        ));
    }
    let note =
        format!("context {fits} instead of the model's {wanted}: {available} bytes of memory are available");
    Ok((fits as usize, Some(note)))
}

#[cfg(test)]
mod tests;
