//! Closed reading of a JSON object: every field is asked for by name, and what nobody asked for is a finding.

use serde_json::{Map, Value};

use crate::{Finding, json};

/// One object of a file or request while it is being judged.
pub(crate) struct Fields<'v> {
    path: String,
    object: &'v Map<String, Value>,
    asked: Vec<&'static str>,
}

impl<'v> Fields<'v> {
    /// The object at `path`, or a finding when the value is none.
    pub(crate) fn open(path: &str, value: &'v Value, findings: &mut Vec<Finding>) -> Option<Self> {
        match value {
            Value::Object(object) => Some(Self { path: path.to_owned(), object, asked: Vec::new() }),
            other => {
                findings.push(Finding::new(path, "an object", other));
                None
            }
        }
    }

    /// The path of a field of this object.
    pub(crate) fn at(&self, key: &str) -> String {
        format!("{}.{key}", self.path)
    }

    /// The field, `None` when it is absent or null.
    pub(crate) fn get(&mut self, key: &'static str) -> Option<&'v Value> {
        self.asked.push(key);
        self.object.get(key).filter(|value| !value.is_null())
    }

    /// A string that has to be there.
    pub(crate) fn text(&mut self, key: &'static str, findings: &mut Vec<Finding>) -> Option<&'v str> {
        let value = self.get(key);
        let text = value.and_then(Value::as_str);
        if text.is_none() {
            findings.push(Finding::new(self.at(key), "a string", value.unwrap_or(&Value::Null)));
        }
        text
    }

    /// A Boolean, `default` when absent.
    pub(crate) fn flag(&mut self, key: &'static str, default: bool, findings: &mut Vec<Finding>) -> bool {
        match self.get(key) {
            None => default,
            Some(Value::Bool(flag)) => *flag,
            Some(other) => {
                findings.push(Finding::new(self.at(key), "true or false", other));
                default
            }
        }
    }

    /// The items of a list that has to be there.
    pub(crate) fn list(&mut self, key: &'static str, findings: &mut Vec<Finding>) -> &'v [Value] {
        match self.get(key) {
            Some(Value::Array(items)) => items,
            other => {
                findings.push(Finding::new(self.at(key), "a list", other.unwrap_or(&Value::Null)));
                &[]
            }
        }
    }

    /// Names every field that was not asked for.
    pub(crate) fn close(self, findings: &mut Vec<Finding>) {
        for (key, value) in self.object {
            if !self.asked.contains(&key.as_str()) {
                findings.push(Finding::new(self.at(key), "no such field", json::show(value)));
            }
        }
    }
}
