//! Where a repository's files lie in the shared cache.
//!
//! `blobs` holds contents under the names the hub gives them, `snapshots/REVISION` links of the files' names to those, and
//! `refs/main` names the revision.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use hf_hub::{Cache, Repo};
use tilewright_model::{Code, Finding, Refusal};

use crate::client::is_plain;

/// One revision of a repository.
pub(crate) struct Store {
    cache: Cache,
    repository: Repo,
    name: String,
    folder: PathBuf,
    revision: String,
}

impl Store {
    pub(crate) fn new(cache: &Path, repository: &str, revision: &str) -> Result<Self, Refusal> {
        let name = repository.to_owned();
        let repository = Repo::model(name.clone());
        let folder = cache.join(repository.folder_name());
        let revision = revision.to_owned();
        let store = Self { cache: Cache::new(cache.to_owned()), repository, name, folder, revision };
        for folder in [store.folder.join("blobs"), store.snapshot()] {
            fs::create_dir_all(&folder).map_err(|error| unwritable(&folder, &error))?;
        }
        Ok(store)
    }

    /// `org/name`.
    pub(crate) fn repository(&self) -> &str {
        &self.name
    }

    /// The commit.
    pub(crate) fn revision(&self) -> &str {
        &self.revision
    }

    /// The folder of the files under their names.
    pub(crate) fn snapshot(&self) -> PathBuf {
        self.folder.join("snapshots").join(&self.revision)
    }

    /// Where a file is to be found.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.snapshot().join(name)
    }

    /// Where its content lies.
    pub(crate) fn blob(&self, etag: &str) -> PathBuf {
        self.folder.join("blobs").join(etag)
    }

    /// Gives the content `etag` the name of a file.
    pub(crate) fn link(&self, name: &str, etag: &str) -> Result<(), Refusal> {
        let place = self.file(name);
        let depth = name.split('/').count() + 1;
        let target: PathBuf = std::iter::repeat_n("..", depth).chain(["blobs", etag]).collect();
        let link = || -> io::Result<()> {
            fs::create_dir_all(place.parent().unwrap_or(&place))?;
            // A link whose content was cleared away is not there for those who open it.
            match fs::remove_file(&place) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            symlink(&target, &place).or_else(|_| fs::rename(self.blob(etag), &place))
        };
        link().map_err(|error| unwritable(&place, &error))
    }

    /// Names of the files of the revision that is found now, if that is another one.
    pub(crate) fn names_before(&self) -> Result<Vec<String>, Refusal> {
        let named = fs::read_to_string(self.folder.join("refs/main")).unwrap_or_default();
        let named = named.trim();
        let mut names = Vec::new();
        if is_plain(named) && named != self.revision {
            let snapshot = self.folder.join("snapshots").join(named);
            gather(&snapshot, "", &mut names).map_err(|error| unwritable(&snapshot, &error))?;
        }
        Ok(names)
    }

    /// Makes the revision the one that is found.
    pub(crate) fn name_revision(&self) -> Result<(), Refusal> {
        let named = self.cache.repo(self.repository.clone()).create_ref(&self.revision);
        named.map_err(|error| unwritable(&self.folder.join("refs"), &error))
    }
}

/// Adds the names of files in a folder and below it; none where there is no such folder.
fn gather(folder: &Path, prefix: &str, names: &mut Vec<String>) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let name = format!("{prefix}{name}");
        // Links are files here, whatever they lead to.
        if entry.file_type()?.is_dir() {
            gather(&entry.path(), &format!("{name}/"), names)?;
        } else {
            names.push(name);
        }
    }
    Ok(())
}

#[cfg(unix)]
fn symlink(target: &Path, place: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, place)
}

#[cfg(windows)]
fn symlink(target: &Path, place: &Path) -> io::Result<()> {
    std::os::windows::fs::symlink_file(target, place)
}

#[cfg(not(any(unix, windows)))]
fn symlink(_: &Path, _: &Path) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

/// A file that was not written, by what is missing.
pub(crate) fn unwritable(place: &Path, error: &io::Error) -> Refusal {
    let finding = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            Finding::new("disk", "room for the file", error)
        }
        _ => Finding::new("file", "writable", error),
    };
    Refusal::with_findings(Code::FileUnwritable, vec![finding]).at(place.display())
}
