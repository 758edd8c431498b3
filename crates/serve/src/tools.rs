//! Tools: what a request offers, and calls in a reply as Qwen3 writes them.
//!
//! A call is `<tool_call>`, an object with `name` and `arguments`, `</tool_call>`. A block that is something else, or calls a
//! tool that was not offered, is text and stays in the text.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tilewright_engine::{Code, Refusal};

use crate::body::{Fields, brief};

const OPEN: &str = "<tool_call>";

/// The end of a call.
pub(crate) const CLOSE: &str = "</tool_call>";

/// A call in a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) name: String,
    /// An object, as text.
    pub(crate) arguments: String,
}

/// What a request says about tools.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tools {
    /// As given, for the template.
    pub(crate) list: Vec<Value>,
    /// Whether several calls may be made.
    pub(crate) parallel: bool,
    /// Those of which one must be called.
    pub(crate) forced: Vec<Value>,
}

impl Tools {
    pub(crate) fn read(fields: &mut Fields) -> Self {
        let mut list = match fields.take("tools") {
            None => Vec::new(),
            Some(Value::Array(list)) => list,
            Some(other) => {
                fields.refuse("tools", "a list", brief(&other));
                Vec::new()
            }
        };
        if let Some(bad) = list.iter().find(|tool| !is_tool(tool)) {
            fields.refuse("tools", r#"objects {"type": "function", "function": {"name", ...}}"#, brief(bad));
        }
        let parallel = fields.flag("parallel_tool_calls").unwrap_or(true);
        let mut forced = Vec::new();
        match fields.take("tool_choice") {
            None => {}
            Some(Value::String(choice)) if choice == "auto" => {}
            Some(Value::String(choice)) if choice == "none" => list.clear(),
            Some(Value::String(choice)) if choice == "required" && !list.is_empty() => {
                forced.clone_from(&list)
            }
            Some(choice) => {
                let name = choice.pointer("/function/name").or_else(|| choice.get("name"));
                forced.extend(
                    list.iter().filter(|tool| function(tool) == name.and_then(Value::as_str)).cloned(),
                );
                if forced.is_empty() || name.is_none() {
                    fields.refuse("tool_choice", "auto, none, required or one of tools", brief(&choice));
                }
            }
        }
        Self { list, parallel, forced }
    }

    /// What finds calls in a reply; none where no tools are offered.
    pub(crate) fn parser(&self) -> Option<CallParser> {
        (!self.list.is_empty()).then(|| CallParser {
            names: self.list.iter().filter_map(|tool| function(tool).map(str::to_owned)).collect(),
            state: State::Text,
            held: String::new(),
        })
    }

    /// A grammar of calls alone, where one is forced: Lark, with a JSON schema for each tool.
    ///
    /// # Errors
    /// `grammar_invalid` for parameters that are no schema.
    pub(crate) fn grammar(&self) -> Result<Option<String>, Refusal> {
        if self.forced.is_empty() {
            return Ok(None);
        }
        let calls = self.forced.iter().map(|tool| {
            let parameters = parameters(tool).cloned().unwrap_or(json!({"type": "object"}));
            if !parameters.is_object() {
                let got = brief(&parameters);
                return Err(Refusal::new(Code::GrammarInvalid, "parameters", "a JSON schema", got));
            }
            Ok(json!({
                "type": "object",
                "properties": {"name": {"const": function(tool)}, "arguments": parameters},
                "required": ["name", "arguments"],
                "additionalProperties": false,
            }))
        });
        let calls: Vec<Value> = calls.collect::<Result<_, _>>()?;
        let mut schema = match calls.as_slice() {
            [one] => one.clone(),
            _ => json!({"anyOf": calls}),
        };
        crate::structured::compact(&mut schema);
        let more = if self.parallel { r#" ("\n" call)*"# } else { "" };
        Ok(Some(format!(
            "start: call{more}\ncall: \"{OPEN}\\n\" body \"\\n{CLOSE}\"\nbody: %json {schema}\n"
        )))
    }
}

/// The name of a tool.
fn function(tool: &Value) -> Option<&str> {
    (tool.get("type")?.as_str()? == "function").then(|| tool.pointer("/function/name")?.as_str()).flatten()
}

/// The schema of a tool's arguments; `null` counts as absent.
fn parameters(tool: &Value) -> Option<&Value> {
    tool.pointer("/function/parameters").filter(|parameters| !parameters.is_null())
}

/// Whether a tool is described as it has to be.
fn is_tool(tool: &Value) -> bool {
    function(tool).is_some() && parameters(tool).is_none_or(Value::is_object)
}

/// Finds calls in an answer that comes in pieces. What it gives over all pieces does not depend on where they are cut.
#[derive(Clone, Debug)]
pub(crate) struct CallParser {
    names: Arc<[String]>,
    state: State,
    /// Text that may yet turn out to be the beginning of a call, or is within one.
    held: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Text,
    /// After an opening tag.
    Inside,
    /// After a call: white space belongs to nothing.
    After,
}

impl CallParser {
    /// Takes a piece: text that is certain, and calls that are complete.
    pub(crate) fn push(&mut self, piece: &str) -> (String, Vec<Call>) {
        self.held.push_str(piece);
        let (mut text, mut calls) = (String::new(), Vec::new());
        loop {
            match self.state {
                State::After => {
                    let kept = self.held.trim_start().len();
                    self.held.drain(..self.held.len() - kept);
                    if self.held.is_empty() {
                        return (text, calls);
                    }
                    self.state = State::Text;
                }
                State::Text => match self.held.find(OPEN) {
                    Some(at) => {
                        text.push_str(self.held[..at].trim_end());
                        // The white space stays in case the block is text after all.
                        self.held.drain(..self.held[..at].trim_end().len());
                        self.state = State::Inside;
                    }
                    None => {
                        let certain = self.held.len() - uncertain(&self.held);
                        text.extend(self.held.drain(..certain));
                        return (text, calls);
                    }
                },
                State::Inside => {
                    let Some(end) = self.held.find(CLOSE) else { return (text, calls) };
                    let rest = self.held.split_off(end + CLOSE.len());
                    let block = std::mem::replace(&mut self.held, rest);
                    let start = block.find(OPEN).map_or(0, |at| at + OPEN.len());
                    match self.read(&block[start..block.len() - CLOSE.len()]) {
                        Some(call) => {
                            calls.push(call);
                            self.state = State::After;
                        }
                        None => {
                            text.push_str(&block);
                            self.state = State::Text;
                        }
                    }
                }
            }
        }
    }

    /// Ends the answer: what was held is text.
    pub(crate) fn finish(&mut self) -> String {
        let held = std::mem::take(&mut self.held);
        if self.state == State::After { String::new() } else { held }
    }

    fn read(&self, block: &str) -> Option<Call> {
        let mut object: Map<String, Value> = serde_json::from_str(block.trim()).ok()?;
        let name = object.remove("name")?.as_str()?.to_owned();
        let arguments = object.remove("arguments").unwrap_or_else(|| json!({}));
        let good = object.is_empty() && arguments.is_object() && self.names.contains(&name);
        good.then(|| Call { name, arguments: arguments.to_string() })
    }
}

/// Bytes at the end of `text` that may be white space and the beginning of an opening tag.
fn uncertain(text: &str) -> usize {
    let tag = (1..OPEN.len()).rev().find(|&n| text.ends_with(&OPEN[..n])).unwrap_or(0);
    text.len() - text[..text.len() - tag].trim_end().len()
}

#[cfg(test)]
mod tests;
