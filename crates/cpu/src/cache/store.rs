//! Writing packed weights.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use tilewright_backend::{Progress, Stage};

use super::key::{self, Key};
use super::{PIECE, checksum};
use crate::pool::Pool;
use crate::weights::Weights;

/// Ends the names of files that are being written.
const PARTIAL: &str = ".partial";

/// Writes `weights` to `path`, whole or not at all. Nothing is forced onto the disk: what a crash leaves unwritten, a
/// checksum finds.
pub(super) fn store(
    path: &Path,
    key: &Key,
    weights: &Weights,
    pool: &Pool,
    progress: &mut dyn FnMut(Progress) -> io::Result<()>,
) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    remove_abandoned(folder);
    let total = weights.matrices().map(|m| m.bytes().len() as u64).sum();
    let mut done = 0;
    let mut partial = Partial::create(path)?;
    partial.file.write_all(&key.bytes())?;
    for matrix in weights.matrices() {
        progress(Progress { stage: Stage::Store, done, total })?;
        let pieces: Vec<&[u8]> = matrix.bytes().chunks(PIECE).collect();
        let mut checksums = vec![[0; 16]; pieces.len()];
        pool.for_each_chunk(&mut checksums, 1, |index, sum| sum[0] = checksum(pieces[index]));
        partial.file.write_all(checksums.as_flattened())?;
        partial.file.write_all(matrix.bytes())?;
        done += matrix.bytes().len() as u64;
    }
    progress(Progress { stage: Stage::Store, done, total })?;
    fs::rename(&partial.path, path)
}

/// A file on its way. Removed unless it was renamed.
struct Partial {
    /// Locked as long as it is written, which tells it from one whose writer was killed.
    file: File,
    path: PathBuf,
}

impl Partial {
    fn create(path: &Path) -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let mut name = path.as_os_str().to_owned();
            name.push(format!(".{}-{number}{PARTIAL}", std::process::id()));
            let path = PathBuf::from(name);
            match File::create_new(&path) {
                Ok(file) => {
                    // Where there are no locks, nothing is ever taken for abandoned.
                    let _ = file.lock();
                    return Ok(Self { file, path });
                }
                // A process of the same number, on another machine or in another container.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // After the rename there is nothing of this name; after a failure the first error is the one to tell.
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes what killed processes left behind: partial files that nobody holds a lock on.
fn remove_abandoned(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let partial = entry.file_type().is_ok_and(|kind| kind.is_file())
            && entry.file_name().to_str().is_some_and(is_partial);
        if partial && File::open(&path).is_ok_and(|file| file.try_lock().is_ok()) {
            // Another process may have been faster, or may not let us; neither matters.
            let _ = fs::remove_file(&path);
        }
    }
}

/// Whether `name` is one that [`Partial::create`] gives: `DIGEST-FORMAT-PACKING.packed.PROCESS-NUMBER.partial`. A folder may
/// hold other people's partial files, too.
fn is_partial(name: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    name.strip_suffix(PARTIAL).and_then(|name| name.split_once(".packed.")).is_some_and(|(kept, by)| {
        key::is_stem(kept) && by.split_once('-').is_some_and(|(p, n)| digits(p) && digits(n))
    })
}
