//! Text of real tokens: whole characters, stop strings, special tokens.

use proptest::prelude::*;
use tilewright_model::Specials;

use super::*;
use crate::fake::tokenizer;

/// The pieces of `ids`, up to a stop string.
fn pieces(tokenizer: &Tokenizer, ids: &[u32], request: &Request) -> (Vec<String>, Option<String>) {
    let mut text = ReplyText::new(Some(tokenizer), request, &request.stop);
    let mut pieces = Vec::new();
    for (i, &id) in ids.iter().enumerate() {
        let (piece, found) = text.push(id, i >= request.min_tokens).unwrap();
        pieces.push(piece);
        if found.is_some() {
            return (pieces, found);
        }
    }
    let (piece, found) = text.finish();
    pieces.push(piece);
    (pieces, found)
}

fn stopping(stop: &[&str]) -> Request {
    Request { stop: stop.iter().map(|s| (*s).to_owned()).collect(), ..Request::default() }
}

#[test]
fn pieces_are_whole_characters_and_join_to_the_whole_decode() {
    let tokenizer = tokenizer();
    let text = "👩‍👩‍👧 日本 é, then café";
    let ids = tokenizer.encode(text, Specials::Plain).unwrap();
    assert!(ids.len() > text.chars().count(), "the vocabulary spells these characters in several tokens");
    let (pieces, _) = pieces(&tokenizer, &ids, &Request::default());
    assert!(pieces.iter().all(|piece| !piece.contains('\u{FFFD}')), "{pieces:?}");
    assert_eq!(pieces.concat(), text);
}

#[test]
fn bytes_that_are_no_character_are_replaced_once_at_the_end() {
    let tokenizer = tokenizer();
    let mut ids = tokenizer.encode("x日", Specials::Plain).unwrap();
    ids.pop();
    let (pieces, _) = pieces(&tokenizer, &ids, &Request::default());
    assert_eq!(pieces.concat(), "x\u{FFFD}");
    assert_eq!(pieces.last().unwrap(), "\u{FFFD}");
}

#[test]
fn a_stop_string_is_found_within_and_across_tokens() {
    let tokenizer = tokenizer();
    let ids = tokenizer.encode("Once upon a time there was a fox.", Specials::Plain).unwrap();
    for (stop, before) in [("on a ti", "Once up"), ("O", ""), ("fox.", "Once upon a time there was a ")] {
        let (pieces, found) = pieces(&tokenizer, &ids, &stopping(&[stop]));
        assert_eq!((pieces.concat().as_str(), found.as_deref()), (before, Some(stop)));
    }
}

#[test]
fn a_stop_string_within_a_character_of_several_tokens() {
    let tokenizer = tokenizer();
    let ids = tokenizer.encode("a 日本 b", Specials::Plain).unwrap();
    let (pieces, found) = pieces(&tokenizer, &ids, &stopping(&["日本"]));
    assert_eq!((pieces.concat().as_str(), found.as_deref()), ("a ", Some("日本")));
}

#[test]
fn text_of_the_minimum_is_not_searched_and_not_held() {
    let tokenizer = tokenizer();
    let ids = tokenizer.encode("the the the the", Specials::Plain).unwrap();
    assert_eq!(ids.len(), 4);
    let request = Request { min_tokens: 2, ..stopping(&["the"]) };
    let (pieces, found) = pieces(&tokenizer, &ids, &request);
    assert_eq!((pieces.concat().as_str(), found.as_deref()), ("the the ", Some("the")));
}

#[test]
fn special_tokens_show_only_on_request() {
    let tokenizer = tokenizer();
    let ids = tokenizer.encode("<|im_start|>x<|im_end|>", Specials::Parse).unwrap();
    assert_eq!(pieces(&tokenizer, &ids, &Request::default()).0.concat(), "x");
    let request = Request { show_special: true, ..Request::default() };
    assert_eq!(pieces(&tokenizer, &ids, &request).0.concat(), "<|im_start|>x<|im_end|>");
}

#[test]
fn without_a_tokenizer_there_is_no_text() {
    let mut text = ReplyText::new(None, &Request::default(), &[]);
    assert_eq!(text.push(7, true), Ok((String::new(), None)));
    assert_eq!(text.finish(), (String::new(), None));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any ids, broken characters included: the joined pieces are the decoded ids, cut at the first stop string.
    #[test]
    fn any_ids_join_to_their_decode(
        ids in prop::collection::vec(0u32..4093, 0..40),
        stop in prop_oneof![Just(None), "[ a-e]{1,3}".prop_map(Some)],
    ) {
        let tokenizer = tokenizer();
        let whole = tokenizer.decode(&ids, true).unwrap();
        let stops: Vec<&str> = stop.as_deref().into_iter().collect();
        let (pieces, found) = pieces(&tokenizer, &ids, &stopping(&stops));
        let at = stops.first().and_then(|stop| whole.find(stop));
        prop_assert_eq!(pieces.concat(), &whole[..at.unwrap_or(whole.len())]);
        prop_assert_eq!(found.is_some(), at.is_some());
    }
}
