//! One hash of the sources of a checkout; the build script computes it as well.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Whether a folder is a checkout of this project.
pub(crate) fn is_checkout(folder: &Path) -> bool {
    folder.join("ARCHITECTURE.md").is_file() && folder.join("crates/gate").is_dir()
}

/// One hash of every source file of the crates, by path.
pub(crate) fn sources(root: &Path) -> io::Result<String> {
    let mut files = vec![root.join("Cargo.lock"), root.join("Cargo.toml")];
    gather(&root.join("crates"), &mut files)?;
    files.sort();
    let mut hasher = Sha256::new();
    for path in files {
        let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        hasher.update(format!("{name} {}\n", file(&path)?));
    }
    Ok(hex(hasher))
}

fn gather(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for path in sorted(folder)? {
        if path.is_dir() {
            gather(&path, files)?;
        } else if path.extension().is_some_and(|e| ["rs", "cu", "cuh", "toml", "h"].iter().any(|x| e == *x)) {
            files.push(path);
        }
    }
    Ok(())
}

/// What lies in a folder, in order.
pub(crate) fn sorted(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>()?;
    paths.sort();
    Ok(paths)
}

/// The hash of a file.
pub(crate) fn file(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let (mut hasher, mut buffer) = (Sha256::new(), vec![0; 1 << 20]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(hasher)),
            count => hasher.update(&buffer[..count]),
        }
    }
}

fn hex(hasher: Sha256) -> String {
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
