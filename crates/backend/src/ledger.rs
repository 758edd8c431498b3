//! The status numbers 620 to 639 of the Metal decode family, and what one run may cost in dispatches.
//!
//! A refusal of ours has its own code. Callers that speak in these numbers get the one that says the same
//! ([`status_of`]); numbers that say something no code of ours says are codes themselves. Nothing here needs a device.

#[cfg(test)]
mod tests;

use tilewright_model::{Code, Refusal};

/// Everything went well.
pub const OK: u16 = 620;
/// The cache is full.
pub const CONTEXT_FULL: u16 = 627;
/// No status has this number.
pub const OUT_OF_RANGE: u16 = 630;
/// The checkpoint is not there or cannot be read.
pub const CHECKPOINT_UNREADABLE: u16 = 631;
/// The checkpoint is of another architecture.
pub const UNSUPPORTED_ARCHITECTURE: u16 = 632;

const OUT_OF_RANGE_NAME: &str = "metaldispatch_code_out_of_range";

/// The name of a status; that of 630 for a number that is none.
pub fn status_name(status: i64) -> &'static str {
    const NAMED: [(u16, &str); 4] = [
        (OK, "metaldispatch_ok"),
        (CONTEXT_FULL, "metaldispatch_context_full"),
        (CHECKPOINT_UNREADABLE, "metaldispatch_checkpoint_unreadable"),
        (UNSUPPORTED_ARCHITECTURE, "metaldispatch_unsupported_architecture"),
    ];
    let codes = Code::ALL.iter().map(|code| (code.number(), code.name())).filter(|(n, _)| *n < 640);
    let named = NAMED.into_iter().chain(codes).find(|(number, _)| i64::from(*number) == status);
    named.map_or(OUT_OF_RANGE_NAME, |(_, name)| name)
}

/// The status that says what a refusal says.
pub fn status_of(refusal: &Refusal) -> u16 {
    match refusal.code() {
        code if code.number() < 640 => code.number(),
        Code::ContextFull => CONTEXT_FULL,
        Code::UnsupportedArchitecture | Code::FixedShapeMismatch | Code::RopeContradictory => {
            UNSUPPORTED_ARCHITECTURE
        }
        Code::OutOfMemory => Code::BufferAllocFailed.number(),
        Code::DeviceUnavailable => Code::NoDevice.number(),
        Code::DeviceFailed | Code::NonFiniteLogits => Code::DispatchFailed.number(),
        // The rest of what is on disk.
        code if code.number() < 730 => CHECKPOINT_UNREADABLE,
        _ => Code::SessionOpenFailed.number(),
    }
}

/// Dispatches from a token to the next: embedding, eight a layer, norm and vocabulary, two to choose.
pub const fn dispatch_budget(layers: usize) -> usize {
    1 + 8 * layers + 2 + 2
}

/// The same where many keys are split among threadgroups and merged by one more dispatch a layer.
pub const fn dispatch_budget_deep(layers: usize) -> usize {
    dispatch_budget(layers) + layers
}

/// Dispatches of one tile of a prompt: embedding, eight a layer, norm and vocabulary of its last row.
pub const fn prefill_dispatch_budget(layers: usize) -> usize {
    1 + 8 * layers + 2
}
