//! The tokenizer against the reference implementation of the `tokenizers` crate, on small files of each style.

mod refusals;
mod roundtrip;
mod samples;
mod stream;

use super::{Specials, Tokenizer};
#[cfg(feature = "embedded-model")]
use crate::{ChatRole, ChatTemplate, Checkpoint, Message, RenderArgs};
use samples::{ALL, sentence_piece, stories};

/// The whole pipeline of the `tokenizers` crate for the same file.
fn reference(json: &[u8]) -> tokenizers::Tokenizer {
    tokenizers::Tokenizer::from_bytes(json).unwrap()
}

const TEXTS: [&str; 19] = [
    "",
    " ",
    "Once upon a time",
    "  two  spaces  ",
    "line\n\n  next\t\r\n",
    "don't DON'T we'll",
    "1234567 3.14",
    "日本語 é e\u{301} \u{1f469}\u{200d}\u{1f467}",
    "<|im_start|>user\nhi<|im_end|>",
    "a<|im_end|> b<|im_end|>\n",
    "\u{0}\u{1}\u{7f}",
    "!!!???...   x",
    "x   ",
    "<|im_en",
    "a<|endoftext|>b <|endoftext|> c",
    "e\u{301}<|endoftext|>",
    "x  <|im_start|>  y",
    "well-known, (so-called) 12345!!",
    "<s> the</s> a  <unk>",
];

#[test]
fn ids_equal_the_reference() {
    for (json, ours) in ALL.iter() {
        let theirs = reference(json);
        for text in TEXTS {
            let expected = theirs.encode(text, false).unwrap();
            assert_eq!(ours.encode(text, Specials::Parse).unwrap(), expected.get_ids(), "{text:?}");
        }
    }
}

#[test]
fn anchors_stand_at_every_line() {
    let mut value = samples::byte_level_value();
    value["pre_tokenizer"]["pretokenizers"][0] = serde_json::json!({
        "type": "Split", "pattern": {"Regex": r"^a|b$"}, "behavior": "Removed", "invert": false});
    let tokenizer = Tokenizer::from_bytes(&serde_json::to_vec(&value).unwrap(), None).unwrap();
    let ids = tokenizer.encode("a1a\na2b\n3b", Specials::Plain).unwrap();
    assert_eq!(tokenizer.decode(&ids, false).unwrap(), "1a\n2\n3");
}

#[test]
fn plain_text_never_yields_a_control_id() {
    let tokenizer = Tokenizer::from_bytes(stories(), None).unwrap();
    let text = "<|im_end|><|im_start|>system\n<|endoftext|>";
    let ids = tokenizer.encode(text, Specials::Plain).unwrap();
    assert!(ids.iter().all(|id| !tokenizer.is_control(*id)), "{ids:?}");
    assert_eq!(tokenizer.decode(&ids, false).unwrap(), text);
    let parsed = tokenizer.encode(text, Specials::Parse).unwrap();
    assert_eq!(parsed.iter().filter(|id| tokenizer.is_control(**id)).count(), 3);
}

#[test]
fn special_tokens_are_left_out_when_asked() {
    let tokenizer = Tokenizer::from_bytes(stories(), None).unwrap();
    let ids = tokenizer.encode("<|im_start|>hi<|im_end|>", Specials::Parse).unwrap();
    assert_eq!(tokenizer.decode(&ids, true).unwrap(), "hi");
    assert_eq!(tokenizer.decode(&ids, false).unwrap(), "<|im_start|>hi<|im_end|>");
}

#[test]
fn ids_and_strings_name_each_other() {
    let tokenizer = Tokenizer::from_bytes(stories(), None).unwrap();
    let end = tokenizer.id_of("<|im_end|>").unwrap();
    assert_eq!(tokenizer.token_bytes(end), Some("<|im_end|>".as_bytes()));
    assert_eq!(tokenizer.id_of("no such token"), None);
    assert_eq!(tokenizer.vocab_size(), 4096);
    assert_eq!(tokenizer.token_bytes(4096), None);
}

#[test]
fn a_raw_prompt_begins_with_one_prefix() {
    let llama = Tokenizer::from_bytes(&sentence_piece(), None).unwrap();
    let bos = llama.id_of("<s>").unwrap();
    assert_eq!(llama.prefix(), [bos]);
    for text in ["Hello", "<s>Hello"] {
        let ids = llama.encode_prompt(text, Specials::Parse).unwrap();
        assert_eq!(ids.iter().filter(|id| **id == bos).count(), 1, "{text:?}");
        assert_eq!(ids[0], bos);
    }
    let qwen = Tokenizer::from_bytes(stories(), None).unwrap();
    assert_eq!(qwen.prefix(), [0; 0]);
    assert_eq!(qwen.encode_prompt("Hello", Specials::Parse), qwen.encode("Hello", Specials::Parse));
}

#[test]
#[cfg(feature = "embedded-model")]
fn the_embedded_model_has_a_tokenizer_and_a_template() {
    let checkpoint = Checkpoint::embedded().unwrap();
    let tokenizer = Tokenizer::from_checkpoint(&checkpoint).unwrap();
    let reference: serde_json::Value =
        serde_json::from_str(include_str!("../../../../models/stories-qwen3/reference.json")).unwrap();
    let greedy = reference["greedy"].as_array().unwrap();
    assert!(!greedy.is_empty());
    for entry in greedy {
        let expected: Vec<u32> = serde_json::from_value(entry["prompt_ids"].clone()).unwrap();
        let prompt = entry["prompt"].as_str().unwrap();
        assert_eq!(tokenizer.encode_prompt(prompt, Specials::Parse).unwrap(), expected, "{prompt:?}");
        assert_eq!(tokenizer.decode(&expected, false).unwrap(), prompt);
    }
    let template = ChatTemplate::from_checkpoint(&checkpoint, &tokenizer).unwrap().unwrap();
    let prompt =
        template.render(&[Message::new(ChatRole::User, "<|im_end|>")], &RenderArgs::default()).unwrap();
    assert_eq!(prompt.text(), "<|im_start|>user\n<|im_end|><|im_end|>\n<|im_start|>assistant\n");
    let ids = tokenizer.encode_chat(&prompt).unwrap();
    let end = tokenizer.id_of("<|im_end|>").unwrap();
    assert_eq!(ids.iter().filter(|id| **id == end).count(), 1);
    assert_eq!(tokenizer.decode(&ids, false).unwrap(), prompt.text());
}
