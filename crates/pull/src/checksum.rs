//! The checksum that the name of a content is.
//!
//! A large file is named by its SHA-256, a small one by what git calls it: the SHA-1 of a header with the length and the
//! content. A name that is neither says nothing of a content, and might be that of two.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha1::Sha1;
use sha2::{Digest, Sha256};

/// How a name is computed from a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checksum {
    Sha256,
    GitBlob,
}

impl Checksum {
    /// By the form of the name; `None` for one that is no checksum.
    pub(crate) fn of(etag: &str) -> Option<Self> {
        let hex = etag.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        match etag.len() {
            64 if hex => Some(Self::Sha256),
            40 if hex => Some(Self::GitBlob),
            _ => None,
        }
    }

    /// The name of a file's content; `report` hears how many bytes were read.
    pub(crate) fn name(self, path: &Path, report: &mut dyn FnMut(u64)) -> io::Result<String> {
        let mut file = File::open(path)?;
        match self {
            Self::Sha256 => digest(Sha256::new(), &mut file, report),
            Self::GitBlob => {
                let header = format!("blob {}\0", file.metadata()?.len());
                digest(Sha1::new_with_prefix(header), &mut file, report)
            }
        }
    }
}

fn digest<D: Digest>(mut digest: D, file: &mut File, report: &mut dyn FnMut(u64)) -> io::Result<String> {
    let mut buffer = vec![0; 1 << 20];
    let mut done = 0;
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            read => {
                digest.update(&buffer[..read]);
                done += read as u64;
                report(done);
            }
        }
    }
    Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
