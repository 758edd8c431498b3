//! Files that lie about sizes: reading them takes memory for what is there, not for what they claim.
//!
//! A program of its own with one test, because what is counted is the whole process.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a failure here is a failed test")]

#[path = "../refusals/build.rs"]
#[expect(dead_code, reason = "made for the tests of refusals")]
mod build;
mod raw;

use std::fs;

use serde_json::{Value, json};
use tilewright_model::{ChatRole, ChatTemplate, Checkpoint, Message, RenderArgs, Tokenizer, inspect};

use build::{Folder, changed, config, gguf, pair, pair_config, raw_safetensors, sentencepiece_tokenizer};

/// Bytes that reading any folder may take: tables of Unicode for a regular expression are the most of it.
const BASE: usize = 4 << 20;

/// Bytes for each byte there is: a parsed JSON value takes some tens.
const EACH: usize = 64;

/// The limit on the work of a template stands for memory too: a unit of fuel makes 64 bytes at most.
const TEMPLATE: usize = 64 << 20;

/// A folder by what it lies about.
fn folders() -> Vec<(&'static str, Folder)> {
    let valid = Folder::valid;
    let header = |length: u64| [&length.to_le_bytes()[..], &[b' '; 64]].concat();
    let tensor = |shape: Value, end: u64| {
        let entry = json!({"dtype": "BF16", "shape": shape, "data_offsets": [0, end]});
        raw_safetensors(&json!({"model.norm.weight": entry}).to_string(), &[0; 64])
    };
    let with_config = |keys: &[(&str, u64)]| {
        let mut config = config();
        for (key, value) in keys {
            config = changed(config, key, Some(json!(value)));
        }
        valid().with("config.json", config.to_string())
    };
    let with_pair = |keys: &[(&str, u64)]| {
        let config = keys.iter().fold(pair_config(), |c, (key, value)| changed(c, key, Some(json!(value))));
        pair(config, |_| {})
    };
    let entry = |key: &'static str, value: Value| {
        pair(pair_config(), move |manifest| {
            manifest["tensors"]["model.norm.weight"][key] = value;
        })
    };
    let tokenizer = |id: u64| {
        let file = json!({
            "added_tokens": [{"id": id, "content": "<e>", "special": true}],
            "decoder": {"type": "ByteLevel"},
            "model": {"type": "BPE", "vocab": {"a": 0, "b": id - 1}, "merges": []},
        });
        valid().with("tokenizer.json", file.to_string())
    };
    let with_gguf = |text: &str, skip: usize, value: u64| {
        let mut file = gguf(valid().with("tokenizer.json", sentencepiece_tokenizer().to_string()));
        let at = file.windows(text.len()).position(|window| window == text.as_bytes()).unwrap();
        file[at + text.len() + skip..][..8].copy_from_slice(&value.to_le_bytes());
        Folder(std::collections::BTreeMap::new()).with("model.gguf", file)
    };
    let most = [
        ("hidden_size", 65_536),
        ("num_hidden_layers", 128),
        ("num_attention_heads", 1024),
        ("num_key_value_heads", 1024),
        ("head_dim", 256),
        ("intermediate_size", 1 << 20),
        ("vocab_size", 1 << 21),
    ];
    vec![
        (
            "the length of a header, as far as a header may go",
            valid().with("model.safetensors", header(100_000_000)),
        ),
        (
            "the length of a header, past the end of memory",
            valid().with("model.safetensors", header(u64::MAX - 7)),
        ),
        ("the shape of a tensor", valid().with("model.safetensors", tensor(json!([1_u64 << 40]), 1 << 41))),
        (
            "a shape whose product wraps to what is there",
            valid().with("model.safetensors", tensor(json!([1_u64 << 33, 1_u64 << 31, 32]), 64)),
        ),
        ("a number of dimensions", valid().with("model.safetensors", tensor(json!(vec![1; 10_000]), 64))),
        ("the largest model there may be", with_config(&most)),
        ("one more layer than there may be", with_config(&[("num_hidden_layers", u64::MAX)])),
        ("positions", with_config(&[("max_position_embeddings", 1 << 30)])),
        ("the size of all shards", {
            let index = json!({"metadata": {"total_size": u64::MAX}, "weight_map": {"model.norm.weight": "a.safetensors"}});
            valid().sharded(6).with("model.safetensors.index.json", index.to_string())
        }),
        ("the largest converted model there may be", with_pair(&most)),
        ("the tokens of a folded prompt", with_pair(&[("n_tokens", 65_536)])),
        ("the offset of a converted tensor", entry("offset", json!(u64::MAX / 4))),
        ("the elements of a converted tensor", entry("n_elements", json!(u64::MAX / 4))),
        ("the shape of a converted tensor", entry("shape", json!([1_u64 << 62]))),
        ("an id of the vocabulary", tokenizer(u64::from(u32::MAX))),
        ("an id within the limit on unused ids", tokenizer(60_000)),
        ("tokens that settings name", {
            let settings =
                json!({"eos_token": "<e>", "added_tokens_decoder": {"4294967295": {"content": "<e>"}}});
            valid().with("tokenizer_config.json", settings.to_string())
        }),
        ("the number of tensors of a GGUF file", with_gguf("GGUF", 4, u64::MAX)),
        ("the number of keys of a GGUF file", with_gguf("GGUF", 12, 1 << 40)),
        ("the length of a text of a GGUF file", with_gguf("general.type", 4, 1 << 40)),
        ("the length of a list of a GGUF file", with_gguf("tokenizer.ggml.scores", 8, 1 << 40)),
        ("the length of a list of texts of a GGUF file", with_gguf("tokenizer.ggml.tokens", 8, u64::MAX)),
        ("the rows of a GGUF tensor", with_gguf("token_embd.weight", 12, 1 << 50)),
        ("how many tokens are kept", {
            let settings = json!({"top_k": u64::MAX, "max_new_tokens": u64::MAX, "min_new_tokens": u64::MAX});
            valid().with("generation_config.json", settings.to_string())
        }),
    ]
}

/// Templates that make much out of little.
const TEMPLATES: [&str; 7] = [
    "{{ 'a' * 4000000000 }}",
    "{{ [0] * 4000000000 }}",
    "{{ range(4000000000) | list }}",
    "{% for i in range(4000000000) %}aaaaaaaaaaaaaaaa{% endfor %}",
    "{{ 'a' | center(4000000000) }}",
    "{% set ns = namespace(x='aaaaaaaaaaaaaaaa') %}{% for i in range(40) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}{{ ns.x }}",
    "{{ '%04000000000d' % 1 }}{{ '{:>4000000000}'.format(1) }}{{ 'a'.ljust(4000000000) }}{{ 'a' | indent(4000000000) }}",
];

#[test]
fn memory_is_for_what_is_there() {
    // Through a black box, or the compiler leaves out what nobody reads.
    let counted = raw::most_held(|| drop(std::hint::black_box(vec![1_u8; 2 * TEMPLATE])));
    assert!(counted >= 2 * TEMPLATE, "nothing is counted");
    for (lie, folder) in folders() {
        let place = tempfile::tempdir().unwrap();
        let mut bytes = 0;
        for (name, content) in folder.0 {
            bytes += content.len();
            fs::write(place.path().join(name), content).unwrap();
        }
        let held = raw::most_held(|| {
            let inspection = inspect(place.path());
            let checkpoint = Checkpoint::open(place.path());
            drop((inspection, checkpoint.as_ref().ok().map(Tokenizer::from_checkpoint)));
        });
        assert!(held <= BASE + EACH * bytes, "{lie}: {held} bytes held for {bytes}");
    }

    let checkpoint = Checkpoint::embedded().unwrap();
    let tokenizer = Tokenizer::from_checkpoint(&checkpoint).unwrap();
    let messages = [Message::new(ChatRole::User, "Hello")];
    for template in TEMPLATES {
        let held = raw::most_held(|| {
            let template = ChatTemplate::new(template, &tokenizer, "a template");
            drop(template.map(|template| template.render(&messages, &RenderArgs::default())));
        });
        assert!(held <= TEMPLATE, "{template}: {held} bytes held");
    }
}
