//! Where packed weights are kept between starts.

use std::env;
use std::path::PathBuf;

use tilewright_cpu::PackedCache;

/// In the user's folder only weights of this size and above are kept: smaller ones are packed in a few tenths of a
/// second, and nobody wants their home filled for that.
const LEAST_BYTES: u64 = 64 << 20;

/// Where packed weights are kept, so that later starts need not quantise again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Cache {
    /// Nowhere: no file is read or written.
    #[default]
    Off,
    /// [`user_cache_folder`], for models large enough to gain by it.
    User,
    /// This folder, for models of any size. It is made if absent.
    Folder(PathBuf),
}

impl Cache {
    /// What it means to the device.
    pub(crate) fn resolve(&self) -> Option<PackedCache> {
        match self {
            Self::Off => None,
            Self::User => user_cache_folder().map(|folder| PackedCache { folder, least_bytes: LEAST_BYTES }),
            Self::Folder(folder) => Some(PackedCache { folder: folder.clone(), least_bytes: 0 }),
        }
    }
}

/// The user's cache folder for this program, by the custom of the system; `None` where the environment names none.
///
/// `$XDG_CACHE_HOME/tilewright`, else `~/.cache/tilewright`; `~/Library/Caches/tilewright` on macOS;
/// `%LOCALAPPDATA%\tilewright` on Windows.
pub fn user_cache_folder() -> Option<PathBuf> {
    // By the XDG rules a relative path is to be ignored.
    let folder = |variable: &str| env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = if cfg!(windows) {
        folder("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        folder("HOME").map(|home| home.join("Library/Caches"))
    } else {
        folder("XDG_CACHE_HOME").or_else(|| folder("HOME").map(|home| home.join(".cache")))
    };
    base.map(|base| base.join("tilewright"))
}
