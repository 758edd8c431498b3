//! The closed schema of `config.json`: one row a key, with what is done about it and why.
//!
//! The reader applies the table and `docs/models.md` prints it. A key without a row is a refusal, because an
//! ignored key is a silently different model. Facts that join several keys are in [`facts`](super::facts).

use std::fmt;

use super::Family::{self, Mistral, Qwen2, Qwen3};

/// What is done with the value of a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Rule {
    /// A whole number within the limits, a multiple of the last.
    Size {
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
        /// What it must be a multiple of.
        multiple: u64,
    },
    /// A finite number above zero.
    Positive,
    /// `true` or `false`.
    Flag,
    /// Read by code of its own, which says what it accepts.
    Own,
    /// Accepted with these values only, which change nothing.
    Only(&'static [Value]),
    /// Any value: it does not change what the model computes.
    Harmless,
}

/// A value that [`Rule::Only`] accepts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    False,
    True,
    Number(f64),
    Text(&'static str),
    EmptyList,
}

impl Rule {
    /// Whether a whole number is within a [`Rule::Size`].
    pub(crate) fn holds(self, n: u64) -> bool {
        matches!(self, Self::Size { min, max, multiple } if (min..=max).contains(&n) && n.is_multiple_of(multiple))
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size { min, max, multiple: 1 } => write!(f, "a whole number from {min} to {max}"),
            Self::Size { min, max, multiple } => write!(f, "a multiple of {multiple} from {min} to {max}"),
            Self::Positive => f.write_str("a number above 0"),
            Self::Flag => f.write_str("true or false"),
            Self::Own | Self::Harmless => f.write_str("any value"),
            Self::Only(values) => {
                let values: Vec<_> = values.iter().map(Value::to_string).collect();
                f.write_str(&values.join(" or "))
            }
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::False => f.write_str("false"),
            Self::True => f.write_str("true"),
            Self::Number(n) => write!(f, "{n}"),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::EmptyList => f.write_str("nothing"),
        }
    }
}

/// One key of `config.json`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    /// Its name.
    pub(crate) name: &'static str,
    /// Families that may state it.
    pub(crate) known: &'static [Family],
    /// Families that always state it: there its absence is a refusal.
    pub(crate) required: &'static [Family],
    /// What is done with it.
    pub(crate) rule: Rule,
    /// What it means, what its absence means, or why it is harmless.
    pub(crate) meaning: &'static str,
}

const ALL: &[Family] = Family::ALL;
const NONE: &[Family] = &[];
const QWEN: &[Family] = &[Qwen3, Qwen2];

const fn used(name: &'static str, required: &'static [Family], rule: Rule, meaning: &'static str) -> Key {
    Key { name, known: ALL, required, rule, meaning }
}

const fn only(name: &'static str, values: &'static [Value], meaning: &'static str) -> Key {
    Key { name, known: ALL, required: NONE, rule: Rule::Only(values), meaning }
}

const fn harmless(name: &'static str, meaning: &'static str) -> Key {
    Key { name, known: ALL, required: NONE, rule: Rule::Harmless, meaning }
}

const fn size(min: u64, max: u64, multiple: u64) -> Rule {
    Rule::Size { min, max, multiple }
}

const OFF: &[Value] = &[Value::Null, Value::False];
const ABSENT: &[Value] = &[Value::Null];
const NO_EXPERTS: &[Value] = &[Value::Null, Value::Number(0.0), Value::Number(1.0)];

/// Widths of a head.
pub(super) const HEAD_DIM: Rule = size(16, 256, 16);

/// Every key with a meaning here.
#[rustfmt::skip]
pub(crate) const KEYS: &[Key] = &[
    // The shape.
    used("model_type", NONE, Rule::Own, "the family, as a definition of the computation; absent: read from `architectures`"),
    used("architectures", NONE, Rule::Own, "one causal language model, of the same family as `model_type`"),
    used("hidden_size", ALL, size(32, 65_536, 32), "width of the residual stream"),
    used("num_hidden_layers", ALL, size(1, 128, 1), "decoder layers"),
    used("num_attention_heads", ALL, size(1, 1_024, 1), "query heads"),
    used("num_key_value_heads", &[Qwen3, Qwen2, Mistral], size(1, 1_024, 1), "key/value heads, a divisor of the query heads; absent in Llama files older than grouped queries: one for each query head"),
    used("head_dim", &[Qwen3], HEAD_DIM, "width of one head; absent: `hidden_size / num_attention_heads`, as those formats define it"),
    used("intermediate_size", ALL, size(32, 1_048_576, 32), "width of the SwiGLU product"),
    used("vocab_size", ALL, size(1, 2_097_152, 1), "rows of embedding and head"),
    used("max_position_embeddings", ALL, size(1, 1 << 30, 1), "positions the model was made for"),
    used("tie_word_embeddings", ALL, Rule::Flag, "whether the head is the embedding"),
    used("rms_norm_eps", ALL, Rule::Positive, "epsilon of every RMSNorm"),
    used("attention_bias", NONE, Rule::Flag, "whether q, k and v add a bias; absent: no (Qwen2: yes, always)"),
    // Positions.
    used("rope_theta", NONE, Rule::Positive, "base of the rotary frequencies, here or in `rope_parameters`; absent only in Llama files older than the key: 10000"),
    used("rope_scaling", NONE, Rule::Own, "stretching of the rotary frequencies, flat layout"),
    used("rope_parameters", NONE, Rule::Own, "base and stretching of the rotary frequencies, nested layout"),
    only("rope_interleaved", OFF, "pairs of neighbours are rotated instead of halves"),
    only("partial_rotary_factor", &[Value::Null, Value::Number(1.0)], "part of a head is not rotated"),
    only("use_mrope", OFF, "rotary positions with several axes"),
    // Ids.
    used("bos_token_id", NONE, Rule::Own, "id that begins a text"),
    used("eos_token_id", NONE, Rule::Own, "id or ids that end a text; part of the stop set"),
    // What would be another computation.
    Key { name: "hidden_act", known: ALL, required: ALL, rule: Rule::Only(&[Value::Text("silu")]), meaning: "activation of the MLP" },
    only("hidden_activation", &[Value::Null, Value::Text("silu")], "activation of the MLP, under another name"),
    only("mlp_bias", OFF, "bias in the MLP"),
    Key { name: "use_sliding_window", known: QWEN, required: NONE, rule: Rule::Own, meaning: "whether `sliding_window` applies; absent: no" },
    used("sliding_window", NONE, Rule::Own, "attention over the last positions only; accepted where it has no effect: switched off, or no shorter than `max_position_embeddings`"),
    Key { name: "max_window_layers", known: QWEN, required: NONE, rule: Rule::Own, meaning: "first layer with a sliding window, where that applies" },
    used("layer_types", NONE, Rule::Own, "kind of attention in each layer: `full_attention` in all"),
    only("attn_logit_softcapping", ABSENT, "soft cap on attention scores"),
    only("final_logit_softcapping", ABSENT, "soft cap on logits"),
    only("query_pre_attn_scalar", ABSENT, "attention scale other than 1/√head_dim"),
    only("attention_multiplier", ABSENT, "attention scale other than 1/√head_dim"),
    only("embedding_multiplier", &[Value::Null, Value::Number(1.0)], "scale on embeddings"),
    only("residual_multiplier", &[Value::Null, Value::Number(1.0)], "scale on each residual branch"),
    only("logits_scaling", &[Value::Null, Value::Number(1.0)], "scale on logits"),
    only("logit_scale", &[Value::Null, Value::Number(1.0)], "scale on logits"),
    only("num_experts", NO_EXPERTS, "mixture of experts"),
    only("num_local_experts", NO_EXPERTS, "mixture of experts"),
    only("n_routed_experts", NO_EXPERTS, "mixture of experts"),
    only("moe_num_experts", NO_EXPERTS, "mixture of experts"),
    only("num_experts_per_tok", NO_EXPERTS, "mixture of experts"),
    only("quantization_config", ABSENT, "weights quantised in the file"),
    only("compression_config", ABSENT, "weights compressed in the file"),
    only("auto_map", ABSENT, "the computation is defined by a program beside the weights"),
    only("is_decoder", &[Value::Null, Value::False, Value::True], "a decoder in either case"),
    only("is_encoder_decoder", OFF, "an encoder beside the decoder"),
    only("add_cross_attention", OFF, "attention over an encoder"),
    only("cross_attention_hidden_size", ABSENT, "attention over an encoder"),
    only("tie_encoder_decoder", OFF, "an encoder beside the decoder"),
    only("pruned_heads", &[Value::Null, Value::EmptyList], "heads left out"),
    // Known and without effect on the computation.
    used("torch_dtype", NONE, Rule::Own, "type the weights are said to have; each tensor states its own"),
    used("dtype", NONE, Rule::Own, "newer name of `torch_dtype`"),
    used("transformers_version", NONE, Rule::Own, "writer of the file; decides only whether a Llama file is older than `rope_theta`"),
    harmless("_name_or_path", "where the writer found the model"),
    harmless("_commit_hash", "revision the writer found"),
    harmless("_attn_implementation_autoset", "the writer's own choice of kernel"),
    harmless("attn_implementation", "the writer's own choice of kernel"),
    harmless("initializer_range", "training only"),
    harmless("attention_dropout", "training only"),
    harmless("hidden_dropout", "training only"),
    harmless("attention_probs_dropout_prob", "training only"),
    harmless("resid_pdrop", "training only"),
    harmless("embd_pdrop", "training only"),
    harmless("gradient_checkpointing", "training only"),
    harmless("pretraining_tp", "splits of the same products"),
    harmless("use_cache", "the cache is always used and changes nothing"),
    harmless("pad_token_id", "there is no padding"),
    harmless("unk_token_id", "the tokenizer's own business"),
    harmless("sep_token_id", "the tokenizer's own business"),
    harmless("is_llama_config", "a mark of the trainer"),
    harmless("unsloth_fixed", "a mark of the trainer"),
    harmless("unsloth_version", "a mark of the trainer"),
    harmless("transformers.js_config", "settings of another runtime"),
    harmless("task_specific_params", "settings of another task"),
    harmless("problem_type", "settings of another task"),
    harmless("finetuning_task", "settings of another task"),
    harmless("id2label", "settings of another task"),
    harmless("label2id", "settings of another task"),
    harmless("num_labels", "settings of another task"),
    harmless("chunk_size_feed_forward", "splits of the same products"),
    harmless("output_attentions", "what another library returns"),
    harmless("output_hidden_states", "what another library returns"),
    harmless("return_dict", "what another library returns"),
    harmless("torchscript", "what another library returns"),
];

/// The row of a key, if it has one.
pub(crate) fn key(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|k| k.name == name)
}
