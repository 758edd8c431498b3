//! The matcher against its definition over the whole text.

use proptest::prelude::*;

use super::*;

fn matcher(stops: &[&str]) -> StopStrings {
    StopStrings::new(stops.iter().map(|s| (*s).to_owned()).collect())
}

/// Pieces in, pieces out, and the stop string that ended it.
fn run(stops: &[&str], pieces: &[&str]) -> (Vec<String>, Option<String>) {
    let mut matcher = matcher(stops);
    let mut out = Vec::new();
    for piece in pieces {
        let (text, found) = matcher.push(piece);
        out.push(text);
        if found.is_some() {
            return (out, found);
        }
    }
    out.push(matcher.finish());
    (out, None)
}

#[test]
fn a_stop_string_across_pieces_never_leaks() {
    let (out, found) = run(&["END"], &["the EN", "D!"]);
    assert_eq!(out, ["the ", ""]);
    assert_eq!(found.as_deref(), Some("END"));
}

#[test]
fn a_start_that_came_to_nothing_is_released() {
    assert_eq!(run(&["END"], &["EN", "T"]), (vec![String::new(), "ENT".into(), String::new()], None));
    assert_eq!(run(&["END"], &["x EN"]), (vec!["x ".into(), "EN".into()], None));
}

#[test]
fn a_start_within_a_start_is_kept() {
    let (out, found) = run(&["aab"], &["aa", "ab"]);
    assert_eq!((out.concat().as_str(), found.as_deref()), ("a", Some("aab")));
    let (out, found) = run(&["ababac"], &["abab", "abac", "zz"]);
    assert_eq!((out.concat().as_str(), found.as_deref()), ("ab", Some("ababac")));
}

#[test]
fn the_first_completed_wins_and_of_those_the_longest() {
    assert_eq!(run(&["abcd", "c"], &["xabcd"]), (vec!["xab".into()], Some("c".into())));
    assert_eq!(run(&["b", "ab"], &["xab"]), (vec!["x".into()], Some("ab".into())));
}

#[test]
fn characters_of_several_bytes_are_whole() {
    let (out, found) = run(&["終り"], &["これで終", "り。"]);
    assert_eq!((out.concat().as_str(), found.as_deref()), ("これで", Some("終り")));
    assert_eq!(run(&["é"], &["e", "è"]).0.concat(), "eè");
}

#[test]
fn without_stop_strings_nothing_is_held() {
    assert_eq!(run(&[], &["a", "b"]).0, ["a", "b", ""]);
}

/// The definition over the whole text.
fn by_definition(stops: &[String], text: &str) -> (String, Option<String>) {
    let ends = text.char_indices().map(|(i, c)| i + c.len_utf8());
    for end in ends {
        let complete = stops.iter().filter(|s| text[..end].ends_with(s.as_str())).max_by_key(|s| s.len());
        if let Some(stop) = complete {
            return (text[..end - stop.len()].to_owned(), Some(stop.clone()));
        }
    }
    (text.to_owned(), None)
}

proptest! {
    /// A small alphabet makes starts within starts common.
    #[test]
    fn any_split_gives_what_the_whole_text_gives(
        stops in prop::collection::vec("[abé]{1,5}", 0..4),
        pieces in prop::collection::vec("[abé]{0,6}", 0..12),
    ) {
        let (text, found) = by_definition(&stops, &pieces.concat());
        let stops: Vec<&str> = stops.iter().map(String::as_str).collect();
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        let (out, out_found) = run(&stops, &pieces);
        prop_assert_eq!(out.concat(), text);
        prop_assert_eq!(out_found, found);
    }

    /// What is held back is exactly the longest end that begins a stop string.
    #[test]
    fn no_more_is_held_than_must_be(stops in prop::collection::vec("[ab]{1,5}", 1..4), text in "[ab]{0,12}") {
        let mut matcher = StopStrings::new(stops.clone());
        let (out, found) = matcher.push(&text);
        if found.is_none() {
            let held = (0..=text.len()).map(|i| &text[i..]).find(|tail| {
                tail.is_empty() || stops.iter().any(|s| s.starts_with(tail))
            });
            prop_assert_eq!(Some(&text[out.len()..]), held);
        }
    }
}
