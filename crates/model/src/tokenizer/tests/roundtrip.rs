//! What goes in comes out, also for long and awkward texts.

use proptest::prelude::*;
use tokenizers::NormalizedString;

use super::reference;
use super::samples::{byte_level, sentence_piece, stories};
use crate::tokenizer::{Specials, Tokenizer};

/// Texts of words, controls, marks, spaces and any characters.
fn texts() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        "\\PC{0,6}",
        any::<String>().prop_map(|text| text.chars().take(6).collect()),
        "[ \\t\\n\\r]{1,5}",
        proptest::sample::select(vec![
            "<|im_start|>",
            "<|im_end|>",
            "<|endoftext|>",
            "<|im_",
            "end|>",
            "<s>",
            "</s>",
            "<unk>",
            "▁",
            "the ",
            "don't",
            "123",
            "e\u{301}",
            "日本",
        ])
        .prop_map(str::to_owned),
    ];
    proptest::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
}

fn composed(text: &str) -> String {
    let mut normalized = NormalizedString::from(text);
    normalized.nfc();
    normalized.get().to_owned()
}

proptest! {
    #[test]
    fn byte_level_text_comes_back(text in texts()) {
        let plain = Tokenizer::from_bytes(&byte_level(), None).unwrap();
        let ids = plain.encode(&text, Specials::Plain).unwrap();
        prop_assert!(ids.iter().all(|id| !plain.is_control(*id)));
        prop_assert_eq!(plain.decode(&ids, false).unwrap(), text.clone());

        let nfc = Tokenizer::from_bytes(stories(), None).unwrap();
        let ids = nfc.encode(&text, Specials::Plain).unwrap();
        prop_assert!(ids.iter().all(|id| !nfc.is_control(*id)));
        prop_assert_eq!(nfc.decode(&ids, false).unwrap(), composed(&text));
    }

    #[test]
    fn sentence_piece_text_comes_back_up_to_its_marks(text in texts()) {
        let tokenizer = Tokenizer::from_bytes(&sentence_piece(), None).unwrap();
        let ids = tokenizer.encode(&text, Specials::Plain).unwrap();
        prop_assert!(ids.iter().all(|id| !tokenizer.is_control(*id)));
        prop_assert_eq!(tokenizer.decode(&ids, false).unwrap(), text.replace('▁', " "));
    }

    #[test]
    fn parsed_ids_equal_the_reference(text in texts()) {
        for json in [stories().to_vec(), byte_level(), sentence_piece()] {
            let ours = Tokenizer::from_bytes(&json, None).unwrap().encode(&text, Specials::Parse).unwrap();
            let theirs = reference(&json).encode(text.as_str(), false).unwrap();
            prop_assert_eq!(ours, theirs.get_ids());
        }
    }
}

/// A megabyte that a quadratic step would never finish, and that a bounded back-tracking stack would cut wrongly.
#[test]
fn a_megabyte_of_one_character_comes_back() {
    const LENGTH: usize = 1 << 20;
    let samples = [stories().to_vec(), byte_level(), sentence_piece()];
    for json in samples {
        let tokenizer = Tokenizer::from_bytes(&json, None).unwrap();
        for unit in [" ", "a", "\n", "é", "!", "1", "a ", "<|im_", " \n"] {
            let text = unit.repeat(LENGTH / unit.len());
            let ids = tokenizer.encode(&text, Specials::Plain).unwrap();
            assert!(tokenizer.decode(&ids, false).unwrap() == text, "{unit:?}");
        }
        let text = " ".repeat(LENGTH) + "x";
        let ids = tokenizer.encode(&text, Specials::Plain).unwrap();
        assert!(tokenizer.decode(&ids, false).unwrap() == text);
    }
}
