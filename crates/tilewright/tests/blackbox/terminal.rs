//! The program at a terminal, with keys typed at the other end. Each test waits for output, never for a time.

mod raw;

use std::fs::File;
use std::io::{Read, Write};
use std::process::Child;

use crate::harness::program;

/// A program and the person at its terminal.
struct Terminal {
    keys: File,
    child: Child,
    /// What the screen was given and nobody has waited for yet.
    screen: String,
    _home: tempfile::TempDir,
}

impl Terminal {
    fn start(args: &[&str]) -> Self {
        Self::start_with(&[], args)
    }

    fn start_with(variables: &[(&str, &str)], args: &[&str]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let (keys, theirs) = raw::open();
        let mut command = program(&home);
        command.args(args).env("TERM", "xterm-256color").envs(variables.iter().copied());
        command.stdin(theirs.try_clone().unwrap()).stdout(theirs.try_clone().unwrap()).stderr(theirs);
        raw::control(&mut command);
        let child = command.spawn().unwrap();
        Self { keys, child, screen: String::new(), _home: home }
    }

    fn type_keys(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Reads until the screen shows `text`; returns what came before it.
    fn wait_for(&mut self, text: &str) -> String {
        let mut buffer = [0; 4096];
        loop {
            if let Some(at) = self.screen.find(text) {
                let rest = self.screen.split_off(at + text.len());
                return std::mem::replace(&mut self.screen, rest);
            }
            let count = self.keys.read(&mut buffer).unwrap_or(0);
            assert!(count > 0, "the program ended before `{text}`: {}", self.screen);
            self.screen.push_str(&String::from_utf8_lossy(&buffer[..count]));
        }
    }

    /// The exit code, after reading what is left.
    fn end(mut self) -> Option<i32> {
        let mut rest = Vec::new();
        // A terminal whose program is gone ends in an error, not in an end of file.
        let _ = self.keys.read_to_end(&mut rest);
        self.child.wait().unwrap().code()
    }
}

const CHAT: [&str; 6] = ["chat", "--ignore-eos", "--seed", "1", "-t", "1"];
const CTRL_C: &str = "\u{3}";

#[test]
fn ctrl_c_at_a_terminal_stops_the_reply_and_a_second_one_leaves() {
    let mut terminal = Terminal::start(&CHAT);
    terminal.wait_for("/help lists the commands");
    terminal.wait_for("> ");
    terminal.type_keys("Tell me a story.\r");
    // The first words of a reply; the line above them says how it is sampled.
    terminal.wait_for("sampling");
    terminal.wait_for("\n");
    terminal.wait_for(" ");
    terminal.type_keys(CTRL_C);
    terminal.wait_for("cancelled");
    terminal.wait_for("> ");
    terminal.type_keys(CTRL_C);
    assert_eq!(terminal.end(), Some(130));
}

#[test]
fn ctrl_c_while_entering_asks_and_ctrl_d_leaves() {
    let mut terminal = Terminal::start(&CHAT);
    terminal.wait_for("/help lists the commands");
    terminal.wait_for("> ");
    terminal.type_keys("never mind");
    terminal.type_keys(CTRL_C);
    terminal.wait_for("Ctrl-C again leaves");
    terminal.wait_for("> ");
    terminal.type_keys("/nonsense\r");
    terminal.wait_for("/nonsense is no command");
    terminal.wait_for("> ");
    // No longer the second in a row.
    terminal.type_keys(CTRL_C);
    terminal.wait_for("Ctrl-C again leaves");
    terminal.wait_for("> ");
    terminal.type_keys("\u{4}");
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn a_reply_at_a_terminal_has_no_color() {
    let mut terminal = Terminal::start(&["run", "-p", "Once upon a time", "--temp", "0", "-n", "4", "-q"]);
    let reply = terminal.wait_for("\n");
    assert!(!reply.contains('\u{1b}'), "{reply:?}");
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn no_color_at_a_terminal_is_no_color() {
    let mut terminal = Terminal::start_with(&[("NO_COLOR", "1")], &["run"]);
    let message = terminal.wait_for("--help");
    assert!(message.contains("usage_invalid") && !message.contains('\u{1b}'), "{message:?}");
    assert_eq!(terminal.end(), Some(2));
}

#[test]
fn long_work_draws_a_bar_at_a_terminal_unless_it_is_to_be_quiet() {
    let out = tempfile::tempdir().unwrap();
    let folder = |name: &str| out.path().join(name).display().to_string();
    let mut terminal = Terminal::start(&["convert", "-o", &folder("loud"), "--dtype", "f32"]);
    terminal.wait_for("converting");
    terminal.wait_for("done");
    assert_eq!(terminal.end(), Some(0));
    let mut terminal = Terminal::start(&["convert", "-o", &folder("quiet"), "--json", "-q"]);
    let before = terminal.wait_for("prompt_tokens");
    assert!(!before.contains("converting"), "{before}");
    assert_eq!(terminal.end(), Some(0));
}
