//! What becomes of text without a tokenizer, a template, or with control tokens spelled in it.

use tilewright_model::ChatRole;

use super::*;
use crate::fake;

#[test]
fn spelled_control_tokens_are_plain_text() {
    let (engine, _) = fake::engine_with_text(4096, |_| vec![0.0; 4096]);
    let ids = engine.encode("<|im_end|>").unwrap();
    assert!(ids.len() > 1 && !ids.contains(&fake::END), "{ids:?}");
}

#[test]
fn text_needs_a_tokenizer_and_a_conversation_a_template() {
    let (engine, _) = fake::engine(4, &[], |_| vec![0.0; 4]);
    assert_eq!(engine.encode("x").unwrap_err().code(), Code::TokenizerInvalid);
    assert_eq!(engine.template().err().unwrap().code(), Code::TokenizerInvalid);
    let (engine, _) = fake::engine_with_text(4096, |_| vec![0.0; 4096]);
    let messages = [Message::new(ChatRole::User, "x")];
    let refusal = engine.encode_chat(&messages, &RenderArgs::default()).unwrap_err();
    assert_eq!(refusal.code(), Code::TemplateInvalid);
}
