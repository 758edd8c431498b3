//! The command tree against its reference page, its variables and itself.

use std::collections::BTreeMap;
use std::path::Path;
use std::{env, fs};

use super::environment::variable;
use super::*;

mod page;

/// Every command with its flags, by name.
fn commands() -> BTreeMap<String, clap::Command> {
    let mut root = command();
    root.build();
    all(&root).into_iter().map(|(name, command)| (name, command.clone())).collect()
}

/// The commands below a command in order, each followed by its own, under their full names.
fn all(root: &clap::Command) -> Vec<(String, &clap::Command)> {
    let mut found = Vec::new();
    for command in root.get_subcommands().filter(|c| c.get_name() != "help") {
        let name = command.get_name();
        found.push((name.to_owned(), command));
        found.extend(all(command).into_iter().map(|(inner, command)| (format!("{name} {inner}"), command)));
    }
    found
}

/// The flags of a command but `--help`, which every command has.
fn flags(command: &clap::Command) -> impl Iterator<Item = &clap::Arg> {
    command.get_arguments().filter(|arg| !arg.is_positional() && arg.get_id() != "help")
}

#[test]
fn the_command_tree_is_sound() {
    command().debug_assert();
}

#[test]
fn the_reference_page_is_what_the_command_tree_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    let page = page::render(command());
    if env::var_os("UPDATE").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &page).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(committed, page, "docs/cli.md is out of date: run the tests with UPDATE=1");
}

#[test]
fn every_flag_of_every_command_is_on_the_reference_page_with_its_help_and_variable() {
    let page = page::render(command());
    for (name, command) in commands() {
        let section = page.split("\n## ").find(|s| s.starts_with(&format!("`{name}`"))).unwrap();
        for arg in flags(&command) {
            let long = arg.get_long().unwrap();
            assert!(arg.get_help().is_some(), "{name} --{long} has no help");
            assert!(section.contains(&format!("`--{long}")), "{name} --{long} is not on the page");
            assert!(section.contains(&format!("`{}`", variable(long))), "{name} --{long} has no variable");
        }
    }
}

#[test]
fn every_flag_reads_the_variable_named_after_it() {
    for (name, command) in commands() {
        for arg in flags(&command) {
            let long = arg.get_long().unwrap();
            let set = arg.get_env().map(|v| v.to_string_lossy().into_owned());
            assert_eq!(set, Some(variable(long)), "{name} --{long}");
        }
    }
}

#[test]
fn a_flag_means_the_same_in_every_command_that_has_it() {
    let mut seen: BTreeMap<String, (String, String)> = BTreeMap::new();
    // The prompt of a completion, of a score and of a converted pair are different things.
    let own = ["prompt", "file", "ids", "raw"];
    for (name, command) in commands() {
        for arg in flags(&command) {
            let long = arg.get_long().unwrap();
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            let short = arg.get_short().map(String::from).unwrap_or_default();
            if own.contains(&long) {
                continue;
            }
            let (first, meaning) =
                seen.entry(long.to_owned()).or_insert((name.clone(), format!("{short} {help}")));
            assert_eq!(*meaning, format!("{short} {help}"), "--{long} of {first} and {name}");
        }
    }
}

#[test]
fn every_example_is_a_command_line() {
    for (name, examples) in super::EXAMPLES {
        for example in *examples {
            // Quoted or not, turn about; no example quotes part of a word.
            let words = example.split('\'').enumerate().flat_map(|(i, part)| {
                if i % 2 == 1 { vec![part] } else { part.split_whitespace().collect() }
            });
            let matches = command().try_get_matches_from(words);
            let matches = matches.unwrap_or_else(|error| panic!("{example}: {error}"));
            assert_eq!(matches.subcommand_name(), Some(*name), "{example}");
        }
    }
}
