//! Values as Python writes them: `str`, `repr` and `json.dumps`, on which the published templates rely.

use std::fmt::Write;
use std::sync::LazyLock;

use minijinja::value::{Tuple, ValueKind};
use minijinja::{Error, ErrorKind, Value};
use regex_automata::meta::Regex;

/// Levels of lists and maps that are written; JSON that is read has fewer.
const DEPTH: usize = 200;

/// Bytes that one value may be written as. A list can hold the same list twice, so a small value can be long.
const LENGTH: usize = 16 << 20;

/// `str(value)`.
///
/// # Errors
/// When the text would be too long or too deep.
pub(super) fn str(value: &Value) -> Result<String, Error> {
    let mut out = String::new();
    match value.as_str() {
        Some(text) => out.push_str(text),
        None if value.is_undefined() => {}
        None => repr_into(value, 0, &mut out)?,
    }
    Ok(out)
}

/// Stops a value that is too deep or has become too long.
fn bound(depth: usize, out: &str) -> Result<(), Error> {
    if depth > DEPTH || out.len() > LENGTH {
        return Err(Error::new(ErrorKind::InvalidOperation, "a value too deep or too long to be written"));
    }
    Ok(())
}

/// `repr(value)`.
fn repr_into(value: &Value, depth: usize, out: &mut String) -> Result<(), Error> {
    bound(depth, out)?;
    match value.kind() {
        ValueKind::Undefined => out.push_str("Undefined"),
        ValueKind::None => out.push_str("None"),
        ValueKind::Bool => out.push_str(if value.is_true() { "True" } else { "False" }),
        ValueKind::String => repr_text(value.as_str().unwrap_or_default(), out),
        ValueKind::Seq | ValueKind::Iterable => {
            let tuple = value.downcast_object_ref::<Tuple>().is_some();
            let mut count = 0;
            out.push(if tuple { '(' } else { '[' });
            for item in value.try_iter().into_iter().flatten() {
                out.push_str(if count > 0 { ", " } else { "" });
                repr_into(&item, depth + 1, out)?;
                count += 1;
            }
            out.push_str(if tuple && count == 1 { "," } else { "" });
            out.push(if tuple { ')' } else { ']' });
        }
        ValueKind::Map => {
            out.push('{');
            for (index, (key, item)) in pairs(value).enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                repr_into(&key, depth + 1, out)?;
                out.push_str(": ");
                repr_into(&item, depth + 1, out)?;
            }
            out.push('}');
        }
        _ => number_or_text(value, out),
    }
    Ok(())
}

/// Keys and values of a map in order.
fn pairs(value: &Value) -> impl Iterator<Item = (Value, Value)> {
    value.as_object().and_then(|object| object.try_iter_pairs()).into_iter().flatten()
}

/// A number as Python prints it; anything else as the engine does.
fn number_or_text(value: &Value, out: &mut String) {
    match f64::try_from(value.clone()) {
        Ok(number) if !value.is_integer() && value.is_number() => out.push_str(&float(number)),
        _ => {
            // Writing to a string cannot fail.
            let _ = write!(out, "{value}");
        }
    }
}

/// The shortest digits that give the number back, positional between 1e-4 and 1e16.
fn float(number: f64) -> String {
    if number.is_nan() {
        return "nan".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let power: i32 = exponent.parse().unwrap_or(0);
    if number == 0.0 || (-4..16).contains(&power) {
        return format!("{number:?}");
    }
    let sign = if power < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", power.abs())
}

/// A string in quotes. Private-use characters stand as they are, so that marked text keeps its length.
fn repr_text(text: &str, out: &mut String) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => out.extend(['\\', c]),
            c if is_printable(c) => out.push(c),
            c => {
                let _ = match u32::from(c) {
                    code @ ..0x100 => write!(out, "\\x{code:02x}"),
                    code @ ..0x1_0000 => write!(out, "\\u{code:04x}"),
                    code => write!(out, "\\U{code:08x}"),
                };
            }
        }
    }
    out.push(quote);
}

/// Whether `repr` shows a character as it is: all but controls, formats, unassigned ones and wide spaces.
fn is_printable(c: char) -> bool {
    static HIDDEN: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"[\p{Cc}\p{Cf}\p{Cn}\p{Z}&&[^ ]]").ok());
    c == ' '
        || c.is_ascii_graphic()
        || !HIDDEN.as_ref().is_some_and(|hidden| hidden.is_match(&*c.encode_utf8(&mut [0; 4])))
}

/// `str.title`: the first letter of every run of letters is large, the others are small.
pub(super) fn title(text: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    for c in text.chars() {
        if inside {
            out.extend(c.to_lowercase());
        } else {
            out.extend(c.to_uppercase());
        }
        inside = c.is_alphabetic();
    }
    out
}

/// How `json.dumps` lays out its text.
#[derive(Clone, Debug)]
pub(super) struct JsonStyle {
    pub(super) ascii: bool,
    pub(super) sorted: bool,
    /// What one level of nesting is indented by; `None` keeps everything on one line.
    pub(super) indent: Option<String>,
    pub(super) item_separator: String,
    pub(super) key_separator: String,
}

/// `json.dumps(value)`. Nothing is escaped for HTML and keys keep their order.
///
/// # Errors
/// When a value has no JSON form.
pub(super) fn json(value: &Value, style: &JsonStyle) -> Result<String, Error> {
    let mut out = String::new();
    json_into(value, style, 0, &mut out)?;
    Ok(out)
}

fn json_into(value: &Value, style: &JsonStyle, depth: usize, out: &mut String) -> Result<(), Error> {
    bound(depth, out)?;
    match value.kind() {
        ValueKind::None => out.push_str("null"),
        ValueKind::Bool => out.push_str(if value.is_true() { "true" } else { "false" }),
        ValueKind::Number => {
            let start = out.len();
            number_or_text(value, out);
            match &out[start..] {
                "nan" => out.replace_range(start.., "NaN"),
                "inf" => out.replace_range(start.., "Infinity"),
                "-inf" => out.replace_range(start.., "-Infinity"),
                _ => {}
            }
        }
        ValueKind::String => json_text(value.as_str().unwrap_or_default(), style.ascii, out),
        ValueKind::Seq | ValueKind::Iterable => {
            let items: Vec<Value> = value.try_iter()?.collect();
            block(items, ['[', ']'], style, depth, out, |item, out| json_into(item, style, depth + 1, out))?;
        }
        ValueKind::Map => {
            let mut entries: Vec<(Value, Value)> = pairs(value).collect();
            if style.sorted {
                entries.sort_by(|(a, _), (b, _)| a.cmp(b));
            }
            block(entries, ['{', '}'], style, depth, out, |(key, item), out| {
                match key.as_str() {
                    Some(text) => json_text(text, style.ascii, out),
                    None => {
                        let mut text = String::new();
                        json_into(key, style, 0, &mut text)?;
                        json_text(&text, style.ascii, out);
                    }
                }
                out.push_str(&style.key_separator);
                json_into(item, style, depth + 1, out)
            })?;
        }
        kind => {
            let message = format!("a value of type {kind} has no JSON form");
            return Err(Error::new(ErrorKind::InvalidOperation, message));
        }
    }
    Ok(())
}

/// Writes items between brackets.
fn block<T>(
    items: Vec<T>,
    [open, close]: [char; 2],
    style: &JsonStyle,
    depth: usize,
    out: &mut String,
    mut write: impl FnMut(&T, &mut String) -> Result<(), Error>,
) -> Result<(), Error> {
    let new_line = |depth: usize, out: &mut String| {
        if let Some(indent) = &style.indent {
            out.push('\n');
            out.push_str(&indent.repeat(depth));
        }
    };
    out.push(open);
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push_str(&style.item_separator);
        }
        new_line(depth + 1, out);
        write(item, out)?;
    }
    if !items.is_empty() {
        new_line(depth, out);
    }
    out.push(close);
    Ok(())
}

fn json_text(text: &str, ascii: bool, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if c < ' ' || (ascii && !c.is_ascii()) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
