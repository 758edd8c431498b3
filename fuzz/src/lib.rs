//! What each fuzz target does with its bytes.
//!
//! Ordinary functions, so that the test `corpus` of the crate `model` replays every committed find in the normal test
//! run. Each panics when something that must hold does not: nothing read from a file may panic on its own, and what is
//! accepted must be usable.

use std::borrow::Cow;
use std::sync::LazyLock;

use tilewright_model::manifest::{MAX_POSITIONS, Manifest, ManifestConfig};
use tilewright_model::{
    ChatRole, ChatTemplate, Checkpoint, Config, Message, RenderArgs, Specials, Tokenizer,
};

/// A target, as the corpus folders are named.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: [Target; 9] = [
    ("config", config),
    ("safetensors", safetensors),
    ("gguf", gguf),
    ("index", index),
    ("manifest", manifest),
    ("tokenizer", tokenizer),
    ("template", template),
    ("messages", messages),
    ("settings", settings),
];

/// `config.json`: what is accepted keeps the promises of `Config` and survives the converted form.
pub fn config(data: &[u8]) {
    let Ok(config) = Config::from_json(data) else { return };
    assert!(config.heads.is_multiple_of(config.kv_heads) && config.q_width().is_multiple_of(32));
    assert!(config.eos.iter().chain(&config.bos).all(|&id| (id as usize) < config.vocab));
    let Ok(stated) = ManifestConfig::new(&config, 0) else { return };
    let text = serde_json::json!({"config": stated, "input_ids": [], "tensors": {}}).to_string();
    let read = Manifest::read(text.as_bytes()).unwrap().config;
    assert_eq!(
        (read.head_dim, read.vocab, read.max_positions),
        (config.head_dim, config.vocab, MAX_POSITIONS)
    );
}

/// A safetensors file beside a configuration it may fit.
pub fn safetensors(data: &[u8]) {
    use_checkpoint(open(&[("config.json", CONFIG), ("model.safetensors", data)]));
}

/// A GGUF file, with the tokenizer it may hold.
pub fn gguf(data: &[u8]) {
    let checkpoint = open(&[("model.gguf", data)]);
    if let Some(tokenizer) = checkpoint.as_ref().and_then(|c| Tokenizer::from_checkpoint(c).ok()) {
        for text in ["", "ab  aa\nx <s>"] {
            let Ok(ids) = tokenizer.encode_prompt(text, Specials::Plain) else { continue };
            assert!(tokenizer.decode(&ids, false).is_ok());
        }
    }
    use_checkpoint(checkpoint);
}

/// An index beside two shards it may name.
pub fn index(data: &[u8]) {
    use_checkpoint(open(&[
        ("config.json", CONFIG),
        ("model.safetensors.index.json", data),
        ("a.safetensors", include_bytes!("../seeds/a.safetensors")),
        ("b.safetensors", include_bytes!("../seeds/b.safetensors")),
    ]));
}

/// A manifest beside a blob it may describe.
pub fn manifest(data: &[u8]) {
    let blob = vec![0; 4 * ELEMENTS];
    use_checkpoint(open(&[("manifest.json", data), ("weights.blob", &blob)]));
}

/// `tokenizer.json`: what is accepted encodes, and decodes what it encoded.
pub fn tokenizer(data: &[u8]) {
    tilewright_model::fuzz::tokenizer_file(data);
}

/// A chat template, then after a zero byte the content of a message. Without a template the story model's is taken,
/// and the content must give no control id.
pub fn template(data: &[u8]) {
    let Some((0, content)) = data.split_first() else {
        return tilewright_model::fuzz::chat_template(data);
    };
    let args = RenderArgs { now: Some(0), ..RenderArgs::default() };
    let controls = |content: &str| {
        let prompt = OWN.render(&[Message::new(ChatRole::User, content)], &args).unwrap();
        let ids = TOKENIZER.encode_chat(&prompt).ok()?;
        Some(ids.into_iter().filter(|&id| TOKENIZER.is_control(id)).count())
    };
    assert!(controls(&String::from_utf8_lossy(content)).is_none_or(|count| Some(count) == controls("Hello")));
}

/// A conversation as `--messages` takes it, through the story model's template. However it is worded, it gives as many
/// control ids as one of the same roles in which everybody says hello.
pub fn messages(data: &[u8]) {
    let Ok(value) = serde_json::from_slice(data) else { return };
    let Ok(messages) = Message::list_from_json(&value) else { return };
    let args = RenderArgs { now: Some(0), ..RenderArgs::default() };
    let controls = |messages: &[Message]| {
        let prompt = OWN.render(messages, &args).ok()?;
        let ids = TOKENIZER.encode_chat(&prompt).ok()?;
        assert!(
            TOKENIZER.decode(&ids, false).is_ok_and(|text| text == prompt.text()),
            "the ids spell another prompt"
        );
        Some(ids.into_iter().filter(|&id| TOKENIZER.is_control(id)).count())
    };
    let plain: Vec<Message> = messages.iter().map(|message| Message::new(message.role, "Hello")).collect();
    let simple =
        messages.iter().all(|message| *message == Message::new(message.role, message.content.clone()));
    let count = controls(&messages);
    assert!(!simple || count.is_none() || count == controls(&plain), "content gave a control id");
}

/// `generation_config.json` and, after a zero byte, `tokenizer_config.json`: what is accepted names ids that exist.
pub fn settings(data: &[u8]) {
    let at = data.iter().position(|&byte| byte == 0);
    let (generation, tokenizer) = at.map_or((data, &b"{}"[..]), |at| (&data[..at], &data[at + 1..]));
    let Some(checkpoint) = open(&[
        ("config.json", CONFIG),
        ("generation_config.json", generation),
        ("tokenizer_config.json", tokenizer),
        ("model.safetensors", include_bytes!("../seeds/model.safetensors")),
    ]) else {
        return;
    };
    let vocab = checkpoint.config().vocab;
    assert!(checkpoint.stop_set().ids().all(|id| (id as usize) < vocab));
    assert!(checkpoint.generation_config().temperature.is_none_or(|t| t.is_finite() && t >= 0.0));
}

static TOKENIZER: LazyLock<Tokenizer> =
    LazyLock::new(|| Tokenizer::from_checkpoint(&Checkpoint::embedded().unwrap()).unwrap());

/// The story model's template.
static OWN: LazyLock<ChatTemplate> = LazyLock::new(|| {
    let checkpoint = Checkpoint::embedded().unwrap();
    ChatTemplate::from_checkpoint(&checkpoint, &TOKENIZER).unwrap().unwrap()
});

/// A one-layer Qwen3 of the smallest supported shape.
const CONFIG: &[u8] = include_bytes!("../seeds/config.json");

/// Elements of that model.
const ELEMENTS: usize = 9_600;

fn open(files: &[(&str, &[u8])]) -> Option<Checkpoint> {
    let files = files.iter().map(|(name, bytes)| ((*name).to_owned(), Cow::Owned(bytes.to_vec())));
    Checkpoint::from_files(files).ok()
}

/// Everything a device does with a checkpoint that opened.
fn use_checkpoint(checkpoint: Option<Checkpoint>) {
    let Some(checkpoint) = checkpoint else { return };
    for tensor in checkpoint.tensors() {
        let (narrow, wide) = (tensor.to_f32(), tensor.to_f64());
        assert!(narrow.is_err() || wide.is_ok_and(|wide| wide.len() == tensor.elements()));
        let _ = tensor.check_finite(0..tensor.rows());
    }
    assert!(checkpoint.parameters().layers.len() == checkpoint.config().layers);
    checkpoint.digest();
}
