//! What is measured: models, formats and loads, each with the type its peer holds the same weights in.

use tilewright_gate::seeded::Preset;
use tilewright_model::WeightFormat;

/// A prompt of `prefill` tokens and `decode` greedy tokens after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) prefill: usize,
    pub(crate) decode: usize,
}

/// A model in a format, under several loads.
pub(crate) struct Case {
    pub(crate) preset: Preset,
    pub(crate) weights: WeightFormat,
    /// The GGUF type of the same number of bits; `None` where there is no peer worth comparing with.
    pub(crate) gguf: Option<&'static str>,
    pub(crate) loads: &'static [Load],
}

const SHORT: Load = Load { prefill: 128, decode: 64 };
const PROMPT: Load = Load { prefill: 512, decode: 0 };
const LONG: Load = Load { prefill: 2048, decode: 32 };

/// Every case, in the order of the table.
pub(crate) const CASES: &[Case] = &[
    case(Preset::Qwen3Small, WeightFormat::Int8, Some("Q8_0"), &[SHORT, PROMPT, LONG]),
    case(Preset::Qwen3Small, WeightFormat::Int4, Some("Q4_0"), &[SHORT, PROMPT]),
    case(Preset::Qwen3Small, WeightFormat::Bf16, Some("BF16"), &[SHORT, PROMPT]),
    case(Preset::Qwen3Small, WeightFormat::F32, None, &[PROMPT]),
    case(Preset::SmolLm2, WeightFormat::Int8, Some("Q8_0"), &[SHORT, PROMPT]),
];

const fn case(
    preset: Preset,
    weights: WeightFormat,
    gguf: Option<&'static str>,
    loads: &'static [Load],
) -> Case {
    Case { preset, weights, gguf, loads }
}

impl Case {
    /// The name that `--only` looks in.
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.preset, self.weights)
    }
}
