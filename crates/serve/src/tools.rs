//! Tools: what a request offers, and which call it forces. Calls in replies are found by [`CallParser`].

use serde_json::{Value, json};
use tilewright_engine::{CALL_CLOSE as CLOSE, CALL_OPEN as OPEN, CallParser, Code, Refusal};

use crate::body::{Fields, brief};
use crate::{keywords, structured};

/// Tools that one request may offer.
const MOST: usize = 128;

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
        let list = offered(fields);
        let parallel = fields.flag("parallel_tool_calls").unwrap_or(true);
        let choice = fields.take("tool_choice");
        // A function that is named is called once.
        let once = choice.as_ref().is_some_and(|choice| choice["type"] == "function");
        let (list, forced) = chosen(fields, choice, list);
        Self { list, parallel: parallel && !once, forced }
    }

    /// What finds calls in a reply; none where no tools are offered.
    pub(crate) fn parser(&self) -> Option<CallParser> {
        let names = || self.list.iter().filter_map(|tool| function(tool).map(str::to_owned));
        (!self.list.is_empty()).then(|| CallParser::of(names()))
    }

    /// A grammar in Lark's notation, with a JSON schema for each tool: calls alone where one is forced; where an answer has to
    /// keep a schema, such an answer or calls. None where tools bind nothing.
    ///
    /// # Errors
    /// `grammar_invalid` for parameters or an answer that are no schema.
    pub(crate) fn grammar(&self, answer: Option<&Value>) -> Result<Option<String>, Refusal> {
        let (tools, answer) = match (self.forced.as_slice(), answer) {
            ([], Some(answer)) if !self.list.is_empty() => (self.list.as_slice(), Some(answer)),
            ([], _) => return Ok(None),
            (forced, _) => (forced, None),
        };
        let body = calls(tools)?;
        let more = if self.parallel { r#" ("\n" call)*"# } else { "" };
        let (or, rule) = match answer {
            None => ("", String::new()),
            Some(answer) => {
                keywords::check("schema", answer)?;
                let mut answer = answer.clone();
                structured::compact(&mut answer);
                ("answer | ", format!("answer: %json {answer}\n"))
            }
        };
        Ok(Some(format!(
            "start: {or}call{more}\n{rule}call: \"{OPEN}\\n\" body \"\\n{CLOSE}\"\nbody: %json {body}\n"
        )))
    }
}

/// The tools of a request, each of them as it has to be.
fn offered(fields: &mut Fields) -> Vec<Value> {
    let list = match fields.take("tools") {
        None => Vec::new(),
        Some(Value::Array(list)) if list.len() <= MOST => list,
        Some(other) => {
            let got = other.as_array().map_or_else(|| brief(&other), |list| list.len().to_string());
            fields.refuse("tools", &format!("a list of at most {MOST}"), got);
            Vec::new()
        }
    };
    let mut names: Vec<String> =
        list.iter().enumerate().filter_map(|(index, tool)| check(fields, index, tool)).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        fields.refuse("tools", "names that differ", format!("{} twice", pair[0]));
    }
    list
}

/// Checks a tool; its name.
fn check(fields: &mut Fields, index: usize, tool: &Value) -> Option<String> {
    let mut tool = fields.within(&format!("tools[{index}]"), tool.clone())?;
    let kind = tool.text("type");
    if let Some(other) = tool.needed("type", kind).filter(|kind| kind != "function") {
        tool.refuse("type", "function", other);
    }
    let inner = tool.object("function");
    let name = tool.needed("function", inner).and_then(|mut inner| {
        let name = inner.name("name");
        let name = inner.needed("name", name);
        inner.text("description");
        // Any object may be parameters: whether they are a schema is asked where they are enforced.
        drop(inner.object("parameters"));
        // Calls that are forced keep their parameters whatever it says; others are the model's own.
        inner.flag("strict");
        tool.absorb(inner);
        name
    });
    fields.absorb(tool);
    name
}

/// The tools that may be called, and those of which one must be.
fn chosen(fields: &mut Fields, choice: Option<Value>, list: Vec<Value>) -> (Vec<Value>, Vec<Value>) {
    match choice {
        None => (list, Vec::new()),
        Some(Value::String(word)) if word == "auto" => (list, Vec::new()),
        Some(Value::String(word)) if word == "none" => (Vec::new(), Vec::new()),
        Some(Value::String(word)) if word == "required" && !list.is_empty() => (list.clone(), list),
        Some(choice @ Value::Object(_)) => match some(fields, choice, &list) {
            Some((few, true)) => (few.clone(), few),
            Some((few, false)) => (few, Vec::new()),
            None => (list, Vec::new()),
        },
        Some(other) => {
            fields.refuse("tool_choice", "auto, none, required with tools, or an object", brief(&other));
            (list, Vec::new())
        }
    }
}

/// The tools that an object names, and whether one must be called. One that is named alone hides no other.
fn some(fields: &mut Fields, choice: Value, list: &[Value]) -> Option<(Vec<Value>, bool)> {
    let mut choice = fields.within("tool_choice", choice)?;
    let kind = choice.text("type");
    let found = match choice.needed("type", kind).as_deref() {
        Some("function") => named(&mut choice, list).map(|one| (vec![one], true)),
        Some("allowed_tools") => {
            let inner = choice.object("allowed_tools");
            choice.needed("allowed_tools", inner).and_then(|mut inner| {
                let found = allowed(&mut inner, list);
                choice.absorb(inner);
                found
            })
        }
        Some(other) => {
            choice.refuse("type", "function or allowed_tools", other);
            None
        }
        None => None,
    };
    fields.absorb(choice);
    found
}

/// The tool that `{"function": {"name"}}` names.
fn named(fields: &mut Fields, list: &[Value]) -> Option<Value> {
    let inner = fields.object("function");
    let mut inner = fields.needed("function", inner)?;
    let name = inner.text("name");
    let name = inner.needed("name", name);
    let found = name.as_deref().and_then(|name| list.iter().find(|tool| function(tool) == Some(name)));
    if let (Some(name), None) = (&name, found) {
        inner.refuse("name", "that of one of tools", name);
    }
    fields.absorb(inner);
    found.cloned()
}

/// The tools that `{"mode", "tools"}` names, and whether one must be called.
fn allowed(fields: &mut Fields, list: &[Value]) -> Option<(Vec<Value>, bool)> {
    let mode = fields.text("mode");
    let mode = fields.needed("mode", mode)?;
    if mode != "auto" && mode != "required" {
        fields.refuse("mode", "auto or required", &mode);
    }
    let tools = match fields.take("tools") {
        Some(Value::Array(tools)) if (1..=MOST).contains(&tools.len()) => tools,
        other => {
            fields.refuse("tools", "a list of at least one of tools", brief(&other.unwrap_or_default()));
            return None;
        }
    };
    let mut few = Vec::new();
    for (index, tool) in tools.into_iter().enumerate() {
        let mut one = fields.within(&format!("tool_choice.allowed_tools.tools[{index}]"), tool)?;
        let kind = one.text("type");
        if let Some(other) = one.needed("type", kind).filter(|kind| kind != "function") {
            one.refuse("type", "function", other);
        }
        few.extend(named(&mut one, list));
        fields.absorb(one);
    }
    Some((few, mode == "required"))
}

/// A schema of a call of one of these.
fn calls(tools: &[Value]) -> Result<Value, Refusal> {
    let one = |(index, tool): (usize, &Value)| {
        let mut parameters = parameters(tool).cloned().unwrap_or(json!({"type": "object"}));
        let name = function(tool).unwrap_or_default();
        keywords::check(&format!("parameters of {name}"), &parameters)?;
        if parameters.get("type").is_some_and(|kind| kind != "object") {
            let got = brief(&parameters["type"]);
            return Err(Refusal::new(Code::GrammarInvalid, "type of parameters", "object", got));
        }
        let place = match tools.len() {
            1 => "#/properties/arguments".to_owned(),
            _ => format!("#/anyOf/{index}/properties/arguments"),
        };
        move_references(&mut parameters, &place);
        Ok(json!({
            "type": "object",
            "properties": {"name": {"const": name}, "arguments": parameters},
            "required": ["name", "arguments"],
            "additionalProperties": false,
        }))
    };
    let calls: Vec<Value> = tools.iter().enumerate().map(one).collect::<Result<_, _>>()?;
    let mut schema = match calls.as_slice() {
        [one] => one.clone(),
        _ => json!({"anyOf": calls}),
    };
    structured::compact(&mut schema);
    Ok(schema)
}

/// The name of a tool.
fn function(tool: &Value) -> Option<&str> {
    tool.pointer("/function/name")?.as_str()
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
