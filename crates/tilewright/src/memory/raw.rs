//! The system call behind peak memory.

use std::mem::MaybeUninit;

/// `ru_maxrss` of this process in bytes.
pub(super) fn peak_resident() -> Option<u64> {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is valid for writes of one rusage, and every bit pattern of it (zeroes too) is valid.
    let usage = unsafe {
        if libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) != 0 {
            return None;
        }
        usage.assume_init()
    };
    let peak = u64::try_from(usage.ru_maxrss).ok()?;
    // Apple's systems count bytes, the others kibibytes.
    Some(if cfg!(target_vendor = "apple") { peak } else { peak * 1024 })
}
