//! The targets on mutated samples; the fuzzer itself does the same for longer.

use proptest::prelude::*;

use super::{chat_template, tokenizer_file};

const TOKENIZER: &str = r#"{"version":"1.0","truncation":null,"padding":null,"added_tokens":[{"id":9,"content":"<s>",
"single_word":false,"lstrip":false,"rstrip":true,"normalized":false,"special":true}],"normalizer":{"type":"Sequence",
"normalizers":[{"type":"NFC"},{"type":"Replace","pattern":{"String":" "},"content":"_"}]},"pre_tokenizer":{"type":
"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"\\s+(?!\\S)|\\w+|[^ ]"},"behavior":"Isolated","invert":
false},{"type":"Digits","individual_digits":true}]},"post_processor":{"type":"TemplateProcessing","single":[
{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],"pair":[],"special_tokens":{"<s>":
{"id":"<s>","ids":[9],"tokens":["<s>"]}}},"decoder":{"type":"Sequence","decoders":[{"type":"Replace","pattern":
{"String":"_"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":
0}]},"model":{"type":"BPE","dropout":null,"unk_token":null,"fuse_unk":false,"byte_fallback":true,"ignore_merges":true,
"vocab":{"a":0,"b":1,"ab":2,"_":3,"<0x0A>":4,"c":5,"1":6,"2":7,"_a":8},"merges":[["a","b"],["_","a"]]}}"#;

const TEMPLATES: [&str; 3] = [
    include_str!("../../tests/templates/thinking.jinja"),
    include_str!("../../tests/templates/tools.jinja"),
    include_str!("../../tests/templates/turns.jinja"),
];

/// Replaces stretches of `text` by other bytes or by other stretches of it.
fn mutated(text: &str, changes: &[(usize, usize, usize, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for (at, length, from, with) in changes {
        let at = at % (bytes.len() + 1);
        let end = (at + length).min(bytes.len());
        let from = from % (bytes.len() + 1);
        let copied = bytes[from..(from + length).min(bytes.len())].to_vec();
        bytes.splice(at..end, if with.is_empty() { copied } else { with.clone() });
    }
    bytes
}

fn changes() -> impl Strategy<Value = Vec<(usize, usize, usize, Vec<u8>)>> {
    let bytes = proptest::sample::select(b"\"{}[],:0123456789-.eE\\ax|%'<>()\n \xff\x00~+*".to_vec());
    let change = (any::<usize>(), 0..24usize, any::<usize>(), proptest::collection::vec(bytes, 0..3));
    proptest::collection::vec(change, 0..6)
}

#[test]
fn the_sample_is_accepted() {
    assert!(crate::Tokenizer::from_bytes(TOKENIZER.as_bytes(), None).is_ok());
}

proptest! {
    #[test]
    fn mutated_tokenizers_are_read_or_refused(changes in changes()) {
        tokenizer_file(&mutated(TOKENIZER, &changes));
    }

    #[test]
    fn mutated_templates_are_rendered_or_refused(which in 0..TEMPLATES.len(), changes in changes()) {
        chat_template(&mutated(TEMPLATES[which], &changes));
    }
}
