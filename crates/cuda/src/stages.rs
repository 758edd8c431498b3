//! The plain path: rows through the decoder, one kernel a stage. Products with blocks of a GGUF file are kernels of the
//! language.

use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaModule};
use tilewright_backend::Cancel;
use tilewright_kernels::prefill::tiers::Role;
use tilewright_model::{Code, Config, Refusal};

use crate::blocks::Blocks;
use crate::device::{Buffer, Device, function};
use crate::raw::launch::{Arg, Grid};
use crate::weights::Weights;

/// Rows whose logits are computed at once.
pub(crate) const LOGIT_ROWS: usize = 32;

/// A row's sequence and position, as the kernels read it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// Address of the sequence's cache.
    pub(crate) cache: u64,
    pub(crate) position: u32,
    /// Nothing.
    rest: u32,
}

impl Row {
    pub(crate) fn new(cache: u64, position: usize) -> Self {
        Self { cache, position: position as u32, rest: 0 }
    }
}

/// Rows that go through the layers together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pass<'a> {
    /// The token of each row.
    pub(crate) tokens: &'a [u32],
    pub(crate) rows: &'a [Row],
    /// Where RoPE's table lies.
    pub(crate) rope: u64,
}

/// Kernels and what lies between them.
pub(crate) struct Stages {
    embed: CudaFunction,
    rms_norm: CudaFunction,
    matmul: CudaFunction,
    rotate: CudaFunction,
    attend: CudaFunction,
    swiglu: CudaFunction,
    /// What embeds and multiplies where matrices are held as blocks.
    blocks: Option<Blocks>,
    /// Most rows of a pass.
    most: usize,
    tokens: Buffer,
    rows: Buffer,
    /// The residual stream, `[rows, hidden]`.
    x: Buffer,
    /// The input of the next product, `[rows, hidden]`.
    y: Buffer,
    qkv: Buffer,
    attended: Buffer,
    gate_up: Buffer,
    product: Buffer,
    logits: Buffer,
}

impl Stages {
    pub(crate) fn new(
        device: &Device,
        module: &Arc<CudaModule>,
        config: &Config,
        most: usize,
        blocks: Option<Blocks>,
    ) -> Result<Self, Refusal> {
        let rows = |width: usize| device.zeros(most * width * 4);
        Ok(Self {
            embed: function(module, "embed")?,
            rms_norm: function(module, "rms_norm")?,
            matmul: function(module, "matmul")?,
            rotate: function(module, "rotate")?,
            attend: function(module, "attend")?,
            swiglu: function(module, "swiglu")?,
            blocks,
            most,
            tokens: rows(1)?,
            rows: device.zeros(most * size_of::<Row>())?,
            x: rows(config.hidden)?,
            y: rows(config.hidden)?,
            qkv: rows(config.q_width() + 2 * config.kv_width())?,
            attended: rows(config.q_width())?,
            gate_up: rows(2 * config.intermediate)?,
            product: rows(config.intermediate)?,
            logits: device.zeros(LOGIT_ROWS * config.vocab * 4)?,
        })
    }

    /// Most rows of a pass.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// Takes the rows of `pass` through every layer: keys and values are then in the caches, the residual stream is
    /// ready for [`logits`](Self::logits).
    ///
    /// # Errors
    /// `cancelled`, looked for before each layer; `device_failed`.
    pub(crate) fn run(
        &mut self,
        device: &Device,
        config: &Config,
        weights: &Weights,
        pass: &Pass<'_>,
        cancel: &Cancel,
    ) -> Result<(), Refusal> {
        let &Pass { tokens, rows, rope } = pass;
        let count = rows.len() as u32;
        device.write(&mut self.tokens, 0, bytemuck::cast_slice(tokens))?;
        device.write(&mut self.rows, 0, bytemuck::cast_slice(rows))?;
        let Self { tokens, x, .. } = self;
        let (tokens, x) = (tokens.address, x.address);
        match &mut self.blocks {
            Some(blocks) => blocks.embed(device, weights.embedding.address, [tokens, x], count)?,
            None => {
                let embed = [tokens, weights.embedding.address, x].map(Arg::U64);
                device.launch(&self.embed, grid(count, 1, 256), &embed)?;
            }
        }
        let (h, q, kv, i) = (config.hidden, config.q_width(), config.kv_width(), config.intermediate);
        for (index, layer) in weights.layers.iter().enumerate() {
            if cancel.is_cancelled() {
                device.wait()?;
                let layers = weights.layers.len();
                return Err(Refusal::new(Code::Cancelled, "prefill", format!("{layers} layers"), index));
            }
            let norm = |which: usize| weights.norms.address + (2 * index + which) as u64 * h as u64 * 4;
            let head_norm = |which: usize| {
                let head_norms = weights.head_norms.as_ref().map_or(0, |b| b.address);
                head_norms + (2 * index + which) as u64 * config.head_dim as u64 * 4
            };
            let number = Arg::U32(index as u32);
            self.norm(device, &self.x, norm(0), count)?;
            let product = |role, w: &Buffer, x: &Buffer, y: &Buffer, columns, outputs| match &self.blocks {
                Some(blocks) => {
                    blocks.multiply(device, (index, role), w.address, [x.address, y.address], count)
                }
                None => {
                    let add = matches!(role, Role::Output | Role::Down);
                    self.multiply(device, w.address, x, y, (count, columns, outputs), add)
                }
            };
            product(Role::Qkv, &layer.qkv, &self.y, &self.qkv, h, q + 2 * kv)?;
            let bias = layer.qkv_bias.as_ref().map_or(0, |b| b.address);
            let mut args: Vec<Arg> =
                [self.qkv.address, bias, head_norm(0), head_norm(1), rope, self.rows.address]
                    .map(Arg::U64)
                    .into();
            args.extend([number.clone(), Arg::U32(count)]);
            let units = count * (config.heads + 2 * config.kv_heads) as u32;
            device.launch(&self.rotate, grid(units.div_ceil(4), 1, 128), &args)?;
            let mut args: Vec<Arg> =
                [self.qkv.address, self.attended.address, self.rows.address].map(Arg::U64).into();
            args.push(number);
            device.launch(&self.attend, grid(count, config.heads as u32, 128), &args)?;
            product(Role::Output, &layer.o, &self.attended, &self.x, q, h)?;
            self.norm(device, &self.x, norm(1), count)?;
            if self.blocks.is_some() {
                product(Role::GateUp, &layer.gate_up, &self.y, &self.product, h, i)?;
            } else {
                product(Role::GateUp, &layer.gate_up, &self.y, &self.gate_up, h, 2 * i)?;
                let mut args: Vec<Arg> = [self.gate_up.address, self.product.address].map(Arg::U64).into();
                args.extend([Arg::U32(i as u32), Arg::U32(count)]);
                let elements = count as usize * i;
                device.launch(&self.swiglu, grid(elements.div_ceil(256) as u32, 1, 256), &args)?;
            }
            product(Role::Down, &layer.down, &self.product, &self.x, i, h)?;
        }
        Ok(())
    }

    /// Logits of `count` rows, at most [`LOGIT_ROWS`], of the last [`run`](Self::run), from row `first` on.
    pub(crate) fn logits(
        &mut self,
        device: &Device,
        config: &Config,
        weights: &Weights,
        (first, count): (usize, usize),
        out: &mut [f32],
    ) -> Result<(), Refusal> {
        self.finish(device, config, weights, (first, count))?;
        match &self.blocks {
            Some(blocks) => {
                let places = [self.y.address, self.logits.address];
                blocks.vocabulary(device, weights.head(), places, count as u64)?;
            }
            None => {
                let shape = (count as u32, config.hidden, config.vocab);
                self.multiply(device, weights.head(), &self.y, &self.logits, shape, false)?;
            }
        }
        device.read(&self.logits, 0, bytemuck::cast_slice_mut(out))
    }

    /// Hidden states of all `count` rows of the last [`run`](Self::run) after the final norm.
    pub(crate) fn hidden(
        &mut self,
        device: &Device,
        config: &Config,
        weights: &Weights,
        count: usize,
        out: &mut [f32],
    ) -> Result<(), Refusal> {
        self.finish(device, config, weights, (0, count))?;
        device.read(&self.y, 0, bytemuck::cast_slice_mut(out))
    }

    /// The final norm of some rows, to the first of `y`.
    fn finish(
        &self,
        device: &Device,
        config: &Config,
        weights: &Weights,
        (first, count): (usize, usize),
    ) -> Result<(), Refusal> {
        let h = config.hidden;
        let last = weights.norms.address + 2 * (weights.layers.len() * h * 4) as u64;
        let x = self.x.address + (first * h * 4) as u64;
        let args = [x, last, self.y.address].map(Arg::U64);
        device.launch(&self.rms_norm, grid(count as u32, 1, 256), &args)
    }

    fn norm(&self, device: &Device, x: &Buffer, weight: u64, rows: u32) -> Result<(), Refusal> {
        let args = [x.address, weight, self.y.address].map(Arg::U64);
        device.launch(&self.rms_norm, grid(rows, 1, 256), &args)
    }

    /// `y = w x`, or `y += w x`; `shape` is rows, columns and outputs.
    fn multiply(
        &self,
        device: &Device,
        w: u64,
        x: &Buffer,
        y: &Buffer,
        (rows, columns, outputs): (u32, usize, usize),
        add: bool,
    ) -> Result<(), Refusal> {
        let mut args: Vec<Arg> = [w, x.address, y.address].map(Arg::U64).into();
        args.extend([rows, columns as u32, outputs as u32, add.into()].map(Arg::U32));
        let blocks = (outputs.div_ceil(16) as u32, rows.div_ceil(8));
        device.launch(&self.matmul, Grid { blocks, threads: 128, shared: 0, cooperative: false }, &args)
    }
}

fn grid(x: u32, y: u32, threads: u32) -> Grid {
    Grid { blocks: (x, y), threads, shared: 0, cooperative: false }
}
