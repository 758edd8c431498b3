//! A model whose numbers overflow: every reply ends by name, before and after a stream has begun.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tilewright_engine::{Cache, Engine, OpenOptions, Source, WeightFormat};
use tilewright_serve::Server;

use crate::client::{ask, chat_body, options};

/// A copy of the story model whose last norm multiplies by nearly the largest number there is.
fn overflowing() -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/stories-qwen3");
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join("overflowing");
    std::fs::create_dir_all(&to).unwrap();
    for name in ["config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json"] {
        std::fs::copy(from.join(name), to.join(name)).unwrap();
    }
    let mut bytes = std::fs::read(from.join("model.safetensors")).unwrap();
    let header = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let tensors: Value = serde_json::from_slice(&bytes[8..header]).unwrap();
    let norm = &tensors["model.norm.weight"];
    assert_eq!(norm["dtype"], "BF16");
    let place = |end: usize| header + norm["data_offsets"][end].as_u64().unwrap() as usize;
    // 3.3e38 in bf16.
    bytes[place(0)..place(1)].as_chunks_mut::<2>().0.fill([0x78, 0x7F]);
    std::fs::write(to.join("model.safetensors"), bytes).unwrap();
    to
}

#[test]
fn a_reply_of_no_numbers_ends_by_name_in_a_stream_too() {
    let model = OpenOptions {
        weights: Some(WeightFormat::F32),
        threads: Some(1),
        cache: Cache::Off,
        ..OpenOptions::default()
    };
    let engine = Engine::open(Source::Path(overflowing()), &model, &mut |_| ()).unwrap();
    let server = Server::start("127.0.0.1:0".parse().unwrap(), options()).unwrap();
    server.ready(&engine).unwrap();
    let ask = |more: Value| {
        ask(server.address(), "POST", "/v1/chat/completions", &chat_body("Say", more).to_string())
    };
    assert_eq!(ask(json!({})).refused(500), "non_finite_logits");

    let mut events = ask(json!({"stream": true})).events();
    let error: Value = serde_json::from_str(&events.pop().unwrap()).unwrap();
    assert_eq!(
        (&error["error"]["code"], &error["error"]["type"]),
        (&json!("non_finite_logits"), &json!("server_error"))
    );
    // What came before is the beginning of a reply, with no token in it, and nothing comes after the error.
    for event in &events {
        let chunk: Value = serde_json::from_str(event).unwrap();
        assert_eq!(chunk["choices"][0]["delta"], json!({"role": "assistant", "content": ""}), "{chunk}");
    }
}
