//! Content never becomes a control token.

use proptest::prelude::*;

use super::{TURNS, assistant, template, tokenizer, user};
use crate::{ChatTemplate, Code, Message, RenderArgs, Specials, Tokenizer};

/// A template that cuts, trims and searches messages as reasoning models' templates do.
const THINKING: &str = include_str!("../../../tests/templates/thinking.jinja");

fn content() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        proptest::sample::select(vec![
            "<|im_start|>",
            "<|im_end|>",
            "<|endoftext|>",
            "<think>",
            "</think>",
            "<tool_response>",
            "<s>",
            "<|im_",
            "end|>",
            "<",
            ">",
            "|",
            "\n",
            " ",
            "system",
            "a < b",
            "\u{f0000}",
            "é",
        ])
        .prop_map(str::to_owned),
        "\\PC{0,4}",
    ];
    proptest::collection::vec(part, 0..9).prop_map(|parts| parts.concat())
}

fn controls(tokenizer: &Tokenizer, ids: &[u32]) -> Vec<String> {
    let controls = ids.iter().filter(|id| tokenizer.is_control(**id));
    controls.map(|id| String::from_utf8_lossy(tokenizer.token_bytes(*id).unwrap()).into_owned()).collect()
}

/// The ids a prompt of [`TURNS`] has by hand: each part encoded for itself.
fn by_hand(tokenizer: &Tokenizer, messages: &[Message]) -> Vec<u32> {
    let id = |token| tokenizer.id_of(token).unwrap();
    let plain = |text: &str| tokenizer.encode(text, Specials::Plain).unwrap();
    let mut ids = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        if index > 0 {
            ids.extend(plain("\n"));
        }
        ids.push(id("<|im_start|>"));
        ids.extend(plain(&format!("{}\n{}", message.role.name(), message.content)));
        ids.push(id("<|im_end|>"));
    }
    ids.extend(plain("\n"));
    ids.push(id("<|im_start|>"));
    ids.extend(plain("assistant\n"));
    ids
}

fn conversation(texts: &[String]) -> Vec<Message> {
    let speak = |(index, text): (usize, &String)| if index % 2 == 0 { user(text) } else { assistant(text) };
    texts.iter().enumerate().map(speak).collect()
}

fn check_thinking(tokenizer: &Tokenizer, template: &ChatTemplate, messages: &[Message]) {
    let prompt = match template.render(messages, &RenderArgs::default()) {
        Ok(prompt) => prompt,
        Err(refusal) => panic!("{refusal}"),
    };
    let ids = tokenizer.encode_chat(&prompt).unwrap();
    let found = controls(tokenizer, &ids);
    let starts = found.iter().filter(|token| *token == "<|im_start|>").count();
    let ends = found.iter().filter(|token| *token == "<|im_end|>").count();
    assert_eq!((starts, ends), (messages.len() + 1, messages.len()), "{:?}", prompt.text());
    // The template writes a block for one message at most; nothing else is a control token.
    let thinks = found.iter().filter(|token| token.as_str() == "<think>").count();
    assert!(thinks <= messages.len() / 2 && found.len() == starts + ends + 2 * thinks, "{:?}", prompt.text());
}

proptest! {
    #[test]
    fn ids_are_those_of_the_parts(texts in proptest::collection::vec(content(), 1..5)) {
        let tokenizer = tokenizer();
        let messages = conversation(&texts);
        let prompt = template(TURNS).unwrap().render(&messages, &RenderArgs::default()).unwrap();
        let ids = tokenizer.encode_chat(&prompt).unwrap();
        prop_assert_eq!(&ids, &by_hand(&tokenizer, &messages));
    }

    #[test]
    fn the_text_is_that_of_the_plain_render(texts in proptest::collection::vec(content(), 1..5)) {
        let messages = conversation(&texts);
        let prompt = template(TURNS).unwrap().render(&messages, &RenderArgs::default()).unwrap();
        let mut plain = String::new();
        for message in &messages {
            plain += &format!("<|im_start|>{}\n{}<|im_end|>\n", message.role.name(), message.content);
        }
        prop_assert_eq!(prompt.text(), plain + "<|im_start|>assistant\n");
    }

    #[test]
    fn a_template_that_cuts_content_protects_it(texts in proptest::collection::vec(content(), 1..5)) {
        check_thinking(&tokenizer(), &template(THINKING).unwrap(), &conversation(&texts));
    }
}

#[test]
fn a_control_token_put_together_from_content_is_none() {
    let tokenizer = tokenizer();
    let no_controls = |source: &str, messages: &[Message]| {
        let prompt = template(source).unwrap().render(messages, &RenderArgs::default()).unwrap();
        let ids = tokenizer.encode_chat(&prompt).unwrap();
        assert_eq!(controls(&tokenizer, &ids), [""; 0], "{}", prompt.text());
        assert!(prompt.text().contains("<|im_end|>"), "{}", prompt.text());
    };
    // By removal of what stood between its halves, by joining two messages, by reversal.
    no_controls("{{ messages[0].content | replace('<think>', '') }}", &[user("<|im_<think>end|>")]);
    no_controls("{{ messages[0].content.replace('X', '') }}", &[user("<|im_XendX|X>")]);
    no_controls("{{ messages[0].content }}{{ messages[1].content }}", &[user("<|im_"), user("end|>")]);
    no_controls("{{ messages[0].content[::-1] }}", &[user(">|dne_mi|<")]);
    no_controls("{{ '<|im_' }}{{ messages[0].content }}", &[user("end|>")]);
    no_controls("{{ messages[0].content.split('b') | join('') }}", &[user("<|im_ebnd|b>")]);
}

#[test]
fn tools_and_calls_and_arguments_are_content() {
    let tokenizer = tokenizer();
    let source = "{{ tools | tojson }}{{ messages[0].tool_calls | tojson }}{{ messages[0].name }}{{ mood }}{{ messages[0].reasoning_content }}";
    let tools = vec![serde_json::json!({"<|im_end|>": ["<|im_start|>"]})];
    let mut args = RenderArgs { tools, ..RenderArgs::default() };
    args.extra.insert("mood".to_owned(), serde_json::json!("<think>"));
    let mut message = assistant("");
    message.tool_calls = vec![serde_json::json!({"name": "</think>", "arguments": {"<s>": "<s>"}})];
    message.name = Some("<|im_end|>".to_owned());
    message.reasoning_content = Some("</think>".to_owned());
    let prompt = template(source).unwrap().render(&[message], &args).unwrap();
    let ids = tokenizer.encode_chat(&prompt).unwrap();
    assert_eq!(controls(&tokenizer, &ids), [""; 0], "{}", prompt.text());
    assert_eq!(tokenizer.decode(&ids, false).unwrap(), prompt.text());
}

#[test]
fn control_tokens_put_together_by_the_template_are_its_own() {
    let tokenizer = tokenizer();
    let source = "{{ '<|im_' ~ ('end' if messages else 'start') ~ '|>' }}{{ messages[0].content }}";
    let prompt = template(source).unwrap().render(&[user("<s>")], &RenderArgs::default()).unwrap();
    let ids = tokenizer.encode_chat(&prompt).unwrap();
    assert_eq!(controls(&tokenizer, &ids), ["<|im_end|>"]);
}

#[test]
fn content_without_edges_needs_no_second_render() {
    let prompt = template(TURNS).unwrap().render(&[user("plain words")], &RenderArgs::default()).unwrap();
    assert!(prompt.protected().is_empty());
    let refused = template("{{ messages[0].content | title }}").unwrap();
    // The filter starts words after "<", so it treats marked text in another way.
    let refusal = refused.render(&[user("x <think>")], &RenderArgs::default()).unwrap_err();
    assert_eq!(refusal.code(), Code::ContentUnprotected);
}
