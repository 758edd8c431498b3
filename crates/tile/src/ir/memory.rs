//! Memory: device buffers, shared allocations, and the views through which both are accessed.

use std::fmt;

use crate::arena::Handle;
use crate::types::{Literal, Scalar};

use super::kernel::ValueId;

/// What a view may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Loads only.
    Read,
    /// Stores only.
    Write,
    /// Both.
    ReadWrite,
}

impl Access {
    /// Whether loads are allowed.
    pub const fn reads(self) -> bool {
        matches!(self, Self::Read | Self::ReadWrite)
    }

    /// Whether stores are allowed.
    pub const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::ReadWrite)
    }

    /// The mode that allows what either allows.
    pub const fn union(self, other: Self) -> Self {
        match (self.reads() || other.reads(), self.writes() || other.writes()) {
            (true, false) => Self::Read,
            (false, _) => Self::Write,
            (true, true) => Self::ReadWrite,
        }
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::ReadWrite => "readwrite",
        })
    }
}

/// A device buffer: one binding of a launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffer {
    /// Name in text and messages.
    pub name: String,
    /// Element type.
    pub element: Scalar,
    /// Elements a bound range must hold: the furthest reach of the buffer's views.
    pub elements: u64,
    /// What the kernel may do with it: the union of its views' modes.
    pub access: Access,
}

/// An array shared by the threads of one threadgroup.
#[derive(Clone, Debug, PartialEq)]
pub struct Shared {
    /// Name in text and messages.
    pub name: String,
    /// Element type.
    pub element: Scalar,
    /// Length, fixed at compile time.
    pub elements: u32,
}

/// Where a view lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// In a device buffer.
    Device(Handle<Buffer>),
    /// In a shared allocation.
    Shared(Handle<Shared>),
}

/// The length of one axis of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The length, and the most a limit can allow.
    pub size: u32,
    /// A run-time length at most `size`; coordinates at or beyond it are outside the view.
    pub limit: Option<ValueId>,
}

/// A typed, strided, n-dimensional window on memory.
///
/// Element `[i, j, …]` lies at `offset + i·strides[0] + j·strides[1] + …`, in elements. On a *guarded* axis a
/// coordinate outside `0..extent` is legal: the load gives `fill`, the store does nothing. On the other axes a
/// coordinate that cannot be proven inside is refused.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Name in text and messages.
    pub name: String,
    /// Where it lies.
    pub space: Space,
    /// Element type; that of the buffer or allocation.
    pub element: Scalar,
    /// First element.
    pub offset: u64,
    /// Length of each axis.
    pub shape: Vec<Extent>,
    /// Distance in elements between neighbours along each axis.
    pub strides: Vec<u64>,
    /// What it may be used for.
    pub access: Access,
    /// Which axes are guarded.
    pub guarded: Vec<bool>,
    /// What a load gives outside the guarded axes or under a false mask.
    pub fill: Literal,
}

impl View {
    /// Row-major strides of a shape.
    pub(crate) fn row_major(shape: &[u32]) -> Vec<u64> {
        let mut strides = vec![1; shape.len()];
        for axis in (0..shape.len().saturating_sub(1)).rev() {
            strides[axis] = strides[axis + 1] * u64::from(shape[axis + 1]);
        }
        strides
    }

    /// One past the furthest element the view reaches.
    pub fn reach(&self) -> u64 {
        if self.shape.iter().any(|e| e.size == 0) {
            return self.offset;
        }
        let last =
            self.shape.iter().zip(&self.strides).map(|(e, s)| u64::from(e.size - 1).saturating_mul(*s));
        last.fold(self.offset, u64::saturating_add).saturating_add(1)
    }

    /// Whether different coordinates always name different elements.
    pub fn is_injective(&self) -> bool {
        let mut axes: Vec<(u64, u64)> =
            self.shape.iter().zip(&self.strides).map(|(e, s)| (*s, u64::from(e.size))).collect();
        axes.retain(|&(_, size)| size > 1);
        axes.sort_unstable();
        let mut span = 0u64;
        axes.iter().all(|&(stride, size)| {
            let free = stride > span;
            span = span.saturating_add(stride.saturating_mul(size - 1));
            free
        })
    }
}
