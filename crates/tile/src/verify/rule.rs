//! The rules of the language, and what breaking one says.

use std::fmt;
use std::panic::Location;

use crate::ir::Access;
use crate::types::{Scalar, Type};

use super::analysis::Span;

/// A kernel that may not run, with everything found.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejection {
    /// The kernel.
    pub kernel: String,
    /// What was found, in program order.
    pub findings: Vec<Finding>,
}

impl std::error::Error for Rejection {}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel {} is refused:", self.kernel)?;
        self.findings.iter().try_for_each(|finding| write!(f, "\n  {finding}"))
    }
}

/// One broken rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The rule, with the values that break it.
    pub rule: Rule,
    /// The operation or declaration, as printed.
    pub place: String,
    /// The builder line, for an operation.
    pub at: Option<&'static Location<'static>>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.rule)?;
        self.at.map_or(Ok(()), |at| write!(f, " (built at {at})"))
    }
}

/// What a rule says about an operation that needs all lanes or all threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Lanes of a SIMD group.
    Lanes,
    /// Threads of a threadgroup.
    Threads,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lanes => "the lanes of a SIMD group",
            Self::Threads => "the threads of a threadgroup",
        })
    }
}

/// The rules.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Rule {
    // Declarations.
    /// The builder was used in a way that has no meaning.
    #[error("{0}")]
    Mistake(String),
    /// Names end up in emitted text.
    #[error("{name:?} is not a name: letters, digits and _ only, not starting with a digit")]
    Name {
        /// The name.
        name: String,
    },
    /// Parameters are told apart by name.
    #[error("the name {name} is used twice")]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// A threadgroup is made of whole SIMD groups.
    #[error("{threads} threads a group; it must be a multiple of 32 from 32 to {most}")]
    Threads {
        /// Threads asked for.
        threads: u32,
        /// The most allowed.
        most: u32,
    },
    /// A grid has at least one group on each axis.
    #[error("{groups} groups along axis {axis}; it must be 1 to {most}")]
    Groups {
        /// The axis.
        axis: usize,
        /// Groups asked for.
        groups: u32,
        /// The most allowed.
        most: u32,
    },
    /// Shared memory is small.
    #[error("{bytes} bytes of shared memory; a threadgroup has {most}")]
    SharedBytes {
        /// Bytes asked for.
        bytes: u64,
        /// The most allowed.
        most: u64,
    },
    /// Bindings are few.
    #[error("{count} parameters; a launch has {most}")]
    Parameters {
        /// Parameters.
        count: usize,
        /// The most allowed.
        most: usize,
    },
    /// Some types do not live in memory.
    #[error("{scalar} is not kept in memory")]
    Storage {
        /// The type.
        scalar: Scalar,
    },
    /// Views of one buffer or allocation have one element type.
    #[error("elements are {view} here and {memory} in {name}")]
    ElementType {
        /// Type of the view.
        view: Scalar,
        /// Type of the memory.
        memory: Scalar,
        /// The buffer or allocation.
        name: String,
    },
    /// A view stays inside its allocation.
    #[error("the view reaches element {reach} of {elements}")]
    ViewBeyondMemory {
        /// One past the furthest element.
        reach: u64,
        /// Elements there are.
        elements: u64,
    },
    /// A view of a buffer stays addressable.
    #[error("the view reaches element {reach}, beyond the {most} a device addresses")]
    ViewTooFar {
        /// One past the furthest element.
        reach: u64,
        /// The most allowed.
        most: u64,
    },
    /// Different coordinates of a view that is written name different elements.
    #[error("different coordinates name one element: strides {strides:?} of shape {shape:?}")]
    Overlapping {
        /// The strides.
        strides: Vec<u64>,
        /// The shape.
        shape: Vec<u32>,
    },

    // Values.
    /// A value is used where it is defined.
    #[error("{value} is not defined here")]
    Scope {
        /// The value.
        value: String,
    },
    /// Operations take the types they are made for.
    #[error("{what} is {got}, not {expected}")]
    Type {
        /// What was looked at.
        what: &'static str,
        /// What it must be.
        expected: String,
        /// What it is.
        got: Type,
    },
    /// Operations have the results they are made for.
    #[error("{got} {what}, not {expected}")]
    Count {
        /// What was counted.
        what: &'static str,
        /// What it must be.
        expected: usize,
        /// What it is.
        got: usize,
    },
    /// Integers are not divided by zero.
    #[error("the divisor can be 0: it is {span}")]
    Divisor {
        /// What it can be.
        span: Span,
    },
    /// Words are shifted by 0 to 31 bits.
    #[error("the shift is {span}, not within 0..=31")]
    Shift {
        /// What it can be.
        span: Span,
    },
    /// A shuffle names a lane there is.
    #[error("the lane is {span}, not within 0..=31")]
    Lane {
        /// What it can be.
        span: Span,
    },
    /// A loop moves on.
    #[error("a loop's step must be positive and its last index below 2^31: {span} step {step}")]
    Step {
        /// What the index can be.
        span: Span,
        /// The step.
        step: u32,
    },

    // Memory.
    /// An access stays inside its view or is guarded.
    #[error("coordinate {coordinate} of axis {axis} is {span}, outside 0..{length} and not guarded")]
    OutOfBounds {
        /// The axis.
        axis: usize,
        /// The coordinate as printed.
        coordinate: String,
        /// What it can be.
        span: Span,
        /// The length of the axis less what the access reaches.
        length: i64,
    },
    /// An index is what its arithmetic says, not what is left after wrapping.
    #[error("coordinate {coordinate} of axis {axis} is {span} and may have wrapped around")]
    IndexOverflow {
        /// The axis.
        axis: usize,
        /// The coordinate as printed.
        coordinate: String,
        /// What it can be.
        span: Span,
    },
    /// A guarded vector is all inside or all outside.
    #[error("{width} elements at {coordinate} can straddle the end of an axis of length {length}")]
    Straddles {
        /// Elements.
        width: u32,
        /// The coordinate as printed.
        coordinate: String,
        /// The length.
        length: u32,
    },
    /// A vector lies at a multiple of its length.
    #[error("a vector of {width} needs its first element at a multiple of {width}; {what} is not")]
    Misaligned {
        /// Elements.
        width: u32,
        /// What is not a multiple.
        what: String,
    },
    /// A vector's elements are neighbours.
    #[error("a vector needs stride 1 on the last axis, not {stride}")]
    Strided {
        /// The stride.
        stride: u64,
    },
    /// A view is used as declared.
    #[error("view {view} is declared {access}")]
    AccessMode {
        /// The view.
        view: String,
        /// Its mode.
        access: Access,
    },
    /// All threads agree on where a view ends.
    #[error("the limit {limit} of axis {axis} differs between threads")]
    LimitVaries {
        /// The limit as printed.
        limit: String,
        /// The axis.
        axis: usize,
    },
    /// A limit lies within the axis.
    #[error("the limit {limit} of axis {axis} is {span}, not within 0..={size}")]
    LimitRange {
        /// The limit as printed.
        limit: String,
        /// The axis.
        axis: usize,
        /// What it can be.
        span: Span,
        /// The length of the axis.
        size: u32,
    },
    /// Shared memory is read after it was written.
    #[error("elements {span} of {name} may not have been written yet")]
    Uninitialized {
        /// The allocation.
        name: String,
        /// The elements read.
        span: Span,
    },

    // Threads.
    /// All must arrive.
    #[error("{level} may not all get here: {why}")]
    Divergent {
        /// Who must arrive.
        level: Level,
        /// The condition or loop in the way, as printed.
        why: String,
    },
    /// A launch barrier stands once, where every thread passes it.
    #[error("a launch barrier stands once in a kernel, outside loops and conditions")]
    LaunchBarrier,
    /// Launches before this one may still run.
    #[error("{name} is {what} before the launch barrier")]
    EarlyAccess {
        /// The buffer.
        name: String,
        /// What is done with it.
        what: &'static str,
    },
    /// Lanes agree on where a fragment is.
    #[error("{what} differs between lanes")]
    LaneVaries {
        /// What differs.
        what: String,
    },
    /// A barrier stands between a write and what another thread does with the element.
    #[error("no barrier between this and the {other} of {name} by another thread at: {place}")]
    SharedRace {
        /// The allocation.
        name: String,
        /// What the earlier operation does.
        other: &'static str,
        /// The earlier operation as printed.
        place: String,
    },
    /// Each SIMD group has its own scratch.
    #[error("the scratch {name} is also used at: {place}")]
    ScratchShared {
        /// The allocation.
        name: String,
        /// The other operation as printed.
        place: String,
    },
    /// Threads do not meet in device memory during a launch.
    #[error("another thread of the launch may {other} the same element of {name} at: {place}")]
    DeviceRace {
        /// The buffer.
        name: String,
        /// What the other does.
        other: &'static str,
        /// The other operation as printed.
        place: String,
    },

    // Fragments.
    /// A fragment has rows and columns.
    #[error("a fragment needs a view of at least two axes, not {rank}")]
    FragmentRank {
        /// Axes of the view.
        rank: usize,
    },
    /// A fragment's columns are neighbours.
    #[error("a fragment needs stride 1 on the last axis and at least 8 on the one before, not {strides:?}")]
    FragmentStrides {
        /// The strides.
        strides: Vec<u64>,
    },
    /// A fragment at an edge is put together in scratch.
    #[error("a fragment can cross the edge of axis {axis} (at {span}, length {length}); it needs scratch")]
    FragmentEdge {
        /// The axis.
        axis: usize,
        /// What the first coordinate can be.
        span: Span,
        /// The length of the axis.
        length: u32,
    },
    /// Scratch has room for every SIMD group.
    #[error("scratch {name} must be shared {element}[{simd_groups}, 8, 8], row-major")]
    FragmentScratch {
        /// The view.
        name: String,
        /// The element type.
        element: Scalar,
        /// SIMD groups.
        simd_groups: u32,
    },
    /// Tiles belong to four SIMD groups.
    #[error("tiles are made by 4 SIMD groups, and the kernel has {simd_groups}")]
    TileThreads {
        /// SIMD groups.
        simd_groups: u32,
    },
    /// A tile is multiplied from and stored to shared memory of its own shape.
    #[error(
        "{name} must be shared {expected}[64, 64], row-major, without guards, from a multiple of 16 bytes on"
    )]
    TileView {
        /// The view.
        name: String,
        /// The element types that serve.
        expected: &'static str,
    },
    /// A device plans its tiles for one kind of product.
    #[error("products of tiles in one kernel have factors of one type, and all or none transposed")]
    TileMixed,
    /// A loop carries a tile where it is.
    #[error("a carried tile changes places with another from pass to pass")]
    TileMoved,
    /// A tile is added to where it is.
    #[error("the tile {what} is used {uses} times, or in another block than where it is made")]
    TileReused {
        /// The tile.
        what: String,
        /// Uses.
        uses: usize,
    },
    /// Fragments that are written are not read in the same launch.
    #[error("buffer {name} is both read and written by fragments")]
    FragmentReadWrite {
        /// The buffer.
        name: String,
    },
}
