//! Tokenizer files of each style, small enough to read.

use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::Tokenizer;

/// The tokenizer of the default model: byte-level, with the pattern of Qwen.
pub(super) fn stories() -> &'static [u8] {
    include_bytes!("../../../../../models/stories-qwen3/tokenizer.json")
}

fn added(id: u32, content: &str, special: bool) -> Value {
    json!({"id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
        "normalized": false, "special": special})
}

/// Byte-level in the style of SmolLM2: digits one by one, then the words of GPT-2; a control token that swallows
/// the white space after it.
pub(super) fn byte_level_value() -> Value {
    let stories: Value = serde_json::from_slice(stories()).unwrap();
    let mut end = added(4095, "<|im_end|>", true);
    end["rstrip"] = json!(true);
    json!({
        "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": [added(4093, "<|endoftext|>", true), added(4094, "<|im_start|>", true), end],
        "normalizer": null,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Digits", "individual_digits": true},
            {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
        ]},
        "post_processor": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": false, "use_regex": true},
        "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
        "model": stories["model"],
    })
}

pub(super) fn byte_level() -> Vec<u8> {
    serde_json::to_vec(&byte_level_value()).unwrap()
}

/// In the style of Llama 2: a mark for the space, byte fallback, a token before every text.
pub(super) fn sentence_piece_value() -> Value {
    let mut vocab = serde_json::Map::new();
    for control in ["<unk>", "<s>", "</s>"] {
        vocab.insert(control.to_owned(), json!(vocab.len()));
    }
    for byte in 0..=255 {
        vocab.insert(format!("<0x{byte:02X}>"), json!(vocab.len()));
    }
    let words =
        ["▁", "e", "t", "a", "o", "i", "n", "h", "l", "é", "日", "▁t", "he", "▁the", "ll", "on", "▁a", "▁▁"];
    for word in words {
        vocab.insert(word.to_owned(), json!(vocab.len()));
    }
    json!({
        "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": [added(0, "<unk>", true), added(1, "<s>", true), added(2, "</s>", true)],
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": "▁"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
        ]},
        "pre_tokenizer": null,
        "post_processor": {"type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}},
        "decoder": {"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
            {"type": "ByteFallback"},
            {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0},
        ]},
        "model": {"type": "BPE", "dropout": null, "unk_token": "<unk>", "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": true, "byte_fallback": true, "ignore_merges": false,
            "vocab": vocab,
            "merges": ["▁ t", "h e", "▁t he", "l l", "o n", "▁ a", "▁ ▁"]},
    })
}

pub(super) fn sentence_piece() -> Vec<u8> {
    serde_json::to_vec(&sentence_piece_value()).unwrap()
}

/// In the style of Llama 3: numbers in groups of three, words of the vocabulary taken whole.
pub(super) fn whole_words() -> Vec<u8> {
    let mut value = byte_level_value();
    value["model"]["ignore_merges"] = json!(true);
    value["pre_tokenizer"]["pretokenizers"] = json!([
        {"type": "Split", "behavior": "Isolated", "invert": false, "pattern": {"Regex":
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"}},
        {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false},
    ]);
    serde_json::to_vec(&value).unwrap()
}

/// Steps that published files combine more rarely.
pub(super) fn many_steps() -> Vec<u8> {
    let mut value = byte_level_value();
    value["normalizer"] = json!({"type": "Sequence", "normalizers": [{"type": "NFKC"}]});
    value["pre_tokenizer"] = json!({"type": "Sequence", "pretokenizers": [
        {"type": "Punctuation", "behavior": "Contiguous"},
        {"type": "Split", "behavior": "MergedWithPrevious", "invert": false, "pattern": {"String": "-"}},
        {"type": "Split", "behavior": "Removed", "invert": true, "pattern": {"Regex": r"(?=\S)\S+|\s+"}},
        {"type": "Digits", "individual_digits": false},
        {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
    ]});
    for (index, flag) in [(0, "single_word"), (1, "lstrip")] {
        value["added_tokens"][index][flag] = json!(true);
    }
    serde_json::to_vec(&value).unwrap()
}

/// SentencePiece in the newer form, whose mark is put before the first piece only.
pub(super) fn metaspace() -> Vec<u8> {
    let mut value = sentence_piece_value();
    value["normalizer"] = Value::Null;
    value["pre_tokenizer"] =
        json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": false});
    serde_json::to_vec(&value).unwrap()
}

/// Every sample with its tokenizer, read once.
pub(super) static ALL: LazyLock<Vec<(Vec<u8>, Tokenizer)>> = LazyLock::new(|| {
    let samples =
        [stories().to_vec(), byte_level(), sentence_piece(), whole_words(), many_steps(), metaspace()];
    samples.into_iter().map(|json| (json.clone(), Tokenizer::from_bytes(&json, None).unwrap())).collect()
});
