//! A file that appears under its name whole or not at all.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::{Code, Refusal};

/// A file being written under a temporary name in its final directory; deleted unless committed.
pub(super) struct Staged {
    file: File,
    temporary: PathBuf,
    name: PathBuf,
}

impl Staged {
    pub(super) fn create(dir: &Path, name: &str) -> Result<Self, Refusal> {
        let temporary = dir.join(format!(".{name}.{}.partial", std::process::id()));
        let file = File::create(&temporary).map_err(|e| unwritable(&temporary, &e))?;
        Ok(Self { file, temporary, name: dir.join(name) })
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        self.file.write_all(bytes).map_err(|e| unwritable(&self.temporary, &e))
    }

    /// Flushes to the disk, then renames.
    pub(super) fn commit(self) -> Result<(), Refusal> {
        self.file
            .sync_all()
            .and_then(|()| std::fs::rename(&self.temporary, &self.name))
            .and_then(|()| sync_directory(&self.name))
            .map_err(|e| unwritable(&self.name, &e))
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // After a commit there is nothing under this name; after a failure the first error is the one to report.
        let _ = std::fs::remove_file(&self.temporary);
    }
}

/// Removes a file that may be absent.
pub(super) fn remove(path: &Path) -> Result<(), Refusal> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(unwritable(path, &e)),
        _ => Ok(()),
    }
}

pub(super) fn unwritable(path: &Path, error: &std::io::Error) -> Refusal {
    Refusal::new(Code::FileUnwritable, "file", "writable", error).at(path.display())
}

/// Makes a rename durable. Only Unix can flush a directory, and only there is it needed.
fn sync_directory(file: &Path) -> std::io::Result<()> {
    match file.parent() {
        Some(dir) if cfg!(unix) => File::open(dir)?.sync_all(),
        _ => Ok(()),
    }
}
