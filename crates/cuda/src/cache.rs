//! Compiled kernels kept between runs, by content: a file is found only under the digest of everything that made it.

use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

const DIGEST: usize = 32;

/// A folder of CUBINs, each behind the digest of its bytes.
#[derive(Clone, Debug)]
pub(crate) struct Cache(PathBuf);

impl Cache {
    /// The user's: `TILEWRIGHT_CACHE`, or `tilewright` in the system's folder for caches.
    pub(crate) fn of_user() -> Option<Self> {
        let set = |name: &str| env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let system = if cfg!(windows) {
            set("LOCALAPPDATA")
        } else if cfg!(target_os = "macos") {
            set("HOME").map(|home| home.join("Library/Caches"))
        } else {
            set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")))
        };
        set("TILEWRIGHT_CACHE").or_else(|| system.map(|s| s.join("tilewright"))).map(Self::at)
    }

    /// At a folder.
    pub(crate) fn at(folder: PathBuf) -> Self {
        Self(folder.join("cubin"))
    }

    /// The name of what `parts` make.
    pub(crate) fn key(parts: &[&[u8]]) -> String {
        let mut digest = Sha256::new();
        for part in parts {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
        digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn path(&self, key: &str) -> PathBuf {
        self.0.join(format!("{key}.cubin"))
    }

    /// What was stored under `key`, if it is there and whole.
    pub(crate) fn get(&self, key: &str) -> Option<Vec<u8>> {
        let mut bytes = fs::read(self.path(key)).ok()?;
        if bytes.len() <= DIGEST {
            return None;
        }
        let content = bytes.split_off(DIGEST);
        (Sha256::digest(&content)[..] == bytes[..]).then_some(content)
    }

    /// Stores `content` under `key`; readers see nothing or all of it.
    ///
    /// # Errors
    /// Of the file system.
    pub(crate) fn put(&self, key: &str, content: &[u8]) -> std::io::Result<()> {
        fs::create_dir_all(&self.0)?;
        let staged = self.0.join(format!("{key}.{}.part", std::process::id()));
        let written = write(&staged, content).and_then(|()| fs::rename(&staged, self.path(key)));
        if written.is_err() {
            let _ = fs::remove_file(&staged);
        }
        written
    }
}

fn write(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let mut file = fs::File::create(path)?;
    file.write_all(&Sha256::digest(content))?;
    file.write_all(content)?;
    file.sync_all()
}

#[cfg(test)]
mod tests;
