//! Replies with a block, without one, with half of one; and every way to cut them.

use super::*;
use proptest::prelude::*;

fn split(prompt: &str, pieces: &[&str]) -> (String, String) {
    let mut splitter = ReasoningSplitter::raw(prompt);
    let (mut reasoning, mut answer) = (String::new(), String::new());
    for parts in pieces.iter().map(|p| splitter.push(p)).collect::<Vec<_>>() {
        assert!(parts.reasoning.is_empty() || answer.is_empty(), "reasoning after the answer began");
        reasoning.push_str(&parts.reasoning);
        answer.push_str(&parts.answer);
    }
    let last = splitter.finish();
    (reasoning + &last.reasoning, answer + &last.answer)
}

fn whole(prompt: &str, reply: &str) -> (String, String) {
    split(prompt, &[reply])
}

fn pair(reasoning: &str, answer: &str) -> (String, String) {
    (reasoning.to_owned(), answer.to_owned())
}

#[test]
fn a_block_at_the_start_is_reasoning_and_the_rest_is_the_answer() {
    assert_eq!(whole("", "<think>\nwhy\n</think>\n\nSo."), pair("why", "So."));
    assert_eq!(whole("", "\n <think>a</think>b"), pair("a", "b"));
}

#[test]
fn an_empty_block_leaves_only_the_answer() {
    assert_eq!(whole("", "<think>\n\n</think>\n\nHi"), pair("", "Hi"));
}

#[test]
fn a_block_opened_by_the_prompt_needs_no_opening_tag() {
    let prompt = "<|im_start|>assistant\n<think>\n";
    assert_eq!(whole(prompt, "a</think>b"), pair("a", "b"));
    assert_eq!(split(prompt, &["a", "<", "/", "t", "h", "i", "n", "k", ">", "b"]), pair("a", "b"));
}

#[test]
fn a_block_closed_by_the_prompt_is_over() {
    assert_eq!(whole("assistant\n<think>\n\n</think>\n\n", "Say hi</think>"), pair("", "Say hi</think>"));
}

#[test]
fn a_reply_without_a_block_is_the_answer_byte_for_byte() {
    assert_eq!(whole("", "  Hello <think>no</think>"), pair("", "  Hello <think>no</think>"));
    assert_eq!(whole("", " \n"), pair("", " \n"));
    assert_eq!(whole("", "<thi"), pair("", "<thi"));
}

#[test]
fn a_block_that_was_never_closed_is_all_reasoning() {
    assert_eq!(whole("", "<think>\nwhy </thi"), pair("why </thi", ""));
    assert_eq!(whole("", "<think>\n"), pair("", ""));
}

#[test]
fn white_space_inside_reasoning_is_kept() {
    assert_eq!(split("<think>", &["a ", " b\n", "\nc\n", "</think>", " d "]), pair("a  b\n\nc", "d "));
}

proptest! {
    #[test]
    fn the_parts_do_not_depend_on_how_the_reply_was_cut(
        opened in any::<bool>(),
        tokens in prop::collection::vec(
            prop::sample::select(vec!["<think>", "</think>", "<", "/", "think", ">", " ", "\n", "a", "é", "日本"]),
            0..12,
        ),
        cuts in prop::collection::vec(1usize..6, 0..40),
    ) {
        let prompt = if opened { "<think>\n" } else { "" };
        let reply = tokens.concat();
        let characters: Vec<char> = reply.chars().collect();
        let (mut pieces, mut rest) = (Vec::new(), characters.as_slice());
        for cut in cuts.into_iter().chain(std::iter::repeat(1)) {
            if rest.is_empty() { break; }
            let (piece, tail) = rest.split_at(cut.min(rest.len()));
            pieces.push(piece.iter().collect::<String>());
            rest = tail;
        }
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        prop_assert_eq!(split(prompt, &pieces), whole(prompt, &reply));
    }
}
