//! The files of a checkpoint: a directory, or the same held in memory.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::raw::Bytes;
use crate::gguf::open::{belong_together, is_gguf};
use crate::{Code, HubName, Refusal};

/// Largest text file that is read (a tokenizer of a quarter million entries has 20 MiB).
const TEXT_LIMIT: u64 = 256 << 20;

/// Named files. Only plain names directly in the folder are ever opened.
#[derive(Debug)]
pub(crate) enum Folder {
    /// A directory on disk.
    Disk(PathBuf),
    /// One GGUF file on disk, with its other parts: the folder and the file's name.
    Gguf(PathBuf, String),
    /// Files held by the program.
    Memory(BTreeMap<String, Cow<'static, [u8]>>),
}

/// A file of the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FolderFile {
    pub(crate) name: String,
    pub(crate) bytes: u64,
}

impl Folder {
    /// The directory or GGUF file at `path`.
    ///
    /// # Errors
    /// `checkpoint_not_found` when there is none.
    pub(crate) fn at(path: &Path) -> Result<Self, Refusal> {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let got = match std::fs::metadata(path) {
            Ok(meta) if meta.is_dir() => return Ok(Self::Disk(path.to_owned())),
            Ok(meta) if meta.is_file() && is_gguf(&name) => {
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
                return Ok(Self::Gguf(folder.unwrap_or(Path::new(".")).to_owned(), name));
            }
            Ok(_) => "a file".to_owned(),
            Err(e) => leads_nowhere(path).unwrap_or_else(|| e.to_string()),
        };
        let mut expected = "the directory of a checkpoint, or a GGUF file".to_owned();
        if let Some(name) = path.to_str().filter(|name| !path.exists() && HubName::parse(name).is_some()) {
            expected += &format!("; a model of this name is downloaded by `tilewright pull {name}`");
        }
        Err(Refusal::new(Code::CheckpointNotFound, "path", expected, got).at(path.display()))
    }

    /// Where it is, for messages.
    pub(crate) fn place(&self, name: &str) -> String {
        match self {
            Self::Disk(path) => path.join(name).display().to_string(),
            Self::Gguf(path, file) if name.is_empty() => path.join(file).display().to_string(),
            Self::Gguf(path, _) => path.join(name).display().to_string(),
            Self::Memory(_) => format!("(memory)/{name}"),
        }
    }

    /// The files directly in the folder, by name.
    ///
    /// # Errors
    /// `file_unreadable`.
    pub(crate) fn files(&self) -> Result<Vec<FolderFile>, Refusal> {
        match self {
            Self::Disk(path) | Self::Gguf(path, _) => {
                let list = || -> std::io::Result<Vec<FolderFile>> {
                    let mut files = Vec::new();
                    for entry in std::fs::read_dir(path)? {
                        let entry = entry?;
                        // Follows links: the hub's cache keeps a snapshot as links into a blob store.
                        let Ok(meta) = std::fs::metadata(entry.path()) else { continue };
                        let name = entry.file_name().to_string_lossy().into_owned();
                        if meta.is_file() && self.holds(&name) {
                            files.push(FolderFile { name, bytes: meta.len() });
                        }
                    }
                    files.sort_by(|a, b| a.name.cmp(&b.name));
                    Ok(files)
                };
                list().map_err(|e| unreadable(path.display(), &e))
            }
            Self::Memory(files) => Ok(files
                .iter()
                .map(|(name, bytes)| FolderFile { name: name.clone(), bytes: bytes.len() as u64 })
                .collect()),
        }
    }

    /// The whole of a text file, or `None` when it is not there.
    ///
    /// # Errors
    /// `file_unreadable`.
    pub(crate) fn text(&self, name: &str) -> Result<Option<Cow<'static, [u8]>>, Refusal> {
        let folder = match self {
            Self::Disk(folder) => folder,
            Self::Gguf(..) => return Ok(None),
            Self::Memory(_) => return Ok(self.held(name)),
        };
        let path = folder.join(name);
        match std::fs::metadata(&path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            // A pipe would be waited for, a device read without an end.
            Ok(meta) if !meta.is_file() => {
                let refusal = Refusal::new(Code::FileUnreadable, "kind", "a regular file", "another kind");
                return Err(refusal.at(path.display()));
            }
            Ok(meta) if meta.len() > TEXT_LIMIT => {
                let expected = format!("at most {} MiB", TEXT_LIMIT >> 20);
                let got = format!("{} MiB", meta.len() >> 20);
                return Err(Refusal::new(Code::FileUnreadable, "size", expected, got).at(path.display()));
            }
            _ => {}
        }
        std::fs::read(&path).map(|text| Some(Cow::Owned(text))).map_err(|e| unreadable(path.display(), &e))
    }

    /// The bytes of a weight file, mapped when it is on disk.
    ///
    /// # Errors
    /// `checkpoint_not_found`, `file_unreadable`.
    pub(crate) fn bytes(&self, name: &str) -> Result<Bytes, Refusal> {
        let missing = || {
            Refusal::new(Code::CheckpointNotFound, name, "a file", self.absence(name)).at(self.place(name))
        };
        let (Self::Disk(folder) | Self::Gguf(folder, _)) = self else {
            return self.held(name).map(Bytes::Held).ok_or_else(missing);
        };
        let path = folder.join(name);
        match Bytes::map(&path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Err(missing()),
            other => other.map_err(|e| unreadable(path.display(), &e)),
        }
    }

    /// What is said of a name under which there is no file: none, or a link that leads nowhere.
    pub(crate) fn absence(&self, name: &str) -> String {
        let link = match self {
            Self::Disk(folder) | Self::Gguf(folder, _) => leads_nowhere(&folder.join(name)),
            Self::Memory(_) => None,
        };
        link.unwrap_or_else(|| "none".to_owned())
    }

    /// The names directly in the folder that are links which lead nowhere, sorted.
    pub(crate) fn broken_links(&self) -> Vec<String> {
        let Self::Disk(folder) = self else { return Vec::new() };
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let broken = entries.filter(|entry| leads_nowhere(&entry.path()).is_some());
        let mut names: Vec<_> =
            broken.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Whether a file of the directory is one of the checkpoint's.
    fn holds(&self, name: &str) -> bool {
        match self {
            Self::Gguf(_, file) => belong_together(file, name),
            Self::Disk(_) | Self::Memory(_) => true,
        }
    }

    fn held(&self, name: &str) -> Option<Cow<'static, [u8]>> {
        match self {
            Self::Disk(_) | Self::Gguf(..) => None,
            Self::Memory(files) => files.get(name).cloned(),
        }
    }
}

/// Where a link leads whose end is not there, in words.
fn leads_nowhere(path: &Path) -> Option<String> {
    let target = std::fs::read_link(path).ok().filter(|_| !path.exists())?;
    Some(format!("a link to {}, which is not there", target.display()))
}

fn unreadable(place: impl std::fmt::Display, error: &std::io::Error) -> Refusal {
    Refusal::new(Code::FileUnreadable, "file", "readable", error).at(place)
}
