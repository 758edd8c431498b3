//! The persistent decoder of several sequences: which kernel takes how many, and one launch.
//!
//! `native/together.cu` says how it works; a row's bits do not depend on the rows beside it.

use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaModule};
use tilewright_model::{Config, Refusal};

use crate::decoder::{DEADLINE_NS, DEADLINE_STEP_NS, Tapes, check_registers};
use crate::device::{Buffer, Device, function};
use crate::gpu::failed;
use crate::kv::BLOCK;
use crate::persistent::{CHUNK, Params, THREADS, WORKERS, timeout};
use crate::raw::launch::{Arg, Grid, allow_shared};
use crate::stages::Row;
use crate::weights::Weights;

/// Most steps of one launch.
pub(crate) const STEPS: usize = 16;
/// Rows that the kernels take.
pub(crate) const ROWS: [usize; 3] = [8, 16, 32];
const MOST: usize = 32;
/// Blocks of positions that a worker attends to at once, and how many such spans it can; `SPAN` and `LIST` of
/// `native/together.cuh`.
const SPAN: usize = 8;
const LIST: usize = 256;
/// Bytes of shared memory besides the ring and the sums, at most.
const REST: usize = 15 << 10;

/// Pieces of the ring of the kernel for so many rows; what the sums leave room for.
pub(crate) fn slots(rows: usize) -> usize {
    if rows <= 8 { 22 } else { 18 }
}

/// Fragments of weights that wait in a lane's registers at most, of matrices that do not fit in whole; what the rows leave room for.
pub(crate) fn held(rows: usize) -> usize {
    if rows <= 16 { 16 } else { 0 }
}

/// Bytes of a thread that may lie in local memory. With 8-bit weights and 32 rows compilers put aside a value or two that are needed
/// once a step.
pub(crate) fn local_bytes(rows: usize, int8: bool) -> i32 {
    if int8 && rows > 16 { 32 } else { 0 }
}

/// Bytes of dynamic shared memory of the kernel for so many rows.
pub(crate) fn shared_bytes(rows: usize) -> usize {
    let sides = if rows <= 16 { 2 } else { 1 };
    slots(rows) * CHUNK + sides * 8 * rows * 68 * 4 + REST
}

/// Words of 8 bytes of the exchange buffers of the kernel for so many rows.
fn link_words(config: &Config, rows: usize) -> usize {
    let (h, q, kv) = (config.hidden, config.q_width(), config.kv_width());
    let row =
        2 * h / 4 + 2 * h / 64 + (q + 2 * kv) / 2 + config.kv_heads * h + q / 4 + config.intermediate / 4;
    rows * (row + 2 * WORKERS + 1)
}

/// Spans of a sequence of so many earlier positions; `spans_of` of `native/mates.cuh`.
fn spans(positions: usize) -> usize {
    match positions.div_ceil(BLOCK) {
        blocks if blocks < SPAN * 3 / 2 => 1,
        blocks => (blocks + SPAN / 2) / SPAN,
    }
}

/// Whether the workers of a KV head can keep the spans of sequences that end there: all together, and in the kernel for `rows` each
/// one's number and row in the fifteen bits of a list's entry that are not `LAST` of `native/mates.cuh`.
fn takes(ends: impl Iterator<Item = usize>, rows: usize, kv_heads: usize) -> bool {
    let (all, most) = ends.map(spans).fold((0, 0), |(all, most), spans| (all + spans, spans.max(most)));
    all <= LIST * WORKERS / kv_heads && most * rows <= 1 << 15
}

/// Whether a model that decodes persistently decodes several sequences so too, of any length up to a context.
pub(crate) fn takes_shape(config: &Config, context: usize) -> bool {
    config.hidden == 1024
        && config.group() == 2
        && config.intermediate == 3072
        && config.qk_norm
        && takes([context].into_iter(), ROWS[0], config.kv_heads)
}

/// The kernels and what they work with.
pub(crate) struct Together {
    kernels: Vec<CudaFunction>,
    tapes: Tapes,
    link: Buffer,
    parts: Buffer,
    rows: Buffer,
    tokens: Buffer,
    out: Buffer,
    logits: Buffer,
    abort: Buffer,
    /// Time in all; shorter in a test of what happens when it is over.
    pub(crate) deadline_ns: Option<u64>,
    /// Number of a worker that stays away, from 1, in such a test.
    pub(crate) fault: u32,
}

/// What one launch decodes.
pub(crate) struct Run<'a> {
    /// Where each sequence's next token goes.
    pub(crate) rows: &'a [Row],
    /// The tokens fed first.
    pub(crate) tokens: &'a [u32],
    /// Steps, up to [`STEPS`].
    pub(crate) steps: usize,
    /// Where RoPE's table lies.
    pub(crate) rope: u64,
}

impl Together {
    /// `modules` hold the kernels for [`ROWS`], in turn.
    pub(crate) fn new(
        device: &Device,
        modules: &[Arc<CudaModule>],
        config: &Config,
        tapes: Tapes,
    ) -> Result<Self, Refusal> {
        let kernels = modules.iter().zip(ROWS).map(|(module, rows)| {
            let kernel = function(module, "together")?;
            check_registers(&kernel, local_bytes(rows, tapes.scales != 0))?;
            allow_shared(&kernel, shared_bytes(rows) as u32).map_err(|e| failed("shared memory", e))?;
            Ok(kernel)
        });
        Ok(Self {
            kernels: kernels.collect::<Result<_, Refusal>>()?,
            tapes,
            link: device.zeros(link_words(config, MOST) * 8)?,
            parts: device.zeros(0)?,
            rows: device.zeros(MOST * size_of::<Row>())?,
            tokens: device.zeros(MOST * 4)?,
            out: device.zeros(STEPS * MOST * 4)?,
            logits: device.zeros(MOST * config.vocab * 4)?,
            abort: device.zeros(32)?,
            deadline_ns: None,
            fault: 0,
        })
    }

    /// Appends a token to each row's sequence, again and again: the ids of the greatest logits, for each row in turn, of which
    /// the last is not yet appended. An id of [`u32::MAX`] stands for logits that are not all numbers. `logits`, if asked for,
    /// are those of the last step.
    ///
    /// # Errors
    /// `device_timeout` when a part of the GPU waited in vain, `device_failed`, `out_of_memory`.
    pub(crate) fn run(
        &mut self,
        device: &Device,
        config: &Config,
        weights: &Weights,
        run: &Run<'_>,
        logits: Option<&mut [f32]>,
    ) -> Result<Vec<Vec<u32>>, Refusal> {
        let (count, steps) = (run.rows.len(), run.steps.min(STEPS));
        let Some(size) = ROWS.iter().position(|most| count <= *most) else { return Ok(Vec::new()) };
        let ends = run.rows.iter().map(|row| row.position as usize + steps);
        if count > 1 && !takes(ends, ROWS[size], config.kv_heads) {
            // Bits do not depend on how rows are grouped.
            let (rows, tokens) = (run.rows.split_at(count / 2), run.tokens.split_at(count / 2));
            let (few, rest) = match logits.map(|l| l.split_at_mut(count / 2 * config.vocab)) {
                Some((few, rest)) => (Some(few), Some(rest)),
                None => (None, None),
            };
            let (one, other) = (
                Run { rows: rows.0, tokens: tokens.0, ..*run },
                Run { rows: rows.1, tokens: tokens.1, ..*run },
            );
            let mut ids = self.run(device, config, weights, &one, few)?;
            ids.extend(self.run(device, config, weights, &other, rest)?);
            return Ok(ids);
        }
        let (most, kernel) = (ROWS[size], &self.kernels[size]);
        let spans = run.rows.iter().map(|row| spans(row.position as usize + steps)).max().unwrap_or(1);
        let part = config.group() * (config.head_dim / 2 + 2) * 8;
        let parts = config.kv_heads * most * spans * part;
        if self.parts.len() < parts {
            device.wait()?;
            self.parts = device.zeros(parts)?;
        }
        device.write(&mut self.rows, 0, bytemuck::cast_slice(run.rows))?;
        device.write(&mut self.tokens, 0, bytemuck::cast_slice(run.tokens))?;
        // A word that is zero was not written in this launch.
        device.clear_part(&mut self.link, 0..link_words(config, most) * 8)?;
        device.clear_part(&mut self.parts, 0..parts)?;
        let params = Params {
            tape: self.tapes.address,
            tape_stride: self.tapes.stride as u64,
            scales: self.tapes.scales,
            scale_stride: self.tapes.scale_stride as u64,
            embedding: weights.embedding.address,
            norms: weights.norms.address,
            head_norms: weights.head_norms.as_ref().map_or(0, |b| b.address),
            rope: run.rope,
            link: self.link.address,
            out: self.out.address,
            logits: if logits.is_some() { self.logits.address } else { 0 },
            abort_word: self.abort.address,
            steps: steps as u32,
            fault: self.fault,
            deadline_ns: self.deadline_ns.unwrap_or(DEADLINE_NS + steps as u64 * DEADLINE_STEP_NS),
            ..Params::default()
        };
        // `Together` of `native/together.cuh`.
        let mut words: Vec<u64> = bytemuck::cast_slice(&[params]).to_vec();
        words.extend([self.rows.address, self.tokens.address, self.parts.address]);
        words.push(spans as u64 | (count as u64) << 32);
        device.launch(
            kernel,
            Grid {
                blocks: (WORKERS as u32, 1),
                threads: THREADS,
                shared: shared_bytes(most) as u32,
                cooperative: true,
            },
            &[Arg::Words(words.into())],
        )?;
        let mut out = vec![0u32; steps * most];
        device.read(&self.out, 0, bytemuck::cast_slice_mut(&mut out))?;
        let mut record = [0u32; 5];
        device.read(&self.abort, 0, bytemuck::cast_slice_mut(&mut record))?;
        if record[0] != 0 {
            device.clear(&mut self.abort)?;
            return Err(timeout(record));
        }
        if let Some(logits) = logits {
            device.read(&self.logits, 0, bytemuck::cast_slice_mut(logits))?;
        }
        Ok((0..count).map(|row| out.chunks(most).map(|ids| ids[row]).collect()).collect())
    }
}

#[cfg(test)]
mod tests;
