//! What can go wrong while a kernel runs.

use std::panic::Location;

/// An event that ends a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("kernel {kernel}, {op} (built at {at}), group {group:?}, thread {thread}: {kind}")]
pub struct Fault {
    /// The kernel.
    pub kernel: String,
    /// The operation as printed.
    pub op: String,
    /// Where the builder was called.
    pub at: &'static Location<'static>,
    /// The threadgroup.
    pub group: [u32; 3],
    /// The thread in its threadgroup; the first lane for what a SIMD group does as a whole.
    pub thread: u32,
    /// What happened.
    pub kind: FaultKind,
}

/// The events.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaultKind {
    /// A coordinate outside an unguarded axis.
    #[error("coordinate {coordinate} is outside axis {axis} of length {length}")]
    OutOfBounds {
        /// The axis.
        axis: usize,
        /// The coordinate.
        coordinate: i64,
        /// The length.
        length: u32,
    },
    /// A vector partly inside a guarded axis.
    #[error("{width} elements from coordinate {coordinate} straddle the end of an axis of length {length}")]
    Straddles {
        /// Elements.
        width: u32,
        /// First coordinate.
        coordinate: i64,
        /// The length.
        length: u32,
    },
    /// A vector whose first element is not at a multiple of its length.
    #[error("element {element} is not a multiple of {width}")]
    Misaligned {
        /// First element in the buffer or allocation.
        element: u64,
        /// Elements.
        width: u32,
    },
    /// Beyond the bound range or the allocation.
    #[error("element {element} is beyond the {length} elements there are")]
    BeyondMemory {
        /// The element.
        element: u64,
        /// How many there are.
        length: u64,
    },
    /// Memory that nobody wrote.
    #[error("element {element} was never written")]
    Uninitialized {
        /// The element.
        element: u64,
    },
    /// Two threads, one element, at least one write, nothing in between.
    #[error("element {element} is touched by another thread ({other}) with no barrier between")]
    Race {
        /// The element.
        element: u64,
        /// The other thread, where it is known.
        other: String,
    },
    /// A barrier or collective that some lanes do not reach.
    #[error("only lanes {lanes:#010x} are here; all must be")]
    Divergent {
        /// The lanes present.
        lanes: u32,
    },
    /// SIMD groups waiting at different barriers, or one that has ended.
    #[error("SIMD group {other} is not at this barrier")]
    BarrierMismatch {
        /// The other SIMD group.
        other: u32,
    },
    /// A value that must be the same in all lanes is not.
    #[error("the value differs between lanes")]
    NotUniform,
    /// Integer division by zero, or of the smallest number by minus one.
    #[error("integer division by zero or overflow")]
    Division,
    /// A shift outside 0..32 or a lane outside 0..32.
    #[error("{amount} is not in 0..32")]
    Amount {
        /// The shift or lane.
        amount: i64,
    },
    /// A loop index passing the end of i32.
    #[error("loop index {index} overflows")]
    IndexOverflow {
        /// The index.
        index: i64,
    },
    /// A run-time length beyond the axis.
    #[error("length {length} exceeds the axis's {most}")]
    Limit {
        /// The length given.
        length: i64,
        /// The most allowed.
        most: u32,
    },
    /// The launch does not match the kernel.
    #[error("{reason}")]
    Launch {
        /// How it does not match.
        reason: String,
    },
}
