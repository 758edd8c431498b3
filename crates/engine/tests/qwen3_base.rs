//! A real Qwen3-0.6B-Base, where `TILEWRIGHT_QWEN3_BASE` names its folder: it loads, converts and writes fluent text.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a failure here is a failed test, and what was observed is shown"
)]

mod common;

use std::path::PathBuf;

use common::{greedy, open};
use tilewright_engine::{Source, WeightFormat};
use tilewright_model::Checkpoint;
use tilewright_model::convert::{Arm, BlobType, ConvertOptions, convert};

const VARIABLE: &str = "TILEWRIGHT_QWEN3_BASE";
const PROMPT: &str = "The capital of France is";

fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
    if folder.is_none() {
        eprintln!("skipped: {VARIABLE} names no folder with Qwen3-0.6B-Base");
    }
    folder
}

/// Whether a text is one: words and punctuation, few words twice in a row, none of them endlessly long.
fn fluent(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    let repeated = words.windows(2).filter(|pair| pair[0] == pair[1]).count();
    let plain = text.chars().filter(|c| c.is_alphanumeric() || c.is_whitespace() || c.is_ascii_punctuation());
    words.len() >= 8
        && repeated * 8 <= words.len()
        && words.iter().all(|word| word.len() <= 24)
        && plain.count() * 20 >= text.chars().count() * 19
}

#[test]
fn what_counts_as_fluent() {
    assert!(fluent(" Paris. It is the largest city of France, and the seat of its government."));
    for text in ["", " Paris", " the the the the the the the the the", "ЋЋЋ ¤¤¤ ЋЋЋ ¤¤¤ ЋЋЋ ¤¤¤ ЋЋЋ ¤¤¤ ЋЋЋ"]
    {
        assert!(!fluent(text), "{text}");
    }
}

#[test]
fn the_real_model_continues_in_fluent_text() {
    let Some(folder) = folder() else { return };
    Checkpoint::open(&folder).unwrap().check_fixed_shape().unwrap();
    for weights in [WeightFormat::Bf16, WeightFormat::Int8] {
        let engine = open(Source::Path(folder.clone()), weights);
        let reply = greedy(&engine, &engine.encode(PROMPT).unwrap(), 40);
        let tokenizer = engine.tokenizer().unwrap();
        let first = tokenizer.decode(&reply.ids[..1], false).unwrap();
        eprintln!("{weights}: first token {} {first:?}\n{PROMPT}{}", reply.ids[0], reply.text);
        assert!(fluent(&reply.text) && reply.text.contains("Paris"), "{weights}: {}", reply.text);
    }
}

#[test]
fn the_real_model_converts_and_gives_equal_ids_as_a_pair() {
    let Some(folder) = folder() else { return };
    let source = Checkpoint::open(&folder).unwrap();
    let engine = open(Source::Path(folder), WeightFormat::Int8);
    let prompt = engine.encode(PROMPT).unwrap();
    let want = greedy(&engine, &prompt, 16).ids;
    drop(engine);
    let pair = tempfile::tempdir().unwrap();
    let options = ConvertOptions {
        dtype: BlobType::F32,
        arm: Arm::Fixed,
        input_ids: &prompt,
        ..ConvertOptions::default()
    };
    convert(&source, pair.path(), &options, &mut |_, _| ()).unwrap();
    let engine = open(Source::Path(pair.path().to_owned()), WeightFormat::Int8);
    assert_eq!(greedy(&engine, &prompt, 16).ids, want);
}
