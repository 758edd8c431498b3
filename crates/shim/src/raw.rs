//! Calling compiled text.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_void};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use libloading::Library;

use tilewright_tile::interp::{Bound, Dispatch, Memory};
use tilewright_tile::ir::Param;
use tilewright_tile::{Kernel, Verified};

use crate::ShimError;

/// Bytes of one fiber's stack; `STACK` of fibers.h.
const STACK: usize = 64 * 1024;
/// `MOST_THREADS` of fibers.h.
const MOST_THREADS: usize = 1024;

/// What fibers.h calls by the same name.
#[repr(C)]
struct Launch {
    arguments: *const *mut c_void,
    stacks: *mut u8,
    groups: [u32; 3],
    threads: u32,
    backwards: i32,
    error_at: [u32; 5],
    error_other: [u32; 2],
    error: *const c_char,
}

/// A run that stopped early.
pub(crate) struct Stop {
    pub(crate) group: [u32; 3],
    pub(crate) thread: u32,
    pub(crate) line: u32,
    pub(crate) other: u32,
    pub(crate) other_line: u32,
    pub(crate) what: String,
}

impl Stop {
    fn of(self, kernel: &str) -> ShimError {
        let Self { group, thread, line, other, other_line, what } = self;
        ShimError::Stopped { kernel: kernel.to_owned(), group, thread, line, what, other, other_line }
    }
}

/// Held by whoever runs a library: its state is global, and all who load the same file share it.
type Alone = Arc<Mutex<()>>;

/// The lock of the library at `path`.
fn alone(path: &Path) -> Alone {
    static ALL: Mutex<BTreeMap<PathBuf, Alone>> = Mutex::new(BTreeMap::new());
    // Two paths of one file have one lock; a file that is gone cannot be loaded either.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    Arc::clone(ALL.lock().unwrap_or_else(PoisonError::into_inner).entry(path).or_default())
}

/// A loaded library and the stacks of its fibers.
pub(crate) struct Functions {
    launchers: Vec<unsafe extern "C" fn(*mut Launch)>,
    stacks: Vec<u8>,
    alone: Alone,
    /// Holds the code that `launchers` point into.
    _library: Library,
}

impl Functions {
    /// Loads the library at `path`, which has `count` launchers.
    pub(crate) fn load(path: &Path, count: usize) -> Result<Self, ShimError> {
        // SAFETY: the library was compiled from our headers and texts; it has no initialisers.
        let library = unsafe { Library::new(path)? };
        let launchers = (0..count)
            .map(|n| {
                // SAFETY: translate.rs gives every launcher this signature.
                unsafe { library.get(format!("launch_{n}").as_bytes()).map(|symbol| *symbol) }
            })
            .collect::<Result<_, _>>()?;
        let stacks = Vec::with_capacity(STACK * (MOST_THREADS + 1) + 64);
        Ok(Self { launchers, stacks, alone: alone(path), _library: library })
    }

    /// Runs launcher `n`. `arguments` are addresses of buffers and of numbers, one a parameter.
    ///
    /// # Safety
    /// Every access that the kernel makes must lie in the memory its argument points to, which nothing else may touch
    /// meanwhile, and be aligned.
    pub(crate) unsafe fn run(
        &mut self,
        n: usize,
        arguments: &[*mut c_void],
        groups: [u32; 3],
        threads: u32,
        backwards: bool,
    ) -> Result<(), Stop> {
        let _alone = self.alone.lock().unwrap_or_else(PoisonError::into_inner);
        let start = self.stacks.as_mut_ptr();
        let mut launch = Launch {
            arguments: arguments.as_ptr(),
            // SAFETY: one stack and 64 bytes more than the threads need were allocated. The first one is nobody's: the
            // lowest thread may run over its end before that is noticed.
            stacks: unsafe { start.add(STACK + start.align_offset(64)) },
            groups,
            threads,
            backwards: i32::from(backwards),
            error_at: [0; 5],
            error_other: [0; 2],
            error: std::ptr::null(),
        };
        // SAFETY: the launcher reads and writes `launch`, the stacks, which are ours and large enough for the threads
        // it accepts, its own statics, which the lock keeps to one run, and what the caller vouches for.
        unsafe { self.launchers[n](&raw mut launch) };
        if launch.error.is_null() {
            return Ok(());
        }
        // SAFETY: errors are string literals of the library, which is loaded.
        let what = unsafe { CStr::from_ptr(launch.error) }.to_string_lossy().into_owned();
        let [x, y, z, thread, line] = launch.error_at;
        let [other, other_line] = launch.error_other;
        Err(Stop { group: [x, y, z], thread, line, other, other_line, what })
    }
}

/// Runs function `n`, which was compiled from `kernel`.
pub(crate) fn run_verified(
    functions: &mut Functions,
    n: usize,
    kernel: &Verified<Kernel>,
    memory: &mut Memory,
    dispatch: &Dispatch<'_>,
    backwards: bool,
) -> Result<(), ShimError> {
    let objections = dispatch.objections(kernel, memory);
    if !objections.is_empty() {
        let (kernel, reasons) = (kernel.name().to_owned(), objections.join("; "));
        return Err(ShimError::Launch { kernel, reasons });
    }
    let mut numbers: Vec<[u8; 4]> = dispatch.bound.iter().map(|&bound| number(bound)).collect();
    let mut arguments: Vec<*mut c_void> = Vec::new();
    for ((bound, number), param) in dispatch.bound.iter().zip(&mut numbers).zip(kernel.params()) {
        let address = match (bound, param) {
            (Bound::Buffer(slice), Param::Buffer(buffer)) => {
                let start = slice.offset as usize;
                match kernel.buffers()[*buffer].access.writes() {
                    true => memory.data_mut(slice.buffer)[start..].as_mut_ptr(),
                    false => memory.data(slice.buffer)[start..].as_ptr().cast_mut(),
                }
            }
            _ => number.as_mut_ptr(),
        };
        arguments.push(address.cast());
    }
    if arguments.iter().zip(kernel.params()).any(|(address, &param)| match param {
        Param::Buffer(buffer) => !address.addr().is_multiple_of(kernel.alignment(buffer) as usize),
        Param::Argument(_) => false,
    }) {
        let (kernel, reasons) = (kernel.name().to_owned(), "memory is not aligned".to_owned());
        return Err(ShimError::Launch { kernel, reasons });
    }
    let threads = kernel.launch().threads;
    // SAFETY: the verifier has proven or guarded every access of the kernel, whose text this is; the launch was
    // compared with what it proved: ranges are as long as the kernel reaches, aligned, and those written overlap no
    // other. `memory` is borrowed for as long.
    let result = unsafe { functions.run(n, &arguments, dispatch.groups, threads, backwards) };
    result.map_err(|stop| stop.of(kernel.name()))
}

/// The bytes of a number; zero for a buffer.
fn number(bound: Bound) -> [u8; 4] {
    match bound {
        Bound::Scalar(number) => number.word().unwrap_or_default(),
        Bound::Buffer(_) => [0; 4],
    }
}

#[cfg(test)]
mod tests;
