//! The reference page of the command line, from the command tree.

use std::fmt::Write;

use clap::{Arg, Command};

use crate::cli::examples;

/// Renders the page.
pub(super) fn render(mut root: Command) -> String {
    root.build();
    let mut page = String::from(HEAD);
    for (name, command) in super::all(&root) {
        section(&mut page, &name, command);
    }
    page
}

const HEAD: &str = "\
# Command line

Generated from the command tree; do not edit.

Standard output carries generated text, or one JSON object with `--json`, and nothing else. Every other word goes to
standard error. The command line outranks the environment variable of a flag, which outranks the model's
`generation_config.json`, which outranks the engine's default. `-h` and `--help` explain any command.

| exit code | meaning |
| --- | --- |
| 0 | done; also when the reader of standard output went away |
| 1 | refused or failed; the refusal names its code, everything found and the remedy |
| 2 | usage: the command line does not parse |
| 130 | stopped by Ctrl-C; what was generated until then has been written |
";

fn section(page: &mut String, name: &str, command: &Command) {
    let _ = writeln!(page, "\n## `{name}`\n");
    let about = command.get_long_about().or(command.get_about());
    let _ = writeln!(page, "{}\n", about.map(ToString::to_string).unwrap_or_default().trim_end());
    let mut usage = command.clone();
    let usage = usage.render_usage().to_string();
    let _ = writeln!(page, "```text\n{}\n```", usage.trim_start_matches("Usage: ").trim());
    let examples = examples(name);
    if !examples.is_empty() {
        let _ = writeln!(page, "\n```sh\n{}\n```", examples.join("\n"));
    }

    let mut headings: Vec<&str> = Vec::new();
    for arg in shown(command) {
        let heading = heading(arg);
        if !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    for wanted in headings {
        let _ = writeln!(page, "\n| {wanted} | meaning | variable |\n| --- | --- | --- |");
        for arg in shown(command).filter(|a| heading(a) == wanted) {
            row(page, arg);
        }
    }
}

/// Every argument but `--help`, which all commands have.
fn shown(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|a| a.get_id() != "help")
}

fn heading(arg: &Arg) -> &str {
    if arg.is_positional() { "Argument" } else { arg.get_help_heading().unwrap_or("Options") }
}

fn row(page: &mut String, arg: &Arg) {
    let values: Vec<String> =
        arg.get_possible_values().iter().map(|v| format!("`{}`", v.get_name())).collect();
    let takes_value = arg.get_action().takes_values();
    let mut meaning = arg.get_help().map(ToString::to_string).unwrap_or_default();
    if takes_value && !values.is_empty() {
        meaning.push_str(&format!(" ({})", values.join(", ")));
    }
    let defaults: Vec<String> =
        arg.get_default_values().iter().map(|v| v.to_string_lossy().into_owned()).collect();
    if takes_value && !defaults.is_empty() {
        meaning.push_str(&format!(" [default: {}]", defaults.join(",")));
    }
    let variable = arg.get_env().map(|v| format!("`{}`", v.to_string_lossy())).unwrap_or_default();
    let _ = writeln!(page, "| {} | {} | {variable} |", name(arg), meaning.replace('|', "\\|"));
}

fn name(arg: &Arg) -> String {
    let value = match arg.get_value_names() {
        Some([value, ..]) if arg.get_action().takes_values() => format!(" {}", value.replace('|', "\\|")),
        _ => String::new(),
    };
    match (arg.get_short(), arg.get_long()) {
        (Some(short), Some(long)) => format!("`-{short}`, `--{long}{value}`"),
        (None, Some(long)) => format!("`--{long}{value}`"),
        _ => format!("`{}`", arg.get_id().as_str().to_uppercase()),
    }
}
