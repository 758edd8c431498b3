//! Groups of flags that commands share, each with the step that turns what was typed into what it means.
//!
//! Whatever clap can judge alone (a number that is none, two prompts at once) is a usage error. Whatever needs the
//! model (a range, a vocabulary) is left to the engine, which refuses it by name with every other mismatch.

mod model;
mod output;
mod prompt;
mod read;
mod sampling;
mod stopping;
mod template;

pub(crate) use model::{ModelChoice, ModelFlags};
pub(crate) use output::OutputFlags;
pub(crate) use prompt::{Frame, Prompt, PromptFlags};
pub(crate) use read::read_text;
pub(crate) use sampling::SamplingFlags;
pub(crate) use stopping::{Limits, StoppingFlags};
pub(crate) use template::{Reasoning, TemplateChoice, TemplateFlags};
