//! Reads `config.json`: applies the table row by row, then the facts that join several keys.
//!
//! Nothing stops at the first mismatch. All are collected and refused together, before any weight is looked at.

use serde_json::Value as Json;

use super::schema::{self, Key, Rule, Value};
use super::{Config, Family, facts};
use crate::json::{self, Object};
use crate::{Code, Finding, Refusal};

/// The configuration stated by the text of a `config.json`.
///
/// # Errors
/// `unsupported_architecture`, `rope_contradictory` or `config_invalid`, the first of these that applies, with
/// the findings of all three.
pub(crate) fn read(text: &[u8]) -> Result<Config, Refusal> {
    let object = json::object(text)
        .map_err(|e| Refusal::new(Code::ConfigInvalid, "config.json", "a JSON object", e))?;
    let mut reader = Reader::new(&object);
    reader.apply_table();
    let config = facts::config(&mut reader);
    reader.finish(config)
}

/// A configuration being read, with everything found wrong so far.
pub(super) struct Reader<'a> {
    object: &'a Object,
    /// The family, once known.
    pub(super) family: Option<Family>,
    findings: Vec<(Code, Finding)>,
}

impl<'a> Reader<'a> {
    fn new(object: &'a Object) -> Self {
        let mut reader = Self { object, family: None, findings: Vec::new() };
        reader.family = facts::family(&mut reader);
        reader
    }

    /// The value of a key, unless absent or null.
    pub(super) fn get(&self, key: &str) -> Option<&'a Json> {
        self.object.get(key).filter(|v| !v.is_null())
    }

    /// A whole number, if stated and one.
    pub(super) fn size(&self, key: &str) -> Option<usize> {
        self.get(key)?.as_u64().and_then(|n| usize::try_from(n).ok())
    }

    /// A number, if stated and one.
    pub(super) fn number(&self, key: &str) -> Option<f64> {
        self.get(key)?.as_f64()
    }

    /// A truth value, if stated and one.
    pub(super) fn flag(&self, key: &str) -> Option<bool> {
        self.get(key)?.as_bool()
    }

    /// Notes a value of the wrong type or out of its domain.
    pub(super) fn invalid(&mut self, what: impl Into<String>, expected: impl ToString, got: impl ToString) {
        self.note(Code::ConfigInvalid, what, expected, got);
    }

    /// Notes a fact outside the supported set.
    pub(super) fn unsupported(
        &mut self,
        what: impl Into<String>,
        expected: impl ToString,
        got: impl ToString,
    ) {
        self.note(Code::UnsupportedArchitecture, what, expected, got);
    }

    /// Notes two statements about rotary positions that do not agree.
    pub(super) fn contradictory(
        &mut self,
        what: impl Into<String>,
        expected: impl ToString,
        got: impl ToString,
    ) {
        self.note(Code::RopeContradictory, what, expected, got);
    }

    fn note(&mut self, code: Code, what: impl Into<String>, expected: impl ToString, got: impl ToString) {
        self.findings.push((code, Finding::new(what, expected.to_string(), got.to_string())));
    }

    /// Notes a key that the family always states and this file does not.
    pub(super) fn missing(&mut self, key: &str, expected: impl ToString) {
        self.invalid(key, expected, "absent");
    }

    /// Every key of the file against its row, then every required row against the file.
    fn apply_table(&mut self) {
        let object = self.object;
        for (name, value) in object {
            match schema::key(name) {
                Some(key) if self.family.is_none_or(|f| key.known.contains(&f)) => self.apply(key, value),
                Some(_) => self.unsupported(name, "no such key in this family", json::show(value)),
                None => self.unsupported(name, "a key whose meaning is known", json::show(value)),
            }
        }
        let Some(family) = self.family else { return };
        for key in schema::KEYS {
            if key.required.contains(&family) && self.get(key.name).is_none() {
                self.missing(key.name, key.meaning);
            }
        }
    }

    fn apply(&mut self, key: &Key, value: &Json) {
        // Null is how writers say "not stated"; where that is not allowed, the key is reported as missing.
        if value.is_null() {
            return;
        }
        let expected = match key.rule {
            Rule::Own | Rule::Harmless => return,
            Rule::Size { .. } => match value.as_u64() {
                Some(n) if key.rule.holds(n) => return,
                Some(n) => return self.unsupported(key.name, key.rule, n),
                None => key.rule.to_string(),
            },
            Rule::Positive if value.as_f64().is_some_and(|n| n.is_finite() && n > 0.0) => return,
            Rule::Flag if value.is_boolean() => return,
            Rule::Positive | Rule::Flag => key.rule.to_string(),
            Rule::Only(values) if values.iter().any(|v| v.is(value)) => return,
            Rule::Only(_) => {
                let expected = format!("{} ({})", key.rule, key.meaning);
                return self.unsupported(key.name, expected, json::show(value));
            }
        };
        self.invalid(key.name, expected, json::show(value));
    }

    /// The configuration, or the refusal with every finding.
    fn finish(self, config: Option<Config>) -> Result<Config, Refusal> {
        let by_weight = [Code::UnsupportedArchitecture, Code::RopeContradictory, Code::ConfigInvalid];
        let heaviest = by_weight.into_iter().find(|code| self.findings.iter().any(|(c, _)| c == code));
        let code = heaviest.unwrap_or(Code::ConfigInvalid);
        Refusal::check(code, self.findings.into_iter().map(|(_, finding)| finding).collect())?;
        // Without findings every fact was there to build the configuration from.
        config.ok_or_else(|| {
            Refusal::new(Code::ConfigInvalid, "config.json", "a complete configuration", "none")
        })
    }
}

impl Value {
    /// Whether a JSON value is this one.
    fn is(self, value: &Json) -> bool {
        match self {
            Self::Null => value.is_null(),
            Self::False => value == &Json::Bool(false),
            Self::True => value == &Json::Bool(true),
            Self::Number(n) => value.as_f64() == Some(n),
            Self::Text(text) => value.as_str() == Some(text),
            Self::EmptyList => {
                value.as_array().is_some_and(Vec::is_empty) || value.as_object().is_some_and(Object::is_empty)
            }
        }
    }
}
