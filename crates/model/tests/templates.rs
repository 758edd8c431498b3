//! Rendering against the reference Jinja: own templates that use what published ones use.
//!
//! `templates/generate.py` wrote `templates/golden.json`; it is not needed to run the tests.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use serde_json::{Value, json};
use tilewright_model::{ChatTemplate, Message, RenderArgs, Tokenizer};

fn tokenizer() -> Tokenizer {
    let json = include_bytes!("../../../models/stories-qwen3/tokenizer.json");
    let more = |content| json!({"content": content, "special": false});
    let config = json!({
        "bos_token": "<s>", "eos_token": {"content": "</s>"},
        "added_tokens_decoder": {
            "4096": more("<think>"), "4097": more("</think>"), "4098": more("<s>"), "4099": more("</s>"),
        },
    });
    Tokenizer::from_bytes(json, Some(&config)).unwrap()
}

#[test]
fn own_templates_render_as_the_reference_does() {
    let golden: Value = serde_json::from_str(include_str!("templates/golden.json")).unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/templates");
    let tokenizer = tokenizer();
    let mut wrong = Vec::new();
    let entries = golden["entries"].as_array().unwrap();
    for entry in entries {
        let name = entry["template"].as_str().unwrap();
        let source = std::fs::read_to_string(folder.join(name)).unwrap();
        let template = ChatTemplate::new(&source, &tokenizer, name).unwrap();
        let messages = Message::list_from_json(&entry["messages"]).unwrap();
        let args = RenderArgs {
            enable_thinking: entry["enable_thinking"].as_bool(),
            tools: entry["tools"].as_array().cloned().unwrap_or_default(),
            now: golden["now"].as_u64(),
            ..RenderArgs::default()
        };
        let expected = entry["rendered"].as_str().unwrap();
        match template.render(&messages, &args) {
            Ok(prompt) if prompt.text() == expected => {
                let ids = tokenizer.encode_chat(&prompt).unwrap();
                let text = tokenizer.decode(&ids, false).unwrap();
                assert_eq!(text, expected, "the ids spell the prompt");
            }
            Ok(prompt) => {
                let same = expected.chars().zip(prompt.text().chars()).take_while(|(a, b)| a == b).count();
                let rest =
                    |text: &str| -> String { text.chars().skip(same.saturating_sub(30)).take(90).collect() };
                wrong.push(format!("{name} {messages:?}\n{:?}\n{:?}", rest(expected), rest(prompt.text())));
            }
            Err(refusal) => wrong.push(format!("{name} {messages:?}\n{refusal}")),
        }
    }
    assert!(entries.len() > 100);
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), entries.len(), wrong.join("\n"));
}
