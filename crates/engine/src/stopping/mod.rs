//! When a reply ends, and which of its text is certain.

mod strings;

pub(crate) use strings::StopStrings;
