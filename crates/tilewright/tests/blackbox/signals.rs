//! Ctrl-C, as a terminal sends it. Each test waits for output before it sends the signal, never for a time.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::harness::program;

/// An endless story: it runs until it is stopped or the context is full.
const ENDLESS: [&str; 8] = ["run", "-p", "Once upon a time", "--ignore-eos", "--seed", "1", "-t", "1"];

fn interrupt(child: &Child) {
    signal(child, "-INT");
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Starts the program and waits for the first byte of the reply.
fn started(args: &[&str]) -> Child {
    let home = tempfile::tempdir().unwrap();
    let mut child = program(&home).args(args).spawn().unwrap();
    let mut first = [0; 1];
    child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    child
}

/// A chat whose first reply has begun and was sent a Ctrl-C, with its open standard input.
fn chat_with_a_reply_cut() -> (Child, ChildStdin) {
    let home = tempfile::tempdir().unwrap();
    let mut child = program(&home)
        .args(["chat", "--ignore-eos", "--seed", "1", "-t", "1"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"Tell me a story.\n").unwrap();
    let mut first = [0; 1];
    child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    interrupt(&child);
    (child, stdin)
}

#[test]
fn ctrl_c_stops_the_reply_and_the_last_line_still_comes() {
    let child = started(&ENDLESS);
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    let last = stderr.lines().last().unwrap();
    assert!(last.starts_with("done") && last.contains("cancelled"), "{stderr}");
    assert!(String::from_utf8(output.stdout).unwrap().ends_with('\n'));
}

#[test]
fn ctrl_c_in_a_chat_stops_the_reply_and_the_chat_goes_on() {
    let (child, mut stdin) = chat_with_a_reply_cut();
    // The chat reads on: this entry is answered by /help, then the input ends.
    stdin.write_all(b"/help\n").unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(stderr.contains("cancelled") && stderr.contains("/reset"), "{stderr}");
}

#[test]
fn ctrl_c_with_no_reply_to_stop_leaves() {
    let (mut child, stdin) = chat_with_a_reply_cut();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("cancelled")), "the first Ctrl-C stopped nothing");
    interrupt(&child);
    // Standard input is still open: only the second Ctrl-C can have ended it.
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(stdin);
}

/// The process is held while its file is partial, so that the signal comes before the end; where it was done by then, the next
/// try meets it.
#[test]
fn ctrl_c_in_a_conversion_leaves_no_partial_file() {
    for attempt in 0.. {
        let (home, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let names = || -> Vec<String> {
            let entries = std::fs::read_dir(folder.path()).unwrap();
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
        };
        let mut child = program(&home).args(["convert", "-o"]).arg(folder.path()).spawn().unwrap();
        while child.try_wait().unwrap().is_none() && !names().iter().any(|name| name.ends_with(".partial")) {
            std::thread::yield_now();
        }
        if child.try_wait().unwrap().is_none() {
            signal(&child, "-STOP");
            interrupt(&child);
            signal(&child, "-CONT");
        }
        let code = child.wait().unwrap().code();
        if code == Some(130) {
            assert_eq!(names(), [] as [String; 0]);
            return;
        }
        assert!(code == Some(0) && attempt < 20, "{code:?} in attempt {attempt}");
    }
}

/// A file that is shortened while it is mapped gives this signal.
#[test]
fn a_bus_error_says_what_happened() {
    let child = started(&ENDLESS);
    signal(&child, "-BUS");
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.lines().last().unwrap().starts_with("refused: file_unreadable"), "{stderr}");
}
