//! A rendered conversation.

use std::ops::Range;

/// A rendered conversation: its text, and which parts of it came from messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    text: String,
    protected: Vec<Range<usize>>,
    /// Where the message begins that the model continues; the end of the text when there is none.
    continued: usize,
}

impl Prompt {
    pub(super) fn new(text: String, protected: Vec<Range<usize>>) -> Self {
        let continued = text.len();
        Self { text, protected, continued }
    }

    /// The text, exactly as the template renders it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The byte ranges of [`text`](Self::text) that came from messages and may not take part in a control token, in
    /// order.
    pub fn protected(&self) -> &[Range<usize>] {
        &self.protected
    }

    /// Whether the reply begins inside a block that the prompt opens with `open` and does not end with `close`.
    ///
    /// Only the end of the prompt is looked at, and there only what the template wrote, or the message that the
    /// model continues: a tag anywhere else is something that was said.
    pub fn ends_inside(&self, open: &str, close: &str) -> bool {
        let (before, continued) = self.text.split_at(self.continued);
        match (continued.rfind(open), continued.rfind(close)) {
            (Some(opened), Some(closed)) => opened > closed,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => {
                let before = before.trim_end();
                let start = before.len().saturating_sub(open.len());
                before.ends_with(open)
                    && !self.protected.iter().any(|span| span.start < before.len() && start < span.end)
            }
        }
    }

    /// Ends the text with the last `content` in it, for the model to continue. Space after it is kept only if the
    /// template kept it. `None` when the text does not hold it.
    pub(super) fn continue_from(mut self, content: &str) -> Option<Self> {
        let (trimmed, kept) = (content.trim(), content.trim_start());
        let start = self.text.rfind(trimmed)?;
        let whole = self.text[start..].starts_with(kept);
        let end = start + if whole { kept.len() } else { trimmed.len() };
        self.text.truncate(end);
        self.protected.retain(|span| span.start < end);
        if let Some(last) = self.protected.last_mut() {
            last.end = last.end.min(end);
        }
        self.continued = start;
        Some(self)
    }
}
