//! The texts beside the weights: which chat template is used, and what is refused about tokenizer settings.

use serde_json::json;
use tilewright_model::{Code, TemplateSource};

use crate::build::Folder;

fn tokenizer_config(template: &serde_json::Value) -> String {
    json!({"chat_template": template}).to_string()
}

#[test]
fn the_template_comes_from_the_first_source_that_has_one() {
    let named = json!([{"name": "tool_use", "template": "t"}, {"name": "default", "template": "d"}]);
    let mut folder = Folder::valid().with("tokenizer_config.json", tokenizer_config(&named));
    let found = |folder: &Folder| {
        let checkpoint = folder.clone().open().unwrap();
        checkpoint.chat_template().map(|(text, source)| (text.to_owned(), source))
    };
    assert_eq!(found(&Folder::valid()), None);
    assert_eq!(found(&folder), Some(("d".to_owned(), TemplateSource::TokenizerConfigDefault)));
    folder = folder.with("tokenizer_config.json", tokenizer_config(&json!("s")));
    assert_eq!(found(&folder), Some(("s".to_owned(), TemplateSource::TokenizerConfig)));
    folder = folder.with("chat_template.json", r#"{"chat_template": "f"}"#);
    assert_eq!(found(&folder), Some(("f".to_owned(), TemplateSource::JsonFile)));
    folder = folder.with("chat_template.jinja", "j");
    assert_eq!(found(&folder), Some(("j".to_owned(), TemplateSource::JinjaFile)));
}

#[test]
fn a_template_that_is_no_text_is_refused() {
    let config = |template| Folder::valid().with("tokenizer_config.json", tokenizer_config(&template));
    config(json!([{"name": "tool_use", "template": "t"}])).refused(Code::TemplateInvalid);
    config(json!(7)).refused(Code::TemplateInvalid);
    Folder::valid().with("chat_template.json", "{}").refused(Code::TemplateInvalid);
    Folder::valid().with("chat_template.jinja", [0xff]).refused(Code::TemplateInvalid);
}

#[test]
fn tokenizer_settings_that_do_not_fit_are_refused() {
    let folder = |config: &str| Folder::valid().with("tokenizer_config.json", config);
    folder("{").refused(Code::TokenizerInvalid);
    let outside = r#"{"eos_token": "<e>", "added_tokens_decoder": {"9": {"content": "<e>"}}}"#;
    folder(outside).refused(Code::TokenizerInvalid);
    let unresolved = folder(r#"{"eos_token": "<e>"}"#);
    unresolved.clone().open().unwrap();
    let with_tokenizer = |json: &str| unresolved.clone().with("tokenizer.json", json);
    with_tokenizer(r#"{"added_tokens": []}"#).refused(Code::TokenizerInvalid);
    let resolved = with_tokenizer(r#"{"added_tokens": [{"id": 7, "content": "<e>", "special": true}]}"#);
    assert!(resolved.open().unwrap().stop_set().contains(7));
}
