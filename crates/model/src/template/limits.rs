//! What a template may use: it is a program that somebody else wrote.
//!
//! The engine counts work and memory ([`fuel`]), but it walks nested expressions and nested values by recursion, so
//! both need a stack for the deepest one that the limits allow. And what it does with a value in one instruction is not counted:
//! joining a list to itself time after time makes a value that takes for ever to walk, so there is a [`TIME`] as well.

use std::fmt;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

/// Bytes of a template. Published ones have a tenth of it.
pub(super) const SOURCE: usize = 256 << 10;

/// Calls within calls.
pub(super) const RECURSION: usize = 100;

/// Stack for what any template needs.
const BASE_STACK: usize = 4 << 20;

/// Stack for each byte of a template: two bytes can open another level of an expression.
const STACK_PER_BYTE: usize = 1 << 10;

/// Stack for each unit of fuel: six or more units nest a value once.
const STACK_PER_FUEL: usize = 128;

/// Time for compiling or for one rendering: a thousand times what a long conversation takes.
pub(super) const TIME: Duration = Duration::from_secs(20);

/// Digits that a width or precision of `format` may have.
pub(super) const WIDTH_DIGITS: usize = 4;

/// Work for rendering a conversation of so many messages and bytes: one unit is an instruction, or 64 bytes made.
/// A template that visits every message a few times takes about half of it.
pub(super) fn fuel(messages: usize, bytes: usize) -> u64 {
    let fuel = messages.saturating_mul(500).saturating_add(bytes / 2).saturating_add(500_000);
    u64::try_from(fuel).unwrap_or(u64::MAX)
}

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lost {
    /// There is no memory for the stack.
    Stack(String),
    /// The engine panicked.
    Panic,
    /// No end within this time. The thread goes on: nothing can stop it.
    Endless(Duration),
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stack(error) => f.write_str(error),
            Self::Panic => f.write_str("the template engine panicked"),
            Self::Endless(time) => write!(f, "no end within {} seconds", time.as_secs_f32()),
        }
    }
}

/// Does `work` on a thread with the stack that a template of so many bytes needs with this fuel, and waits so long for it.
///
/// # Errors
/// Why there is no result.
pub(super) fn with_stack<T: Send + 'static>(
    source: usize,
    fuel: u64,
    time: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Lost> {
    let for_values = usize::try_from(fuel).unwrap_or(usize::MAX).saturating_mul(STACK_PER_FUEL);
    let stack = source.saturating_mul(STACK_PER_BYTE).saturating_add(BASE_STACK).saturating_add(for_values);
    let (done, result) = sync_channel(1);
    thread::Builder::new()
        .name("chat template".to_owned())
        .stack_size(stack)
        .spawn(move || {
            // Nobody takes a result that comes too late.
            let _ = done.send(work());
        })
        .map_err(|error| Lost::Stack(format!("{stack} bytes of stack: {error}")))?;
    result.recv_timeout(time).map_err(|error| match error {
        RecvTimeoutError::Timeout => Lost::Endless(time),
        RecvTimeoutError::Disconnected => Lost::Panic,
    })
}
