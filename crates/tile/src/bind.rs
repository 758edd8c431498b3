//! Does a launch fit its kernel?
//!
//! The one thing a kernel cannot know is what it will be bound to. Every launch, in the interpreter, in a pipeline or
//! on a device, is checked here: as many parameters, each of its kind; ranges long enough and aligned; no more
//! threadgroups than were verified; scalars within their range; and no range that is written overlapping another.

use crate::arena::Handle;
use crate::ir::{Buffer, Kernel, OpKind, Param, Space};
use crate::types::{Literal, Scalar};

/// A range of some buffer; which one is a number that means something to the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Identity of the buffer.
    pub buffer: u64,
    /// First byte.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u64,
}

impl Range {
    /// Whether both have a byte in common.
    pub const fn overlaps(self, other: Self) -> bool {
        self.buffer == other.buffer
            && self.offset < other.offset.saturating_add(other.bytes)
            && other.offset < self.offset.saturating_add(self.bytes)
    }
}

/// What a parameter is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// A range.
    Range(Range),
    /// A number.
    Scalar(Literal),
}

/// A launch that does not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BindError {
    /// Another number of parameters.
    #[error("{got} parameters are bound, not {expected}")]
    Count {
        /// Parameters of the kernel.
        expected: usize,
        /// Parameters bound.
        got: usize,
    },
    /// More threadgroups than verified.
    #[error("{got:?} threadgroups; the kernel was verified for {most:?}")]
    Groups {
        /// The launch.
        got: [u32; 3],
        /// The kernel.
        most: [u32; 3],
    },
    /// A scalar for a buffer or the reverse.
    #[error("{name} is a {expected}")]
    Kind {
        /// The parameter.
        name: String,
        /// What it is.
        expected: &'static str,
    },
    /// A range too short for what the kernel reaches.
    #[error("{name} needs {expected} bytes, not {got}")]
    Short {
        /// The parameter.
        name: String,
        /// Bytes the kernel reaches.
        expected: u64,
        /// Bytes bound.
        got: u64,
    },
    /// A range that starts at an odd place.
    #[error("{name} starts at byte {offset}, which is not a multiple of {alignment}")]
    Misaligned {
        /// The parameter.
        name: String,
        /// First byte.
        offset: u64,
        /// What it must be a multiple of.
        alignment: u64,
    },
    /// A scalar of another type or outside its range.
    #[error("{name} is {got}, not {expected}")]
    Scalar {
        /// The parameter.
        name: String,
        /// Type and range.
        expected: String,
        /// The number.
        got: Literal,
    },
    /// Two parameters share bytes and one of them is written.
    #[error("{first} and {second} overlap and one of them is written")]
    Alias {
        /// One parameter.
        first: String,
        /// The other.
        second: String,
    },
}

impl Kernel {
    /// What the first byte bound to a buffer must be a multiple of: the size of the widest access.
    pub fn alignment(&self, buffer: Handle<Buffer>) -> u64 {
        let element = u64::from(self.buffers()[buffer].element.bytes());
        let widths = self.ops().iter().filter_map(|(_, op)| {
            let ty = match &op.kind {
                OpKind::Load(_) => self.ty(*op.results.first()?),
                OpKind::Store(_, value) => self.ty(*value),
                _ => return None,
            };
            let here = op.kind.place().map(|p| self.views()[p.view].space) == Some(Space::Device(buffer));
            here.then(|| ty.bytes().map(u64::from)).flatten()
        });
        widths.fold(element, u64::max)
    }
}

/// Everything wrong with launching `kernel` on `groups` threadgroups with `bound`.
pub fn check(kernel: &Kernel, groups: [u32; 3], bound: &[Bound]) -> Vec<BindError> {
    let params = kernel.params();
    if bound.len() != params.len() {
        return vec![BindError::Count { expected: params.len(), got: bound.len() }];
    }
    let mut errors = Vec::new();
    let most = kernel.launch().groups;
    if groups.iter().zip(&most).any(|(got, most)| got > most) {
        errors.push(BindError::Groups { got: groups, most });
    }
    let mut ranges = Vec::new();
    for (param, bound) in params.iter().zip(bound) {
        match (param, bound) {
            (Param::Buffer(id), Bound::Range(range)) => {
                let buffer = &kernel.buffers()[*id];
                let name = buffer.name.clone();
                let expected = buffer.elements * u64::from(buffer.element.bytes());
                if range.bytes < expected {
                    errors.push(BindError::Short { name: name.clone(), expected, got: range.bytes });
                }
                let alignment = kernel.alignment(*id);
                if !range.offset.is_multiple_of(alignment) {
                    errors.push(BindError::Misaligned { name, offset: range.offset, alignment });
                }
                // Only what the kernel reaches can collide.
                ranges.push((buffer, Range { bytes: expected.min(range.bytes), ..*range }));
            }
            (Param::Argument(id), Bound::Scalar(literal)) => {
                let argument = &kernel.arguments()[*id];
                let (low, high) = argument.range;
                let fits = match literal.as_i64() {
                    Some(value) => literal.scalar() == argument.scalar && value >= low && value <= high,
                    None => argument.scalar == Scalar::F32 && literal.scalar() == Scalar::F32,
                };
                if !fits {
                    let expected = format!("{} in {low}..={high}", argument.scalar);
                    errors.push(BindError::Scalar { name: argument.name.clone(), expected, got: *literal });
                }
            }
            (Param::Buffer(id), Bound::Scalar(_)) => {
                let name = kernel.buffers()[*id].name.clone();
                errors.push(BindError::Kind { name, expected: "buffer" });
            }
            (Param::Argument(id), Bound::Range(_)) => {
                let name = kernel.arguments()[*id].name.clone();
                errors.push(BindError::Kind { name, expected: "scalar" });
            }
        }
    }
    for (n, (first, a)) in ranges.iter().enumerate() {
        for (second, b) in &ranges[n + 1..] {
            if a.overlaps(*b) && (first.access.writes() || second.access.writes()) {
                let (first, second) = (first.name.clone(), second.name.clone());
                errors.push(BindError::Alias { first, second });
            }
        }
    }
    errors
}
