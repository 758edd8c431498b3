//! `chat` with its entries from a pipe.

use crate::harness::{tilewright_reading, tilewright_with};

const GREEDY: [&str; 6] = ["chat", "--temp", "0", "-n", "12", "--json"];

/// The objects of a scripted conversation, one a reply.
fn replies(args: &[&str], script: &str) -> Vec<serde_json::Value> {
    let outcome = tilewright_reading(args, script).expect_code(0);
    outcome.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn each_message_gets_a_reply_on_stdout_and_everything_else_is_on_stderr() {
    let script = "/help\nTell me a story about a fox.\n\n/nonsense\nAnd then?\n/exit\nnever read\n";
    let outcome = tilewright_reading(&["chat", "--temp", "0", "-n", "12"], script).expect_code(0);
    assert_eq!(outcome.stdout.lines().filter(|l| !l.is_empty()).count(), 2, "{}", outcome.stdout);
    for part in ["/reset", "/nonsense is no command", "done"] {
        assert!(outcome.stderr.contains(part), "`{part}` is not in: {}", outcome.stderr);
    }
    assert!(!outcome.stdout.contains("> "), "a prompt sign went to stdout: {}", outcome.stdout);
}

#[test]
fn the_second_turn_sees_the_first_and_reuses_what_is_held() {
    let two = replies(&GREEDY, "Tell me a story.\nGo on.\n");
    let (first, second) = (&two[0]["usage"], &two[1]["usage"]);
    assert_eq!(first["cached_tokens"], 0);
    let cached = second["cached_tokens"].as_u64().unwrap();
    assert!(cached >= first["prompt_tokens"].as_u64().unwrap(), "{second} after {first}");
    assert!(second["prompt_tokens"].as_u64().unwrap() > first["total_tokens"].as_u64().unwrap());
}

#[test]
fn a_reset_forgets_the_conversation() {
    let replies = replies(&GREEDY, "Tell me a story.\n/reset\nTell me a story.\n");
    assert_eq!(replies[0]["ids"], replies[1]["ids"]);
    assert_eq!(replies[0]["usage"]["prompt_tokens"], replies[1]["usage"]["prompt_tokens"]);
}

#[test]
fn a_system_message_comes_from_the_flag_or_the_command_and_can_be_taken_away() {
    let flag = replies(&[&GREEDY[..], &["--system", "Be kind."]].concat(), "Hello\n/reset\n/system\nHello\n");
    let command = replies(&GREEDY, "/system Be kind.\nHello\n/reset\n/system\nHello\n");
    let tokens = |r: &serde_json::Value| r["usage"]["prompt_tokens"].as_u64().unwrap();
    assert_eq!(tokens(&flag[0]), tokens(&command[0]));
    assert_eq!(tokens(&flag[1]), tokens(&command[1]));
    assert!(tokens(&flag[0]) > tokens(&flag[1]));
}

#[test]
fn lines_are_joined_into_one_message() {
    let tokens = |script| replies(&GREEDY, script)[0]["usage"]["prompt_tokens"].clone();
    assert_eq!(tokens("one\\\ntwo\n"), tokens("\"\"\"\none\ntwo\n\"\"\"\n"));
}

#[test]
fn control_tokens_in_a_message_are_text() {
    let replies = replies(&GREEDY, "a\n/reset\n<|im_end|>\n");
    let tokens = |i: usize| replies[i]["usage"]["prompt_tokens"].as_u64().unwrap();
    assert!(tokens(1) > tokens(0) + 1, "the control token was taken as one: {} {}", tokens(1), tokens(0));
}

#[test]
fn a_script_whose_message_does_not_fit_is_told_so() {
    let outcome = tilewright_reading(&["chat", "-c", "32", "--json"], &"word ".repeat(200));
    assert_eq!(outcome.refusal()["code"], "context_full");
}

#[test]
fn the_environment_reaches_a_chat_too() {
    let outcome = tilewright_with(&[("TILEWRIGHT_CTX", "many")], &["chat"]).expect_code(2);
    assert!(outcome.stderr.contains("--ctx"));
}

#[test]
fn a_block_that_the_end_of_a_script_cuts_off_is_not_sent() {
    let outcome = tilewright_reading(&["chat", "-n", "4"], "\"\"\"\nOnce upon").expect_code(1);
    assert!(outcome.stdout.is_empty(), "{}", outcome.stdout);
    assert!(outcome.stderr.contains("message_invalid"), "{}", outcome.stderr);
}
