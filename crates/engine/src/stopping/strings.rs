//! Stop strings in a stream of text.
//!
//! What counts is the text, not how it arrives. Reading character by character, the reply ends at the first
//! character that completes a stop string; if it completes several, the longest is the one found. Text that could
//! still become the start of a stop string is held back, and no more than that.

/// The matcher. Cost of a character: the summed length of the stop strings.
#[derive(Clone, Debug, Default)]
pub(crate) struct StopStrings {
    stops: Vec<String>,
    /// The longest end of the text so far that begins some stop string, short of a whole one.
    held: String,
}

impl StopStrings {
    /// A matcher for `stops`, none of them empty.
    pub(crate) fn new(stops: Vec<String>) -> Self {
        Self { stops, held: String::new() }
    }

    /// Takes the next piece. Returns the text that is now certain, and the stop string if one was completed: the
    /// text then ends before it, and what the piece holds beyond it is dropped.
    pub(crate) fn push(&mut self, piece: &str) -> (String, Option<String>) {
        let mut text = std::mem::take(&mut self.held);
        let mut end = text.len();
        text.push_str(piece);
        for c in piece.chars() {
            end += c.len_utf8();
            if let Some(stop) = self.completed(&text[..end]) {
                let stop = stop.to_owned();
                text.truncate(end - stop.len());
                return (text, Some(stop));
            }
        }
        self.held = text.split_off(self.certain(&text));
        (text, None)
    }

    /// The text still held: the reply ends here and no stop string was completed.
    pub(crate) fn finish(&mut self) -> String {
        std::mem::take(&mut self.held)
    }

    fn completed(&self, text: &str) -> Option<&str> {
        self.stops
            .iter()
            .map(String::as_str)
            .filter(|stop| text.ends_with(stop))
            .max_by_key(|stop| stop.len())
    }

    /// Bytes at the front of `text` that are no part of a started stop string.
    fn certain(&self, text: &str) -> usize {
        let starts = |tail: &str| self.stops.iter().any(|stop| stop.starts_with(tail));
        text.char_indices().map(|(i, _)| i).find(|&i| starts(&text[i..])).unwrap_or(text.len())
    }
}

#[cfg(test)]
mod tests;
