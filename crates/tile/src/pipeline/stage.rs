//! One launch of a pipeline.

use std::fmt;
use std::sync::Arc;

use crate::arena::Handle;
use crate::ir::Access;
use crate::types::Literal;
use crate::verify::Verified;

use super::{Resource, RunArgument};

/// Some bytes of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// The resource.
    pub resource: Handle<Resource>,
    /// First byte.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u64,
}

impl Region {
    /// `bytes` of this region from `offset`.
    pub const fn part(self, offset: u64, bytes: u64) -> Self {
        Self { resource: self.resource, offset: self.offset + offset, bytes }
    }
}

/// What a stage says it does with a region; must be what its kernel does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Reads it.
    Read,
    /// Writes it.
    Write,
    /// Reads and writes it.
    Update,
}

impl Mode {
    /// The mode of a kernel's buffer.
    pub const fn of(access: Access) -> Self {
        match access {
            Access::Read => Self::Read,
            Access::Write => Self::Write,
            Access::ReadWrite => Self::Update,
        }
    }

    /// Whether the region's contents before matter.
    pub const fn reads(self) -> bool {
        matches!(self, Self::Read | Self::Update)
    }

    /// Whether the region's contents after may differ.
    pub const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::Update)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Update => "update",
        })
    }
}

/// What a parameter of a stage is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// A region, with what is done with it.
    Region(Region, Mode),
    /// The same number in every run.
    Fixed(Literal),
    /// A number given at each run.
    Argument(Handle<RunArgument>),
}

/// One launch: a kernel, its threadgroups, and its parameters by name.
#[derive(Clone, Debug)]
pub struct Stage {
    /// Name in messages and reports.
    pub name: String,
    /// The kernel.
    pub kernel: Arc<Verified>,
    /// Threadgroups.
    pub groups: [u32; 3],
    /// Parameters by name, in any order.
    pub bindings: Vec<(String, Binding)>,
}

impl Stage {
    /// A launch of as many threadgroups as the kernel was verified for.
    pub fn new(name: impl Into<String>, kernel: &Arc<Verified>) -> Self {
        let groups = kernel.launch().groups;
        Self { name: name.into(), kernel: Arc::clone(kernel), groups, bindings: Vec::new() }
    }

    /// Fewer threadgroups.
    pub fn groups(self, groups: [u32; 3]) -> Self {
        Self { groups, ..self }
    }

    fn bind(mut self, parameter: &str, binding: Binding) -> Self {
        self.bindings.push((parameter.to_owned(), binding));
        self
    }

    /// Binds a buffer that the kernel reads.
    pub fn read(self, parameter: &str, region: Region) -> Self {
        self.bind(parameter, Binding::Region(region, Mode::Read))
    }

    /// Binds a buffer that the kernel writes.
    pub fn write(self, parameter: &str, region: Region) -> Self {
        self.bind(parameter, Binding::Region(region, Mode::Write))
    }

    /// Binds a buffer that the kernel reads and writes.
    pub fn update(self, parameter: &str, region: Region) -> Self {
        self.bind(parameter, Binding::Region(region, Mode::Update))
    }

    /// Binds a scalar to the same number in every run.
    pub fn fixed(self, parameter: &str, literal: Literal) -> Self {
        self.bind(parameter, Binding::Fixed(literal))
    }

    /// Binds a scalar to a number given at each run.
    pub fn argument(self, parameter: &str, argument: Handle<RunArgument>) -> Self {
        self.bind(parameter, Binding::Argument(argument))
    }

    /// The binding of a parameter.
    pub fn binding(&self, parameter: &str) -> Option<Binding> {
        self.bindings.iter().find(|(name, _)| name == parameter).map(|&(_, binding)| binding)
    }

    /// The bindings in the order of the kernel's parameters; `None` where one is missing.
    pub fn in_order(&self) -> Vec<Option<Binding>> {
        self.kernel.params().iter().map(|&p| self.binding(self.kernel.param_name(p))).collect()
    }

    /// Regions with their modes.
    pub fn regions(&self) -> impl Iterator<Item = (Region, Mode)> {
        self.bindings.iter().filter_map(|(_, binding)| match binding {
            Binding::Region(region, mode) => Some((*region, *mode)),
            Binding::Fixed(_) | Binding::Argument(_) => None,
        })
    }
}
