//! Text from files and standard input.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use tilewright_model::{Code, Refusal};

/// Reads UTF-8 text from a file, or from standard input for `-`.
///
/// # Errors
/// `file_unreadable`, also for text that is not UTF-8: replacing bytes would alter the prompt.
pub(crate) fn read_text(path: &Path) -> Result<String, Refusal> {
    String::from_utf8(read_bytes(path)?).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Refusal::new(Code::FileUnreadable, name(path), "UTF-8 text", format!("another byte at offset {at}"))
    })
}

fn read_bytes(path: &Path) -> Result<Vec<u8>, Refusal> {
    let read = if path == Path::new("-") {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        fs::read(path)
    };
    read.map_err(|error| Refusal::new(Code::FileUnreadable, name(path), "a readable file", error))
}

fn name(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}
