//! Bringing matrices into the order in which the persistent decoder reads them. `native/pack.cu` says how.

use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaModule};
use tilewright_model::{Config, Refusal};

use crate::device::{Buffer, Device, function};
use crate::persistent::{Tape, WORKERS};
use crate::raw::launch::{Arg, Grid};

/// The kind of the head; 0 to 3 are QKV, attention's output, gate and up, down.
pub(crate) const HEAD: usize = 4;
/// Columns of a row that share a scale.
const GROUP: usize = 128;

/// The kernels that pack, and what they fill.
pub(crate) struct Packer<'a> {
    device: &'a Device,
    layout: Tape,
    columns: [usize; 5],
    rows: [usize; 5],
    pack: CudaFunction,
    pub(crate) tape: Buffer,
    pub(crate) scales: Option<Buffer>,
    int8: Option<Int8>,
}

/// What 8-bit weights need besides.
struct Int8 {
    quantise: CudaFunction,
    pack_scales: CudaFunction,
    /// One matrix, before it is packed.
    codes: Buffer,
    scales: Buffer,
}

impl<'a> Packer<'a> {
    pub(crate) fn new(
        device: &'a Device,
        module: &Arc<CudaModule>,
        config: &Config,
        layout: Tape,
    ) -> Result<Self, Refusal> {
        let (hidden, q, i) = (config.hidden, config.q_width(), config.intermediate);
        let columns = [hidden, q, hidden, i, hidden];
        let rows = [q + 2 * config.kv_width(), hidden, 2 * i, hidden, config.vocab];
        let most = columns.iter().zip(rows).map(|(c, r)| c * r).max().unwrap_or(0);
        let int8 = layout.int8.then(|| {
            Ok(Int8 {
                quantise: function(module, "quantise")?,
                pack_scales: function(module, "pack_scales")?,
                codes: device.zeros(most)?,
                scales: device.zeros(most / GROUP * 2)?,
            })
        });
        let scales = layout.int8.then(|| device.zeros(WORKERS * layout.scale_stride() * 4));
        Ok(Self {
            device,
            layout,
            columns,
            rows,
            pack: function(module, "pack")?,
            tape: device.zeros(WORKERS * layout.stride())?,
            scales: scales.transpose()?,
            int8: int8.transpose()?,
        })
    }

    /// Packs the matrix at `address`, of a layer or the head.
    pub(crate) fn pack(&self, address: u64, layer: usize, kind: usize) -> Result<(), Refusal> {
        let (part, layout) = (self.layout.parts[kind], &self.layout);
        let shape = [kind, self.columns[kind], part.tiles, part.steps].map(|n| Arg::U32(n as u32));
        let mut source = address;
        if let (Some(int8), Some(scales)) = (&self.int8, &self.scales) {
            self.round(address, self.rows[kind] * self.columns[kind])?;
            source = int8.codes.address;
            let first = layout.first_pair(layer, if kind == HEAD { 0 } else { kind });
            let mut args = vec![Arg::U64(int8.scales.address), Arg::U64(scales.address)];
            args.extend([Arg::U64(layout.scale_stride() as u64), Arg::U32(first as u32)]);
            args.extend(shape.clone());
            let blocks = (part.pairs().div_ceil(256) as u32, WORKERS as u32);
            self.device.launch(&int8.pack_scales, grid(blocks, 256), &args)?;
        }
        let first = layout.first(layer, if kind == HEAD { 0 } else { kind });
        let mut args = vec![Arg::U64(source), Arg::U64(self.tape.address)];
        args.extend([Arg::U64(layout.stride() as u64), Arg::U32(first as u32)]);
        args.extend(shape);
        let blocks = (part.chunks(layout.int8).div_ceil(2) as u32, WORKERS as u32);
        self.device.launch(&self.pack, grid(blocks, 1024), &args)
    }

    /// Rounds a matrix to 8 bits, if the tape has such; it then holds the rounded values in bf16.
    pub(crate) fn round(&self, address: u64, elements: usize) -> Result<(), Refusal> {
        let Some(int8) = &self.int8 else { return Ok(()) };
        let count = elements / GROUP;
        let args = [address, int8.codes.address, int8.scales.address, count as u64].map(Arg::U64);
        self.device.launch(&int8.quantise, grid((count.div_ceil(8) as u32, 1), 256), &args)
    }
}

fn grid(blocks: (u32, u32), threads: u32) -> Grid {
    Grid { blocks, threads, shared: 0, cooperative: false }
}
