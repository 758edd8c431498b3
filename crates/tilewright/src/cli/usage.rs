//! Command lines that do not parse, in the words of refusals.

use std::error::Error;
use std::net::AddrParseError;
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use tilewright_model::{Code, Finding, Refusal};

use super::environment::variable;

#[cfg(test)]
mod tests;

/// What the parser found, as a refusal. `None` where help is shown in place of a message.
pub(crate) fn refusal(error: &clap::Error) -> Option<Refusal> {
    let said = |kind| error.get(kind).map(words).unwrap_or_default();
    let one = |kind| said(kind).into_iter().next();
    let what = one(ContextKind::InvalidArg).unwrap_or_else(|| "command line".to_owned());
    let value = one(ContextKind::InvalidValue).unwrap_or_default();
    let what = match error.kind() {
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => with_source(what, &value),
        _ => what,
    };
    let finding = |expected: String, got: String| vec![Finding::new(what.clone(), expected, got)];
    let findings = match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => return None,
        ErrorKind::InvalidValue => {
            let values = said(ContextKind::ValidValue);
            let expected = if values.is_empty() { "a value".to_owned() } else { values.join(", ") };
            finding(expected, if value.is_empty() { "none".to_owned() } else { value })
        }
        ErrorKind::ValueValidation => finding(value_for(error.source(), &value), value),
        ErrorKind::UnknownArgument if !what.starts_with('-') => {
            let prompt = usage(error).is_some_and(|usage| usage.contains("--prompt <TEXT>"));
            let place = if prompt { ": a text to continue comes after -p, in quotes" } else { "" };
            finding(format!("only flags and their values here{place}"), "a word by itself".to_owned())
        }
        ErrorKind::UnknownArgument => {
            let near = one(ContextKind::SuggestedArg).map(|near| format!("; {near} is one"));
            finding(
                format!("a flag that the command has{}", near.unwrap_or_default()),
                "an unknown one".to_owned(),
            )
        }
        ErrorKind::InvalidSubcommand => {
            let near = said(ContextKind::SuggestedSubcommand);
            let near = if near.is_empty() { String::new() } else { format!("; {} is one", near.join(", ")) };
            let expected = format!("one that --help lists{near}");
            let got = one(ContextKind::InvalidSubcommand).unwrap_or_default();
            vec![Finding::new("command", expected, got)]
        }
        ErrorKind::MissingRequiredArgument => said(ContextKind::InvalidArg)
            .into_iter()
            .map(|missing| Finding::new(missing, "one that is given", "none"))
            .collect(),
        ErrorKind::ArgumentConflict => {
            let others = said(ContextKind::PriorArg).join(", ");
            if others.is_empty() || others == what {
                finding("it once".to_owned(), "it again".to_owned())
            } else {
                finding(format!("none, as it cannot be used with {others}"), "one".to_owned())
            }
        }
        _ => {
            let message = error.to_string();
            let line = message.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
            finding("what --help describes".to_owned(), line)
        }
    };
    Some(Refusal::with_findings(Code::UsageInvalid, findings))
}

/// A flag, with its variable where that holds the value: nobody looks there for a flag they did not give.
fn with_source(what: String, value: &str) -> String {
    let long = what.strip_prefix("--").and_then(|rest| rest.split(' ').next());
    match long.map(variable) {
        Some(name) if std::env::var(&name).is_ok_and(|held| held == value) => format!("{what}, by {name}"),
        _ => what,
    }
}

/// What a flag takes whose `value` was not read for this reason.
fn value_for(fault: Option<&(dyn Error + 'static)>, value: &str) -> String {
    let Some(fault) = fault else { return "another value".to_owned() };
    if let Some(fault) = fault.downcast_ref::<ParseIntError>() {
        let number = match fault.kind() {
            IntErrorKind::PosOverflow => "a smaller whole number",
            IntErrorKind::NegOverflow => "a greater whole number",
            IntErrorKind::Zero => "a whole number of at least 1",
            // Where numbers below 0 are taken, these digits would have been read.
            _ if value.strip_prefix('-').is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit())) => {
                "a whole number of at least 0"
            }
            _ => "a whole number, in digits",
        };
        return number.to_owned();
    }
    if fault.is::<ParseFloatError>() {
        return "a number, such as 0.7".to_owned();
    }
    if fault.is::<AddrParseError>() {
        return "an address in numbers, such as 127.0.0.1 for this machine alone".to_owned();
    }
    format!("another value ({fault})")
}

/// How the command is used, if the parser says so.
pub(crate) fn usage(error: &clap::Error) -> Option<String> {
    match error.get(ContextKind::Usage)? {
        ContextValue::StyledStr(usage) => Some(usage.to_string()),
        _ => None,
    }
}

fn words(value: &ContextValue) -> Vec<String> {
    match value {
        ContextValue::String(one) => vec![one.clone()],
        ContextValue::Strings(many) => many.clone(),
        ContextValue::StyledStr(one) => vec![one.to_string()],
        ContextValue::StyledStrs(many) => many.iter().map(ToString::to_string).collect(),
        ContextValue::Number(n) => vec![n.to_string()],
        ContextValue::Bool(b) => vec![b.to_string()],
        _ => Vec::new(),
    }
}
