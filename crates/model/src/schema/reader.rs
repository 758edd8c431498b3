//! A JSON object read against a table. Nothing stops at the first mismatch: all are collected.

use serde_json::Value as Json;

use super::{Key, Rule, Verdict};
use crate::json::{self, Object};
use crate::{Code, Family, Finding, Refusal};

/// An object being read, with everything found wrong so far.
pub(crate) struct Reader<'a> {
    object: &'a Object,
    table: &'static [Key],
    invalid: Code,
    /// Code of a fact outside the supported set.
    pub(crate) unsupported: Code,
    /// The family, once known.
    pub(crate) family: Option<Family>,
    findings: Vec<(Code, Finding)>,
}

impl<'a> Reader<'a> {
    /// Reads `object` by `table`; values of a wrong type or domain are findings of code `invalid`.
    pub(crate) fn new(object: &'a Object, table: &'static [Key], invalid: Code) -> Self {
        Self {
            object,
            table,
            invalid,
            unsupported: Code::UnsupportedArchitecture,
            family: None,
            findings: Vec::new(),
        }
    }

    /// The value of a key, unless absent or null.
    pub(crate) fn get(&self, key: &str) -> Option<&'a Json> {
        self.object.get(key).filter(|v| !v.is_null())
    }

    /// A whole number, if stated and one.
    pub(crate) fn size(&self, key: &str) -> Option<usize> {
        self.get(key)?.as_u64().and_then(|n| usize::try_from(n).ok())
    }

    /// A number, if stated and one.
    pub(crate) fn number(&self, key: &str) -> Option<f64> {
        self.get(key)?.as_f64()
    }

    /// A truth value, if stated and one.
    pub(crate) fn flag(&self, key: &str) -> Option<bool> {
        self.get(key)?.as_bool()
    }

    /// An id or a list of up to `most` ids, each a row of the vocabulary.
    pub(crate) fn ids(&mut self, key: &str, vocab: Option<usize>, most: usize) -> Vec<u32> {
        let Some(value) = self.get(key) else { return Vec::new() };
        let list = match value {
            Json::Array(list) => list.as_slice(),
            one => std::slice::from_ref(one),
        };
        if list.len() > most {
            self.invalid(key, format!("at most {most}"), list.len());
            return Vec::new();
        }
        let mut ids = Vec::with_capacity(list.len());
        for value in list {
            let id = value.as_u64().and_then(|id| u32::try_from(id).ok());
            match id.filter(|&id| vocab.is_none_or(|vocab| (id as usize) < vocab)) {
                Some(id) => ids.push(id),
                None => {
                    let below = vocab.map_or_else(String::new, |vocab| format!(" below {vocab}"));
                    self.invalid(key, format!("an id{below}"), json::show(value));
                }
            }
        }
        ids
    }

    /// Notes a value of the wrong type or out of its domain.
    pub(crate) fn invalid(&mut self, what: impl Into<String>, expected: impl ToString, got: impl ToString) {
        self.note(self.invalid, what, expected, got);
    }

    /// Notes a fact outside the supported set.
    pub(crate) fn unsupported(
        &mut self,
        what: impl Into<String>,
        expected: impl ToString,
        got: impl ToString,
    ) {
        self.note(self.unsupported, what, expected, got);
    }

    /// Notes two statements about rotary positions that do not agree.
    pub(crate) fn contradictory(
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

    /// Notes a key that has to be stated and is not.
    pub(crate) fn missing(&mut self, key: &str, expected: impl ToString) {
        self.invalid(key, expected, "absent");
    }

    /// Every key of the object against its row, then every required row against the object.
    pub(crate) fn apply_table(&mut self) {
        let (object, table) = (self.object, self.table);
        for (name, value) in object {
            match table.iter().find(|key| key.name == name) {
                Some(key) if key.known.contain(self.family, true) => self.apply(key, value),
                Some(_) => self.unsupported(name, "no such key in this family", json::show(value)),
                None => self.unsupported(name, "a key whose meaning is known", json::show(value)),
            }
        }
        for key in table {
            if key.required.contain(self.family, false) && self.get(key.name).is_none() {
                self.missing(key.name, format!("{} ({})", key.rule, key.meaning));
            }
        }
    }

    fn apply(&mut self, key: &Key, value: &Json) {
        // Null is how writers say "not stated"; where that is not allowed, the key is reported as missing.
        if value.is_null() {
            return;
        }
        let expected = format!("{} ({})", key.rule, key.meaning);
        match (key.rule.accepts(value), key.rule) {
            (Verdict::Accepted, _) => {}
            (Verdict::OutOfDomain, Rule::Size { .. } | Rule::Only(_)) => {
                self.unsupported(key.name, expected, json::show(value));
            }
            (Verdict::OutOfDomain | Verdict::OtherType, _) => {
                self.invalid(key.name, expected, json::show(value))
            }
        }
    }

    /// What was read, or the refusal with every finding, under the gravest of their codes: a fact that is not
    /// supported, then rotary settings that contradict each other, then what is missing or mistyped.
    ///
    /// # Errors
    /// When anything was found, or `read` is `None`.
    pub(crate) fn finish<T>(self, read: Option<T>) -> Result<T, Refusal> {
        let by_gravity = [self.unsupported, Code::RopeContradictory];
        let gravest = by_gravity.into_iter().find(|code| self.findings.iter().any(|(c, _)| c == code));
        let code = gravest.unwrap_or(self.invalid);
        Refusal::check(code, self.findings.into_iter().map(|(_, finding)| finding).collect())?;
        // Without a finding every fact was there to read from.
        read.ok_or_else(|| Refusal::new(self.invalid, "file", "every fact stated", "an incomplete file"))
    }
}
