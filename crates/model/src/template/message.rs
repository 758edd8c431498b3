//! A conversation, read as a closed set of fields.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::fields::Fields;
use crate::json::show;
use crate::{Code, Finding, Refusal};

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChatRole {
    /// Instructions. The role `developer` is read as this one.
    System,
    /// The person.
    User,
    /// The model.
    Assistant,
    /// The result of a tool the model called.
    Tool,
}

impl ChatRole {
    /// The name templates know.
    pub fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }

    fn read(name: &str) -> Option<Self> {
        match name {
            "system" | "developer" => Some(Self::System),
            "user" => Some(Self::User),
            "assistant" => Some(Self::Assistant),
            "tool" => Some(Self::Tool),
            _ => None,
        }
    }
}

/// One message. Content given as a list of text parts is joined in order.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Value")]
pub struct Message {
    /// Who speaks.
    pub role: ChatRole,
    /// What is said. Empty where an assistant only calls tools.
    pub content: String,
    /// The reasoning before the answer of an assistant, if it is kept apart.
    pub reasoning_content: Option<String>,
    /// The calls of an assistant, as given: `{"function": {"name", "arguments"}}` or the inner object alone.
    pub tool_calls: Vec<Value>,
    /// The call that a tool answers.
    pub tool_call_id: Option<String>,
    /// The name of the speaker or tool.
    pub name: Option<String>,
}

impl Message {
    /// A message of text.
    pub fn new(role: ChatRole, content: impl Into<String>) -> Self {
        Self {
            role,
            content: content.into(),
            reasoning_content: None,
            tool_calls: Vec::new(),
            tool_call_id: None,
            name: None,
        }
    }

    /// Reads one message.
    ///
    /// # Errors
    /// [`Code::MessageInvalid`] with every field that is not understood, [`Code::ContentUnsupported`] when that is
    /// content other than text.
    pub fn from_json(value: &Value) -> Result<Self, Refusal> {
        Self::list_from_json(&Value::Array(vec![value.clone()])).and_then(|mut list| {
            let missing = || Refusal::new(Code::MessageInvalid, "messages", "one message", "none");
            list.pop().ok_or_else(missing)
        })
    }

    /// Reads a list of messages.
    ///
    /// # Errors
    /// As [`from_json`](Self::from_json), for the whole list at once.
    pub fn list_from_json(value: &Value) -> Result<Vec<Self>, Refusal> {
        let Value::Array(items) = value else {
            return Err(Refusal::new(Code::MessageInvalid, "messages", "a list", show(value)));
        };
        let (mut findings, mut unsupported, mut messages) = (Vec::new(), Vec::new(), Vec::new());
        for (index, item) in items.iter().enumerate() {
            let path = format!("messages[{index}]");
            messages.extend(read(&path, item, &mut findings, &mut unsupported));
        }
        Refusal::check(Code::ContentUnsupported, unsupported)?;
        Refusal::check(Code::MessageInvalid, findings)?;
        Ok(messages)
    }

    /// What a template sees.
    pub(super) fn to_value(&self) -> Value {
        let mut object = Map::new();
        object.insert("role".to_owned(), json!(self.role.name()));
        object.insert("content".to_owned(), json!(self.content));
        if let Some(reasoning) = &self.reasoning_content {
            object.insert("reasoning_content".to_owned(), json!(reasoning));
        }
        if !self.tool_calls.is_empty() {
            object.insert("tool_calls".to_owned(), json!(self.tool_calls));
        }
        if let Some(id) = &self.tool_call_id {
            object.insert("tool_call_id".to_owned(), json!(id));
        }
        if let Some(name) = &self.name {
            object.insert("name".to_owned(), json!(name));
        }
        Value::Object(object)
    }
}

impl TryFrom<Value> for Message {
    type Error = Refusal;

    fn try_from(value: Value) -> Result<Self, Refusal> {
        Self::from_json(&value)
    }
}

/// Reads the message at `path`. Findings about content other than text go to `unsupported`.
fn read(
    path: &str,
    value: &Value,
    findings: &mut Vec<Finding>,
    unsupported: &mut Vec<Finding>,
) -> Option<Message> {
    let mut fields = Fields::open(path, value, findings)?;
    let name = fields.text("role", findings);
    let role = name.and_then(ChatRole::read);
    if let (Some(name), None) = (name, role) {
        findings.push(Finding::new(fields.at("role"), "system, developer, user, assistant or tool", name));
    }
    let content = content(&mut fields, findings, unsupported);
    let tool_calls = match fields.get("tool_calls") {
        None => Vec::new(),
        Some(Value::Array(calls)) => calls.clone(),
        Some(other) => {
            findings.push(Finding::new(fields.at("tool_calls"), "a list", show(other)));
            Vec::new()
        }
    };
    for (index, call) in tool_calls.iter().enumerate() {
        check_call(&fields.at(&format!("tool_calls[{index}]")), call, findings);
    }
    let mut optional = |key| fields.get(key).is_some().then(|| fields.text(key, findings)).flatten();
    let (reasoning, call_id, speaker) =
        (optional("reasoning_content"), optional("tool_call_id"), optional("name"));
    if content.is_none() && tool_calls.is_empty() {
        findings.push(Finding::new(fields.at("content"), "a string or a list of text parts", "nothing"));
    }
    if role != Some(ChatRole::Assistant) && !tool_calls.is_empty() {
        findings.push(Finding::new(fields.at("tool_calls"), "none, except from an assistant", "some"));
    }
    fields.close(findings);
    Some(Message {
        role: role?,
        content: content.unwrap_or_default(),
        reasoning_content: reasoning.map(str::to_owned),
        tool_calls,
        tool_call_id: call_id.map(str::to_owned),
        name: speaker.map(str::to_owned),
    })
}

/// The text of a message, `None` when there is none.
fn content(
    fields: &mut Fields<'_>,
    findings: &mut Vec<Finding>,
    unsupported: &mut Vec<Finding>,
) -> Option<String> {
    let parts = match fields.get("content")? {
        Value::String(text) => return Some(text.clone()),
        Value::Array(parts) => parts,
        other => {
            findings.push(Finding::new(
                fields.at("content"),
                "a string or a list of text parts",
                show(other),
            ));
            return Some(String::new());
        }
    };
    let mut text = String::new();
    for (index, part) in parts.iter().enumerate() {
        let path = fields.at(&format!("content[{index}]"));
        let Some(mut part) = Fields::open(&path, part, findings) else { continue };
        match part.text("type", findings) {
            Some("text") => text.push_str(part.text("text", findings).unwrap_or_default()),
            Some(kind) => {
                unsupported.push(Finding::new(part.at("type"), "text", kind));
                continue;
            }
            None => {}
        }
        part.close(findings);
    }
    Some(text)
}

fn check_call(path: &str, call: &Value, findings: &mut Vec<Finding>) {
    let Some(mut fields) = Fields::open(path, call, findings) else { return };
    if let Some(inner) = fields.get("function") {
        for key in ["id", "type", "index"] {
            fields.get(key);
        }
        let inner_path = fields.at("function");
        fields.close(findings);
        let Some(inner) = Fields::open(&inner_path, inner, findings) else { return };
        fields = inner;
    }
    fields.text("name", findings);
    match fields.get("arguments") {
        None | Some(Value::Object(_) | Value::String(_)) => {}
        Some(other) => {
            findings.push(Finding::new(fields.at("arguments"), "an object or its text", show(other)));
        }
    }
    fields.close(findings);
}
