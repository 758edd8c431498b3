//! A file that appears under its name whole or not at all.

use std::fs::File;
#[cfg(unix)]
use std::fs::TryLockError;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::{Code, Refusal};

/// The end of temporary names.
const PARTIAL: &str = ".partial";

/// A file being written under a temporary name in its final directory; deleted unless committed.
pub(super) struct Staged {
    file: File,
    temporary: PathBuf,
    name: PathBuf,
}

impl Staged {
    pub(super) fn create(dir: &Path, name: &str) -> Result<Self, Refusal> {
        let temporary = dir.join(format!(".{name}.{}{PARTIAL}", std::process::id()));
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

/// A directory that one writer has for itself until this is dropped.
pub(super) struct Reserved {
    /// Holds the lock, which the system takes back from a process that dies. Elsewhere than on Unix a directory cannot be
    /// opened, and two writers at once are the caller's to avoid.
    #[cfg(unix)]
    _lock: File,
}

impl Reserved {
    /// Reserves `dir` and clears away what writers that were killed have left of `names`.
    pub(super) fn new(dir: &Path, names: &[&str]) -> Result<Self, Refusal> {
        #[cfg(unix)]
        let reserved = {
            let lock = File::open(dir).map_err(|e| unwritable(dir, &e))?;
            // Where the file system knows no locks it is as elsewhere.
            if let Err(TryLockError::WouldBlock) = lock.try_lock() {
                let (expected, got) = ("one that nobody else writes to", "another process is writing there");
                return Err(Refusal::new(Code::OutputBusy, "directory", expected, got).at(dir.display()));
            }
            Self { _lock: lock }
        };
        #[cfg(not(unix))]
        let reserved = Self {};
        for entry in std::fs::read_dir(dir).map_err(|e| unwritable(dir, &e))?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            // Just what `Staged::create` makes: others may have partial files there.
            let left = |of: &str| {
                let process =
                    name.strip_prefix(&format!(".{of}.")).and_then(|rest| rest.strip_suffix(PARTIAL));
                process.is_some_and(|id| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()))
            };
            if names.iter().any(|of| left(of)) {
                remove(&entry.path())?;
            }
        }
        Ok(reserved)
    }
}

/// Removes from `dir` the partial files of this process, which is about to end before they are whole.
pub fn discard_partial(dir: &Path) {
    let own = format!(".{}{PARTIAL}", std::process::id());
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_string_lossy().starts_with('.') && name.to_string_lossy().ends_with(&own) {
            // Nothing is left to be done about one that stays, and the next writer clears it away.
            let _ = std::fs::remove_file(entry.path());
        }
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
