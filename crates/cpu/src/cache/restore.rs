//! Reading packed weights back.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use tilewright_backend::{Progress, Stage, Watch};
use tilewright_model::{Parameters, Refusal, Tensor, WeightFormat};

use super::key::Key;
use super::{PIECE, checksum};
use crate::load::{Matrices, assemble};
use crate::matmul::{Matrix, matrix_bytes};
use crate::memory::Pages;
use crate::pool::Pool;
use crate::weights::Weights;

/// Why a file does not serve.
#[derive(Debug)]
pub(super) enum Unusable {
    /// There is none.
    Absent,
    /// It is not what it should be, in words for people.
    Damaged(String),
    /// Something that packing would meet as well.
    Refused(Refusal),
}

impl From<Refusal> for Unusable {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// A short file, or an unreadable one.
impl From<io::Error> for Unusable {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::Absent,
            io::ErrorKind::UnexpectedEof => Self::Damaged("it is cut short".to_owned()),
            _ => Self::Damaged(error.to_string()),
        }
    }
}

/// The weights in the file at `path`, if it is the one of `key` and every byte is as it was written.
pub(super) fn restore(
    path: &Path,
    key: &Key,
    parameters: &Parameters<Tensor<'_>>,
    pool: &Pool,
    progress: &mut Watch<'_>,
) -> Result<Weights, Unusable> {
    // A pipe would be waited for.
    if !path.metadata()?.is_file() {
        return Err(Unusable::Damaged("it is no regular file".to_owned()));
    }
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let wanted = key.bytes();
    let mut found = vec![0; wanted.len()];
    read_exact_at(&file, &mut found, 0)?;
    if found != wanted {
        return Err(Unusable::Damaged("it is not the file its name says".to_owned()));
    }
    let mut reader = Reader { file, at: wanted.len() as u64, length, format: key.format(), pool, progress };
    reader.report()?;
    let weights = assemble(parameters, &mut reader)?;
    if reader.at != length {
        return Err(Unusable::Damaged("it is longer than it should be".to_owned()));
    }
    Ok(weights)
}

/// Reads one matrix after the other.
struct Reader<'a> {
    file: File,
    at: u64,
    length: u64,
    format: WeightFormat,
    pool: &'a Pool,
    progress: &'a mut Watch<'a>,
}

impl Reader<'_> {
    fn report(&mut self) -> Result<(), Refusal> {
        let (done, total) = (self.at.min(self.length), self.length);
        (self.progress)(Progress { stage: Stage::Restore, done, total })
    }
}

impl Matrices for Reader<'_> {
    type Error = Unusable;

    fn matrix(&mut self, tensors: &[&Tensor<'_>]) -> Result<Matrix, Unusable> {
        let rows = tensors.iter().map(|t| t.rows()).sum();
        let cols = tensors[0].row_len();
        let mut bytes = Pages::zeroed(matrix_bytes(self.format, rows, cols))?;
        let mut checksums = vec![[0; 16]; bytes.len().div_ceil(PIECE)];
        read_exact_at(&self.file, checksums.as_flattened_mut(), self.at)?;
        let start = self.at + 16 * checksums.len() as u64;
        let sound = AtomicBool::new(true);
        self.pool.for_each_chunk(&mut bytes, PIECE, |index, piece| {
            let at = start + (index * PIECE) as u64;
            if read_exact_at(&self.file, piece, at).is_err() || checksum(piece) != checksums[index] {
                sound.store(false, Ordering::Relaxed);
            }
        });
        self.at = start + bytes.len() as u64;
        let damaged = || Unusable::Damaged("its bytes are not those written".to_owned());
        if self.at > self.length {
            return Err(Unusable::Damaged("it is cut short".to_owned()));
        }
        if !sound.into_inner() {
            return Err(damaged());
        }
        self.report()?;
        Matrix::from_pages(self.format, (rows, cols), bytes).ok_or_else(damaged)
    }
}

/// Fills `out` from the bytes of `file` at `at`, from any thread.
#[cfg(unix)]
fn read_exact_at(file: &File, out: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, out, at)
}

/// Fills `out` from the bytes of `file` at `at`, from any thread.
#[cfg(windows)]
fn read_exact_at(file: &File, mut out: &mut [u8], mut at: u64) -> io::Result<()> {
    use std::os::windows::fs::FileExt;

    while !out.is_empty() {
        match file.seek_read(out, at) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                out = &mut out[read..];
                at += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
