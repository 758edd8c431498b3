//! The keys of `generation_config.json`. `docs/models.md` prints this table.

use crate::schema::{Families, Key, Rule, Value};

const fn key(name: &'static str, rule: Rule, meaning: &'static str) -> Key {
    Key { name, known: Families::All, required: Families::NONE, rule, meaning }
}

const fn harmless(name: &'static str, meaning: &'static str) -> Key {
    key(name, Rule::Harmless, meaning)
}

const fn only(name: &'static str, values: &'static [Value], meaning: &'static str) -> Key {
    key(name, Rule::Only(values), meaning)
}

const ABSENT: &[Value] = &[Value::Null, Value::Empty];
const OFF: &[Value] = &[Value::Null, Value::False];
const ZERO: &[Value] = &[Value::Null, Value::Number(0.0)];
const ONE: &[Value] = &[Value::Null, Value::Number(1.0)];
const COUNT: Rule = Rule::size(0, 1 << 30, 1);

/// Every key with a meaning here.
#[rustfmt::skip]
pub(crate) const KEYS: &[Key] = &[
    key("do_sample", Rule::Flag, "whether to sample; false: the most likely token"),
    key("temperature", Rule::Number { min: 0.0, from_min: true, max: f64::MAX }, "divisor of the logits; 0: the most likely token"),
    key("top_k", COUNT, "how many of the most likely tokens are kept; 0: all"),
    key("top_p", Rule::Number { min: 0.0, from_min: false, max: 1.0 }, "probability mass that is kept"),
    key("min_p", Rule::Number { min: 0.0, from_min: true, max: 1.0 }, "least probability kept, as a share of the highest"),
    key("repetition_penalty", Rule::POSITIVE, "divisor of the logits of tokens seen before; 1: none"),
    key("max_new_tokens", COUNT, "tokens generated at most"),
    key("min_new_tokens", COUNT, "tokens generated at least"),
    key("stop_strings", Rule::Own, "texts that end the reply"),
    key("eos_token_id", Rule::Own, "id or ids that end the reply; part of the stop set"),
    // What would be another way of generating.
    only("num_beams", ONE, "beam search"),
    only("num_beam_groups", ONE, "beam search"),
    only("diversity_penalty", ZERO, "beam search"),
    only("num_return_sequences", ONE, "several replies"),
    only("penalty_alpha", ZERO, "contrastive search"),
    only("dola_layers", ABSENT, "contrast between layers"),
    only("typical_p", ONE, "locally typical sampling"),
    only("epsilon_cutoff", ZERO, "a cut by absolute probability"),
    only("eta_cutoff", ZERO, "a cut by entropy"),
    only("top_h", ABSENT, "a cut by entropy"),
    only("no_repeat_ngram_size", ZERO, "forbidden repetitions"),
    only("encoder_no_repeat_ngram_size", ZERO, "forbidden repetitions"),
    only("encoder_repetition_penalty", ONE, "a penalty by the prompt"),
    only("bad_words_ids", ABSENT, "forbidden ids"),
    only("suppress_tokens", ABSENT, "forbidden ids"),
    only("begin_suppress_tokens", ABSENT, "forbidden ids"),
    only("force_words_ids", ABSENT, "forced ids"),
    only("forced_bos_token_id", ABSENT, "a forced id"),
    only("forced_eos_token_id", ABSENT, "a forced id"),
    only("forced_decoder_ids", ABSENT, "forced ids"),
    only("sequence_bias", ABSENT, "a bias on sequences of ids"),
    only("exponential_decay_length_penalty", ABSENT, "a bias towards the end"),
    only("constraints", ABSENT, "constrained search"),
    only("guidance_scale", ONE, "guidance by a second prompt"),
    only("watermarking_config", ABSENT, "a watermark"),
    only("min_length", ZERO, "least length, prompt included"),
    only("token_healing", OFF, "a retokenised prompt end"),
    // Known and without effect on the texts.
    harmless("bos_token_id", "the tokenizer and the template begin a text"),
    harmless("pad_token_id", "there is no padding"),
    harmless("decoder_start_token_id", "there is no encoder"),
    harmless("max_length", "the context bounds a text, the caller bounds the reply"),
    harmless("max_time", "the caller cancels"),
    harmless("length_penalty", "beam search only"),
    harmless("early_stopping", "beam search only"),
    harmless("low_memory", "beam search only"),
    harmless("renormalize_logits", "probabilities always sum to one"),
    harmless("remove_invalid_values", "a logit that is not finite is always an error"),
    harmless("use_cache", "the cache is always used and changes nothing"),
    harmless("cache_implementation", "the writer's own choice of cache"),
    harmless("cache_config", "the writer's own choice of cache"),
    harmless("return_legacy_cache", "the writer's own choice of cache"),
    harmless("prefill_chunk_size", "splits of the same work"),
    harmless("disable_compile", "the writer's own choice of kernel"),
    harmless("compile_config", "the writer's own choice of kernel"),
    harmless("prompt_lookup_num_tokens", "speculation, which changes no text"),
    harmless("max_matching_ngram_size", "speculation, which changes no text"),
    harmless("num_assistant_tokens", "speculation, which changes no text"),
    harmless("num_assistant_tokens_schedule", "speculation, which changes no text"),
    harmless("assistant_confidence_threshold", "speculation, which changes no text"),
    harmless("assistant_early_exit", "speculation, which changes no text"),
    harmless("assistant_lookbehind", "speculation, which changes no text"),
    harmless("target_lookbehind", "speculation, which changes no text"),
    harmless("is_assistant", "speculation, which changes no text"),
    harmless("output_attentions", "what another library returns"),
    harmless("output_hidden_states", "what another library returns"),
    harmless("output_scores", "what another library returns"),
    harmless("output_logits", "what another library returns"),
    harmless("return_dict_in_generate", "what another library returns"),
    harmless("_from_model_config", "a note of the writer"),
    harmless("transformers_version", "writer of the file"),
];
