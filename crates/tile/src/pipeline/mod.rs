//! Pipelines: kernels in order, and what they read and write.
//!
//! A pipeline is a list of [`Stage`]s over named [`Resource`]s. A stage is one launch: a verified kernel, the
//! threadgroups, and for each parameter the region it reads, writes or updates. [`Pipeline::verify`] checks every launch
//! against its kernel and every pair of launches against the order: what one writes, another may touch only when
//! something between them makes it wait. In a [`Order::Serial`] pipeline every launch waits for the one before; in a
//! [`Order::Concurrent`] one launches wait at fences only.
//!
//! A verified pipeline is what a device encodes and what a graph captures, and its length is the dispatch budget.

mod check;
mod run;
mod stage;

use crate::arena::{Arena, Handle};
use crate::types::Literal;

pub use check::{Hazard, HazardKind, Hazards, PipelineError, StageError};
pub use run::Runner;
pub use stage::{Binding, Mode, Region, Stage};

/// Memory that stages share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// Name in messages and reports.
    pub name: String,
    /// Length in bytes.
    pub bytes: u64,
    /// Whether it holds something before the first stage.
    pub kind: ResourceKind,
}

/// What a resource is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceKind {
    /// Holds something before the first stage, and is never written: weights.
    Input,
    /// Holds something before the first stage and may be written: a cache, a control word.
    State,
    /// Means nothing before it is written, and nothing after the last stage.
    Scratch,
    /// Means nothing before it is written; read by the host afterwards.
    Output,
}

/// What keeps launches apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Each launch ends before the next begins.
    Serial,
    /// Launches may overlap up to the next fence.
    Concurrent,
}

/// A number given at each run of a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunArgument {
    /// Name.
    pub name: String,
    /// Smallest and largest value.
    pub range: (i64, i64),
}

/// Stages in order over resources.
#[derive(Clone, Debug)]
pub struct Pipeline {
    name: String,
    order: Order,
    resources: Arena<Resource>,
    arguments: Arena<RunArgument>,
    stages: Vec<Stage>,
    /// Numbers of stages before which all earlier ones must have ended.
    fences: Vec<usize>,
}

impl Pipeline {
    /// An empty pipeline.
    pub fn new(name: impl Into<String>, order: Order) -> Self {
        Self {
            name: name.into(),
            order,
            resources: Arena::default(),
            arguments: Arena::default(),
            stages: Vec::new(),
            fences: Vec::new(),
        }
    }

    /// Adds a resource.
    pub fn resource(&mut self, name: impl Into<String>, bytes: u64, kind: ResourceKind) -> Region {
        let resource = self.resources.push(Resource { name: name.into(), bytes, kind });
        Region { resource, offset: 0, bytes }
    }

    /// Adds a number that each run gives, for [`Binding::Argument`].
    pub fn argument(&mut self, name: impl Into<String>, range: (i64, i64)) -> Handle<RunArgument> {
        self.arguments.push(RunArgument { name: name.into(), range })
    }

    /// Adds a stage at the end.
    pub fn push(&mut self, stage: Stage) {
        self.stages.push(stage);
    }

    /// Lets later stages wait for all earlier ones.
    pub fn fence(&mut self) {
        self.fences.push(self.stages.len());
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What keeps its launches apart.
    pub const fn order(&self) -> Order {
        self.order
    }

    /// Its resources.
    pub const fn resources(&self) -> &Arena<Resource> {
        &self.resources
    }

    /// The numbers each run gives.
    pub const fn arguments(&self) -> &Arena<RunArgument> {
        &self.arguments
    }

    /// Its stages in order.
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// Launches of one run: the budget.
    pub fn dispatches(&self) -> usize {
        self.stages.len()
    }

    /// Whether something makes stage `later` wait for stage `earlier`.
    pub fn waits(&self, earlier: usize, later: usize) -> bool {
        match self.order {
            Order::Serial => earlier < later,
            Order::Concurrent => self.fences.iter().any(|&fence| earlier < fence && fence <= later),
        }
    }

    /// Whether a device must wait between stage `n - 1` and stage `n`.
    pub fn fence_before(&self, n: usize) -> bool {
        n > 0 && self.waits(n - 1, n)
    }

    fn literal_fits(&self, argument: Handle<RunArgument>, literal: Literal) -> bool {
        let (low, high) = self.arguments[argument].range;
        literal.as_i64().is_none_or(|v| v >= low && v <= high)
    }
}
