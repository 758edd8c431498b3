//! `run` as a person uses it: text, streams, prompts.

use std::io::Read;
use std::process::Stdio;

use crate::harness::{program, stories, tilewright, tilewright_reading};

const STORY: [&str; 7] = ["run", "-p", "Once upon a time", "--temp", "0", "-n", "12"];

#[test]
fn stdout_carries_the_text_and_nothing_else() {
    let outcome = tilewright(&STORY).expect_code(0);
    assert!(outcome.stdout.starts_with(", "), "{}", outcome.stdout);
    assert!(outcome.stdout.ends_with('\n'), "the last line is not ended");
    for word in ["model", "plan", "sampling", "stop", "done"] {
        assert!(
            outcome.stderr.lines().any(|l| l.starts_with(word)),
            "no line for {word}: {}",
            outcome.stderr
        );
    }
}

#[test]
fn quiet_says_nothing_on_stderr() {
    let outcome = tilewright(&[&STORY[..], &["--quiet"]].concat()).expect_code(0);
    assert_eq!(outcome.stderr, "");
    assert_eq!(outcome.stdout, tilewright(&STORY).stdout);
}

#[test]
fn verbose_logs_on_stderr_and_leaves_stdout_alone() {
    let outcome = tilewright(&[&STORY[..], &["--verbose"]].concat()).expect_code(0);
    assert!(outcome.stderr.contains("DEBUG"), "{}", outcome.stderr);
    assert_eq!(outcome.stdout, tilewright(&STORY).stdout);
}

#[test]
fn the_embedded_model_and_its_folder_write_the_same() {
    let folder = stories();
    assert_eq!(
        tilewright(&[&STORY[..], &["-m", &folder]].concat()).expect_code(0).stdout,
        tilewright(&STORY).stdout
    );
}

#[test]
fn the_last_line_counts_times_and_says_that_the_answer_is_cut() {
    let stderr = tilewright(&STORY).stderr;
    let last = stderr.lines().last().unwrap();
    for part in ["prompt 4 tokens", "reply 12 tokens", "tok/s", "peak memory", "cut", "--max-tokens"] {
        assert!(last.contains(part), "`{part}` is not in: {last}");
    }
}

#[test]
fn a_seed_repeats_the_text_and_the_seed_chosen_is_printed() {
    let line = ["run", "-p", "Once upon a time", "-n", "24"];
    let first = tilewright(&line).expect_code(0);
    let sampling = first.stderr.lines().find(|l| l.starts_with("sampling")).unwrap();
    let seed = sampling.split("seed ").nth(1).unwrap().split(' ').next().unwrap();
    let again = tilewright(&[&line[..], &["--seed", seed]].concat()).expect_code(0);
    assert_eq!(first.stdout, again.stdout, "seed {seed}");
}

#[test]
fn a_prompt_comes_from_a_flag_a_file_or_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("prompt.txt");
    std::fs::write(&file, "Once upon a time\n").unwrap();
    let expected = tilewright(&STORY).stdout;
    let rest = &STORY[3..];
    let from_file = tilewright(&[&["run", "-f", file.to_str().unwrap()], rest].concat());
    assert_eq!(from_file.expect_code(0).stdout, expected);
    for dash in [["-p", "-"], ["-f", "-"]] {
        let piped = tilewright_reading(&[&["run"][..], &dash, rest].concat(), "Once upon a time\n");
        assert_eq!(piped.expect_code(0).stdout, expected, "{dash:?}");
    }
    let ids = tilewright(&[&["run", "--ids", "643,782,256,667"], rest].concat());
    assert_eq!(ids.expect_code(0).stdout, expected);
}

#[test]
fn only_one_line_break_at_the_end_of_a_file_is_left_out() {
    let one = tilewright_reading(&["run", "-p", "-", "--json", "-n", "1"], "Once\n").json();
    let two = tilewright_reading(&["run", "-p", "-", "--json", "-n", "1"], "Once\n\n").json();
    let (one, two) = (&one["usage"]["prompt_tokens"], &two["usage"]["prompt_tokens"]);
    assert!(two.as_u64() > one.as_u64(), "{one} {two}");
}

#[test]
fn a_reader_that_goes_away_is_a_success() {
    let home = tempfile::tempdir().unwrap();
    let mut child = program(&home)
        .args(["run", "-p", "Once upon a time", "--ignore-eos", "--seed", "1"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut first = [0; 1];
    stdout.read_exact(&mut first).unwrap();
    drop(stdout);
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(0), "{stderr}");
    assert!(!stderr.contains("refused") && !stderr.contains("panic"), "{stderr}");
}

#[test]
fn a_closed_stderr_does_not_stop_the_story() {
    let home = tempfile::tempdir().unwrap();
    let mut child = program(&home).args(STORY).spawn().unwrap();
    drop(child.stderr.take());
    let outcome = child.wait_with_output().unwrap();
    assert_eq!(outcome.status.code(), Some(0));
    assert_eq!(String::from_utf8(outcome.stdout).unwrap(), tilewright(&STORY).stdout);
}

#[test]
fn a_stop_string_is_not_printed_and_is_named_at_the_end() {
    let outcome = tilewright(&[&STORY[..5], &["-n", "60", "--stop", "."]].concat()).expect_code(0);
    assert!(!outcome.stdout.contains('.'), "{}", outcome.stdout);
    assert!(outcome.stderr.lines().last().unwrap().contains("stop at \".\""), "{}", outcome.stderr);
}

#[test]
fn the_template_is_applied_when_a_flag_speaks_of_it_and_only_then() {
    let tokens = |extra: &[&str]| {
        let line = [&["run", "-p", "Tell me a story.", "-n", "1", "--json"][..], extra].concat();
        tilewright(&line).expect_code(0).json()["usage"]["prompt_tokens"].as_u64().unwrap()
    };
    let plain = tokens(&[]);
    let chat = tokens(&["--chat"]);
    assert!(chat > plain, "{chat} {plain}");
    assert_eq!(tokens(&["--thinking", "off"]), chat);
    assert!(tokens(&["--system", "Be brief."]) > chat);
}

#[test]
fn control_tokens_in_a_prompt_are_text_unless_it_is_raw() {
    let tokens = |extra: &[&str]| {
        let line = [&["run", "-p", "<|im_start|>", "-n", "1", "--json"][..], extra].concat();
        tilewright(&line).expect_code(0).json()["usage"]["prompt_tokens"].as_u64().unwrap()
    };
    assert!(tokens(&[]) > 1);
    assert_eq!(tokens(&["--raw"]), 1);
}

#[test]
fn an_empty_prompt_lacks_a_token_and_not_an_id() {
    let refusal = tilewright(&["run", "-p", "", "--json"]).refusal();
    assert_eq!(refusal["findings"][0]["expected"], "at least one token");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_a_failure_with_a_name() {
    let home = tempfile::tempdir().unwrap();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = program(&home).args(STORY).stdout(Stdio::from(full)).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("refused: file_unwritable"));
}

#[cfg(target_os = "linux")]
#[test]
fn an_object_that_cannot_be_written_leaves_its_refusal_on_stderr() {
    let home = tempfile::tempdir().unwrap();
    for line in [
        &["run", "-p", "Once", "-n", "2", "--json", "-q"][..],
        &["run", "-m", "nowhere", "-p", "a", "--json", "-q"],
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = program(&home).args(line).stdout(Stdio::from(full)).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.starts_with("refused: "), "{line:?}: {told}");
    }
}

#[test]
fn reasoning_is_hidden_shown_or_split_off() {
    // The block is open at the end of the prompt and never closed, so the whole reply is reasoning.
    let line = ["run", "-p", "Let me think. <think>", "--temp", "0", "-n", "6"];
    let run = |how: &str| tilewright(&[&line[..], &["--reasoning", how]].concat()).expect_code(0);
    let shown = run("show").stdout;
    assert!(shown.trim().len() > 3, "{shown}");
    assert_eq!(run("hide").stdout.trim(), "");
    let split = run("split");
    assert_eq!(split.stdout.trim(), "");
    assert!(split.stderr.contains(shown.trim()), "{}", split.stderr);
    let object = tilewright(&[&line[..], &["--reasoning", "split", "--json"]].concat()).expect_code(0).json();
    assert_eq!((object["text"].as_str(), object["reasoning"].as_str()), (Some(""), Some(shown.trim())));
}

#[test]
fn greedy_reasoning_is_warned_of_unless_it_is_off() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("template.jinja");
    let template =
        "{% for m in messages %}{{ m.content }}{% endfor %}{% if enable_thinking %}<think>{% endif %}";
    std::fs::write(&file, template).unwrap();
    let warned = |more: &[&str]| {
        let line = ["run", "-p", "Hi", "-n", "1", "--chat-template", file.to_str().unwrap()];
        tilewright(&[&line[..], more].concat()).expect_code(0).stderr.contains("greedy reasoning")
    };
    assert!(warned(&["--temp", "0"]) && warned(&["--temp", "0", "--thinking", "on"]));
    assert!(!warned(&["--temp", "0", "--thinking", "off"]) && !warned(&["--temp", "0.6"]));
    let plain = tilewright(&["run", "-p", "Hi", "-n", "1", "--temp", "0"]).expect_code(0);
    assert!(!plain.stderr.contains("greedy reasoning"), "{}", plain.stderr);
}

#[test]
fn without_a_flag_the_context_is_the_model_s_and_is_said() {
    let outcome = tilewright(&["run", "-p", "Hi", "-n", "1", "--json"]).expect_code(0);
    let config = std::fs::read_to_string(format!("{}/config.json", stories())).unwrap();
    let config: serde_json::Value = serde_json::from_str(&config).unwrap();
    assert_eq!(outcome.json()["plan"]["context"], config["max_position_embeddings"]);
    let said = format!("context {}", config["max_position_embeddings"]);
    assert!(outcome.stderr.contains(&said), "{}", outcome.stderr);
}
