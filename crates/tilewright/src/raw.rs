//! What the process asks of the system about its signals.

/// Said when a file that is mapped was made shorter: reading past its new end is a bus error.
const SHORTENED: &[u8] =
    b"refused: file_unreadable: a file of the model was shortened by another process while it was read\n";

/// Lets a write past the limit of file size (`ulimit -f`) fail, which is then refused by name, instead of ending the process.
pub(super) fn fail_writes_past_the_limit() {
    // SAFETY: ignoring a signal installs no handler, and no other thread runs yet.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Lets a bus error say what happened before it ends the process, with the exit code of a refusal.
pub(super) fn name_bus_errors() {
    let handler: extern "C" fn(libc::c_int) = shortened;
    // SAFETY: the handler calls nothing but `write` and `_exit`, which may be called from a handler.
    unsafe { libc::signal(libc::SIGBUS, handler as libc::sighandler_t) };
}

extern "C" fn shortened(_: libc::c_int) {
    // SAFETY: the pointer is valid for as many bytes as said, and both functions may be called from a handler.
    unsafe {
        libc::write(libc::STDERR_FILENO, SHORTENED.as_ptr().cast(), SHORTENED.len());
        libc::_exit(1)
    }
}
