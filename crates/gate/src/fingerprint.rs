//! SHA-256 of what is measured: the program, its sources where it lies in its checkout, and the checkpoint.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tilewright_model::{Code, Refusal, embedded_files};

use crate::report::hex;

/// Hashes by name. `folder` is the checkpoint's folder or file; none means the model inside the program.
///
/// # Errors
/// `file_unreadable`.
pub(crate) fn fingerprints(folder: Option<&Path>) -> Result<BTreeMap<String, String>, Refusal> {
    let mut prints = BTreeMap::new();
    let program = std::env::current_exe().map_err(|e| refuse(Path::new("the program"), &e))?;
    prints.insert("binary".to_owned(), file(&program)?);
    if let Some(root) = program.ancestors().find(|folder| is_checkout(folder)) {
        prints.insert("sources".to_owned(), sources(root)?);
    }
    match folder {
        None => {
            for (name, bytes) in embedded_files() {
                prints.insert(format!("checkpoint/{name}"), hex(&Sha256::digest(bytes)));
            }
        }
        Some(path) if path.is_file() => {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            prints.insert(format!("checkpoint/{name}"), file(path)?);
        }
        Some(folder) => {
            for path in sorted(folder)?.into_iter().filter(|path| path.is_file()) {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                if [".json", ".safetensors", ".blob", ".gguf"].iter().any(|end| name.ends_with(end)) {
                    prints.insert(format!("checkpoint/{name}"), file(&path)?);
                }
            }
        }
    }
    Ok(prints)
}

fn is_checkout(folder: &Path) -> bool {
    folder.join("ARCHITECTURE.md").is_file() && folder.join("crates/gate").is_dir()
}

/// One hash of every source file of the crates, by path.
fn sources(root: &Path) -> Result<String, Refusal> {
    let mut files = vec![root.join("Cargo.lock"), root.join("Cargo.toml")];
    gather(&root.join("crates"), &mut files)?;
    files.sort();
    let mut hasher = Sha256::new();
    for path in files {
        let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        hasher.update(format!("{name} {}\n", file(&path)?));
    }
    Ok(hex(&hasher.finalize()))
}

fn gather(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Refusal> {
    for path in sorted(folder)? {
        if path.is_dir() {
            gather(&path, files)?;
        } else if path.extension().is_some_and(|e| ["rs", "cu", "cuh", "toml", "h"].iter().any(|x| e == *x)) {
            files.push(path);
        }
    }
    Ok(())
}

fn sorted(folder: &Path) -> Result<Vec<PathBuf>, Refusal> {
    let entries = std::fs::read_dir(folder).map_err(|e| refuse(folder, &e))?;
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.map(|e| e.path()))
        .collect::<io::Result<_>>()
        .map_err(|e| refuse(folder, &e))?;
    paths.sort();
    Ok(paths)
}

fn file(path: &Path) -> Result<String, Refusal> {
    let mut file = File::open(path).map_err(|e| refuse(path, &e))?;
    let (mut hasher, mut buffer) = (Sha256::new(), vec![0; 1 << 20]);
    loop {
        match file.read(&mut buffer).map_err(|e| refuse(path, &e))? {
            0 => return Ok(hex(&hasher.finalize())),
            count => hasher.update(&buffer[..count]),
        }
    }
}

fn refuse(path: &Path, error: &io::Error) -> Refusal {
    Refusal::new(Code::FileUnreadable, "file", "a readable file", error).at(path.display())
}
