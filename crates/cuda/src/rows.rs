//! Rows through the decoder by whatever the plan says: kernels for Hopper, or one kernel a stage.

use std::sync::Arc;

use cudarc::driver::CudaModule;
use half::bf16;
use tilewright_backend::Cancel;
use tilewright_model::{Code, Config, Refusal};

use crate::batch::{Batch, WINDOW};
use crate::device::Device;
use crate::gpu::Gpu;
use crate::hopper::{RowMaps, STREAM_ROWS, WeightMaps, row_maps};
use crate::prefill::{Place, Prefill, Wanted};
use crate::stages::{LOGIT_ROWS, Pass, Row, Stages};
use crate::together::{Run, STEPS, Together};
use crate::weights::Weights;

/// Greedy steps at once: what both ways of decoding several sequences keep ids of.
const MOST_STEPS: usize = if WINDOW < STEPS { WINDOW } else { STEPS };

/// What takes prompts and batches.
pub(crate) enum Rows {
    Hopper(Box<Hopper>),
    Staged(Box<Stages>),
}

/// The kernels for Hopper.
pub(crate) struct Hopper {
    prefill: Prefill,
    batch: Batch,
    /// What decodes several sequences instead of `batch`, where it can.
    together: Option<Together>,
    maps: WeightMaps,
    /// The prompt's rows as the head reads them.
    normed: RowMaps,
}

impl Hopper {
    pub(crate) fn new(
        device: &Device,
        module: &Arc<CudaModule>,
        config: &Config,
        weights: &Weights,
        gpu: &Gpu,
        (most, together): (usize, Option<Together>),
    ) -> Result<Self, Refusal> {
        let prefill = Prefill::new(device, module, config, most)?;
        let normed = row_maps(prefill.y.address, prefill.y.len() / (2 * config.hidden), config.hidden)?;
        Ok(Self {
            prefill,
            batch: Batch::new(device, module, config, gpu)?,
            together,
            maps: WeightMaps::new(config, weights)?,
            normed,
        })
    }
}

/// What all rows share.
#[derive(Clone, Copy)]
pub(crate) struct Common<'a> {
    pub(crate) device: &'a Device,
    pub(crate) config: &'a Config,
    pub(crate) weights: &'a Weights,
    /// Where RoPE's table lies.
    pub(crate) rope: u64,
}

impl Rows {
    /// Makes ready for sequences of `positions`.
    pub(crate) fn reach(&mut self, common: Common<'_>, positions: usize) -> Result<(), Refusal> {
        let Self::Hopper(hopper) = self else { return Ok(()) };
        // First: RoPE's old table is gone, whether or not there is memory for the rest.
        hopper.prefill.follow(common.rope);
        hopper.batch.follow(common.rope);
        hopper.prefill.reach(common.device, common.config, positions)?;
        hopper.batch.reach(common.device, common.config, positions)
    }

    /// Takes a chunk of a prompt, whose first row is `first`, through every layer.
    pub(crate) fn prompt(
        &mut self,
        common: Common<'_>,
        tokens: &[u32],
        first: Row,
        every: bool,
        cancel: &Cancel,
    ) -> Result<(), Refusal> {
        let Common { device, config, weights, rope } = common;
        match self {
            Self::Hopper(hopper) => {
                if cancel.is_cancelled() {
                    return Err(Refusal::new(Code::Cancelled, "prefill", "a chunk", "none of it"));
                }
                let Hopper { prefill, maps, .. } = hopper.as_mut();
                let wanted = if every { Wanted::Every } else { Wanted::Last };
                let place = Place { cache: first.cache, start: first.position as usize };
                prefill.run(device, config, (weights, maps), place, tokens, wanted)
            }
            Self::Staged(stages) => {
                let rows: Vec<Row> =
                    (0..tokens.len()).map(|r| Row::new(first.cache, first.position as usize + r)).collect();
                stages.run(device, config, weights, &Pass { tokens, rows: &rows, rope }, cancel)
            }
        }
    }

    /// Logits of `count` rows of the last prompt or step of single kernels, at most [`LOGIT_ROWS`], from row `first` on.
    pub(crate) fn logits(
        &mut self,
        common: Common<'_>,
        (first, count): (usize, usize),
        out: &mut [f32],
    ) -> Result<(), Refusal> {
        let Common { device, config, weights, .. } = common;
        match self {
            Self::Hopper(hopper) => {
                hopper.batch.head(device, config, &hopper.maps, &hopper.normed, (first, count), out)
            }
            Self::Staged(stages) => stages.logits(device, config, weights, (first, count), out),
        }
    }

    /// Hidden states after the final norm of all `count` rows of the last prompt, which was taken with every row:
    /// `[count, hidden]`.
    pub(crate) fn hidden(
        &mut self,
        common: Common<'_>,
        count: usize,
        out: &mut [f32],
    ) -> Result<(), Refusal> {
        let Common { device, config, weights, .. } = common;
        match self {
            Self::Hopper(hopper) => {
                let mut halves = vec![bf16::ZERO; count * config.hidden];
                device.read(&hopper.prefill.y, 0, bytemuck::cast_slice_mut(&mut halves))?;
                out.iter_mut().zip(halves).for_each(|(out, half)| *out = half.to_f32());
                Ok(())
            }
            Self::Staged(stages) => stages.hidden(device, config, weights, count, out),
        }
    }

    /// Most rows of a step.
    pub(crate) fn most(&self) -> usize {
        match self {
            Self::Hopper(_) => STREAM_ROWS,
            Self::Staged(stages) => stages.most(),
        }
    }

    /// Appends a token to every row's sequence: logits of each, `[rows, vocab]`.
    pub(crate) fn step(
        &mut self,
        common: Common<'_>,
        rows: &[Row],
        tokens: &[u32],
        logits: &mut [f32],
    ) -> Result<(), Refusal> {
        let Common { device, config, weights, rope } = common;
        match self {
            Self::Hopper(hopper) => {
                let Hopper { batch, together, maps, .. } = hopper.as_mut();
                if let Some(together) = together {
                    let run = Run { rows, tokens, steps: 1, rope };
                    return together.run(device, config, weights, &run, Some(logits)).map(drop);
                }
                batch.run(device, config, (weights, maps), (rows, tokens), 1)?;
                device.read(&batch.logits, 0, bytemuck::cast_slice_mut(logits))
            }
            Self::Staged(stages) => {
                stages.run(device, config, weights, &Pass { tokens, rows, rope }, &Cancel::default())?;
                for (group, logits) in logits.chunks_mut(LOGIT_ROWS * config.vocab).enumerate() {
                    let count = logits.len() / config.vocab;
                    stages.logits(device, config, weights, (group * LOGIT_ROWS, count), logits)?;
                }
                Ok(())
            }
        }
    }

    /// What decodes several sequences persistently, if that is how it is done.
    pub(crate) fn together(&mut self) -> Option<&mut Together> {
        match self {
            Self::Hopper(hopper) => hopper.together.as_mut(),
            Self::Staged(_) => None,
        }
    }

    /// Steps that [`greedy`](Self::greedy) takes at once, at most.
    pub(crate) fn window(&self) -> usize {
        match self {
            Self::Hopper(_) => MOST_STEPS,
            Self::Staged(_) => 1,
        }
    }

    /// Up to `steps` steps whose tokens are the greatest logits' ids: those ids, of each row in turn, [`u32::MAX`] for one with
    /// logits that are not all numbers; none where only one step at a time is possible.
    pub(crate) fn greedy(
        &mut self,
        common: Common<'_>,
        rows: &[Row],
        tokens: &[u32],
        steps: usize,
    ) -> Result<Option<Vec<Vec<u32>>>, Refusal> {
        let Self::Hopper(hopper) = self else { return Ok(None) };
        let Hopper { batch, together, maps, .. } = hopper.as_mut();
        let steps = steps.min(MOST_STEPS);
        if let Some(together) = together {
            let run = Run { rows, tokens, steps, rope: common.rope };
            return together.run(common.device, common.config, common.weights, &run, None).map(Some);
        }
        batch.run(common.device, common.config, (common.weights, maps), (rows, tokens), steps)?;
        batch.chosen(common.device, rows, steps).map(Some)
    }
}
