//! One file from the hub to its place.

use std::fs::{self, File, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tilewright_model::{Code, Refusal};

use crate::PulledFile;
use crate::client::{Client, Facts, Trouble};
use crate::judge::lost;
use crate::store::{Store, unwritable};

/// Who hears of progress: the file's name, the bytes there are, the bytes in all.
type Progress<'a> = &'a mut dyn FnMut(&str, u64, u64);

/// Puts a file into the cache, unless it is there with the length and the checksum that the hub states: who comes upon a
/// damaged model pulls it again.
pub(crate) fn fetch(
    client: &Client,
    store: &Store,
    name: &str,
    progress: Progress<'_>,
) -> Result<PulledFile, Refusal> {
    let url = client.url(&format!("{}/resolve/{}/{name}", store.repository(), store.revision()));
    let facts = client.facts(&url)?;
    let pulled = |received| PulledFile { name: name.to_owned(), bytes: facts.bytes, received };
    let mut heard = |done| progress(name, done, facts.bytes);
    if is_there(&store.file(name), &facts, &mut heard) {
        return Ok(pulled(0));
    }
    let blob = store.blob(&facts.etag);
    let mut received = 0;
    if !is_there(&blob, &facts, &mut heard) {
        let part = Part::open(&blob)?;
        // Whoever had it before may have just finished.
        if !is_there(&blob, &facts, &mut heard) {
            received = part.complete(client, &url, &facts, &mut heard)?;
            part.commit(&url, &facts)?;
        }
    }
    store.link(name, &facts.etag)?;
    Ok(pulled(received))
}

/// Whether a file is there with this content. Links are followed: what was cleared away, cut short or changed is not there.
fn is_there(path: &Path, facts: &Facts, report: &mut dyn FnMut(u64)) -> bool {
    let whole = fs::metadata(path).is_ok_and(|there| there.len() == facts.bytes);
    whole && facts.checksum.name(path, report).is_ok_and(|name| name == facts.etag)
}

/// The part of a content that is there, beside its place; one process has it at a time. Other programs that share the cache
/// leave parts under the same name.
struct Part {
    file: File,
    path: PathBuf,
    blob: PathBuf,
}

impl Part {
    fn open(blob: &Path) -> Result<Self, Refusal> {
        let path = blob.with_extension("incomplete");
        let file = File::options().read(true).write(true).create(true).truncate(false).open(&path);
        let file = file.map_err(|error| unwritable(&path, &error))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { file, path, blob: blob.to_owned() }),
            Err(TryLockError::WouldBlock) => {
                let (expected, got) = ("one that nobody else downloads", "another process is downloading it");
                Err(Refusal::new(Code::HubFileBusy, "file", expected, got).at(path.display()))
            }
            Err(TryLockError::Error(error)) => Err(unwritable(&path, &error)),
        }
    }

    /// Downloads what is missing, and as often as the connection breaks what is missing then: gives up only when several tries
    /// in a row came no further. Returns the bytes that came.
    fn complete(
        &self,
        client: &Client,
        url: &str,
        facts: &Facts,
        report: &mut dyn FnMut(u64),
    ) -> Result<u64, Refusal> {
        let mut there = self.file.metadata().map_err(|error| unwritable(&self.path, &error))?.len();
        if there > facts.bytes {
            there = 0;
        }
        self.has_room(facts.bytes - there)?;
        let (mut received, mut failed, mut furthest) = (0, 0, there);
        report(there);
        while there < facts.bytes {
            let cut = match client.body(url, there) {
                Err(trouble) => Some(trouble),
                Ok((begins, body)) => {
                    there = begins;
                    self.copy(body, url, &mut there, facts.bytes, &mut |bytes, there| {
                        received += bytes;
                        report(there);
                    })?
                }
            };
            if let Some(trouble) = cut {
                if there > furthest {
                    (furthest, failed) = (there, 0);
                }
                client.wait(trouble, &mut failed)?;
            }
        }
        let whole = self.file.set_len(facts.bytes).and_then(|()| self.file.sync_all());
        whole.map_err(|error| unwritable(&self.path, &error))?;
        Ok(received)
    }

    /// Refuses what the disk has no room for before any of it has come.
    fn has_room(&self, bytes: u64) -> Result<(), Refusal> {
        match free_bytes(&self.path) {
            Some(free) if free < bytes => {
                let (expected, got) = (format!("room for {bytes} more bytes"), format!("{free} bytes"));
                Err(Refusal::new(Code::FileUnwritable, "disk", expected, got).at(self.path.display()))
            }
            _ => Ok(()),
        }
    }

    /// Writes a body at `there`, which is moved on, up to the file's length; what cut it short, if anything.
    fn copy(
        &self,
        mut body: impl Read,
        url: &str,
        there: &mut u64,
        end: u64,
        report: &mut dyn FnMut(u64, u64),
    ) -> Result<Option<Trouble>, Refusal> {
        let mut file = &self.file;
        // Whatever lies beyond is of another try; a later one must not take it for its own.
        let ready = file.set_len(*there).and_then(|()| file.seek(SeekFrom::Start(*there)));
        ready.map_err(|error| unwritable(&self.path, &error))?;
        let mut buffer = vec![0; 1 << 17];
        while *there < end {
            let most = buffer.len().min(usize::try_from(end - *there).unwrap_or(usize::MAX));
            let read = match body.read(&mut buffer[..most]) {
                Ok(0) => {
                    return Ok(Some(Trouble::passing(lost(
                        url,
                        format!("its end at byte {there} of {end}"),
                    ))));
                }
                Ok(read) => read,
                Err(error) => return Ok(Some(Trouble::passing(lost(url, error)))),
            };
            file.write_all(&buffer[..read]).map_err(|error| unwritable(&self.path, &error))?;
            *there += read as u64;
            report(read as u64, *there);
        }
        Ok(None)
    }

    /// Compares the checksum of what is on the disk; then it is whole, else it is deleted.
    fn commit(self, url: &str, facts: &Facts) -> Result<(), Refusal> {
        let name =
            facts.checksum.name(&self.path, &mut |_| ()).map_err(|error| unwritable(&self.path, &error))?;
        if name != facts.etag {
            let _ = fs::remove_file(&self.path);
            return Err(Refusal::new(Code::HubChecksumDiffers, "checksum", &facts.etag, name).at(url));
        }
        fs::rename(&self.path, &self.blob).map_err(|error| unwritable(&self.blob, &error))
    }
}

/// Bytes that a file may grow by, where the system says.
#[cfg(unix)]
fn free_bytes(path: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(path).ok().filter(|found| found.f_blocks > 0)?;
    found.f_bavail.checked_mul(found.f_frsize)
}

#[cfg(not(unix))]
fn free_bytes(_: &Path) -> Option<u64> {
    None
}
