//! What a command line that does not parse is told.

use super::*;
use crate::cli::command;

/// The findings about a command line: thing, expected, got.
fn told(words: &[&str]) -> Vec<[String; 3]> {
    let line = std::iter::once(&"tilewright").chain(words);
    let error = command().try_get_matches_from(line).unwrap_err();
    let refusal = refusal(&error).unwrap();
    assert_eq!(refusal.code(), Code::UsageInvalid);
    let findings = refusal.findings().iter();
    findings.map(|f| [f.what.clone(), f.expected.clone(), f.got.clone()]).collect()
}

#[test]
fn a_usage_error_says_what_was_expected_and_what_was_there() {
    for (words, what, expected, got) in [
        (&["run", "-p", "a", "--temp", "warm"][..], "--temp <T>", "invalid float literal", "warm"),
        (&["run", "-p", "a", "--weights", "int5"], "--weights <FORMAT>", "int8", "int5"),
        (&["run", "-p", "a", "--temp"], "--temp <T>", "a value", "none"),
        (&["run", "-p", "a", "--tmp", "1"], "--tmp", "--temp is one", "an unknown one"),
        (&["srve"], "command", "serve", "srve"),
        (&["run", "-p", "a", "--ids", "1"], "--prompt <TEXT>", "cannot be used with --ids", "one"),
        (&["run", "-p", "a", "-p", "b"], "--prompt <TEXT>", "it once", "it again"),
        (&["serve", "--parallel", "0"], "--parallel <N>", "0 is not in 1..=32", "0"),
        (&["serve", "--parallel", "33"], "--parallel <N>", "33 is not in 1..=32", "33"),
        (&["completions"], "<SHELL>", "one that is given", "none"),
    ] {
        let found = told(words);
        let [finding] = &found[..] else { panic!("{words:?}: {found:?}") };
        assert_eq!((finding[0].as_str(), finding[2].as_str()), (what, got), "{words:?}");
        assert!(finding[1].contains(expected), "{words:?}: {finding:?}");
    }
}

#[test]
fn a_number_below_zero_needs_no_equals_sign() {
    let found = told(&["run", "-p", "a", "--max-tokens", "-5"]);
    assert_eq!((found[0][0].as_str(), found[0][2].as_str()), ("--max-tokens <N>", "-5"));
    let matches = command().try_get_matches_from([
        "tilewright",
        "run",
        "-p",
        "a",
        "--top-p",
        "-0.5",
        "--repeat-last-n",
        "-1",
    ]);
    assert!(matches.is_ok());
}

#[test]
fn help_in_place_of_a_message_is_no_refusal() {
    let error = command().try_get_matches_from(["tilewright"]).unwrap_err();
    assert!(refusal(&error).is_none(), "{error}");
}
