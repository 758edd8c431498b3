//! What the process asks of the system about its signals.

/// Lets a write past the limit of file size (`ulimit -f`) fail, which is then refused by name, instead of ending the process.
pub(super) fn fail_writes_past_the_limit() {
    // SAFETY: ignoring a signal installs no handler, and no other thread runs yet.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}
