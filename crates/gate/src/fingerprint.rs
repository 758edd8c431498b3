//! SHA-256 of what is measured: the program, the sources it was built from, and the checkpoint.

mod tree;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

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
    // A program that was built to measure knows its sources; another one may lie in its checkout.
    let checkout = || program.ancestors().find(|folder| tree::is_checkout(folder));
    if let Some(hash) = option_env!("TILEWRIGHT_SOURCES") {
        prints.insert("sources".to_owned(), hash.to_owned());
    } else if let Some(root) = checkout() {
        prints.insert("sources".to_owned(), tree::sources(root).map_err(|e| refuse(root, &e))?);
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
            for path in tree::sorted(folder)
                .map_err(|e| refuse(folder, &e))?
                .into_iter()
                .filter(|path| path.is_file())
            {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                if [".json", ".safetensors", ".blob", ".gguf"].iter().any(|end| name.ends_with(end)) {
                    prints.insert(format!("checkpoint/{name}"), file(&path)?);
                }
            }
        }
    }
    Ok(prints)
}

fn file(path: &Path) -> Result<String, Refusal> {
    tree::file(path).map_err(|e| refuse(path, &e))
}

fn refuse(path: &Path, error: &io::Error) -> Refusal {
    Refusal::new(Code::FileUnreadable, "file", "a readable file", error).at(path.display())
}
