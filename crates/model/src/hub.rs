//! Models in the cache that programs of Hugging Face share, by their name there.
//!
//! `$HF_HUB_CACHE`, else `$HF_HOME/hub`, else `huggingface/hub` in `$XDG_CACHE_HOME` or `~/.cache` has a folder `models--ORG--NAME` for each
//! repository: `refs/main` names a revision, `snapshots/REVISION` holds its files. Nothing is fetched here.

use std::env;
use std::path::{Path, PathBuf};

#[cfg(test)]
mod tests;

/// A repository, and one file of it where that is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubName {
    /// `org/name`.
    pub repository: String,
    /// A file in it, as a GGUF repository has many.
    pub file: Option<String>,
}

impl HubName {
    /// Reads `org/name` or `org/name:file`; `None` for anything else, such as a path.
    pub fn parse(text: &str) -> Option<Self> {
        let (repository, file) = match text.split_once(':') {
            Some((repository, file)) => (repository, Some(file)),
            None => (text, None),
        };
        let (org, name) = repository.split_once('/')?;
        (is_part(org) && is_part(name) && file.is_none_or(Self::is_file_name))
            .then(|| Self { repository: repository.to_owned(), file: file.map(str::to_owned) })
    }

    /// Whether a text may name a file of a repository: plain names of folders and of a file, between slashes.
    pub fn is_file_name(text: &str) -> bool {
        text.split('/').all(is_part)
    }

    /// Where it lies in the cache `hub`, if it does.
    pub fn find_in(&self, hub: &Path) -> Option<PathBuf> {
        let folder = hub.join(format!("models--{}", self.repository.replace('/', "--")));
        let revision = std::fs::read_to_string(folder.join("refs/main")).ok()?;
        // The revision is a name of a folder, whatever somebody has written there.
        let revision = revision.trim();
        let is_plain = !revision.is_empty() && revision.chars().all(|c| c.is_ascii_alphanumeric());
        let snapshot = folder.join("snapshots").join(revision);
        let found = self.file.as_ref().map_or(snapshot.clone(), |file| snapshot.join(file));
        (is_plain && found.exists()).then_some(found)
    }
}

fn is_part(part: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !part.is_empty() && part.chars().all(plain) && !part.starts_with('.')
}

/// The folder of the shared cache; `None` where the environment names none.
pub fn hub_cache_folder() -> Option<PathBuf> {
    folder("HF_HUB_CACHE").or_else(|| Some(hub_home_folder()?.join("hub")))
}

/// The folder of everything that those programs share, a token included; `None` where the environment names none.
pub fn hub_home_folder() -> Option<PathBuf> {
    folder("HF_HOME").or_else(|| {
        let cache = folder("XDG_CACHE_HOME").or_else(|| {
            let home = folder(if cfg!(windows) { "USERPROFILE" } else { "HOME" })?;
            Some(home.join(".cache"))
        })?;
        Some(cache.join("huggingface"))
    })
}

fn folder(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// What `-m` names: a path as it is where there is something, else a model of the shared cache, else the path again.
pub fn find_model(name: &Path) -> PathBuf {
    if name.exists() {
        return name.to_owned();
    }
    let cached = || HubName::parse(name.to_str()?)?.find_in(&hub_cache_folder()?);
    cached().unwrap_or_else(|| name.to_owned())
}
