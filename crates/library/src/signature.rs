//! What a function is called with and what it gives.

use std::fmt;

use serde_json::{Value, json};
use tilewright_model::Refusal;

use crate::{Access, Arguments};

/// The type of a parameter or result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number.
    Int,
    /// A number.
    Float,
    /// True or false.
    Bool,
    /// A text.
    String,
    /// A list of whole numbers.
    Ints,
    /// A list of numbers.
    Floats,
    /// An object with these fields.
    Struct(&'static Fields),
}

/// The fields of an object.
#[derive(Debug, PartialEq, Eq)]
pub struct Fields {
    /// Its name.
    pub name: &'static str,
    /// Names and types, in order.
    pub fields: &'static [(&'static str, Kind)],
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Int => "Int",
            Self::Float => "Float",
            Self::Bool => "Bool",
            Self::String => "String",
            Self::Ints => "List[Int]",
            Self::Floats => "List[Float]",
            Self::Struct(fields) => fields.name,
        })
    }
}

impl Kind {
    /// Whether a value is of it; an object has every field and no other.
    pub(crate) fn fits(self, value: &Value) -> bool {
        match self {
            Self::Int => value.is_i64() || value.is_u64(),
            Self::Float => value.is_number(),
            Self::Bool => value.is_boolean(),
            Self::String => value.is_string(),
            Self::Ints => listed(value, Self::Int),
            Self::Floats => listed(value, Self::Float),
            Self::Struct(Fields { fields, .. }) => value.as_object().is_some_and(|object| {
                object.len() == fields.len()
                    && fields.iter().all(|(name, kind)| object.get(*name).is_some_and(|v| kind.fits(v)))
            }),
        }
    }

    /// For machines.
    fn json(self) -> Value {
        match self {
            Self::Struct(Fields { name, fields }) => {
                let fields: serde_json::Map<String, Value> =
                    fields.iter().map(|(name, kind)| ((*name).to_owned(), kind.json())).collect();
                json!({"struct": name, "fields": fields})
            }
            plain => json!(plain.to_string()),
        }
    }
}

/// Whether a value is a list of such.
fn listed(value: &Value, of: Kind) -> bool {
    value.as_array().is_some_and(|items| items.iter().all(|item| of.fits(item)))
}

/// A parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// What it is when it is not given; `None` where it must be.
    pub default: Option<Value>,
}

impl Param {
    pub(crate) const fn new(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, default: None }
    }

    pub(crate) fn or(name: &'static str, kind: Kind, default: impl Into<Value>) -> Self {
        Self { name, kind, default: Some(default.into()) }
    }
}

/// What a function does with arguments that fit.
pub(crate) type Run = Box<dyn Fn(&Arguments, &Access) -> Result<Value, Refusal> + Send + Sync>;

/// A function.
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// What it is called with, in order.
    pub params: Vec<Param>,
    /// What it gives.
    pub returns: Kind,
    pub(crate) run: Run,
}

impl Function {
    pub(crate) fn new(
        name: &'static str,
        about: &'static str,
        params: Vec<Param>,
        returns: Kind,
        run: impl Fn(&Arguments, &Access) -> Result<Value, Refusal> + Send + Sync + 'static,
    ) -> Self {
        Self { name, about, params, returns, run: Box::new(run) }
    }

    /// For machines.
    pub fn json(&self) -> Value {
        let param = |p: &Param| match &p.default {
            Some(default) => json!({"name": p.name, "type": p.kind.json(), "default": default}),
            None => json!({"name": p.name, "type": p.kind.json()}),
        };
        let params: Vec<Value> = self.params.iter().map(param).collect();
        json!({"name": self.name, "about": self.about, "params": params, "returns": self.returns.json()})
    }
}

impl fmt::Display for Function {
    /// Its signature on a line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let param = |p: &Param| match &p.default {
            Some(default) => format!("{}: {} = {default}", p.name, p.kind),
            None => format!("{}: {}", p.name, p.kind),
        };
        let params: Vec<String> = self.params.iter().map(param).collect();
        write!(f, "{}({}) -> {}", self.name, params.join(", "), self.returns)
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Functions that belong together.
#[derive(Debug)]
pub struct Module {
    /// Its name.
    pub name: &'static str,
    /// Its functions.
    pub functions: Vec<Function>,
}

impl Module {
    /// For machines.
    pub fn json(&self) -> Value {
        let functions: Vec<Value> = self.functions.iter().map(Function::json).collect();
        json!({"name": self.name, "engine": crate::call::ENGINE, "functions": functions})
    }
}
