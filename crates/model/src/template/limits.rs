//! What a template may use: it is a program that somebody else wrote.
//!
//! The engine counts work and memory ([`fuel`]), but it walks nested expressions and nested values by recursion, so
//! both need a stack for the deepest one that the limits allow.

use std::thread;

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

/// Work for rendering a conversation of so many messages and bytes: one unit is an instruction, or 64 bytes made.
/// A template that visits every message a few times takes about half of it.
pub(super) fn fuel(messages: usize, bytes: usize) -> u64 {
    let fuel = messages.saturating_mul(500).saturating_add(bytes / 2).saturating_add(500_000);
    u64::try_from(fuel).unwrap_or(u64::MAX)
}

/// Does `work` on a thread with the stack that a template of so many bytes needs with this fuel.
///
/// # Errors
/// A message when there is no memory for the stack, or the engine panics.
pub(super) fn with_stack<T: Send>(
    source: usize,
    fuel: u64,
    work: impl FnOnce() -> T + Send,
) -> Result<T, String> {
    let for_values = usize::try_from(fuel).unwrap_or(usize::MAX).saturating_mul(STACK_PER_FUEL);
    let stack = source.saturating_mul(STACK_PER_BYTE).saturating_add(BASE_STACK).saturating_add(for_values);
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("chat template".to_owned()).stack_size(stack);
        let running =
            thread.spawn_scoped(scope, work).map_err(|error| format!("{stack} bytes of stack: {error}"))?;
        running.join().map_err(|_| "the template engine panicked".to_owned())
    })
}
