//! Calls in replies, however they are cut.

use super::*;

/// The reply in pieces of `size` characters.
fn parse(text: &str, size: usize) -> (String, Vec<Call>) {
    let mut parser = CallParser::of(["weather", "add"].map(str::to_owned).into_iter());
    let chars: Vec<char> = text.chars().collect();
    let (mut content, mut calls) = (String::new(), Vec::new());
    for piece in chars.chunks(size) {
        let (text, more) = parser.push(&piece.iter().collect::<String>());
        content.push_str(&text);
        calls.extend(more);
    }
    content.push_str(&parser.finish());
    (content, calls)
}

fn call(name: &str, arguments: &str) -> Call {
    Call { name: name.into(), arguments: arguments.into() }
}

#[test]
fn calls_and_text_are_told_apart_wherever_pieces_are_cut() {
    let quoted = r#"{"city":"a \"}</x> é","n":{"k":[1,2]}}"#;
    let one = format!("<tool_call>\n{{\"name\": \"weather\", \"arguments\": {quoted}}}\n</tool_call>");
    let tagged = r#"{"city":"a </tool_call> \" </tool_call>"}"#;
    let three = format!("<tool_call>\n{{\"name\": \"weather\", \"arguments\": {tagged}}}\n</tool_call>");
    let two = "<tool_call>\n{\"name\": \"add\"}\n</tool_call>";
    let weather = call("weather", quoted);
    let cases = [
        (one.clone(), "", vec![weather.clone()]),
        (format!("Let me look.\n\n{one}\n{two}\n"), "Let me look.", vec![weather.clone(), call("add", "{}")]),
        (format!("{one}\nDone."), "Done.", vec![weather]),
        (three, "", vec![call("weather", tagged)]),
        (
            format!("<tool_call>{{</tool_call>{one}"),
            "<tool_call>{</tool_call>",
            vec![call("weather", quoted)],
        ),
        ("a < b <tool".to_owned(), "a < b <tool", vec![]),
        ("spaces at the end  \n".to_owned(), "spaces at the end  \n", vec![]),
    ];
    for (text, content, calls) in cases {
        for size in 1..text.len() {
            assert_eq!(parse(&text, size), (content.to_owned(), calls.clone()), "{text:?} by {size}");
        }
    }
}

#[test]
fn what_is_no_call_stays_in_the_text() {
    for block in [
        "not json",
        r#"{"name": "unknown", "arguments": {}}"#,
        r#"{"name": "add", "arguments": "1"}"#,
        r#"{"name": "add", "arguments": {}, "more": 1}"#,
        r#"{"arguments": {}}"#,
    ] {
        let text = format!("x <tool_call>{block}</tool_call> y");
        for size in [1, 3, 1000] {
            assert_eq!(parse(&text, size), (text.clone(), vec![]), "by {size}");
        }
    }
    let open = "x <tool_call>\n{\"name\"";
    assert_eq!(parse(open, 2), (open.to_owned(), vec![]));
}

#[test]
fn any_tool_may_be_called_where_none_are_named() {
    let mut parser = CallParser::any();
    let (text, calls) = parser.push("<tool_call>{\"name\": \"other\"}</tool_call>");
    assert_eq!((text.as_str(), calls), ("", vec![call("other", "{}")]));
}
