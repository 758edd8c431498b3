//! GGUF files that cannot be what they say.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use proptest::collection::vec;
use proptest::prelude::*;
use tilewright_model::{Checkpoint, Code, Refusal, Specials, Tokenizer};

use crate::build::{Folder, byte_level_tokenizer, gguf, sentencepiece_tokenizer, whats};
use crate::corpus::targets;

fn file() -> Vec<u8> {
    gguf(Folder::valid().with("tokenizer.json", byte_level_tokenizer().to_string()))
}

fn open(file: Vec<u8>) -> Result<Checkpoint, Refusal> {
    Folder(BTreeMap::new()).with("model.gguf", file).open()
}

#[track_caller]
fn refused(file: Vec<u8>, code: Code) -> Refusal {
    Folder(BTreeMap::new()).with("model.gguf", file).refused(code)
}

/// The place after the first `text` in the file.
fn after(file: &[u8], text: &str) -> usize {
    file.windows(text.len()).position(|window| window == text.as_bytes()).unwrap() + text.len()
}

/// The file with the bytes after the first `text` replaced.
fn with(text: &str, skip: usize, bytes: &[u8]) -> Vec<u8> {
    let mut file = file();
    let at = after(&file, text) + skip;
    file[at..at + bytes.len()].copy_from_slice(bytes);
    file
}

/// The file with the first `from` replaced by `to`, as long.
fn renamed(from: &str, to: &str) -> Vec<u8> {
    let mut file = file();
    let end = after(&file, from);
    file[end - from.len()..end].copy_from_slice(to.as_bytes());
    file
}

#[test]
fn the_file_that_is_spoilt_elsewhere_opens() {
    let tokenizer = Tokenizer::from_checkpoint(&open(file()).unwrap()).unwrap();
    assert_eq!(tokenizer.encode("ab ab", Specials::Plain).unwrap(), [3, 4]);
}

#[test]
fn scores_merge_as_ranks_do() {
    let file = gguf(Folder::valid().with("tokenizer.json", sentencepiece_tokenizer().to_string()));
    let tokenizer = Tokenizer::from_checkpoint(&open(file).unwrap()).unwrap();
    for (text, ids) in [("aa", &[7][..]), ("aaa a", &[6, 5, 6]), ("\na", &[4, 1, 3])] {
        assert_eq!(tokenizer.encode(text, Specials::Plain).unwrap(), ids, "{text:?}");
        assert_eq!(tokenizer.decode(ids, false).unwrap(), text);
    }
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    let whole = file();
    for length in 0..whole.len() {
        let refusal = open(whole[..length].to_vec()).unwrap_err();
        assert_eq!(refusal.code(), Code::GgufInvalid, "{length}: {refusal}");
    }
    refused([whole, vec![0; 64]].concat(), Code::GgufInvalid);
}

#[test]
fn what_is_no_header_is_named() {
    let first = |bytes: &[u8]| with("GGUF", 0, bytes);
    for (file, what) in [
        (renamed("GGUF", "GGML"), "magic"),
        (first(&1u32.to_le_bytes()), "version"),
        (first(&3u32.to_be_bytes()), "byte order"),
        // What is read as the next tensor has no name.
        (first(&[&3u32.to_le_bytes()[..], &u64::MAX.to_le_bytes()].concat()), "tensor 13 \"\""),
        (with("general.type", 0, &99u32.to_le_bytes()), "general.type"),
        (with("general.type", 4, &u64::MAX.to_le_bytes()), "general.type"),
        (renamed("qwen3.context_length", "qwen3.rope.freq_base"), "qwen3.rope.freq_base"),
    ] {
        let refusal = open(file).unwrap_err();
        assert_eq!(refusal.code(), Code::GgufInvalid, "{refusal}");
        assert_eq!(whats(&refusal)[0], what, "{refusal}");
    }
}

#[test]
fn places_of_tensors_that_do_not_fit_are_refused_together() {
    // Name, one dimension, type, offset.
    let mut file = with("blk.0.attn_norm.weight", 16, &8u64.to_le_bytes());
    let at = after(&file, "output_norm.weight") + 16;
    file[at..at + 8].copy_from_slice(&u64::MAX.to_le_bytes());
    let refusal = refused(file, Code::GgufInvalid);
    assert!(refusal.findings().len() >= 2, "{refusal}");
}

#[test]
fn element_types_that_are_not_read_are_named() {
    let refusal = refused(with("token_embd.weight", 20, &21u32.to_le_bytes()), Code::WeightsUnsupported);
    assert_eq!(refusal.findings()[0].got, "iq3_s (type 21)");
    // A vector of blocks, and rows that are no whole number of blocks.
    refused(with("blk.0.attn_norm.weight", 12, &8u32.to_le_bytes()), Code::GgufInvalid);
    refused(with("token_embd.weight", 20, &12u32.to_le_bytes()), Code::GgufInvalid);
}

#[test]
fn facts_outside_the_supported_set_are_refused() {
    let refusal = refused(renamed("qwen3", "gemma"), Code::UnsupportedArchitecture);
    assert_eq!((whats(&refusal)[0], refusal.findings()[0].got.as_str()), ("general.architecture", "gemma"));
    let refusal = refused(renamed("qwen3.vocab_size", "qwen3.vocab_odds"), Code::UnsupportedArchitecture);
    assert_eq!(whats(&refusal), ["qwen3.vocab_odds"]);
    let refusal = refused(renamed("model\u{1c}", "lorax\u{1c}"), Code::UnsupportedArchitecture);
    assert_eq!(whats(&refusal), ["general.type"]);
    let refusal =
        refused(with("qwen3.embedding_length", 4, &33u32.to_le_bytes()), Code::UnsupportedArchitecture);
    assert!(whats(&refusal).contains(&"qwen3.embedding_length"), "{refusal}");
    let refusal =
        refused(with("qwen3.rope.dimension_count", 4, &8u32.to_le_bytes()), Code::UnsupportedArchitecture);
    assert_eq!(whats(&refusal), ["qwen3.rope.dimension_count"]);
}

#[test]
fn metadata_and_tensors_are_of_one_model() {
    refused(with("qwen3.block_count", 4, &2u32.to_le_bytes()), Code::TensorMismatch);
    refused(with("qwen3.feed_forward_length", 4, &96u32.to_le_bytes()), Code::TensorMismatch);
    let refusal = refused(with("qwen3.vocab_size", 4, &9u32.to_le_bytes()), Code::UnsupportedArchitecture);
    assert_eq!(whats(&refusal), ["qwen3.vocab_size"]);
}

#[test]
fn tokenizers_that_are_not_understood_are_refused() {
    let refusal = refused(renamed("gpt-2", "gpt-5"), Code::TokenizerInvalid);
    assert_eq!(whats(&refusal), ["tokenizer.ggml.pre"]);
    refused(renamed("gpt2", "bert"), Code::TokenizerInvalid);
    let refusal = refused(renamed("tokenizer.ggml.merges", "tokenizer.ggml.mergez"), Code::TokenizerInvalid);
    assert_eq!(whats(&refusal), ["tokenizer.ggml.mergez", "tokenizer.ggml.merges"]);
}

#[test]
fn of_several_files_one_has_to_be_named() {
    let folder = Folder(BTreeMap::new()).with("a.gguf", file()).with("b.gguf", file());
    let refusal = folder.refused(Code::CheckpointNotFound);
    assert_eq!(refusal.findings()[0].got, "a.gguf, b.gguf");
}

/// A file with each kind of tokenizer.
static WHOLE: LazyLock<[Vec<u8>; 2]> = LazyLock::new(|| {
    [byte_level_tokenizer(), sentencepiece_tokenizer()]
        .map(|tokenizer| gguf(Folder::valid().with("tokenizer.json", tokenizer.to_string())))
});

/// What takes the place of a stretch of a file: numbers that counts and sizes are read from, or anything.
fn stretch() -> impl Strategy<Value = Vec<u8>> {
    let edges = [
        0,
        1,
        2,
        7,
        8,
        31,
        32,
        255,
        1 << 31,
        u64::from(u32::MAX),
        1 << 62,
        i64::MAX.unsigned_abs(),
        u64::MAX,
    ];
    let number = proptest::sample::select(edges.to_vec());
    prop_oneof![
        number.clone().prop_map(|number| number.to_le_bytes().to_vec()),
        number.prop_map(|number| (number as u32).to_le_bytes().to_vec()),
        vec(any::<u8>(), 0..9),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// What the fuzz target asks of a file, asked of files that were whole; `PROPTEST_CASES` sets how many.
    #[test]
    fn changed_files_are_read_or_refused(
        which in 0..2usize,
        keeps_length in any::<bool>(),
        changes in vec((any::<prop::sample::Index>(), stretch()), 1..5),
    ) {
        let mut file = WHOLE[which].clone();
        for (at, bytes) in changes {
            let at = at.index(file.len());
            let end = if keeps_length { (at + bytes.len()).min(file.len()) } else { at };
            file.splice(at..end, bytes);
        }
        targets::gguf(&file);
    }
}
