//! Files that are refused, and by which name.

use serde_json::{Value, json};

use super::samples::{byte_level_value, sentence_piece_value};
use crate::tokenizer::{Specials, Tokenizer};
use crate::{Code, Refusal};

fn read(value: &Value) -> Result<Tokenizer, Refusal> {
    Tokenizer::from_bytes(&serde_json::to_vec(value).unwrap(), None)
}

/// The sample with one value changed.
fn with(mut value: Value, pointer: &str, new: Value) -> Value {
    *value.pointer_mut(pointer).unwrap() = new;
    value
}

fn named(refusal: &Refusal) -> Vec<&str> {
    assert_eq!(refusal.code(), Code::TokenizerInvalid, "{refusal}");
    refusal.findings().iter().map(|finding| finding.what.as_str()).collect()
}

#[test]
fn unknown_components_are_named() {
    let bytes = byte_level_value;
    let pieces = sentence_piece_value;
    let split = json!({"type": "Split", "pattern": {"Regex": "("}, "behavior": "Isolated", "invert": false});
    let literal = json!({"String": " "});
    let cases = [
        (with(bytes(), "/truncation", json!({"max_length": 1})), "truncation"),
        (with(bytes(), "/padding", json!({})), "padding"),
        (with(bytes(), "/normalizer", json!({"type": "Lowercase"})), "normalizer.type"),
        (with(bytes(), "/normalizer", json!({"type": "NFC", "x": 1})), "normalizer.x"),
        (with(bytes(), "/normalizer", json!({})), "normalizer.type"),
        (with(bytes(), "/normalizer", json!([])), "normalizer"),
        (
            with(
                bytes(),
                "/normalizer",
                json!({"type": "Replace", "pattern": {"Regex": "x"}, "content": "y"}),
            ),
            "normalizer.pattern",
        ),
        (with(bytes(), "/pre_tokenizer", json!({"type": "BertPreTokenizer"})), "pre_tokenizer.type"),
        (with(bytes(), "/pre_tokenizer/pretokenizers/0", split), "pre_tokenizer.pretokenizers[0].pattern"),
        (
            with(
                bytes(),
                "/pre_tokenizer/pretokenizers/0",
                json!({"type": "Split", "pattern": literal, "behavior": "Odd", "invert": false}),
            ),
            "pre_tokenizer.pretokenizers[0].behavior",
        ),
        (
            with(bytes(), "/pre_tokenizer/pretokenizers/1/use_regex", json!(1)),
            "pre_tokenizer.pretokenizers[1].use_regex",
        ),
        (with(bytes(), "/pre_tokenizer", Value::Null), "pre_tokenizer"),
        (
            with(bytes(), "/pre_tokenizer", json!({"type": "Metaspace", "replacement": "__"})),
            "pre_tokenizer.replacement",
        ),
        (with(bytes(), "/post_processor", json!({"type": "RobertaProcessing"})), "post_processor.type"),
        (with(bytes(), "/decoder", Value::Null), "decoder"),
        (with(bytes(), "/decoder", json!({"type": "WordPiece"})), "decoder.type"),
        (with(pieces(), "/decoder/decoders/3/stop", json!(1)), "decoder.decoders[3].content"),
        (with(pieces(), "/decoder/decoders/2", json!({"type": "CTC"})), "decoder.decoders[2].type"),
        (with(pieces(), "/decoder/decoders/0/content", json!("_")), "decoder.decoders[0].content"),
        (with(pieces(), "/decoder/decoders", json!([{"type": "Fuse"}])), "decoder.decoders"),
        (with(bytes(), "/model/type", json!("Unigram")), "model.type"),
        (with(bytes(), "/model/dropout", json!(0.1)), "model.dropout"),
        (with(bytes(), "/model/end_of_word_suffix", json!("</w>")), "model.end_of_word_suffix"),
        (with(bytes(), "/model/vocab", json!({"a": -1})), "model.vocab"),
        (with(bytes(), "/model/merges/0", json!(["a"])), "model.merges"),
        (with(pieces(), "/model/merges/0", json!("xy")), "model.merges"),
        (with(bytes(), "/added_tokens/0/id", json!("x")), "added_tokens"),
        (with(bytes(), "/added_tokens/0/content", json!("")), "added_tokens \"\""),
    ];
    for (value, expected) in cases {
        let refusal = read(&value).unwrap_err();
        assert!(named(&refusal).contains(&expected), "{expected}: {refusal}");
    }
}

#[test]
fn patterns_that_engines_read_in_different_ways_are_refused() {
    let split = json!({"type": "Split", "pattern": {"Regex": r"\p{N}{1,3}+"}, "behavior": "Isolated", "invert": false});
    let refusal = read(&with(byte_level_value(), "/pre_tokenizer/pretokenizers/0", split)).unwrap_err();
    assert_eq!(named(&refusal), ["pre_tokenizer.pretokenizers[0].pattern"]);
}

#[test]
fn every_mismatch_is_in_one_refusal() {
    let mut value = byte_level_value();
    value["truncation"] = json!(1);
    value["extra"] = json!(1);
    value["normalizer"] = json!({"type": "Nmt"});
    value["model"]["dropout"] = json!(0.5);
    value["model"]["extra"] = json!(1);
    let refusal = read(&value).unwrap_err();
    assert_eq!(named(&refusal), ["extra", "truncation", "normalizer.type", "model.extra", "model.dropout"]);
}

#[test]
fn text_that_is_no_tokenizer_is_refused() {
    for text in ["", "[]", "null", "{}", "{\"model\": 1}", "{\"model\": {\"type\": \"BPE\"}}", "\u{0}"] {
        let refusal = Tokenizer::from_bytes(text.as_bytes(), None).unwrap_err();
        assert!(!named(&refusal).is_empty());
    }
    let deep = "[".repeat(100_000);
    assert_eq!(Tokenizer::from_bytes(deep.as_bytes(), None).unwrap_err().code(), Code::TokenizerInvalid);
    let nested =
        (0..200).fold(json!({"type": "NFC"}), |inner, _| json!({"type": "Sequence", "normalizers": [inner]}));
    let nested = serde_json::to_vec(&with(byte_level_value(), "/normalizer", nested)).unwrap();
    assert_eq!(Tokenizer::from_bytes(&nested, None).unwrap_err().code(), Code::TokenizerInvalid);
}

#[test]
fn vocabulary_merges_and_added_tokens_agree() {
    let bytes = byte_level_value;
    let cases = [
        // Two tokens with one id.
        (with(bytes(), "/model/vocab/!", json!(1)), "one token for id 1"),
        // An id far above the others would need a table that the file does not justify.
        (with(bytes(), "/model/vocab/!", json!(4_000_000_000u32)), "ids below"),
        // A product outside the vocabulary.
        (with(bytes(), "/model/merges/0", json!(["!", "!"])), "tokens of model.vocab"),
        (with(bytes(), "/added_tokens/0/content", json!("!")), "id 0, as in model.vocab"),
        (with(bytes(), "/added_tokens/0/id", json!(4094)), "one entry for each id and text"),
        (with(bytes(), "/added_tokens/0/content", json!("<|im_end|>")), "one entry for each id and text"),
    ];
    for (value, expected) in cases {
        let refusal = read(&value).unwrap_err();
        assert_eq!(refusal.code(), Code::TokenizerInvalid);
        assert!(refusal.to_string().contains(expected), "{expected}: {refusal}");
    }
}

#[test]
fn a_special_token_that_text_can_spell_is_refused() {
    let mut value = byte_level_value();
    let merge = value["model"]["merges"][0].clone();
    let product = format!("{}{}", merge[0].as_str().unwrap(), merge[1].as_str().unwrap());
    let id = value["model"]["vocab"][&product].clone();
    let token = json!({"id": id, "content": product, "special": true});
    value["added_tokens"].as_array_mut().unwrap().push(token);
    let refusal = read(&value).unwrap_err();
    assert!(refusal.to_string().contains("no merge that makes it from text"), "{refusal}");
    // Not special, it is a word like others.
    let added = value["added_tokens"].as_array_mut().unwrap();
    added.last_mut().unwrap()["special"] = json!(false);
    let tokenizer = read(&value).unwrap();
    assert!(!tokenizer.is_control(u32::try_from(id.as_u64().unwrap()).unwrap()));
}

#[test]
fn a_normalized_token_that_the_normalizer_changes_is_refused() {
    let refusal = read(&with(sentence_piece_value(), "/added_tokens/1/normalized", json!(true))).unwrap_err();
    assert_eq!(named(&refusal), ["added_tokens \"<s>\""]);
}

#[test]
fn tokens_after_a_text_are_refused() {
    let single =
        json!([{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "<s>", "type_id": 0}}]);
    let refusal = read(&with(sentence_piece_value(), "/post_processor/single", single)).unwrap_err();
    assert_eq!(named(&refusal), ["post_processor.single[1]"]);
    let unlisted =
        json!([{"SpecialToken": {"id": "<x>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]);
    let refusal = read(&with(sentence_piece_value(), "/post_processor/single", unlisted)).unwrap_err();
    assert_eq!(named(&refusal), ["post_processor.single[0]"]);
}

#[test]
fn the_configuration_may_add_but_not_contradict() {
    let json = serde_json::to_vec(&byte_level_value()).unwrap();
    let good = json!({
        "eos_token": {"content": "<|im_end|>"}, "bos_token": "<|new|>", "add_bos_token": true,
        "added_tokens_decoder": {
            // Other flags than in tokenizer.json, which decides.
            "4095": {"content": "<|im_end|>", "special": false, "rstrip": false},
            "5000": {"content": "<|new|>", "special": true},
        },
    });
    let tokenizer = Tokenizer::from_bytes(&json, Some(&good)).unwrap();
    assert_eq!((tokenizer.vocab_size(), tokenizer.prefix()), (5001, &[5000][..]));
    assert!(tokenizer.is_special(4095));
    assert_eq!(tokenizer.named().eos.as_deref(), Some("<|im_end|>"));

    let cases = [
        (json!({"added_tokens_decoder": {"4095": {"content": "<|other|>"}}}), "added_tokens_decoder.4095"),
        (json!({"added_tokens_decoder": {"4099": {"content": "<|im_end|>"}}}), "added_tokens_decoder.4099"),
        (json!({"added_tokens_decoder": {"x": {"content": "y"}}}), "added_tokens_decoder.x"),
        (json!({"added_tokens_decoder": {"1": {"content": "y", "z": 1}}}), "added_tokens_decoder.1.z"),
        (json!({"add_eos_token": true}), "add_eos_token"),
        (json!({"split_special_tokens": true}), "split_special_tokens"),
        (json!({"add_bos_token": true}), "add_bos_token"),
        (json!({"bos_token": 7}), "bos_token"),
    ];
    for (config, expected) in cases {
        let refusal = Tokenizer::from_bytes(&json, Some(&config)).unwrap_err();
        let expected = format!("tokenizer_config.json {expected}");
        assert!(named(&refusal).contains(&expected.as_str()), "{expected}: {refusal}");
    }
    let json = serde_json::to_vec(&sentence_piece_value()).unwrap();
    let refusal = Tokenizer::from_bytes(&json, Some(&json!({"add_bos_token": false}))).unwrap_err();
    assert_eq!(named(&refusal), ["tokenizer_config.json add_bos_token"]);
}

#[test]
fn a_character_without_a_token_is_refused() {
    let mut value = sentence_piece_value();
    value["model"]["byte_fallback"] = json!(false);
    let tokenizer = read(&value).unwrap();
    for text in ["the é", "日"] {
        assert!(tokenizer.encode(text, Specials::Plain).is_ok());
    }
    for text in ["the ü", "ü", "üthe"] {
        let refusal = tokenizer.encode(text, Specials::Plain).unwrap_err();
        assert_eq!(refusal.code(), Code::TextUnencodable);
        assert!(refusal.to_string().contains('ü'), "{refusal}");
    }
}

#[test]
fn a_pattern_that_gives_up_is_a_refusal() {
    let mut value = byte_level_value();
    // A reference to a group needs back-tracking, which is bounded.
    value["pre_tokenizer"]["pretokenizers"][0] =
        json!({"type": "Split", "pattern": {"Regex": r"(a+)+\1c"}, "behavior": "Isolated", "invert": false});
    let tokenizer = read(&value).unwrap();
    assert!(tokenizer.encode("aac", Specials::Plain).is_ok());
    let refusal = tokenizer.encode(&"a".repeat(200), Specials::Plain).unwrap_err();
    assert_eq!(refusal.code(), Code::TextUnencodable);
}

#[test]
fn unknown_ids_are_refused() {
    let tokenizer = read(&with(byte_level_value(), "/added_tokens/0/id", json!(4200))).unwrap();
    // 4093 is a hole now, 4201 is above all.
    let refusal = tokenizer.decode(&[0, 4093, 1, 4201], false).unwrap_err();
    assert_eq!(refusal.code(), Code::TokenUnknown);
    let found: Vec<&str> = refusal.findings().iter().map(|finding| finding.what.as_str()).collect();
    assert_eq!(found, ["id at position 1", "id at position 3"]);
    let mut stream = crate::TextStream::new(&tokenizer, false);
    assert_eq!(stream.push(4093).unwrap_err().code(), Code::TokenUnknown);
}
