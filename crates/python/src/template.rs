//! Chat templates of a checkpoint, and calls of tools in what a model wrote.

use std::path::PathBuf;

use pyo3::prelude::*;
use tilewright_engine::{CallParser, ChatTemplate, Message, Prompt, Refusal, RenderArgs, Tokenizer};
use tilewright_model::{Checkpoint, Code};

use crate::fields::Rendering;
use crate::refusal::ok;
use crate::value::from_python;

/// Renders messages. Tools that the template never looks at are refused.
///
/// # Errors
/// `request_invalid` for such tools, else those of the template.
pub(crate) fn render(
    template: &ChatTemplate,
    messages: &[Message],
    args: &RenderArgs,
) -> Result<Prompt, Refusal> {
    if !args.tools.is_empty() && !template.names("tools") {
        let expected = "none: the model's chat template has no place for them";
        return Err(Refusal::new(Code::RequestInvalid, "tools", expected, args.tools.len()));
    }
    template.render(messages, args)
}

/// The text that a conversation becomes by the template of a checkpoint.
#[pyfunction]
pub(crate) fn apply_template(
    py: Python<'_>,
    folder: PathBuf,
    messages: &Bound<'_, PyAny>,
    rendering: Rendering<'_>,
) -> PyResult<String> {
    let messages = from_python(messages)?;
    let args = rendering.resolve()?;
    let text = py.detach(|| {
        let checkpoint = Checkpoint::open(&folder)?;
        let tokenizer = Tokenizer::from_checkpoint(&checkpoint)?;
        let none = || Refusal::new(Code::TemplateInvalid, "chat template", "one in the checkpoint", "none");
        let template = ChatTemplate::from_checkpoint(&checkpoint, &tokenizer)?.ok_or_else(none)?;
        Ok(render(&template, &Message::list_from_json(&messages)?, &args)?.text().to_owned())
    });
    ok(py, text)
}

/// The text beside calls of tools, and the calls: name, arguments as JSON.
#[pyfunction]
pub(crate) fn split_calls(text: &str) -> (String, Vec<(String, String)>) {
    let mut parser = CallParser::any();
    let (mut content, calls) = parser.push(text);
    content.push_str(&parser.finish());
    (content, calls.into_iter().map(|call| (call.name, call.arguments)).collect())
}
