//! The chat template and the reasoning block.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};
use serde_json::{Map, Value};
use tilewright_model::Refusal;

use super::read_text;

/// Flags about the chat template. Any of the first four also means that the template is applied.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Chat template")]
#[command(group = ArgGroup::new("template").multiple(true)
    .args(["system", "chat_template", "template_arg", "thinking"]))]
pub(crate) struct TemplateFlags {
    /// System message before the conversation
    #[arg(long, value_name = "TEXT")]
    pub system: Option<String>,

    /// Jinja file to use in place of the model's chat template
    #[arg(long, value_name = "FILE")]
    pub chat_template: Option<PathBuf>,

    /// Value handed to the template; JSON, or else a string (repeat for several)
    #[arg(long, value_name = "K=V", value_parser = parse_argument)]
    pub template_arg: Vec<(String, Value)>,

    /// Hand enable_thinking to the template
    #[arg(long, value_name = "on|off", value_enum)]
    pub thinking: Option<Switch>,

    /// What to do with a `<think>` block in the reply: print it as it comes, hide it, or split it off (to standard
    /// error; with --json to a field of its own)
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    pub reasoning: Reasoning,
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    /// On.
    On,
    /// Off.
    Off,
}

/// What happens to a reasoning block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Reasoning {
    /// The text is printed as the model wrote it.
    #[default]
    Show,
    /// The block is left out.
    Hide,
    /// The block goes elsewhere than the answer.
    Split,
}

impl TemplateFlags {
    /// Whether a flag was given that has a meaning only when the template is applied.
    pub(crate) fn implies_chat(&self) -> bool {
        self.system.is_some()
            || self.chat_template.is_some()
            || !self.template_arg.is_empty()
            || self.thinking.is_some()
    }

    /// Resolves the flags, reading the template file they name.
    ///
    /// # Errors
    /// `file_unreadable`.
    pub(crate) fn resolve(self) -> Result<TemplateChoice, Refusal> {
        let place = self.chat_template.as_ref().map(|path| path.display().to_string());
        let text = self.chat_template.map(|path| read_text(&path)).transpose()?;
        Ok(TemplateChoice {
            file: text.zip(place),
            enable_thinking: self.thinking.map(|switch| switch == Switch::On),
            arguments: self.template_arg.into_iter().collect(),
            reasoning: self.reasoning,
        })
    }
}

/// What the flags mean.
#[derive(Clone, Debug)]
pub(crate) struct TemplateChoice {
    /// A template in place of the model's, and where it came from.
    pub file: Option<(String, String)>,
    /// Whether the model may reason; `None` leaves it to the template.
    pub enable_thinking: Option<bool>,
    /// Further arguments, later ones in place of earlier ones.
    pub arguments: Map<String, Value>,
    /// What happens to a reasoning block.
    pub reasoning: Reasoning,
}

fn parse_argument(text: &str) -> Result<(String, Value), String> {
    let (key, value) = text
        .split_once('=')
        .filter(|(key, _)| !key.is_empty())
        .ok_or_else(|| format!("`{text}` is not KEY=VALUE"))?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
    Ok((key.to_owned(), value))
}

#[cfg(test)]
mod tests;
