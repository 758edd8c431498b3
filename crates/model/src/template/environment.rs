//! The engine set up as the published templates expect it: Hugging Face's settings, functions and filters, and
//! Python's methods and way of printing.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Rest, Tuple, ValueKind, from_args};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, Output, State, UndefinedBehavior, Value};
use minijinja_contrib::pycompat;

use super::{clock, limits, python};

/// The name the template is compiled under; no suffix, so nothing is escaped.
pub(super) const NAME: &str = "chat_template";

/// Methods beyond those of the engine and of [`pycompat`], by name.
const STRING_METHODS: [&str; 7] =
    ["index", "partition", "removeprefix", "removesuffix", "rpartition", "rsplit", "title"];

/// Every method that can be called, for the audit.
pub(super) const METHODS: [&str; 41] = [
    "capitalize",
    "changed",
    "count",
    "cycle",
    "endswith",
    "find",
    "format",
    "get",
    "index",
    "isalnum",
    "isalpha",
    "isascii",
    "isdigit",
    "islower",
    "isnumeric",
    "isspace",
    "isupper",
    "items",
    "join",
    "keys",
    "lower",
    "lstrip",
    "partition",
    "removeprefix",
    "removesuffix",
    "replace",
    "rfind",
    "rpartition",
    "rsplit",
    "rstrip",
    "split",
    "splitlines",
    "startswith",
    "strip",
    "title",
    "update",
    "upper",
    "values",
    "__contains__",
    "__getitem__",
    "__len__",
];

/// An environment without templates.
///
/// # Errors
/// When the engine rejects the settings.
pub(super) fn environment() -> Result<Environment<'static>, Error> {
    let mut env = Environment::new();
    env.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    env.set_undefined_behavior(UndefinedBehavior::Lenient);
    env.set_auto_escape_callback(|_| AutoEscape::None);
    env.set_recursion_limit(limits::RECURSION);
    env.set_formatter(print);
    env.set_unknown_method_callback(method);
    env.add_filter("tojson", to_json);
    env.add_filter("string", |value: &Value| python::str(value));
    env.add_filter("indent", indent);
    env.add_function("raise_exception", |message: &Value| -> Result<Value, Error> {
        Err(Error::new(ErrorKind::InvalidOperation, python::str(message)?))
    });
    set_clock(&mut env, 0);
    Ok(env)
}

/// Lets `strftime_now` tell this time, in seconds since 1970.
pub(super) fn set_clock(env: &mut Environment<'_>, seconds: u64) {
    env.add_function("strftime_now", move |format: &str| {
        let unknown = || {
            let message = format!("strftime_now cannot write {format:?}");
            Error::new(ErrorKind::InvalidOperation, message)
        };
        clock::strftime(format, seconds).ok_or_else(unknown)
    });
}

/// Prints a value as `str` of Python does.
fn print(out: &mut Output<'_>, _: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    match value.as_str() {
        Some(text) => out.write_str(text),
        None => out.write_str(&python::str(value)?),
    }
    .map_err(Error::from)
}

/// `tojson` as Hugging Face defines it: `json.dumps` with `ensure_ascii=False`.
fn to_json(value: &Value, options: Kwargs) -> Result<String, Error> {
    let indent = match options.get::<Option<Value>>("indent")?.filter(|indent| !indent.is_none()) {
        None => None,
        Some(indent) => Some(match indent.as_str() {
            Some(text) => text.to_owned(),
            None => " ".repeat(usize::try_from(indent)?.min(16)),
        }),
    };
    let separators = options.get::<Option<Vec<String>>>("separators")?;
    let (item_separator, key_separator) = match separators.as_deref() {
        None => (if indent.is_some() { "," } else { ", " }.to_owned(), ": ".to_owned()),
        Some([item, key]) => (item.clone(), key.clone()),
        Some(_) => {
            return Err(Error::new(ErrorKind::InvalidOperation, "tojson needs two separators"));
        }
    };
    let style = python::JsonStyle {
        ascii: options.get::<Option<bool>>("ensure_ascii")?.unwrap_or(false),
        sorted: options.get::<Option<bool>>("sort_keys")?.unwrap_or(false),
        indent,
        item_separator,
        key_separator,
    };
    options.assert_all_used()?;
    python::json(value, &style)
}

/// `indent` of Jinja: by a width or a text, the first line and blank lines only when asked.
fn indent(state: &State<'_, '_>, text: &str, width: Option<Value>, options: Kwargs) -> Result<String, Error> {
    let width = match width {
        Some(width) => Some(width),
        None => options.get::<Option<Value>>("width")?,
    };
    let indent = match &width {
        None => " ".repeat(4),
        Some(width) => match width.as_str() {
            Some(text) => text.to_owned(),
            None => " ".repeat(usize::try_from(width.clone())?.min(256)),
        },
    };
    let first = options.get::<Option<bool>>("first")?.unwrap_or(false);
    let blank = options.get::<Option<bool>>("blank")?.unwrap_or(false);
    options.assert_all_used()?;
    // Paid for before it is made: 64 bytes are one unit of work.
    let made = text.split('\n').count().saturating_mul(indent.len());
    state.consume_fuel(u64::try_from(made / 64).unwrap_or(u64::MAX))?;
    let mut out = String::new();
    for (index, line) in text.split('\n').enumerate() {
        out.push_str(if index > 0 { "\n" } else { "" });
        if (index > 0 || first) && (blank || !line.is_empty() || index == 0) {
            out.push_str(&indent);
        }
        out.push_str(line);
    }
    Ok(out)
}

/// Methods of Python's types.
fn method(state: &mut State<'_, '_>, value: &Value, name: &str, args: &[Value]) -> Result<Value, Error> {
    match value.as_str() {
        Some(text) if STRING_METHODS.contains(&name) => string_method(text, name, args),
        _ if name == "index" && value.kind() == ValueKind::Seq => {
            let (wanted,): (&Value,) = from_args(args)?;
            let found = value.try_iter()?.position(|item| item == *wanted);
            found.map(Value::from).ok_or_else(|| missing("list", name))
        }
        // A width of a billion would be made first and counted afterwards.
        Some(text) if name == "format" && is_wide(text) => {
            let message = format!("a width or precision of more than {} digits", limits::WIDTH_DIGITS);
            Err(Error::new(ErrorKind::InvalidOperation, message))
        }
        _ => pycompat::unknown_method_callback(state, value, name, args),
    }
}

/// Whether a replacement field of `text` has a number that is too long.
fn is_wide(text: &str) -> bool {
    let fields = text.split('{').skip(1).filter_map(|rest| rest.split_once('}'));
    fields
        .flat_map(|(field, _)| field.split(|c: char| !c.is_ascii_digit()))
        .any(|run| run.trim_start_matches('0').len() > limits::WIDTH_DIGITS)
}

fn string_method(text: &str, name: &str, args: &[Value]) -> Result<Value, Error> {
    match name {
        "rsplit" => return rsplit(text, args),
        "title" => {
            let () = from_args(args)?;
            return Ok(python::title(text).into());
        }
        _ => {}
    }
    let (what,): (&str,) = from_args(args)?;
    let parts = |found: Option<(&str, &str)>, fallback: [&str; 3]| {
        let parts = found.map_or(fallback, |(before, after)| [before, what, after]);
        Value::from(Tuple::from(parts.map(Value::from)))
    };
    Ok(match name {
        "removeprefix" => text.strip_prefix(what).unwrap_or(text).into(),
        "removesuffix" => text.strip_suffix(what).unwrap_or(text).into(),
        "partition" => parts(text.split_once(what), [text, "", ""]),
        "rpartition" => parts(text.rsplit_once(what), ["", "", text]),
        _ => {
            let at = text.find(what).ok_or_else(|| missing("string", name))?;
            text[..at].chars().count().into()
        }
    })
}

/// `rsplit(separator, limit)`; without a separator, at runs of white space.
fn rsplit(text: &str, args: &[Value]) -> Result<Value, Error> {
    let (separator, limit, Rest(more)): (Option<&str>, Option<usize>, Rest<Value>) = from_args(args)?;
    if !more.is_empty() {
        return Err(Error::from(ErrorKind::TooManyArguments));
    }
    let limit = limit.map_or(usize::MAX, |limit| limit.saturating_add(1));
    let mut parts: Vec<&str> = match separator {
        Some(separator) => text.rsplitn(limit, separator).collect(),
        None => {
            let mut parts = Vec::new();
            let mut rest = text.trim_end();
            while !rest.is_empty() && parts.len() + 1 < limit {
                let cut = rest.rfind(char::is_whitespace).map_or(0, |at| at + 1);
                // The space may be wider than one byte: find the start of the word again.
                let cut = (cut..=rest.len()).find(|at| rest.is_char_boundary(*at)).unwrap_or(0);
                parts.push(&rest[cut..]);
                rest = rest[..cut].trim_end();
            }
            if !rest.is_empty() {
                parts.push(rest);
            }
            parts
        }
    };
    parts.reverse();
    Ok(Value::from(parts.into_iter().map(Value::from).collect::<Vec<_>>()))
}

fn missing(kind: &str, name: &str) -> Error {
    Error::new(ErrorKind::InvalidOperation, format!("{kind}.{name}: not found"))
}
