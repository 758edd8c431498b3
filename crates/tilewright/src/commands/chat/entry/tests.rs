//! Entries of one and several lines, commands, and Ctrl-C in the middle of one.

use super::*;

/// Lines as typed, then the end of the input; remembers which were asked for as continuations.
struct Script {
    lines: Vec<Line>,
    continued: Vec<bool>,
}

impl Input for Script {
    fn line(&mut self, continued: bool) -> Result<Line, Failure> {
        self.continued.push(continued);
        Ok(if self.lines.is_empty() { Line::End } else { self.lines.remove(0) })
    }

    fn interactive(&self) -> bool {
        false
    }
}

fn entries(text: &str) -> Vec<Entry> {
    let lines = text.lines().map(|l| Line::Text(l.to_owned())).collect();
    let mut script = Script { lines, continued: Vec::new() };
    let mut entries = Vec::new();
    loop {
        match read(&mut script).unwrap() {
            Entry::Exit => return entries,
            entry => entries.push(entry),
        }
    }
}

fn say(text: &str) -> Entry {
    Entry::Say(text.to_owned())
}

#[test]
fn a_line_is_a_message_and_blank_lines_are_skipped() {
    assert_eq!(entries("\n  \nHello there \n\nBye"), [say("Hello there"), say("Bye")]);
}

#[test]
fn a_backslash_at_the_end_goes_on_in_the_next_line() {
    assert_eq!(entries("one\\\ntwo\\\n three\nfour"), [say("one\ntwo\n three"), say("four")]);
    assert_eq!(entries("cut off\\"), [say("cut off")]);
}

#[test]
fn three_quotes_hold_a_block_with_everything_in_it() {
    assert_eq!(
        entries("\"\"\"\n/not a command\n\n  two\\\n\"\"\"\nnext"),
        [say("/not a command\n\n  two\\"), say("next")]
    );
    assert_eq!(entries("\"\"\"one line\"\"\""), [say("one line")]);
    assert_eq!(entries("\"\"\"never closed\nand not said"), [Entry::Unfinished]);
}

#[test]
fn commands_begin_with_a_slash() {
    assert_eq!(
        entries("/help\n /reset \n/system You are brief. \n/system\n/nonsense here\n/help me"),
        [
            Entry::Help,
            Entry::Reset,
            Entry::System(Some("You are brief.".to_owned())),
            Entry::System(None),
            Entry::Unknown("/nonsense here".to_owned()),
            Entry::Unknown("/help me".to_owned()),
        ]
    );
    let mut exit = Script { lines: vec![Line::Text("/exit".to_owned())], continued: Vec::new() };
    assert_eq!(read(&mut exit).unwrap(), Entry::Exit);
}

#[test]
fn ctrl_c_drops_what_was_entered_so_far() {
    let lines = vec![Line::Text("half\\".to_owned()), Line::Interrupted, Line::Text("whole".to_owned())];
    let mut script = Script { lines, continued: Vec::new() };
    assert_eq!(read(&mut script).unwrap(), Entry::Interrupted);
    assert_eq!(read(&mut script).unwrap(), say("whole"));
    assert_eq!(script.continued, [false, true, false]);
}
