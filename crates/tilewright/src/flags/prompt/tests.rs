//! From typed prompt flags to a prompt.

use std::io::Write;

use clap::Parser;
use tempfile::NamedTempFile;

use super::*;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    prompt: PromptFlags,
    #[command(flatten)]
    template: TemplateFlags,
}

fn resolve(line: &[&str]) -> Result<Prompt, Refusal> {
    let line = Line::try_parse_from([&["tilewright"], line].concat()).unwrap();
    line.prompt.resolve(&line.template)
}

fn file(content: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(content).unwrap();
    file
}

fn turns(prompt: Prompt) -> Vec<(ChatRole, String)> {
    let Prompt::Chat(messages) = prompt else { panic!("not a conversation: {prompt:?}") };
    messages.into_iter().map(|m| (m.role, m.content)).collect()
}

#[test]
fn text_is_continued_as_it_is() {
    assert!(matches!(resolve(&["-p", " a\n"]).unwrap(), Prompt::Text { text, raw: false } if text == " a\n"));
    assert!(matches!(resolve(&["-p", "a", "--raw"]).unwrap(), Prompt::Text { raw: true, .. }));
}

#[test]
fn one_line_break_at_the_end_of_a_file_is_left_out() {
    for (content, expected) in
        [("a", "a"), ("a\n", "a"), ("a\r\n", "a"), ("a\n\n", "a\n"), ("\n", ""), ("", "")]
    {
        let file = file(content.as_bytes());
        let prompt = resolve(&["-f", file.path().to_str().unwrap()]).unwrap();
        assert!(matches!(prompt, Prompt::Text { text, .. } if text == expected), "{content:?}");
    }
}

#[test]
fn bytes_that_are_no_text_are_refused_with_their_place() {
    let file = file(b"ab\xffcd");
    let refusal = resolve(&["-f", file.path().to_str().unwrap()]).unwrap_err();
    assert_eq!(refusal.code(), Code::FileUnreadable);
    assert!(refusal.to_string().contains("offset 2"), "{refusal}");
}

#[test]
fn template_flags_make_the_text_a_message_of_the_user() {
    let user = (ChatRole::User, "a".to_owned());
    for flags in [&["--chat"][..], &["--thinking", "off"]] {
        assert_eq!(turns(resolve(&[&["-p", "a"], flags].concat()).unwrap()), std::slice::from_ref(&user));
    }
    let system = (ChatRole::System, "s".to_owned());
    assert_eq!(turns(resolve(&["-p", "a", "--system", "s"]).unwrap()), [system, user]);
}

#[test]
fn messages_are_read_from_a_file() {
    let file = file(br#"[{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]"#);
    let prompt = resolve(&["--messages", file.path().to_str().unwrap()]).unwrap();
    assert_eq!(turns(prompt), [(ChatRole::User, "a".to_owned()), (ChatRole::Assistant, "b".to_owned())]);
}

#[test]
fn messages_that_are_none_are_refused_with_the_file() {
    for content in ["{", "{}", "[{\"role\": \"user\"}]", "[3]"] {
        let file = file(content.as_bytes());
        let refusal = resolve(&["--messages", file.path().to_str().unwrap()]).unwrap_err();
        assert_eq!(refusal.code(), Code::MessageInvalid, "{content}");
        assert_eq!(refusal.place(), file.path().to_str());
    }
}

#[test]
fn ids_are_a_list() {
    assert!(matches!(resolve(&["--ids", "1,2,3"]).unwrap(), Prompt::Ids(ids) if ids == [1, 2, 3]));
}
