//! Flags from the environment: every flag can also be given by `TILEWRIGHT_` and its long name.
//!
//! The command line outranks the environment: also where a flag on the command line contradicts one of the
//! environment, which is then left aside instead of being called a contradiction.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

use clap::builder::{Resettable, Str, TypedValueParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, Id};

/// The environment variable of a long flag.
pub(crate) fn variable(long: &str) -> String {
    format!("TILEWRIGHT_{}", long.to_uppercase().replace('-', "_"))
}

/// Gives a flag its variable.
pub(super) fn with_variable(arg: Arg) -> Arg {
    let Some(name) = arg.get_long().map(variable) else { return arg };
    let switch = matches!(arg.get_action(), ArgAction::SetTrue);
    let valued = arg.get_action().takes_values();
    let arg = arg.allow_negative_numbers(valued).env(Str::from(name)).hide_env(true);
    if switch {
        arg.value_parser(clap::builder::StringValueParser::new().try_map(|text| on(&text)))
    } else {
        arg
    }
}

/// Variables that are no flag's. Those after the first three are of tests.
const OTHERS: [&str; 8] = [
    "TILEWRIGHT_LOG",
    "TILEWRIGHT_NVRTC",
    "TILEWRIGHT_CLANG",
    "TILEWRIGHT_GGUF_PYTHON",
    "TILEWRIGHT_QWEN3_TOKENIZER",
    "TILEWRIGHT_QWEN3_BASE",
    "TILEWRIGHT_FIXTURES",
    "TILEWRIGHT_SOAK_SECONDS",
];

/// Variables with our prefix that nothing reads, each with the nearest one that something does, if one is near.
pub(super) fn unread(command: &Command, names: Vec<String>) -> BTreeMap<String, Option<String>> {
    let mut known: BTreeSet<String> = OTHERS.iter().map(|name| (*name).to_owned()).collect();
    gather(command, &mut known);
    let nearest = |name: &str| {
        let near = known.iter().map(|other| (strsim::damerau_levenshtein(name, other), other));
        near.filter(|(distance, _)| *distance <= 3).min().map(|(_, other)| other.clone())
    };
    names
        .into_iter()
        .filter(|name| !known.contains(name))
        .map(|name| {
            let near = nearest(&name);
            (name, near)
        })
        .collect()
}

/// The variables of a command's flags and of those below it.
fn gather(command: &Command, known: &mut BTreeSet<String>) {
    known.extend(command.get_arguments().filter_map(Arg::get_long).map(variable));
    command.get_subcommands().for_each(|below| gather(below, known));
}

/// Whether the value of a switch's variable means on; an empty one is as good as none.
fn on(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" | "y" | "t" => Ok(true),
        "" | "0" | "false" | "no" | "off" | "n" | "f" => Ok(false),
        _ => Err("a switch is 1, true, yes or on; or 0, false, no or off".to_owned()),
    }
}

/// Whether the variable of a switch is on.
pub(super) fn is_on(long: &str) -> bool {
    std::env::var(variable(long)).is_ok_and(|text| on(&text) == Ok(true))
}

/// `command` without the variables of flags that `words` on the command line contradict.
pub(super) fn outranked(command: Command, words: &[OsString]) -> Command {
    let spelled = command.clone().ignore_errors(true).try_get_matches_from(words);
    // Help and version answer before the environment matters.
    match spelled {
        Ok(matches) => without_contradicted(command, &matches),
        Err(_) => command,
    }
}

fn without_contradicted(command: Command, matches: &ArgMatches) -> Command {
    let given = |id: &Id| matches.value_source(id.as_str()) == Some(ValueSource::CommandLine);
    let typed: Vec<&Arg> = command.get_arguments().filter(|arg| given(arg.get_id())).collect();
    let contradicted: BTreeSet<Id> = command
        .get_arguments()
        .filter(|arg| !given(arg.get_id()) && typed.iter().any(|typed| contradict(&command, typed, arg)))
        .map(|arg| arg.get_id().clone())
        .collect();
    let command = command.mut_args(|arg| {
        if contradicted.contains(arg.get_id()) {
            arg.env(Resettable::<clap::builder::OsStr>::Reset)
        } else {
            arg
        }
    });
    match matches.subcommand() {
        Some((name, inner)) => command.mut_subcommand(name, |c| without_contradicted(c, inner)),
        None => command,
    }
}

/// Whether two flags cannot be given together: one says so, or a group takes only one of its members.
fn contradict(command: &Command, a: &Arg, b: &Arg) -> bool {
    let says = |a: &Arg, b: &Arg| command.get_arg_conflicts_with(a).iter().any(|c| c.get_id() == b.get_id());
    let group = command.get_groups().cloned().any(|mut group| {
        let members: Vec<&Id> = group.get_args().collect();
        members.contains(&a.get_id()) && members.contains(&b.get_id()) && !group.is_multiple()
    });
    says(a, b) || says(b, a) || group
}
