//! The keys of `config.json`. `docs/models.md` prints this table.

use crate::Family::{Mistral, Qwen2, Qwen3};
use crate::schema::{Families, Key, Rule, Value};

const ALL: Families = Families::All;
const NONE: Families = Families::NONE;
const QWEN: Families = Families::Only(&[Qwen3, Qwen2]);

const fn used(name: &'static str, required: Families, rule: Rule, meaning: &'static str) -> Key {
    Key { name, known: ALL, required, rule, meaning }
}

const fn only(name: &'static str, values: &'static [Value], meaning: &'static str) -> Key {
    Key { name, known: ALL, required: NONE, rule: Rule::Only(values), meaning }
}

const fn harmless(name: &'static str, meaning: &'static str) -> Key {
    Key { name, known: ALL, required: NONE, rule: Rule::Harmless, meaning }
}

const OFF: &[Value] = &[Value::Null, Value::False];
const ABSENT: &[Value] = &[Value::Null];
const NO_EXPERTS: &[Value] = &[Value::Null, Value::Number(0.0), Value::Number(1.0)];

/// Widths of a head.
pub(crate) const HEAD_DIM: Rule = Rule::size(16, 256, 16);

/// Every key with a meaning here.
#[rustfmt::skip]
pub(crate) const KEYS: &[Key] = &[
    // The shape.
    used("model_type", NONE, Rule::Own, "the family, as a definition of the computation; absent: read from `architectures`"),
    used("architectures", NONE, Rule::Own, "one causal language model, of the same family as `model_type`"),
    used("hidden_size", ALL, Rule::size(32, 65_536, 32), "width of the residual stream"),
    used("num_hidden_layers", ALL, Rule::size(1, 128, 1), "decoder layers"),
    used("num_attention_heads", ALL, Rule::size(1, 1_024, 1), "query heads"),
    used("num_key_value_heads", Families::Only(&[Qwen3, Qwen2, Mistral]), Rule::size(1, 1_024, 1), "key/value heads, a divisor of the query heads; absent in Llama files older than grouped queries: one for each query head"),
    used("head_dim", Families::Only(&[Qwen3]), HEAD_DIM, "width of one head; absent: `hidden_size / num_attention_heads`, as those formats define it"),
    used("intermediate_size", ALL, Rule::size(32, 1_048_576, 32), "width of the SwiGLU product"),
    used("vocab_size", ALL, Rule::size(1, 2_097_152, 1), "rows of embedding and head"),
    used("max_position_embeddings", ALL, Rule::size(1, 1 << 30, 1), "positions the model was made for"),
    used("tie_word_embeddings", ALL, Rule::Flag, "whether the head is the embedding"),
    used("rms_norm_eps", ALL, Rule::EPSILON, "epsilon of every RMSNorm"),
    used("attention_bias", NONE, Rule::Flag, "whether q, k and v add a bias; absent: no (Qwen2: yes, always)"),
    // Positions.
    used("rope_theta", NONE, Rule::AT_LEAST_ONE, "base of the rotary frequencies, here or in `rope_parameters`; absent only in Llama files older than the key: 10000"),
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
    Key { name: "use_sliding_window", known: QWEN, required: NONE, rule: Rule::Flag, meaning: "whether `sliding_window` applies; absent: no" },
    used("sliding_window", NONE, Rule::size(0, u64::MAX, 1), "attention over the last positions only; accepted where it has no effect: switched off, or no shorter than `max_position_embeddings`"),
    Key { name: "max_window_layers", known: QWEN, required: NONE, rule: Rule::size(0, u64::MAX, 1), meaning: "first layer with a sliding window, where that applies" },
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
    only("pruned_heads", &[Value::Null, Value::Empty], "heads left out"),
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
    harmless("tokenizer_class", "the tokenizer's own business"),
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
