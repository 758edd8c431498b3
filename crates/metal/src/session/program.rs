//! Pipelines, compiled.

use std::collections::BTreeMap;
use std::sync::Arc;

use tilewright_backend::execution::{
    Attention, DecodeRoute, ExecutionPlan, Gemm, KvContract, SPLIT_KEYS_PARTS,
};
use tilewright_kernels::decode::{self, Options};
use tilewright_kernels::prefill::{Batch, Path, batched_of, row_logits};
use tilewright_kernels::{Format, Formats, Shape};
use tilewright_model::{Code, Refusal};
use tilewright_tile::{Pipeline, Scalar, Verified};

use crate::Device;
use crate::device::failed;
use crate::plan::tier;

/// How far a step goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Goal {
    /// Logits.
    Logits,
    /// Logits and the id of the largest.
    Token,
}

/// A program by what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    /// A tile of a prompt; `narrow` where its products take the narrow tile whatever the plan's tier.
    Prefill { rows: u32, capacity: u32, narrow: bool },
    /// A token of each of several sequences.
    Step { sequences: u32, capacity: u32, deep: bool, goal: Goal },
    /// Logits of rows of the last tile.
    RowLogits { rows: u32 },
}

impl Key {
    pub(super) const fn step(sequences: u32, capacity: u32, deep: bool, goal: Goal) -> Self {
        Self::Step { sequences, capacity, deep, goal }
    }

    /// Positions that its rotary table must reach.
    pub(super) const fn capacity(self) -> u32 {
        match self {
            Self::Prefill { capacity, .. } | Self::Step { capacity, .. } => capacity,
            Self::RowLogits { .. } => 0,
        }
    }

    /// The pipeline, of kernels as the plan says.
    pub(super) fn pipeline(
        self,
        shape: &Shape,
        formats: &Formats,
        plan: &ExecutionPlan,
    ) -> Result<Arc<Verified<Pipeline>>, Refusal> {
        let attention = plan.check().map_err(super::not_resolved)?;
        let pipeline = match self {
            Self::Prefill { rows, capacity, narrow } => {
                let gemm = plan.gemm();
                let tier = |of: Gemm| tier(if narrow { Gemm::Original } else { of });
                let batch = Batch {
                    rows,
                    path: path(attention),
                    qkv: tier(gemm.qkv),
                    accumulate: tier(gemm.accum),
                    swiglu: tier(gemm.swiglu),
                    weights: formats.embedding(),
                };
                batched_of(&shape.with_capacity(capacity), &batch, formats)
            }
            Self::Step { sequences, capacity, deep, goal } => {
                let options = step_options(plan, formats.embedding(), deep).sequences(sequences);
                let (name, goal) = match goal {
                    Goal::Logits => ("step_to_logits", decode::Goal::Logits),
                    Goal::Token => ("step_to_token", decode::Goal::Token),
                };
                let shape = shape.with_capacity(capacity);
                match sequences {
                    1 => decode::staged_of(name, &shape, &options, formats, goal),
                    _ => decode::together_of(name, &shape, &options, formats, goal),
                }
            }
            Self::RowLogits { rows } => row_logits(shape, rows, formats),
        };
        let refused = |error: String| failed(Code::SessionOpenFailed, format!("{self:?}"), error);
        let pipeline = pipeline.map_err(|rejection| refused(rejection.to_string()))?;
        pipeline.verify().map(Arc::new).map_err(|error| refused(error.to_string()))
    }
}

const fn path(attention: Attention) -> Path {
    match attention {
        Attention::Off => Path::Off,
        Attention::Grouped => Path::GroupedMirror,
        Attention::GroupedNoMirror => Path::Grouped,
        Attention::ParametricNativeDecode => Path::ParametricNativeDecode,
    }
}

/// The step that fits the plan's caches. The native one spreads keys over SIMD groups, and many over threadgroups too.
fn step_options(plan: &ExecutionPlan, format: Format, deep: bool) -> Options {
    let cache = match plan.kv_contract() {
        KvContract::NaturalF32 | KvContract::Mirrored => Scalar::F32,
        KvContract::PackedF16 => Scalar::F16,
    };
    let attention = match plan.decode() {
        DecodeRoute::Legacy => decode::Attention::SimdPerHead,
        DecodeRoute::Native if deep => decode::Attention::SplitKeys { parts: SPLIT_KEYS_PARTS },
        DecodeRoute::Native => decode::Attention::KeyParallel,
    };
    Options::of(format, Scalar::F32).cache(cache).attention(attention)
}

/// A verified pipeline with its compiled kernels, stage by stage.
pub(super) struct Program<D: Device> {
    pipeline: Arc<Verified<Pipeline>>,
    kernels: Vec<D::Kernel>,
    runs: usize,
}

impl<D: Device> Program<D> {
    pub(super) const fn new(pipeline: Arc<Verified<Pipeline>>, kernels: Vec<D::Kernel>) -> Self {
        Self { pipeline, kernels, runs: 0 }
    }

    pub(super) const fn pipeline(&self) -> &Arc<Verified<Pipeline>> {
        &self.pipeline
    }

    pub(super) fn kernels(&self) -> &[D::Kernel] {
        &self.kernels
    }

    /// It has run once more.
    pub(super) const fn count(&mut self) {
        self.runs += 1;
    }

    /// Adds its runs to a trace.
    pub(super) fn add_to(&self, trace: &mut Trace) {
        trace.command_buffers += self.runs;
        trace.dispatches += self.runs * self.pipeline.dispatches();
        for stage in self.pipeline.stages().iter().filter(|_| self.runs > 0) {
            *trace.kernels.entry(stage.kernel.name().to_owned()).or_default() += self.runs;
        }
    }
}

/// What has run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Command buffers.
    pub command_buffers: usize,
    /// Launches.
    pub dispatches: usize,
    /// Launches of each kernel by its name.
    pub kernels: BTreeMap<String, usize>,
}
