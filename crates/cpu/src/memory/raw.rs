//! Mapping pages from the system, and giving them back.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use bytemuck::Pod;
use tilewright_model::{Code, Refusal};

/// Size and alignment of a huge page on the systems that have them.
const HUGE: usize = 2 << 20;

/// A slice of zeroed values on pages of its own, aligned to a huge page when it is as long as one.
pub(crate) struct Pages<T: Pod> {
    start: NonNull<u8>,
    len: usize,
    /// What to give back: the address and size as mapped or allocated.
    whole: (NonNull<u8>, usize),
    values: PhantomData<T>,
}

// SAFETY: `Pages` owns its memory alone, as a `Box<[T]>` does, and `T: Pod` has no thread affinity.
unsafe impl<T: Pod + Send> Send for Pages<T> {}
// SAFETY: as above; shared references only read.
unsafe impl<T: Pod + Sync> Sync for Pages<T> {}

impl<T: Pod> Pages<T> {
    /// `len` zeros.
    ///
    /// # Errors
    /// `out_of_memory` when the system has no such room.
    pub(crate) fn zeroed(len: usize) -> Result<Self, Refusal> {
        let full = || {
            let asked = format!("{} values of {} bytes", len, size_of::<T>());
            Refusal::new(Code::OutOfMemory, "memory", "room in the address space", asked)
        };
        let bytes = len.checked_mul(size_of::<T>()).filter(|b| *b <= isize::MAX as usize - 2 * HUGE);
        let bytes = bytes.ok_or_else(full)?.max(1);
        let (start, whole) = system::take(bytes).ok_or_else(full)?;
        Ok(Self { start, len, whole, values: PhantomData })
    }
}

impl<T: Pod> Deref for Pages<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `start` begins `len` values of `T`, aligned to a page, initialised to zero (valid for `Pod`).
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().cast(), self.len) }
    }
}

impl<T: Pod> DerefMut for Pages<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`, and `&mut self` is the only access.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().cast(), self.len) }
    }
}

impl<T: Pod> Drop for Pages<T> {
    fn drop(&mut self) {
        // SAFETY: `whole` is what `take` returned, given back once, and no reference outlives `self`.
        unsafe { system::give_back(self.whole.0, self.whole.1) }
    }
}

#[cfg(unix)]
mod system {
    use super::{HUGE, NonNull};

    /// Maps `bytes` zeros: where they start, and the whole mapping.
    #[expect(clippy::type_complexity, reason = "two facts of one mapping")]
    pub(super) fn take(bytes: usize) -> Option<(NonNull<u8>, (NonNull<u8>, usize))> {
        let huge = bytes >= HUGE;
        let size = if huge { bytes.next_multiple_of(HUGE) + HUGE } else { bytes };
        // SAFETY: a fresh anonymous mapping touches no memory of ours.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANON,
                -1,
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return None;
        }
        let whole = NonNull::new(address.cast::<u8>())?;
        if !huge {
            return Some((whole, (whole, size)));
        }
        let skip = whole.as_ptr().align_offset(HUGE);
        // SAFETY: `skip` is less than `HUGE`, which the mapping is longer by.
        let start = unsafe { whole.add(skip) };
        #[cfg(target_os = "linux")]
        // Only pages that are used whole: half of the last one would be taken and never used.
        // SAFETY: advice about pages of our own mapping; refusing it is harmless.
        unsafe {
            libc::madvise(start.as_ptr().cast(), bytes / HUGE * HUGE, libc::MADV_HUGEPAGE);
        }
        Some((start, (whole, size)))
    }

    /// # Safety
    /// `whole` and `size` are from `take`, and nothing refers to the memory any more.
    pub(super) unsafe fn give_back(whole: NonNull<u8>, size: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            libc::munmap(whole.as_ptr().cast(), size);
        }
    }
}

#[cfg(not(unix))]
mod system {
    use std::alloc::{Layout, alloc_zeroed, dealloc};

    use super::NonNull;

    /// A cache line, which every vector load is content with.
    const ALIGN: usize = 64;

    /// Allocates `bytes` zeros: where they start, and the whole allocation.
    #[expect(clippy::type_complexity, reason = "two facts of one mapping")]
    pub(super) fn take(bytes: usize) -> Option<(NonNull<u8>, (NonNull<u8>, usize))> {
        let layout = Layout::from_size_align(bytes, ALIGN).ok()?;
        // SAFETY: the layout is not empty, for `bytes` is at least 1.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        Some((start, (start, bytes)))
    }

    /// # Safety
    /// `whole` and `size` are from `take`, and nothing refers to the memory any more.
    pub(super) unsafe fn give_back(whole: NonNull<u8>, size: usize) {
        if let Ok(layout) = Layout::from_size_align(size, ALIGN) {
            // SAFETY: the caller's promise; the layout is the one allocated with.
            unsafe { dealloc(whole.as_ptr(), layout) }
        }
    }
}
