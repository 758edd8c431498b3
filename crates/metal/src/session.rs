//! A model resident on a device.

mod caches;
mod machine;
mod prefill;
mod program;
mod step;
mod weights;

use std::collections::BTreeMap;

use tilewright_backend::execution::{Attention, ExecutionPlan, ExecutionRequest};
use tilewright_backend::{Kernels, Packing, Plan, Progress, Sequence, Stage, Watch};
use tilewright_kernels::{Formats, Shape};
use tilewright_model::{Checkpoint, Code, Config, Refusal};

use crate::plan::{capacity, formats, linked, resolve_plan};
use crate::{Device, MetalOptions};

pub(crate) use caches::Caches;
use machine::Machine;
pub use program::Trace;
use program::{Goal, Key};

/// A decoder on a device with its sequences.
pub struct Session<D: Device> {
    config: Config,
    plan: Plan,
    /// What every run is checked against.
    execution: ExecutionPlan,
    /// Whether nobody asked for a tier of products, so that few rows may take the narrow tile.
    tier_is_free: bool,
    /// What of the weights is held as pairs.
    packing: Option<Packing>,
    machine: Machine<D>,
    sequences: BTreeMap<Sequence, Caches<D>>,
    /// The next name to give.
    next: u64,
}

impl<D: Device> Session<D> {
    /// Makes `checkpoint` resident on `device`: resolves the plan, uploads the weights once, compiles the step.
    ///
    /// # Errors
    /// Those of [`resolve_plan`] before any work on the device; `non_finite_weight` naming tensor and index;
    /// `packed_weights_differ`; `metaldispatch_session_open_failed`, `metaldispatch_buffer_alloc_failed`, `metaldispatch_upload_length`; what
    /// `progress` refuses, which it hears of after every tensor and before every text that is compiled.
    pub fn open(
        device: D,
        checkpoint: &Checkpoint,
        options: &MetalOptions,
        progress: &mut Watch<'_>,
    ) -> Result<Self, Refusal> {
        let config = checkpoint.config().clone();
        let stored = checkpoint.parameters().map(|_, tensor| tensor.stored);
        let plan = resolve_plan(&config, &stored, options, device.facts())?;
        let Kernels::Staged(execution) = plan.kernels else { return Err(not_resolved("nothing")) };
        let shape = Shape::new(&config, capacity(plan.context) as u32);
        let formats = formats(plan.weights, &shape, &stored);
        let mut machine = Machine::new(device, shape, formats, config.rope.clone());
        machine.set_plan(execution)?;
        let packing = weights::upload(&mut machine, checkpoint, &plan, progress)?;
        let total = plan.weight_bytes;
        machine.prepare_watched(Key::step(1, capacity(1) as u32, false, Goal::Logits), &mut || {
            progress(Progress { stage: Stage::Compile, done: 0, total })
        })?;
        progress(Progress { stage: Stage::Compile, done: total, total })?;
        let tier_is_free = options.gemm.is_none();
        let sequences = BTreeMap::new();
        Ok(Self { config, plan, execution, tier_is_free, packing, machine, sequences, next: 0 })
    }

    /// Resolves the kernels anew, with the tier of the request for any number of rows. Sequences whose caches the new plan does not fill are refused from now on.
    ///
    /// # Errors
    /// None from a request; those of compiling come when kernels are used.
    pub fn resolve_plan(&mut self, request: ExecutionRequest) -> Result<(), Refusal> {
        let shape = self.machine.shape();
        let linked = linked(&shape, self.machine.formats(), self.machine.device().facts());
        let execution = ExecutionPlan::resolve(request, &linked);
        self.execution = execution;
        self.tier_is_free = false;
        self.plan.kernels = Kernels::Staged(execution);
        self.machine.set_plan(execution)
    }

    /// Puts a plan past resolution, to show that a plan that may not run is not run.
    #[doc(hidden)]
    pub fn force_plan(&mut self, execution: ExecutionPlan) {
        self.execution = execution;
    }

    /// The plan's attention, if the plan may run.
    pub(crate) fn checked(&self) -> Result<Attention, Refusal> {
        self.execution.check().map_err(not_resolved)
    }

    pub(crate) const fn model(&self) -> &Config {
        &self.config
    }

    pub(crate) const fn decided(&self) -> &Plan {
        &self.plan
    }

    pub(crate) const fn packed(&self) -> Option<Packing> {
        self.packing
    }

    /// Positions that a sequence holds, and may come to hold.
    pub(crate) fn held(&self, sequence: Sequence) -> Option<(usize, usize)> {
        self.sequences.get(&sequence).map(|caches| (caches.len, caches.room))
    }

    /// Releases a sequence's caches.
    pub(crate) fn drop_caches(&mut self, sequence: Sequence) {
        self.sequences.remove(&sequence);
    }

    /// Forgets a sequence's positions from `len` on.
    pub(crate) fn truncate_caches(&mut self, sequence: Sequence, len: usize) {
        if let Some(caches) = self.sequences.get_mut(&sequence) {
            caches.truncate(len);
        }
    }

    /// What has run so far.
    pub fn trace(&self) -> Trace {
        self.machine.trace()
    }

    /// Dispatches of the last run.
    pub fn last_dispatches(&self) -> usize {
        self.machine.last_dispatches()
    }

    /// How matrices are stored.
    pub const fn formats(&self) -> &Formats {
        self.machine.formats()
    }

    /// Ends the session: weights and caches are released, and the device comes back.
    pub fn close(self) -> D {
        self.machine.into_device()
    }
}

fn not_resolved(why: impl std::fmt::Display) -> Refusal {
    Refusal::new(Code::SessionOpenFailed, "the session's plan", "a resolved plan", why)
}
