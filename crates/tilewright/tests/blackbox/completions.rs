//! `completions`.

use crate::harness::tilewright;

#[test]
fn every_shell_gets_a_script_that_names_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let outcome = tilewright(&["completions", shell]).expect_code(0);
        assert!(outcome.stderr.is_empty());
        for command in ["run", "chat", "inspect", "doctor", "perplexity", "convert", "completions"] {
            assert!(outcome.stdout.contains(command), "{shell} does not complete {command}");
        }
        assert!(outcome.stdout.contains("prefill-chunk"), "{shell} does not complete flags");
    }
}
