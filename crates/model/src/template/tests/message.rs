//! Messages are a closed set of fields.

use serde_json::json;

use crate::{ChatRole, Code, Message};

#[test]
fn text_parts_are_joined_in_order() {
    let value = json!([{"role": "developer", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]);
    assert_eq!(Message::list_from_json(&value).unwrap(), [Message::new(ChatRole::System, "ab")]);
    let parsed: Message = serde_json::from_value(json!({"role": "user", "content": "x"})).unwrap();
    assert_eq!(parsed, Message::new(ChatRole::User, "x"));
}

#[test]
fn an_assistant_may_only_call_tools() {
    let call = json!({"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let value = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    let message = Message::from_json(&value).unwrap();
    assert_eq!((message.content.as_str(), message.tool_calls.len()), ("", 1));
}

#[test]
fn every_wrong_field_is_named() {
    let value = json!([
        {"role": "robot", "content": "x", "mood": 1},
        {"role": "user"},
        {"role": "user", "content": 3, "name": 4},
        {"role": "user", "content": "x", "tool_calls": [{"name": "f", "arguments": 1, "x": 2}, {"function": {}}]},
        {"content": [{"type": "text"}, 5]},
        7,
    ]);
    let refusal = Message::list_from_json(&value).unwrap_err();
    assert_eq!(refusal.code(), Code::MessageInvalid);
    let named: Vec<&str> = refusal.findings().iter().map(|finding| finding.what.as_str()).collect();
    let expected = [
        "messages[0].role",
        "messages[0].mood",
        "messages[1].content",
        "messages[2].content",
        "messages[2].name",
        "messages[3].tool_calls[0].arguments",
        "messages[3].tool_calls[0].x",
        "messages[3].tool_calls[1].function.name",
        "messages[3].tool_calls",
        "messages[4].role",
        "messages[4].content[0].text",
        "messages[4].content[1]",
        "messages[5]",
    ];
    assert_eq!(named, expected);
    assert_eq!(Message::list_from_json(&json!({})).unwrap_err().code(), Code::MessageInvalid);
}

#[test]
fn images_are_refused_by_name() {
    let parts = json!([{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "x"}}]);
    let refusal = Message::from_json(&json!({"role": "user", "content": parts})).unwrap_err();
    assert_eq!(refusal.code(), Code::ContentUnsupported);
    assert_eq!(refusal.findings()[0].what, "messages[0].content[1].type");
    assert_eq!(refusal.findings()[0].got, "image_url");
}
