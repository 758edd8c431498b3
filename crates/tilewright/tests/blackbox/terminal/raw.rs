//! Pseudo-terminals.

use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// A pseudo-terminal: the side a person sits at, and the side of the program.
pub(super) fn open() -> (File, OwnedFd) {
    let (mut ours, mut theirs) = (-1, -1);
    // SAFETY: both descriptors are written where they may be; name, settings and size are optional.
    let opened = unsafe {
        libc::openpty(
            &raw mut ours,
            &raw mut theirs,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            std::ptr::null_mut(),
        )
    };
    assert_eq!(opened, 0, "{}", io::Error::last_os_error());
    // SAFETY: the call has just made both, and nothing else owns them.
    unsafe { (File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) }
}

/// Makes standard input the terminal of the program, so that its keys send signals.
#[allow(clippy::unnecessary_cast, reason = "the type of a request differs between systems")]
pub(super) fn control(command: &mut Command) {
    // SAFETY: between fork and exec only two system calls are made, and neither allocates.
    unsafe {
        command.pre_exec(|| {
            if libc::setsid() < 0 || libc::ioctl(0, libc::TIOCSCTTY as _, 0) < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(())
        });
    }
}
