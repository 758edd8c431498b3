//! In what numbers a plan computes, and which row of the table of tolerances that calls for.

use tilewright_backend::execution::Attention;
use tilewright_backend::{Kernels, Plan};
use tilewright_model::WeightFormat;
use tilewright_model::tolerance::Tolerance;

use crate::report::Precision;

/// The row for a precision, and whether its errors are in units of the wanted values' root mean square; `None` for a
/// precision that no plan has.
///
/// It follows from the names alone, so that a report cannot claim a precision and be held to another's tolerance.
pub(crate) fn tolerance(weights: &str, activations: &str, kv: &str) -> Option<(Tolerance, bool)> {
    let weights = weights.strip_prefix("int8 held in ").map_or(weights, |_| "int8");
    Some(match (weights, activations, kv) {
        ("int8" | "int4" | "gguf", ..) => (Tolerance::QUANTISED_STATE, true),
        (_, "bf16", _) | (_, _, "bf16") => (Tolerance::BF16_STATE, true),
        (_, "f16", _) => (Tolerance::F16_STATE, false),
        (_, "f32", "int8") => (Tolerance::INT8_CACHE, true),
        (_, "f32", "f16") | (_, "f32, of attention f16", _) => (Tolerance::F16_CACHE, false),
        (_, "f32", "f32") => (Tolerance::F32_STATE, false),
        _ => return None,
    })
}

/// Bits of a weight; of a GGUF file's blocks the fewest there are, for their types differ from matrix to matrix.
pub(crate) fn bits(weights: &str) -> f64 {
    match weights {
        "gguf" => 2.0,
        "int4" => 4.25,
        "int8" => 8.125,
        "bf16" | "f16" | HELD_IN_BF16 => 16.0,
        _ => 32.0,
    }
}

/// Weights rounded to int8 whose values lie as wider numbers, where no kernel of a GPU reads the codes.
const HELD_IN_BF16: &str = "int8 held in bf16";
const HELD_IN_F32: &str = "int8 held in f32";

/// What a plan's weights are called that have so many elements.
fn called(plan: &Plan, elements: u64) -> &'static str {
    let bits = 8.0 * plan.bytes_per_token as f64 / elements.max(1) as f64;
    match (plan.weights, &plan.kernels) {
        (WeightFormat::Int8, Kernels::Cuda { .. }) if bits >= 24.0 => HELD_IN_F32,
        (WeightFormat::Int8, Kernels::Cuda { .. }) if bits >= 12.0 => HELD_IN_BF16,
        (weights, _) => weights.name(),
    }
}

impl Precision {
    /// The precision of a plan for a model whose matrices have so many elements.
    pub fn of(plan: &Plan, elements: u64) -> Self {
        let quantised = matches!(plan.weights, WeightFormat::Int8 | WeightFormat::Int4 | WeightFormat::Gguf);
        let activations = match &plan.kernels {
            Kernels::Cpu { .. } if quantised => "int8 in groups",
            Kernels::Cpu { .. } => "f32",
            Kernels::Cuda { hopper, persistent, .. } if *hopper || *persistent => "bf16",
            Kernels::Cuda { .. } => "f32",
            Kernels::Staged(staged) => match staged.attention() {
                Some(Attention::Off) | None => "f32",
                Some(_) => "f32, of attention f16",
            },
        };
        let (weights, kv, sums) = (called(plan, elements), plan.kv.to_string(), "f32");
        let (row, scaled) = tolerance(weights, activations, &kv).unwrap_or((Tolerance::F32_STATE, false));
        Self {
            label: Self::label_of(weights, activations, &kv, sums),
            weights: weights.to_owned(),
            activations: activations.to_owned(),
            kv,
            sums: sums.to_owned(),
            weight_bytes: plan.weight_bytes,
            bytes_per_token: plan.bytes_per_token,
            kv_bytes_per_position: plan.kv_bytes_per_position,
            tolerance: row.name.to_owned(),
            rtol: row.rtol,
            atol: row.atol,
            scaled,
        }
    }
}
