//! Ctrl-C: once stops the reply, twice leaves.
//!
//! While a reply is being written the handler asks it to stop; it then ends at its next step and the command says
//! what was done so far. A second Ctrl-C, or one while there is no reply to stop (loading, reading input), leaves
//! at once, after what a command that writes has to tidy away.

use std::process;
use std::sync::{Arc, Mutex, PoisonError};

use tilewright_backend::Cancel;

use crate::exit;

/// What the handler has to stop, if anything.
#[derive(Clone, Default)]
pub(crate) struct Interrupt {
    reply: Arc<Mutex<Option<Cancel>>>,
}

impl Interrupt {
    /// Installs the handler. Without one (the system refused) Ctrl-C simply ends the process.
    pub(crate) fn install() -> Self {
        let interrupt = Self::default();
        let handler = interrupt.clone();
        if let Err(error) = ctrlc::set_handler(move || handler.signal()) {
            tracing::warn!(%error, "Ctrl-C cannot be caught and will end the process at once");
        }
        interrupt
    }

    /// Names the reply that Ctrl-C stops until the guard is dropped.
    pub(crate) fn guard(&self, cancel: Cancel) -> Guard<'_> {
        self.set(Some(cancel));
        Guard(self)
    }

    fn signal(&self) {
        let reply = self.reply.lock().unwrap_or_else(PoisonError::into_inner);
        match &*reply {
            Some(cancel) if !cancel.is_cancelled() => cancel.cancel(),
            _ => leave(),
        }
    }

    fn set(&self, reply: Option<Cancel>) {
        *self.reply.lock().unwrap_or_else(PoisonError::into_inner) = reply;
    }
}

/// Lets Ctrl-C end the process at once, after `tidy`.
pub(crate) fn leaving(tidy: impl Fn() + Send + 'static) {
    let handler = move || {
        tidy();
        leave()
    };
    if let Err(error) = ctrlc::set_handler(handler) {
        tracing::warn!(%error, "Ctrl-C cannot be caught and may leave a partial file");
    }
}

/// Keeps a reply stoppable.
pub(crate) struct Guard<'a>(&'a Interrupt);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.set(None);
    }
}

#[expect(clippy::exit, reason = "the person asked to leave now, and the main thread may be deep in a kernel")]
fn leave() -> ! {
    process::exit(i32::from(exit::INTERRUPTED))
}
