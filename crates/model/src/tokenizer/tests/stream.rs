//! Streaming gives complete characters, and all of them.

use proptest::prelude::*;

use super::samples::{ALL, sentence_piece, stories};
use crate::tokenizer::{Specials, TextStream, Tokenizer};

fn streamed(tokenizer: &Tokenizer, ids: &[u32], skip_special: bool) -> (Vec<String>, String) {
    let mut stream = TextStream::new(tokenizer, skip_special);
    let pieces = ids.iter().map(|id| stream.push(*id).unwrap()).collect();
    (pieces, stream.finish())
}

/// The whole decode, from the bytes of the tokens and nothing else.
fn whole(tokenizer: &Tokenizer, ids: &[u32], skip_special: bool, strips: bool) -> String {
    let kept = ids.iter().filter(|id| !(skip_special && tokenizer.is_special(**id)));
    let bytes: Vec<u8> = kept.flat_map(|id| tokenizer.token_bytes(*id).unwrap().to_vec()).collect();
    let start = usize::from(strips && bytes.first() == Some(&b' '));
    String::from_utf8_lossy(&bytes[start..]).into_owned()
}

#[test]
fn a_character_of_several_tokens_comes_whole() {
    let tokenizer = Tokenizer::from_bytes(stories(), None).unwrap();
    let text = "👩‍👩‍👧 日本 é";
    let ids = tokenizer.encode(text, Specials::Plain).unwrap();
    let (pieces, rest) = streamed(&tokenizer, &ids, false);
    assert!(pieces.len() > text.chars().count(), "the sample has to cut characters");
    assert!(pieces.iter().all(|piece| !piece.contains(char::REPLACEMENT_CHARACTER)), "{pieces:?}");
    assert_eq!(pieces.concat(), text);
    assert_eq!(rest, "");
}

#[test]
fn a_cut_character_at_the_end_becomes_one_replacement() {
    let tokenizer = Tokenizer::from_bytes(&sentence_piece(), None).unwrap();
    let bytes: Vec<u32> = [0xE6u8, 0x97].iter().map(|byte| u32::from(*byte) + 3).collect();
    let (pieces, rest) = streamed(&tokenizer, &bytes, false);
    assert_eq!(pieces, ["", ""]);
    assert_eq!(rest, "\u{fffd}");
}

#[test]
fn a_continuing_text_keeps_its_space() {
    let tokenizer = Tokenizer::from_bytes(&sentence_piece(), None).unwrap();
    let id = tokenizer.id_of("▁the").unwrap();
    assert_eq!(TextStream::new(&tokenizer, false).push(id).unwrap(), "the");
    assert_eq!(TextStream::continuing(&tokenizer, false).push(id).unwrap(), " the");
}

proptest! {
    #[test]
    fn pieces_join_to_the_whole_decode(
        raw in proptest::collection::vec((any::<u16>(), 0u8..4), 0..40),
        skip in any::<bool>(),
    ) {
        for (index, (_, tokenizer)) in ALL.iter().enumerate() {
            let strips = [2, 5].contains(&index);
            let size = u32::try_from(tokenizer.vocab_size()).unwrap();
            // Low ids are single bytes in every sample: they make broken characters likely.
            let ids: Vec<u32> = raw
                .iter()
                .map(|(id, kind)| u32::from(*id) % if *kind == 0 { size } else { size.min(259) })
                .collect();
            let (pieces, rest) = streamed(tokenizer, &ids, skip);
            let joined = pieces.concat() + &rest;
            prop_assert_eq!(&joined, &whole(tokenizer, &ids, skip, strips));
            prop_assert_eq!(&joined, &tokenizer.decode(&ids, skip).unwrap());
        }
    }
}
