//! `docs/models.md` is what the tables say, and the tables say each thing once.

use std::fmt::Write;

use super::{Families, Key, Rule};
use crate::{Family, StoredType, config, generation, gguf};

const HEAD: &str = "\
# Models

Tilewright runs decoders of the Qwen3, Qwen2, Llama and Mistral definitions. A checkpoint is judged by the facts it
states, never by its name. The lists are closed: a key that is not on them is refused, because an ignored key is a
silently different model, and all mismatches are told in one message before any weight is read (`tilewright inspect -m
DIR` shows them without loading).

This page is generated from the tables the reader applies (`crates/model/src/config/keys.rs`, `generation/keys.rs`,
`gguf`);
`UPDATE=1 cargo test -p tilewright-model --lib schema` rewrites it.

## Definitions

`model_type` and `architectures` name a definition of the computation. Others state the same keys and mean something
else by them (a rotation of neighbouring elements, a norm after the branch), so an unknown one is refused.

";

const WEIGHTS: &str = "
## Weights

`model.safetensors`, or `model.safetensors.index.json` with the shards it names; bf16, f16 or f32; the tensor names of
the published checkpoints, and exactly the tensors the configuration calls for. A tied checkpoint may store its head if
that is the embedding byte for byte. Other formats beside them are not read; alone, they are refused by name, but for
the converted form (`manifest.json` and `weights.blob`) and GGUF.
";

const TEMPLATE: &str = "
## Chat template and stop set

The template is the first there is of `chat_template.jinja`, `chat_template.json`, and `chat_template` in
`tokenizer_config.json` (a text, or the one named `default` of a list); in GGUF `tokenizer.chat_template`. The stop set is the union of `eos_token_id` in
`generation_config.json`, `eos_token_id` in `config.json`, and `eos_token` in `tokenizer_config.json`; each id is shown
with everyone who names it. In GGUF they are `eos_token_id`, `eot_token_id` and `eom_token_id`.
";

const GGUF: &str = "
## GGUF

Versions 2 and 3, one file or split ones, by the path of a file (of any part) or of a folder with one model. Such a file is
whole: configuration, tokenizer and template are its own, and nothing beside it is read.

| `general.architecture` | as |
| --- | --- |
";

const GGUF_KEYS: &str = "
Mistral's files say `llama`. Queries and keys of `llama` are stored in another order of rows, which is undone.

Keys of the architecture are a closed list, `tokenizer.ggml` is another; others tell of the file and change nothing.

| key | what is done |
| --- | --- |
";

const GGUF_TYPES: &str = "
Elements may be of these types; of the blocks, the floats are those that the format's own tools make. Unasked, matrices of
blocks are computed on as they are stored (`--weights gguf`), each in its own type: on the processor those of every type, on GPUs
those that have kernels. Other blocks are rounded there to q8_0, and `inspect` names them. NVIDIA GPUs do so where `--weights gguf`
asks for it, and else widen blocks to f32.

| type | elements of a block | bits an element | computed on as stored |
| --- | --- | --- | --- |
";

const GGUF_WRITTEN: &str = "
`tilewright convert --to gguf --quant q8_0|q4_0|q4_k_m` writes such files, and llama.cpp reads them. `tools/gguf_greedy.py`
continues ten prompts of the story model by 64 tokens with both programs. Both round activations to 8 bits and add floats in orders of their
own, so texts part where the best two logits are nearly equal, and are compared up to there. On the processor `--numerics llama.cpp` takes its
orders, for [the types that they are known of](weights.md#numerics-of-llamacpp).

| mixture | tokens compared, all equal | prompts that part | llama.cpp's largest margin where they do |
| --- | --- | --- | --- |
| q8_0 | 578 of 640 | 3 | 0.051 |
| q4_0 | 589 of 640 | 2 | 0.054 |
| q4_k_m | 477 of 640 | 4 | below 0.05 |
";

const GGUF_PRE: &str = "
A tokenizer is of the model `gpt2` (byte-level, with merges) or `llama` (SentencePiece, with scores; what has no token is
spelled by bytes). The former states its pre-tokenizer by a name:

| names | words that are tokens are taken whole | begins with the beginning-of-sequence token |
| --- | --- | --- |
";

fn gguf_page(page: &mut String) {
    use gguf::config::Use;
    *page += GGUF;
    for (name, published) in gguf::names::ARCHITECTURES {
        writeln!(page, "| `{name}` | `{published}` |").unwrap();
    }
    *page += GGUF_KEYS;
    for (key, rule) in gguf::config::KEYS {
        let done = match rule {
            Use::As(name) => format!("states `{name}`"),
            Use::Same(name) => format!("must be `{name}`"),
            Use::Scaling(name) => format!("states `rope_scaling.{name}`"),
            Use::Only(value) => format!("accepted as {value} only"),
            Use::Harmless => "without effect".to_owned(),
        };
        writeln!(page, "| `{key}` | {done} |").unwrap();
    }
    *page += GGUF_TYPES;
    for stored in StoredType::all().filter(|stored| stored.gguf_number().is_some()) {
        let bits = 8.0 * stored.block_bytes() as f64 / stored.block_len() as f64;
        let by = match (stored.is_block(), stored.is_read_by_kernels()) {
            (true, true) => "processor, GPUs",
            (true, false) => "processor",
            (false, _) => "",
        };
        writeln!(page, "| {stored} | {} | {bits} | {by} |", stored.block_len()).unwrap();
    }
    *page += GGUF_WRITTEN;
    *page += GGUF_PRE;
    let yes = |flag| if flag { "yes" } else { "no" };
    for pre in gguf::pre::PRE {
        let names: Vec<_> = pre.names.iter().map(|name| format!("`{name}`")).collect();
        let bos = if pre.adds_bos { "yes, unless the file says otherwise" } else { "if the file says so" };
        writeln!(page, "| {} | {} | {bos} |", names.join(", "), yes(pre.ignores_merges)).unwrap();
    }
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    page += "| `model_type` | `architectures` |\n| --- | --- |\n";
    for family in Family::ALL {
        writeln!(page, "| `{}` | `{}` |", family.model_type(), family.architecture()).unwrap();
    }
    page += "\n## `config.json`\n";
    tables(&mut page, config::KEYS);
    page += "\n### Types of rotary scaling\n\nIn `rope_scaling` or `rope_parameters`, under `rope_type` or `type`.\n\n";
    page += "| type | its keys | meaning |\n| --- | --- | --- |\n";
    for (name, keys, meaning) in config::ROPE_TYPES {
        let keys: Vec<_> = keys.iter().map(|key| format!("`{key}`")).collect();
        writeln!(page, "| `{name}` | {} | {meaning} |", keys.join(", ")).unwrap();
    }
    page += WEIGHTS;
    gguf_page(&mut page);
    page += TEMPLATE;
    page += "\n## `generation_config.json`\n";
    tables(&mut page, generation::KEYS);
    page
}

/// The three kinds of keys of a table.
fn tables(page: &mut String, keys: &[Key]) {
    let of = |wanted: fn(Rule) -> bool| keys.iter().filter(move |key| wanted(key.rule));
    *page += "\n### Used\n\n| key | accepted | stated by | meaning |\n| --- | --- | --- | --- |\n";
    for key in of(|rule| !matches!(rule, Rule::Only(_) | Rule::Harmless)) {
        let accepted =
            if key.rule == Rule::Own { "see its meaning".to_owned() } else { key.rule.to_string() };
        writeln!(page, "| `{}` | {accepted} | {} | {} |", key.name, stated_by(key), key.meaning).unwrap();
    }
    *page += "\n### Accepted only with a value that changes nothing\n\n| key | accepted | refused |\n| --- | --- | --- |\n";
    for key in of(|rule| matches!(rule, Rule::Only(_))) {
        writeln!(page, "| `{}` | {} | {} |", key.name, key.rule, key.meaning).unwrap();
    }
    *page += "\n### Without effect\n\n| key | why |\n| --- | --- |\n";
    for key in of(|rule| rule == Rule::Harmless) {
        writeln!(page, "| `{}` | {} |", key.name, key.meaning).unwrap();
    }
}

fn stated_by(key: &Key) -> String {
    let names = |families: &[Family]| families.iter().map(|f| f.model_type()).collect::<Vec<_>>().join(", ");
    match (key.required, key.known) {
        (Families::All, _) => "all, always".to_owned(),
        (Families::Only([]), Families::All) => "any".to_owned(),
        (Families::Only([]), Families::Only(known)) => format!("{} only", names(known)),
        (Families::Only(required), _) => format!("any; {} always", names(required)),
    }
}

#[test]
fn the_page_is_what_the_tables_say() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/models.md");
    if std::env::var_os("UPDATE").is_some_and(|v| v == "1") {
        std::fs::write(&path, page()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page(), "docs/models.md is out of date: run again with UPDATE=1");
}

#[test]
fn a_key_has_one_row() {
    for table in [config::KEYS, generation::KEYS, crate::manifest::KEYS] {
        let mut names: Vec<_> = table.iter().map(|key| key.name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }
}

#[test]
fn a_required_key_is_a_known_one() {
    for key in config::KEYS {
        for family in Family::ALL {
            let known = key.known.contain(Some(*family), true);
            assert!(known || !key.required.contain(Some(*family), false), "{}", key.name);
        }
    }
}
