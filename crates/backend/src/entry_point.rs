//! The functions of the Metal decode family by name, each a preset of one request.
//!
//! Their names say which kernels they ask for. Here they are rows of a table: what a function is called with, where its
//! prompt comes from, and the request that its switches mean. Whoever runs them needs no function of its own for each.

#[cfg(test)]
mod tests;

use crate::execution::{Attention, ExecutionRequest, Gemm};

/// A switch of an entry point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Switch {
    /// Grouped attention with mirror.
    GroupedAttention,
    /// Grouped attention without mirror.
    GroupedAttentionNoMirror,
    /// The BM64 projection.
    QkvBm64,
    /// The vecload4 tier.
    Vecload4,
    /// The MSL parity tier.
    MslParity,
}

impl Switch {
    /// Every switch.
    pub const ALL: [Self; 5] = [
        Self::GroupedAttention,
        Self::GroupedAttentionNoMirror,
        Self::QkvBm64,
        Self::Vecload4,
        Self::MslParity,
    ];

    /// The parameter's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::GroupedAttention => "use_native_grouped_fa_attn",
            Self::GroupedAttentionNoMirror => "use_native_grouped_fa_attn_no_mirror",
            Self::QkvBm64 => "use_qkv_proj_bm64",
            Self::Vecload4 => "use_vecload4_all_roles",
            Self::MslParity => "use_msl_parity_all_roles",
        }
    }
}

/// How an entry point takes and continues its prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// One prompt, greedy, each token of the prompt a step of its own.
    Steps,
    /// One prompt in tiles, greedy.
    Greedy,
    /// One prompt in tiles, sampled; a temperature of zero or less means greedy.
    Sampled,
    /// Up to 32 prompts in tiles, decoded together, greedy.
    Batched,
}

/// An entry point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryPoint {
    /// The function's name.
    pub name: &'static str,
    /// How it goes.
    pub kind: Kind,
    /// Whether it is defined for Qwen3-0.6B-Base alone, with the prompt of the manifest; else any model and a prompt
    /// that comes with the call.
    pub fixed: bool,
    /// The switches it is called with, in order.
    pub switches: &'static [Switch],
    /// What is asked for whatever the switches say.
    preset: Preset,
    /// Whether it takes a number of prefills to warm up with.
    pub warmup: bool,
}

/// What is asked for without a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Preset {
    attention: Attention,
    gemm: Gemm,
}

const PLAIN: Preset = Preset { attention: Attention::Off, gemm: Gemm::Original };

const fn fixed(name: &'static str, switches: &'static [Switch], warmup: bool) -> EntryPoint {
    EntryPoint { name, kind: Kind::Greedy, fixed: true, switches, preset: PLAIN, warmup }
}

use Switch::{GroupedAttention, GroupedAttentionNoMirror, MslParity, QkvBm64, Vecload4};

/// Every entry point.
pub const ENTRY_POINTS: [EntryPoint; 11] = [
    EntryPoint { kind: Kind::Steps, ..fixed("qwen3_i8_allsimd7_decode_flat", &[], false) },
    fixed("qwen3_i8_allsimd7_prefill_decode_flat", &[], false),
    fixed("qwen3_i8_allsimd7_prefill_decode_flat_af", &[GroupedAttention], false),
    fixed("qwen3_i8_allsimd7_prefill_decode_flat_af_vecload4", &[GroupedAttention, Vecload4], true),
    fixed("qwen3_i8_allsimd7_prefill_decode_flat_af_msl", &[GroupedAttention, MslParity], false),
    fixed("qwen3_i8_allsimd7_prefill_decode_flat_af_nomirror", &[GroupedAttentionNoMirror, QkvBm64], false),
    fixed(
        "qwen3_i8_allsimd7_prefill_decode_flat_af_nomirror_vecload4",
        &[GroupedAttentionNoMirror, QkvBm64, Vecload4],
        false,
    ),
    fixed(
        "qwen3_i8_allsimd7_prefill_decode_flat_af_nomirror_msl",
        &[GroupedAttentionNoMirror, MslParity],
        true,
    ),
    EntryPoint {
        fixed: false,
        ..fixed(
            "qwen3_prefill_decode_flat_af_nomirror_msl_anyqwen3",
            &[GroupedAttentionNoMirror, MslParity],
            true,
        )
    },
    EntryPoint {
        name: "qwen3_prefill_decode_flat_af_nomirror_msl_anyqwen3_sampled",
        kind: Kind::Sampled,
        fixed: false,
        switches: &[],
        preset: Preset { attention: Attention::GroupedNoMirror, gemm: Gemm::MslParity },
        warmup: false,
    },
    EntryPoint {
        name: "qwen3_batched_prefill_decode_anyqwen3",
        kind: Kind::Batched,
        fixed: false,
        switches: &[MslParity],
        // Batches read packed caches.
        preset: Preset { attention: Attention::GroupedNoMirror, gemm: Gemm::Original },
        warmup: false,
    },
];

impl EntryPoint {
    /// The entry point of a name.
    pub fn find(name: &str) -> Option<&'static Self> {
        ENTRY_POINTS.iter().find(|entry| entry.name == name)
    }

    /// The request that the switches which are `on` mean; those it does not have change nothing.
    ///
    /// Where two tiers are on, the later of BM64, vecload4 and MSL parity is asked for.
    pub fn request(&self, on: &[Switch]) -> ExecutionRequest {
        let has = |switch: Switch| self.switches.contains(&switch) && on.contains(&switch);
        let attention = if has(GroupedAttentionNoMirror) {
            Attention::GroupedNoMirror
        } else if has(GroupedAttention) {
            Attention::Grouped
        } else {
            self.preset.attention
        };
        let tiers = [(MslParity, Gemm::MslParity), (Vecload4, Gemm::Vecload4), (QkvBm64, Gemm::Bm64)];
        let gemm =
            tiers.into_iter().find(|(switch, _)| has(*switch)).map_or(self.preset.gemm, |(_, gemm)| gemm);
        ExecutionRequest { attention, gemm }
    }
}

/// What an entry point answers with.
#[derive(Clone, Debug, PartialEq)]
pub struct EntryResult {
    /// 620, or why there are no tokens.
    pub status: u16,
    /// The refusal in words; empty when all went well.
    pub error_message: String,
    /// Prompt and reply; with several prompts the replies alone, one after another.
    pub token_ids: Vec<u32>,
    /// Ids of the prompt, or of all prompts.
    pub n_prompt: usize,
    /// Whether the reply ended by itself.
    pub stopped_on_eos: bool,
    /// Dispatches of one decode step.
    pub dispatches_per_token: usize,
    /// Tokens decoded a second, of all sequences together.
    pub decode_tokens_per_sec: f64,
    /// Tokens of the prompt taken in a second.
    pub prefill_tokens_per_sec: f64,
    /// Tiles the prompt took, or prompts of a batch; the function that takes its prompt in steps has none.
    pub prefill_chunks: Option<usize>,
}
