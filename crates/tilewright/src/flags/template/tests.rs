//! From typed template flags to template arguments.

use clap::Parser;
use serde_json::json;

use super::*;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    template: TemplateFlags,
}

fn parse(line: &[&str]) -> Result<TemplateFlags, clap::Error> {
    Line::try_parse_from([&["tilewright"], line].concat()).map(|l| l.template)
}

#[test]
fn arguments_are_json_where_they_parse_and_text_otherwise() {
    let line = ["--template-arg", "n=3", "--template-arg", "name=Ada", "--template-arg", "list=[1,2]"];
    let arguments = parse(&line).unwrap().resolve().unwrap().arguments;
    assert_eq!(Value::Object(arguments), json!({"n": 3, "name": "Ada", "list": [1, 2]}));
}

#[test]
fn thinking_is_on_off_or_left_to_the_template() {
    let thinking = |line: &[&str]| parse(line).unwrap().resolve().unwrap().enable_thinking;
    assert_eq!(thinking(&["--thinking", "off"]), Some(false));
    assert_eq!(thinking(&["--thinking", "on"]), Some(true));
    assert_eq!(thinking(&[]), None);
}

#[test]
fn a_template_file_that_cannot_be_read_is_refused() {
    let refusal = parse(&["--chat-template", "no/such/file"]).unwrap().resolve().unwrap_err();
    assert_eq!(refusal.code(), tilewright_model::Code::FileUnreadable);
}

#[test]
fn flags_that_speak_of_the_template_imply_it() {
    assert!(!parse(&["--reasoning", "hide"]).unwrap().implies_chat());
    for line in [["--system", "s"], ["--thinking", "on"], ["--template-arg", "a=1"], ["--chat-template", "f"]]
    {
        assert!(parse(&line).unwrap().implies_chat(), "{line:?}");
    }
}

#[test]
fn an_argument_needs_a_name() {
    for text in ["name", "=3"] {
        assert!(parse(&["--template-arg", text]).is_err(), "{text}");
    }
}
