//! Arguments, checked against a function's parameters.

use serde_json::{Map, Value};
use tilewright_model::json::show;
use tilewright_model::{Code, Finding, Refusal};

use crate::{Function, Param};

/// The arguments of a call, each of its parameter's type.
#[derive(Debug)]
pub struct Arguments(Map<String, Value>);

impl Arguments {
    /// Reads arguments: a list in the order of the parameters, an object by their names, or the only one by itself.
    ///
    /// # Errors
    /// `invalid_arguments` with everything that is wrong.
    pub(crate) fn read(function: &Function, given: Option<&Value>) -> Result<Self, Refusal> {
        let mut findings = Vec::new();
        let mut named = match given {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(map)) if !alone(function, given) => map.clone(),
            Some(Value::Array(list)) if !alone(function, given) => positional(function, list, &mut findings),
            Some(one) => positional(function, std::slice::from_ref(one), &mut findings),
        };
        let mut read = Map::new();
        for Param { name, kind, default } in &function.params {
            match (named.remove(*name), default) {
                (Some(value), _) if kind.fits(&value) => _ = read.insert((*name).to_owned(), value),
                (Some(value), _) => findings.push(Finding::new(*name, kind, show(&value))),
                (None, Some(default)) => _ = read.insert((*name).to_owned(), default.clone()),
                (None, None) => findings.push(Finding::new(*name, kind, "none")),
            }
        }
        let unknown = |name: &String| Finding::new(name, "a parameter of the function", "an unknown one");
        findings.extend(named.keys().map(unknown));
        Refusal::check(Code::InvalidArguments, findings)?;
        Ok(Self(read))
    }

    pub(crate) fn value(&self, name: &str) -> &Value {
        self.0.get(name).unwrap_or(&Value::Null)
    }

    pub(crate) fn int(&self, name: &str) -> i64 {
        self.value(name).as_i64().unwrap_or(i64::MAX)
    }

    pub(crate) fn float(&self, name: &str) -> f64 {
        self.value(name).as_f64().unwrap_or(f64::NAN)
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.value(name).as_bool().unwrap_or(false)
    }

    pub(crate) fn text(&self, name: &str) -> &str {
        self.value(name).as_str().unwrap_or_default()
    }

    /// A whole number from `least` to `most`.
    ///
    /// # Errors
    /// `invalid_arguments`.
    pub(crate) fn count(&self, name: &str, least: usize, most: usize) -> Result<usize, Refusal> {
        let value = self.value(name);
        let found =
            value.as_u64().and_then(|n| usize::try_from(n).ok()).filter(|n| (least..=most).contains(n));
        found.ok_or_else(|| invalid(name, format!("a whole number from {least} to {most}"), show(value)))
    }

    /// A number above 0.
    ///
    /// # Errors
    /// `invalid_arguments`.
    pub(crate) fn positive(&self, name: &str) -> Result<f64, Refusal> {
        let value = self.float(name);
        if value > 0.0 { Ok(value) } else { Err(invalid(name, "a number above 0", show(self.value(name)))) }
    }

    /// A list of numbers.
    pub(crate) fn floats(&self, name: &str) -> Vec<f64> {
        let items = self.value(name).as_array().map(Vec::as_slice).unwrap_or_default();
        items.iter().map(|item| item.as_f64().unwrap_or(f64::NAN)).collect()
    }

    /// A list of counts.
    ///
    /// # Errors
    /// `invalid_arguments` for a number that is none.
    pub(crate) fn ids(&self, name: &str) -> Result<Vec<u32>, Refusal> {
        let items = self.value(name).as_array().map(Vec::as_slice).unwrap_or_default();
        let id = |item: &Value| item.as_u64().and_then(|id| u32::try_from(id).ok());
        items.iter().map(|item| id(item).ok_or_else(|| invalid(name, "token ids", show(item)))).collect()
    }
}

/// A refusal of one argument.
pub(crate) fn invalid(name: &str, expected: impl std::fmt::Display, got: impl std::fmt::Display) -> Refusal {
    Refusal::new(Code::InvalidArguments, name, expected, got)
}

/// Whether a list or object is itself the only argument.
fn alone(function: &Function, given: Option<&Value>) -> bool {
    matches!((function.params.as_slice(), given), ([only], Some(value)) if only.kind.fits(value))
}

fn positional(function: &Function, list: &[Value], findings: &mut Vec<Finding>) -> Map<String, Value> {
    let params = &function.params;
    if list.len() > params.len() {
        findings.push(Finding::new("args", format!("at most {}", params.len()), list.len()));
    }
    params.iter().zip(list).map(|(param, value)| (param.name.to_owned(), value.clone())).collect()
}
