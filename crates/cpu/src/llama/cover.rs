//! What llama.cpp's arithmetic is written down for; the rest is refused by name.

use tilewright_backend::{KvFormat, Numerics};
use tilewright_model::{
    Code, Config, Family, Finding, Parameters, Refusal, Role, RopeScaling, StoredType, WeightFormat,
};

use super::quantise::GROUP;

/// Types of matrices whose products are known.
pub(crate) const TYPES: [StoredType; 5] =
    [StoredType::F32, StoredType::Q8_0, StoredType::Q4_1, StoredType::Q5_0, StoredType::Q5_1];

/// Heads whose values llama.cpp sums in registers of f16 where it can.
const WIDE: usize = 128;

/// Refuses, with every reason, what is not covered: foremost all but the blocks of a GGUF file as they are. The second of the
/// formats is that of the tensors unasked.
///
/// # Errors
/// `device_option_invalid`.
pub(crate) fn check(
    config: &Config,
    tensors: &Parameters<StoredType>,
    (asked, as_stored): (Option<WeightFormat>, WeightFormat),
    (numerics, kv): (Numerics, Option<KvFormat>),
) -> Result<(), Refusal> {
    let mut findings = Vec::new();
    let mut not = |what: &str, expected: &str, got: String| {
        findings.push(Finding::new(format!("{what}, with the numerics of {numerics}"), expected, got));
    };
    let weights = asked.unwrap_or(as_stored);
    if as_stored != WeightFormat::Gguf {
        not("weights", "the blocks of a GGUF file", weights.to_string());
    } else if weights != as_stored {
        not("weights", "gguf, the blocks as they are", weights.to_string());
    }
    match (numerics, kv) {
        (_, None | Some(KvFormat::F16)) | (Numerics::LlamaCpp, Some(KvFormat::F32)) => {}
        (Numerics::LlamaCppFlash, Some(kv)) => not("KV cache", "f16", kv.to_string()),
        (_, Some(kv)) => not("KV cache", "f16 or f32", kv.to_string()),
    }
    // There the rounding of weights and sums depends on whether llama.cpp was built for AVX512-FP16.
    if numerics == Numerics::LlamaCppFlash && config.head_dim >= WIDE {
        not("head width", "fewer than 128", config.head_dim.to_string());
    }
    if config.rope.scaling != RopeScaling::None {
        not("rotary embedding", "one without scaling", config.rope.scaling.to_string());
    }
    if config.qk_norm && is_side_by_side(config) {
        not("per-head norm", "none with the Llama architecture", "one".to_owned());
    }
    for (what, inputs) in
        [("hidden width", config.hidden), ("MLP width", config.intermediate), ("heads", config.q_width())]
    {
        if !inputs.is_multiple_of(GROUP) {
            not(what, "a multiple of 32", inputs.to_string());
        }
    }
    if as_stored == WeightFormat::Gguf {
        check_types(tensors, &mut not);
    }
    Refusal::check(Code::DeviceOptionInvalid, findings)
}

/// Every type of matrices that has no order, and matrices that stand together where they may not.
fn check_types(tensors: &Parameters<StoredType>, not: &mut impl FnMut(&str, &str, String)) {
    let known = TYPES.map(StoredType::name).join(", ");
    let mut seen = Vec::new();
    let _ = tensors.map(|role, stored| {
        if is_matrix(role) && !TYPES.contains(stored) && !seen.contains(stored) {
            not("matrices", &known, stored.to_string());
            seen.push(*stored);
        }
    });
    for layer in &tensors.layers {
        for together in [&[layer.q, layer.k, layer.v][..], &[layer.gate, layer.up]] {
            let floats = together.iter().filter(|stored| !stored.is_block()).count();
            if floats != 0 && floats != together.len() && !seen.contains(&StoredType::F32) {
                not("matrices of one input", "all f32 or all of blocks", "both".to_owned());
                seen.push(StoredType::F32);
            }
        }
    }
}

fn is_matrix(role: Role) -> bool {
    use Role::{Down, Embedding, Gate, Head, K, O, Q, Up, V};
    matches!(role, Embedding | Q | K | V | O | Gate | Up | Down | Head)
}

/// Whether llama.cpp keeps the two dims of a rotated pair side by side.
pub(crate) fn is_side_by_side(config: &Config) -> bool {
    matches!(config.family, Family::Llama | Family::Mistral)
}
