//! Tools: what a request offers, and which call it forces. Calls in replies are found by [`CallParser`].

use serde_json::{Value, json};
use tilewright_engine::{CALL_CLOSE as CLOSE, CALL_OPEN as OPEN, CallParser, Code, Refusal};

use crate::body::{Fields, brief};

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
        let names = || self.list.iter().filter_map(|tool| function(tool).map(str::to_owned));
        (!self.list.is_empty()).then(|| CallParser::of(names()))
    }

    /// A grammar of calls alone, where one is forced: Lark, with a JSON schema for each tool.
    ///
    /// # Errors
    /// `grammar_invalid` for parameters that are no schema.
    pub(crate) fn grammar(&self) -> Result<Option<String>, Refusal> {
        if self.forced.is_empty() {
            return Ok(None);
        }
        let calls = self.forced.iter().enumerate().map(|(index, tool)| {
            let mut parameters = parameters(tool).cloned().unwrap_or(json!({"type": "object"}));
            if !parameters.is_object() {
                let got = brief(&parameters);
                return Err(Refusal::new(Code::GrammarInvalid, "parameters", "a JSON schema", got));
            }
            if parameters.get("type").is_some_and(|kind| kind != "object") {
                let got = brief(&parameters["type"]);
                return Err(Refusal::new(Code::GrammarInvalid, "type of parameters", "object", got));
            }
            let place = match self.forced.len() {
                1 => "#/properties/arguments".to_owned(),
                _ => format!("#/anyOf/{index}/properties/arguments"),
            };
            move_references(&mut parameters, &place);
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

/// Keywords of JSON Schema whose objects hold schemas by names of the schema's author.
const NAMED: [&str; 5] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/// Makes references within a schema lead to where it lies inside another: at `place`.
fn move_references(schema: &mut Value, place: &str) {
    match schema {
        Value::Object(keys) => {
            for (key, value) in keys {
                match value {
                    Value::String(to) if key == "$ref" && (to == "#" || to.starts_with("#/")) => {
                        *to = format!("{place}{}", &to[1..]);
                    }
                    // Keys of these are names, whatever they are called.
                    Value::Object(named) if NAMED.contains(&key.as_str()) => {
                        named.values_mut().for_each(|schema| move_references(schema, place));
                    }
                    // Values and not schemas.
                    _ if matches!(key.as_str(), "const" | "enum" | "default" | "examples") => {}
                    value => move_references(value, place),
                }
            }
        }
        Value::Array(parts) => parts.iter_mut().for_each(|part| move_references(part, place)),
        _ => {}
    }
}

/// Whether a tool is described as it has to be.
fn is_tool(tool: &Value) -> bool {
    let is = |key: &str, kind: fn(&Value) -> bool| {
        tool["function"].get(key).is_none_or(|value| value.is_null() || kind(value))
    };
    function(tool).is_some()
        && is("parameters", Value::is_object)
        && is("description", Value::is_string)
        && is("strict", Value::is_boolean)
}
