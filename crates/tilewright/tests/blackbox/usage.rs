//! Command lines that do not parse, help, and the environment.

use crate::harness::{tilewright, tilewright_with};

#[test]
fn a_bad_command_line_exits_2_with_words_on_stderr_only() {
    for args in [
        vec!["run"],
        vec!["nonsense"],
        vec![],
        vec!["run", "-p", "a", "--no-such-flag"],
        vec!["run", "-p", "a", "--temp", "warm"],
        vec!["run", "-p", "a", "--weights", "int5"],
        vec!["run", "-p", "a", "--device", "gpu"],
        vec!["run", "-p", "a", "-t", "0"],
        vec!["run", "-p", "a", "--quiet", "--verbose"],
        vec!["run", "--ids", "1,x"],
        vec!["run", "-p", "a", "--logprobs", "3"],
        vec!["perplexity"],
        vec!["convert"],
        vec!["convert", "-o", "out", "-p", "a", "--ids", "1"],
        vec!["completions", "tcsh"],
    ] {
        let outcome = tilewright(&args);
        assert_eq!(outcome.code, Some(2), "{args:?}: {}", outcome.stderr);
        assert!(outcome.stdout.is_empty(), "{args:?} wrote {}", outcome.stdout);
        assert!(!outcome.stderr.is_empty(), "{args:?} said nothing");
    }
}

#[test]
fn two_prompts_at_once_are_a_usage_error() {
    let sources = [["-p", "a"], ["-f", "b"], ["--ids", "1"], ["--messages", "m.json"]];
    for (i, first) in sources.iter().enumerate() {
        for second in &sources[i + 1..] {
            let args = [&["run"][..], first, second].concat();
            let outcome = tilewright(&args).expect_code(2);
            assert!(outcome.stderr.contains("cannot be used with"), "{args:?}: {}", outcome.stderr);
        }
    }
}

#[test]
fn flags_that_speak_of_the_template_contradict_prompts_it_is_not_applied_to() {
    for flag in
        [["--system", "s"], ["--thinking", "off"], ["--template-arg", "a=1"], ["--chat-template", "f"]]
    {
        tilewright(&[&["run", "--ids", "1"][..], &flag].concat()).expect_code(2);
        tilewright(&[&["run", "-p", "a", "--raw"][..], &flag].concat()).expect_code(2);
    }
    tilewright(&["run", "-p", "a", "--raw", "--chat"]).expect_code(2);
    tilewright(&["run", "--messages", "m.json", "--system", "s"]).expect_code(2);
}

#[test]
fn help_and_version_go_to_stdout_and_exit_0() {
    for args in
        [&["--help"][..], &["-h"], &["--version"], &["run", "--help"], &["chat", "-h"], &["help", "run"]]
    {
        let outcome = tilewright(args).expect_code(0);
        assert!(!outcome.stdout.is_empty() && outcome.stderr.is_empty(), "{args:?}");
    }
    let version = tilewright(&["--version"]).stdout;
    assert_eq!(version.trim(), concat!("tilewright ", env!("CARGO_PKG_VERSION")));
}

#[test]
fn the_environment_gives_flags_and_the_command_line_outranks_it() {
    let variables = [("TILEWRIGHT_MAX_TOKENS", "3"), ("TILEWRIGHT_JSON", "1"), ("TILEWRIGHT_TEMP", "0")];
    let outcome = tilewright_with(&variables, &["run", "-p", "Once"]).expect_code(0);
    assert_eq!(outcome.json()["usage"]["completion_tokens"], 3);
    assert_eq!(outcome.json()["sampling"]["greedy"], true);
    let outcome = tilewright_with(&variables, &["run", "-p", "Once", "-n", "2"]).expect_code(0);
    assert_eq!(outcome.json()["usage"]["completion_tokens"], 2);
}

#[test]
fn a_switch_in_the_environment_can_be_off() {
    let outcome =
        tilewright_with(&[("TILEWRIGHT_JSON", "0")], &["run", "-p", "Once", "-n", "2"]).expect_code(0);
    assert!(!outcome.stdout.starts_with('{'), "{}", outcome.stdout);
}

#[test]
fn a_switch_in_the_environment_that_is_neither_on_nor_off_is_a_usage_error() {
    let outcome = tilewright_with(&[("TILEWRIGHT_QUIET", "maybe")], &["run", "-p", "a"]).expect_code(2);
    assert!(outcome.stderr.contains("--quiet") && outcome.stderr.contains("maybe"), "{}", outcome.stderr);
    tilewright_with(&[("TILEWRIGHT_QUIET", "")], &["run", "-p", "Once", "-n", "1"]).expect_code(0);
}

#[test]
fn a_flag_on_the_command_line_outranks_one_of_the_environment_that_contradicts_it() {
    let variables =
        [("TILEWRIGHT_PROMPT", "elsewhere"), ("TILEWRIGHT_QUIET", "1"), ("TILEWRIGHT_CACHE", "x")];
    let ids = ["run", "--ids", "1,2", "-n", "1", "--verbose", "--no-cache", "--json"];
    let outcome = tilewright_with(&variables, &ids).expect_code(0);
    assert_eq!(outcome.json()["usage"]["prompt_tokens"], 2);
    // Two of the environment still contradict each other.
    let both = [("TILEWRIGHT_PROMPT", "a"), ("TILEWRIGHT_IDS", "1")];
    tilewright_with(&both, &["run"]).expect_code(2);
}

#[test]
fn a_folder_for_the_cache_and_no_cache_are_a_usage_error() {
    tilewright(&["run", "-p", "a", "--cache", "folder", "--no-cache"]).expect_code(2);
}

#[test]
fn a_usage_error_is_an_object_where_json_is_asked_for() {
    let outcome = tilewright(&["run", "--json", "--temp", "warm"]).expect_code(2);
    let refusal = &outcome.json()["refusal"];
    assert_eq!(
        (&refusal["code"], &refusal["findings"][0]["what"]),
        (&"usage_invalid".into(), &"--temp <T>".into())
    );
    assert!(outcome.stderr.starts_with("refused: usage_invalid (768)"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("--temp"));
}

#[cfg(target_os = "linux")]
#[test]
fn help_that_cannot_be_written_is_a_failure() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let home = tempfile::tempdir().unwrap();
    let outcome = crate::harness::program(&home).arg("--help").stdout(full).output().unwrap();
    assert_eq!(outcome.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&outcome.stderr).contains("file_unwritable"));
}

#[test]
fn a_bad_value_in_the_environment_is_a_usage_error_naming_the_flag_and_the_variable() {
    for (variable, value, flag) in
        [("TILEWRIGHT_THREADS", "many", "--threads"), ("TILEWRIGHT_WEIGHTS", "int9", "--weights")]
    {
        let outcome = tilewright_with(&[(variable, value)], &["run", "-p", "a"]).expect_code(2);
        assert!(outcome.stderr.contains(flag) && outcome.stderr.contains(variable), "{}", outcome.stderr);
    }
    let outcome = tilewright(&["run", "-p", "a", "--threads", "many"]).expect_code(2);
    assert!(!outcome.stderr.contains("TILEWRIGHT_"), "{}", outcome.stderr);
}

#[test]
fn nothing_is_colored_when_nobody_watches() {
    let outcome = tilewright(&["run"]);
    assert!(!outcome.stderr.contains('\u{1b}'));
    let outcome = tilewright(&["run", "-p", "Once", "-n", "2"]);
    assert!(!outcome.stderr.contains('\u{1b}') && !outcome.stdout.contains('\u{1b}'));
}

#[test]
fn a_variable_that_nothing_reads_is_named_with_the_one_that_was_meant() {
    let misspelt = [("TILEWRIGHT_MAX_TOKEN", "3"), ("TILEWRIGHT_NVRTC", "x")];
    let line = ["run", "-p", "Once", "-n", "1"];
    let outcome = tilewright_with(&misspelt, &line).expect_code(0);
    let warnings: Vec<_> = outcome.stderr.lines().filter(|line| line.starts_with("warning")).collect();
    let [warning] = warnings[..] else { panic!("{}", outcome.stderr) };
    assert!(
        warning.contains("TILEWRIGHT_MAX_TOKEN is") && warning.contains("TILEWRIGHT_MAX_TOKENS"),
        "{warning}"
    );
}
