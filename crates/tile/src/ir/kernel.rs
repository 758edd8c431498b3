//! The kernel and its values.

use std::panic::Location;

use crate::arena::{Arena, Handle};
use crate::types::{Literal, Scalar, Type};

use super::memory::{Buffer, Shared, View};
use super::op::{Block, Op, OpId};

/// Names a value of a kernel.
pub type ValueId = Handle<Def>;

/// The shape of a launch: threadgroups on three axes, threads in each group.
///
/// The numbers of groups are what the kernel was verified for; a dispatch may use fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Threadgroups along x, y and z.
    pub groups: [u32; 3],
    /// Threads in a group, a multiple of 32.
    pub threads: u32,
    /// Whether it is enough that a core holds one threadgroup at a time; see [`Launch::alone`].
    pub alone: bool,
}

impl Launch {
    /// `groups` threadgroups of 256 threads along x.
    pub const fn groups(groups: u32) -> Self {
        Self::grid([groups, 1, 1])
    }

    /// One threadgroup a row: the same as [`Launch::groups`].
    pub const fn rows(rows: u32) -> Self {
        Self::groups(rows)
    }

    /// A grid of threadgroups of 256 threads.
    pub const fn grid(groups: [u32; 3]) -> Self {
        Self { groups, threads: 256, alone: false }
    }

    /// Enough groups for one thread an item, groups of 256 threads.
    pub const fn items(items: u32) -> Self {
        Self::groups(items.div_ceil(256))
    }

    /// Other threads a group.
    pub const fn threads(self, threads: u32) -> Self {
        Self { threads, ..self }
    }

    /// A core need hold one threadgroup only: its threads may have all registers.
    ///
    /// A compiler otherwise weighs registers against threadgroups, and puts values on the stack to make room for one
    /// threadgroup more. That suits loads that wait for memory, not products that fill the registers.
    pub const fn alone(self) -> Self {
        Self { alone: true, ..self }
    }

    /// SIMD groups in a threadgroup.
    pub const fn simd_groups(self) -> u32 {
        self.threads / 32
    }
}

/// A scalar given at launch, the same for every thread, within a declared range.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// Name in text and messages.
    pub name: String,
    /// Type: f32, i32 or u32.
    pub scalar: Scalar,
    /// Smallest and largest integer a launch may pass; ignored for f32.
    pub range: (i64, i64),
}

/// One entry of the binding table, in order of declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Param {
    /// A device buffer.
    Buffer(Handle<Buffer>),
    /// A scalar.
    Argument(Handle<Argument>),
}

/// What a thread knows without being told; each an i32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Builtin {
    /// Index of the threadgroup along axis 0, 1 or 2.
    Group(u8),
    /// Index of the thread in its threadgroup.
    Thread,
    /// Index of the SIMD group in its threadgroup: thread / 32.
    SimdGroup,
    /// Index of the lane in its SIMD group: thread mod 32.
    Lane,
}

impl Builtin {
    /// Name in printed IR.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Group(0) => "group.x",
            Self::Group(1) => "group.y",
            Self::Group(_) => "group.z",
            Self::Thread => "thread",
            Self::SimdGroup => "simd_group",
            Self::Lane => "lane",
        }
    }
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A constant.
    Literal(Literal),
    /// The thread's place in the launch.
    Builtin(Builtin),
    /// A scalar given at launch.
    Argument(Handle<Argument>),
    /// The n-th result of an operation.
    Result(OpId, u32),
    /// The index of a loop, seen in its body.
    Index(OpId),
    /// The n-th carried value of a loop, seen in its body.
    Carried(OpId, u32),
}

/// One SSA value.
#[derive(Clone, Debug, PartialEq)]
pub struct Def {
    /// Its type.
    pub ty: Type,
    /// Where it comes from.
    pub origin: Origin,
    /// A name for people, if the author gave one.
    pub name: Option<String>,
}

/// A use of the builder that has no meaning, kept for the verifier to report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// What is wrong.
    pub message: String,
    /// Where the builder was called.
    pub at: &'static Location<'static>,
}

/// A kernel: declarations, then operations.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    pub(crate) name: String,
    pub(crate) launch: Launch,
    pub(crate) params: Vec<Param>,
    pub(crate) buffers: Arena<Buffer>,
    pub(crate) arguments: Arena<Argument>,
    pub(crate) shared: Arena<Shared>,
    pub(crate) views: Arena<View>,
    pub(crate) defs: Arena<Def>,
    pub(crate) ops: Arena<Op>,
    pub(crate) body: Block,
    pub(crate) mistakes: Vec<Mistake>,
}

impl Kernel {
    pub(crate) fn new(name: String, launch: Launch) -> Self {
        Self {
            name,
            launch,
            params: Vec::new(),
            buffers: Arena::default(),
            arguments: Arena::default(),
            shared: Arena::default(),
            views: Arena::default(),
            defs: Arena::default(),
            ops: Arena::default(),
            body: Vec::new(),
            mistakes: Vec::new(),
        }
    }

    /// Its name, also the name of the emitted function.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The launch it was written for.
    pub fn launch(&self) -> Launch {
        self.launch
    }

    /// The binding table: buffers and scalars in the order in which a device passes them.
    pub fn params(&self) -> &[Param] {
        &self.params
    }

    /// Device buffers.
    pub fn buffers(&self) -> &Arena<Buffer> {
        &self.buffers
    }

    /// Scalars given at launch.
    pub fn arguments(&self) -> &Arena<Argument> {
        &self.arguments
    }

    /// Shared allocations.
    pub fn shared(&self) -> &Arena<Shared> {
        &self.shared
    }

    /// Views.
    pub fn views(&self) -> &Arena<View> {
        &self.views
    }

    /// Values.
    pub fn defs(&self) -> &Arena<Def> {
        &self.defs
    }

    /// Operations; their order is that of `body` and of the blocks within.
    pub fn ops(&self) -> &Arena<Op> {
        &self.ops
    }

    /// The outermost block.
    pub fn body(&self) -> &Block {
        &self.body
    }

    /// Meaningless uses of the builder; a kernel with any is refused.
    pub fn mistakes(&self) -> &[Mistake] {
        &self.mistakes
    }

    /// The name of a parameter.
    pub fn param_name(&self, param: Param) -> &str {
        match param {
            Param::Buffer(buffer) => &self.buffers[buffer].name,
            Param::Argument(argument) => &self.arguments[argument].name,
        }
    }

    /// The element type of a buffer, or the type of a scalar.
    pub fn scalar_of(&self, param: Param) -> Scalar {
        match param {
            Param::Buffer(buffer) => self.buffers[buffer].element,
            Param::Argument(argument) => self.arguments[argument].scalar,
        }
    }

    /// The type of a value.
    pub fn ty(&self, value: ValueId) -> Type {
        self.defs[value].ty
    }

    /// The constant a value is, if it is one.
    pub fn constant(&self, value: ValueId) -> Option<Literal> {
        match self.defs[value].origin {
            Origin::Literal(literal) => Some(literal),
            Origin::Builtin(_)
            | Origin::Argument(_)
            | Origin::Result(..)
            | Origin::Index(_)
            | Origin::Carried(..) => None,
        }
    }

    /// Whether there are tiles in it, which on Apple GPUs takes the tensor operations of Metal 4.
    pub fn has_tiles(&self) -> bool {
        self.defs.iter().any(|(_, def)| def.ty == Type::Tile)
    }

    /// Bytes of shared memory, each allocation rounded up to 16.
    pub fn shared_bytes(&self) -> u64 {
        let bytes = |s: &Shared| (u64::from(s.elements) * u64::from(s.element.bytes())).next_multiple_of(16);
        self.shared.iter().map(|(_, s)| bytes(s)).sum()
    }
}
