//! Refusals: the only error type of the project.
//!
//! Whatever cannot be honoured is refused with a [`Code`] (stable number and name) and the list of every
//! [`Finding`] that led to it. There is no free-text variant: a new reason is a new code with its own block in
//! [`code`](self) and its own test.

mod code;

use std::borrow::Cow;
use std::fmt::{self, Write};

use serde::ser::{Serialize, SerializeStruct, Serializer};

pub use code::Code;

/// One mismatch: what was looked at, what it had to be, what it was.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Finding {
    /// The thing judged: a config key, a tensor, a flag, a field.
    pub what: String,
    /// What would have been accepted.
    pub expected: String,
    /// What was there.
    pub got: String,
}

impl Finding {
    /// A finding about `what`.
    pub fn new(what: impl Into<String>, expected: impl fmt::Display, got: impl fmt::Display) -> Self {
        Self { what: what.into(), expected: expected.to_string(), got: got.to_string() }
    }
}

/// A named refusal with everything that led to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    code: Code,
    place: Option<String>,
    findings: Vec<Finding>,
    /// What to do here, where that is not what the code says.
    remedy: Option<Cow<'static, str>>,
}

impl Refusal {
    /// A refusal for a single reason.
    pub fn new(
        code: Code,
        what: impl Into<String>,
        expected: impl fmt::Display,
        got: impl fmt::Display,
    ) -> Self {
        Self::with_findings(code, vec![Finding::new(what, expected, got)])
    }

    /// A refusal listing several mismatches.
    pub fn with_findings(code: Code, findings: Vec<Finding>) -> Self {
        Self { code, place: None, findings, remedy: None }
    }

    /// `Ok` when nothing was found, else the refusal listing all of it.
    ///
    /// # Errors
    /// When `findings` is not empty.
    pub fn check(code: Code, findings: Vec<Finding>) -> Result<(), Self> {
        if findings.is_empty() { Ok(()) } else { Err(Self::with_findings(code, findings)) }
    }

    /// Names the file, flag or request the findings are about.
    #[must_use]
    pub fn at(mut self, place: impl fmt::Display) -> Self {
        self.place = Some(place.to_string());
        self
    }

    /// Says what to do about it here, where what the code says in general does not help.
    #[must_use]
    pub fn with_remedy(mut self, remedy: impl Into<Cow<'static, str>>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// What to do about it.
    pub fn remedy(&self) -> &str {
        self.remedy.as_deref().unwrap_or(self.code.remedy())
    }

    /// The stable code.
    pub fn code(&self) -> Code {
        self.code
    }

    /// The file, flag or request the findings are about.
    pub fn place(&self) -> Option<&str> {
        self.place.as_deref()
    }

    /// Every mismatch, in the order found.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.code.name(), self.code.number())?;
        if let Some(place) = &self.place {
            write!(f, " at {}", Shown(place))?;
        }
        for Finding { what, expected, got } in &self.findings {
            write!(f, "\n  {}: expected {}, got {}", Shown(what), Shown(expected), Shown(got))?;
        }
        write!(f, "\n  remedy: {}", Shown(self.remedy()))
    }
}

/// Text that may come from a file, for a terminal: what would command it is written out.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a>(pub &'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| {
            let layout = c == '\n' || c == '\t';
            if c.is_control() && !layout { write!(f, "{}", c.escape_default()) } else { f.write_char(c) }
        })
    }
}

impl std::error::Error for Refusal {}

impl Serialize for Refusal {
    /// Name and number of the code, place, findings, remedy.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut s = serializer.serialize_struct("Refusal", 5)?;
        s.serialize_field("code", self.code.name())?;
        s.serialize_field("number", &self.code.number())?;
        s.serialize_field("place", &self.place)?;
        s.serialize_field("findings", &self.findings)?;
        s.serialize_field("remedy", self.remedy())?;
        s.end()
    }
}
