//! Closed schemas of JSON files: one row a key, with what is done about it and why.
//!
//! A [`Reader`](reader::Reader) applies a table to a file and the documentation prints the same table. A key
//! without a row is refused, because an ignored key is a silently different model. Facts that join several keys
//! are code beside each table.

pub(crate) mod reader;
#[cfg(test)]
mod tests;

use std::fmt;

use serde_json::Value as Json;

use crate::Family;
use crate::json::Object;

/// One key of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    /// Its name.
    pub(crate) name: &'static str,
    /// Families that may state it.
    pub(crate) known: Families,
    /// Families that always state it: there its absence is refused.
    pub(crate) required: Families,
    /// What is done with it.
    pub(crate) rule: Rule,
    /// What it means, what its absence means, or why it is harmless.
    pub(crate) meaning: &'static str,
}

/// Some of the families.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Families {
    /// Every family, also one that is not known.
    All,
    /// These.
    Only(&'static [Family]),
}

impl Families {
    pub(crate) const NONE: Self = Self::Only(&[]);

    /// Whether a family is among them; `unknown` when there is no family to ask about.
    fn contain(self, family: Option<Family>, unknown: bool) -> bool {
        match (self, family) {
            (Self::All, _) => true,
            (Self::Only(list), Some(family)) => list.contains(&family),
            (Self::Only(_), None) => unknown,
        }
    }
}

/// What is done with the value of a key. Null counts as absent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Rule {
    /// A whole number within the limits, a multiple of the last.
    Size {
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
        /// What it must be a multiple of.
        multiple: u64,
    },
    /// A finite number between limits.
    Number {
        /// Lower limit.
        min: f64,
        /// Whether the lower limit itself is accepted.
        from_min: bool,
        /// Upper limit, accepted.
        max: f64,
    },
    /// `true` or `false`.
    Flag,
    /// Read by code of its own, which says what it accepts.
    Own,
    /// Accepted with these values only, which change nothing.
    Only(&'static [Value]),
    /// Any value: it does not change what the model computes.
    Harmless,
}

impl Rule {
    /// A number above zero.
    pub(crate) const POSITIVE: Self = Self::Number { min: 0.0, from_min: false, max: f64::MAX };

    /// What a norm adds to a mean of squares: with more than one, nothing of a vector would be left.
    pub(crate) const EPSILON: Self = Self::Number { min: 0.0, from_min: false, max: 1.0 };

    /// A number whose powers with negative exponents stay within one.
    pub(crate) const AT_LEAST_ONE: Self = Self::Number { min: 1.0, from_min: true, max: f64::MAX };

    /// A whole number within limits.
    pub(crate) const fn size(min: u64, max: u64, multiple: u64) -> Self {
        Self::Size { min, max, multiple }
    }

    /// Whether it is about the value's type, and about its domain.
    pub(crate) fn accepts(self, value: &Json) -> Verdict {
        match self {
            Self::Own | Self::Harmless => Verdict::Accepted,
            Self::Size { min, max, multiple } => match value.as_u64() {
                Some(n) => Verdict::domain((min..=max).contains(&n) && n.is_multiple_of(multiple)),
                None => Verdict::OtherType,
            },
            Self::Number { min, from_min, max } => match value.as_f64() {
                Some(n) => Verdict::domain((n > min || (from_min && n == min)) && n <= max),
                None => Verdict::OtherType,
            },
            Self::Flag if value.is_boolean() => Verdict::Accepted,
            Self::Flag => Verdict::OtherType,
            Self::Only(values) => Verdict::domain(values.iter().any(|v| v.is(value))),
        }
    }
}

/// What a rule says about a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Accepted,
    OtherType,
    OutOfDomain,
}

impl Verdict {
    fn domain(within: bool) -> Self {
        if within { Self::Accepted } else { Self::OutOfDomain }
    }
}

/// A value that [`Rule::Only`] accepts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    False,
    True,
    Number(f64),
    Text(&'static str),
    Empty,
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
            Self::Empty => {
                value.as_array().is_some_and(Vec::is_empty) || value.as_object().is_some_and(Object::is_empty)
            }
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Size { min, max, multiple } => {
                match multiple {
                    1 => f.write_str("a whole number")?,
                    _ => write!(f, "a multiple of {multiple}")?,
                }
                if max == u64::MAX {
                    write!(f, " of at least {min}")
                } else {
                    write!(f, " from {min} to {max}")
                }
            }
            Self::Number { min, from_min, max } => {
                write!(f, "a number {} {min}", if from_min { "of at least" } else { "above" })?;
                if max == f64::MAX { Ok(()) } else { write!(f, " and at most {max}") }
            }
            Self::Flag => f.write_str("true or false"),
            Self::Own | Self::Harmless => f.write_str("any value"),
            Self::Only(values) => {
                let values: Vec<_> = values.iter().map(Value::to_string).collect();
                f.write_str(&values.join(" or "))
            }
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::False => f.write_str("false"),
            Self::True => f.write_str("true"),
            Self::Number(n) => write!(f, "{n}"),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Empty => f.write_str("nothing"),
        }
    }
}
