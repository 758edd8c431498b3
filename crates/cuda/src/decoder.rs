//! The persistent decoder on the GPU: its tape, its exchange buffers, and one launch.

use std::ops::Range;
use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaModule};
use tilewright_model::{Code, Config, Finding, Refusal};

use crate::device::{Buffer, Device, function};
use crate::gpu::failed;
use crate::pack::{HEAD, Packer};
use crate::persistent::{ENDS, Params, STEPS, THREADS, Tape, WORKERS, link_words, shared_bytes, timeout};
use crate::raw::launch::{Arg, Grid, allow_shared, local_bytes};
use crate::weights::Weights;

/// Time that a launch of one token may take, and what each further token adds.
pub(crate) const DEADLINE_NS: u64 = 2_000_000_000;
pub(crate) const DEADLINE_STEP_NS: u64 = 10_000_000;

/// What stands for a token that was not decoded.
const UNUSED: i32 = -1;

/// The decoder and what it works with.
pub(crate) struct Decoder {
    decode: CudaFunction,
    tape: Buffer,
    stride: usize,
    /// Of int8 weights.
    scales: Option<Buffer>,
    scale_stride: usize,
    /// Bytes of dynamic shared memory of a block.
    shared: u32,
    link: Buffer,
    /// Bytes of `link` that are zero when a launch begins.
    sums: Range<usize>,
    forced: Buffer,
    out: Buffer,
    logits: Buffer,
    abort: Buffer,
    /// Counts layers and tokens; every word exchanged carries it.
    epoch: u32,
    layers: u32,
    /// Time in all; shorter in a test of what happens when it is over.
    pub(crate) deadline_ns: Option<u64>,
    /// Number of a worker that stays away, from 1, in such a test.
    pub(crate) fault: u32,
}

/// Where the workers' weights lie, and the bytes of each; the same of the scales of 8-bit weights, in words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tapes {
    pub(crate) address: u64,
    pub(crate) stride: usize,
    pub(crate) scales: u64,
    pub(crate) scale_stride: usize,
}

/// What one launch decodes.
pub(crate) struct Run<'a> {
    pub(crate) cache: u64,
    /// Of the first token.
    pub(crate) position: usize,
    /// The token fed first.
    pub(crate) token: u32,
    /// Tokens to decode at most; up to [`STEPS`].
    pub(crate) steps: usize,
    /// Ids after which nothing is decoded.
    pub(crate) ends: &'a [u32],
    /// Where RoPE's table lies.
    pub(crate) rope: u64,
}

impl Decoder {
    /// Packs `weights` into tapes, those of `Tape::int8` rounded to 8 bits; they are then the rounded values in bf16.
    pub(crate) fn new(
        device: &Device,
        module: &Arc<CudaModule>,
        config: &Config,
        weights: &Weights,
        int8: bool,
    ) -> Result<Self, Refusal> {
        let (tape, decode) = (Tape::new(config, int8), function(module, "decode")?);
        check_registers(&decode, 0)?;
        let shared = shared_bytes(config) as u32;
        allow_shared(&decode, shared).map_err(|e| failed("shared memory", e))?;
        let packer = Packer::new(device, module, config, tape)?;
        for (index, layer) in weights.layers.iter().enumerate() {
            let matrices = [&layer.qkv, &layer.o, &layer.gate_up, &layer.down];
            for (kind, matrix) in matrices.into_iter().enumerate() {
                packer.pack(matrix.address, index, kind)?;
            }
        }
        packer.pack(weights.head(), config.layers, HEAD)?;
        if weights.head.is_some() {
            packer.round(weights.embedding.address, config.vocab * config.hidden)?;
        }
        device.wait()?;
        let [before, sums, after] = link_words(config);
        let Packer { tape: buffer, scales, .. } = packer;
        Ok(Self {
            decode,
            tape: buffer,
            stride: tape.stride(),
            scales,
            scale_stride: tape.scale_stride(),
            shared,
            link: device.zeros((before + sums + after) * 8)?,
            sums: before * 8..(before + sums) * 8,
            forced: device.upload(&[0xff; STEPS * 4])?,
            out: device.zeros(STEPS * 4)?,
            logits: device.zeros(config.vocab * 4)?,
            abort: device.zeros(32)?,
            epoch: 1,
            layers: config.layers as u32,
            deadline_ns: None,
            fault: 0,
        })
    }

    /// The workers' weights, which stay where they are as long as the decoder does.
    pub(crate) fn tapes(&self) -> Tapes {
        let scales = self.scales.as_ref().map_or(0, |b| b.address);
        Tapes { address: self.tape.address, stride: self.stride, scales, scale_stride: self.scale_stride }
    }

    /// Decodes: the ids chosen, as many as were decoded. `logits`, if asked for, are those of the last step, which must
    /// then be the only one.
    ///
    /// # Errors
    /// `device_timeout` when a part of the GPU waited in vain, `device_failed`.
    pub(crate) fn run(
        &mut self,
        device: &Device,
        weights: &Weights,
        run: &Run<'_>,
        logits: Option<&mut [f32]>,
    ) -> Result<Vec<u32>, Refusal> {
        let steps = run.steps.min(STEPS);
        device.write(&mut self.forced, 0, &run.token.to_le_bytes())?;
        device.write(&mut self.out, 0, &vec![0xff; steps * 4])?;
        device.clear_part(&mut self.link, self.sums.clone())?;
        let mut ends = [-1; ENDS];
        for (to, id) in ends.iter_mut().zip(run.ends) {
            *to = i32::try_from(*id).unwrap_or(-1);
        }
        let tapes = self.tapes();
        let params = Params {
            tape: tapes.address,
            tape_stride: tapes.stride as u64,
            scales: tapes.scales,
            scale_stride: tapes.scale_stride as u64,
            embedding: weights.embedding.address,
            norms: weights.norms.address,
            head_norms: weights.head_norms.as_ref().map_or(0, |b| b.address),
            rope: run.rope,
            kv: run.cache,
            link: self.link.address,
            forced: self.forced.address,
            out: self.out.address,
            logits: if logits.is_some() { self.logits.address } else { 0 },
            abort_word: self.abort.address,
            position: run.position as u32,
            steps: steps as u32,
            epoch: self.epoch,
            fault: self.fault,
            ends,
            deadline_ns: self.deadline_ns.unwrap_or(DEADLINE_NS + steps as u64 * DEADLINE_STEP_NS),
        };
        device.launch(
            &self.decode,
            Grid { blocks: (WORKERS as u32, 1), threads: THREADS, shared: self.shared, cooperative: true },
            &[Arg::Params(Box::new(params))],
        )?;
        let mut out = vec![0i32; steps];
        device.read(&self.out, 0, bytemuck::cast_slice_mut(&mut out))?;
        let mut record = [0u32; 5];
        device.read(&self.abort, 0, bytemuck::cast_slice_mut(&mut record))?;
        if record[0] != 0 {
            // Words of the launch that failed must not pass for words of the next.
            device.clear(&mut self.abort)?;
            device.clear(&mut self.link)?;
            self.epoch = 1;
            return Err(timeout(record));
        }
        let decoded = out.iter().take_while(|id| **id != UNUSED).count();
        self.epoch = self.epoch.wrapping_add(decoded as u32 * (self.layers + 1));
        // What follows logits that are not numbers is no id, and nothing was decoded after it.
        let ids: Vec<u32> = out.into_iter().map_while(|id| u32::try_from(id).ok()).collect();
        if let Some(logits) = logits {
            device.read(&self.logits, 0, bytemuck::cast_slice_mut(logits))?;
        }
        Ok(ids)
    }
}

/// Refuses code of which a compiler could not fit all but `most` bytes a thread into registers: the decoders are timed so, and are
/// slower by a sixth or more otherwise.
pub(crate) fn check_registers(decode: &CudaFunction, most: i32) -> Result<(), Refusal> {
    let bytes = local_bytes(decode).map_err(|e| failed("local memory", e))?;
    let finding = || {
        let got = format!("{bytes} bytes a thread in local memory; another version of NVRTC may do better");
        Finding::new("a persistent decoder", "code that keeps its values in registers", got)
    };
    Refusal::check(Code::KernelUncompilable, if bytes <= most { Vec::new() } else { vec![finding()] })
}
