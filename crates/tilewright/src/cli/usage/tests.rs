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
        (&["run", "-p", "a", "--temp", "warm"][..], "--temp <T>", "a number, such as 0.7", "warm"),
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
fn no_message_is_in_the_words_of_a_parser_of_numbers() {
    for (words, expected) in [
        (&["run", "-p", "a", "-t", "0"][..], "a whole number of at least 1"),
        (&["run", "-p", "a", "-c", "-5"], "a whole number of at least 0"),
        (&["run", "-p", "a", "-n", "1e3"], "a whole number, in digits"),
        (&["run", "-p", "a", "-n", "99999999999999999999"], "a smaller whole number"),
        (&["run", "--ids", "1,a"], "a whole number, in digits"),
        (&["run", "-p", "a", "--temp", "0,7"], "a number, such as 0.7"),
        (&["serve", "--host", "localhost"], "an address in numbers, such as 127.0.0.1"),
    ] {
        let found = told(words);
        assert!(found[0][1].contains(expected), "{words:?}: {found:?}");
    }
}

#[test]
fn a_text_without_its_flag_is_told_where_it_goes() {
    let found = told(&["run", "Once upon a time"]);
    assert_eq!((found[0][0].as_str(), found[0][2].as_str()), ("Once upon a time", "a word by itself"));
    assert!(found[0][1].contains("after -p"), "{found:?}");
    let found = told(&["doctor", "all"]);
    assert!(found[0][1].contains("only flags") && !found[0][1].contains("-p"), "{found:?}");
}

#[test]
fn a_word_that_is_no_command_is_told_of_the_list_beside_the_nearest() {
    let found = told(&["hello"]);
    assert!(found[0][1].starts_with("one that --help lists"), "{found:?}");
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
