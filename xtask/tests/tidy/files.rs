//! Walking the repository.

use std::fs;
use std::path::{Path, PathBuf};

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the repository").to_path_buf()
}

/// A text file, by its path relative to the root with forward slashes.
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Every file of the repository with one of these extensions, build outputs left out, sorted by path.
pub(crate) fn sources(extensions: &[&str]) -> Vec<Source> {
    let mut found = Vec::new();
    walk(&root(), &mut |path| {
        if path.extension().is_some_and(|e| extensions.iter().any(|x| e == *x)) {
            let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let relative = path.strip_prefix(root()).expect("below the root");
            found.push(Source { path: relative.to_string_lossy().replace('\\', "/"), text });
        }
    });
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(!found.is_empty(), "no file with {extensions:?} found: the walk is broken");
    found
}

fn walk(folder: &Path, visit: &mut dyn FnMut(&Path)) {
    for entry in fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
        let path = entry.expect("readable entry").path();
        let name = path.file_name().expect("named").to_string_lossy().into_owned();
        if path.is_dir() {
            if !matches!(name.as_str(), "target" | ".git" | "node_modules" | ".venv" | "corpus" | "artifacts")
            {
                walk(&path, visit);
            }
        } else {
            visit(&path);
        }
    }
}

/// Fails with every complaint at once.
pub(crate) fn report(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}
