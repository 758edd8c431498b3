//! Text from files and standard input.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use tilewright_model::{Code, Refusal};

/// Bytes that a text may have: far more than any context holds, and an end to what has none.
const LIMIT: u64 = 1 << 30;

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
    let unreadable =
        |expected: &str, got: String| Refusal::new(Code::FileUnreadable, name(path), expected, got);
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        io::stdin().lock().take(LIMIT + 1).read_to_end(&mut bytes)
    } else {
        File::open(path).and_then(|file| file.take(LIMIT + 1).read_to_end(&mut bytes))
    };
    match read {
        Err(error) => Err(unreadable("a readable file", error.to_string())),
        Ok(_) if bytes.len() as u64 > LIMIT => {
            Err(unreadable(&format!("at most {} MiB", LIMIT >> 20), "more".to_owned()))
        }
        Ok(_) => Ok(bytes),
    }
}

fn name(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}
