//! The metadata of a GGUF file: keys with typed values.
//!
//! Values stay where they are in the file: a list is looked at when somebody asks for it.

use std::collections::BTreeMap;

use serde_json::{Number, Value as Json};

use super::cursor::Cursor;
use crate::{Code, Finding, Refusal};

/// The types of values, by the numbers that stand for them: names and bytes.
const KINDS: [(&str, usize); 13] = [
    ("uint8", 1),
    ("int8", 1),
    ("uint16", 2),
    ("int16", 2),
    ("uint32", 4),
    ("int32", 4),
    ("float32", 4),
    ("bool", 1),
    ("string", 0),
    ("array", 0),
    ("uint64", 8),
    ("int64", 8),
    ("float64", 8),
];
const STRING: u32 = 8;
const ARRAY: u32 = 9;

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    /// A number or truth value.
    Scalar(Json),
    Text(&'a str),
    /// A list whose elements are all of one type.
    List {
        kind: u32,
        count: usize,
        bytes: &'a [u8],
    },
}

/// Every key with its value.
#[derive(Debug, Default)]
pub(crate) struct Metadata<'a>(BTreeMap<&'a str, Value<'a>>);

impl<'a> Metadata<'a> {
    /// Reads `count` keys.
    ///
    /// # Errors
    /// `gguf_invalid` when one of them cannot be read, is of an unknown type, or is stated twice.
    pub(crate) fn read(cursor: &mut Cursor<'a>, count: usize) -> Result<Self, Refusal> {
        let mut map = BTreeMap::new();
        for index in 0..count {
            let key = cursor.text(&format!("key {index} of the metadata"))?;
            let value = value(cursor, key)?;
            if map.insert(key, value).is_some() {
                return Err(Refusal::new(Code::GgufInvalid, key, "stated once", "twice"));
            }
        }
        Ok(Self(map))
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Value<'a>> {
        self.0.get(key)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'a str, &Value<'a>)> {
        self.0.iter().map(|(key, value)| (*key, value))
    }

    /// A text, or a finding when the key states something else.
    pub(crate) fn text(&self, key: &str, findings: &mut Vec<Finding>) -> Option<&'a str> {
        match self.get(key)? {
            Value::Text(text) => Some(text),
            other => {
                findings.push(Finding::new(key, "a string", other.show()));
                None
            }
        }
    }

    /// A number that counts or names something, or a finding when the key states something else.
    pub(crate) fn size(&self, key: &str, findings: &mut Vec<Finding>) -> Option<usize> {
        let value = self.get(key)?;
        let size = match value {
            Value::Scalar(json) => json.as_u64().and_then(|n| usize::try_from(n).ok()),
            _ => None,
        };
        if size.is_none() {
            findings.push(Finding::new(key, "a whole number", value.show()));
        }
        size
    }

    /// A truth value, or a finding when the key states something else.
    pub(crate) fn flag(&self, key: &str, findings: &mut Vec<Finding>) -> Option<bool> {
        let value = self.get(key)?;
        if let Value::Scalar(Json::Bool(flag)) = value {
            return Some(*flag);
        }
        findings.push(Finding::new(key, "true or false", value.show()));
        None
    }

    /// A list of texts, or a finding when the key states something else.
    pub(crate) fn texts(&self, key: &str, findings: &mut Vec<Finding>) -> Option<Vec<&'a str>> {
        let value = self.get(key)?;
        if let Value::List { kind: STRING, count, bytes } = value {
            let mut cursor = Cursor::new(bytes);
            // Each of them was read once when the file was.
            return (0..*count).map(|_| cursor.text(key).ok()).collect();
        }
        findings.push(Finding::new(key, "a list of strings", value.show()));
        None
    }

    /// A list of numbers, or a finding when the key states something else.
    pub(crate) fn numbers(&self, key: &str, findings: &mut Vec<Finding>) -> Option<Vec<f64>> {
        let value = self.get(key)?;
        let numbers = match value {
            Value::List { kind, count, bytes } if KINDS[*kind as usize].1 > 0 => {
                let mut cursor = Cursor::new(bytes);
                (0..*count).map(|_| scalar(&mut cursor, *kind, key).ok()?.as_f64()).collect()
            }
            _ => None,
        };
        if numbers.is_none() {
            findings.push(Finding::new(key, "a list of numbers", value.show()));
        }
        numbers
    }
}

impl Value<'_> {
    /// As JSON. A list whose elements are all the same is that element: some writers state for every layer what is
    /// the same in all.
    pub(crate) fn json(&self) -> Json {
        match self {
            Self::Scalar(json) => json.clone(),
            Self::Text(text) => Json::from(*text),
            Self::List { kind, count, bytes } => {
                let mut cursor = Cursor::new(bytes);
                let first =
                    if KINDS[*kind as usize].1 > 0 { scalar(&mut cursor, *kind, "").ok() } else { None };
                let size = bytes.len() / (*count).max(1);
                match first {
                    Some(first) if bytes.chunks(size.max(1)).all(|each| each == &bytes[..size]) => first,
                    _ => Json::from(self.show()),
                }
            }
        }
    }

    /// For messages.
    pub(crate) fn show(&self) -> String {
        match self {
            Self::Scalar(json) => json.to_string(),
            Self::Text(text) => crate::json::show(&Json::from(*text)),
            Self::List { kind, count, .. } => {
                format!("a list of {count} of type {}", KINDS[*kind as usize].0)
            }
        }
    }
}

fn value<'a>(cursor: &mut Cursor<'a>, key: &str) -> Result<Value<'a>, Refusal> {
    match cursor.u32(key)? {
        STRING => cursor.text(key).map(Value::Text),
        ARRAY => {
            let kind = cursor.u32(key)?;
            let count = cursor.size(key)?;
            let start = cursor.at;
            match KINDS.get(kind as usize) {
                Some((_, 0)) if kind == STRING => {
                    let mut ahead = Cursor { ..*cursor };
                    for _ in 0..count {
                        ahead.text(key)?;
                    }
                    let bytes = cursor.take(ahead.at - start, key)?;
                    Ok(Value::List { kind, count, bytes })
                }
                Some((_, size)) if *size > 0 => {
                    let bytes = cursor.take(count.saturating_mul(*size), key)?;
                    Ok(Value::List { kind, count, bytes })
                }
                _ => Err(Refusal::new(
                    Code::GgufInvalid,
                    key,
                    "a list of numbers or strings",
                    format!("elements of type {kind}"),
                )),
            }
        }
        kind => scalar(cursor, kind, key).map(Value::Scalar),
    }
}

/// A number or truth value. A float32 is the shortest decimal that reads back as it, which is what its writer meant.
fn scalar(cursor: &mut Cursor<'_>, kind: u32, key: &str) -> Result<Json, Refusal> {
    let float = |value: f64| {
        Number::from_f64(value)
            .map(Json::Number)
            .ok_or_else(|| Refusal::new(Code::GgufInvalid, key, "a finite number", value))
    };
    Ok(match kind {
        0 => u8::from_le_bytes(cursor.array(key)?).into(),
        1 => i8::from_le_bytes(cursor.array(key)?).into(),
        2 => u16::from_le_bytes(cursor.array(key)?).into(),
        3 => i16::from_le_bytes(cursor.array(key)?).into(),
        4 => u32::from_le_bytes(cursor.array(key)?).into(),
        5 => i32::from_le_bytes(cursor.array(key)?).into(),
        6 => {
            let value = f32::from_le_bytes(cursor.array(key)?);
            float(value.to_string().parse().unwrap_or(f64::NAN))?
        }
        7 => match cursor.array(key)? {
            [0] => false.into(),
            [1] => true.into(),
            [other] => return Err(Refusal::new(Code::GgufInvalid, key, "a truth value, 0 or 1", other)),
        },
        10 => u64::from_le_bytes(cursor.array(key)?).into(),
        11 => i64::from_le_bytes(cursor.array(key)?).into(),
        12 => float(f64::from_le_bytes(cursor.array(key)?))?,
        _ => {
            return Err(Refusal::new(
                Code::GgufInvalid,
                key,
                "a value of a known type",
                format!("type {kind}"),
            ));
        }
    })
}
