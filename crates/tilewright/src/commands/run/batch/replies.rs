//! The file of replies: one JSON object a line, each whole, in the order of the prompts.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use tilewright_engine::{Code, Refusal};

/// What a reply answers: a digest of its line of the prompts and of the settings.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mark(String);

impl Mark {
    /// The mark of `line` under `settings`.
    pub(super) fn of(line: &str, settings: &str) -> Self {
        let digest = Sha256::new().chain_update(settings).chain_update([0]).chain_update(line).finalize();
        Self(digest.iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

/// The file, which this process has for itself until it is dropped.
pub(super) struct Replies {
    file: File,
    path: PathBuf,
    whole: usize,
    refused: usize,
}

impl Replies {
    /// Opens `path` after its last whole line. What a kill has left of the line after that is cut off, and nothing else.
    ///
    /// # Errors
    /// `output_exists` when the file holds anything but the first replies to `marks`; `output_busy` where another process
    /// writes; `file_unwritable`, also for what is no regular file.
    pub(super) fn open(path: &Path, marks: &[Mark]) -> Result<Self, Refusal> {
        let refuse = |expected: &str, got: &str| {
            Refusal::new(Code::FileUnwritable, "replies", expected, got).at(path.display())
        };
        if path == Path::new("-") || fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            return Err(refuse("a regular file, which can be gone on with", "another kind"));
        }
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let file = opened.map_err(|error| unwritable(path, error))?;
        if let Err(fs::TryLockError::WouldBlock) = file.try_lock() {
            let (expected, got) = ("a file that nobody else writes", "another process is writing it");
            return Err(Refusal::new(Code::OutputBusy, "replies", expected, got).at(path.display()));
        }
        let mut replies = Self { file, path: path.to_owned(), whole: 0, refused: 0 };
        replies.resume(marks)?;
        Ok(replies)
    }

    /// Replies that are in it.
    pub(super) fn whole(&self) -> usize {
        self.whole
    }

    /// Those of them that are refusals.
    pub(super) fn refused(&self) -> usize {
        self.refused
    }

    /// Adds the reply to the next prompt.
    pub(super) fn append(
        &mut self,
        mark: &Mark,
        id: Value,
        reply: Map<String, Value>,
    ) -> Result<(), Refusal> {
        let mut object = Map::new();
        object.insert("line".to_owned(), json!(self.whole + 1));
        object.insert("sha256".to_owned(), json!(mark.0));
        object.insert("id".to_owned(), id);
        object.extend(reply);
        let text = format!("{}\n", Value::Object(object));
        self.file.write_all(text.as_bytes()).map_err(|error| unwritable(&self.path, error))?;
        self.whole += 1;
        Ok(())
    }

    /// Puts it on the disk.
    pub(super) fn finish(self) -> Result<(), Refusal> {
        self.file.sync_all().map_err(|error| unwritable(&self.path, error))
    }

    fn resume(&mut self, marks: &[Mark]) -> Result<(), Refusal> {
        let foreign = |got: String| {
            let expected =
                "a new file, or the one of this batch that was stopped, with the same prompts and settings";
            Refusal::new(Code::OutputExists, "replies", expected, got).at(self.path.display())
        };
        let mut bytes = Vec::new();
        self.file.read_to_end(&mut bytes).map_err(|error| unwritable(&self.path, error))?;
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let (whole, cut) = bytes.split_at(end);
        let mut refused = 0;
        let mut count = 0;
        for line in whole.split_inclusive(|byte| *byte == b'\n') {
            let wrong = || foreign(format!("line {} is of something else", count + 1));
            let found: Value = serde_json::from_slice(line).map_err(|_| wrong())?;
            let mark = marks.get(count).ok_or_else(wrong)?;
            if !line.starts_with(beginning(count, mark).as_bytes()) {
                return Err(wrong());
            }
            refused += usize::from(found.get("refusal").is_some());
            count += 1;
        }
        let next = marks.get(count).map_or(String::new(), |mark| beginning(count, mark));
        let common = cut.len().min(next.len());
        if cut[..common] != next.as_bytes()[..common] || (next.is_empty() && !cut.is_empty()) {
            return Err(foreign("an end that is no part of a reply".to_owned()));
        }
        self.file.set_len(end as u64).map_err(|error| unwritable(&self.path, error))?;
        self.file.seek(SeekFrom::End(0)).map_err(|error| unwritable(&self.path, error))?;
        (self.whole, self.refused) = (count, refused);
        Ok(())
    }
}

/// How the reply after `before` others begins.
fn beginning(before: usize, mark: &Mark) -> String {
    format!("{{\"line\":{},\"sha256\":\"{}\",", before + 1, mark.0)
}

fn unwritable(path: &Path, error: impl std::fmt::Display) -> Refusal {
    Refusal::new(Code::FileUnwritable, "replies", "a file that can be written", error).at(path.display())
}
