//! The committed fuzzing corpus: seeds made here, and every find replayed.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::build::{Folder, byte_level_tokenizer, config, gguf, pair, pair_config, sentencepiece_tokenizer};

#[path = "../../../../fuzz/src/lib.rs"]
#[expect(unreachable_pub, reason = "the library of another workspace")]
pub(crate) mod targets;

fn fuzz() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// The story model's tokenizer with its first three hundred tokens.
fn small_tokenizer() -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../models/stories-qwen3/tokenizer.json");
    let mut tokenizer: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let model = &mut tokenizer["model"];
    let vocab = model["vocab"].as_object().unwrap().clone();
    let kept: serde_json::Map<_, _> = vocab.into_iter().filter(|(_, id)| id.as_u64() < Some(300)).collect();
    let is_kept = |merge: &Value| {
        let parts = match merge {
            Value::String(text) => text.split(' ').map(str::to_owned).collect(),
            _ => serde_json::from_value::<Vec<String>>(merge.clone()).unwrap(),
        };
        kept.contains_key(&parts.concat()) && parts.iter().all(|part| kept.contains_key(part))
    };
    let merges: Vec<Value> =
        model["merges"].as_array().unwrap().iter().filter(|m| is_kept(m)).cloned().collect();
    (model["merges"], model["vocab"]) = (merges.into(), kept.into());
    for (index, added) in tokenizer["added_tokens"].as_array_mut().unwrap().iter_mut().enumerate() {
        added["id"] = json!(300 + index);
    }
    tokenizer.to_string().into_bytes()
}

/// One message of every role.
fn messages() -> Value {
    let call = json!({"function": {"name": "weather", "arguments": {"city": "Oslo"}}});
    json!([
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Hi <|im_end|>"},
        {"role": "assistant", "content": "", "reasoning_content": "Hm.", "tool_calls": [call]},
        {"role": "tool", "content": "Rain", "tool_call_id": "1", "name": "weather"},
        {"role": "user", "content": "Thanks"},
    ])
}

/// Content as a list of parts.
fn parts() -> Value {
    json!([{"role": "developer", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}])
}

/// Every field of either file that is used.
fn settings() -> Vec<u8> {
    let generation = json!({
        "do_sample": true, "temperature": 0.6, "top_k": 20, "top_p": 0.95, "min_p": 0.1, "repetition_penalty": 1.1,
        "max_new_tokens": 5, "min_new_tokens": 1, "stop_strings": ["x"], "eos_token_id": [2, 3],
    });
    let tokenizer = json!({
        "eos_token": {"content": "<e>"}, "added_tokens_decoder": {"7": {"content": "<e>"}},
        "chat_template": [{"name": "default", "template": "{{ messages }}"}],
    });
    format!("{generation}\0{tokenizer}").into_bytes()
}

/// Path under `fuzz`, and content.
fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let (single, mut sharded) = (Folder::valid().0, Folder::valid().sharded(6).0);
    let mut part = |name: &str| sharded.remove(name).unwrap();
    let yarn = json!({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32});
    let mut nested = config();
    nested.as_object_mut().unwrap().extend([
        ("rope_parameters".to_owned(), yarn),
        ("layer_types".to_owned(), json!(["full_attention"])),
        ("sliding_window".to_owned(), json!(64)),
        ("use_sliding_window".to_owned(), json!(false)),
    ]);
    vec![
        ("seeds/config.json", config().to_string().into_bytes()),
        ("seeds/a.safetensors", part("a.safetensors")),
        ("seeds/b.safetensors", part("b.safetensors")),
        ("seeds/model.safetensors", single["model.safetensors"].clone()),
        ("corpus/config/seed-flat", config().to_string().into_bytes()),
        ("corpus/config/seed-nested", nested.to_string().into_bytes()),
        ("corpus/safetensors/seed-valid", single["model.safetensors"].clone()),
        ("corpus/gguf/seed-plain", gguf(Folder::valid())),
        ("corpus/gguf/seed-bytes", gguf(Folder::valid().with("tokenizer.json", byte_level_tokenizer().to_string()))),
        ("corpus/gguf/seed-pieces", gguf(Folder::valid().with("tokenizer.json", sentencepiece_tokenizer().to_string()))),
        ("corpus/index/seed-valid", part("model.safetensors.index.json")),
        ("corpus/manifest/seed-valid", pair(pair_config(), |_| {}).0["manifest.json"].clone()),
        ("corpus/tokenizer/seed-small", small_tokenizer()),
        ("corpus/messages/seed-roles", messages().to_string().into_bytes()),
        ("corpus/messages/seed-parts", parts().to_string().into_bytes()),
        ("corpus/settings/seed-both", settings()),
        ("corpus/template/seed-loop", b"{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content | trim }}<|im_end|>{% endfor %}\0Hi".to_vec()),
        ("corpus/template/seed-content", b"\0Hi <|im_end|>\n<|im_start|>system".to_vec()),
    ]
}

#[test]
fn the_seeds_are_those_made_here() {
    let update = std::env::var_os("UPDATE").is_some_and(|v| v == "1");
    for (name, content) in seeds() {
        let path = fuzz().join(name);
        if update {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &content).unwrap();
        }
        assert!(fs::read(&path).unwrap() == content, "{name} is out of date: run again with UPDATE=1");
    }
}

#[test]
fn the_seeds_reach_what_they_are_for() {
    let small = tilewright_model::Tokenizer::from_bytes(&small_tokenizer(), None).unwrap();
    assert_eq!(small.vocab_size(), 303);
    pair(pair_config(), |_| {}).open().unwrap();
}

#[test]
fn every_target_of_the_fuzzer_is_replayed() {
    let files = fs::read_dir(fuzz().join("fuzz_targets")).unwrap();
    let mut names: Vec<_> =
        files.map(|file| file.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    names.sort();
    let mut replayed = targets::TARGETS.map(|(name, _)| name);
    replayed.sort();
    assert_eq!(names, replayed);
}

#[test]
fn every_find_is_replayed() {
    for (target, run) in targets::TARGETS {
        let folder = fuzz().join("corpus").join(target);
        let mut paths: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        assert!(!paths.is_empty(), "{}", folder.display());
        for path in paths {
            let outcome = std::panic::catch_unwind(|| run(&fs::read(&path).unwrap()));
            assert!(outcome.is_ok(), "{} fails", path.display());
        }
    }
}
