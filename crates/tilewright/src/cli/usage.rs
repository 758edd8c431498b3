//! Command lines that do not parse, in the words of refusals.

use std::error::Error;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use tilewright_model::{Code, Finding, Refusal};

#[cfg(test)]
mod tests;

/// What the parser found, as a refusal. `None` where help is shown in place of a message.
pub(crate) fn refusal(error: &clap::Error) -> Option<Refusal> {
    let said = |kind| error.get(kind).map(words).unwrap_or_default();
    let one = |kind| said(kind).into_iter().next();
    let what = one(ContextKind::InvalidArg).unwrap_or_else(|| "command line".to_owned());
    let finding = |expected: String, got: String| vec![Finding::new(what.clone(), expected, got)];
    let findings = match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => return None,
        ErrorKind::InvalidValue => {
            let values = said(ContextKind::ValidValue);
            let expected = if values.is_empty() { "a value".to_owned() } else { values.join(", ") };
            let got = one(ContextKind::InvalidValue).filter(|value| !value.is_empty());
            finding(expected, got.unwrap_or_else(|| "none".to_owned()))
        }
        ErrorKind::ValueValidation => {
            let fault = error.source().map(|fault| format!(" ({fault})")).unwrap_or_default();
            finding(format!("another value{fault}"), one(ContextKind::InvalidValue).unwrap_or_default())
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
            let expected = if near.is_empty() { "one that --help lists".to_owned() } else { near.join(", ") };
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
