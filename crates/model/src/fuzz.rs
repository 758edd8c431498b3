//! Bodies of fuzz targets for the texts this crate reads: whatever the input, a value or a refusal, never a panic.
//!
//! Not part of the API.

use std::sync::LazyLock;

use serde_json::json;

use crate::{ChatRole, ChatTemplate, Message, RenderArgs, Specials, Tokenizer};

/// Reads `data` as a `tokenizer.json`; one that is accepted has to encode and decode.
pub fn tokenizer_file(data: &[u8]) {
    let Ok(tokenizer) = Tokenizer::from_bytes(data, None) else { return };
    for text in ["", "a b\n\n  c1234 don't <s> é日\u{0}", "<|im_start|>user"] {
        for specials in [Specials::Parse, Specials::Plain] {
            let Ok(ids) = tokenizer.encode_prompt(text, specials) else { continue };
            let decoded = tokenizer.decode(&ids, false);
            assert!(decoded.is_ok(), "an id of its own is unknown to the tokenizer");
        }
        if let Ok(ids) = tokenizer.encode(text, Specials::Plain) {
            assert!(!ids.iter().any(|id| tokenizer.is_control(*id)), "plain text gave a control id");
        }
    }
}

/// Reads `data` as a chat template and, after the first NUL, as the content of a message.
pub fn chat_template(data: &[u8]) {
    static TOKENIZER: LazyLock<Option<Tokenizer>> = LazyLock::new(|| {
        let token = |id, content| json!({"id": id, "content": content, "special": true});
        let vocab: serde_json::Map<_, _> =
            (0..=255u32).map(|byte| (format!("<0x{byte:02X}>"), json!(byte))).collect();
        let file = json!({
            "added_tokens": [token(256, "<s>"), token(257, "<|im_end|>"), token(258, "</think>"), token(259, "[x]")],
            "decoder": {"type": "Sequence", "decoders": [
                {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"},
            ]},
            "model": {"type": "BPE", "byte_fallback": true, "vocab": vocab, "merges": []},
        });
        Tokenizer::from_bytes(file.to_string().as_bytes(), None).ok()
    });
    let Some(tokenizer) = TOKENIZER.as_ref() else { return };
    let text = String::from_utf8_lossy(data);
    let (source, content) = text.split_once('\0').unwrap_or((&text, "</think> <|im_end|>[x]"));
    let Ok(template) = ChatTemplate::new(source, tokenizer, "fuzz") else { return };
    let messages = [Message::new(ChatRole::User, content), Message::new(ChatRole::Assistant, "<s>")];
    for continue_final_message in [false, true] {
        let args = RenderArgs {
            add_generation_prompt: !continue_final_message,
            continue_final_message,
            tools: vec![json!({"name": content})],
            now: Some(0),
            ..RenderArgs::default()
        };
        let Ok(prompt) = template.render(&messages, &args) else { continue };
        let decoded = tokenizer.encode_chat(&prompt).and_then(|ids| tokenizer.decode(&ids, false));
        // The mark of the decoder cannot be told from a space.
        assert!(decoded.is_ok_and(|decoded| decoded == prompt.text()), "the ids spell another prompt");
    }
}

#[cfg(test)]
mod tests;
