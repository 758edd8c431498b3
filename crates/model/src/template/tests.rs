//! What a template may do, what is refused, and that content stays content.

mod clock;
mod message;
mod protection;
mod python;
mod refusals;

use std::sync::LazyLock;

use serde_json::json;

use super::{ChatRole, ChatTemplate, Message, Prompt, RenderArgs};
use crate::{Code, Refusal, Tokenizer};

/// The tokenizer of the default model with the control tokens of a reasoning model.
fn tokenizer() -> Tokenizer {
    static TOKENIZER: LazyLock<Tokenizer> = LazyLock::new(read_tokenizer);
    TOKENIZER.clone()
}

fn read_tokenizer() -> Tokenizer {
    let json = include_bytes!("../../../../models/stories-qwen3/tokenizer.json");
    let more = |content| json!({"content": content, "special": false});
    let config = json!({
        "bos_token": "<s>", "eos_token": "<|im_end|>",
        "added_tokens_decoder": {
            "4096": more("<think>"), "4097": more("</think>"), "4098": more("<tool_response>"), "4099": more("<s>"),
        },
    });
    Tokenizer::from_bytes(json, Some(&config)).unwrap()
}

fn template(source: &str) -> Result<ChatTemplate, Refusal> {
    ChatTemplate::new(source, &tokenizer(), "test")
}

fn render(source: &str, messages: &[Message], args: &RenderArgs) -> Result<Prompt, Refusal> {
    template(source)?.render(messages, args)
}

fn user(text: &str) -> Message {
    Message::new(ChatRole::User, text)
}

fn assistant(text: &str) -> Message {
    Message::new(ChatRole::Assistant, text)
}

/// The text of one message from the user.
fn rendered(source: &str, text: &str) -> String {
    render(source, &[user(text)], &RenderArgs::default()).unwrap().text().to_owned()
}

#[test]
fn variables_of_the_request_reach_the_template() {
    let source = "{{ bos_token }}{{ mood }}{{ tools is none }}{{ enable_thinking is defined }}{{ add_generation_prompt }}";
    let mut args = RenderArgs::default();
    args.extra.insert("mood".to_owned(), json!("calm"));
    assert_eq!(render(source, &[user("x")], &args).unwrap().text(), "<s>calmTrueFalseTrue");
    args.enable_thinking = Some(false);
    args.tools = vec![json!({"name": "f"})];
    args.add_generation_prompt = false;
    assert_eq!(render(source, &[user("x")], &args).unwrap().text(), "<s>calmFalseTrueFalse");
}

#[test]
fn generation_marks_are_a_scope_without_output() {
    let source = "a\n{% generation %}\n{% set x = 1 %}b{{ x }}\n{%- endgeneration -%}\n{{ x }}c";
    assert_eq!(rendered(source, ""), "a\nb1c");
}

#[test]
fn the_template_owns_the_token_at_the_beginning() {
    let tokenizer = tokenizer();
    let bos = tokenizer.id_of("<s>").unwrap();
    for (source, count) in [("{{ bos_token }}x", 1), ("x", 0)] {
        let prompt = render(source, &[user("<s>")], &RenderArgs::default()).unwrap();
        let ids = tokenizer.encode_chat(&prompt).unwrap();
        assert_eq!(ids.iter().filter(|id| **id == bos).count(), count);
    }
}

const TURNS: &str = "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

#[test]
fn the_last_message_is_continued_where_its_text_ends() {
    let args =
        RenderArgs { add_generation_prompt: false, continue_final_message: true, ..RenderArgs::default() };
    for (text, end) in [("It is", "It is"), (" It is ", " It is ")] {
        let prompt = render(TURNS, &[user("It is"), assistant(text)], &args).unwrap();
        assert!(prompt.text().ends_with(&format!("<|im_start|>assistant\n{end}")), "{}", prompt.text());
    }
    let trimming = "{% for m in messages %}[{{ m.content | trim }}]{% endfor %}";
    let prompt = render(trimming, &[user("q"), assistant(" It is <b> ")], &args).unwrap();
    assert_eq!(prompt.text(), "[q][It is <b>");
    // Nothing protected is left behind the end.
    let cut = render(trimming, &[assistant("<a>"), assistant("x")], &args).unwrap();
    assert!(cut.protected().iter().all(|span| span.end <= cut.text().len()));
}

#[test]
fn only_the_end_of_a_prompt_opens_a_block() {
    let inside = |source: &str, messages: &[Message], args: &RenderArgs| {
        render(source, messages, args).unwrap().ends_inside("<think>", "</think>")
    };
    let reply = RenderArgs::default();
    let opening = format!("{TURNS}{{{{ '<think>\n' }}}}");
    let closed = format!("{TURNS}{{{{ '<think>\n\n</think>\n\n' }}}}");
    assert!(inside(&opening, &[user("q")], &reply));
    assert!(inside(&opening, &[user("why </think>?")], &reply));
    assert!(!inside(&closed, &[user("q")], &reply));
    // What somebody said opens nothing, wherever it stands.
    assert!(!inside(TURNS, &[user("what does <think> do?")], &reply));
    assert!(!inside("{{ messages[0].content }}", &[user("<think>")], &reply));

    let going_on =
        RenderArgs { add_generation_prompt: false, continue_final_message: true, ..RenderArgs::default() };
    for (text, expected) in [("<think>\nbecause", true), ("<think>\nx\n</think>\n\nSo", false), ("So", false)]
    {
        assert_eq!(inside(TURNS, &[user("<think>"), assistant(text)], &going_on), expected, "{text}");
    }
}

#[test]
fn a_template_is_read_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chat.jinja");
    let missing = ChatTemplate::from_file(&path, &tokenizer()).unwrap_err();
    assert_eq!(missing.code(), Code::FileUnreadable);
    std::fs::write(&path, TURNS).unwrap();
    let template = ChatTemplate::from_file(&path, &tokenizer()).unwrap();
    assert!(template.place().ends_with("chat.jinja"));
    std::fs::write(&path, [0xFF]).unwrap();
    assert_eq!(ChatTemplate::from_file(&path, &tokenizer()).unwrap_err().code(), Code::FileUnreadable);
}
