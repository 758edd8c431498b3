//! When a reply ends, and which of its text is certain.

mod reply_text;
mod strings;

use strings::StopStrings;

pub(crate) use reply_text::ReplyText;
