//! Makes small checkpoints in memory, and spoils them in one respect at a time.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use tilewright_model::{Checkpoint, Code, Refusal};

/// A tensor to be written: name, type, shape, bytes.
#[derive(Clone)]
pub(crate) struct Stored {
    pub(crate) name: String,
    pub(crate) dtype: &'static str,
    pub(crate) shape: Vec<usize>,
    pub(crate) bytes: Vec<u8>,
}

impl Stored {
    /// bf16 values near one that differ by name and position.
    pub(crate) fn new(name: &str, shape: &[usize]) -> Self {
        let elements = shape.iter().product::<usize>();
        let salt = name.bytes().fold(7u8, |a, b| a.wrapping_mul(31).wrapping_add(b));
        let element = |i: usize| [(i as u8).wrapping_mul(3) ^ salt, 0x3f];
        let bytes = (0..elements).flat_map(element).collect();
        Self { name: name.to_owned(), dtype: "BF16", shape: shape.to_vec(), bytes }
    }
}

/// A one-layer Qwen3 of the smallest supported shape: hidden 32, two query heads and one KV head of 16, vocabulary 8.
pub(crate) fn config() -> Value {
    json!({
        "model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "hidden_size": 32, "num_hidden_layers": 1,
        "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 16, "intermediate_size": 64,
        "vocab_size": 8, "max_position_embeddings": 128, "tie_word_embeddings": true, "rms_norm_eps": 1e-6,
        "hidden_act": "silu", "rope_theta": 1e6, "eos_token_id": 2,
    })
}

/// The tensors that configuration calls for.
pub(crate) fn tensors() -> Vec<Stored> {
    let layer = |part: &str, shape: &[usize]| Stored::new(&format!("model.layers.0.{part}"), shape);
    vec![
        Stored::new("model.embed_tokens.weight", &[8, 32]),
        layer("input_layernorm.weight", &[32]),
        layer("self_attn.q_proj.weight", &[32, 32]),
        layer("self_attn.k_proj.weight", &[16, 32]),
        layer("self_attn.v_proj.weight", &[16, 32]),
        layer("self_attn.q_norm.weight", &[16]),
        layer("self_attn.k_norm.weight", &[16]),
        layer("self_attn.o_proj.weight", &[32, 32]),
        layer("post_attention_layernorm.weight", &[32]),
        layer("mlp.gate_proj.weight", &[64, 32]),
        layer("mlp.up_proj.weight", &[64, 32]),
        layer("mlp.down_proj.weight", &[32, 64]),
        Stored::new("model.norm.weight", &[32]),
    ]
}

/// A safetensors file of `tensors`, in their order.
pub(crate) fn safetensors(tensors: &[Stored]) -> Vec<u8> {
    let (mut header, mut data) = (Map::new(), Vec::new());
    for t in tensors {
        let start = data.len();
        data.extend_from_slice(&t.bytes);
        let entry = json!({"dtype": t.dtype, "shape": t.shape, "data_offsets": [start, data.len()]});
        header.insert(t.name.clone(), entry);
    }
    raw_safetensors(&Value::Object(header).to_string(), &data)
}

/// A safetensors file of any header text.
pub(crate) fn raw_safetensors(header: &str, data: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat()
}

/// The files of a checkpoint.
#[derive(Clone)]
pub(crate) struct Folder(pub(crate) BTreeMap<String, Vec<u8>>);

impl Folder {
    /// A checkpoint that opens.
    pub(crate) fn valid() -> Self {
        Self(BTreeMap::new())
            .with("config.json", config().to_string())
            .with("model.safetensors", safetensors(&tensors()))
    }

    /// The same with the file `name` set.
    pub(crate) fn with(mut self, name: &str, bytes: impl Into<Vec<u8>>) -> Self {
        self.0.insert(name.to_owned(), bytes.into());
        self
    }

    /// The same without the file `name`.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.0.remove(name).unwrap();
        self
    }

    /// The same with other tensors.
    pub(crate) fn with_tensors(self, change: impl FnOnce(&mut Vec<Stored>)) -> Self {
        let mut tensors = tensors();
        change(&mut tensors);
        self.with("model.safetensors", safetensors(&tensors))
    }

    /// The same with the tensors in two shards and an index, the first `split` in the first.
    pub(crate) fn sharded(self, split: usize) -> Self {
        let tensors = tensors();
        let (first, second) = tensors.split_at(split);
        let mut map = Map::new();
        for (shard, tensors) in [("a.safetensors", first), ("b.safetensors", second)] {
            for t in tensors {
                map.insert(t.name.clone(), shard.into());
            }
        }
        self.without("model.safetensors")
            .with("a.safetensors", safetensors(first))
            .with("b.safetensors", safetensors(second))
            .with("model.safetensors.index.json", json!({"metadata": {}, "weight_map": map}).to_string())
    }

    /// The checkpoint.
    pub(crate) fn open(self) -> Result<Checkpoint, Refusal> {
        Checkpoint::from_files(self.0.into_iter().map(|(name, bytes)| (name, Cow::Owned(bytes))))
    }

    /// The refusal, which must have `code`.
    #[track_caller]
    pub(crate) fn refused(self, code: Code) -> Refusal {
        match self.open() {
            Ok(_) => panic!("opened, but {} was expected", code.name()),
            Err(refusal) if refusal.code() == code => refusal,
            Err(refusal) => panic!("{} was expected, but: {refusal}", code.name()),
        }
    }
}

/// A byte-level tokenizer of the small checkpoint's eight ids.
pub(crate) fn byte_level_tokenizer() -> Value {
    json!({
        "added_tokens": [{"id": 2, "content": "<s>", "special": true}],
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"},
                "behavior": "Isolated", "invert": false},
            {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false},
        ]},
        "decoder": {"type": "ByteLevel"},
        "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 3, "Ġab": 4, "Ġ": 5}, "merges": ["a b", "Ġ ab"]},
    })
}

/// A tokenizer in the style of SentencePiece of the small checkpoint's eight ids.
pub(crate) fn sentencepiece_tokenizer() -> Value {
    json!({
        "added_tokens": [
            {"id": 0, "content": "<unk>", "special": true}, {"id": 2, "content": "<s>", "special": true},
        ],
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": "▁"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
        ]},
        "decoder": {"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"},
            {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0},
        ]},
        "model": {"type": "BPE", "byte_fallback": true, "vocab": {
            "<unk>": 0, "<0x0A>": 1, "<s>": 2, "a": 3, "▁": 4, "aa": 5, "▁a": 6, "▁aa": 7,
        }, "merges": ["▁ a", "a a", "▁a a", "▁ aa"]},
    })
}

/// The checkpoint as one GGUF file.
pub(crate) fn gguf(folder: Folder) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("model.gguf");
    tilewright_model::convert::write_gguf(&folder.open().unwrap(), &path, None, false, &mut |_, _| {})
        .unwrap();
    std::fs::read(path).unwrap()
}

/// The configuration of the small checkpoint, converted.
pub(crate) fn pair_config() -> Value {
    json!({
        "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1,
        "head_dim": 16, "intermediate_size": 64, "vocab_size": 8, "rope_theta": 1e6, "rms_norm_eps": 1e-6,
        "n_tokens": 2, "has_qk_norm": 1, "tie_word_embeddings": 1, "attention_bias": 0, "eos_token_id": [2, 3],
        "weights_dtype": "f32",
    })
}

/// A converted checkpoint whose weights count up through the blob.
pub(crate) fn pair(config: Value, change: impl FnOnce(&mut Value)) -> Folder {
    let mut entries = serde_json::Map::new();
    let mut offset = 0;
    let mut sorted = tensors();
    sorted.sort_by(|a, b| a.name.cmp(&b.name));
    for t in sorted {
        let elements: usize = t.shape.iter().product();
        let transposed = t.name.contains("_proj.");
        let mut shape = t.shape.clone();
        if transposed {
            shape.reverse();
        }
        let entry =
            json!({"offset": offset, "n_elements": elements, "shape": shape, "transposed": transposed});
        entries.insert(t.name, entry);
        offset += elements;
    }
    let mut manifest = json!({"config": config, "input_ids": [1, 5], "tensors": entries});
    change(&mut manifest);
    let blob: Vec<u8> = (0..offset).flat_map(|i| (i as f32).to_le_bytes()).collect();
    Folder(BTreeMap::new()).with("manifest.json", manifest.to_string()).with("weights.blob", blob)
}

/// A JSON object with one key set, or removed by `None`.
pub(crate) fn changed(mut object: Value, key: &str, value: Option<Value>) -> Value {
    let map = object.as_object_mut().unwrap();
    match value {
        Some(value) => {
            map.insert(key.to_owned(), value);
        }
        None => {
            map.shift_remove(key).unwrap();
        }
    }
    object
}

/// What each finding is about, in order.
pub(crate) fn whats(refusal: &Refusal) -> Vec<&str> {
    refusal.findings().iter().map(|finding| finding.what.as_str()).collect()
}

#[test]
fn the_checkpoint_that_is_spoilt_elsewhere_opens() {
    Folder::valid().open().unwrap();
    Folder::valid().sharded(5).open().unwrap();
}
